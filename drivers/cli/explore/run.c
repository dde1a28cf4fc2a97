// SPDX-License-Identifier: Apache-2.0
// The jobs of one case: AMAX and QUANT of each tensor and the training GEMMs of each layer, one
// after the other on a core that knows time alone, or side by side (overlap.c).
#include <math.h>
#include <string.h>

#include "explore/jobs.h"

/** A copy of a tensor in device memory. */
typedef struct {
  int wanted;
  int64_t rows, cols, stride_blocks;
  uint64_t codes, scales;
} copy_t;

typedef struct {
  const explore_plan_t *plan;
  const explore_case_t *of;
  explore_rows_t *rows;
  ufp4_device_t *device;
  const explore_layer_t *layer;
  int64_t tokens;  ///< that the layer sees
  copy_t copies[UFP4_ROLE_COUNT][2];
  uint64_t sources[UFP4_ROLE_COUNT], results[UFP4_PASS_COUNT];
  explore_row_t block;  ///< total
} run_t;

static int fail_device(const run_t *run, ufp4_status_t status) {
  return cli_fail_status(&cli_explore, status, ufp4_device_message(run->device));
}

// --- Shapes -------------------------------------------------------------------------------------

static void role_shape(const run_t *run, int role, int64_t *rows, int64_t *cols) {
  explore_role_shape(run->layer, run->tokens, role, rows, cols);
}

static void pass_shape(const run_t *run, int pass, int64_t *m, int64_t *n, int64_t *k) {
  explore_pass_shape(run->layer, run->tokens, pass, m, n, k);
}

static uint64_t source_bytes(const run_t *run) {
  return run->plan->source == UFP4_DTYPE_BF16 ? 2 : 4;
}

static uint64_t stride_bytes(int64_t cols, uint64_t element_bytes) {
  const uint64_t align = UFP4_ALIGN_BYTES;
  return ((uint64_t)cols * element_bytes + align - 1) / align * align;
}

static uint64_t result_stride(const run_t *run, int pass, int64_t n) {
  return stride_bytes(n, explore_result_dtype(run->plan, pass) == UFP4_DTYPE_BF16 ? 2 : 4);
}

// --- Memory -------------------------------------------------------------------------------------

static void plan_copies(run_t *run) {
  memset(run->copies, 0, sizeof run->copies);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    if (!ufp4_recipe_quantizes(&run->of->recipe, (ufp4_pass_t)pass)) continue;
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2; i++) {
      copy_t *copy = &run->copies[roles[i]][axes[i]];
      int64_t rows, cols;
      role_shape(run, (int)roles[i], &rows, &cols);
      copy->wanted = 1;
      copy->rows = axes[i] == UFP4_AXIS_ROW ? rows : cols;
      copy->cols = axes[i] == UFP4_AXIS_ROW ? cols : rows;
      copy->stride_blocks = ufp4_panel_stride_blocks(copy->cols);
    }
  }
}

static ufp4_status_t allocate_copy(run_t *run, copy_t *copy) {
  const int64_t stride = copy->stride_blocks;
  ufp4_status_t status = ufp4_buffer_alloc(
      run->device, (uint64_t)ufp4_panel_codes_bytes(copy->rows, stride), &copy->codes);
  if (status != UFP4_OK) return status;
  return ufp4_buffer_alloc(run->device, (uint64_t)ufp4_panel_scales_bytes(copy->rows, stride),
                           &copy->scales);
}

static ufp4_status_t allocate(run_t *run) {
  ufp4_status_t status = UFP4_OK;
  plan_copies(run);
  for (int role = 0; role < UFP4_ROLE_COUNT && status == UFP4_OK; role++) {
    int64_t rows, cols;
    role_shape(run, role, &rows, &cols);
    status = ufp4_buffer_alloc(run->device, (uint64_t)rows * stride_bytes(cols, source_bytes(run)),
                               &run->sources[role]);
    for (int axis = 0; axis < 2 && status == UFP4_OK; axis++) {
      if (run->copies[role][axis].wanted) status = allocate_copy(run, &run->copies[role][axis]);
    }
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT && status == UFP4_OK; pass++) {
    int64_t m, n, k;
    pass_shape(run, pass, &m, &n, &k);
    status = ufp4_buffer_alloc(run->device, (uint64_t)m * result_stride(run, pass, n),
                               &run->results[pass]);
  }
  return status;
}

// All of them, so that every layer finds memory as the first did.
static void release(run_t *run) {
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
    ufp4_buffer_free(run->device, run->sources[role]);
    for (int axis = 0; axis < 2; axis++) {
      ufp4_buffer_free(run->device, run->copies[role][axis].codes);
      ufp4_buffer_free(run->device, run->copies[role][axis].scales);
    }
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++)
    ufp4_buffer_free(run->device, run->results[pass]);
  memset(run->copies, 0, sizeof run->copies);
  memset(run->sources, 0, sizeof run->sources);
  memset(run->results, 0, sizeof run->results);
}

