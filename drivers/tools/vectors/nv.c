// SPDX-License-Identifier: Apache-2.0
// The units of ufp4 vectors with contract nv: one step, from any accumulator to the next.
#include <string.h>

#include "ufp4.h"
#include "vectors.h"

#define GROUPS 4
#define INFINITY_BITS 0x7F800000u

// One operand of a step: up to four groups of 16 elements, each with its scale byte.
typedef struct {
  ufp4_elem_t elem;
  uint8_t codes[16 * GROUPS];  // one per byte
  uint8_t scales[GROUPS];      // E8M0: the second of each pair is the first
} side_t;

typedef struct {
  ufp4_scale_t scale;
  int groups;
  side_t sides[2];
  uint32_t accumulator;
} step_t;

static uint32_t accumulate(const step_t *step) {
  uint8_t packed[2][8 * GROUPS], scales[2][GROUPS];
  ufp4_operand_t operands[2];
  const int block = ufp4_scale_block(step->scale), cols = 16 * step->groups;
  for (int o = 0; o < 2; o++) {
    const side_t *side = &step->sides[o];
    for (int i = 0; i < 8 * GROUPS; i++)
      packed[o][i] = (uint8_t)(side->codes[2 * i] | side->codes[2 * i + 1] << 4);
    for (int i = 0; i < 16 * GROUPS / block; i++) scales[o][i] = side->scales[i * block / 16];
    operands[o] = (ufp4_operand_t){.elem = side->elem,
                                   .scale = step->scale,
                                   .rows = 1,
                                   .cols = cols,
                                   .blocks = step->groups,
                                   .block = block,
                                   .scale_blocks = (cols + block - 1) / block,
                                   .codes = packed[o],
                                   .scales = scales[o],
                                   .tensor_scale = 1};
  }
  float c = ufp4_f32_value(step->accumulator), d = 0;
  ufp4_gemm_t how = {.contract = UFP4_CONTRACT_NV, .alpha = 1, .c = &c, .c_ld = 1};
  return ufp4_gemm(&operands[0], &operands[1], &how, &d, 1) == UFP4_OK ? ufp4_f32_bits(d)
                                                                       : UFP4_F32_NAN_NV;
}

static void put_pe_nv(vectors_t *vectors, const step_t *step) {
  vectors_record_t record = {0};
  vectors_set(&record, 0, step->scale);
  vectors_set(&record, 1, (uint64_t)step->groups);
  for (int o = 0; o < 2; o++) {
    vectors_set(&record, 2 + o, step->sides[o].elem);
    for (int i = 0; i < 16 * step->groups; i++) {
      record.column[4 + o][i / 8] |= (uint32_t)step->sides[o].codes[i] << 4 * (i % 8);
    }
    for (int i = 0; i < step->groups; i++)
      record.column[6 + o][0] |= (uint32_t)step->sides[o].scales[i] << 8 * i;
  }
  vectors_set(&record, 8, step->accumulator);
  vectors_set(&record, 9, accumulate(step));
  vectors_put(vectors, &record);
}

static void pair_scales(step_t *step) {
  for (int o = 0; o < 2 && step->scale == UFP4_SCALE_E8M0; o++) {
    for (int i = 1; i < GROUPS; i += 2) step->sides[o].scales[i] = step->sides[o].scales[i - 1];
  }
}

// Accumulators: zero, infinite, and every size, with both signs.
#define ACCUMULATORS 35
static uint32_t accumulator_of(unsigned n) {
  static const uint32_t special[] = {0,           0x80000000u,   1,
                                     0x807FFFFFu, INFINITY_BITS, INFINITY_BITS | 0x80000000u};
  if (n < sizeof special / sizeof special[0]) return special[n];
  return (n % 2) << 31 | (1 + (n - 6) * 253 / (ACCUMULATORS - 7)) << 23 |
         (n % 3 == 0 ? 0x7FFFFF : n % 3 == 1);
}

// E8M0 scales over their whole range, with accumulators of every size. The groups' products add up,
// cancel except for one, or are zero, so that only the scales matter.
static void sizes(vectors_t *vectors) {
  for (unsigned n = 0; n < 3 * 16 * ACCUMULATORS; n++) {
    const unsigned kind = n % 3, size = n / 3 % 16;
    step_t step = {.scale = UFP4_SCALE_E8M0,
                   .groups = 1 + (int)(n % 4),
                   .accumulator = accumulator_of(n / 48)};
    for (int o = 0; o < 2; o++) {
      step.sides[o].elem = (n >> o) % 2 ? UFP4_ELEM_E1M2 : UFP4_ELEM_E2M1;
      memset(step.sides[o].scales, (int)(size * 254 / 15), GROUPS);
      memset(step.sides[o].codes, 7, sizeof step.sides[o].codes);
      for (int i = 1; i < 16 * GROUPS && kind == 1 && o == 0; i += 2) step.sides[o].codes[i] ^= 8;
      if (kind == 2) memset(step.sides[o].codes, 0, sizeof step.sides[o].codes);
    }
    put_pe_nv(vectors, &step);
  }
}

