// SPDX-License-Identifier: Apache-2.0
// What a job of a case is, before it is measured.
#include "jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dram.h"
#include "frame/bounds.h"

// --- Shapes -------------------------------------------------------------------------------------

// Rows of all layers of this shape in a block, which share the step's tokens.
static int64_t routed(const explore_case_t *of, const explore_layer_t *layer) {
  const int64_t by = layer->tokens_by, all = of->tokens * layer->tokens_of;
  return all / by * layer->count + (all % by * layer->count + by - 1) / by;
}

int64_t explore_layer_count(const explore_case_t *of, const explore_layer_t *layer) {
  const int64_t rows = routed(of, layer);
  return layer->tokens != 0 || rows > layer->count ? layer->count : rows;
}

int64_t explore_layer_tokens(const explore_case_t *of, const explore_layer_t *layer) {
  const int64_t active = explore_layer_count(of, layer);
  const int64_t share = (routed(of, layer) + active - 1) / active;
  return (layer->tokens != 0 ? layer->tokens : share) * layer->group;
}

double explore_layer_share(const explore_case_t *of, const explore_layer_t *layer) {
  if (layer->tokens != 0) return 1;
  const int64_t each = explore_layer_tokens(of, layer) / layer->group;
  return (double)routed(of, layer) / (double)(each * explore_layer_count(of, layer));
}

int64_t explore_width(const explore_case_t *of, int64_t width) {
  return width == EXPLORE_SEQUENCE ? of->tokens : width;
}

void explore_role_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int role, int64_t *rows, int64_t *cols) {
  const int64_t cin = explore_width(of, layer->cin), cout = explore_width(of, layer->cout);
  *rows = role == UFP4_ROLE_W ? cout : tokens;
  *cols = role == UFP4_ROLE_DY ? cout : cin;
}

void explore_pass_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int pass, int64_t *m, int64_t *n, int64_t *k) {
  const int64_t cin = explore_width(of, layer->cin), cout = explore_width(of, layer->cout);
  *m = pass == UFP4_PASS_WGRAD ? cout : tokens;
  *n = pass == UFP4_PASS_FPROP ? cout : cin;
  *k = pass == UFP4_PASS_FPROP ? cin : pass == UFP4_PASS_DGRAD ? cout : tokens;
}

int explore_wants(const explore_case_t *of, int role, int axis) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    if (!ufp4_recipe_quantizes(&of->recipe, (ufp4_pass_t)pass)) continue;
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2; i++) {
      if ((int)roles[i] == role && (int)axes[i] == axis) return 1;
    }
  }
  return 0;
}

ufp4_dtype_t explore_result_dtype(const explore_plan_t *plan, int pass) {
  return pass == UFP4_PASS_WGRAD ? UFP4_DTYPE_F32 : plan->source;
}

int explore_batches(const explore_plan_t *plan, const explore_case_t *of) {
  if (plan->serial) return 1;
  if (plan->batches != 0) return plan->batches;
  const int64_t tile = (int64_t)of->core.rows * of->core.tile_rows;
  for (int i = 0; i < plan->model.layer_count; i++) {
    if (explore_layer_tokens(of, &plan->model.layers[i]) / 2 < 2 * tile) return 1;
  }
  return 2;
}

// --- The core -----------------------------------------------------------------------------------

int explore_open(const explore_plan_t *plan, const explore_case_t *of, uint64_t memory_bytes,
                 ufp4_bus_t *bus, ufp4_device_t **opened) {
  cli_device_t device;
  cli_device_init(&device);
  device.backend = "tlm";
  device.configuration = of->core.name;
  device.timing_only = 1;
  device.options.bus = bus;
  device.timeline = plan->timeline;
  device.mem_latency = of->mem_latency;
  device.mem_bandwidth = of->mem_bandwidth;
  device.dram = explore_dram(of);
  device.max_cycles = UINT64_MAX;
  cli_device_demand(&device, memory_bytes);
  return cli_device_open(&cli_explore, &device, device.backend, opened);
}

// --- Rows ---------------------------------------------------------------------------------------

