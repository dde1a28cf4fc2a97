// SPDX-License-Identifier: Apache-2.0
// Runs the jobs of one case, AMAX and QUANT of each tensor and the training GEMMs of each layer:
// one after the other on a timing-only core, or overlapped (overlap.c).
#include "explore/jobs/run.h"

#include <math.h>
#include <string.h>

#include "explore/jobs/cores.h"
#include "explore/jobs/jobs.h"
#include "ufp4_schedule.h"

typedef struct {
  const explore_plan_t *plan;
  explore_case_t *of;
  explore_rows_t *rows;
  explore_cores_t cores;
  const explore_layer_t *layer;
  int64_t tokens;  ///< tokens of the layer
  int alike;       ///< how many of them run concurrently, one per core; 1: all cores share it
  ufp4_schedule_buffers_t all[EXPLORE_MAX_CORES];  ///< one for each of these
  const ufp4_schedule_buffers_t *buffers;          ///< those of the described job
  explore_row_t blocks[EXPLORE_MAX_KINDS];         ///< totals of one block of each kind
} run_t;

static int fail_device(const run_t *run, ufp4_status_t status) {
  return explore_fail(run->of, status, explore_cores_message(&run->cores));
}

// --- Shapes -------------------------------------------------------------------------------------

static void role_shape(const run_t *run, int role, int64_t *rows, int64_t *cols) {
  explore_role_shape(run->of, run->layer, run->tokens, role, rows, cols);
}

static void pass_shape(const run_t *run, int pass, int64_t *m, int64_t *n, int64_t *k) {
  explore_pass_shape(run->of, run->layer, run->tokens, pass, m, n, k);
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

// A plan of one layer with all its tokens, whose list of jobs is not used.
static ufp4_schedule_plan_t memory_plan(const run_t *run, ufp4_schedule_layer_t *shape) {
  *shape = (ufp4_schedule_layer_t){run->tokens, explore_cin(run->of, run->layer),
                                   explore_cout(run->of, run->layer)};
  return (ufp4_schedule_plan_t){.layers = shape,
                                .layer_count = 1,
                                .batches = 1,
                                .steps = 1,
                                .recipe = run->of->recipe,
                                .source = run->plan->source};
}

static void enter_layer(run_t *run, int index) {
  run->layer = &run->plan->model.layers[index];
  run->tokens = explore_layer_tokens(run->of, run->layer);
  const int64_t count = explore_layer_count(run->of, run->layer), cores = run->of->cores;
  run->alike = run->plan->split == EXPLORE_SPLIT_GEMMS ? (int)(count < cores ? count : cores) : 1;
}

// Returns the bytes for the largest layer.
static uint64_t serial_bytes(const explore_plan_t *plan, explore_case_t *of) {
  run_t run = {.plan = plan, .of = of};
  uint64_t most = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    ufp4_schedule_layer_t shape;
    enter_layer(&run, i);
    const ufp4_schedule_plan_t list = memory_plan(&run, &shape);
    const uint64_t bytes = (uint64_t)run.alike * ufp4_schedule_bytes(&list);
    if (bytes > most) most = bytes;
  }
  return most;
}

static const ufp4_schedule_tensor_t *tensor_of(const run_t *run, int role) {
  const ufp4_schedule_buffers_t *buffers = run->buffers;
  return role == UFP4_ROLE_W ? &buffers->w : role == UFP4_ROLE_X ? &buffers->x[0] : &buffers->dy[0];
}

static uint64_t result_of(const run_t *run, int pass) {
  const ufp4_schedule_buffers_t *buffers = run->buffers;
  return pass == UFP4_PASS_FPROP   ? buffers->y[0]
         : pass == UFP4_PASS_DGRAD ? buffers->dx[0]
                                   : buffers->dw[0];
}

// Returns the blocks along k from one row group of a copy to the next.
static uint32_t stride_blocks(const run_t *run, int role, int axis) {
  int64_t rows, cols;
  role_shape(run, role, &rows, &cols);
  return (uint32_t)ufp4_panel_stride_blocks(axis == UFP4_AXIS_ROW ? cols : rows);
}

// --- Jobs ---------------------------------------------------------------------------------------

