// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include "base/file.h"
#include "svg.h"
#include "ufp4/spec.h"

const char report_style[] =
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}th,td{padding:.25em .8em;border-bottom:1px solid "
    "#ddd;text-align:right}"
    "td{white-space:nowrap}td.text{white-space:normal}"
    "th:first-child,td:first-child,td.text,th.text{text-align:left}svg{max-width:100%}"
    ".wide{overflow-x:auto;font-size:.85em}.wide td,.wide th{padding:.25em .4em}"
    ".verdict{font-size:1.15em;border-left:4px solid #0969da;padding-left:1em}"
    "code{background:#f4f4f4;padding:.1em .3em;overflow-wrap:anywhere}";

static const char *const kind_titles[UFP4_RUN_KINDS] = {"Whole runs", "Branched runs"};

// --- The head of the page -----------------------------------------------------------------------

static void put_named(FILE *out, const char *name, const char *text) {
  fprintf(out, "<tr><td>%s</td><td class=\"text\">", name);
  svg_escaped(out, text);
  fputs("</td></tr>\n", out);
}

static void put_settings(FILE *out, const ufp4_report_t *report) {
  const ufp4_experiment_options_t *o = report->experiment->options;
  const ufp4_trainer_options_t *t = &o->trainer;
  char text[512];
  fputs("<h2>What was run</h2>\n<table>\n<tr><td>command</td><td class=\"text\"><code>", out);
  svg_escaped(out, report->command);
  fputs("</code></td></tr>\n", out);
  snprintf(text, sizeof text, "ufp4 %d.%d.%d", UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR,
           UFP4_VERSION_PATCH);
  put_named(out, "version", text);
  put_named(out, "text", report->text_name);
  snprintf(text, sizeof text, "d %lld, %lld heads, %lld blocks, ff %lld, context %lld",
           (long long)t->shape.d_model, (long long)t->shape.heads, (long long)t->shape.blocks,
           (long long)t->shape.ff, (long long)t->shape.context);
  put_named(out, "model", text);
  snprintf(text, sizeof text, "%lld steps of %lld tokens, peak learning rate %g",
           (long long)t->steps, (long long)(t->batch * t->shape.context), (double)t->rate);
  put_named(out, "training", text);
  snprintf(text, sizeof text, "%d from %llu", o->seeds, (unsigned long long)t->seed);
  put_named(out, "seeds", text);
  snprintf(text, sizeof text, "backend %s, %d runs at a time; %s", o->backend, o->workers,
           report->machine);
  put_named(out, "machine", text);
  fputs("</table>\n", out);
}

// --- Runs ---------------------------------------------------------------------------------------

static void put_losses(FILE *out, const ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  const ufp4_experiment_options_t *o = e->options;
  const int cycles = ufp4_experiment_has_cycles(e, kind);
  fprintf(out,
          "<table><tr><th>recipe</th><th>held-out loss, nats per byte</th><th>deviation over "
          "seeds</th><th>tokens a second</th>%s</tr>\n",
          cycles ? "<th>the core's cycles a step</th>" : "");
  for (int v = 0; v < o->variant_count; v++) {
    if (!ufp4_experiment_shows(o, kind, v)) continue;
    ufp4_paired_t losses = ufp4_experiment_losses(e, kind, v);
    fprintf(out, "<tr><td>%s</td>", o->variants[v].name);
    report_number(out, "", 5, losses.mean);
    report_number(out, "", 5, losses.deviation);
    report_number(out, "", 0, ufp4_experiment_speed(e, kind, v));
    if (cycles) report_number(out, "", 0, ufp4_experiment_cycles(e, kind, v));
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
}

static void put_comparisons(FILE *out, const ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  ufp4_comparison_t table[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  const int count = ufp4_experiment_comparisons(e, kind, table);
  if (!count) return;
  fputs(
      "<table><tr><th>recipe</th><th class=\"text\">against</th><th>gap, %</th><th>95 % "
      "interval</th><th>deviation</th><th>error by text</th><th>p</th><th>seeds worse</th><th "
      "class=\"text\">verdict</th></tr>\n",
      out);
  for (int i = 0; i < count; i++) {
    const ufp4_comparison_t *c = &table[i];
    fprintf(out, "<tr><td>%s</td><td class=\"text\">%s</td>", e->options->variants[c->variant].name,
            e->options->variants[c->base].name);
    report_number(out, "+", 3, c->gap.mean);
    report_number(out, "&plusmn;", 3, c->gap.interval);
    report_number(out, "", 3, c->gap.deviation);
    report_number(out, "", 3, c->text_error);
    fprintf(out, "<td>%.2g</td><td>%lld of %lld</td><td class=\"text\">%s%s</td></tr>\n", c->p,
            (long long)c->gap.positive, (long long)c->gap.count, ufp4_comparison_verdict(c),
            c->primary ? ", the question" : "");
  }
  fputs(
      "</table>\n<p>Gap: 100 (L - L<sub>base</sub>) / L<sub>base</sub> on the same seed. p: "
      "two-sided t test; that of the question as it is, the others corrected together by Holm. "
      "The intervals are not corrected; they are over seeds. Error by text: standard error of the "
      "mean by the choice of held-out text.",
      out);
  for (int v = 0; v < e->options->variant_count; v++) {
    if (e->options->variants[v].perturbation > 0)
      fprintf(out, " %s: from weights changed by one part in a thousand, what chaos alone does.",
              e->options->variants[v].name);
  }
  fputs("</p>\n", out);
}

static void put_verdict(FILE *out, const ufp4_report_t *report, ufp4_run_kind_t kind) {
  ufp4_comparison_t table[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  char sentence[512];
  if (!report->shows[kind]) return;
  const int count = ufp4_experiment_comparisons(report->experiment, kind, table);
  if (!count || !table[0].primary) return;
  ufp4_comparison_sentence(report->experiment, &table[0], sentence, sizeof sentence);
  fprintf(out, "<p class=\"verdict\">%s: ", kind_titles[kind]);
  svg_escaped(out, sentence);
  fputs("</p>\n", out);
}

static void put_runs(FILE *out, const ufp4_report_t *report, ufp4_run_kind_t kind) {
  const ufp4_experiment_options_t *o = report->experiment->options;
  if (!report->shows[kind]) return;
  fprintf(out, "<h2>%s</h2>\n", kind_titles[kind]);
  if (kind == UFP4_RUN_BRANCHED) {
    fprintf(out,
            "<p>Each seed trains in %s for %lld of %lld steps; then each recipe goes on from the "
            "same weights, moments, schedule and data.</p>\n",
            o->variants[ufp4_experiment_base(o)].name, (long long)o->branch_step,
            (long long)o->trainer.steps);
  }
  report_gaps(out, report->experiment, kind);
  put_comparisons(out, report->experiment, kind);
  put_losses(out, report->experiment, kind);
  if (kind == UFP4_RUN_WHOLE) report_curves(out, report->experiment);
}

ufp4_status_t ufp4_report_write(const ufp4_report_t *report, const char *path,
                                ufp4_message_t *message) {
  file_out_t file;
  ufp4_status_t status = file_out_open(path, &file, message);
  if (status) return status;
  FILE *out = file.stream;
  fprintf(out,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ufp4 "
          "train</title><style>%s</style></head><body>\n"
          "<h1>Training in four bits</h1>\n"
          "<p>How far does each four-bit recipe fall behind, and does a uniform grid (ufp4) do "
          "better than E2M1 (e2m1)?</p>\n",
          report_style);
  put_verdict(out, report, UFP4_RUN_BRANCHED);
  put_verdict(out, report, UFP4_RUN_WHOLE);
  if (report->forward) report_forward(out, report->forward);
  put_runs(out, report, UFP4_RUN_BRANCHED);
  put_runs(out, report, UFP4_RUN_WHOLE);
  put_settings(out, report);
  fputs("</body></html>\n", out);
  return file_out_close(&file, message);
}
