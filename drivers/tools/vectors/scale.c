// SPDX-License-Identifier: Apache-2.0
// The other units of ufp4 vectors with scales: scales as PEs of contracts fp32 and nv take them,
// FP32 sums times a power of two, and E8M0 scales of blocks.
#include "ufp4.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define INFINITY_BITS 0x7F800000u

static int field_of(uint32_t bits) {
  return (int)(bits >> 23 & 255);
}

// Returns the significand of an FP32 number in units of 2^exponent_of: 2^-149 if the exponent field
// is 1.
static int64_t significand_of(uint32_t bits) {
  return (bits & 0x7FFFFF) | (field_of(bits) != 0 ? 0x800000 : 0);
}

static int exponent_of(uint32_t bits) {
  return (field_of(bits) != 0 ? field_of(bits) : 1) - 150;
}

// --- Scales -------------------------------------------------------------------------------------

// value = sig * 2^exp; 0 for NaN.
static int split(unsigned e8m0, uint8_t byte, int *sig, int *exp) {
  *sig = e8m0 ? 1 : 0;
  *exp = byte - 127;
  if (e8m0) return byte != 0xFF;
  int number = ufp4_e4m3_decode(byte, sig, exp);
  *exp -= 9;
  return number;
}

static void scale_number_boundary(vectors_t *vectors) {
  for (unsigned i = 0; i < 2 * UFP4_ELEM_KINDS * 256; i++) {
    const unsigned e8m0 = i / 256 % 2, elem = i / 512;
    vectors_record_t record = {0};
    int sig, exp;
    int number = split(e8m0, (uint8_t)i, &sig, &exp);
    vectors_set(&record, 0, i & 255);
    vectors_set(&record, 1, e8m0);
    vectors_set(&record, 2, elem);
    vectors_set(&record, 3, number ? (uint64_t)sig : 0);
    vectors_set(&record, 4, number ? (uint64_t)(exp - ufp4_elem_frac((ufp4_elem_t)elem) + 129) : 0);
    vectors_set(&record, 5, !number);
    vectors_put(vectors, &record);
  }
}

static void scale_split_boundary(vectors_t *vectors) {
  for (unsigned i = 0; i < 2 * 256; i++) {
    vectors_record_t record = {0};
    int sig, exp;
    int number = split(i / 256, (uint8_t)i, &sig, &exp);
    vectors_set(&record, 0, i & 255);
    vectors_set(&record, 1, i / 256);
    vectors_set(&record, 2, !number ? 0 : i / 256 ? 8 : (uint64_t)sig);
    vectors_set(&record, 3,
                !number    ? 0
                : i / 256  ? (uint64_t)(exp + 127)
                : sig == 0 ? 1
                           : (uint64_t)(exp + 130));
    vectors_set(&record, 4, !number);
    vectors_put(vectors, &record);
  }
}

// --- FP32 sums ----------------------------------------------------------------------------------

static void put_f32_scale(vectors_t *vectors, int exponent, uint32_t number) {
  vectors_record_t record = {0};
  const int64_t magnitude = significand_of(number);
  uint32_t want =
      ufp4_f32_from_scaled(number >> 31 ? -magnitude : magnitude, exponent_of(number) + exponent);
  if (field_of(number) == 255) want = number & 0x7FFFFF ? UFP4_F32_NAN : number;
  vectors_set(&record, 0, (uint64_t)exponent);
  vectors_set(&record, 1, number);
  vectors_set(&record, 2, want);
  vectors_put(vectors, &record);
}

