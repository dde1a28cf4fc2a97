// SPDX-License-Identifier: Apache-2.0
// The tables of ufp4 train, as text and as JSON.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forward_table.h"
#include "train.h"

static const char *const kind_names[UFP4_RUN_KINDS] = {"whole", "branched"};

static int longest_name(const ufp4_experiment_options_t *o) {
  int width = 12;
  for (int v = 0; v < o->variant_count; v++) {
    const int length = (int)strlen(o->variants[v].name);
    width = length > width ? length : width;
  }
  return width;
}

void train_print_runs(const evidence_t *evidence, ufp4_run_kind_t kind) {
  const ufp4_experiment_t *e = &evidence->experiment;
  const ufp4_experiment_options_t *o = e->options;
  ufp4_comparison_t table[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  const int width = longest_name(o);
  const int64_t from = kind == UFP4_RUN_BRANCHED ? o->branch_step : 0;
  printf("%% %s runs: steps %lld to %lld\n", kind_names[kind], (long long)from,
         (long long)o->trainer.steps - 1);
  const int cycles = ufp4_experiment_has_cycles(e, kind);
  printf("%% recipe seeds held_loss deviation tokens_per_second%s\n",
         cycles ? " cycles_per_step" : "");
  for (int v = 0; v < o->variant_count; v++) {
    ufp4_paired_t l = ufp4_experiment_losses(e, kind, v);
    if (!ufp4_experiment_shows(o, kind, v)) continue;
    printf("  %-*s %3d %9.5f %9.5f %8.0f", width, o->variants[v].name, o->seeds, l.mean,
           l.deviation, ufp4_experiment_speed(e, kind, v));
    if (cycles) printf(" %15.0f", ufp4_experiment_cycles(e, kind, v));
    printf("\n");
  }
  int count = ufp4_experiment_comparisons(e, kind, table);
  if (count)
    printf("%% recipe against gap_percent interval deviation text_error p seeds_worse verdict\n");
  for (int i = 0; i < count; i++) {
    const ufp4_comparison_t *c = &table[i];
    printf("  %-*s %-*s %+8.3f +-%6.3f %8.3f %8.3f %8.2g %lld/%lld %s%s", width,
           o->variants[c->variant].name, width, o->variants[c->base].name, c->gap.mean,
           c->gap.interval, c->gap.deviation, c->text_error, c->p, (long long)c->gap.positive,
           (long long)c->gap.count, ufp4_comparison_verdict(c), c->primary ? " (primary)" : "");
    if (isfinite(c->paper)) printf(", paper %+.3f", c->paper);
    printf("\n");
  }
  if (count) puts("% text_error: by other held-out text, which the interval, over seeds, has not");
  if (count > 1)
    printf("%% p: two-sided t test%s corrected together (Holm); the intervals are not\n",
           table[0].primary ? "; of all but the primary one" : "s,");
  fflush(stdout);
}

static json_t *recipe_object(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int v) {
  ufp4_paired_t losses = ufp4_experiment_losses(e, kind, v);
  json_t *each = json_array();
  for (int s = 0; s < e->options->seeds; s++) {
    json_array_append_new(each, json_real_or_null(ufp4_experiment_at(e, kind, v, s)->held_loss));
  }
  return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "recipe",
                   json_text(e->options->variants[v].name), "seeds", e->options->seeds, "held_loss",
                   json_real_or_null(losses.mean), "deviation", json_real_or_null(losses.deviation),
                   "held_losses", each, "tokens_per_second",
                   json_real_or_null(ufp4_experiment_speed(e, kind, v)), "cycles_per_step",
                   json_real_or_null(ufp4_experiment_cycles(e, kind, v)));
}

static json_t *gap_object(const ufp4_experiment_t *e, ufp4_run_kind_t kind,
                          const ufp4_comparison_t *c) {
  const ufp4_paired_t *gap = &c->gap;
  json_t *each = json_array();
  for (int s = 0; s < e->options->seeds; s++) {
    json_array_append_new(each,
                          json_real_or_null(ufp4_experiment_gap(e, kind, c->variant, c->base, s)));
  }
  return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:s, s:o}",
                   "recipe", json_text(e->options->variants[c->variant].name), "against",
                   json_text(e->options->variants[c->base].name), "primary", c->primary,
                   "gap_percent", json_real_or_null(gap->mean), "interval",
                   json_real_or_null(gap->interval), "deviation", json_real_or_null(gap->deviation),
                   "text_error", json_real_or_null(c->text_error), "t", json_real_or_null(gap->t),
                   "p", json_real_or_null(c->p), "p_uncorrected",
                   json_real_or_null(isnan(c->p) ? c->p : gap->p), "gaps_percent", each,
                   "seeds_worse", (json_int_t)gap->positive, "verdict", ufp4_comparison_verdict(c),
                   "paper_gap_percent", json_real_or_null(c->paper));
}

static json_t *runs_object(const ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  const ufp4_experiment_options_t *o = e->options;
  ufp4_comparison_t table[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  json_t *recipes = json_array(), *comparisons = json_array();
  for (int v = 0; v < o->variant_count; v++) {
    if (ufp4_experiment_shows(o, kind, v))
      json_array_append_new(recipes, recipe_object(e, kind, v));
  }
  int count = ufp4_experiment_comparisons(e, kind, table);
  for (int i = 0; i < count; i++)
    json_array_append_new(comparisons, gap_object(e, kind, &table[i]));
  return json_pack("{s:I, s:o, s:o}", "first_step",
                   (json_int_t)(o->trainer.steps - ufp4_experiment_steps(o, kind)), "recipes",
                   recipes, "comparisons", comparisons);
}

int train_print_json(const evidence_t *evidence) {
  const plan_t *plan = evidence->plan;
  const ufp4_experiment_t *e = &evidence->experiment;
  json_t *all = json_object();
  json_object_set_new(all, "text", json_text(evidence->arguments->text_name));
  json_object_set(all, "settings", evidence->settings);
  if (plan->forward) json_object_set_new(all, "forward", ufp4_forward_json(&evidence->forward));
  if (plan->branched) json_object_set_new(all, "branched", runs_object(e, UFP4_RUN_BRANCHED));
  json_t *whole = plan->whole ? runs_object(e, UFP4_RUN_WHOLE) : NULL;
  if (whole) json_object_update(all, whole);
  json_decref(whole);
  json_object_set_new(all, "held_tokens", json_integer((json_int_t)evidence->held_tokens));
  return cli_json_print(plan->command, all, 9);
}

void train_print_forward(const evidence_t *evidence) {
  ufp4_forward_print(stdout, &evidence->forward);
  fflush(stdout);
}