static ufp4_descriptor_t describe_quant(const run_t *run, int role, uint8_t opcode) {
  const ufp4_recipe_t *recipe = &run->of->recipe;
  const ufp4_schedule_tensor_t *tensor = tensor_of(run, role);
  const int axis = explore_wants(run->of, role, UFP4_AXIS_ROW) ? UFP4_AXIS_ROW : UFP4_AXIS_COL;
  ufp4_descriptor_t descriptor = {.quant = {.opcode = opcode}};
  ufp4_quant_descriptor_t *quant = &descriptor.quant;
  int64_t rows, cols;
  uint8_t modes[2] = {0, 0};
  role_shape(run, role, &rows, &cols);
  for (int i = 0; i < 2; i++) {
    if (!explore_wants(run->of, role, i)) continue;
    const ufp4_quantize_t how = ufp4_recipe_quantize(recipe, (ufp4_role_t)role, (ufp4_axis_t)i);
    const unsigned slot = recipe->scale == UFP4_SCALE_E8M0 ? 0 : UFP4_MODE_SLOT;
    modes[i] = (uint8_t)(UFP4_MODE_ENABLE | slot | (how.rht ? UFP4_MODE_RHT : 0));
  }
  quant->rows = (uint32_t)rows;
  quant->cols = (uint32_t)cols;
  quant->src_addr = tensor->plain;
  quant->src_stride_bytes = (uint32_t)stride_bytes(cols, source_bytes(run));
  quant->src_dtype = (uint8_t)run->plan->source;
  quant->elem = (uint8_t)recipe->elem;
  quant->scale = (uint8_t)recipe->scale;
  quant->round = (uint8_t)recipe->round[role][axis];
  quant->scale_round = (uint8_t)recipe->scale_round[role][axis];
  quant->rht_mask = (uint16_t)recipe->rht_mask;
  quant->row_mode = modes[UFP4_AXIS_ROW];
  quant->col_mode = modes[UFP4_AXIS_COL];
  if (modes[UFP4_AXIS_ROW] & UFP4_MODE_SLOT) quant->row_exponent = UFP4_LAYER_SLOTS;
  if (modes[UFP4_AXIS_COL] & UFP4_MODE_SLOT) quant->col_exponent = UFP4_LAYER_SLOTS + 1;
  quant->row_codes_addr = tensor->codes[UFP4_AXIS_ROW];
  quant->row_scales_addr = tensor->scales[UFP4_AXIS_ROW];
  quant->row_stride_blocks = stride_blocks(run, role, UFP4_AXIS_ROW);
  quant->col_codes_addr = tensor->codes[UFP4_AXIS_COL];
  quant->col_scales_addr = tensor->scales[UFP4_AXIS_COL];
  quant->col_stride_blocks = stride_blocks(run, role, UFP4_AXIS_COL);
  return descriptor;
}

static ufp4_descriptor_t describe_gemm(const run_t *run, int pass, int adds) {
  const ufp4_recipe_t *recipe = &run->of->recipe;
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  int64_t m, n, k;
  ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
  pass_shape(run, pass, &m, &n, &k);
  const ufp4_schedule_tensor_t *a = tensor_of(run, (int)roles[0]);
  const ufp4_schedule_tensor_t *b = tensor_of(run, (int)roles[1]);
  return (ufp4_descriptor_t){
      .gemm = {.opcode = UFP4_OPCODE_GEMM,
               .m = (uint32_t)m,
               .n = (uint32_t)n,
               .k = (uint32_t)k,
               .contract = (uint8_t)recipe->contract,
               .a_elem = (uint8_t)recipe->elem,
               .b_elem = (uint8_t)recipe->elem,
               .scale = (uint8_t)recipe->scale,
               .d_dtype = (uint8_t)explore_result_dtype(run->plan, pass),
               .d_mode = adds ? UFP4_D_MODE_C : 0,
               .c_addr = result_of(run, pass),
               .c_stride_bytes = (uint32_t)result_stride(run, pass, n),
               .a_codes_addr = a->codes[axes[0]],
               .a_scales_addr = a->scales[axes[0]],
               .b_codes_addr = b->codes[axes[1]],
               .b_scales_addr = b->scales[axes[1]],
               .a_stride_blocks = stride_blocks(run, (int)roles[0], (int)axes[0]),
               .b_stride_blocks = stride_blocks(run, (int)roles[1], (int)axes[1]),
               .d_addr = result_of(run, pass),
               .d_stride_bytes = (uint32_t)result_stride(run, pass, n)}};
}

// --- Rows ---------------------------------------------------------------------------------------

static double count_of(const run_t *run) {
  return (double)explore_layer_count(run->of, run->layer);
}

// Returns how many micro-batches of a step have a job: W's copies are made in only one.
static double micro_of(const run_t *run, const explore_row_t *row) {
  return (double)(row->count / explore_layer_count(run->of, run->layer) / run->layer->blocks);
}

