// SPDX-License-Identifier: Apache-2.0
// Executes the core's descriptors on a GPU. All CUDA code is in libufp4_cuda.so (load.c); this file
// is plain C and part of every build.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

// --- Opening ------------------------------------------------------------------------------------

static void cuda_close(state_t *state) {
  if (state->cuda != NULL) {
    state->table->release(state->cuda, state->memory);
    state->table->release(state->cuda, state->exponents);
    state->table->release(state->cuda, state->flags);
    state->table->release(state->cuda, state->tensor_scales);
    state->table->release(state->cuda, state->workspace.memory);
    state->table->release(state->cuda, state->source.memory);
    state->table->release(state->cuda, state->output.memory);
    state->table->close(state->cuda);
  }
  free(state);
}

static ufp4_status_t allocate_all(state_t *state) {
  static const float one = 1.0f;
  void *memory, *exponents = NULL, *flags = NULL, *scales = NULL;
  ufp4_status_t status = state->table->allocate(
      state->cuda, ufp4_matrix_bytes((int64_t)state->memory_bytes, 1, 1), &memory);
  if (status == UFP4_OK)
    status = state->table->allocate(state->cuda, UFP4_SLOTS * sizeof(int32_t), &exponents);
  if (status == UFP4_OK)
    status = state->table->allocate(state->cuda, UFP4_QUEUE_JOBS * sizeof(uint32_t), &flags);
  if (status == UFP4_OK)
    status = state->table->allocate(state->cuda, (UFP4_QUEUE_JOBS + 1) * sizeof one, &scales);
  state->memory = memory;
  state->exponents = exponents;
  state->flags = flags;
  state->tensor_scales = scales;
  if (status == UFP4_OK)
    status =
        state->table->write(state->cuda, state->tensor_scales + UFP4_QUEUE_JOBS, &one, sizeof one);
  return status;
}

static ufp4_status_t cuda_open(const ufp4_device_options_t *options,
                               const ufp4_configuration_t *configuration, ufp4_message_t *message,
                               state_t **out) {
  *out = NULL;
  state_t *state = calloc(1, sizeof *state);
  if (state == NULL) return UFP4_ERROR_MEMORY;
  state->configuration = *configuration;
  // These limits apply to descriptors; calls with whole operands support more.
  state->configuration.contract = UFP4_CONTRACT_EXACT;
  state->configuration.formats = UFP4_FORMATS_ALL;
  state->configuration.quant = 1;
  state->message = message;
  state->memory_bytes = options->memory_bytes;
  ufp4_status_t status = ufp4_cuda_load(message, &state->table);
  if (status == UFP4_OK) status = state->table->open(message, &state->cuda);
  if (status == UFP4_OK) status = allocate_all(state);
  if (status != UFP4_OK) {
    cuda_close(state);
    return status;
  }
  *out = state;
  return UFP4_OK;
}

void ufp4_cuda_describe(const state_t *state, ufp4_cuda_description_t *out) {
  state->table->describe(state->cuda, out);
}

static ufp4_status_t cuda_info(state_t *state, ufp4_device_info_t *info) {
  info->configuration = state->configuration;
  info->version = UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
  info->has_cycles = 0;
  ufp4_cuda_description_t gpu;
  ufp4_cuda_describe(state, &gpu);
  snprintf(
      info->hardware, sizeof info->hardware,
      "%.80s, compute capability %d.%d, driver for CUDA %d.%d, built with %d.%d, kernels by %s",
      gpu.name, gpu.major, gpu.minor, gpu.driver_version / 1000, gpu.driver_version % 1000 / 10,
      gpu.runtime_version / 1000, gpu.runtime_version % 1000 / 10, gpu.kernels);
  return UFP4_OK;
}

static ufp4_status_t cuda_check_contract(state_t *state, ufp4_contract_t contract) {
  ufp4_cuda_description_t gpu;
  ufp4_cuda_describe(state, &gpu);
  if (contract != UFP4_CONTRACT_NV || gpu.no_nv[0] == '\0') return UFP4_OK;
  ufp4_message_set(state->message, "cuda: contract nv: %s", gpu.no_nv);
  return UFP4_ERROR_UNSUPPORTED;
}

// --- Memory -------------------------------------------------------------------------------------

