// SPDX-License-Identifier: Apache-2.0
// The three contracts (numerics.md 5), one output at a time, and the panel layout
// (docs/ip/architecture.md).
#include "reference.h"

#define F32_NAN 0x7FC00000u
#define F32_INF 0x7F800000u
#define F32_SIGN 0x80000000u

/** Returns the pattern of the scale of a group. */
static uint32_t scale_at(const reference_operand_t *operand, int64_t row, int64_t group) {
  return operand->scales[row * operand->scale_blocks + 16 * group / operand->block];
}

/** Returns the quanta at position k of a row. */
static int quanta_at(const reference_operand_t *x, int64_t row, int64_t k) {
  const reference_elem_t grid = reference_elem_grid(x->elem, scale_at(x, row, k / 16));
  return reference_elem_quanta(grid, x->codes[row * x->groups * 16 + k]);
}

/** The dot product of groups [first, last) in quanta. */
static int dot(const reference_operand_t *a, int64_t i, const reference_operand_t *b, int64_t j,
               int64_t first, int64_t last) {
  int sum = 0;
  for (int64_t k = 16 * first; k < 16 * last && k < 16 * a->groups; k++)
    sum += quanta_at(a, i, k) * quanta_at(b, j, k);
  return sum;
}

/** dot * scale * scale, exactly. */
static reference_real_t block_value(const reference_operand_t *a, const reference_operand_t *b,
                                    int quanta, reference_real_t scale_a,
                                    reference_real_t scale_b) {
  const uint64_t magnitude =
      (uint64_t)(quanta < 0 ? -quanta : quanta) * scale_a.magnitude * scale_b.magnitude;
  const int exponent = scale_a.exponent + scale_b.exponent - reference_elem_frac(a->elem) -
                       reference_elem_frac(b->elem);
  return (reference_real_t){quanta < 0, magnitude, exponent};
}

// --- exact --------------------------------------------------------------------------------------

int64_t reference_gemm_sum(const reference_operand_t *a, int64_t i, const reference_operand_t *b,
                           int64_t j, int64_t start) {
  if (start == REFERENCE_I64_NAN) return REFERENCE_I64_NAN;
  uint64_t sum = (uint64_t)start;  // with a start, partial sums are added modulo 2^64
  for (int64_t g = 0; g < a->groups; g++) {
    const int scale_a = reference_e4m3_units((uint8_t)scale_at(a, i, g));
    const int scale_b = reference_e4m3_units((uint8_t)scale_at(b, j, g));
    if (scale_a < 0 || scale_b < 0) return REFERENCE_I64_NAN;
    sum += (uint64_t)((int64_t)dot(a, i, b, j, g, g + 1) * scale_a * scale_b);
  }
  return (int64_t)sum;
}

// --- fp32 ---------------------------------------------------------------------------------------

/** Returns acc = RNE32(acc + block), where a block with FP32 scales is RN(RN(sA * sB) * dot). */
static uint32_t fp32_step(const reference_operand_t *a, const reference_operand_t *b, uint32_t acc,
                          int quanta, uint32_t bits_a, uint32_t bits_b) {
  reference_real_t scale_a, scale_b;
  if (!reference_scale_real(a->scale, bits_a, &scale_a) ||
      !reference_scale_real(b->scale, bits_b, &scale_b))
    return F32_NAN;
  if (a->scale != REFERENCE_SCALE_FP32)
    return reference_f32_add_real(acc, block_value(a, b, quanta, scale_a, scale_b));
  const uint32_t value =
      reference_f32_round(quanta < 0, (uint64_t)(quanta < 0 ? -quanta : quanta),
                          -reference_elem_frac(a->elem) - reference_elem_frac(b->elem));
  return reference_f32_add(acc,
                           reference_f32_multiply(reference_f32_multiply(bits_a, bits_b), value));
}

uint32_t reference_gemm_fp32(const reference_operand_t *a, int64_t i, const reference_operand_t *b,
                             int64_t j) {
  const int wide = a->block / 16;
  uint32_t acc = 0;
  for (int64_t g = 0; g < a->groups; g += wide) {
    acc = fp32_step(a, b, acc, dot(a, i, b, j, g, g + wide), scale_at(a, i, g), scale_at(b, j, g));
  }
  return acc == F32_SIGN ? 0 : acc;
}

// --- nv -----------------------------------------------------------------------------------------

#define NV_GROUPS 4
#define NV_FRACTION 35
#define NV_ZERO (-126)

/** Returns the exponent of a scale that the alignment uses. */
static int nv_scale_exponent(reference_scale_t scale, uint32_t bits) {
  const int byte = (int)(bits & 0x7F);
  if (scale == REFERENCE_SCALE_E8M0) return (int)bits - 127;
  if (byte == 0) return NV_ZERO;
  return byte < 8 ? -6 : byte / 8 - 7;
}

static int nv_accumulator_exponent(uint32_t bits) {
  const int field = (int)(bits >> 23 & 255);
  return field == 0 ? -126 : field - 127;
}

/** Returns |x| in units of 2^unit, truncated, with its sign. The result is under 2^47, because a
 * group is under 2^12 times the power of two by which it is aligned. */
static int64_t nv_aligned(reference_real_t x, int unit) {
  const int shift = x.exponent - unit;
  int64_t magnitude = (int64_t)x.magnitude;
  for (int i = 0; i < shift && magnitude != 0; i++) magnitude *= 2;
  for (int i = 0; i > shift && magnitude != 0; i--) magnitude /= 2;
  return x.negative ? -magnitude : magnitude;
}

