// SPDX-License-Identifier: Apache-2.0
// The golden model behind the descriptors of the core: what the core must do, without its cycles.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "hot.h"

struct ufp4_backend_state {
  ufp4_configuration_t configuration;
  ufp4_message_t *message;
  uint8_t *memory;
  uint64_t memory_bytes;
  int threads;
  ufp4_kernel_t kernel;
  slots_t slots;
  ufp4_completion_t done[UFP4_QUEUE_JOBS];  // of job i at i mod UFP4_QUEUE_JOBS, until taken
  uint64_t submitted, taken;
};

typedef struct ufp4_backend_state state_t;

static ufp4_status_t model_open(const ufp4_device_options_t *options,
                                const ufp4_configuration_t *configuration, ufp4_message_t *message,
                                state_t **out) {
  state_t *state = calloc(1, sizeof *state);
  uint8_t *memory = calloc(ufp4_matrix_bytes((int64_t)options->memory_bytes, 1, 1), 1);
  if (state == NULL || memory == NULL) {
    free(state);
    free(memory);
    ufp4_message_set(message, "model: no %llu bytes for the device memory",
                     (unsigned long long)options->memory_bytes);
    return UFP4_ERROR_MEMORY;
  }
  state->configuration = *configuration;
  state->message = message;
  state->memory = memory;
  state->memory_bytes = options->memory_bytes;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  state->threads = options->threads != 0 ? (int)options->threads : cores > 0 ? (int)cores : 1;
  state->kernel = options->kernel;
  *out = state;
  return UFP4_OK;
}

static void model_close(state_t *state) {
  free(state->memory);
  free(state);
}

static ufp4_status_t model_info(state_t *state, ufp4_device_info_t *info) {
  info->configuration = state->configuration;
  info->version = UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
  info->has_cycles = 0;
  return UFP4_OK;
}

static uint8_t *memory_at(const state_t *state, uint64_t address) {
  return state->memory + (address - UFP4_MEMORY_BASE);
}

static ufp4_status_t model_memory_write(state_t *state, uint64_t address, const void *data,
                                        uint64_t bytes) {
  memcpy(memory_at(state, address), data, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t model_memory_read(state_t *state, uint64_t address, void *data,
                                       uint64_t bytes) {
  memcpy(data, memory_at(state, address), (size_t)bytes);
  return UFP4_OK;
}

static int exponent_of(const state_t *state, const panel_t *panel) {
  return panel->mode & UFP4_MODE_SLOT ? state->slots.exponent[panel->exponent]
                                      : (int16_t)panel->exponent;
}

// --- QUANT and AMAX -----------------------------------------------------------------------------

static ufp4_matrix_t quant_source(const state_t *state, const ufp4_quant_descriptor_t *quant) {
  ufp4_matrix_t source = {
      .dtype = (ufp4_dtype_t)quant->src_dtype, .rows = quant->rows, .cols = quant->cols};
  source.ld = quant->src_stride_bytes / dtype_bytes(quant->src_dtype);
  source.data = memory_at(state, quant->src_addr);
  return source;
}

static ufp4_quantize_t quant_how(const state_t *state, const ufp4_quant_descriptor_t *quant,
                                 ufp4_axis_t axis) {
  ufp4_quantize_t how = {.elem = (ufp4_elem_t)quant->elem, .axis = axis, .kernel = state->kernel};
  uint8_t mode = axis == UFP4_AXIS_ROW ? quant->row_mode : quant->col_mode;
  how.rht = mode & UFP4_MODE_RHT ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
  how.rht_mask = quant->rht_mask;
  if (quant->opcode == UFP4_OPCODE_AMAX) return how;
  how.scale = (ufp4_scale_t)quant->scale;
  how.round = (ufp4_round_t)quant->round;
  how.scale_round = (ufp4_scale_round_t)quant->scale_round;
  how.seed = quant->seed;
  how.tensor_id = axis == UFP4_AXIS_ROW ? quant->row_tensor_id : quant->col_tensor_id;
  how.exponent_given = how.scale == UFP4_SCALE_E4M3;
  return how;
}

// Without a way out of a loop: many numbers at a time.
UFP4_HOT static int words_have_nan(const uint32_t *words, int64_t count) {
  uint32_t found = 0;
  for (int64_t i = 0; i < count; i++) found |= (words[i] & 0x7F800000u) == 0x7F800000u;
  return found != 0;
}

UFP4_HOT static int halves_have_nan(const uint16_t *halves, int64_t count) {
  uint16_t found = 0;
  for (int64_t i = 0; i < count; i++)
    found = (uint16_t)(found | ((halves[i] & 0x7F80u) == 0x7F80u));
  return found != 0;
}

static int row_has_nan(const ufp4_matrix_t *source, int64_t row) {
  const int64_t at = row * source->ld;
  return source->dtype == UFP4_DTYPE_BF16
             ? halves_have_nan((const uint16_t *)source->data + at, source->cols)
             : words_have_nan((const uint32_t *)source->data + at, source->cols);
}

static unsigned source_flags(const ufp4_matrix_t *source) {
  for (int64_t r = 0; r < source->rows; r++) {
    if (row_has_nan(source, r)) return UFP4_FLAG_NAN;
  }
  return 0;
}

static ufp4_status_t run_amax(state_t *state, const ufp4_quant_descriptor_t *quant,
                              ufp4_completion_t *done) {
  ufp4_matrix_t source = quant_source(state, quant);
  panel_t panels[2] = {quant_row_panel(quant), quant_col_panel(quant)};
  int exponents[2] = {0, 0};
  for (int axis = 0; axis < 2; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE)) continue;
    ufp4_quantize_t how = quant_how(state, quant, (ufp4_axis_t)axis);
    ufp4_status_t status = ufp4_tensor_exponent(&source, &how, &exponents[axis]);
    if (status != UFP4_OK) return status;
  }
  for (int axis = 0; axis < 2; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE)) continue;
    state->slots.exponent[panels[axis].exponent] = (int16_t)exponents[axis];
    state->slots.written[panels[axis].exponent] = 1;
  }
  done->flags = (uint16_t)source_flags(&source);
  return UFP4_OK;
}