unsigned explore_bytes_per_cycle(const explore_case_t *of) {
  const unsigned bus = of->core.bus_bytes, limit = of->mem_bandwidth;
  if (of->cores > 1 && explore_dram(of) != NULL) return of->cores * bus;
  if (of->cores > 1 && limit != 0) return limit < of->cores * bus ? limit : of->cores * bus;
  return limit != 0 && limit < bus ? limit : bus;
}

const char *explore_dram(const explore_case_t *of) {
  return of->dram[0] != '\0' ? of->dram : NULL;
}

double explore_dram_bandwidth(const explore_case_t *of) {
  const ufp4_dram_t dram = ufp4_find_dram(of->dram);
  return dram.channels != 0 ? ufp4_dram_bandwidth(&dram) : HUGE_VAL;
}

double explore_memory_bound(const explore_case_t *of, double read, double write) {
  const double both = (read + write) * explore_bytes_per_cycle(of) / explore_dram_bandwidth(of);
  return fmax(both, fmax(read, write));
}

static explore_row_t start_row(const explore_case_t *of, const explore_layer_t *layer,
                               int64_t tokens, explore_pass_t pass) {
  return (explore_row_t){.layer = layer->name,
                         .pass = pass,
                         .batch = EXPLORE_NO_BATCH,
                         .split = EXPLORE_SPLIT_COUNT,
                         .of = of,
                         .count = explore_layer_count(of, layer) * layer->blocks,
                         .tokens = (double)tokens};
}

explore_row_t explore_gemm_row(const explore_plan_t *plan, const explore_case_t *of,
                               const explore_layer_t *layer, int64_t tokens, int pass) {
  explore_row_t row = start_row(of, layer, tokens, (explore_pass_t)pass);
  explore_pass_shape(of, layer, tokens, pass, &row.m, &row.n, &row.k);
  row.macs = explore_layer_share(of, layer) * (double)row.m * (double)row.n * (double)row.k;
  const unsigned d_bytes = explore_result_dtype(plan, pass) == UFP4_DTYPE_BF16 ? 2 : 4;
  const bounds_gemm_t gemm = {.m = row.m, .n = row.n, .k = row.k, .d_bytes = d_bytes};
  const bounds_t bounds = bounds_of(&of->core, explore_bytes_per_cycle(of), &gemm);
  row.compute = bounds.compute;
  row.load = bounds.load;
  row.array = bounds.array;
  row.memory = explore_memory_bound(of, bounds.read, bounds.write);
  row.output = bounds.output;
  row.read = bounds.operand_bytes;
  row.written = (double)row.m * (double)row.n * d_bytes;
  return row;
}

// Bytes that @p data takes on the bus: whole beats.
static double on_bus(const explore_case_t *of, double data) {
  return ceil(data / of->core.bus_bytes) * of->core.bus_bytes;
}

// A panel unit of QUANT's; lanes put scales of several into one beat.
static double unit_on_bus(const explore_case_t *of) {
  const double scales = UFP4_PANEL_SCALE_BYTES;
  return UFP4_PANEL_CODE_BYTES + (of->core.quant > 16 ? scales : on_bus(of, scales));
}

explore_row_t explore_quant_row(const explore_plan_t *plan, const explore_case_t *of,
                                const explore_layer_t *layer, int64_t tokens, int role,
                                explore_pass_t pass, int copies) {
  static const char *const names[UFP4_ROLE_COUNT] = {"X", "W", "dY"};
  explore_row_t row = start_row(of, layer, tokens, pass);
  row.tensor = names[role];
  explore_role_shape(of, layer, tokens, role, &row.m, &row.n);
  const double bytes = explore_bytes_per_cycle(of), numbers = (double)row.m * (double)row.n;
  const double row_bytes = (double)row.n * (plan->source == UFP4_DTYPE_BF16 ? 2 : 4);
  const double units =
      ceil((double)row.m / 16) * ceil((double)row.n / 16) * (pass == EXPLORE_QUANT ? copies : 0);
  row.compute = numbers / of->core.quant;
  row.memory = explore_memory_bound(of, (double)row.m * on_bus(of, row_bytes) / bytes,
                                    units * unit_on_bus(of) / bytes);
  row.read = (double)row.m * row_bytes;
  row.written = units * (UFP4_PANEL_CODE_BYTES + UFP4_PANEL_SCALE_BYTES);
  return row;
}