static void *memory_at(const state_t *state, uint64_t address) {
  return state->memory + (address - UFP4_MEMORY_BASE);
}

static ufp4_status_t cuda_memory_write(state_t *state, uint64_t address, const void *data,
                                       uint64_t bytes) {
  return state->table->write(state->cuda, memory_at(state, address), data, (size_t)bytes);
}

static ufp4_status_t cuda_memory_read(state_t *state, uint64_t address, void *data,
                                      uint64_t bytes) {
  return state->table->read(state->cuda, data, memory_at(state, address), (size_t)bytes);
}

// --- Calls --------------------------------------------------------------------------------------

ufp4_status_t ufp4_cuda_room(state_t *state, size_t bytes, room_t *room) {
  if (bytes <= room->bytes) return UFP4_OK;
  // Freeing waits for the work that still uses the memory.
  state->table->release(state->cuda, room->memory);
  *room = (room_t){NULL, 0};
  ufp4_status_t status = state->table->allocate(state->cuda, bytes, &room->memory);
  if (status == UFP4_OK) room->bytes = bytes;
  return status;
}

ufp4_status_t ufp4_cuda_call(state_t *state, size_t workspace_bytes, ufp4_cuda_call_t *out) {
  ufp4_status_t status = ufp4_cuda_room(state, workspace_bytes, &state->workspace);
  *out = (ufp4_cuda_call_t){.workspace = state->workspace.memory,
                            .workspace_bytes = state->workspace.bytes,
                            .message = state->message};
  return status;
}

// A panel in device memory.
static ufp4_cuda_operand_t panel_operand(const state_t *state, uint8_t elem, uint8_t scale,
                                         const panel_t *panel, int64_t cols) {
  ufp4_cuda_operand_t out = {.elem = (ufp4_elem_t)elem,
                             .scale = (ufp4_scale_t)scale,
                             .rows = panel->rows,
                             .cols = cols,
                             .codes = memory_at(state, panel->codes),
                             .scales = memory_at(state, panel->scales),
                             .panel_stride = (int64_t)panel->stride_blocks,
                             .exponent_value = (int16_t)panel->exponent};
  if (panel->mode & UFP4_MODE_SLOT) out.exponent = state->exponents + panel->exponent;
  return out;
}

// --- QUANT and AMAX -----------------------------------------------------------------------------

static ufp4_quantize_t describe_copy(const ufp4_quant_descriptor_t *quant, ufp4_axis_t axis,
                                     const panel_t *panel) {
  const int amax = quant->opcode == UFP4_OPCODE_AMAX;
  ufp4_quantize_t how = {
      .elem = (ufp4_elem_t)quant->elem,
      .scale = UFP4_SCALE_E4M3,
      .axis = axis,
      .rht = panel->mode & UFP4_MODE_RHT ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
      .rht_mask = quant->rht_mask,
      .seed = quant->seed,
      .tensor_id = axis == UFP4_AXIS_ROW ? quant->row_tensor_id : quant->col_tensor_id,
      .exponent_given = panel->mode & UFP4_MODE_SLOT ? UFP4_CUDA_EXPONENT_STORED : 1,
      .exponent = (int16_t)panel->exponent};
  if (amax) return how;
  how.round = (ufp4_round_t)quant->round;
  how.scale_round = (ufp4_scale_round_t)quant->scale_round;
  return how;
}

static ufp4_status_t run_quant(state_t *state, const ufp4_quant_descriptor_t *quant,
                               ufp4_completion_t *done, uint32_t *flags) {
  const int amax = quant->opcode == UFP4_OPCODE_AMAX;
  const panel_t panels[2] = {quant_row_panel(quant), quant_col_panel(quant)};
  const ufp4_matrix_t in = {(ufp4_dtype_t)quant->src_dtype, quant->rows, quant->cols,
                            quant->src_stride_bytes / (int64_t)dtype_bytes(quant->src_dtype),
                            memory_at(state, quant->src_addr)};
  ufp4_quantize_t how[2];
  ufp4_cuda_operand_t out[2];
  int copies = 0;
  done->status =
      (uint16_t)check_quant_bus(quant, (region_t){UFP4_MEMORY_BASE, state->memory_bytes});
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  for (int axis = 0; axis < 2; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE)) continue;
    how[copies] = describe_copy(quant, (ufp4_axis_t)axis, &panels[axis]);
    out[copies] = panel_operand(state, quant->elem, UFP4_SCALE_E4M3, &panels[axis],
                                axis == UFP4_AXIS_ROW ? quant->cols : quant->rows);
    if (amax) {
      out[copies].exponent = state->exponents + panels[axis].exponent;
      state->slots.written[panels[axis].exponent] = 1;
    }
    copies++;
  }
  ufp4_cuda_call_t call;
  ufp4_status_t status =
      ufp4_cuda_call(state, state->table->quantize_workspace(state->cuda, &in), &call);
  if (status != UFP4_OK) return status;
  return (amax ? state->table->amax : state->table->quantize)(state->cuda, &in, how, out, copies,
                                                              flags, &call);
}

