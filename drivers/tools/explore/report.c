// SPDX-License-Identifier: Apache-2.0
// DIR/report.html: totals, where the cycles go, utilization against bandwidth, roofline, every job.
#include "train/report/report.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "page.h"
#include "train/report/svg.h"

/** Parts of a step that add up to all of its cycles. */
enum { PARTS = 7 };
static const struct {
  const char *name, *color;
} parts[PARTS] = {{"array busy", "#1a7f37"},          {"waits for operands", "#d1242f"},
                  {"waits for panels", "#bf3989"},    {"waits for accumulators", "#9a6700"},
                  {"waits for the drain", "#d4a72c"}, {"AMAX and QUANT", "#0969da"},
                  {"between jobs", "#8c959f"}};

static const char *const pass_names[] = {"FPROP", "DGRAD", "WGRAD", "AMAX", "QUANT"};

/** By EXPLORE_NO_BATCH and micro-batch. */
static const char *const half_names[] = {"", ", first half", ", second half"};

static void split_cycles(const explore_row_t *row, double share[PARTS]) {
  static const ufp4_counter_t counters[PARTS - 1] = {
      UFP4_COUNTER_ARRAY_BUSY,        UFP4_COUNTER_STALL_OPERAND, UFP4_COUNTER_STALL_PANEL,
      UFP4_COUNTER_STALL_ACCUMULATOR, UFP4_COUNTER_STALL_DRAIN,   UFP4_COUNTER_QUANT};
  share[PARTS - 1] = 1;
  for (int i = 0; i < PARTS - 1; i++) {
    share[i] = row->counters[counters[i]] / row->cycles;
    share[PARTS - 1] -= share[i];
  }
  if (share[PARTS - 1] < 0) share[PARTS - 1] = 0;
}

int page_is_step(const explore_row_t *row) {
  return row->pass == EXPLORE_ALL && strcmp(row->layer, "step") == 0;
}

double page_peak(const explore_row_t *row) {
  const ufp4_configuration_t *core = &row->of->core;
  return (double)core->lanes * core->rows * core->cols;
}

double page_util_percent(const explore_row_t *row) {
  return row->macs > 0 ? 100 * row->macs / (page_peak(row) * row->cycles) : NAN;
}

unsigned page_bandwidth(const explore_row_t *row) {
  const unsigned bus = row->of->core.bus_bytes, limit = row->of->mem_bandwidth;
  return limit != 0 && limit < bus ? limit : bus;
}

const char *page_dram(const explore_case_t *of) {
  return of->dram != NULL ? of->dram : "none";
}

static int same_memory(const explore_case_t *a, const explore_case_t *b) {
  return a->mem_latency == b->mem_latency && strcmp(page_dram(a), page_dram(b)) == 0;
}

enum { NAME = 256, MEMORY = 64 };

// What is behind the bus.
static void name_memory(const explore_case_t *of, char text[MEMORY]) {
  if (of->dram != NULL) {
    snprintf(text, MEMORY, "%s + %u", of->dram, of->mem_latency);
  } else {
    snprintf(text, MEMORY, "latency %u", of->mem_latency);
  }
}

static void name_case(const explore_row_t *row, char text[NAME]) {
  char memory[MEMORY];
  name_memory(row->of, memory);
  snprintf(text, NAME, "%s, %s, %u B/cycle, %s, %lld tokens", row->of->recipe.name,
           row->of->core.name, page_bandwidth(row), memory, (long long)row->of->tokens);
}

// --- Totals -------------------------------------------------------------------------------------