// Numbers whose results are normal, subnormal by every number of bits, and out of range, at ties
// and their neighbours.
static void f32_scale_boundary(vectors_t *vectors) {
  static const int exponents[] = {0, 1, -1, 127, -127, 253, -253, 400, -400, 65536, -65536};
  for (size_t e = 0; e < COUNT(exponents); e++) {
    for (int i = 0; i < VECTORS_SPECIAL_NUMBERS; i++) {
      put_f32_scale(vectors, exponents[e], vectors_special_numbers[i]);
    }
  }
  for (int lost = 0; lost <= 26; lost++) {
    const uint32_t half = lost > 0 && lost <= 23 ? 1u << (lost - 1) : 0;
    for (uint32_t step = 0; step < 3; step++) {
      put_f32_scale(vectors, -126 - lost,
                    (0x3F800000u | half | (lost <= 22 ? half << 1 : 0)) + step - 1);
      put_f32_scale(vectors, -126 - lost, (0xBF800000u | half) + step - 1);
    }
  }
  for (int field = 0; field <= 255; field++) {
    put_f32_scale(vectors, 254 - field, (uint32_t)field << 23 | 0x7FFFFF);
    put_f32_scale(vectors, -field, (uint32_t)field << 23 | 0x80000001u);
  }
  // Ties of subnormal numbers with each leading bit; exponents where one bit carries a number
  // beyond the largest.
  for (int top = 1; top <= 22; top++) {
    for (int lost = 1; lost <= top; lost++)
      put_f32_scale(vectors, -lost, 1u << top | 1u << (lost - 1));
  }
  for (int bit = 7; bit <= 16; bit++) {
    put_f32_scale(vectors, 1 << bit, 0x3F800000u);
    put_f32_scale(vectors, -(1 << bit), 0x3F800000u);
  }
}

static void f32_scale_draw(vectors_t *vectors) {
  const uint32_t number = (uint32_t)vectors_next(vectors);
  int exponent = (int)vectors_below(vectors, 600) - 300;
  // Half of the results are subnormal.
  if (vectors_below(vectors, 2)) exponent = -field_of(number) - (int)vectors_below(vectors, 26);
  put_f32_scale(vectors, exponent, number);
}

// --- E8M0 scales of blocks ----------------------------------------------------------------------

static void put_e8m0_scale(vectors_t *vectors, ufp4_elem_t elem, int up, uint32_t amax) {
  uint32_t bits[32] = {0};
  bits[amax % 32] = amax;
  const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, 1, 32, 32, bits};
  const ufp4_quantize_t how = {.elem = elem,
                               .scale = UFP4_SCALE_E8M0,
                               .scale_round = up ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN};
  ufp4_operand_t out = {0};
  if (ufp4_quantize(&matrix, &how, &out) != UFP4_OK) return;
  const int scale = out.scales[0];
  ufp4_operand_free(&out);
  vectors_record_t record = {0};
  int64_t normal = significand_of(amax);
  int power = exponent_of(amax) + 181;
  for (; normal < 1 << 27; power--) normal <<= 1;
  vectors_set(&record, 0, elem);
  vectors_set(&record, 1, (uint64_t)up);
  vectors_set(&record, 2, (uint64_t)power);
  vectors_set(&record, 3, (uint64_t)normal);
  vectors_set(&record, 4, (uint64_t)scale);
  vectors_set(&record, 5, (uint64_t)(28 - ufp4_elem_frac(elem) + scale));
  vectors_put(vectors, &record);
}

