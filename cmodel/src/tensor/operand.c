// SPDX-License-Identifier: Apache-2.0
#include "tensor/operand.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer.h"
#include "number/lanes.h"
#include "ufp4/format.h"
#include "ufp4/quantize.h"

static int block_is_bad(ufp4_scale_t scale, int block) {
  const int wide = block == 32 || block == 64 || block == 128;
  return block != ufp4_scale_block(scale) && !(scale == UFP4_SCALE_E4M3 && wide);
}

static int create_ok(ufp4_elem_t elem, ufp4_scale_t scale, int64_t rows, int64_t cols) {
  return (unsigned)elem < UFP4_ELEM_KINDS && (unsigned)scale < UFP4_SCALE_COUNT && rows >= 1 &&
         rows <= UFP4_MAX_DIM && cols >= 1 && cols <= UFP4_MAX_DIM;
}

// Elements mixed require scales with E4M3 bytes (E4M3 or NVFP4), which hold the grid, and blocks of
// 16.
static int mixed_is_bad(ufp4_elem_t elem, ufp4_scale_t scale, int block) {
  return elem == UFP4_ELEM_MIXED &&
         ((scale != UFP4_SCALE_E4M3 && scale != UFP4_SCALE_NVFP4) || block != BLOCK);
}

// Creates an operand without codes.
static ufp4_status_t create(ufp4_elem_t elem, ufp4_scale_t scale, int block, int64_t rows,
                            int64_t cols, ufp4_operand_t *out) {
  *out = (ufp4_operand_t){
      .elem = elem, .scale = scale, .rows = rows, .cols = cols, .tensor_scale = 1.0f};
  out->block = block;
  out->blocks = (cols - 1) / BLOCK + 1;
  out->scale_blocks = (cols - 1) / out->block + 1;
  size_t scales = ufp4_matrix_bytes(rows, out->scale_blocks, 1);
  if (scale == UFP4_SCALE_FP32) {
    out->scales_f32 = calloc(scales, sizeof *out->scales_f32);
  } else {
    out->scales = calloc(scales, 1);
  }
  return out->scales == NULL && out->scales_f32 == NULL ? UFP4_ERROR_MEMORY : UFP4_OK;
}

// Moves @p made to @p out, or frees it if it has no codes.
static ufp4_status_t give(ufp4_operand_t *made, ufp4_operand_t *out) {
  if (made->codes == NULL) {
    ufp4_operand_free(made);
    return UFP4_ERROR_MEMORY;
  }
  *out = *made;
  return UFP4_OK;
}

ufp4_status_t ufp4_operand_create_blocks(ufp4_elem_t elem, ufp4_scale_t scale, int block,
                                         int64_t rows, int64_t cols, ufp4_operand_t *out) {
  ufp4_operand_t made;
  if (out == NULL || !create_ok(elem, scale, rows, cols) || block_is_bad(scale, block) ||
      mixed_is_bad(elem, scale, block))
    return UFP4_ERROR_ARGUMENT;
  if (create(elem, scale, block, rows, cols, &made) != UFP4_OK) return UFP4_ERROR_MEMORY;
  made.codes = calloc(ufp4_matrix_bytes(rows, made.blocks, CODE_BYTES), 1);
  return give(&made, out);
}

ufp4_status_t ufp4_operand_create_scaled(ufp4_elem_t elem, ufp4_scale_t scale, int64_t rows,
                                         int64_t cols, ufp4_operand_t *out) {
  if ((unsigned)scale >= UFP4_SCALE_COUNT) return UFP4_ERROR_ARGUMENT;
  return ufp4_operand_create_blocks(elem, scale, ufp4_scale_block(scale), rows, cols, out);
}

ufp4_status_t ufp4_operand_allocate(ufp4_elem_t elem, ufp4_scale_t scale, int block, int64_t rows,
                                    int64_t cols, ufp4_operand_t *out) {
  ufp4_operand_t made;
  if (create(elem, scale, block, rows, cols, &made) != UFP4_OK) return UFP4_ERROR_MEMORY;
  made.codes = malloc(ufp4_matrix_bytes(rows, made.blocks, CODE_BYTES));
  return give(&made, out);
}

