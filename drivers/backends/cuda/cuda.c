// SPDX-License-Identifier: Apache-2.0
// A GPU behind the descriptors of the core, and behind whole operands of the host. All CUDA is in libufp4_cuda.so
// (load.c); this file is plain C and part of every build.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/check.h"
#include "cuda.h"
#include "ufp4/panel.h"

struct ufp4_backend_state {
  ufp4_configuration_t configuration;
  ufp4_message_t *message;
  const ufp4_cuda_table_t *table;
  ufp4_cuda_t *cuda;
  uint8_t *memory;  // on the device
  uint64_t memory_bytes;
  int32_t *exponents;  // on the device: one a slot, and then one for each copy of an AMAX on its way
  uint32_t *flags;     // on the device: one a job
  slots_t slots;       // only which were written
  ufp4_completion_t done[UFP4_QUEUE_JOBS];  // of job i at i mod UFP4_QUEUE_JOBS, without its flags
  uint64_t submitted, taken;
};

typedef struct ufp4_backend_state state_t;

// --- Opening -------------------------------------------------------------------------------------------

static void cuda_close(state_t *state) {
  if (state->cuda != NULL) {
    state->table->release(state->cuda, state->memory);
    state->table->release(state->cuda, state->exponents);
    state->table->release(state->cuda, state->flags);
    state->table->close(state->cuda);
  }
  free(state);
}

static ufp4_status_t allocate_all(state_t *state) {
  void *memory, *exponents = NULL, *flags = NULL;
  ufp4_status_t status = state->table->allocate(state->cuda, state->memory_bytes, &memory);
  if (status == UFP4_OK) status = state->table->allocate(state->cuda, (UFP4_SLOTS + 2) * sizeof(int32_t), &exponents);
  if (status == UFP4_OK) status = state->table->allocate(state->cuda, UFP4_QUEUE_JOBS * sizeof(uint32_t), &flags);
  state->memory = memory;
  state->exponents = exponents;
  state->flags = flags;
  return status;
}

static ufp4_status_t cuda_open(const ufp4_device_options_t *options, const ufp4_configuration_t *configuration,
                               ufp4_message_t *message, state_t **out) {
  *out = NULL;
  state_t *state = calloc(1, sizeof *state);
  if (state == NULL) return UFP4_ERROR_MEMORY;
  state->configuration = *configuration;
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
  snprintf(info->hardware, sizeof info->hardware,
           "%.160s, compute capability %d.%d, driver for CUDA %d.%d, built with %d.%d", gpu.name, gpu.major, gpu.minor,
           gpu.driver_version / 1000, gpu.driver_version % 1000 / 10,
           gpu.runtime_version / 1000, gpu.runtime_version % 1000 / 10);
  return UFP4_OK;
}

// --- Memory --------------------------------------------------------------------------------------------

static void *memory_at(const state_t *state, uint64_t address) {
  return state->memory + (address - UFP4_MEMORY_BASE);
}

static ufp4_status_t cuda_memory_write(state_t *state, uint64_t address, const void *data, uint64_t bytes) {
  return state->table->write(state->cuda, memory_at(state, address), data, bytes);
}

static ufp4_status_t cuda_memory_read(state_t *state, uint64_t address, void *data, uint64_t bytes) {
  return state->table->read(state->cuda, data, memory_at(state, address), bytes);
}

// What the bus answers with DECERR.
static int is_outside(const state_t *state, uint64_t address, uint64_t bytes) {
  if (address < UFP4_MEMORY_BASE) return 1;
  uint64_t offset = address - UFP4_MEMORY_BASE;
  return offset > state->memory_bytes || bytes > state->memory_bytes - offset;
}

static int panel_is_outside(const state_t *state, const panel_t *panel) {
  uint64_t units = panel_units(panel);
  return is_outside(state, panel->codes, units * UFP4_PANEL_CODE_BYTES) ||
         is_outside(state, panel->scales, units * UFP4_PANEL_SCALE_BYTES);
}

