// SPDX-License-Identifier: Apache-2.0
// Formats a row as text, CSV and JSON, from one table of columns.
#include <math.h>
#include <string.h>

#include "explore/costs/costs.h"
#include "explore/jobs/jobs.h"
#include "explore/options/options.h"

enum { COLUMNS = 110, SIGNIFICANT = -1 };

/** A column of a row: a text if set, otherwise a number. */
typedef struct {
  const char *name, *text;
  double number;
  int digits;  ///< behind the point, or SIGNIFICANT
} column_t;

typedef struct {
  column_t items[COLUMNS];
  int count;
} columns_t;

static const char *const pass_names[] = {"fprop", "dgrad", "wgrad",   "amax",
                                         "quant", "all",   "forward", "backward"};

static void add_text(columns_t *columns, const char *name, const char *text) {
  columns->items[columns->count++] = (column_t){.name = name, .text = text != NULL ? text : ""};
}

static void add_number(columns_t *columns, const char *name, double number, int digits) {
  columns->items[columns->count++] = (column_t){.name = name, .number = number, .digits = digits};
}

static const char *const split_names[] = {"tokens", "n", "auto", "gemms", NULL};

static const char *bound_by(const explore_row_t *row) {
  const bounds_t bounds = {.compute = row->compute,
                           .load = row->load,
                           .output = row->output,
                           .array = row->array,
                           .read = row->memory};
  return row->pass < EXPLORE_ALL ? bounds_by(&bounds) : NULL;
}

static void add_job(columns_t *columns, const explore_plan_t *plan, const explore_row_t *row) {
  add_text(columns, "model", plan->model.name);
  add_text(columns, "layer", row->layer);
  add_text(columns, "pass", pass_names[row->pass]);
  add_text(columns, "recipe", row->of->recipe.name);
  add_text(columns, "config", row->of->core.name);
  add_number(columns, "count", (double)row->count, 0);
  add_number(columns, "m", (double)row->m, 0);
  add_number(columns, "n", (double)row->n, 0);
  add_number(columns, "k", (double)row->k, 0);
  add_number(columns, "cycles", row->cycles, 0);
  add_number(columns, "mem_bandwidth", row->of->mem_bandwidth, 0);
  add_number(columns, "mem_latency", row->of->mem_latency, 0);
  add_number(columns, "tokens", row->tokens, 0);
  add_text(columns, "tensor", row->tensor);
  add_number(columns, "batch", row->batch == EXPLORE_NO_BATCH ? (double)NAN : row->batch, 0);
  add_number(columns, "batches", explore_batches(plan, row->of), 0);
  add_number(columns, "micro_batches", row->of->micro, 0);
  add_number(columns, "cores", row->of->cores, 0);
  add_text(columns, "split", split_names[row->split]);
}

static void add_counters(columns_t *columns, const explore_row_t *row) {
  static const struct {
    const char *name;
    ufp4_counter_t counter;
  } shown[] = {{"stall_operand", UFP4_COUNTER_STALL_OPERAND},
               {"stall_panel", UFP4_COUNTER_STALL_PANEL},
               {"stall_accumulator", UFP4_COUNTER_STALL_ACCUMULATOR},
               {"stall_drain", UFP4_COUNTER_STALL_DRAIN},
               {"quant", UFP4_COUNTER_QUANT},
               {"quant_beside", UFP4_COUNTER_QUANT_BESIDE}};
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    const double cycles = row->counters[shown[i].counter];
    add_number(columns, shown[i].name, isnan(row->cycles) ? NAN : cycles, 0);
  }
}

static int is_step(const explore_row_t *row) {
  return row->pass == EXPLORE_ALL && strcmp(row->layer, "step") == 0;
}

static void add_needs(columns_t *columns, const explore_plan_t *plan, const explore_row_t *row) {
  explore_needs_t needs = {NAN, NAN, NAN, NAN, NAN, NAN};
  if (is_step(row) && !isnan(row->cycles)) needs = explore_needs(plan, row->of);
  add_number(columns, "weight_bytes", needs.weights, 0);
  add_number(columns, "copy_bytes", needs.copies, 0);
  add_number(columns, "activation_bytes", needs.activations, 0);
  add_number(columns, "gradient_bytes", needs.gradients, 0);
  add_number(columns, "optimizer_bytes", needs.optimizer, 0);
  add_number(columns, "live_bytes", needs.live, 0);
}