ufp4_status_t ufp4_operand_create(ufp4_elem_t elem, int64_t rows, int64_t cols,
                                  ufp4_operand_t *out) {
  return ufp4_operand_create_scaled(elem, UFP4_SCALE_E4M3, rows, cols, out);
}

void ufp4_operand_free(ufp4_operand_t *operand) {
  if (operand == NULL) return;
  free(operand->codes);
  free(operand->scales);
  free(operand->scales_f32);
  *operand = (ufp4_operand_t){0};
}

int ufp4_operand_is_wide(const ufp4_operand_t *operand) {
  return operand->block > ufp4_scale_block(operand->scale) || operand->half != 0;
}

const uint8_t *ufp4_operand_scale_bytes(const ufp4_operand_t *operand, int64_t *bytes) {
  int f32 = operand->scales_f32 != NULL;
  *bytes = operand->rows * operand->scale_blocks * (f32 ? (int64_t)sizeof *operand->scales_f32 : 1);
  return f32 ? (const uint8_t *)operand->scales_f32 : operand->scales;
}

// A scale, including 2^-t and Sd: significand * 2^exponent.
typedef struct {
  int64_t significand;
  int exponent;
  int clean;  // 0: NaN
} factor_t;

static int f32_unpack(float value, int64_t *significand, int *exponent) {
  uint32_t bits = ufp4_f32_bits(value);
  int field = bits >> 23 & 0xFF;
  *significand = (bits & 0x7FFFFF) | (field != 0 ? 0x800000 : 0);
  *exponent = (field != 0 ? field : 1) - 150;
  return value == value;
}

static factor_t factor_of(const ufp4_operand_t *in, int64_t index) {
  factor_t out = {0, 0, 1};
  if (in->scale == UFP4_SCALE_FP32) {
    out.clean = f32_unpack(in->scales_f32[index], &out.significand, &out.exponent);
  } else if (in->scale == UFP4_SCALE_E8M0) {
    out = (factor_t){1, in->scales[index] - 127, in->scales[index] != 0xFF};
  } else {
    int sig, exp, tensor_exponent = 0;
    int64_t tensor = 1;
    out.clean = ufp4_e4m3_decode(in->scales[index], &sig, &exp);
    if (in->scale == UFP4_SCALE_NVFP4) f32_unpack(in->tensor_scale, &tensor, &tensor_exponent);
    out.significand = sig * tensor;
    out.exponent = exp - 9 + tensor_exponent;
  }
  out.exponent -= in->exponent;
  return out;
}