// Adds to the blocks that have this layer.
static void add_to_blocks(run_t *run, const explore_row_t *row, double times) {
  for (int kind = 0; kind < run->plan->model.kind_count; kind++) {
    if (explore_is_of(run->layer, kind)) explore_add_to(&run->blocks[kind], row, times);
  }
}

static int add_row(run_t *run, const explore_row_t *row) {
  add_to_blocks(run, row, micro_of(run, row) * count_of(run));
  return explore_add_row(run->rows, row);
}

// Returns a lower bound of the memory's cycles for concurrent jobs, of which @p all is the sum and
// @p most the largest. A job's own cycles begin with its descriptor, which may wait for all that
// the others have requested; a burst that is served proceeds at the speed of the bus.
static double bound_shared(const run_t *run, int count, double all, double most, double ahead,
                           double burst) {
  const double before = (count - 1) * ahead + burst;
  return fmax(most - explore_memory_bound(run->of, burst, burst),
              all - explore_memory_bound(run->of, before, before));
}

// Sets the bytes that all parts of a GEMM read, and the bounds of the longest part.
static void bound_parts(const run_t *run, const ufp4_descriptor_t *parts, int count,
                        explore_row_t *row) {
  const unsigned d_bytes = parts[0].gemm.d_dtype == UFP4_DTYPE_BF16 ? 2 : 4;
  bounds_t all = {.read = 0};
  double most = 0;
  row->compute = row->load = row->output = row->array = row->read = 0;
  for (int i = 0; i < count; i++) {
    const ufp4_gemm_descriptor_t *part = &parts[i].gemm;
    const int adds = (part->d_mode & UFP4_D_MODE_C) != 0;
    const bounds_gemm_t gemm = {.m = part->m,
                                .n = part->n,
                                .k = part->k,
                                .d_bytes = d_bytes,
                                .operations = adds,
                                .has_c = adds};
    const bounds_t bounds = bounds_of(&run->of->core, explore_memory(run->of), &gemm);
    row->compute = fmax(row->compute, bounds.compute);
    row->load = fmax(row->load, bounds.load);
    row->array = fmax(row->array, bounds.array);
    row->output = fmax(row->output, bounds.output);
    row->read += bounds.operand_bytes;
    all.read += bounds.read;
    all.write += bounds.write;
    all.ahead = fmax(all.ahead, bounds.ahead);
    all.burst = fmax(all.burst, bounds.burst);
    most = fmax(most, explore_memory_bound(run->of, bounds.read, bounds.write));
  }
  row->memory = bound_shared(run, count, explore_memory_bound(run->of, all.read, all.write), most,
                             all.ahead, all.burst);
}

static int run_split(run_t *run, const ufp4_descriptor_t *job, explore_split_t split,
                     explore_row_t *row) {
  ufp4_descriptor_t parts[EXPLORE_MAX_CORES];
  explore_row_t *rows[EXPLORE_MAX_CORES];
  const int count = explore_split_gemm(job, split, run->cores.count, parts);
  for (int i = 0; i < count; i++) rows[i] = row;
  row->split = split;
  bound_parts(run, parts, count, row);
  const ufp4_status_t status = explore_measure(&run->cores, parts, count, rows);
  return status == UFP4_OK ? CLI_GO_ON : fail_device(run, status);
}

// Runs a job of the first @p layers equal layers, one per core, and measures all of them together.
static int run_at_once(run_t *run, int which, uint8_t opcode, int layers, explore_row_t *sum) {
  ufp4_descriptor_t jobs[EXPLORE_MAX_CORES];
  explore_row_t *rows[EXPLORE_MAX_CORES];
  for (int i = 0; i < layers; i++) {
    run->buffers = &run->all[i];
    rows[i] = sum;
    jobs[i] = opcode == UFP4_OPCODE_GEMM ? describe_gemm(run, which, 0)
                                         : describe_quant(run, which, opcode);
  }
  const ufp4_status_t status = explore_measure(&run->cores, jobs, layers, rows);
  return status == UFP4_OK ? CLI_GO_ON : fail_device(run, status);
}