static void add_capacity(columns_t *columns, const explore_plan_t *plan, const explore_row_t *row,
                         int on_chips) {
  explore_chip_t need = {NAN, NAN, NAN, NAN, NAN, NAN};
  if (on_chips && !isnan(row->cycles)) need = explore_chip_bytes(plan, row->of);
  const double room = 1e9 * plan->layout.hbm_gb;
  add_number(columns, "chip_weight_bytes", need.weights, 0);
  add_number(columns, "chip_gradient_bytes", need.gradients, 0);
  add_number(columns, "chip_optimizer_bytes", need.optimizer, 0);
  add_number(columns, "chip_copy_bytes", need.copies, 0);
  add_number(columns, "chip_activation_bytes", need.activations, 0);
  add_number(columns, "chip_bytes", need.all, 0);
  add_text(columns, "fits", room == 0 || isnan(need.all) ? NULL : need.all <= room ? "yes" : "no");
}

static void add_chips(columns_t *columns, const explore_plan_t *plan, const explore_row_t *row) {
  const explore_layout_t *layout = &plan->layout;
  const int on_chips = layout->text != NULL && is_step(row);
  const int here = on_chips && !isnan(row->cycles);
  explore_times_t ms = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  if (here) ms = explore_times(plan, row);
  add_text(columns, "chips", on_chips ? row->of->chips.text : NULL);
  add_number(columns, "link_gbps", here ? layout->tensor.gbps : NAN, 3);
  add_number(columns, "link_us", here ? layout->tensor.us : NAN, 3);
  add_number(columns, "compute_ms", ms.compute, 4);
  add_number(columns, "gather_ms", ms.gather, 4);
  add_number(columns, "exchange_ms", ms.exchange, 4);
  add_number(columns, "send_ms", ms.send, 4);
  add_number(columns, "bubble_ms", ms.bubble, 4);
  add_number(columns, "reduce_ms", ms.reduce, 4);
  add_number(columns, "reduce_exposed_ms", ms.exposed, 4);
  add_number(columns, "chips_ms", ms.step, 4);
  add_number(columns, "chips_tokens_per_second", 1e3 * row->of->chips.data * row->tokens / ms.step,
             SIGNIFICANT);
  add_number(columns, "sent_bytes", ms.sent, 0);
  add_capacity(columns, plan, row, on_chips);
}

// Adds the bits read and written in the core's memories.
static void add_bits(columns_t *columns, const explore_row_t *row) {
  static const char *const names[] = {"sum_bits", "operand_bits", "addend_bits", "quant_bits"};
  for (int i = EXPLORE_SUM_BITS; i < EXPLORE_COUNTERS; i++)
    add_number(columns, names[i - EXPLORE_SUM_BITS], isnan(row->cycles) ? NAN : row->counters[i],
               0);
}

static void add_energy(columns_t *columns, const explore_plan_t *plan, const explore_row_t *row) {
  explore_energy_t energy = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  double blocks = row->pass == EXPLORE_QUANT ? explore_quant_blocks(row) : NAN;
  if (row->pass == EXPLORE_ALL && !isnan(row->cycles)) blocks = explore_total_blocks(plan, row);
  if (plan->ppa.text != NULL && is_step(row)) energy = explore_energy(plan, row);
  add_number(columns, "macs", row->macs > 0 ? row->macs : NAN, 0);
  add_number(columns, "quant_blocks", blocks, 0);
  add_number(columns, "mac_joules", energy.macs, SIGNIFICANT);
  add_number(columns, "idle_joules", energy.idle, SIGNIFICANT);
  add_number(columns, "clock_joules", energy.clock, SIGNIFICANT);
  add_number(columns, "bus_joules", energy.bus, SIGNIFICANT);
  add_number(columns, "joules", energy.all, SIGNIFICANT);
  add_number(columns, "um2", energy.um2, 1);
  add_number(columns, "wait_joules", energy.wait, SIGNIFICANT);
  add_number(columns, "link_joules", energy.link, SIGNIFICANT);
  add_number(columns, "chips_joules", energy.chips, SIGNIFICANT);
  explore_worth_t worth = {NAN, NAN, NAN, NAN, NAN, NAN};
  if (plan->ppa.text != NULL && is_step(row)) worth = explore_worth(plan, row);
  add_number(columns, "memory_bits", worth.bits, 0);
  add_number(columns, "memory_um2", worth.memory_um2, 1);
  add_number(columns, "memory_joules", energy.memory, SIGNIFICANT);
  add_bits(columns, row);
  add_number(columns, "watts", worth.watts, SIGNIFICANT);
  add_number(columns, "tokens_per_joule", worth.tokens_per_joule, SIGNIFICANT);
  add_number(columns, "mm2_per_tmacs", worth.mm2_per_tmacs, SIGNIFICANT);
}

