// SPDX-License-Identifier: Apache-2.0
// Curves of the training loss over the steps.
#include <math.h>

#include "report.h"
#include "svg.h"

#define WIDTH 720
#define HEIGHT 320
#define MARGIN 44
#define RIGHT (WIDTH - 110)  // end of the curves; then their names
#define POINTS 150
#define GAP_POINTS 30  // fewer: a gap is small beside the noise of a step

// Mean training loss of a run over the steps of point p of all points.
static double run_point(const ufp4_experiment_t *e, int variant, int seed, int64_t p,
                        int64_t points) {
  const int64_t steps = e->options->trainer.steps, from = p * steps / points,
                to = (p + 1) * steps / points;
  double sum = 0;
  for (int64_t i = from; i < to; i++)
    sum += ufp4_experiment_at(e, UFP4_RUN_WHOLE, variant, seed)->loss[i];
  return sum / (double)(to - from);
}

// The value of a variant at point p of all points, a mean over its seeds.
typedef double (*curve_t)(const ufp4_experiment_t *e, int variant, int64_t p, int64_t points);

static double loss_at(const ufp4_experiment_t *e, int variant, int64_t p, int64_t points) {
  double sum = 0;
  for (int s = 0; s < e->options->seeds; s++) sum += run_point(e, variant, s, p, points);
  return sum / e->options->seeds;
}

static int base_of(const ufp4_experiment_t *e) {
  const int base = ufp4_experiment_base(e->options);
  return base < 0 ? 0 : base;
}

// Percent, against the base, or the first variant where there is none, on the same seed.
static double gap_at(const ufp4_experiment_t *e, int variant, int64_t p, int64_t points) {
  const int against = base_of(e);
  double sum = 0;
  for (int s = 0; s < e->options->seeds; s++) {
    const double base = run_point(e, against, s, p, points);
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
  const char *color = report_color(variant);
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
  fprintf(out, "<h3>%s</h3>\n", chart->title);
  const int names = MARGIN + 18 * e->options->variant_count;
  svg_begin(out, WIDTH, names > HEIGHT ? names : HEIGHT, 0);
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

void report_curves(FILE *out, const ufp4_experiment_t *e) {
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
          e->options->variants[base_of(e)].name, (long long)gaps.points);
}