static uint64_t copy_bytes(int64_t rows, int64_t cols) {
  const int64_t stride = ufp4_panel_stride_blocks(cols);
  return (uint64_t)(ufp4_panel_codes_bytes(rows, stride) + ufp4_panel_scales_bytes(rows, stride) +
                    4 * UFP4_ALIGN_BYTES);
}

// What allocate takes, of the largest layer.
static uint64_t explore_serial_bytes(const explore_plan_t *plan, const explore_case_t *of) {
  uint64_t most = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    run_t run = {.plan = plan, .of = of, .layer = &plan->model.layers[i]};
    uint64_t bytes = 0;
    run.tokens = explore_layer_tokens(run.of, run.layer);
    for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
      int64_t rows, cols;
      role_shape(&run, role, &rows, &cols);
      bytes +=
          (uint64_t)rows * stride_bytes(cols, 4) + copy_bytes(rows, cols) + copy_bytes(cols, rows);
    }
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
      int64_t m, n, k;
      pass_shape(&run, pass, &m, &n, &k);
      bytes += (uint64_t)m * stride_bytes(n, 4);
    }
    if (bytes > most) most = bytes;
  }
  return most;
}

// --- Jobs ---------------------------------------------------------------------------------------

static ufp4_descriptor_t describe_quant(const run_t *run, int role, uint8_t opcode) {
  const ufp4_recipe_t *recipe = &run->of->recipe;
  const copy_t *row = &run->copies[role][UFP4_AXIS_ROW], *col = &run->copies[role][UFP4_AXIS_COL];
  const int axis = row->wanted ? UFP4_AXIS_ROW : UFP4_AXIS_COL;
  ufp4_descriptor_t descriptor = {.quant = {.opcode = opcode}};
  ufp4_quant_descriptor_t *quant = &descriptor.quant;
  int64_t rows, cols;
  uint8_t modes[2] = {0, 0};
  role_shape(run, role, &rows, &cols);
  for (int i = 0; i < 2; i++) {
    if (!run->copies[role][i].wanted) continue;
    const ufp4_quantize_t how = ufp4_recipe_quantize(recipe, (ufp4_role_t)role, (ufp4_axis_t)i);
    const unsigned slot = recipe->scale == UFP4_SCALE_E8M0 ? 0 : UFP4_MODE_SLOT;
    modes[i] = (uint8_t)(UFP4_MODE_ENABLE | slot | (how.rht ? UFP4_MODE_RHT : 0));
  }
  quant->rows = (uint32_t)rows;
  quant->cols = (uint32_t)cols;
  quant->src_addr = run->sources[role];
  quant->src_stride_bytes = (uint32_t)stride_bytes(cols, source_bytes(run));
  quant->src_dtype = (uint8_t)run->plan->source;
  quant->elem = (uint8_t)recipe->elem;
  quant->scale = (uint8_t)recipe->scale;
  quant->round = (uint8_t)recipe->round[role][axis];
  quant->scale_round = (uint8_t)recipe->scale_round[role][axis];
  quant->rht_mask = recipe->rht_mask;
  quant->row_mode = modes[UFP4_AXIS_ROW];
  quant->col_mode = modes[UFP4_AXIS_COL];
  if (modes[UFP4_AXIS_ROW] & UFP4_MODE_SLOT) quant->row_exponent = UFP4_LAYER_SLOTS;
  if (modes[UFP4_AXIS_COL] & UFP4_MODE_SLOT) quant->col_exponent = UFP4_LAYER_SLOTS + 1;
  quant->row_codes_addr = row->codes;
  quant->row_scales_addr = row->scales;
  quant->row_stride_blocks = (uint32_t)row->stride_blocks;
  quant->col_codes_addr = col->codes;
  quant->col_scales_addr = col->scales;
  quant->col_stride_blocks = (uint32_t)col->stride_blocks;
  return descriptor;
}

static ufp4_descriptor_t describe_gemm(const run_t *run, int pass) {
  const ufp4_recipe_t *recipe = &run->of->recipe;
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  int64_t m, n, k;
  ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
  pass_shape(run, pass, &m, &n, &k);
  const copy_t *a = &run->copies[roles[0]][axes[0]], *b = &run->copies[roles[1]][axes[1]];
  return (ufp4_descriptor_t){.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                      .m = (uint32_t)m,
                                      .n = (uint32_t)n,
                                      .k = (uint32_t)k,
                                      .contract = (uint8_t)recipe->contract,
                                      .a_elem = (uint8_t)recipe->elem,
                                      .b_elem = (uint8_t)recipe->elem,
                                      .scale = (uint8_t)recipe->scale,
                                      .d_dtype = (uint8_t)explore_result_dtype(run->plan, pass),
                                      .a_codes_addr = a->codes,
                                      .a_scales_addr = a->scales,
                                      .b_codes_addr = b->codes,
                                      .b_scales_addr = b->scales,
                                      .a_stride_blocks = (uint32_t)a->stride_blocks,
                                      .b_stride_blocks = (uint32_t)b->stride_blocks,
                                      .d_addr = run->results[pass],
                                      .d_stride_bytes = (uint32_t)result_stride(run, pass, n)}};
}

