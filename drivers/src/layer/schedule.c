// SPDX-License-Identifier: Apache-2.0
// Lists the jobs of training steps in the order in which they become possible, with the
// dependencies of each (docs/ip/architecture.md, "Dependencies").
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHES = UFP4_SCHEDULE_BATCHES, KEPT = UFP4_SCHEDULE_KEPT, NONE = -1 };
enum { MOST_STEPS = 1024, LONGEST = 15, FLAG_OVERLAP = 2 };

// Exponent slots. The forward pass leaves the exponents of column copies, one slot each, to the
// backward pass; layers that share a slot write it again there. Slots of row copies are used only
// briefly and are taken again two layers later; so are both slots of dY. QUANT and AMAX run in the
// ring's order, and an AMAX that writes a slot again follows one that waits for the last GEMM which
// reads that slot.
enum {
  X_SLOTS = 0,
  NEXT_X_SLOTS = X_SLOTS + BATCHES * KEPT,
  W_SLOTS = NEXT_X_SLOTS + BATCHES,
  ROW_SLOTS = W_SLOTS + KEPT,
  DY_SLOTS = ROW_SLOTS + 2 * (1 + BATCHES)
};
_Static_assert(DY_SLOTS + 4 * BATCHES <= UFP4_SLOTS, "too many slots");

/** A tensor and the jobs that wrote it and its copies. */
typedef struct {
  const ufp4_schedule_tensor_t *at;
  ufp4_role_t role;
  int layer, batch;
  uint16_t slots[2];
  int written, quantized;
} tensor_t;

typedef struct {
  tensor_t x[BATCHES], w, dy[BATCHES];
  int y_written[BATCHES], dw_written;  ///< for dW, the last job
} layer_t;

typedef struct {
  const ufp4_schedule_plan_t *plan;
  const ufp4_schedule_buffers_t *buffers;
  layer_t *layers;
  tensor_t next_x[BATCHES];
  ufp4_schedule_t *schedule;
  int step;
} maker_t;

// --- Tensors ------------------------------------------------------------------------------------

// The first layers, at least two, have their own slots, because the next step's first layer writes
// its slots early.
static int kept_layers(const maker_t *make) {
  if (make->plan->kept != 0) return make->plan->kept;
  return make->plan->layer_count <= KEPT ? KEPT : KEPT - 2;
}

static int shares_slots(const maker_t *make, int layer) {
  return layer >= kept_layers(make);
}

static unsigned kept_slot(const maker_t *make, int layer) {
  return (unsigned)(shares_slots(make, layer) ? kept_layers(make) + layer % 2 : layer);
}

static tensor_t tensor(const ufp4_schedule_tensor_t *buffers, ufp4_role_t role, int layer,
                       int batch, unsigned row_slot, unsigned col_slot) {
  return (tensor_t){.at = buffers,
                    .role = role,
                    .layer = layer,
                    .batch = batch,
                    .slots = {(uint16_t)row_slot, (uint16_t)col_slot},
                    .written = NONE,
                    .quantized = NONE};
}

static void start_layer(maker_t *make, int l) {
  const ufp4_schedule_buffers_t *at = &make->buffers[l];
  layer_t *layer = &make->layers[l];
  const unsigned row = ROW_SLOTS + (unsigned)l % 2 * (1 + BATCHES), kept = kept_slot(make, l);
  const unsigned dy = DY_SLOTS + (unsigned)l % 2 * 2 * BATCHES;
  for (unsigned b = 0; b < BATCHES; b++) {
    layer->x[b] =
        tensor(&at->x[b], UFP4_ROLE_X, l, (int)b, row + 1 + b, X_SLOTS + kept * BATCHES + b);
    layer->dy[b] = tensor(&at->dy[b], UFP4_ROLE_DY, l, (int)b, dy + 2 * b, dy + 2 * b + 1);
    layer->y_written[b] = NONE;
    if (l == 0)
      make->next_x[b] =
          tensor(&at->next_x[b], UFP4_ROLE_X, l, (int)b, row + 1 + b, NEXT_X_SLOTS + b);
  }
  layer->w = tensor(&at->w, UFP4_ROLE_W, l, 0, row, W_SLOTS + kept);
  layer->dw_written = NONE;
}

// --- Jobs ---------------------------------------------------------------------------------------