// A job of all equal layers: as many at once as there are cores, repeatedly, and then the rest.
static int run_alike(run_t *run, int which, uint8_t opcode, explore_row_t row) {
  const int left = (int)(explore_layer_count(run->of, run->layer) % run->alike);
  const double count = count_of(run);
  explore_row_t many = {.macs = 0}, few = {.macs = 0}, sum = {.macs = 0};
  int end = run_at_once(run, which, opcode, run->alike, &many);
  if (end == CLI_GO_ON && left != 0) end = run_at_once(run, which, opcode, left, &few);
  if (end != CLI_GO_ON) return end;
  explore_add_to(&sum, &row, count);
  explore_add_to(&sum, &many, floor(count / run->alike));
  explore_add_to(&sum, &few, 1);
  add_to_blocks(run, &sum, micro_of(run, &row));
  row.cycles = sum.cycles / count;
  row.compute /= run->alike;
  row.load /= run->alike;
  row.array /= run->alike;
  row.output /= run->alike;
  row.memory =
      bound_shared(run, run->alike, run->alike * row.memory, row.memory, row.ahead, row.burst) /
      run->alike;
  row.split = EXPLORE_SPLIT_GEMMS;
  for (int c = 0; c < EXPLORE_COUNTERS; c++) row.counters[c] = sum.counters[c] / count;
  return explore_add_row(run->rows, &row);
}

static int run_gemm(run_t *run, int pass, int adds) {
  if (!ufp4_recipe_quantizes(&run->of->recipe, (ufp4_pass_t)pass)) return CLI_GO_ON;
  explore_row_t row = explore_gemm_row(run->plan, run->of, run->layer, run->tokens, pass, adds);
  if (run->alike > 1) return run_alike(run, pass, UFP4_OPCODE_GEMM, row);
  const ufp4_descriptor_t job = describe_gemm(run, pass, adds);
  explore_row_t other = row, *only = &row;
  const explore_split_t asked = run->plan->split;
  const explore_split_t split = asked == EXPLORE_SPLIT_GEMMS ? EXPLORE_SPLIT_AUTO : asked;
  int end = CLI_GO_ON;
  if (run->cores.count == 1) {
    const ufp4_status_t status = explore_measure(&run->cores, &job, 1, &only);
    if (status != UFP4_OK) end = fail_device(run, status);
  } else {
    end = run_split(run, &job, split == EXPLORE_SPLIT_AUTO ? EXPLORE_SPLIT_ROWS : split, &row);
    if (split == EXPLORE_SPLIT_AUTO && end == CLI_GO_ON) {
      end = run_split(run, &job, EXPLORE_SPLIT_COLUMNS, &other);
      if (other.cycles < row.cycles) row = other;
    }
  }
  return end == CLI_GO_ON ? add_row(run, &row) : end;
}

// Runs AMAX or QUANT of one tensor, or of X and W: each is a job of one core, and two run
// concurrently if there are two cores.
static int run_quant(run_t *run, const int roles[2], int count, explore_pass_t pass) {
  ufp4_descriptor_t jobs[2];
  explore_row_t rows[2], *each[2];
  const uint8_t opcode = pass == EXPLORE_AMAX ? UFP4_OPCODE_AMAX : UFP4_OPCODE_QUANT;
  int wanted = 0, end = CLI_GO_ON;
  for (int i = 0; i < count; i++) {
    const int copies = explore_wants(run->of, roles[i], UFP4_AXIS_ROW) +
                       explore_wants(run->of, roles[i], UFP4_AXIS_COL);
    if (copies == 0) continue;
    rows[wanted] =
        explore_quant_row(run->plan, run->of, run->layer, run->tokens, roles[i], pass, copies);
    if (run->alike > 1) {
      end = run_alike(run, roles[i], opcode, rows[wanted]);
      if (end != CLI_GO_ON) return end;
      continue;
    }
    jobs[wanted] = describe_quant(run, roles[i], opcode);
    each[wanted] = &rows[wanted];
    wanted++;
  }
  if (wanted == 0) return CLI_GO_ON;
  const ufp4_status_t status = explore_measure(&run->cores, jobs, wanted, each);
  if (status != UFP4_OK) return fail_device(run, status);
  double longest = 0, sum = 0;
  for (int i = 0; i < wanted && end == CLI_GO_ON; i++) {
    longest = fmax(longest, rows[i].cycles);
    sum += rows[i].cycles;
    end = add_row(run, &rows[i]);
  }
  // Concurrent jobs take the time of the longest one.
  add_to_blocks(run, &(explore_row_t){.cycles = longest - sum}, count_of(run));
  return end;
}

static int run_tensors(run_t *run, const int roles[2], int count) {
  int end = CLI_GO_ON;
  if (run->of->recipe.scale != UFP4_SCALE_E8M0) end = run_quant(run, roles, count, EXPLORE_AMAX);
  return end == CLI_GO_ON ? run_quant(run, roles, count, EXPLORE_QUANT) : end;
}

