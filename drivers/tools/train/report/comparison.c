// SPDX-License-Identifier: Apache-2.0
// Summaries of an experiment over its seeds.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/study/experiment.h"

// A sample over seeds: the loss, or with a base its relative gap in percent.
static ufp4_paired_t sample(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int variant,
                            int base) {
  int seeds = e->options->seeds;
  double *values = malloc((size_t)seeds * sizeof *values);
  if (!values) return ufp4_paired(NULL, 0);
  for (int s = 0; s < seeds; s++)
    values[s] = base < 0 ? ufp4_experiment_at(e, kind, variant, s)->held_loss
                         : ufp4_experiment_gap(e, kind, variant, base, s);
  ufp4_paired_t out = ufp4_paired(values, seeds);
  free(values);
  return out;
}

double ufp4_experiment_gap(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int variant, int base,
                           int seed) {
  const double loss = ufp4_experiment_at(e, kind, variant, seed)->held_loss;
  const double reference = ufp4_experiment_at(e, kind, base, seed)->held_loss;
  return 100 * (loss - reference) / reference;
}

// Of the mean over seeds, by stretches of the text.
static double text_error(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int variant, int base) {
  const int count = ufp4_experiment_at(e, kind, variant, 0)->stretches.count;
  double part[UFP4_STRETCHES] = {0};
  for (int s = 0; s < e->options->seeds; s++) {
    const ufp4_run_t *a = ufp4_experiment_at(e, kind, variant, s);
    const ufp4_run_t *b = ufp4_experiment_at(e, kind, base, s);
    for (int i = 0; i < count; i++)
      part[i] +=
          100 * (a->stretches.loss[i] - b->stretches.loss[i]) / b->held_loss / e->options->seeds;
  }
  return ufp4_paired(part, count).deviation / sqrt(count);
}

ufp4_paired_t ufp4_experiment_losses(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                                     int variant) {
  return sample(experiment, kind, variant, -1);
}

double ufp4_experiment_cycles(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int variant) {
  double cycles = 0;
  for (int s = 0; s < e->options->seeds; s++) {
    const double one = ufp4_experiment_at(e, kind, variant, s)->cycles;
    cycles += one > 0 ? one : (double)NAN;
  }
  return cycles / e->options->seeds;
}

int ufp4_experiment_has_cycles(const ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  for (int v = 0; v < e->options->variant_count; v++) {
    if (isfinite(ufp4_experiment_cycles(e, kind, v))) return 1;
  }
  return 0;
}

double ufp4_experiment_speed(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int variant) {
  const ufp4_experiment_options_t *o = e->options;
  double seconds = 0;
  for (int s = 0; s < o->seeds; s++) seconds += ufp4_experiment_at(e, kind, variant, s)->seconds;
  const int64_t steps = ufp4_experiment_takes_part(o, kind, variant)
                            ? ufp4_experiment_steps(o, kind)
                            : o->trainer.steps;
  return (double)(steps * o->trainer.batch * o->trainer.shape.context * o->seeds) / seconds;
}

static int find(const ufp4_experiment_options_t *o, const char *name) {
  for (int v = 0; v < o->variant_count; v++) {
    if (!strcmp(o->variants[v].name, name)) return v;
  }
  return -1;
}

// Two recipes with the same bits.
static int are_same(const ufp4_paired_t *gap) {
  return gap->mean == 0 && gap->deviation == 0;
}

// What says nothing does not make the others' limits stricter: one seed, a run that has diverged,
// the same bits.
static void correct(ufp4_comparison_t *comparisons, int count) {
  double p[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  int of[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS], n = 0;
  for (int i = 0; i < count; i++) {
    if (isnan(comparisons[i].p) || are_same(&comparisons[i].gap)) continue;
    p[n] = comparisons[i].p;
    of[n++] = i;
  }
  ufp4_holm(p, n);
  for (int i = 0; i < n; i++) comparisons[of[i]].p = p[i];
}

static double reported(const ufp4_variant_t *variant, const ufp4_variant_t *base) {
  if (!(variant->paper_loss > 0) || !(base->paper_loss > 0)) return NAN;
  return 100 * (variant->paper_loss / base->paper_loss - 1);
}

int ufp4_experiment_comparisons(const ufp4_experiment_t *e, ufp4_run_kind_t kind,
                                ufp4_comparison_t *out) {
  const ufp4_experiment_options_t *o = e->options;
  const int base = ufp4_experiment_base(o), e2m1 = find(o, "e2m1"), ufp4 = find(o, "ufp4");
  const int primary = e2m1 >= 0 && ufp4 >= 0;
  int count = 0;
  if (primary) out[count++] = (ufp4_comparison_t){.variant = e2m1, .base = ufp4, .primary = 1};
  for (int v = 0; base >= 0 && v < o->variant_count; v++) {
    if (v != base && ufp4_experiment_takes_part(o, kind, v))
      out[count++] = (ufp4_comparison_t){.variant = v, .base = base};
  }
  for (int v = 0; v < o->variant_count; v++) {
    for (int w = 0; w < v; w++) {
      const int one = v == ufp4 ? w : v, other = v == ufp4 ? v : w;
      if (!o->variants[v].recipe.quantized || !o->variants[w].recipe.quantized) continue;
      if (ufp4 >= 0 && (other != ufp4 || one == e2m1)) continue;
      out[count++] = (ufp4_comparison_t){.variant = one, .base = other};
    }
  }
  for (int i = 0; i < count; i++) {
    out[i].gap = sample(e, kind, out[i].variant, out[i].base);
    out[i].text_error = text_error(e, kind, out[i].variant, out[i].base);
    out[i].p = isfinite(out[i].gap.deviation) ? out[i].gap.p : NAN;
    out[i].paper = reported(&o->variants[out[i].variant], &o->variants[out[i].base]);
  }
  correct(out + primary, count - primary);
  return count;
}

const char *ufp4_comparison_verdict(const ufp4_comparison_t *comparison) {
  if (!isfinite(comparison->gap.mean)) return "diverged";
  if (comparison->gap.count < 2) return "one seed";
  if (are_same(&comparison->gap)) return "the same";
  if (!(comparison->p < 0.05)) return "not separated";
  return comparison->gap.mean > 0 ? "worse" : "better";
}

void ufp4_comparison_sentence(const ufp4_experiment_t *e, const ufp4_comparison_t *c, char *text,
                              size_t size) {
  const ufp4_variant_t *variants = e->options->variants;
  const char *one = variants[c->variant].name, *other = variants[c->base].name;
  const ufp4_paired_t *g = &c->gap;
  if (!isfinite(g->mean)) {
    snprintf(text, size, "%s against %s: a run has diverged.", one, other);
  } else if (g->count < 2) {
    snprintf(text, size, "%s against %s: %+.3f %% on one seed, which says nothing of chance.", one,
             other, g->mean);
  } else if (c->p < 0.05) {
    snprintf(text, size,
             "%s ends with %s loss than %s: %+.3f %% (95 %% interval %+.3f to %+.3f, p %.2g, %lld "
             "of %lld seeds).",
             one, g->mean > 0 ? "a higher" : "a lower", other, g->mean, g->mean - g->interval,
             g->mean + g->interval, c->p,
             (long long)(g->mean > 0 ? g->positive : g->count - g->positive), (long long)g->count);
  } else {
    snprintf(text, size,
             "%s and %s are not separated: %+.3f %% (95 %% interval %+.3f to %+.3f, p %.2g, %lld "
             "of %lld seeds).",
             one, other, g->mean, g->mean - g->interval, g->mean + g->interval, c->p,
             (long long)g->positive, (long long)g->count);
  }
}