// A group at every distance from another one and from the accumulator, which shows truncation with
// both signs.
static void distances(vectors_t *vectors) {
  for (unsigned n = 0; n < 2 * 4 * 64; n++) {
    const unsigned distance = n / 8;
    const int place = (int)(n / 2 % 4);
    step_t step = {.scale = n % 2 ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3, .groups = GROUPS};
    step.accumulator = n % 3 == 0 ? 0
                                  : (n % 3 == 1 ? 0u : 1u << 31) | (127 - 40 + 2 * distance) << 23 |
                                        (n * 0x2545F & 0x7FFFFF);
    for (int o = 0; o < 2; o++) {
      step.sides[o].elem = (n / 16 >> o) % 2 ? UFP4_ELEM_E1M2 : UFP4_ELEM_E2M1;
      memset(step.sides[o].codes, o == 0 ? 7 : (int)(1 + distance % 7), sizeof step.sides[o].codes);
      for (int i = 0; i < 16 && o == 0 && n % 5 < 3; i++) step.sides[o].codes[16 * place + i] ^= 8;
      const uint8_t high = n % 2 ? 127 : 0x7E,
                    low = (uint8_t)(n % 2 ? 127 - distance / 2 - (o == 0) * (distance % 2)
                                          : 126 - 2 * distance);
      memset(step.sides[o].scales, low, GROUPS);
      step.sides[o].scales[place] = high;
    }
    pair_scales(&step);
    put_pe_nv(vectors, &step);
  }
}

// Every E4M3 scale in each group in turn: zero, subnormal and normal exponents.
static void bytes(vectors_t *vectors) {
  for (unsigned n = 0; n < GROUPS * 127; n++) {
    step_t step = {.scale = UFP4_SCALE_E4M3,
                   .groups = GROUPS,
                   .accumulator = accumulator_of(n % ACCUMULATORS)};
    for (int o = 0; o < 2; o++) {
      memset(step.sides[o].codes, 5, sizeof step.sides[o].codes);
      memset(step.sides[o].scales, n % 3 == 0 ? 0 : 1 + (int)(n % 120), GROUPS);
      step.sides[o].scales[n / 127] = o == (int)(n % 2) ? (uint8_t)(n % 127) : 0x38;
    }
    put_pe_nv(vectors, &step);
  }
}

static void pe_nv_boundary(vectors_t *vectors) {
  sizes(vectors);
  distances(vectors);
  bytes(vectors);
}

// Near the exponents of the products, or any number except NaN.
static uint32_t draw_accumulator(vectors_t *vectors, const step_t *step) {
  const uint32_t bits = (uint32_t)vectors_next(vectors);
  if (vectors_below(vectors, 8) == 0)
    return (bits & INFINITY_BITS) == INFINITY_BITS ? bits & 0xFF800000u : bits;
  if (vectors_below(vectors, 8) == 0) return 0;
  int field = 127 + (int)vectors_below(vectors, 80) - 40;
  if (step->scale == UFP4_SCALE_E8M0)
    field += step->sides[0].scales[0] + step->sides[1].scales[0] - 254;
  return (bits & 0x807FFFFFu) | (uint32_t)(field < 0 ? 0 : field > 254 ? 254 : field) << 23;
}

static void draw_side(vectors_t *vectors, const step_t *step, side_t *side) {
  const uint32_t low = vectors_below(vectors, 255 - 12),
                 spread = vectors_below(vectors, 2) ? 2 : 12;
  side->elem = vectors_below(vectors, 2) ? UFP4_ELEM_E1M2 : UFP4_ELEM_E2M1;
  for (int i = 0; i < 16 * GROUPS; i++) side->codes[i] = (uint8_t)vectors_below(vectors, 16);
  for (int i = 0; i < GROUPS; i++) {
    if (vectors_below(vectors, 8) == 0) memset(side->codes + 16 * i, 0, 16);
    side->scales[i] =
        (uint8_t)(step->scale == UFP4_SCALE_E8M0 ? low + vectors_below(vectors, spread)
                                                 : vectors_below(vectors, 127));
  }
}

// Sometimes the accumulator is the negative of the groups' sum, or one of its neighbours.
static void pe_nv_draw(vectors_t *vectors) {
  step_t step = {.scale = vectors_below(vectors, 2) ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3,
                 .groups = GROUPS};
  if (vectors_below(vectors, 4) == 0) step.groups = 1 + (int)vectors_below(vectors, GROUPS);
  for (int o = 0; o < 2; o++) draw_side(vectors, &step, &step.sides[o]);
  pair_scales(&step);
  if (vectors_below(vectors, 4) == 0) {
    const uint32_t alone = accumulate(&step);
    if (alone > 1 && (alone & INFINITY_BITS) != INFINITY_BITS) {
      step.accumulator = (alone ^ 1u << 31) + vectors_below(vectors, 3) - 1;
    }
  } else {
    step.accumulator = draw_accumulator(vectors, &step);
  }
  put_pe_nv(vectors, &step);
}

const vectors_unit_t vectors_nv[] = {
    {"pe_nv",
     "one step of the contract nv: four groups of 16 elements (ufp4_gemm; numerics.md 5)",
     {{"scale", 8, "format of the scales: 0 E4M3, 2 E8M0"},
      {"groups", 3, "1 to 4; codes and scales of those beyond are zero"},
      {"a_elem", 8, "element format: 0 E2M1, 1 E1M2"},
      {"b_elem", 8, "the same of B"},
      {"a_codes", 256, "64 codes of A"},
      {"b_codes", 256, "64 codes of B"},
      {"a_scales", 32, "of A's groups, none NaN; with E8M0 two and two the same"},
      {"b_scales", 32, "the same of B"},
      {"acc_in", 32, "FP32 accumulator before, no NaN"},
      {"acc", 32,
       "result: what is aligned and truncated, added, and rounded toward zero; a zero is +0"}},
     pe_nv_boundary,
     pe_nv_draw},
};
const size_t vectors_nv_count = sizeof vectors_nv / sizeof vectors_nv[0];