// --- GEMM ---------------------------------------------------------------------------------------

// The descriptor holds the product of both tensors' scales.
static ufp4_status_t set_tensor_scales(state_t *state, const ufp4_gemm_descriptor_t *gemm,
                                       ufp4_cuda_operand_t *a, ufp4_cuda_operand_t *b) {
  const float product = ufp4_f32_value(gemm->tensor_scale);
  a->tensor_scale = state->tensor_scales + (state->submitted + 1) % UFP4_QUEUE_JOBS;
  b->tensor_scale = state->tensor_scales + UFP4_QUEUE_JOBS;
  return state->table->write(state->cuda, a->tensor_scale, &product, sizeof product);
}

static ufp4_status_t run_gemm(state_t *state, const ufp4_gemm_descriptor_t *gemm,
                              ufp4_completion_t *done) {
  const panel_t a = gemm_a_panel(gemm), b = gemm_b_panel(gemm);
  const ufp4_cuda_choice_t choice = {0, UFP4_CUDA_PRODUCT_AUTO};
  ufp4_cuda_operand_t sides[2] = {panel_operand(state, gemm->a_elem, gemm->scale, &a, gemm->k),
                                  panel_operand(state, gemm->b_elem, gemm->scale, &b, gemm->k)};
  ufp4_cuda_call_t call;
  ufp4_status_t status = UFP4_OK;
  done->status = (uint16_t)check_gemm_bus(gemm, (region_t){UFP4_MEMORY_BASE, state->memory_bytes});
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  ufp4_gemm_t how = {.contract = UFP4_CONTRACT_EXACT,
                     .d_dtype = (ufp4_dtype_t)gemm->d_dtype,
                     .alpha = gemm->d_mode & UFP4_D_MODE_ALPHA ? ufp4_f32_value(gemm->alpha) : 1.0f,
                     .c_ld = gemm->c_stride_bytes / (int64_t)sizeof(float),
                     .accumulate_ld = gemm->sums_stride_bytes / (int64_t)sizeof(int64_t)};
  if (gemm->d_mode & UFP4_D_MODE_C) how.c = memory_at(state, gemm->c_addr);
  if (gemm->d_mode & UFP4_D_MODE_SUMS) how.accumulate = memory_at(state, gemm->sums_addr);
  if (gemm->scale == UFP4_SCALE_NVFP4)
    status = set_tensor_scales(state, gemm, &sides[0], &sides[1]);
  if (status == UFP4_OK) {
    status = ufp4_cuda_call(
        state, state->table->gemm_workspace(state->cuda, &choice, &sides[0], &sides[1], &how),
        &call);
  }
  if (status != UFP4_OK) return status;
  return state->table->gemm(state->cuda, &choice, &sides[0], &sides[1], &how,
                            memory_at(state, gemm->d_addr),
                            gemm->d_stride_bytes / (int64_t)dtype_bytes(gemm->d_dtype), &call);
}

// --- Jobs ---------------------------------------------------------------------------------------

static int any_set(const ufp4_descriptor_t *descriptor, size_t from) {
  for (size_t i = from; i < sizeof descriptor->bytes; i++) {
    if (descriptor->bytes[i] != 0) return 1;
  }
  return 0;
}

