// SPDX-License-Identifier: Apache-2.0
// Gaps against the base, and that of the question, as bars.
#include <math.h>

#include "report.h"
#include "svg.h"

#define WIDTH 720
#define LEFT 190
#define RIGHT 700
#define TOP 12
#define ROW 34

typedef struct {
  double low, high;
} range_t;

static void widen(range_t *range, double value) {
  if (!isfinite(value)) return;
  range->low = fmin(range->low, value);
  range->high = fmax(range->high, value);
}

static range_t find_range(const ufp4_experiment_t *e, ufp4_run_kind_t kind,
                          const ufp4_comparison_t *table, int count) {
  range_t range = {0, 0};
  for (int i = 0; i < count; i++) {
    widen(&range, table[i].gap.mean - table[i].gap.interval);
    widen(&range, table[i].gap.mean + table[i].gap.interval);
    for (int s = 0; s < e->options->seeds; s++)
      widen(&range, ufp4_experiment_gap(e, kind, table[i].variant, table[i].base, s));
  }
  const double room = 0.05 * (range.high - range.low) + 1e-6;
  return (range_t){range.low - room, range.high + room};
}

static double place(range_t range, double value) {
  return LEFT + (RIGHT - LEFT) * (value - range.low) / (range.high - range.low);
}

static void put_row(FILE *out, const ufp4_experiment_t *e, ufp4_run_kind_t kind, range_t range,
                    const ufp4_comparison_t *c, int row) {
  const char *color = report_color(c->variant);
  const double y = TOP + ROW * (row + 0.5), zero = place(range, 0),
               mean = place(range, c->gap.mean);
  char name[80];
  snprintf(name, sizeof name, "%s - %s", e->options->variants[c->variant].name,
           e->options->variants[c->base].name);
  svg_text(out, LEFT - 8, y + 5, "end", color, name);
  if (isfinite(mean))
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" fill=\"%s\" "
            "fill-opacity=\"0.35\"/>\n",
            fmin(zero, mean), y - 7, fabs(mean - zero), color);
  for (int s = 0; s < e->options->seeds; s++) {
    const double x = place(range, ufp4_experiment_gap(e, kind, c->variant, c->base, s));
    if (isfinite(x))
      fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n", x, y, color);
  }
  if (!isfinite(c->gap.interval)) return;
  fprintf(out,
          "<path d=\"M%.1f %.1fH%.1fm0 -5v10M%.1f %.1fv10\" stroke=\"#222\" stroke-width=\"1.5\" "
          "fill=\"none\"/>\n",
          place(range, c->gap.mean - c->gap.interval), y,
          place(range, c->gap.mean + c->gap.interval), place(range, c->gap.mean - c->gap.interval),
          y - 5);
}

// Lines at round numbers: 1, 2 or 5 times a power of ten, three to eight of them.
static void put_scale(FILE *out, range_t range, int rows) {
  const double span = range.high - range.low, bottom = TOP + ROW * rows;
  double step = pow(10, floor(log10(span / 4)));
  if (span / step > 16) {
    step *= 5;
  } else if (span / step > 8) {
    step *= 2;
  }
  for (double n = ceil(range.low / step); n * step <= range.high; n++) {
    char text[32];
    const double x = place(range, n * step);
    snprintf(text, sizeof text, n == 0 ? "0" : "%+.*f %%", step < 1 ? (int)ceil(-log10(step)) : 0,
             n * step);
    fprintf(out, "<path d=\"M%.1f %dV%.1f\" stroke=\"%s\"/>\n", x, TOP, bottom,
            n == 0 ? "#222" : "#ddd");
    svg_text(out, x, bottom + 18, "middle", "#222", text);
  }
}

void report_gaps(FILE *out, const ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  ufp4_comparison_t table[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS], shown[UFP4_MAX_VARIANTS + 1];
  const int all = ufp4_experiment_comparisons(e, kind, table),
            base = ufp4_experiment_base(e->options);
  int count = 0;
  for (int i = 0; i < all; i++) {
    if (table[i].primary || table[i].base == base) shown[count++] = table[i];
  }
  if (!count) return;
  const range_t range = find_range(e, kind, shown, count);
  svg_begin(out, WIDTH, TOP + ROW * count + 28, 0);
  put_scale(out, range, count);
  for (int i = 0; i < count; i++) put_row(out, e, kind, range, &shown[i], i);
  svg_end(out);
  fprintf(out,
          "<p>Bar: mean gap of the held-out loss; points: the %d seeds; line: 95 %% interval of "
          "the mean.</p>\n",
          e->options->seeds);
}