static void put_totals(FILE *out, const explore_plan_t *plan, const explore_rows_t *rows) {
  fputs(
      "<h2>A training step</h2>\n<table><tr><th>recipe</th><th class=\"text\">core</th><th>bytes a "
      "cycle</th><th>latency</th><th class=\"text\">DRAM</th><th>tokens</th><th>million "
      "cycles</th><th>ms</th><th>tokens a "
      "second</th><th>"
      "utilization, %</th><th>exposed AMAX and QUANT, %</th></tr>\n",
      out);
  for (int i = 0; i < rows->count; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (!page_is_step(row)) continue;
    const double seconds = row->cycles / plan->clock_mhz / 1e6;
    fprintf(out,
            "<tr><td>%s</td><td class=\"text\">%s</td><td>%u</td><td>%u</td><td "
            "class=\"text\">%s</td><td>%lld</td>",
            row->of->recipe.name, row->of->core.name, page_bandwidth(row), row->of->mem_latency,
            page_dram(row->of), (long long)row->of->tokens);
    if (isnan(row->cycles)) {
      fputs("<td colspan=\"5\" class=\"text\">", out);
      svg_escaped(out, row->of->reason);
      fputs("</td></tr>\n", out);
      continue;
    }
    report_number(out, "", 2, row->cycles / 1e6);
    report_number(out, "", 3, 1e3 * seconds);
    report_number(out, "", 1, row->tokens / seconds);
    report_number(out, "", 1, page_util_percent(row));
    report_number(out, "", 1, 100 * row->counters[UFP4_COUNTER_QUANT] / row->cycles);
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
}

// --- Where the cycles go ------------------------------------------------------------------------

enum { BAR_LEFT = 355, BAR_WIDTH = 535, BAR_PITCH = 24 };

static void put_legend(FILE *out) {
  fputs("<p>", out);
  for (int p = 0; p < PARTS; p++) {
    fprintf(out, "<span style=\"color:%s\">&#9632;</span> %s &nbsp; ", parts[p].color,
            parts[p].name);
  }
  fputs("</p>\n", out);
}

static void put_bar(FILE *out, const explore_row_t *row, double y) {
  char name[NAME];
  double share[PARTS], x = BAR_LEFT;
  name_case(row, name);
  svg_text(out, BAR_LEFT - 8, y + 13, "end", "#222", name);
  split_cycles(row, share);
  for (int p = 0; p < PARTS; p++) {
    const double width = BAR_WIDTH * share[p];
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" fill=\"%s\"><title>%s: %.1f "
            "%%</title></rect>\n",
            x, y, width, parts[p].color, parts[p].name, 100 * share[p]);
    x += width;
  }
}

static void put_bars(FILE *out, const explore_rows_t *rows) {
  int count = 0;
  for (int i = 0; i < rows->count; i++)
    count += page_is_step(&rows->rows[i]) && !isnan(rows->rows[i].cycles);
  fputs("<h2>Where the cycles go</h2>\n", out);
  put_legend(out);
  svg_begin(out, 900, count * BAR_PITCH + 8, 0);
  for (int i = 0, at = 0; i < rows->count; i++) {
    if (!page_is_step(&rows->rows[i]) || isnan(rows->rows[i].cycles)) continue;
    put_bar(out, &rows->rows[i], 4 + BAR_PITCH * at++);
  }
  svg_end(out);
}

// --- Utilization against bandwidth --------------------------------------------------------------

static int same_but_bandwidth(const explore_row_t *a, const explore_row_t *b) {
  return strcmp(a->of->recipe.name, b->of->recipe.name) == 0 &&
         strcmp(a->of->core.name, b->of->core.name) == 0 && same_memory(a->of, b->of) &&
         a->of->tokens == b->of->tokens;
}

// The points of a curve by bandwidth, from the row of its first on.
static int collect(const explore_rows_t *rows, int first, double *x, double *y, int most) {
  int count = 0;
  for (int i = first; i < rows->count && count < most; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (!page_is_step(row) || isnan(row->cycles) || !same_but_bandwidth(&rows->rows[first], row))
      continue;
    int at = count++;
    for (; at > 0 && x[at - 1] > page_bandwidth(row); at--) {
      x[at] = x[at - 1];
      y[at] = y[at - 1];
    }
    x[at] = page_bandwidth(row);
    y[at] = page_util_percent(row);
  }
  return count;
}

