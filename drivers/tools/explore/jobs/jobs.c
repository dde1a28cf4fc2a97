// SPDX-License-Identifier: Apache-2.0
// The jobs of a case, before they are measured.

#include "explore/jobs/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dram.h"
#include "explore/jobs/cores.h"
#include "explore/options/options.h"

// --- Shapes -------------------------------------------------------------------------------------

int64_t explore_tokens(const explore_case_t *of) {
  return of->tokens / of->micro;
}

int explore_is_expert(const explore_layer_t *layer) {
  return layer->kind == EXPLORE_LINEAR && layer->tokens_by > 1;
}

explore_case_t explore_alone(const explore_case_t *of) {
  explore_case_t alone = *of;
  alone.chips = (explore_chips_t){.data = 1, .tensor = 1, .pipeline = 1, .experts = 1};
  return alone;
}

// Returns how many layers of this shape a chip has.
static int64_t count_of(const explore_case_t *of, const explore_layer_t *layer) {
  if (layer->share == EXPLORE_HEADS) return layer->count / of->chips.tensor;
  return explore_is_expert(layer) ? layer->count / of->chips.experts : layer->count;
}

// Returns the rows of all layers of this shape, which share the tokens of a micro-batch; for
// experts, the tokens of all replicas that share them.
static int64_t routed(const explore_case_t *of, const explore_layer_t *layer) {
  const int64_t replicas = explore_is_expert(layer) ? of->chips.experts : 1;
  const int64_t by = layer->tokens_by, all = replicas * explore_tokens(of) * layer->tokens_of;
  const int64_t count = count_of(of, layer);
  return all / by * count + (all % by * count + by - 1) / by;
}

int64_t explore_layer_count(const explore_case_t *of, const explore_layer_t *layer) {
  const int64_t rows = routed(of, layer);
  const int64_t count = count_of(of, layer);
  return layer->tokens != 0 || rows > count ? count : rows;
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

static int64_t width(const explore_case_t *of, int64_t all, int is_shared) {
  if (all == EXPLORE_SEQUENCE) return explore_tokens(of);
  return is_shared ? all / of->chips.tensor : all;
}

int64_t explore_cin(const explore_case_t *of, const explore_layer_t *layer) {
  return width(of, layer->cin, layer->share == EXPLORE_ROWS);
}

int64_t explore_cout(const explore_case_t *of, const explore_layer_t *layer) {
  return width(of, layer->cout, layer->share == EXPLORE_COLUMNS);
}

void explore_role_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int role, int64_t *rows, int64_t *cols) {
  const int64_t cin = explore_cin(of, layer), cout = explore_cout(of, layer);
  *rows = role == UFP4_ROLE_W ? cout : tokens;
  *cols = role == UFP4_ROLE_DY ? cout : cin;
}

void explore_pass_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int pass, int64_t *m, int64_t *n, int64_t *k) {
  const int64_t cin = explore_cin(of, layer), cout = explore_cout(of, layer);
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

int explore_adds(const explore_case_t *of, const explore_layer_t *layer, int pass) {
  return pass == UFP4_PASS_WGRAD && of->micro > 1 && layer->kind == EXPLORE_LINEAR;
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
  device.options.cycle_fs = explore_cycle_fs(of);
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

bounds_memory_t explore_memory(const explore_case_t *of) {
  return (bounds_memory_t){.bytes = explore_bytes_per_cycle(of), .latency = of->mem_latency};
}

const char *explore_dram(const explore_case_t *of) {
  return of->dram[0] != '\0' ? of->dram : NULL;
}

double explore_dram_bandwidth(const explore_case_t *of) {
  const ufp4_dram_t dram = ufp4_find_dram(of->dram);
  return dram.channels != 0 ? ufp4_dram_bandwidth(&dram) * 1e3 / of->clock_mhz : HUGE_VAL;
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
                         .count = explore_layer_count(of, layer) * layer->blocks * of->micro,
                         .tokens = (double)tokens};
}

explore_row_t explore_gemm_row(const explore_plan_t *plan, const explore_case_t *of,
                               const explore_layer_t *layer, int64_t tokens, int pass, int adds) {
  explore_row_t row = start_row(of, layer, tokens, (explore_pass_t)pass);
  if (explore_adds(of, layer, pass)) row.count = row.count / of->micro * (adds ? of->micro - 1 : 1);
  explore_pass_shape(of, layer, tokens, pass, &row.m, &row.n, &row.k);
  row.macs = explore_layer_share(of, layer) * (double)row.m * (double)row.n * (double)row.k;
  const unsigned d_bytes = explore_result_dtype(plan, pass) == UFP4_DTYPE_BF16 ? 2 : 4;
  const bounds_gemm_t gemm = {
      .m = row.m, .n = row.n, .k = row.k, .d_bytes = d_bytes, .operations = adds, .has_c = adds};
  const bounds_t bounds = bounds_of(&of->core, explore_memory(of), &gemm);
  row.compute = bounds.compute;
  row.load = bounds.load;
  row.array = bounds.array;
  row.memory = explore_memory_bound(of, bounds.read, bounds.write);
  row.ahead = bounds.ahead;
  row.burst = bounds.burst;
  row.output = bounds.output;
  row.read = bounds.operand_bytes + (adds ? (double)row.m * (double)row.n * 4 : 0);
  row.written = (double)row.m * (double)row.n * d_bytes;
  return row;
}

// Returns the bytes that @p data takes on the bus in whole beats.
static double on_bus(const explore_case_t *of, double data) {
  return ceil(data / of->core.bus_bytes) * of->core.bus_bytes;
}

// Returns the bytes on the bus of a panel unit of QUANT; an engine of several lanes puts the scales
// of several units into one beat.
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
  if (role == UFP4_ROLE_W && layer->kind == EXPLORE_LINEAR) row.count /= of->micro;
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
  for (int i = 0; i < EXPLORE_COUNTERS; i++) total->counters[i] += times * row->counters[i];
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

// A product reads both of its tensors, and in the backward pass the gradient twice; all other work
// of the host reads and writes each number once. The bytes are those of all chips that share a
// layer.
static explore_row_t host_row(const explore_case_t *shared, const explore_layer_t *layer,
                              explore_pass_t pass) {
  const explore_case_t alone = explore_alone(shared), *of = &alone;
  const int64_t tokens = explore_layer_tokens(of, layer);
  explore_row_t row = start_row(of, layer, tokens, pass);
  const double bytes = 2, x = bytes * (double)tokens * (double)explore_cin(of, layer),
               y = bytes * (double)tokens * (double)explore_cout(of, layer);
  const double w = layer->kind == EXPLORE_HOST
                       ? 0
                       : bytes * (double)explore_cin(of, layer) * (double)explore_cout(of, layer);
  const int product = layer->kind == EXPLORE_BF16, forward = pass == EXPLORE_FORWARD;
  row.m = tokens;
  row.n = explore_cout(of, layer);
  row.k = product ? explore_cin(of, layer) : 0;
  row.cycles = NAN;
  row.read = forward ? x + w : x + w + (product ? 2 : 1) * y;
  row.written = forward ? y : x + w;
  row.of = shared;
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