static int run_jobs(run_t *run) {
  static const int roles[UFP4_ROLE_COUNT] = {UFP4_ROLE_X, UFP4_ROLE_W, UFP4_ROLE_DY};
  const int many = run->cores.count > 1;
  int end = CLI_GO_ON;
  for (int i = 0; i < UFP4_ROLE_COUNT && end == CLI_GO_ON; i += many && i == 0 ? 2 : 1)
    end = run_tensors(run, &roles[i], many && i == 0 ? 2 : 1);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    for (int adds = 0; adds <= explore_adds(run->of, run->layer, pass) && end == CLI_GO_ON; adds++)
      end = run_gemm(run, pass, adds);
  }
  return end;
}

static int run_layer(run_t *run) {
  ufp4_schedule_layer_t shape;
  const ufp4_schedule_plan_t list = memory_plan(run, &shape);
  ufp4_device_t *device = run->cores.devices[0];
  ufp4_status_t status = UFP4_OK;
  int had = 0;
  for (; had < run->alike && status == UFP4_OK; had += status == UFP4_OK)
    status = ufp4_schedule_alloc(device, &list, &run->all[had]);
  run->buffers = run->all;
  const int end = status == UFP4_OK ? run_jobs(run) : fail_device(run, status);
  while (had > 0) ufp4_schedule_release(device, &list, &run->all[--had]);
  return end;
}

// --- A case -------------------------------------------------------------------------------------

static int add_totals(run_t *run) {
  const explore_model_t *model = &run->plan->model;
  explore_row_t step = {.macs = 0};
  for (int kind = 0; kind < model->kind_count; kind++)
    explore_add_to(&step, &run->blocks[kind], (double)model->kinds[kind].blocks);
  return explore_add_totals(run->plan, run->of, run->blocks, &step, run->rows);
}

static int run_serial(const explore_plan_t *plan, explore_case_t *of, explore_rows_t *rows) {
  run_t run = {.plan = plan, .of = of, .rows = rows};
  int end = explore_cores_open(plan, of, serial_bytes(plan, of), &run.cores);
  for (int i = 0; i < plan->model.layer_count && end == CLI_GO_ON; i++) {
    enter_layer(&run, i);
    end = run_layer(&run);
  }
  if (end == CLI_GO_ON) end = add_totals(&run);
  const int closed = explore_cores_close(&run.cores);
  return end == CLI_GO_ON ? closed : end;
}

// The tokens of all replicas that share a chip's experts, or of heads that share one, can be more.
static void check_rows(const explore_plan_t *plan, explore_case_t *one) {
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    const int64_t rows = explore_layer_tokens(one, layer);
    if (rows <= UFP4_MAX_DIM) continue;
    snprintf(one->reason, sizeof one->reason, "X of %s has %lld rows; a tensor may have at most %d",
             layer->name, (long long)rows, UFP4_MAX_DIM);
    return;
  }
}

// Device memory begins at 2 GiB, and the driver takes a small part of it.
static void check_memory(const explore_plan_t *plan, explore_case_t *one) {
  const uint64_t bytes = plan->serial ? serial_bytes(plan, one) : explore_overlap_bytes(plan, one);
  if (bytes <= (1ull << UFP4_ADDR_BITS) - (1ull << 32)) return;
  snprintf(one->reason, sizeof one->reason,
           "its tensors take %llu bytes, more than addresses of %d bits reach",
           (unsigned long long)bytes, UFP4_ADDR_BITS);
}

int explore_fail(explore_case_t *one, ufp4_status_t status, const char *message) {
  const char *text = message != NULL && message[0] != '\0' ? message : ufp4_status_string(status);
  snprintf(one->reason, sizeof one->reason, "%s", text);
  return EXPLORE_FAILED;
}

// Adds a row with the reason why there are no cycles.
static int add_reason(const explore_case_t *one, explore_rows_t *rows) {
  const explore_row_t none = {.layer = "step",
                              .pass = EXPLORE_ALL,
                              .batch = EXPLORE_NO_BATCH,
                              .split = EXPLORE_SPLIT_COUNT,
                              .of = one,
                              .count = 1,
                              .tokens = (double)one->tokens,
                              .cycles = NAN};
  return explore_add_row(rows, &none);
}

int explore_run(const explore_plan_t *plan, explore_case_t *one, explore_rows_t *rows) {
  const int before = rows->count;
  if (one->reason[0] == '\0') check_rows(plan, one);
  if (one->reason[0] == '\0') check_memory(plan, one);
  if (one->reason[0] != '\0') return add_reason(one, rows);
  const int end = plan->serial ? run_serial(plan, one, rows) : explore_run_overlap(plan, one, rows);
  if (end != EXPLORE_FAILED) return end;
  rows->count = before;
  return add_reason(one, rows);
}