static int is_first(const explore_rows_t *rows, int at) {
  if (!page_is_step(&rows->rows[at]) || isnan(rows->rows[at].cycles)) return 0;
  for (int i = 0; i < at; i++) {
    if (page_is_step(&rows->rows[i]) && same_but_bandwidth(&rows->rows[i], &rows->rows[at]))
      return 0;
  }
  return 1;
}

static void put_curves(FILE *out, const explore_plan_t *plan, const explore_rows_t *rows) {
  enum { MOST = 64 };
  double x[MOST], y[MOST], widest = 0;
  int curves = 0;
  for (int i = 0; i < plan->case_count; i++) {
    const explore_row_t row = {.of = &plan->cases[i]};
    widest = fmax(widest, page_bandwidth(&row));
  }
  svg_panel_t panel = {out, 60, 40, 560, 260, 0, widest * 1.02, 0, 100};
  for (int i = 0; i < rows->count; i++) {
    if (!is_first(rows, i)) continue;
    const int count = collect(rows, i, x, y, MOST);
    if (count < 2) continue;
    if (curves == 0) {
      fputs("<h2>Utilization against bandwidth</h2>\n", out);
      svg_begin(out, 900, 350 + 20 * plan->case_count, 0);
      svg_panel_frame(&panel, "utilization of the whole step, %", 20, 0);
      svg_text(out, 340, 340, "middle", "#222", "bytes a cycle, each way");
    }
    const char *color = report_color(curves);
    char name[NAME], memory[MEMORY], value[16];
    svg_panel_curve(&panel, color, x, y, count);
    for (int p = 0; p < count; p++) {
      svg_panel_dot(&panel, color, x[p], y[p]);
      snprintf(value, sizeof value, "%.0f", x[p]);
      svg_text(out, svg_panel_x(&panel, x[p]), 318, "middle", "#222", value);
    }
    name_memory(rows->rows[i].of, memory);
    snprintf(name, sizeof name, "%s, %s, %s, %lld tokens", rows->rows[i].of->recipe.name,
             rows->rows[i].of->core.name, memory, (long long)rows->rows[i].of->tokens);
    svg_text(out, 640, 60 + 20 * curves++, "start", color, name);
  }
  if (curves > 0) svg_end(out);
}

// --- Utilization over tokens --------------------------------------------------------------------

static int same_but_tokens(const explore_case_t *a, const explore_case_t *b) {
  return strcmp(a->recipe.name, b->recipe.name) == 0 && strcmp(a->core.name, b->core.name) == 0 &&
         same_memory(a, b) && a->mem_bandwidth == b->mem_bandwidth;
}

static const explore_row_t *find_gemm(const explore_rows_t *rows, const explore_case_t *of,
                                      const explore_row_t *like) {
  for (int i = 0; i < rows->count; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (row->of == of && row->pass == like->pass && row->batch == like->batch &&
        strcmp(row->layer, like->layer) == 0)
      return row;
  }
  return NULL;
}

static void put_heat(FILE *out, const explore_plan_t *plan, const explore_rows_t *rows,
                     const explore_row_t *like) {
  fprintf(out, "<tr><td>%s</td><td class=\"text\">%s%s</td>", like->layer, pass_names[like->pass],
          half_names[like->batch + 1]);
  for (int c = 0; c < plan->case_count; c++) {
    if (!same_but_tokens(&plan->cases[c], like->of)) continue;
    const explore_row_t *row = find_gemm(rows, &plan->cases[c], like);
    const double util = row != NULL ? page_util_percent(row) : NAN;
    if (isnan(util)) {
      fputs("<td>&ndash;</td>", out);
    } else {
      fprintf(out,
              "<td style=\"background:rgb(%.0f,%.0f,%.0f)\" title=\"m %lld, n %lld, k %lld\">"
              "%.0f</td>",
              255 - 1.6 * util, 255 - 0.6 * util, 255 - 1.6 * util, (long long)row->m,
              (long long)row->n, (long long)row->k, util);
    }
  }
  fputs("</tr>\n", out);
}