// A job more than 15 places earlier has ended before this one can start.
static uint8_t distance(const maker_t *make, int job) {
  const int places = make->schedule->count - job;
  return (uint8_t)(job == NONE || places > LONGEST ? 0 : places);
}

static int later(int a, int b) {
  return a > b ? a : b;
}

static int add(maker_t *make, const ufp4_descriptor_t *descriptor, int layer, int batch, int pass,
               int role) {
  ufp4_schedule_job_t *job = &make->schedule->jobs[make->schedule->count];
  *job = (ufp4_schedule_job_t){.descriptor = *descriptor,
                               .step = make->step,
                               .layer = layer,
                               .batch = batch,
                               .pass = pass,
                               .role = role};
  job->descriptor.header.flags = FLAG_OVERLAP;
  return make->schedule->count++;
}

static int has_exponents(const maker_t *make) {
  return make->plan->recipe.scale != UFP4_SCALE_E8M0;
}

static uint8_t copy_mode(const maker_t *make, const tensor_t *entry, ufp4_axis_t axis) {
  const ufp4_quantize_t how = ufp4_recipe_quantize(&make->plan->recipe, entry->role, axis);
  const unsigned slot = has_exponents(make) ? UFP4_MODE_SLOT : 0;
  return (uint8_t)(UFP4_MODE_ENABLE | slot | (how.rht != UFP4_RHT_NONE ? UFP4_MODE_RHT : 0));
}

static void describe_copies(const maker_t *make, const tensor_t *entry, uint64_t step,
                            ufp4_quant_descriptor_t *quant) {
  const uint64_t drawn = step * (uint64_t)make->plan->batches + (uint64_t)entry->batch;
  const unsigned layer = (unsigned)entry->layer;
  quant->row_mode = copy_mode(make, entry, UFP4_AXIS_ROW);
  quant->col_mode = copy_mode(make, entry, UFP4_AXIS_COL);
  if (has_exponents(make)) quant->row_exponent = entry->slots[UFP4_AXIS_ROW];
  if (has_exponents(make)) quant->col_exponent = entry->slots[UFP4_AXIS_COL];
  quant->row_codes_addr = entry->at->codes[UFP4_AXIS_ROW];
  quant->row_scales_addr = entry->at->scales[UFP4_AXIS_ROW];
  quant->row_stride_blocks = (uint32_t)ufp4_panel_stride_blocks(quant->cols);
  quant->row_tensor_id = ufp4_tensor_id(drawn, layer, entry->role, UFP4_AXIS_ROW);
  quant->col_codes_addr = entry->at->codes[UFP4_AXIS_COL];
  quant->col_scales_addr = entry->at->scales[UFP4_AXIS_COL];
  quant->col_stride_blocks = (uint32_t)ufp4_panel_stride_blocks(quant->rows);
  quant->col_tensor_id = ufp4_tensor_id(drawn, layer, entry->role, UFP4_AXIS_COL);
}

static ufp4_descriptor_t describe_quant(const maker_t *make, const tensor_t *entry, uint64_t step) {
  const ufp4_schedule_plan_t *plan = make->plan;
  const ufp4_linear_shape_t shape = schedule_shape(plan, entry->layer, entry->batch);
  ufp4_descriptor_t descriptor = {.header.opcode = UFP4_OPCODE_QUANT};
  ufp4_quant_descriptor_t *quant = &descriptor.quant;
  int64_t rows, cols;
  linear_role_shape(&shape, entry->role, &rows, &cols);
  quant->rows = (uint32_t)rows;
  quant->cols = (uint32_t)cols;
  quant->src_addr = entry->at->plain;
  quant->src_stride_bytes = (uint32_t)linear_stride_bytes(cols, schedule_source_bytes(plan));
  quant->src_dtype = (uint8_t)plan->source;
  quant->elem = (uint8_t)plan->recipe.elem;
  quant->scale = (uint8_t)plan->recipe.scale;
  // Both copies round alike (ufp4_recipe_on_core).
  quant->round = (uint8_t)plan->recipe.round[entry->role][UFP4_AXIS_ROW];
  quant->scale_round = (uint8_t)plan->recipe.scale_round[entry->role][UFP4_AXIS_ROW];
  quant->rht_mask = (uint16_t)ufp4_recipe_mask(&plan->recipe, plan->seed, step);
  quant->seed = plan->seed;
  describe_copies(make, entry, step, quant);
  return descriptor;
}