static ufp4_cuda_exponent_t exponent_of(const state_t *state, const panel_t *panel) {
  if (panel->mode & UFP4_MODE_SLOT) return (ufp4_cuda_exponent_t){state->exponents + panel->exponent, 0};
  return (ufp4_cuda_exponent_t){NULL, (int16_t)panel->exponent};
}

static ufp4_cuda_place_t panel_place(const panel_t *panel) {
  return (ufp4_cuda_place_t){(int64_t)panel->stride_blocks * UFP4_PANEL_ROWS, UFP4_PANEL_ROWS, 1};
}

// --- QUANT and AMAX ------------------------------------------------------------------------------------

static void describe_copy(const state_t *state, const panel_t *panel, uint64_t tensor_id, int amax,
                          ufp4_cuda_copy_t *copy) {
  *copy = (ufp4_cuda_copy_t){.enabled = (panel->mode & UFP4_MODE_ENABLE) != 0};
  if (!copy->enabled) return;
  copy->rht = panel->mode & UFP4_MODE_RHT ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
  if (amax) return;
  copy->tensor_id = tensor_id;
  copy->exponent = exponent_of(state, panel);
  copy->codes = memory_at(state, panel->codes);
  copy->scales = memory_at(state, panel->scales);
  copy->place = panel_place(panel);
  copy->pads_groups = 1;
}

static ufp4_cuda_quantize_t describe_quant(const state_t *state, const ufp4_quant_descriptor_t *quant,
                                           const panel_t panels[2], uint32_t *flags) {
  const int amax = quant->opcode == UFP4_OPCODE_AMAX;
  ufp4_cuda_quantize_t job = {.source = memory_at(state, quant->src_addr),
                              .dtype = (ufp4_dtype_t)quant->src_dtype,
                              .rows = quant->rows,
                              .cols = quant->cols,
                              .ld = quant->src_stride_bytes / dtype_bytes(quant->src_dtype),
                              .elem = (ufp4_elem_t)quant->elem,
                              .scale = UFP4_SCALE_E4M3,
                              .rht_mask = quant->rht_mask,
                              .seed = quant->seed,
                              .flags = flags};
  if (!amax) {
    job.round = (ufp4_round_t)quant->round;
    job.scale_round = (ufp4_scale_round_t)quant->scale_round;
  }
  describe_copy(state, &panels[0], quant->row_tensor_id, amax, &job.copies[0]);
  describe_copy(state, &panels[1], quant->col_tensor_id, amax, &job.copies[1]);
  return job;
}

static ufp4_status_t run_amax(state_t *state, ufp4_cuda_quantize_t *job, const panel_t panels[2]) {
  static const int32_t none[2] = {INT32_MAX, INT32_MAX};
  int32_t *largest = state->exponents + UFP4_SLOTS;
  ufp4_status_t status = state->table->write(state->cuda, largest, none, sizeof none);
  for (int i = 0; i < 2; i++) job->copies[i].largest = largest + i;
  if (status == UFP4_OK) status = state->table->amax(state->cuda, job);
  for (int i = 0; i < 2 && status == UFP4_OK; i++) {
    if (!job->copies[i].enabled) continue;
    status = state->table->settle(state->cuda, largest + i, state->exponents + panels[i].exponent);
    state->slots.written[panels[i].exponent] = 1;
  }
  return status;
}

static ufp4_status_t run_quant(state_t *state, const ufp4_quant_descriptor_t *quant, ufp4_completion_t *done,
                               uint32_t *flags) {
  const panel_t panels[2] = {quant_row_panel(quant), quant_col_panel(quant)};
  uint64_t row_bytes = (uint64_t)quant->cols * dtype_bytes(quant->src_dtype);
  uint64_t bytes = plain_bytes(quant->rows, quant->src_stride_bytes, row_bytes);
  if (is_outside(state, quant->src_addr, bytes)) {
    done->status = UFP4_CORE_STATUS_READ_ERROR;
    return UFP4_OK;
  }
  const int amax = quant->opcode == UFP4_OPCODE_AMAX;
  for (int axis = 0; axis < 2 && !amax; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE) || !panel_is_outside(state, &panels[axis])) continue;
    done->status = UFP4_CORE_STATUS_WRITE_ERROR;
    return UFP4_OK;
  }
  ufp4_cuda_quantize_t job = describe_quant(state, quant, panels, flags);
  return amax ? run_amax(state, &job, panels) : state->table->quantize(state->cuda, &job);
}

