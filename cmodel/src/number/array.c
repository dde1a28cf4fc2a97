// SPDX-License-Identifier: Apache-2.0
#include "ufp4/array.h"

#include <math.h>

#include "number/lanes.h"
#include "ufp4/format.h"
#include "ufp4/rht.h"

static int is_bad(const ufp4_matrix_t *in, const void *out) {
  return in == NULL || in->data == NULL || out == NULL || in->rows < 1 || in->cols < 1 ||
         in->ld < in->cols || (in->dtype != UFP4_DTYPE_F32 && in->dtype != UFP4_DTYPE_BF16);
}

static float element(const ufp4_matrix_t *in, int64_t index) {
  return in->dtype == UFP4_DTYPE_F32 ? ((const float *)in->data)[index]
                                     : ufp4_bf16_value(((const uint16_t *)in->data)[index]);
}

static uint8_t cast(ufp4_cast_t format, float value) {
  if (format < UFP4_CAST_E4M3) return ufp4_elem_cast((ufp4_elem_t)format, value);
  if (format == UFP4_CAST_E4M3) return ufp4_e4m3_cast(value);
  return ufp4_e8m0_cast(value, format == UFP4_CAST_E8M0_UP);
}

ufp4_status_t ufp4_cast(const ufp4_matrix_t *in, ufp4_cast_t format, uint8_t *codes) {
  if (is_bad(in, codes) || (unsigned)format >= UFP4_CAST_COUNT) return UFP4_ERROR_ARGUMENT;
  for (int64_t r = 0; r < in->rows; r++) {
    for (int64_t c = 0; c < in->cols; c++)
      codes[r * in->cols + c] = cast(format, element(in, r * in->ld + c));
  }
  return UFP4_OK;
}

static void integer_block(const uint32_t bits[BLOCK], uint16_t mask, double out[BLOCK]) {
  int32_t sums[BLOCK];
  const int exponent = ufp4_rht_block(bits, mask, sums);
  for (int i = 0; i < BLOCK; i++)
    out[i] = exponent == 0 ? NAN : ldexp((double)sums[i], exponent - 152);
}

static void bf16_block(const uint32_t bits[BLOCK], uint16_t mask, double out[BLOCK]) {
  uint32_t values[BLOCK];
  const int clean = ufp4_rht_block_bf16(bits, mask, values);
  for (int i = 0; i < BLOCK; i++) out[i] = clean ? (double)ufp4_f32_value(values[i]) : NAN;
}

ufp4_status_t ufp4_rht(const ufp4_matrix_t *in, ufp4_rht_t rht, uint16_t mask, double *out) {
  if (is_bad(in, out) || (rht != UFP4_RHT_INTEGER && rht != UFP4_RHT_BF16))
    return UFP4_ERROR_ARGUMENT;
  const int64_t blocks = (in->cols - 1) / BLOCK + 1;
  for (int64_t at = 0; at < in->rows * blocks; at++) {
    const int64_t row = at / blocks, first = at % blocks * BLOCK;
    uint32_t bits[BLOCK] = {0};
    for (int64_t i = 0; i < BLOCK && first + i < in->cols; i++)
      bits[i] = ufp4_f32_bits(element(in, row * in->ld + first + i));
    (rht == UFP4_RHT_INTEGER ? integer_block : bf16_block)(bits, mask, out + at * BLOCK);
  }
  return UFP4_OK;
}

void ufp4_rht_undo_all(float *blocks, int64_t count, int points, uint64_t mask) {
  for (int64_t i = 0; i < count; i++) ufp4_rht_undo_points(blocks + i * points, points, mask);
}