// Every power of two, every multiple of qmax by one, and their neighbours.
static void e8m0_scale_boundary(vectors_t *vectors) {
  static const uint32_t fractions[] = {0,        1,        0x3FFFFF, 0x400000, 0x400001,
                                       0x5FFFFF, 0x600000, 0x600001, 0x7FFFFF};
  for (unsigned i = 0; i < 2 * UFP4_ELEM_COUNT * 255; i++) {
    for (size_t f = 0; f < COUNT(fractions); f++) {
      const uint32_t amax = (i / 6) << 23 | fractions[f];
      if (amax != 0) put_e8m0_scale(vectors, (ufp4_elem_t)(i % 3), (int)(i / 3 % 2), amax);
    }
  }
  // One bit above a multiple of qmax.
  for (unsigned i = 0; i < 2 * UFP4_ELEM_COUNT * 22; i++) {
    const uint32_t bit = 1u << i / 6;
    put_e8m0_scale(vectors, (ufp4_elem_t)(i % 3), (int)(i / 3 % 2), 0x3F800000u | 0x400000u | bit);
    if (bit < 0x200000u)
      put_e8m0_scale(vectors, (ufp4_elem_t)(i % 3), (int)(i / 3 % 2),
                     0x3F800000u | 0x600000u | bit);
  }
  // Subnormal numbers, by their leading bit.
  for (unsigned i = 0; i < 2 * UFP4_ELEM_COUNT * 23; i++) {
    const uint32_t top = 1u << i / 6;
    for (uint32_t more = 0; more < 3; more++) {
      const uint32_t amax = top | (more == 1 ? top / 2 : more == 2 ? top / 2 + top / 4 + 1 : 0);
      put_e8m0_scale(vectors, (ufp4_elem_t)(i % 3), (int)(i / 3 % 2), amax);
    }
  }
}

static void e8m0_scale_draw(vectors_t *vectors) {
  uint32_t amax = (uint32_t)vectors_next(vectors) & 0x7FFFFFFFu;
  if (amax >= INFINITY_BITS || amax == 0) amax = 1 + (amax & 0x7FFFFF);
  put_e8m0_scale(vectors, (ufp4_elem_t)vectors_below(vectors, UFP4_ELEM_COUNT),
                 (int)vectors_below(vectors, 2), amax);
}

// --- The table ----------------------------------------------------------------------------------

#define BYTE "the scale; the sign of E4M3 is ignored"

const vectors_unit_t vectors_scale[] = {
    {"scale_number",
     "every scale byte with its elements' unit (ufp4_gemm, contract fp32; numerics.md 2)",
     {{"byte", 8, BYTE},
      {"e8m0", 1, "E8M0, else E4M3"},
      {"elem", 8, VECTORS_ELEM},
      {"sig", 4, "result: scale x 2^-frac = sig x 2^(exp - 129); 0 for NaN"},
      {"exp", 9, "result: 0 for NaN"},
      {"nan", 1, "result: E4M3 7f or ff, E8M0 ff"}},
     scale_number_boundary,
     NULL},
    {"scale_split",
     "every scale byte as the contract nv splits it (ufp4_gemm; numerics.md 5)",
     {{"byte", 8, BYTE},
      {"e8m0", 1, "E8M0, else E4M3"},
      {"sig", 4, "result: scale = sig x 2^(exp - 130); 0 for NaN"},
      {"exp", 8, "result: 127 more than the exponent that alignment takes; 0 for NaN"},
      {"nan", 1, "result: E4M3 7f or ff, E8M0 ff"}},
     scale_split_boundary,
     NULL},
    {"f32_scale",
     "an FP32 sum times a power of two, rounded once (ufp4_f32_from_scaled; numerics.md 5)",
     {{"exponent", 18, "of the power, signed"},
      {"number", 32, "FP32"},
      {"f32", 32,
       "result: nearest even, gradual underflow, overflow to Inf; a zero is +0, a NaN 7fc00000"}},
     f32_scale_boundary,
     f32_scale_draw},
    {"e8m0_scale",
     "E8M0 scale of a block from its largest number (ufp4_quantize; numerics.md 2)",
     {{"elem", 8, VECTORS_ELEM},
      {"up", 1, "round up, else down"},
      {"power", 9, "as e4m3_scale gives it: amax = normal x 2^(power - 181)"},
      {"normal", 28, "amax with its leading one on top"},
      {"scale", 8, "result: the byte"},
      {"base", 9, "result: shift of an element in divide_round, plus its exponent"}},
     e8m0_scale_boundary,
     e8m0_scale_draw},
};
const size_t vectors_scale_count = COUNT(vectors_scale);