// --- GEMM ----------------------------------------------------------------------------------------------

static ufp4_cuda_operand_t panel_operand(const state_t *state, uint8_t elem, const panel_t *panel) {
  return (ufp4_cuda_operand_t){.elem = (ufp4_elem_t)elem,
                               .rows = panel->rows,
                               .codes = memory_at(state, panel->codes),
                               .scales = memory_at(state, panel->scales),
                               .place = panel_place(panel),
                               .exponent = exponent_of(state, panel)};
}

static void check_gemm_bus(const state_t *state, const ufp4_gemm_descriptor_t *gemm, ufp4_completion_t *done) {
  const panel_t a = gemm_a_panel(gemm), b = gemm_b_panel(gemm);
  plain_t plains[3];
  const int count = gemm_plains(gemm, plains);
  int bad_read = panel_is_outside(state, &a) || panel_is_outside(state, &b);
  for (int i = 1; i < count; i++) bad_read |= is_outside(state, plains[i].address, plain_region_bytes(&plains[i]));
  if (bad_read) {
    done->status = UFP4_CORE_STATUS_READ_ERROR;
  } else if (is_outside(state, plains[0].address, plain_region_bytes(&plains[0]))) {
    done->status = UFP4_CORE_STATUS_WRITE_ERROR;
  }
}

static ufp4_status_t run_gemm(state_t *state, const ufp4_gemm_descriptor_t *gemm, ufp4_completion_t *done) {
  const panel_t a = gemm_a_panel(gemm), b = gemm_b_panel(gemm);
  const int nvfp4 = gemm->scale == UFP4_SCALE_NVFP4;
  check_gemm_bus(state, gemm, done);
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  ufp4_cuda_gemm_t job = {.contract = UFP4_CONTRACT_EXACT,
                          .scale = UFP4_SCALE_E4M3,  // NVFP4's bytes are the same
                          .k = gemm->k,
                          .a = panel_operand(state, gemm->a_elem, &a),
                          .b = panel_operand(state, gemm->b_elem, &b),
                          .scale_product = nvfp4 ? ufp4_f32_value(gemm->tensor_scale) : 1.0f,
                          .alpha = gemm->d_mode & UFP4_D_MODE_ALPHA ? ufp4_f32_value(gemm->alpha) : 1.0f,
                          .c_ld = gemm->c_stride_bytes / sizeof(float),
                          .accumulate_ld = gemm->sums_stride_bytes / sizeof(int64_t),
                          .d = memory_at(state, gemm->d_addr),
                          .d_dtype = (ufp4_dtype_t)gemm->d_dtype,
                          .d_ld = gemm->d_stride_bytes / dtype_bytes(gemm->d_dtype)};
  if (gemm->d_mode & UFP4_D_MODE_C) job.c = memory_at(state, gemm->c_addr);
  if (gemm->d_mode & UFP4_D_MODE_SUMS) job.accumulate = memory_at(state, gemm->sums_addr);
  return state->table->gemm(state->cuda, &job);
}

// --- Jobs ----------------------------------------------------------------------------------------------

static int any_set(const ufp4_descriptor_t *descriptor, size_t from) {
  for (size_t i = from; i < sizeof descriptor->bytes; i++) {
    if (descriptor->bytes[i] != 0) return 1;
  }
  return 0;
}

