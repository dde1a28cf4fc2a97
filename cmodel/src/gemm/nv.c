// SPDX-License-Identifier: Apache-2.0
// The contract nv (docs/reference/numerics.md, 5): Blackwell's FP4 tensor core as MMA-Sim (arXiv
// 2511.10909) describes it. A step is 64 elements: four exact groups of 16 and the accumulator are
// aligned to the largest of their exponents, truncated at 35 fraction bits, summed, and rounded
// toward zero to FP32.
#include "gemm/micro.h"
#include "ufp4/format.h"

#define STEP_GROUPS 4
#define FRACTION_BITS 35
#define F32_INF 0x7F800000u

// A term of a step: (-1)^negative * magnitude * 2^(unit + exponent).
typedef struct {
  int64_t magnitude;
  int negative, unit, exponent;
} term_t;

// Returns the term in units of the sum's last place, its magnitude truncated; at most 2^19 * 2^29.
static int64_t aligned(const term_t *term, int largest) {
  int shift = FRACTION_BITS + term->unit + term->exponent - largest;
  int64_t magnitude = shift >= 0    ? term->magnitude << shift
                      : shift > -63 ? term->magnitude >> -shift
                                    : 0;
  return term->negative ? -magnitude : magnitude;
}

static term_t accumulator_term(uint32_t bits) {
  int field = bits >> 23 & 0xFF;
  term_t term = {.negative = bits >> 31 != 0, .unit = -23};
  term.magnitude = (bits & 0x7FFFFF) | (field != 0 ? 0x800000 : 0);
  term.exponent = field != 0 ? field - 127 : -126;
  return term;
}

// Rounds sum * 2^exponent toward zero; never -0; 2^128 and above gives Inf.
static uint32_t toward_zero(int64_t sum, int exponent) {
  if (sum == 0) return 0;
  uint32_t sign = sum < 0 ? UINT32_C(1) << 31 : 0;
  uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
  int top = 63 - __builtin_clzll(magnitude) + exponent;
  if (top > 127) return sign | F32_INF;
  int binade = top < -126 ? -126 : top;
  int shift = binade - 23 - exponent;  // at most 40: the exponent is at least -126 - FRACTION_BITS
  uint64_t significand = shift >= 0 ? magnitude >> shift : magnitude << -shift;
  if (significand == 0) return 0;
  return sign | (((uint32_t)(binade + 126) << 23) + (uint32_t)significand);
}

// The groups that pad a step have zero scales: their exponent is no larger than any accumulator's,
// so they are left out.
static uint32_t step(const term_t *groups, int count, uint32_t accumulator) {
  const term_t start = accumulator_term(accumulator);
  int largest = start.exponent;
  if ((accumulator & F32_INF) == F32_INF) return accumulator;
  for (int g = 0; g < count; g++)
    largest = groups[g].exponent > largest ? groups[g].exponent : largest;
  int64_t sum = aligned(&start, largest);
  for (int g = 0; g < count; g++) sum += aligned(&groups[g], largest);
  return toward_zero(sum, largest - FRACTION_BITS);
}

typedef struct {
  const unpacked_t *a, *b;
  int64_t row, col;
  int frac;
} place_of_t;

static term_t group_term(const place_of_t *p, int64_t g, unsigned r, unsigned c, int dot) {
  const int64_t blocks = p->a->groups / p->a->block_groups, k = g / p->a->block_groups;
  const int64_t at_a = p->row * blocks + k * MICRO_ROWS + r,
                at_b = p->col * blocks + k * MICRO_COLS + c;
  term_t term = {.negative = dot < 0, .unit = -6 - p->frac};
  term.magnitude =
      (int64_t)(dot < 0 ? -dot : dot) * p->a->significands[at_a] * p->b->significands[at_b];
  term.exponent = p->a->exponents[at_a] + p->b->exponents[at_b];
  return term;
}

static void micro_step(const place_of_t *p, int64_t first, int count,
                       float sums[MICRO_ROWS][MICRO_COLS]) {
  dots_t dots[STEP_GROUPS][MICRO_ROWS];
  const int16_t *qa = p->a->quanta + (p->row * p->a->groups + first * MICRO_ROWS) * BLOCK;
  const int16_t *qb = p->b->quanta + (p->col * p->b->groups + first * MICRO_COLS) * BLOCK;
  for (int g = 0; g < count; g++) {
    micro_dots(qa + g * BLOCK * MICRO_ROWS, qb + g * BLOCK * MICRO_COLS, BLOCK, dots[g]);
  }
  for (unsigned r = 0; r < MICRO_ROWS; r++) {
    for (unsigned c = 0; c < MICRO_COLS; c++) {
      term_t groups[STEP_GROUPS];
      for (int g = 0; g < count; g++) groups[g] = group_term(p, first + g, r, c, dots[g][r][c]);
      sums[r][c] = ufp4_f32_value(step(groups, count, ufp4_f32_bits(sums[r][c])));
    }
  }
}

void gemm_nv_micro(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col, int frac,
                   float sums[MICRO_ROWS][MICRO_COLS]) {
  const place_of_t place = {a, b, row, col, frac};
  for (int64_t g = 0; g < a->groups; g += STEP_GROUPS) {
    int64_t left = a->groups - g;
    micro_step(&place, g, left < STEP_GROUPS ? (int)left : STEP_GROUPS, sums);
  }
}
