// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "internal.h"
#include "ufp4/format.h"
#include "ufp4/quantize.h"

ufp4_status_t ufp4_operand_create(ufp4_elem_t elem, int64_t rows, int64_t cols, ufp4_operand_t *out) {
  if (out == NULL || (unsigned)elem >= UFP4_ELEM_COUNT) return UFP4_ERROR_ARGUMENT;
  if (rows < 1 || rows > UFP4_MAX_DIM || cols < 1 || cols > UFP4_MAX_DIM) return UFP4_ERROR_ARGUMENT;
  int64_t blocks = (cols - 1) / BLOCK + 1;
  if (blocks > INT64_MAX / CODE_BYTES / rows) return UFP4_ERROR_MEMORY;
  uint8_t *codes = calloc((size_t)(rows * blocks), CODE_BYTES);
  uint8_t *scales = calloc((size_t)(rows * blocks), 1);
  if (codes == NULL || scales == NULL) {
    free(codes);
    free(scales);
    return UFP4_ERROR_MEMORY;
  }
  *out = (ufp4_operand_t){.elem = elem,
                          .scale = UFP4_SCALE_E4M3,
                          .rows = rows,
                          .cols = cols,
                          .blocks = blocks,
                          .codes = codes,
                          .scales = scales};
  return UFP4_OK;
}

void ufp4_operand_free(ufp4_operand_t *operand) {
  if (operand == NULL) return;
  free(operand->codes);
  free(operand->scales);
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