// What the core may have learnt and this backend not: it has the exact contract, and QUANT with E4M3 scales.
static int is_unsupported(const ufp4_descriptor_t *descriptor) {
  const ufp4_gemm_descriptor_t *gemm = &descriptor->gemm;
  if (descriptor->header.opcode == UFP4_OPCODE_QUANT) {
    return descriptor->quant.scale != UFP4_SCALE_E4M3 ||
           any_set(descriptor, offsetof(ufp4_quant_descriptor_t, scale) + 1);
  }
  if (descriptor->header.opcode != UFP4_OPCODE_GEMM) return 0;
  return gemm->contract != UFP4_CONTRACT_EXACT || (gemm->scale != UFP4_SCALE_E4M3 && gemm->scale != UFP4_SCALE_NVFP4) ||
         any_set(descriptor, offsetof(ufp4_gemm_descriptor_t, tensor_scale) + sizeof gemm->tensor_scale);
}

static ufp4_status_t run(state_t *state, const ufp4_descriptor_t *descriptor, ufp4_completion_t *done,
                         uint32_t *flags) {
  done->status = (uint16_t)check_descriptor(descriptor, &state->slots);
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

// Reading the flags waits for the job. A GPU cannot be interrupted, so there is no time limit.
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
  ufp4_status_t status = state->table->read(state->cuda, &value, state->exponents + slot, sizeof value);
  *exponent = value;
  return status;
}

static ufp4_status_t cuda_counters(state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]) {
  (void)state;
  memset(counters, 0, UFP4_COUNTER_COUNT * sizeof counters[0]);
  return UFP4_OK;
}

// What is queued cannot be stopped, but it can be waited for and forgotten.
static ufp4_status_t cuda_reset(state_t *state) {
  ufp4_status_t status = state->table->synchronize(state->cuda);
  if (status != UFP4_OK) return status;
  state->taken = state->submitted;
  memset(&state->slots, 0, sizeof state->slots);
  return UFP4_OK;
}

// --- Whole operands ------------------------------------------------------------------------------------

static ufp4_status_t upload(state_t *state, const void *data, uint64_t bytes, void **out) {
  ufp4_status_t status = state->table->allocate(state->cuda, bytes, out);
  return status == UFP4_OK ? state->table->write(state->cuda, *out, data, bytes) : status;
}

static uint64_t dtype_size(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

// Rows as they lie in memory, up to the end of the last.
static uint64_t span_bytes(int64_t rows, int64_t cols, int64_t ld, ufp4_dtype_t dtype) {
  return (uint64_t)((rows - 1) * ld + cols) * dtype_size(dtype);
}

// One copy of a tensor, on the device.
typedef struct {
  void *source, *codes, *scales, *words;  // words: flags, and the exponent in two stages
} quantized_t;

static void release_quantized(state_t *state, quantized_t *q) {
  void *const all[] = {q->source, q->codes, q->scales, q->words};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) state->table->release(state->cuda, all[i]);
}

static ufp4_status_t allocate_quantized(state_t *state, const ufp4_matrix_t *in, const ufp4_operand_t *out,
                                        quantized_t *q) {
  static const int32_t words[] = {0, INT32_MAX, 0};
  int64_t scale_bytes;
  (void)ufp4_operand_scale_bytes(out, &scale_bytes);
  ufp4_status_t status = upload(state, in->data, span_bytes(in->rows, in->cols, in->ld, in->dtype), &q->source);
  if (status == UFP4_OK) status = upload(state, words, sizeof words, &q->words);
  if (status == UFP4_OK) {
    status = state->table->allocate(state->cuda, (uint64_t)(out->rows * out->blocks) * 8, &q->codes);
  }
  if (status == UFP4_OK) status = state->table->allocate(state->cuda, (uint64_t)scale_bytes, &q->scales);
  return status;
}

static ufp4_cuda_quantize_t describe_whole(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                           const ufp4_operand_t *out, const quantized_t *q) {
  int32_t *words = q->words;
  ufp4_cuda_quantize_t job = {.source = q->source,
                              .dtype = in->dtype,
                              .rows = in->rows,
                              .cols = in->cols,
                              .ld = in->ld,
                              .elem = how->elem,
                              .scale = how->scale,
                              .layout = how->layout,
                              .rht_mask = how->rht_mask,
                              .round = how->round,
                              .scale_round = how->scale_round,
                              .seed = how->seed,
                              .flags = q->words};
  job.copies[how->axis] = (ufp4_cuda_copy_t){.enabled = 1,
                                             .rht = how->rht,
                                             .tensor_id = how->tensor_id,
                                             .exponent = {words + 2, 0},
                                             .codes = q->codes,
                                             .scales = q->scales,
                                             .place = {16 * out->blocks, 1, out->blocks},
                                             .largest = words + 1};
  if (how->exponent_given) job.copies[how->axis].exponent = (ufp4_cuda_exponent_t){NULL, how->exponent};
  return job;
}

