// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "internal.h"
#include "ufp4/format.h"
#include "ufp4/quantize.h"

static int create_ok(ufp4_elem_t elem, ufp4_scale_t scale, int64_t rows, int64_t cols) {
  return (unsigned)elem < UFP4_ELEM_COUNT && (unsigned)scale < UFP4_SCALE_COUNT && rows >= 1 && rows <= UFP4_MAX_DIM &&
         cols >= 1 && cols <= UFP4_MAX_DIM;
}

ufp4_status_t ufp4_operand_create_scaled(ufp4_elem_t elem, ufp4_scale_t scale, int64_t rows, int64_t cols,
                                         ufp4_operand_t *out) {
  if (out == NULL || !create_ok(elem, scale, rows, cols)) return UFP4_ERROR_ARGUMENT;
  ufp4_operand_t made = {.elem = elem, .scale = scale, .rows = rows, .cols = cols, .tensor_scale = 1.0f};
  made.block = ufp4_scale_block(scale);
  made.blocks = (cols - 1) / BLOCK + 1;
  made.scale_blocks = (cols - 1) / made.block + 1;
  size_t scales = (size_t)(rows * made.scale_blocks);
  made.codes = calloc((size_t)(rows * made.blocks), CODE_BYTES);
  if (scale == UFP4_SCALE_FP32) {
    made.scales_f32 = calloc(scales, sizeof *made.scales_f32);
  } else {
    made.scales = calloc(scales, 1);
  }
  if (made.codes == NULL || (made.scales == NULL && made.scales_f32 == NULL)) {
    ufp4_operand_free(&made);
    return UFP4_ERROR_MEMORY;
  }
  *out = made;
  return UFP4_OK;
}

ufp4_status_t ufp4_operand_create(ufp4_elem_t elem, int64_t rows, int64_t cols, ufp4_operand_t *out) {
  return ufp4_operand_create_scaled(elem, UFP4_SCALE_E4M3, rows, cols, out);
}

void ufp4_operand_free(ufp4_operand_t *operand) {
  if (operand == NULL) return;
  free(operand->codes);
  free(operand->scales);
  free(operand->scales_f32);
  *operand = (ufp4_operand_t){0};
}

// A zero keeps the sign of its code, as a product of floats would.
static float decoded(const ufp4_operand_t *in, unsigned code, int sig, int exp) {
  int quanta = ufp4_elem_quanta(in->elem, code);
  int64_t magnitude = (int64_t)sig * (quanta < 0 ? -quanta : quanta);
  uint32_t bits = ufp4_f32_from_scaled(magnitude, exp - 9 - ufp4_elem_frac(in->elem) - in->exponent);
  return ufp4_f32_value((code & 8) << 28 | bits);
}

static void dequantize_block(const ufp4_operand_t *in, int64_t g, int64_t count, float *out) {
  int sig, exp;
  int clean = ufp4_e4m3_decode(in->scales[g], &sig, &exp);
  for (int64_t i = 0; i < count; i++) {
    unsigned code = in->codes[g * CODE_BYTES + i / 2] >> 4 * (i % 2) & 15;
    out[i] = clean ? decoded(in, code, sig, exp) : ufp4_f32_value(UFP4_F32_NAN);
  }
}

ufp4_status_t ufp4_dequantize(const ufp4_operand_t *in, int64_t cols_out, float *out, int64_t ld) {
  if (in == NULL || in->codes == NULL || in->scales == NULL || out == NULL) return UFP4_ERROR_ARGUMENT;
  if ((unsigned)in->elem >= UFP4_ELEM_COUNT || ld < cols_out) return UFP4_ERROR_ARGUMENT;
  if (cols_out != in->cols && cols_out != in->blocks * BLOCK) return UFP4_ERROR_ARGUMENT;
  for (int64_t row = 0; row < in->rows; row++) {
    for (int64_t b = 0; b < in->blocks; b++) {
      int64_t left = cols_out - b * BLOCK;
      dequantize_block(in, row * in->blocks + b, left < BLOCK ? left : BLOCK, out + row * ld + b * BLOCK);
    }
  }
  return UFP4_OK;
}
