// SPDX-License-Identifier: Apache-2.0
#include "execute.h"

#include <stdlib.h>

#include "base/hot.h"

// --- Memory -------------------------------------------------------------------------------------

ufp4_status_t executor_open(executor_t *executor) {
  executor->memory = calloc(ufp4_matrix_bytes((int64_t)executor->memory_bytes, 1, 1), 1);
  return executor->memory != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
}

void executor_close(executor_t *executor) {
  free(executor->memory);
}

static uint8_t *memory_at(const executor_t *executor, uint64_t address) {
  return executor->memory + (address - executor->memory_base);
}

static region_t region_of(const executor_t *executor) {
  return (region_t){executor->memory_base, executor->memory_bytes};
}

static int exponent_of(const executor_t *executor, const panel_t *panel) {
  return panel->mode & UFP4_MODE_SLOT ? executor->slots.exponent[panel->exponent]
                                      : (int16_t)panel->exponent;
}

// --- QUANT and AMAX -----------------------------------------------------------------------------

static ufp4_matrix_t quant_source(const executor_t *executor,
                                  const ufp4_quant_descriptor_t *quant) {
  ufp4_matrix_t source = {
      .dtype = (ufp4_dtype_t)quant->src_dtype, .rows = quant->rows, .cols = quant->cols};
  source.ld = quant->src_stride_bytes / dtype_bytes(quant->src_dtype);
  source.data = memory_at(executor, quant->src_addr);
  return source;
}

static ufp4_quantize_t quant_how(const executor_t *executor, const ufp4_quant_descriptor_t *quant,
                                 ufp4_axis_t axis) {
  ufp4_quantize_t how = {
      .elem = (ufp4_elem_t)quant->elem, .axis = axis, .kernel = executor->kernel};
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

// The loop has no early exit, so that it is vectorized.
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

static ufp4_status_t run_amax(executor_t *executor, const ufp4_quant_descriptor_t *quant,
                              ufp4_completion_t *done) {
  ufp4_matrix_t source = quant_source(executor, quant);
  panel_t panels[2] = {quant_row_panel(quant), quant_col_panel(quant)};
  int exponents[2] = {0, 0};
  for (int axis = 0; axis < 2; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE)) continue;
    ufp4_quantize_t how = quant_how(executor, quant, (ufp4_axis_t)axis);
    ufp4_status_t status = ufp4_tensor_exponent(&source, &how, &exponents[axis]);
    if (status != UFP4_OK) return status;
  }
  for (int axis = 0; axis < 2; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE)) continue;
    executor->slots.exponent[panels[axis].exponent] = (int16_t)exponents[axis];
    executor->slots.written[panels[axis].exponent] = 1;
  }
  done->flags = (uint16_t)source_flags(&source);
  return UFP4_OK;
}

static ufp4_status_t run_quant_copy(executor_t *executor, const ufp4_quant_descriptor_t *quant,
                                    const panel_t *panel, ufp4_axis_t axis,
                                    ufp4_completion_t *done) {
  ufp4_matrix_t source = quant_source(executor, quant);
  ufp4_quantize_t how = quant_how(executor, quant, axis);
  how.exponent = exponent_of(executor, panel);
  ufp4_operand_t copy;
  ufp4_status_t status = ufp4_quantize(&source, &how, &copy);
  if (status != UFP4_OK) return status;
  ufp4_panel_pack(&copy, panel->stride_blocks, memory_at(executor, panel->codes),
                  memory_at(executor, panel->scales));
  unsigned flags = copy.flags & UFP4_FLAG_NAN;
  unsigned saturated = axis == UFP4_AXIS_ROW ? UFP4_FLAG_ROW_SATURATED : UFP4_FLAG_COL_SATURATED;
  if (copy.flags & UFP4_FLAG_ROW_SATURATED) flags |= saturated;
  done->flags = (uint16_t)(done->flags | flags);
  ufp4_operand_free(&copy);
  return UFP4_OK;
}