// Returns 2^exponent; beyond these limits every product overflows, or vanishes, in the same way.
static double power(int exponent) {
  const int bounded = exponent > 900 ? 900 : exponent < -900 ? -900 : exponent;
  const uint64_t bits = (uint64_t)(bounded + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The values of the 16 codes, by bit 7 of the block's scale byte. A zero keeps the sign
// of its code.
typedef struct {
  double of_grid[2][16];
} values_t;

static void code_values(ufp4_elem_t elem, values_t *values) {
  for (unsigned i = 0; i < 32; i++) {
    values->of_grid[i / 16][i % 16] =
        (double)ufp4_elem_block_value(elem, (uint8_t)(i / 16 << 7), i % 16);
  }
}

// The product has at most 4 + 4 + 24 significant bits, exact as a double, and is rounded once, to
// FP32.
static void dequantize_block(const uint8_t *codes, int64_t first, int64_t count, double factor,
                             const double values[16], float *out) {
  for (int64_t c = first; c < first + count; c++)
    out[c] = (float)(values[codes[c / 2] >> 4 * (c % 2) & 15] * factor);
}

static void dequantize_row(const ufp4_operand_t *in, int64_t row, int64_t cols,
                           const values_t *values, float *out) {
  const uint8_t *codes = in->codes + row * in->blocks * CODE_BYTES;
  for (int64_t c = 0; c < cols; c += in->block) {
    const int64_t count = min_i64(in->block, cols - c);
    const int64_t at = row * in->scale_blocks + c / in->block;
    const factor_t factor = factor_of(in, at);
    const double *own = values->of_grid[in->elem == UFP4_ELEM_MIXED ? in->scales[at] >> 7 : 0];
    if (factor.clean) {
      const double value = (double)factor.significand * power(factor.exponent);
      dequantize_block(codes, c, count, value, own, out);
    } else {
      for (int64_t i = c; i < c + count; i++) out[i] = ufp4_f32_value(UFP4_F32_NAN);
    }
  }
}

// --- What an operand must be --------------------------------------------------------------------

static int size_is_bad(int64_t size) {
  return size < 1 || size > UFP4_MAX_DIM;
}

static int counts_are_bad(const ufp4_operand_t *x) {
  return x->blocks != (x->cols - 1) / BLOCK + 1 || block_is_bad(x->scale, x->block) ||
         x->scale_blocks != (x->cols - 1) / x->block + 1;
}

static int tensor_scale_is_bad(const ufp4_operand_t *x) {
  return x->scale == UFP4_SCALE_NVFP4 && !(x->tensor_scale > 0.0f && x->tensor_scale <= FLT_MAX);
}

static int scales_are_bad(const ufp4_operand_t *x) {
  int bad = 0;
  if (x->scale != UFP4_SCALE_FP32) return 0;
  for (int64_t i = 0; i < x->rows * x->scale_blocks; i++)
    bad |= x->scales_f32[i] < 0.0f || x->scales_f32[i] > FLT_MAX;
  return bad;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static const char *fault_of(const ufp4_operand_t *x) {
  if (x == NULL) return "it is NULL";
  if ((unsigned)x->elem >= UFP4_ELEM_KINDS || (unsigned)x->scale >= UFP4_SCALE_COUNT)
    return "its element or scale format is unknown";
  if (mixed_is_bad(x->elem, x->scale, x->block))
    return "mixed elements need blocks of 16 and scale e4m3 or nvfp4";
  if (x->codes == NULL) return "codes is NULL";
  if ((x->scale == UFP4_SCALE_FP32 ? (const void *)x->scales_f32 : x->scales) == NULL)
    return "its scales are NULL";
  if (size_is_bad(x->rows) || size_is_bad(x->cols))
    return "rows and columns must be from 1 to " TEXT(UFP4_MAX_DIM);
  if (counts_are_bad(x))
    return "its numbers of blocks do not match its columns, block size and scale format";
  if (tensor_scale_is_bad(x)) return "its tensor scale must be finite and above 0";
  if (x->exponent < INT16_MIN || x->exponent > INT16_MAX)
    return "its tensor exponent must fit 16 bits";
  if (x->half != 0 && (x->half != 1 || x->scale != UFP4_SCALE_E4M3 || x->cols % 32 != 0))
    return "half must be 0 or 1, and 1 needs scale e4m3 and a multiple of 32 columns";
  return scales_are_bad(x) ? "a scale is negative or infinite" : NULL;
}

ufp4_status_t ufp4_operand_check(const ufp4_operand_t *x, const char *name,
                                 ufp4_message_t *message) {
  const char *fault = fault_of(x);
  if (fault == NULL) return UFP4_OK;
  ufp4_message_set(message, "operand %s: %s", name, fault);
  return UFP4_ERROR_ARGUMENT;
}

ufp4_status_t ufp4_dequantize(const ufp4_operand_t *in, int64_t cols_out, float *out, int64_t ld) {
  if (ufp4_operand_check(in, "", NULL) != UFP4_OK || out == NULL || ld < cols_out)
    return UFP4_ERROR_ARGUMENT;
  if (cols_out != in->cols && cols_out != in->blocks * BLOCK) return UFP4_ERROR_ARGUMENT;
  values_t values;
  code_values(in->elem, &values);
  for (int64_t row = 0; row < in->rows; row++)
    dequantize_row(in, row, cols_out, &values, out + row * ld);
  return UFP4_OK;
}