// One for each core, memory and recipe that was tried with several sizes of a step.
static void put_heat_maps(FILE *out, const explore_plan_t *plan, const explore_rows_t *rows) {
  for (int c = 0; c < plan->case_count; c++) {
    const explore_case_t *of = &plan->cases[c];
    int before = 0, sizes = 0;
    for (int i = 0; i < plan->case_count; i++) {
      if (!same_but_tokens(&plan->cases[i], of)) continue;
      before += i < c;
      sizes++;
    }
    if (before > 0 || sizes < 2 || of->reason[0] != '\0') continue;
    const explore_row_t row = {.of = of};
    char memory[MEMORY];
    name_memory(of, memory);
    fprintf(out,
            "<h2>Utilization over tokens: %s on %s, %u B/cycle, %s, %%</h2>\n<table><tr><th>layer"
            "</th><th class=\"text\">pass</th>",
            of->recipe.name, of->core.name, page_bandwidth(&row), memory);
    for (int i = 0; i < plan->case_count; i++) {
      if (same_but_tokens(&plan->cases[i], of))
        fprintf(out, "<th>%lld</th>", (long long)plan->cases[i].tokens);
    }
    fputs("</tr>\n", out);
    for (int i = 0; i < rows->count; i++) {
      if (rows->rows[i].of == of && rows->rows[i].pass <= EXPLORE_WGRAD)
        put_heat(out, plan, rows, &rows->rows[i]);
    }
    fputs("</table>\n", out);
  }
}

// --- Every job ----------------------------------------------------------------------------------

static void put_jobs(FILE *out, const explore_rows_t *rows) {
  const explore_case_t *of = NULL;
  char name[NAME];
  fputs("<h2>Every job</h2>\n", out);
  for (int i = 0; i < rows->count; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (row->pass == EXPLORE_ALL) continue;
    if (of != row->of) {
      name_case(row, name);
      fprintf(out,
              "%s<h3>%s</h3>\n<table><tr><th>layer</th><th class=\"text\">job</th><th>m</th>"
              "<th>n</th><th>k</th><th>count</th><th>cycles of one</th><th>utilization, %%</th>"
              "</tr>\n",
              of != NULL ? "</table>\n" : "", name);
    }
    of = row->of;
    fprintf(out,
            "<tr><td>%s</td><td class=\"text\">%s%s%s%s</td><td>%lld</td><td>%lld</td><td>%lld</td>"
            "<td>%lld</td>",
            row->layer, pass_names[row->pass], row->tensor != NULL ? " " : "",
            row->tensor != NULL ? row->tensor : "", half_names[row->batch + 1], (long long)row->m,
            (long long)row->n, (long long)row->k, (long long)row->count);
    report_number(out, "", 0, row->cycles);
    report_number(out, "", 1, page_util_percent(row));
    fputs("</tr>\n", out);
  }
  if (of != NULL) fputs("</table>\n", out);
}

ufp4_status_t explore_write_report(const explore_plan_t *plan, const explore_rows_t *rows,
                                   const char *path, ufp4_message_t *message) {
  file_out_t file;
  ufp4_status_t status = file_out_open(path, &file, message);
  if (status != UFP4_OK) return status;
  FILE *out = file.stream;
  fprintf(out,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ufp4 "
          "explore</title><style>%s</style></head><body>\n<h1>A training step of %s</h1>\n<p>How "
          "many cycles does it take, on which core, memory and recipe, and where do "
          "they go? %lld blocks, %g MHz, every job counted to the cycle, %s.</p>"
          "\n<p><code>",
          report_style, plan->model.name, (long long)plan->model.blocks, plan->clock_mhz,
          plan->serial ? "one after the other" : "AMAX and QUANT beside the GEMMs");
  svg_escaped(out, plan->words);
  fprintf(out, "</code>, version %d.%d.%d</p>\n", UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR,
          UFP4_VERSION_PATCH);
  put_totals(out, plan, rows);
  put_bars(out, rows);
  put_curves(out, plan, rows);
  page_put_roofline(out, rows);
  put_heat_maps(out, plan, rows);
  put_jobs(out, rows);
  fputs("</body></html>\n", out);
  return file_out_close(&file, message);
}