static void add_measures(columns_t *columns, const explore_plan_t *plan, const explore_row_t *row) {
  const ufp4_configuration_t *core = &row->of->core;
  const double peak = (double)row->of->cores * core->lanes * core->rows * core->cols;
  const double bound =
      fmax(fmax(row->array, row->compute), fmax(row->memory, fmax(row->load, row->output)));
  const double macs = row->macs > 0 ? row->macs : NAN,
               seconds = explore_seconds(row->of, row->cycles);
  const double bus_read = row->counters[UFP4_COUNTER_READ_BEATS] * core->bus_bytes,
               bus_written = row->counters[UFP4_COUNTER_WRITE_BEATS] * core->bus_bytes;
  const double here = isnan(row->cycles) ? NAN : 1;
  add_number(columns, "util_percent", 100 * macs / (peak * row->cycles), 1);
  add_number(columns, "bound_percent", row->pass >= EXPLORE_ALL ? NAN : 100 * macs / (peak * bound),
             1);
  add_text(columns, "bound_by", bound_by(row));
  add_counters(columns, row);
  const double data = row->pass > EXPLORE_ALL ? 1 : here;
  add_number(columns, "read_bytes", data * row->read, 0);
  add_number(columns, "write_bytes", data * row->written, 0);
  add_number(columns, "bus_read_bytes", here * bus_read, 0);
  add_number(columns, "bus_write_bytes", here * bus_written, 0);
  add_number(columns, "intensity", macs / (row->read + row->written), 1);
  add_number(columns, "ms", 1e3 * seconds, 4);
  add_number(columns, "tokens_per_second", is_step(row) ? row->tokens / seconds : NAN, SIGNIFICANT);
  add_number(columns, "tmacs", macs / seconds / 1e12, SIGNIFICANT);
  add_number(columns, "clock_mhz", row->of->clock_mhz, 3);
  add_needs(columns, plan, row);
  add_chips(columns, plan, row);
  add_energy(columns, plan, row);
  add_text(columns, "dram", row->of->dram);
  add_text(columns, "reason", row->of->reason[0] != '\0' ? row->of->reason : row->of->note);
}

static columns_t columns_of(const explore_plan_t *plan, const explore_row_t *row) {
  columns_t columns = {.count = 0};
  add_job(&columns, plan, row);
  add_measures(&columns, plan, row);
  return columns;
}

void explore_print_csv_head(FILE *out, const explore_plan_t *plan) {
  const explore_row_t none = {
      .layer = "", .batch = EXPLORE_NO_BATCH, .split = EXPLORE_SPLIT_COUNT, .of = &plan->cases[0]};
  const columns_t columns = columns_of(plan, &none);
  for (int i = 0; i < columns.count; i++)
    fprintf(out, "%s%c", columns.items[i].name, i + 1 < columns.count ? ',' : '\n');
}

static void print_number(FILE *out, const column_t *column, int width) {
  if (column->digits == SIGNIFICANT) fprintf(out, "%*.9g", width, column->number);
  if (column->digits != SIGNIFICANT) fprintf(out, "%*.*f", width, column->digits, column->number);
}

static void print_csv(FILE *out, const column_t *column) {
  if (column->text == NULL && isfinite(column->number)) print_number(out, column, 0);
  if (column->text == NULL) return;
  if (strpbrk(column->text, ",\"") == NULL) {
    fputs(column->text, out);
    return;
  }
  fputc('"', out);
  for (const char *c = column->text; *c != '\0'; c++) fprintf(out, *c == '"' ? "\"\"" : "%c", *c);
  fputc('"', out);
}