static int add_amax(maker_t *make, ufp4_descriptor_t job, const tensor_t *entry, int after) {
  job.quant.opcode = UFP4_OPCODE_AMAX;
  job.quant.after = distance(make, after);
  return add(make, &job, entry->layer, entry->batch, NONE, (int)entry->role);
}

// Adds AMAX, if there are exponents, and QUANT for both copies in a step. They depend on the GEMM
// that wrote the tensor, if any, or on `after` if that is later.
static void quantize(maker_t *make, tensor_t *entry, int step, int after) {
  const int first = later(entry->written, after);
  ufp4_descriptor_t job = describe_quant(make, entry, (uint64_t)step);
  if (has_exponents(make)) {
    add_amax(make, job, entry, first);
  } else {
    job.quant.after = distance(make, first);
  }
  // QUANT needs no dependency on its AMAX, because both run on the same engine.
  entry->quantized = add(make, &job, entry->layer, entry->batch, NONE, (int)entry->role);
}

// Writes the exponent of a column copy into its slot again if another layer has overwritten it.
static void refresh(maker_t *make, tensor_t *entry) {
  if (!has_exponents(make) || !shares_slots(make, entry->layer)) return;
  ufp4_descriptor_t job = describe_quant(make, entry, (uint64_t)make->step);
  job.quant.row_mode = 0;
  entry->quantized = add_amax(make, job, entry, NONE);
}

// Row copies are read panel by panel as QUANT writes them; column copies are read when they are
// complete.
static void name_operands(const maker_t *make, ufp4_pass_t pass, const tensor_t *const operands[2],
                          ufp4_gemm_descriptor_t *gemm) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  int whole = NONE;
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    const int quantized = operands[i]->quantized;
    if (axes[i] == UFP4_AXIS_COL) whole = later(whole, quantized);
    if (axes[i] == UFP4_AXIS_ROW) gemm->panels |= (uint8_t)(distance(make, quantized) << 4 * i);
  }
  gemm->after = distance(make, whole);
  if (has_exponents(make)) {
    gemm->a_mode = gemm->b_mode = UFP4_MODE_SLOT;
    gemm->a_exponent = operands[0]->slots[axes[0]];
    gemm->b_exponent = operands[1]->slots[axes[1]];
  }
  gemm->a_codes_addr = operands[0]->at->codes[axes[0]];
  gemm->a_scales_addr = operands[0]->at->scales[axes[0]];
  gemm->b_codes_addr = operands[1]->at->codes[axes[1]];
  gemm->b_scales_addr = operands[1]->at->scales[axes[1]];
}

static int multiply(maker_t *make, ufp4_pass_t pass, int l, int b, uint64_t d_addr) {
  const ufp4_schedule_plan_t *plan = make->plan;
  layer_t *layer = &make->layers[l];
  const tensor_t *const of_role[UFP4_ROLE_COUNT] = {&layer->x[b], &layer->w, &layer->dy[b]};
  const ufp4_linear_shape_t shape = schedule_shape(plan, l, b);
  const ufp4_dtype_t dtype = pass == UFP4_PASS_WGRAD ? UFP4_DTYPE_F32 : plan->source;
  ufp4_descriptor_t job = {.header.opcode = UFP4_OPCODE_GEMM};
  ufp4_gemm_descriptor_t *gemm = &job.gemm;
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  int64_t m, n, k;
  ufp4_pass_operands(pass, roles, axes);
  linear_pass_shape(&shape, pass, &m, &n, &k);
  gemm->m = (uint32_t)m;
  gemm->n = (uint32_t)n;
  gemm->k = (uint32_t)k;
  gemm->contract = (uint8_t)plan->recipe.contract;
  gemm->a_elem = gemm->b_elem = (uint8_t)plan->recipe.elem;
  gemm->scale = (uint8_t)plan->recipe.scale;
  gemm->d_dtype = (uint8_t)dtype;
  gemm->d_addr = d_addr;
  gemm->d_stride_bytes = (uint32_t)linear_stride_bytes(n, dtype == UFP4_DTYPE_BF16 ? 2 : 4);
  gemm->a_stride_blocks = gemm->b_stride_blocks = (uint32_t)ufp4_panel_stride_blocks(k);
  name_operands(make, pass, (const tensor_t *const[2]){of_role[roles[0]], of_role[roles[1]]}, gemm);
  return add(make, &job, l, b, (int)pass, NONE);
}