static ufp4_status_t run_quant_copy(state_t *state, const ufp4_quant_descriptor_t *quant,
                                    const panel_t *panel, ufp4_axis_t axis,
                                    ufp4_completion_t *done) {
  ufp4_matrix_t source = quant_source(state, quant);
  ufp4_quantize_t how = quant_how(state, quant, axis);
  how.exponent = exponent_of(state, panel);
  ufp4_operand_t copy;
  ufp4_status_t status = ufp4_quantize(&source, &how, &copy);
  if (status != UFP4_OK) return status;
  ufp4_panel_pack(&copy, panel->stride_blocks, memory_at(state, panel->codes),
                  memory_at(state, panel->scales));
  unsigned flags = copy.flags & UFP4_FLAG_NAN;
  unsigned saturated = axis == UFP4_AXIS_ROW ? UFP4_FLAG_ROW_SATURATED : UFP4_FLAG_COL_SATURATED;
  if (copy.flags & UFP4_FLAG_ROW_SATURATED) flags |= saturated;
  done->flags = (uint16_t)(done->flags | flags);
  ufp4_operand_free(&copy);
  return UFP4_OK;
}

static ufp4_status_t run_quant(state_t *state, const ufp4_quant_descriptor_t *quant,
                               ufp4_completion_t *done) {
  panel_t panels[2] = {quant_row_panel(quant), quant_col_panel(quant)};
  done->status = (uint16_t)check_quant_bus(quant, state->memory_bytes);
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  if (quant->opcode == UFP4_OPCODE_AMAX) return run_amax(state, quant, done);
  for (int axis = 0; axis < 2; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE)) continue;
    ufp4_status_t status = run_quant_copy(state, quant, &panels[axis], (ufp4_axis_t)axis, done);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

// --- GEMM ---------------------------------------------------------------------------------------

// A tensor scale of both operands whose product, rounded, is the one of the descriptor, which may
// be 0 or infinite.
static float tensor_scale(uint32_t product, int is_a) {
  if (product == 0) return 0x1p-149f;
  if (product == 0x7F800000u) return 0x1p127f;
  return is_a ? ufp4_f32_value(product) : 1.0f;
}

static ufp4_status_t load_operand(const state_t *state, const ufp4_gemm_descriptor_t *gemm,
                                  const panel_t *panel, int is_a, ufp4_operand_t *out) {
  const ufp4_elem_t elem = (ufp4_elem_t)(is_a ? gemm->a_elem : gemm->b_elem);
  ufp4_status_t status =
      ufp4_operand_create_scaled(elem, (ufp4_scale_t)gemm->scale, panel->rows, gemm->k, out);
  if (status != UFP4_OK) return status;
  ufp4_panel_unpack(memory_at(state, panel->codes), memory_at(state, panel->scales),
                    panel->stride_blocks, out);
  out->exponent = exponent_of(state, panel);
  if (gemm->scale == UFP4_SCALE_NVFP4) out->tensor_scale = tensor_scale(gemm->tensor_scale, is_a);
  return UFP4_OK;
}