void explore_print_csv(FILE *out, const explore_plan_t *plan, const explore_row_t *row) {
  const columns_t columns = columns_of(plan, row);
  for (int i = 0; i < columns.count; i++) {
    print_csv(out, &columns.items[i]);
    fputc(i + 1 < columns.count ? ',' : '\n', out);
  }
}

// --- The printed table --------------------------------------------------------------------------

static int has_reason(const explore_plan_t *plan) {
  for (int i = 0; i < plan->case_count; i++) {
    if (plan->cases[i].reason[0] != '\0' || plan->cases[i].note[0] != '\0') return 1;
  }
  return 0;
}

// Returns whether an option listed several values of this column: "mem_bandwidth" of
// "mem-bandwidth"; channels are in the name of the DRAM.
static int is_list(const explore_plan_t *plan, const char *name) {
  for (int i = 0; i < EXPLORE_LISTS; i++) {
    const char *own = explore_list_names[i];
    const char *list = strcmp(own, "channels") == 0 ? "dram" : own;
    const size_t word = strcspn(list, "-");
    if (strncmp(name, list, word) == 0 &&
        strcmp(name + word + (name[word] == '_'), list + word + (list[word] == '-')) == 0)
      return strchr(plan->lists[i], ',') != NULL || strstr(plan->lists[i], "..") != NULL;
  }
  return 0;
}

// Returns whether a column is printed: those that describe and measure a job, and the lists with
// several values. The CSV has all columns.
static int is_printed(const explore_plan_t *plan, const char *name) {
  static const char *const always[] = {"layer", "pass",   "tensor",       "count",    "m", "n",
                                       "k",     "cycles", "util_percent", "bound_by", "ms"};
  if (strcmp(name, "batch") == 0) return !plan->serial;
  if (strcmp(name, "reason") == 0) return has_reason(plan);
  if (strcmp(name, "split") == 0) return strcmp(plan->lists[EXPLORE_LISTS - 1], "1") != 0;
  if (strcmp(name, "read_bytes") == 0 || strcmp(name, "write_bytes") == 0) return plan->host_bytes;
  for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
    if (strcmp(name, always[i]) == 0) return 1;
  }
  return is_list(plan, name);
}

static void widen(int *width, const char *text) {
  const int length = (int)strlen(text);
  if (length > *width) *width = length;
}

static int is_long(const char *name) {
  return strstr(name, "_bytes") != NULL || strstr(name, "_bits") != NULL ||
         strcmp(name, "macs") == 0;
}

// Returns the width of a column, which fits its name and its longest text; sizes and cycles are
// wider than their names.
static int width_of(const explore_plan_t *plan, const column_t *column) {
  int width = 0;
  widen(&width, column->name);
  if (column->text == NULL && strcmp(column->name, "batch") != 0)
    widen(&width, is_long(column->name) ? "123456789012" : "12345678");
  if (column->digits == SIGNIFICANT) widen(&width, "1.23456789e-12");
  if (strcmp(column->name, "pass") == 0)
    widen(&width, pass_names[plan->host_bytes ? EXPLORE_BACKWARD : EXPLORE_QUANT]);
  if (strcmp(column->name, "bound_by") == 0) widen(&width, "compute");
  for (int i = 0;
       strcmp(column->name, "layer") == 0 && i < plan->model.layer_count + plan->model.host_count;
       i++)
    widen(&width, plan->model.layers[i].name);
  for (int i = 0; i < plan->case_count; i++) {
    if (strcmp(column->name, "recipe") == 0) widen(&width, plan->cases[i].recipe.name);
    if (strcmp(column->name, "config") == 0) widen(&width, plan->cases[i].core.name);
    if (strcmp(column->name, "dram") == 0) widen(&width, plan->cases[i].dram);
    if (strcmp(column->name, "chips") == 0) widen(&width, plan->cases[i].chips.text);
  }
  return width;
}

static void print_cell(const explore_plan_t *plan, const column_t *column, int head) {
  const int width = width_of(plan, column);
  if (head) {
    printf(" %*s", column->text != NULL ? -width : width, column->name);
  } else if (column->text != NULL) {
    printf(" %-*s", width, column->text[0] != '\0' ? column->text : "-");
  } else if (isnan(column->number)) {
    printf(" %*s", width, "-");
  } else {
    putchar(' ');
    print_number(stdout, column, width);
  }
}

