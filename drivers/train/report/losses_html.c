// SPDX-License-Identifier: Apache-2.0
// report.html: one file without scripts or outside references.
#include <math.h>

#include "experiment.h"
#include "report/svg.h"
#include "tensor/file.h"

#define WIDTH 720
#define HEIGHT 320
#define MARGIN 44
#define RIGHT (WIDTH - 110)  // end of the curves; then their names
#define POINTS 150
#define GAP_POINTS 30  // fewer: a gap is small beside the noise of a step

static const char *const colors[] = {"#444444", "#0969da", "#d1242f",
                                     "#9a6700", "#1a7f37", "#8250df"};
#define COLORS ((int)(sizeof colors / sizeof *colors))

static const char style[] =
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}th,td{padding:.25em .8em;border-bottom:1px solid "
    "#ddd;text-align:right}"
    "th:first-child,td:first-child{text-align:left}svg{max-width:100%}";

static void put_settings(FILE *out, const ufp4_experiment_t *e, const char *text_name) {
  const ufp4_trainer_options_t *t = &e->options->trainer;
  fputs("<p>Text: ", out);
  svg_escaped(out, text_name);
  fprintf(out, "; model: d %lld, %lld heads, %lld blocks, ff %lld, context %lld; ",
          (long long)t->shape.d_model, (long long)t->shape.heads, (long long)t->shape.blocks,
          (long long)t->shape.ff, (long long)t->shape.context);
  fprintf(out, "%lld steps of %lld tokens, peak learning rate %g; %d seeds from %llu; ",
          (long long)t->steps, (long long)(t->batch * t->shape.context), (double)t->rate,
          e->options->seeds, (unsigned long long)t->seed);
  fprintf(out, "linear layers on backend %s; %lld held-out tokens.</p>\n", e->options->backend,
          (long long)ufp4_experiment_at(e, 0, 0)->held_tokens);
}

// A cell; what has no value, as the deviation of one seed, is a dash.
static void put_number(FILE *out, const char *sign, int digits, double value) {
  if (!isfinite(value)) {
    fputs("<td>&ndash;</td>", out);
  } else {
    fprintf(out, "<td>%s%.*f</td>", value < 0 ? "" : sign, digits, value);
  }
}

static void put_losses(FILE *out, const ufp4_experiment_t *e) {
  fputs(
      "<h2>Held-out loss</h2>\n<table><tr><th>recipe</th><th>mean, nats per byte</th><th>deviation "
      "over "
      "seeds</th></tr>\n",
      out);
  for (int v = 0; v < e->options->variant_count; v++) {
    ufp4_paired_t losses = ufp4_experiment_losses(e, v);
    fprintf(out, "<tr><td>%s</td>", e->options->variants[v].name);
    put_number(out, "", 5, losses.mean);
    put_number(out, "", 5, losses.deviation);
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
}

static void put_gaps(FILE *out, const ufp4_experiment_t *e) {
  ufp4_comparison_t pairs[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  int count = ufp4_experiment_comparisons(e, pairs);
  if (!count) return;
  fputs(
      "<h2>Gap, paired over seeds</h2>\n<table><tr><th>recipe</th><th>against</th><th>gap, "
      "%</th><th>deviation</th><th>t</th>"
      "<th>seeds worse</th><th>verdict</th></tr>\n",
      out);
  for (int i = 0; i < count; i++) {
    ufp4_paired_t gap = ufp4_experiment_gap(e, pairs[i].variant, pairs[i].base);
    fprintf(out, "<tr><td>%s</td><td>%s</td>", e->options->variants[pairs[i].variant].name,
            e->options->variants[pairs[i].base].name);
    put_number(out, "+", 3, gap.mean);
    put_number(out, "", 3, gap.deviation);
    put_number(out, "", 2, gap.t);
    fprintf(out, "<td>%lld of %lld</td><td>%s</td></tr>\n", (long long)gap.positive,
            (long long)gap.count, ufp4_gap_verdict(&gap));
  }
  fputs(
      "</table>\n<p>Gap: 100 (L - L<sub>base</sub>) / L<sub>base</sub> on the same seed. Verdict: "
      "two-sided t test at "
      "5 %. A control is bf16 from first weights changed by one part in a thousand: what chaos "
      "alone does.</p>\n",
      out);
}

// Mean training loss of a run over the steps of point p of all points.
static double run_point(const ufp4_experiment_t *e, int variant, int seed, int64_t p,
                        int64_t points) {
  const int64_t steps = e->options->trainer.steps, from = p * steps / points,
                to = (p + 1) * steps / points;
  double sum = 0;
  for (int64_t i = from; i < to; i++) sum += ufp4_experiment_at(e, variant, seed)->loss[i];
  return sum / (double)(to - from);
}

// The value of a variant at point p of all points, a mean over its seeds.
typedef double (*curve_t)(const ufp4_experiment_t *e, int variant, int64_t p, int64_t points);

static double loss_at(const ufp4_experiment_t *e, int variant, int64_t p, int64_t points) {
  double sum = 0;
  for (int s = 0; s < e->options->seeds; s++) sum += run_point(e, variant, s, p, points);
  return sum / e->options->seeds;
}

// Percent, against the first variant on the same seed.
static double gap_at(const ufp4_experiment_t *e, int variant, int64_t p, int64_t points) {
  double sum = 0;
  for (int s = 0; s < e->options->seeds; s++) {
    const double base = run_point(e, 0, s, p, points);
    sum += 100 * (run_point(e, variant, s, p, points) - base) / base;
  }
  return sum / e->options->seeds;
}

typedef struct {
  const char *title, *sign;  // sign: of positive numbers
  curve_t curve;
  int64_t points;
  double low, high;
} chart_t;

static void put_curve(const svg_panel_t *panel, const ufp4_experiment_t *e, const chart_t *chart,
                      int variant) {
  const char *color = colors[variant % COLORS];
  double x[POINTS], y[POINTS];
  for (int64_t p = 0; p < chart->points; p++) {
    x[p] = chart->points > 1 ? (double)p / (double)(chart->points - 1) : 0.5;
    y[p] = chart->curve(e, variant, p, chart->points);
  }
  svg_panel_curve(panel, color, x, y, (int)chart->points);
  svg_text(panel->out, RIGHT + 8, MARGIN + 18 * variant, "start", color,
           e->options->variants[variant].name);
}

static void find_range(const ufp4_experiment_t *e, chart_t *chart) {
  chart->low = INFINITY;
  chart->high = -INFINITY;
  for (int v = 0; v < e->options->variant_count; v++) {
    for (int64_t p = 0; p < chart->points; p++) {
      const double y = chart->curve(e, v, p, chart->points);
      if (y < chart->low) chart->low = y;
      if (isfinite(y) && y > chart->high) chart->high = y;
    }
  }
  if (!(chart->high > chart->low)) chart->high = chart->low + 1;
}

static void put_tick(const svg_panel_t *panel, const chart_t *chart, double y) {
  char text[32];
  snprintf(text, sizeof text, "%s%.2f", y > 0 ? chart->sign : "", y);
  svg_text(panel->out, MARGIN - 4, svg_panel_y(panel, y) + 4, "end", "#222", text);
}

static void put_chart(FILE *out, const ufp4_experiment_t *e, chart_t *chart) {
  const int64_t steps = e->options->trainer.steps;
  char last[32];
  if (steps < chart->points) chart->points = steps;
  find_range(e, chart);
  const svg_panel_t panel = {out, MARGIN, MARGIN,     RIGHT - MARGIN, HEIGHT - 2 * MARGIN,
                             0,   1,      chart->low, chart->high};
  fprintf(out, "<h2>%s</h2>\n", chart->title);
  svg_begin(out, WIDTH, HEIGHT, 0);
  fprintf(out, "<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"#999\"/>\n", MARGIN, MARGIN,
          HEIGHT - MARGIN, RIGHT);
  put_tick(&panel, chart, chart->low);
  put_tick(&panel, chart, chart->high);
  snprintf(last, sizeof last, "step %lld", (long long)(steps - 1));
  svg_text(out, MARGIN, HEIGHT - MARGIN + 18, "start", "#222", "step 0");
  svg_text(out, RIGHT, HEIGHT - MARGIN + 18, "end", "#222", last);
  for (int v = 0; v < e->options->variant_count; v++) put_curve(&panel, e, chart, v);
  svg_end(out);
}

static void put_charts(FILE *out, const ufp4_experiment_t *e) {
  chart_t losses = {
      .title = "Training loss, nats per byte", .sign = "", .curve = loss_at, .points = POINTS};
  chart_t gaps = {
      .title = "Gap of the training loss, %", .sign = "+", .curve = gap_at, .points = GAP_POINTS};
  put_chart(out, e, &losses);
  fputs("<p>Means over seeds.</p>\n", out);
  if (e->options->variant_count == 1) return;
  put_chart(out, e, &gaps);
  fprintf(out,
          "<p>Against %s on the same seed, mean over seeds; each point is one of %lld parts of the "
          "run.</p>\n",
          e->options->variants[0].name, (long long)gaps.points);
}

ufp4_status_t ufp4_experiment_write_html(const ufp4_experiment_t *experiment, const char *text_name,
                                         const char *path, ufp4_message_t *message) {
  file_out_t file;
  ufp4_status_t status = file_out_open(path, &file, message);
  if (status) return status;
  fprintf(file.stream,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ufp4 "
          "train</title><style>%s</style></head><body>\n"
          "<h1>Training in four bits</h1>\n",
          style);
  put_settings(file.stream, experiment, text_name);
  put_losses(file.stream, experiment);
  put_gaps(file.stream, experiment);
  put_charts(file.stream, experiment);
  fputs("</body></html>\n", file.stream);
  return file_out_close(&file, message);
}