static ufp4_status_t run_whole(state_t *state, const ufp4_cuda_quantize_t *job, const ufp4_quantize_t *how,
                               const quantized_t *q) {
  int32_t *words = q->words;
  ufp4_status_t status = UFP4_OK;
  if (how->scale == UFP4_SCALE_E4M3 && !how->exponent_given) {
    status = state->table->amax(state->cuda, job);
    if (status == UFP4_OK) status = state->table->settle(state->cuda, words + 1, words + 2);
  }
  return status == UFP4_OK ? state->table->quantize(state->cuda, job) : status;
}

static ufp4_status_t download_quantized(state_t *state, const ufp4_quantize_t *how, const quantized_t *q,
                                        ufp4_operand_t *out) {
  int32_t words[3];
  int64_t scale_bytes;
  (void)ufp4_operand_scale_bytes(out, &scale_bytes);
  void *scales = out->scales_f32 != NULL ? (void *)out->scales_f32 : (void *)out->scales;
  ufp4_status_t status = state->table->read(state->cuda, words, q->words, sizeof words);
  if (status == UFP4_OK) {
    status = state->table->read(state->cuda, out->codes, q->codes, (uint64_t)(out->rows * out->blocks) * 8);
  }
  if (status == UFP4_OK) status = state->table->read(state->cuda, scales, q->scales, (uint64_t)scale_bytes);
  if (status != UFP4_OK) return status;
  const uint32_t flags = (uint32_t)words[0];
  out->flags = flags & UFP4_FLAG_NAN;
  if (flags & (UFP4_FLAG_ROW_SATURATED | UFP4_FLAG_COL_SATURATED)) out->flags |= UFP4_FLAG_ROW_SATURATED;
  if (how->scale == UFP4_SCALE_E4M3) out->exponent = how->exponent_given ? how->exponent : words[2];
  return UFP4_OK;
}

static ufp4_status_t cuda_quantize(state_t *state, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                   ufp4_operand_t *out) {
  const int transposed = how->axis == UFP4_AXIS_COL;
  ufp4_operand_t made;
  quantized_t q = {0};
  ufp4_status_t status = ufp4_operand_create_scaled(how->elem, how->scale, transposed ? in->cols : in->rows,
                                                    transposed ? in->rows : in->cols, &made);
  if (status != UFP4_OK) return status;
  status = allocate_quantized(state, in, &made, &q);
  if (status == UFP4_OK) {
    const ufp4_cuda_quantize_t job = describe_whole(in, how, &made, &q);
    status = run_whole(state, &job, how, &q);
  }
  if (status == UFP4_OK) status = download_quantized(state, how, &q, &made);
  release_quantized(state, &q);
  if (status == UFP4_OK) {
    *out = made;
  } else {
    ufp4_operand_free(&made);
  }
  return status;
}

// What a GEMM has on the device.
typedef struct {
  void *codes[2], *scales[2], *c, *accumulate, *d;
} multiplied_t;

static void release_multiplied(state_t *state, multiplied_t *x) {
  void *const all[] = {x->codes[0], x->codes[1], x->scales[0], x->scales[1], x->c, x->accumulate, x->d};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) state->table->release(state->cuda, all[i]);
}