static ufp4_status_t run_quant(executor_t *executor, const ufp4_quant_descriptor_t *quant,
                               ufp4_completion_t *done) {
  panel_t panels[2] = {quant_row_panel(quant), quant_col_panel(quant)};
  done->status = (uint16_t)check_quant_bus(quant, region_of(executor));
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  if (quant->opcode == UFP4_OPCODE_AMAX) return run_amax(executor, quant, done);
  for (int axis = 0; axis < 2; axis++) {
    if (!(panels[axis].mode & UFP4_MODE_ENABLE)) continue;
    ufp4_status_t status = run_quant_copy(executor, quant, &panels[axis], (ufp4_axis_t)axis, done);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

// --- GEMM ---------------------------------------------------------------------------------------

// Finds tensor scales of both operands whose rounded product is that of the descriptor, which may
// be 0 or infinite.
static float tensor_scale(uint32_t product, int is_a) {
  if (product == 0) return 0x1p-149f;
  if (product == 0x7F800000u) return 0x1p127f;
  return is_a ? ufp4_f32_value(product) : 1.0f;
}

static ufp4_status_t load_operand(const executor_t *executor, const ufp4_gemm_descriptor_t *gemm,
                                  const panel_t *panel, int is_a, ufp4_operand_t *out) {
  const ufp4_elem_t elem = (ufp4_elem_t)(is_a ? gemm->a_elem : gemm->b_elem);
  ufp4_status_t status =
      ufp4_operand_create_scaled(elem, (ufp4_scale_t)gemm->scale, panel->rows, gemm->k, out);
  if (status != UFP4_OK) return status;
  ufp4_panel_unpack(memory_at(executor, panel->codes), memory_at(executor, panel->scales),
                    panel->stride_blocks, out);
  out->exponent = exponent_of(executor, panel);
  if (gemm->scale == UFP4_SCALE_NVFP4) out->tensor_scale = tensor_scale(gemm->tensor_scale, is_a);
  return UFP4_OK;
}

static ufp4_status_t run_gemm_operands(executor_t *executor, const ufp4_gemm_descriptor_t *gemm,
                                       const ufp4_operand_t *a, const ufp4_operand_t *b) {
  ufp4_gemm_t how = {.contract = (ufp4_contract_t)gemm->contract,
                     .d_dtype = (ufp4_dtype_t)gemm->d_dtype,
                     .alpha = 1.0f,
                     .threads = executor->threads,
                     .kernel = executor->kernel};
  if (gemm->d_mode & UFP4_D_MODE_ALPHA) how.alpha = ufp4_f32_value(gemm->alpha);
  if (gemm->d_mode & UFP4_D_MODE_C) {
    how.c = (const float *)memory_at(executor, gemm->c_addr);
    how.c_ld = gemm->c_stride_bytes / sizeof(float);
  }
  if (gemm->d_mode & UFP4_D_MODE_SUMS) {
    how.accumulate = (const int64_t *)memory_at(executor, gemm->sums_addr);
    how.accumulate_ld = gemm->sums_stride_bytes / sizeof(int64_t);
  }
  return ufp4_gemm(a, b, &how, memory_at(executor, gemm->d_addr),
                   gemm->d_stride_bytes / dtype_bytes(gemm->d_dtype));
}

static ufp4_status_t run_gemm(executor_t *executor, const ufp4_gemm_descriptor_t *gemm,
                              ufp4_completion_t *done) {
  panel_t panel_a = gemm_a_panel(gemm), panel_b = gemm_b_panel(gemm);
  done->status = (uint16_t)check_gemm_bus(gemm, region_of(executor));
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  ufp4_operand_t a = {0}, b = {0};
  ufp4_status_t status = load_operand(executor, gemm, &panel_a, 1, &a);
  if (status == UFP4_OK) status = load_operand(executor, gemm, &panel_b, 0, &b);
  if (status == UFP4_OK) status = run_gemm_operands(executor, gemm, &a, &b);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  return status;
}

// --- Any job ------------------------------------------------------------------------------------

ufp4_status_t executor_run(executor_t *executor, const ufp4_descriptor_t *descriptor,
                           ufp4_completion_t *done) {
  done->status = (uint16_t)check_descriptor(descriptor, &executor->configuration, &executor->slots);
  if (done->status != UFP4_CORE_STATUS_OK) return UFP4_OK;
  switch (descriptor->header.opcode) {
    case UFP4_OPCODE_GEMM:
      return run_gemm(executor, &descriptor->gemm, done);
    case UFP4_OPCODE_FENCE:
      return UFP4_OK;
    default:
      return run_quant(executor, &descriptor->quant, done);
  }
}
