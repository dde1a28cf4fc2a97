// SPDX-License-Identifier: Apache-2.0
// Roofline: utilization over MACs a byte on the bus, of its busier way, below what a bandwidth
// allows. A dot is a GEMM where jobs run one after the other, else a whole step.
#include <math.h>
#include <string.h>

#include "jobs.h"
#include "page.h"
#include "train/report/report.h"
#include "train/report/svg.h"

enum { ROOFS = 64, POINTS = 256 };

/** Of one core, bandwidth and memory. */
typedef struct {
  const explore_row_t *first;
  double knee;  ///< MACs a byte from which memory is no limit
} roof_t;

typedef struct {
  roof_t roofs[ROOFS];
  int count;
  double low, high;  ///< log2 of MACs a byte
} chart_t;

// Of the busier way; NaN where nothing was counted.
static double intensity(const explore_row_t *row) {
  const double beats =
      fmax(row->counters[UFP4_COUNTER_READ_BEATS], row->counters[UFP4_COUNTER_WRITE_BEATS]);
  return row->macs > 0 && beats > 0 ? row->macs / (beats * row->of->core.bus_bytes) : NAN;
}

// Of the busier way, in bytes a cycle.
static double roof_bandwidth(const explore_row_t *row) {
  return fmin(page_bandwidth(row), explore_dram_bandwidth(row->of));
}

static int is_point(const explore_row_t *row) {
  return (row->pass <= EXPLORE_WGRAD || page_is_step(row)) && isfinite(intensity(row)) &&
         isfinite(row->cycles);
}

static int roof_of(chart_t *chart, const explore_row_t *row) {
  int i = 0;
  for (; i < chart->count; i++) {
    const explore_row_t *first = chart->roofs[i].first;
    if (strcmp(first->of->core.name, row->of->core.name) == 0 &&
        page_bandwidth(first) == page_bandwidth(row) &&
        strcmp(page_dram(first->of), page_dram(row->of)) == 0)
      return i;
  }
  if (i == ROOFS) return ROOFS - 1;
  chart->roofs[chart->count++] = (roof_t){row, page_peak(row) / roof_bandwidth(row)};
  return i;
}

// Every point and every knee, with some room.
static void find_roofs(const explore_rows_t *rows, chart_t *chart) {
  chart->low = HUGE_VAL;
  chart->high = -HUGE_VAL;
  for (int i = 0; i < rows->count; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (!is_point(row)) continue;
    const double x = log2(intensity(row)), knee = log2(chart->roofs[roof_of(chart, row)].knee);
    chart->low = fmin(chart->low, fmin(x, knee - 2));
    chart->high = fmax(chart->high, fmax(x, knee));
  }
  chart->low = floor(chart->low);
  chart->high = ceil(chart->high + 0.5);
}

static void put_roof(const svg_panel_t *panel, const chart_t *chart, int index) {
  const roof_t *roof = &chart->roofs[index];
  double x[POINTS], y[POINTS];
  char name[96];
  for (int p = 0; p < POINTS; p++) {
    x[p] = chart->low + (chart->high - chart->low) * p / (POINTS - 1);
    y[p] = fmin(100, 100 * exp2(x[p]) / roof->knee);
  }
  svg_panel_curve(panel, report_color(index), x, y, POINTS);
  snprintf(name, sizeof name, "%s, %u B/cycle%s%s", roof->first->of->core.name,
           page_bandwidth(roof->first), roof->first->of->dram != NULL ? ", " : "",
           roof->first->of->dram != NULL ? roof->first->of->dram : "");
  svg_text(panel->out, 640, 60 + 20 * index, "start", report_color(index), name);
}

static void put_ticks(const svg_panel_t *panel, const chart_t *chart) {
  const int step = chart->high - chart->low > 10 ? 2 : 1;
  char value[24];
  for (int x = (int)chart->low; x <= (int)chart->high; x += step) {
    snprintf(value, sizeof value, x < 0 ? "1/%.0f" : "%.0f", exp2(fabs((double)x)));
    svg_text(panel->out, svg_panel_x(panel, x), 318, "middle", "#222", value);
  }
  svg_text(panel->out, 340, 340, "middle", "#222", "MACs a byte on the bus, of the busier way");
}

void page_put_roofline(FILE *out, const explore_rows_t *rows) {
  chart_t chart = {.count = 0};
  find_roofs(rows, &chart);
  if (chart.count == 0) return;
  const svg_panel_t panel = {out, 60, 40, 560, 260, chart.low, chart.high, 0, 100};
  fputs("<h2>Roofline</h2>\n", out);
  svg_begin(out, 900, 350 + (chart.count > 14 ? 20 * (chart.count - 14) : 0), 0);
  svg_panel_frame(&panel, "utilization, %", 20, 0);
  put_ticks(&panel, &chart);
  for (int i = 0; i < chart.count; i++) put_roof(&panel, &chart, i);
  for (int i = 0; i < rows->count; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (is_point(row))
      svg_panel_dot(&panel, report_color(roof_of(&chart, row)), log2(intensity(row)),
                    page_util_percent(row));
  }
  svg_end(out);
}