// Runs one job and gives its cycles and what it added to the counters.
static ufp4_status_t measure(run_t *run, const ufp4_descriptor_t *job, explore_row_t *row) {
  uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT];
  ufp4_completion_t done;
  uint32_t number;
  ufp4_status_t status = ufp4_device_counters(run->device, before);
  if (status == UFP4_OK) status = ufp4_submit(run->device, job, &number);
  if (status == UFP4_OK) status = ufp4_wait(run->device, number, 0, &done);
  if (status == UFP4_OK) status = ufp4_device_counters(run->device, after);
  if (status != UFP4_OK) return status;
  row->cycles = (double)done.cycles;
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) row->counters[i] = (double)(after[i] - before[i]);
  return UFP4_OK;
}

// --- Rows ---------------------------------------------------------------------------------------

static int finish_row(run_t *run, const ufp4_descriptor_t *job, explore_row_t *row) {
  ufp4_status_t status = measure(run, job, row);
  if (status != UFP4_OK) return fail_device(run, status);
  explore_add_to(&run->block, row, (double)run->layer->count);
  return explore_add_row(run->rows, row);
}

static int run_gemm(run_t *run, int pass) {
  if (!ufp4_recipe_quantizes(&run->of->recipe, (ufp4_pass_t)pass)) return CLI_GO_ON;
  const ufp4_descriptor_t job = describe_gemm(run, pass);
  explore_row_t row = explore_gemm_row(run->plan, run->of, run->layer, run->tokens, pass);
  return finish_row(run, &job, &row);
}

static int run_quant(run_t *run, int role, explore_pass_t pass) {
  const int copies = run->copies[role][0].wanted + run->copies[role][1].wanted;
  if (copies == 0) return CLI_GO_ON;
  const uint8_t opcode = pass == EXPLORE_AMAX ? UFP4_OPCODE_AMAX : UFP4_OPCODE_QUANT;
  const ufp4_descriptor_t job = describe_quant(run, role, opcode);
  explore_row_t row =
      explore_quant_row(run->plan, run->of, run->layer, run->tokens, role, pass, copies);
  return finish_row(run, &job, &row);
}

static int run_layer(run_t *run) {
  ufp4_status_t status = allocate(run);
  int end = status == UFP4_OK ? CLI_GO_ON : fail_device(run, status);
  for (int role = 0; role < UFP4_ROLE_COUNT && end == CLI_GO_ON; role++) {
    if (run->of->recipe.scale != UFP4_SCALE_E8M0) end = run_quant(run, role, EXPLORE_AMAX);
    if (end == CLI_GO_ON) end = run_quant(run, role, EXPLORE_QUANT);
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT && end == CLI_GO_ON; pass++) end = run_gemm(run, pass);
  release(run);
  return end;
}

// --- A case -------------------------------------------------------------------------------------

static int add_totals(run_t *run) {
  const explore_row_t block = run->block;
  explore_row_t step = {.macs = 0};
  explore_add_to(&step, &block, (double)run->plan->model.blocks);
  return explore_add_totals(run->plan, run->of, &block, &step, run->rows);
}

static int run_serial(const explore_plan_t *plan, const explore_case_t *of, explore_rows_t *rows) {
  run_t run = {.plan = plan, .of = of, .rows = rows};
  int end = explore_open(of, explore_serial_bytes(plan, of), &run.device);
  for (int i = 0; i < plan->model.layer_count && end == CLI_GO_ON; i++) {
    run.layer = &plan->model.layers[i];
    run.tokens = explore_layer_tokens(of, run.layer);
    end = run_layer(&run);
  }
  if (end == CLI_GO_ON) end = add_totals(&run);
  ufp4_device_close(run.device);
  return end;
}

// Device memory begins at 2 GiB, and the driver takes a little of it.
static void check_memory(const explore_plan_t *plan, explore_case_t *one) {
  const uint64_t bytes =
      plan->serial ? explore_serial_bytes(plan, one) : explore_overlap_bytes(plan, one);
  if (bytes <= (1ull << UFP4_ADDR_BITS) - (1ull << 32)) return;
  snprintf(one->reason, sizeof one->reason,
           "its tensors are %llu bytes, which addresses of %d bits do not reach",
           (unsigned long long)bytes, UFP4_ADDR_BITS);
}

int explore_run(const explore_plan_t *plan, explore_case_t *one, explore_rows_t *rows) {
  if (one->reason[0] == '\0') check_memory(plan, one);
  if (one->reason[0] != '\0') {
    // A row that says why there are no cycles.
    const explore_row_t none = {.layer = "step",
                                .pass = EXPLORE_ALL,
                                .batch = EXPLORE_NO_BATCH,
                                .of = one,
                                .count = 1,
                                .tokens = (double)one->tokens,
                                .cycles = NAN};
    return explore_add_row(rows, &none);
  }
  return plan->serial ? run_serial(plan, one, rows) : explore_run_overlap(plan, one, rows);
}
