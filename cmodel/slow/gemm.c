// SPDX-License-Identifier: Apache-2.0
// The exact contract (numerics.md 5), one output at a time, and the panel layout (docs/architecture.md).
#include "slow.h"

int64_t slow_gemm_sum(const slow_operand_t *a, int64_t i, const slow_operand_t *b, int64_t j, int64_t start) {
  if (start == SLOW_I64_NAN) return SLOW_I64_NAN;
  slow_i128_t sum = start;
  for (int64_t k = 0; k < 16 * a->blocks; k++) {
    const int scale_a = slow_e4m3_units(a->scales[i * a->blocks + k / 16]);
    const int scale_b = slow_e4m3_units(b->scales[j * b->blocks + k / 16]);
    if (scale_a < 0 || scale_b < 0) return SLOW_I64_NAN;
    const slow_i128_t product = (slow_i128_t)slow_elem_quanta(a->elem, a->codes[i * a->blocks * 16 + k]) *
                                slow_elem_quanta(b->elem, b->codes[j * b->blocks * 16 + k]);
    sum += product * scale_a * scale_b;
  }
  return (int64_t)sum;
}

uint32_t slow_gemm_round(const slow_operand_t *a, const slow_operand_t *b, int64_t sum, const uint32_t *alpha,
                         const uint32_t *c) {
  const int unit = 18 + slow_elem_frac(a->elem) + slow_elem_frac(b->elem) + a->t + b->t;
  uint32_t d = 0x7FC00000u;
  if (sum != SLOW_I64_NAN) d = slow_f32_round(sum < 0, (slow_u128_t)(sum < 0 ? -(slow_i128_t)sum : sum), -unit);
  if (alpha) d = slow_f32_multiply(d, *alpha);
  if (c) d = slow_f32_add(d, *c);
  return d;
}

void slow_panel_pack(const slow_operand_t *in, int64_t stride_blocks, uint8_t *codes, uint8_t *scales) {
  for (int64_t row = 0; row < (in->rows + 15) / 16 * 16; row++) {
    for (int64_t k = 0; k < 16 * in->blocks; k++) {
      const int64_t unit = row / 16 * stride_blocks + k / 16;
      uint8_t *byte = &codes[128 * unit + 8 * (row % 16) + k % 16 / 2];
      const int code = row < in->rows ? in->codes[row * in->blocks * 16 + k] : 0;
      *byte = (uint8_t)(k % 2 == 0 ? code : *byte + 16 * code);
      scales[16 * unit + row % 16] = row < in->rows ? in->scales[row * in->blocks + k / 16] : 0;
    }
  }
}