// --- Passes -------------------------------------------------------------------------------------

static void fprop(maker_t *make, int l, int b) {
  const int job = multiply(make, UFP4_PASS_FPROP, l, b, make->buffers[l].y[b]);
  make->layers[l].y_written[b] = job;
  if (l + 1 < make->plan->layer_count) make->layers[l + 1].x[b].written = job;
}

static void dgrad(maker_t *make, int l, int b) {
  const int job = multiply(make, UFP4_PASS_DGRAD, l, b, make->buffers[l].dx[b]);
  if (l > 0) make->layers[l - 1].dy[b].written = job;
}

static void wgrad(maker_t *make, int l, int b) {
  refresh(make, &make->layers[l].x[b]);
  make->layers[l].dw_written = multiply(make, UFP4_PASS_WGRAD, l, b, make->buffers[l].dw[b]);
}

// After the last dW the old copies of a layer's weights are not read any more, and the new weights
// are available.
static void quantize_weights(maker_t *make, int l, int step) {
  quantize(make, &make->layers[l].w, step, make->layers[l].dw_written);
}

static void forward(maker_t *make) {
  const int layers = make->plan->layer_count;
  for (int l = 0; l < layers; l++) {
    for (int b = 0; b < make->plan->batches; b++) {
      if (l > 0 || make->step == 0) quantize(make, &make->layers[l].x[b], make->step, NONE);
      fprop(make, l, b);
    }
    if (l + 1 < layers) quantize_weights(make, l + 1, make->step);
  }
}

// The weight gradients of layer 1 come last, so that W of layer 0 can be quantized for the next
// step while they run.
static void backward(maker_t *make) {
  const int layers = make->plan->layer_count;
  for (int l = layers; l-- > 0;) {
    layer_t *layer = &make->layers[l];
    for (int b = 0; b < make->plan->batches; b++) {
      // The loss is computed between the last output and its gradient.
      quantize(make, &layer->dy[b], make->step, l + 1 == layers ? layer->y_written[b] : NONE);
      if (b == 0) refresh(make, &layer->w);
      dgrad(make, l, b);
      if (l != 1) wgrad(make, l, b);
    }
  }
}

static void swap_inputs(maker_t *make) {
  for (int b = 0; b < make->plan->batches; b++) {
    const tensor_t old = make->layers[0].x[b];
    make->layers[0].x[b] = make->next_x[b];
    make->next_x[b] = old;
  }
}

static void add_steps(maker_t *make) {
  const int batches = make->plan->batches;
  for (int l = 0; l < make->plan->layer_count; l++) start_layer(make, l);
  quantize(make, &make->layers[0].w, 0, NONE);
  for (; make->step < make->plan->steps; make->step++) {
    const int next = make->step + 1, last = next == make->plan->steps;
    forward(make);
    backward(make);
    for (int b = 0; b < batches && !last; b++) quantize(make, &make->next_x[b], next, NONE);
    if (!last) quantize_weights(make, 0, next);
    for (int b = 0; b < batches && make->plan->layer_count > 1; b++) wgrad(make, 1, b);
    if (!last) swap_inputs(make);
  }
}

// --- Lists --------------------------------------------------------------------------------------

static int size_is_bad(int64_t size) {
  return size < 1 || size > UFP4_MAX_DIM;
}