static ufp4_status_t run_gemm_operands(state_t *state, const ufp4_gemm_descriptor_t *gemm,
                                       const ufp4_operand_t *a, const ufp4_operand_t *b) {
  ufp4_gemm_t how = {.contract = (ufp4_contract_t)gemm->contract,
                     .d_dtype = (ufp4_dtype_t)gemm->d_dtype,
                     .alpha = 1.0f,
                     .threads = state->threads,
                     .kernel = state->kernel};
  if (gemm->d_mode & UFP4_D_MODE_ALPHA) how.alpha = ufp4_f32_value(gemm->alpha);
  if (gemm->d_mode & UFP4_D_MODE_C) {
    how.c = (const float *)memory_at(state, gemm->c_addr);
    how.c_ld = gemm->c_stride_bytes / sizeof(float);
  }
  if (gemm->d_mode & UFP4_D_MODE_SUMS) {
    how.accumulate = (const int64_t *)memory_at(state, gemm->sums_addr);
    how.accumulate_ld = gemm->sums_stride_bytes / sizeof(int64_t);
  }
  return ufp4_gemm(a, b, &how, memory_at(state, gemm->d_addr),
                   gemm->d_stride_bytes / dtype_bytes(gemm->d_dtype));
}

static ufp4_status_t run_gemm(state_t *state, const ufp4_gemm_descriptor_t *gemm,
                              ufp4_completion_t *done) {
  panel_t panel_a = gemm_a_panel(gemm), panel_b = gemm_b_panel(gemm);
  done->status = (uint16_t)check_gemm_bus(gemm, state->memory_bytes);
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  ufp4_operand_t a = {0}, b = {0};
  ufp4_status_t status = load_operand(state, gemm, &panel_a, 1, &a);
  if (status == UFP4_OK) status = load_operand(state, gemm, &panel_b, 0, &b);
  if (status == UFP4_OK) status = run_gemm_operands(state, gemm, &a, &b);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  return status;
}

// --- Jobs ---------------------------------------------------------------------------------------

static ufp4_status_t run(state_t *state, const ufp4_descriptor_t *descriptor,
                         ufp4_completion_t *done) {
  done->status = (uint16_t)check_descriptor(descriptor, &state->configuration, &state->slots);
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  switch (descriptor->header.opcode) {
    case UFP4_OPCODE_GEMM:
      return run_gemm(state, &descriptor->gemm, done);
    case UFP4_OPCODE_FENCE:
      return UFP4_OK;
    default:
      return run_quant(state, &descriptor->quant, done);
  }
}

static ufp4_status_t model_submit(state_t *state, const ufp4_descriptor_t *descriptor) {
  ufp4_completion_t done = {.job = descriptor->header.job};
  ufp4_status_t status = run(state, descriptor, &done);
  if (status != UFP4_OK) {
    ufp4_message_set(state->message, "model: job %u: %s", done.job, ufp4_status_string(status));
    return status;
  }
  state->done[++state->submitted % UFP4_QUEUE_JOBS] = done;
  return UFP4_OK;
}

static ufp4_status_t model_take(state_t *state, uint64_t timeout_us,
                                ufp4_completion_t *completion) {
  (void)timeout_us;
  *completion = state->done[++state->taken % UFP4_QUEUE_JOBS];
  return UFP4_OK;
}

static ufp4_status_t model_slot_read(state_t *state, unsigned slot, int *exponent) {
  if (!state->slots.written[slot]) {
    ufp4_message_set(state->message, "slot %u was never written", slot);
    return UFP4_ERROR_ARGUMENT;
  }
  *exponent = state->slots.exponent[slot];
  return UFP4_OK;
}

static ufp4_status_t model_counters(state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]) {
  (void)state;
  memset(counters, 0, UFP4_COUNTER_COUNT * sizeof counters[0]);
  return UFP4_OK;
}

static ufp4_status_t model_reset(state_t *state) {
  state->taken = state->submitted;
  memset(&state->slots, 0, sizeof state->slots);
  return UFP4_OK;
}

const ufp4_backend_t ufp4_backend_model = {
    .name = "model",
    .open = model_open,
    .close = model_close,
    .info = model_info,
    .memory_write = model_memory_write,
    .memory_read = model_memory_read,
    .submit = model_submit,
    .take = model_take,
    .slot_read = model_slot_read,
    .counters = model_counters,
    .reset = model_reset,
};