void explore_add_to(explore_row_t *total, const explore_row_t *row, double times) {
  total->macs += times * row->macs;
  total->cycles += times * row->cycles;
  total->read += times * row->read;
  total->written += times * row->written;
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) total->counters[i] += times * row->counters[i];
}

int explore_add_row(explore_rows_t *rows, const explore_row_t *row) {
  if (rows->count == rows->capacity) {
    const int capacity = rows->capacity ? 2 * rows->capacity : 64;
    explore_row_t *more = realloc(rows->rows, (size_t)capacity * sizeof *more);
    if (more == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
    rows->rows = more;
    rows->capacity = capacity;
  }
  rows->rows[rows->count++] = *row;
  return CLI_GO_ON;
}

// A product reads both of its tensors, and backward the gradient twice; what else the host does
// reads and writes each number once.
static explore_row_t host_row(const explore_case_t *of, const explore_layer_t *layer,
                              explore_pass_t pass) {
  const int64_t tokens = explore_layer_tokens(of, layer);
  explore_row_t row = start_row(of, layer, tokens, pass);
  const double bytes = 2, x = bytes * (double)tokens * (double)explore_width(of, layer->cin),
               y = bytes * (double)tokens * (double)explore_width(of, layer->cout);
  const double w = layer->kind == EXPLORE_HOST ? 0
                                               : bytes * (double)explore_width(of, layer->cin) *
                                                     (double)explore_width(of, layer->cout);
  const int product = layer->kind == EXPLORE_BF16, forward = pass == EXPLORE_FORWARD;
  row.m = tokens;
  row.n = explore_width(of, layer->cout);
  row.k = product ? explore_width(of, layer->cin) : 0;
  row.cycles = NAN;
  row.read = forward ? x + w : x + w + (product ? 2 : 1) * y;
  row.written = forward ? y : x + w;
  return row;
}

int explore_add_host(const explore_plan_t *plan, const explore_case_t *of, explore_rows_t *rows) {
  const explore_model_t *model = &plan->model;
  int end = CLI_GO_ON;
  for (int i = 0; plan->host_bytes && i < 2 * model->host_count && end == CLI_GO_ON; i++) {
    const explore_layer_t *layer = &model->layers[model->layer_count + i / 2];
    const explore_row_t row = host_row(of, layer, i % 2 ? EXPLORE_BACKWARD : EXPLORE_FORWARD);
    end = explore_add_row(rows, &row);
  }
  return end;
}

static explore_row_t total(const explore_case_t *of, const char *name, const explore_row_t *from,
                           int64_t count) {
  explore_row_t row = *from;
  row.layer = name;
  row.pass = EXPLORE_ALL;
  row.batch = EXPLORE_NO_BATCH;
  row.split = EXPLORE_SPLIT_COUNT;
  row.of = of;
  row.count = count;
  row.tokens = (double)of->tokens;
  return row;
}

int explore_add_totals(const explore_plan_t *plan, const explore_case_t *of,
                       const explore_row_t blocks[EXPLORE_MAX_KINDS], const explore_row_t *step,
                       explore_rows_t *rows) {
  const explore_model_t *model = &plan->model;
  explore_row_t all = total(of, "step", step, 1);
  for (int kind = 0; kind < model->kind_count; kind++) all.block_cycles[kind] = blocks[kind].cycles;
  int end = explore_add_host(plan, of, rows);
  for (int kind = 0; kind < model->kind_count && end == CLI_GO_ON; kind++) {
    const explore_row_t block =
        total(of, model->kinds[kind].name, &blocks[kind], model->kinds[kind].blocks);
    end = explore_add_row(rows, &block);
  }
  return end == CLI_GO_ON ? explore_add_row(rows, &all) : end;
}

int explore_kind_of(const explore_model_t *model, const explore_row_t *total) {
  int kind = model->kind_count - 1;
  while (kind >= 0 && strcmp(total->layer, model->kinds[kind].name) != 0) kind--;
  return kind;
}