static void print_row(const explore_plan_t *plan, const explore_row_t *row, int head) {
  const columns_t columns = columns_of(plan, row);
  putchar(head ? '%' : ' ');
  for (int i = 0; i < columns.count; i++) {
    const column_t *column = &columns.items[i];
    if (is_printed(plan, column->name)) print_cell(plan, column, head);
  }
  putchar('\n');
}

void explore_print_head(const explore_plan_t *plan) {
  const explore_row_t none = {
      .layer = "", .batch = EXPLORE_NO_BATCH, .split = EXPLORE_SPLIT_COUNT, .of = &plan->cases[0]};
  print_row(plan, &none, 1);
}

void explore_print_line(const explore_plan_t *plan, const explore_row_t *row) {
  print_row(plan, row, 0);
}

// Prints the distinguishing columns of a step, and these columns.
static void print_step(const explore_plan_t *plan, const explore_row_t *row,
                       const char *const names[], int head) {
  const columns_t columns = columns_of(plan, row);
  putchar(head ? '%' : ' ');
  for (int i = 0; i < columns.count; i++) {
    const column_t *column = &columns.items[i];
    int wanted = is_list(plan, column->name);
    for (int n = 0; names[n] != NULL && !wanted; n++) wanted = strcmp(names[n], column->name) == 0;
    if (wanted) print_cell(plan, column, head);
  }
  putchar('\n');
}

static void print_steps(const explore_plan_t *plan, const explore_rows_t *rows,
                        const char *const names[]) {
  int lines = 0;
  for (int i = 0; i < rows->count; i++) {
    if (!is_step(&rows->rows[i])) continue;
    if (lines++ == 0) print_step(plan, &rows->rows[i], names, 1);
    print_step(plan, &rows->rows[i], names, 0);
  }
}

void explore_print_steps(const explore_plan_t *plan, const explore_rows_t *rows) {
  static const char *const needs[] = {
      "weight_bytes", "copy_bytes", "activation_bytes", "gradient_bytes", "optimizer_bytes",
      "live_bytes",   NULL};
  static const char *const times[] = {"compute_ms",
                                      "gather_ms",
                                      "exchange_ms",
                                      "send_ms",
                                      "bubble_ms",
                                      "reduce_ms",
                                      "reduce_exposed_ms",
                                      "chips_ms",
                                      "chips_tokens_per_second",
                                      NULL};
  static const char *const chips[] = {"chip_weight_bytes",
                                      "chip_gradient_bytes",
                                      "chip_optimizer_bytes",
                                      "chip_copy_bytes",
                                      "chip_activation_bytes",
                                      "chip_bytes",
                                      "fits",
                                      NULL};
  static const char *const energies[] = {
      "macs", "quant_blocks", "mac_joules", "idle_joules", "clock_joules", "bus_joules", "joules",
      "um2",  "memory_bits",  "memory_um2", NULL};
  static const char *const memories[] = {"memory_joules", "sum_bits",   "operand_bits",
                                         "addend_bits",   "quant_bits", NULL};
  static const char *const worths[] = {"watts", "tokens_per_joule", "mm2_per_tmacs", NULL};
  static const char *const more[] = {"wait_joules", "link_joules", "chips_joules", NULL};
  print_steps(plan, rows, needs);
  if (plan->layout.text != NULL) print_steps(plan, rows, times);
  if (plan->layout.text != NULL) print_steps(plan, rows, chips);
  explore_print_clocks(plan);
  if (plan->ppa.text == NULL) return;
  print_steps(plan, rows, energies);
  print_steps(plan, rows, memories);
  if (plan->layout.text != NULL) print_steps(plan, rows, more);
  print_steps(plan, rows, worths);
  explore_print_order(plan, rows);
  explore_print_ppa(plan);
}

json_t *explore_json_row(const explore_plan_t *plan, const explore_row_t *row) {
  const columns_t columns = columns_of(plan, row);
  json_t *object = json_object();
  for (int i = 0; i < columns.count; i++) {
    const column_t *column = &columns.items[i];
    json_t *value;
    if (column->text != NULL) {
      value = column->text[0] != '\0' ? json_text(column->text) : json_null();
    } else if (column->digits == 0 && isfinite(column->number)) {
      value = json_integer((json_int_t)column->number);
    } else {
      value = json_real_or_null(column->number);
    }
    json_object_set_new(object, column->name, value);
  }
  return object;
}