/** Rounds sum * 2^unit toward zero to FP32; 2^128 and above gives Inf; never -0. */
static uint32_t nv_truncate(int64_t sum, int unit) {
  const uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
  const uint32_t sign = sum < 0 ? F32_SIGN : 0;
  uint32_t below = 0, above = F32_INF;
  if (reference_compare(magnitude, unit, 1, 128) >= 0) return F32_INF | sign;
  while (above - below > 1) {
    const uint32_t middle = below + (above - below) / 2;
    const reference_real_t x = reference_f32_real(middle);
    if (reference_compare(x.magnitude, x.exponent, magnitude, unit) <= 0) {
      below = middle;
    } else {
      above = middle;
    }
  }
  return below == 0 ? 0 : below | sign;
}

/** A group of a step: its exact value, and the exponent by which it is aligned. */
typedef struct {
  reference_real_t value;
  int exponent;
} nv_group_t;

/** Groups beyond the operands are padding with scale byte 0. @return 0 for a NaN scale. */
static int nv_load(const reference_operand_t *a, int64_t i, const reference_operand_t *b, int64_t j,
                   int64_t g, nv_group_t *group) {
  const int inside = g < a->groups;
  const uint32_t bits_a = inside ? scale_at(a, i, g) : 0, bits_b = inside ? scale_at(b, j, g) : 0;
  reference_real_t scale_a, scale_b;
  if (!reference_scale_real(a->scale, bits_a, &scale_a) ||
      !reference_scale_real(b->scale, bits_b, &scale_b))
    return 0;
  group->value = block_value(a, b, dot(a, i, b, j, g, g + 1), scale_a, scale_b);
  group->exponent = nv_scale_exponent(a->scale, bits_a) + nv_scale_exponent(b->scale, bits_b);
  return 1;
}

/** One step of 64 in k on a finite accumulator. */
static uint32_t nv_step(const nv_group_t groups[NV_GROUPS], uint32_t acc) {
  int largest = nv_accumulator_exponent(acc);
  for (int g = 0; g < NV_GROUPS; g++) {
    if (groups[g].exponent > largest) largest = groups[g].exponent;
  }
  const int unit = largest - NV_FRACTION;
  int64_t sum = nv_aligned(reference_f32_real(acc), unit);
  for (int g = 0; g < NV_GROUPS; g++) sum += nv_aligned(groups[g].value, unit);
  return nv_truncate(sum, unit);
}

uint32_t reference_gemm_nv(const reference_operand_t *a, int64_t i, const reference_operand_t *b,
                           int64_t j, uint32_t start) {
  uint32_t acc = reference_f32_is_nan(start) ? REFERENCE_NV_NAN : start;
  for (int64_t g = 0; g < a->groups; g += NV_GROUPS) {
    nv_group_t groups[NV_GROUPS];
    for (int n = 0; n < NV_GROUPS; n++) {
      if (!nv_load(a, i, b, j, g + n, &groups[n])) return REFERENCE_NV_NAN;
    }
    if (reference_f32_is_finite(acc)) acc = nv_step(groups, acc);
  }
  return acc;
}

// --- After each contract ------------------------------------------------------------------------

/** Multiplies by the tensor scales and alpha, and adds C, each in one operation, if present. */
static uint32_t finish(const reference_operand_t *a, const reference_operand_t *b, uint32_t d,
                       const uint32_t *alpha, const uint32_t *c) {
  if (a->scale == REFERENCE_SCALE_NVFP4)
    d = reference_f32_multiply(d, reference_f32_multiply(a->tensor_scale, b->tensor_scale));
  if (alpha) d = reference_f32_multiply(d, *alpha);
  if (c) d = reference_f32_add(d, *c);
  return d;
}

uint32_t reference_gemm_round(const reference_operand_t *a, const reference_operand_t *b,
                              int64_t sum, const uint32_t *alpha, const uint32_t *c) {
  const int unit =
      18 + reference_elem_frac(a->elem) + reference_elem_frac(b->elem) + a->t + b->t + a->half;
  uint32_t d = F32_NAN;
  if (sum != REFERENCE_I64_NAN)
    d = reference_f32_round(sum < 0, (uint64_t)(sum < 0 ? -sum : sum), -unit);
  return finish(a, b, d, alpha, c);
}

uint32_t reference_gemm_scale(const reference_operand_t *a, const reference_operand_t *b,
                              reference_contract_t contract, uint32_t accumulator,
                              const uint32_t *alpha, const uint32_t *c) {
  uint32_t d = accumulator;
  if (reference_f32_is_finite(d)) {
    const reference_real_t x = reference_f32_real(d);
    d = reference_f32_round(x.negative && x.magnitude != 0, x.magnitude, x.exponent - a->t - b->t);
  }
  d = finish(a, b, d, alpha, c);
  if (reference_f32_is_nan(d)) return contract == REFERENCE_NV ? REFERENCE_NV_NAN : F32_NAN;
  return d;
}

uint16_t reference_gemm_bf16(uint32_t d) {
  return d == REFERENCE_NV_NAN ? 0x7FFF : reference_bf16_cast(d);
}

void reference_panel_pack(const reference_operand_t *in, int64_t stride_blocks, uint8_t *codes,
                          uint8_t *scales) {
  for (int64_t row = 0; row < (in->rows + 15) / 16 * 16; row++) {
    for (int64_t k = 0; k < 16 * in->groups; k++) {
      const int64_t unit = row / 16 * stride_blocks + k / 16;
      uint8_t *byte = &codes[128 * unit + 8 * (row % 16) + k % 16 / 2];
      const int code = row < in->rows ? in->codes[row * in->groups * 16 + k] : 0;
      *byte = (uint8_t)(k % 2 == 0 ? code : *byte + 16 * code);
      scales[16 * unit + row % 16] = (uint8_t)(row < in->rows ? scale_at(in, row, k / 16) : 0);
    }
  }
}