// A job may be legal on a core but unsupported here: the backend has only contract exact, and QUANT
// only with E4M3 scales.
static int is_unsupported(const ufp4_descriptor_t *descriptor) {
  const ufp4_gemm_descriptor_t *gemm = &descriptor->gemm;
  if (descriptor->header.opcode == UFP4_OPCODE_QUANT) {
    return descriptor->quant.scale != UFP4_SCALE_E4M3 ||
           any_set(descriptor, offsetof(ufp4_quant_descriptor_t, scale) + 1);
  }
  if (descriptor->header.opcode != UFP4_OPCODE_GEMM) return 0;
  return gemm->contract != UFP4_CONTRACT_EXACT ||
         (gemm->scale != UFP4_SCALE_E4M3 && gemm->scale != UFP4_SCALE_NVFP4) ||
         any_set(descriptor,
                 offsetof(ufp4_gemm_descriptor_t, tensor_scale) + sizeof gemm->tensor_scale);
}

static ufp4_status_t run(state_t *state, const ufp4_descriptor_t *descriptor,
                         ufp4_completion_t *done, uint32_t *flags) {
  done->status = (uint16_t)check_descriptor(descriptor, &state->configuration, &state->slots);
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  if (is_unsupported(descriptor)) {
    done->status = UFP4_CORE_STATUS_UNSUPPORTED;
    return UFP4_OK;
  }
  switch (descriptor->header.opcode) {
    case UFP4_OPCODE_GEMM:
      return run_gemm(state, &descriptor->gemm, done);
    case UFP4_OPCODE_FENCE:
      return UFP4_OK;
    default:
      return run_quant(state, &descriptor->quant, done, flags);
  }
}

static ufp4_status_t cuda_submit(state_t *state, const ufp4_descriptor_t *descriptor) {
  const uint64_t at = (state->submitted + 1) % UFP4_QUEUE_JOBS;
  ufp4_completion_t done = {.job = descriptor->header.job};
  ufp4_status_t status = state->table->clear(state->cuda, state->flags + at, sizeof *state->flags);
  if (status == UFP4_OK) status = run(state, descriptor, &done, state->flags + at);
  if (status != UFP4_OK) return status;
  state->done[at] = done;
  state->submitted++;
  return UFP4_OK;
}

// Reading the flags waits for the job. A GPU job cannot be interrupted, so there is no time limit.
static ufp4_status_t cuda_take(state_t *state, uint64_t timeout_us, ufp4_completion_t *completion) {
  (void)timeout_us;
  const uint64_t at = (state->taken + 1) % UFP4_QUEUE_JOBS;
  uint32_t flags = 0;
  ufp4_status_t status = state->table->read(state->cuda, &flags, state->flags + at, sizeof flags);
  if (status != UFP4_OK) return status;
  *completion = state->done[at];
  if (completion->status == UFP4_CORE_STATUS_OK) completion->flags = (uint16_t)flags;
  state->taken++;
  return UFP4_OK;
}

static ufp4_status_t cuda_slot_read(state_t *state, unsigned slot, int *exponent) {
  int32_t value = 0;
  if (!state->slots.written[slot]) {
    ufp4_message_set(state->message, "slot %u was never written", slot);
    return UFP4_ERROR_ARGUMENT;
  }
  ufp4_status_t status =
      state->table->read(state->cuda, &value, state->exponents + slot, sizeof value);
  *exponent = value;
  return status;
}

static ufp4_status_t cuda_counters(state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]) {
  (void)state;
  memset(counters, 0, UFP4_COUNTER_COUNT * sizeof counters[0]);
  return UFP4_OK;
}

// Queued work cannot be stopped, but it can be waited for and discarded.
static ufp4_status_t cuda_reset(state_t *state) {
  ufp4_status_t status = state->table->synchronize(state->cuda);
  if (status != UFP4_OK) return status;
  state->taken = state->submitted;
  memset(&state->slots, 0, sizeof state->slots);
  return UFP4_OK;
}

const ufp4_backend_t ufp4_backend_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .info = cuda_info,
    .check_contract = cuda_check_contract,
    .memory_write = cuda_memory_write,
    .memory_read = cuda_memory_read,
    .submit = cuda_submit,
    .take = cuda_take,
    .slot_read = cuda_slot_read,
    .counters = cuda_counters,
    .reset = cuda_reset,
    .quantize = ufp4_cuda_quantize_operand,
    .gemm = ufp4_cuda_gemm_operands,
    .keep = ufp4_cuda_keep,
    .kept_gemm = ufp4_cuda_kept_gemm,
    .kept_read = ufp4_cuda_kept_read,
    .kept_free = ufp4_cuda_kept_free,
};