ufp4_status_t schedule_check(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                             const ufp4_schedule_buffers_t *buffers) {
  if (plan == NULL || plan->layers == NULL || buffers == NULL) {
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "schedule: plan, plan->layers or buffers is NULL");
  }
  if (plan->layer_count < 1 || plan->layer_count > UFP4_SCHEDULE_MAX_LAYERS || plan->batches < 1 ||
      plan->batches > BATCHES || plan->steps < 1 || plan->steps > MOST_STEPS) {
    return device_fail(
        device, UFP4_ERROR_ARGUMENT,
        "schedule: layer_count is %d, batches %d and steps %d; they must be from 1 to "
        "%d, %d and %d",
        plan->layer_count, plan->batches, plan->steps, UFP4_SCHEDULE_MAX_LAYERS, BATCHES,
        MOST_STEPS);
  }
  if (plan->kept != 0 && (plan->kept < 2 || plan->kept > KEPT - 2))
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "schedule: kept is %d; it must be 0, or from 2 to %d", plan->kept, KEPT - 2);
  if (plan->source != UFP4_DTYPE_BF16 && plan->source != UFP4_DTYPE_F32)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "schedule: source must be FP32 or BF16");
  for (int l = 0; l < plan->layer_count; l++) {
    const ufp4_schedule_layer_t *shape = &plan->layers[l];
    if (!size_is_bad(shape->tokens) && shape->tokens >= plan->batches && !size_is_bad(shape->cin) &&
        !size_is_bad(shape->cout))
      continue;
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "schedule: layer %d has tokens %lld, cin %lld and cout %lld; each must be "
                       "from 1 to %d, and tokens at least the number of micro-batches",
                       l, (long long)shape->tokens, (long long)shape->cin, (long long)shape->cout,
                       UFP4_MAX_DIM);
  }
  return UFP4_OK;
}

static ufp4_status_t check_recipe(ufp4_device_t *device, const ufp4_recipe_t *recipe) {
  ufp4_message_t why = {0};
  ufp4_status_t status =
      ufp4_recipe_on_core(recipe, UFP4_PASSES_ALL, &device->info.configuration, &why);
  const ufp4_bf16_layers_t none = {.matrices = 0};
  if (status == UFP4_OK &&
      (recipe->bf16_passes != 0 || memcmp(&recipe->bf16_layers, &none, sizeof none) != 0)) {
    status = UFP4_ERROR_UNSUPPORTED;
    ufp4_message_set(&why, "the host multiplies its passes or layers in BF16");
  }
  if (status == UFP4_OK) return UFP4_OK;
  return device_fail(device, status, "schedule: recipe %s: %s", recipe->name, why.text);
}

// AMAX and QUANT of five tensors, six GEMMs, and AMAX three more times.
enum { MOST_JOBS = 2 * (1 + 2 * BATCHES) + UFP4_PASS_COUNT * BATCHES + 1 + BATCHES };

ufp4_status_t ufp4_schedule_make(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                                 const ufp4_schedule_buffers_t *buffers,
                                 ufp4_schedule_t *schedule) {
  if (schedule == NULL) return UFP4_ERROR_ARGUMENT;
  *schedule = (ufp4_schedule_t){0};
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  status = schedule_check(device, plan, buffers);
  if (status == UFP4_OK) status = check_recipe(device, &plan->recipe);
  if (status != UFP4_OK) return status;
  const size_t layers = (size_t)plan->layer_count;
  maker_t make = {.plan = plan, .buffers = buffers, .schedule = schedule};
  make.layers = calloc(layers, sizeof *make.layers);
  schedule->jobs = calloc(layers * (size_t)plan->steps * MOST_JOBS, sizeof *schedule->jobs);
  if (make.layers != NULL && schedule->jobs != NULL) {
    add_steps(&make);
  } else {
    status = device_fail(device, UFP4_ERROR_MEMORY, "the host is out of memory");
    ufp4_schedule_free(schedule);
  }
  free(make.layers);
  return status;
}

void ufp4_schedule_free(ufp4_schedule_t *schedule) {
  free(schedule->jobs);
  *schedule = (ufp4_schedule_t){0};
}

// --- Running ------------------------------------------------------------------------------------

static ufp4_status_t collect(ufp4_device_t *device, ufp4_schedule_job_t *job) {
  ufp4_completion_t done;
  const ufp4_status_t status = ufp4_wait(device, job->descriptor.header.job, 0, &done);
  if (status == UFP4_OK) job->cycles = done.cycles;
  return status;
}

// The device keeps completions only for a while, so each is collected before the ring has passed
// it.
ufp4_status_t ufp4_schedule_run(ufp4_device_t *device, ufp4_schedule_t *schedule) {
  const int ring = (int)UFP4_QUEUE_JOBS;
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < schedule->count + ring && status == UFP4_OK; i++) {
    if (i >= ring) status = collect(device, &schedule->jobs[i - ring]);
    if (i >= schedule->count || status != UFP4_OK) continue;
    ufp4_descriptor_t *descriptor = &schedule->jobs[i].descriptor;
    status = ufp4_submit(device, descriptor, &descriptor->header.job);
  }
  return status;
}