static ufp4_status_t upload_operand(state_t *state, const ufp4_operand_t *in, int side, multiplied_t *x,
                                    ufp4_cuda_operand_t *out) {
  int64_t scale_bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(in, &scale_bytes);
  ufp4_status_t status = upload(state, in->codes, (uint64_t)(in->rows * in->blocks) * 8, &x->codes[side]);
  if (status == UFP4_OK) status = upload(state, scales, (uint64_t)scale_bytes, &x->scales[side]);
  *out = (ufp4_cuda_operand_t){.elem = in->elem,
                               .rows = in->rows,
                               .codes = x->codes[side],
                               .scales = x->scales[side],
                               .place = {16 * in->blocks, 1, in->blocks},
                               .exponent = {NULL, in->exponent}};
  return status;
}

static ufp4_status_t upload_gemm(state_t *state, const ufp4_operand_t *a, const ufp4_operand_t *b,
                                 const ufp4_gemm_t *how, multiplied_t *x, ufp4_cuda_gemm_t *job) {
  const int64_t m = a->rows, n = b->rows;
  ufp4_status_t status = upload_operand(state, a, 0, x, &job->a);
  if (status == UFP4_OK) status = upload_operand(state, b, 1, x, &job->b);
  if (status == UFP4_OK && how->c != NULL) {
    status = upload(state, how->c, span_bytes(m, n, how->c_ld, UFP4_DTYPE_F32), &x->c);
  }
  if (status == UFP4_OK && how->accumulate != NULL) {
    status = upload(state, how->accumulate, span_bytes(m, n, how->accumulate_ld, UFP4_DTYPE_I64), &x->accumulate);
  }
  if (status == UFP4_OK) {
    status = state->table->allocate(state->cuda, (uint64_t)(m * n) * dtype_size(how->d_dtype), &x->d);
  }
  return status;
}

static ufp4_status_t download_d(state_t *state, const ufp4_cuda_gemm_t *job, void *d, int64_t d_ld) {
  const uint64_t size = dtype_size(job->d_dtype), row = (uint64_t)job->d_ld * size;
  ufp4_status_t status = UFP4_OK;
  if (d_ld == job->d_ld) return state->table->read(state->cuda, d, job->d, row * (uint64_t)job->a.rows);
  for (int64_t i = 0; i < job->a.rows && status == UFP4_OK; i++) {
    status = state->table->read(state->cuda, (uint8_t *)d + (uint64_t)(i * d_ld) * size,
                                (const uint8_t *)job->d + (uint64_t)i * row, row);
  }
  return status;
}

ufp4_status_t ufp4_cuda_gemm_with(state_t *state, const ufp4_cuda_choice_t *choice, const ufp4_operand_t *a,
                                  const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  multiplied_t x = {0};
  ufp4_cuda_gemm_t job = {.contract = how->contract,
                          .scale = a->scale,
                          .k = a->cols,
                          .alpha = how->alpha,
                          .tile = choice->tile,
                          .product = choice->product};
  ufp4_status_t status = upload_gemm(state, a, b, how, &x, &job);
  job.scale_product = a->scale == UFP4_SCALE_NVFP4 ? a->tensor_scale * b->tensor_scale : 1.0f;
  job.c = x.c;
  job.c_ld = how->c_ld;
  job.accumulate = x.accumulate;
  job.accumulate_ld = how->accumulate_ld;
  job.d = x.d;
  job.d_dtype = how->d_dtype;
  job.d_ld = b->rows;
  if (status == UFP4_OK) status = state->table->gemm(state->cuda, &job);
  if (status == UFP4_OK) status = download_d(state, &job, d, d_ld);
  release_multiplied(state, &x);
  return status;
}

static ufp4_status_t cuda_gemm(state_t *state, const ufp4_operand_t *a, const ufp4_operand_t *b,
                               const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  const ufp4_cuda_choice_t any = {0, UFP4_CUDA_PRODUCT_AUTO};
  return ufp4_cuda_gemm_with(state, &any, a, b, how, d, d_ld);
}

const ufp4_backend_t ufp4_backend_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .info = cuda_info,
    .memory_write = cuda_memory_write,
    .memory_read = cuda_memory_read,
    .submit = cuda_submit,
    .take = cuda_take,
    .slot_read = cuda_slot_read,
    .counters = cuda_counters,
    .reset = cuda_reset,
    .quantize = cuda_quantize,
    .gemm = cuda_gemm,
};
