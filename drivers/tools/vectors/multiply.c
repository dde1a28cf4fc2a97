// SPDX-License-Identifier: Apache-2.0
// The units of ufp4 vectors that decode, multiply, accumulate and convert sums. Every result comes
// from the golden model, or follows from one by the contract in the header of the RTL module.
#include <math.h>
#include <string.h>

#include "ufp4.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

// --- Decoders and casts -------------------------------------------------------------------------

static void elem_decode_boundary(vectors_t *vectors) {
  for (unsigned i = 0; i < UFP4_ELEM_KINDS * 32; i++) {
    const ufp4_elem_t elem = (ufp4_elem_t)(i / 32);
    const unsigned uniform = i / 16 % 2;
    const ufp4_elem_t grid = ufp4_elem_grid(elem, (uint8_t)(uniform << 7));
    vectors_record_t record = {0};
    vectors_set(&record, 0, elem);
    vectors_set(&record, 1, uniform);
    vectors_set(&record, 2, i % 16);
    vectors_set(&record, 3, (uint64_t)ufp4_elem_quanta(grid, i % 16));
    vectors_put(vectors, &record);
  }
}

static void scale_decode_boundary(vectors_t *vectors) {
  for (unsigned byte = 0; byte < 256; byte++) {
    vectors_record_t record = {0};
    int sig = 0, exp = 0;
    int number = ufp4_e4m3_decode((uint8_t)byte, &sig, &exp);
    vectors_set(&record, 0, byte);
    vectors_set(&record, 1, number ? (uint64_t)sig : 0);
    vectors_set(&record, 2, number ? (uint64_t)exp : 0);
    vectors_set(&record, 3, !number);
    vectors_put(vectors, &record);
  }
}

static void put_casts(vectors_t *vectors, uint32_t bits) {
  vectors_record_t record = {0};
  float value = ufp4_f32_value(bits);
  vectors_set(&record, 0, bits);
  for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++)
    vectors_set(&record, 1 + elem, ufp4_elem_cast((ufp4_elem_t)elem, value));
  vectors_set(&record, 4, ufp4_e4m3_cast(value));
  vectors_set(&record, 5, ufp4_e8m0_cast(value, 0));
  vectors_set(&record, 6, ufp4_e8m0_cast(value, 1));
  vectors_set(&record, 7, ufp4_bf16_cast(value));
  vectors_put(vectors, &record);
}

// Both signs, and adjacent numbers.
static void put_casts_around(vectors_t *vectors, float value) {
  uint32_t bits = ufp4_f32_bits(value);
  for (int step = -1; step <= 1; step++) {
    put_casts(vectors, bits + (uint32_t)step);
    put_casts(vectors, (bits + (uint32_t)step) | 0x80000000u);
  }
}

static void cast_boundary(vectors_t *vectors) {
  for (size_t i = 0; i < VECTORS_SPECIAL_NUMBERS; i++)
    put_casts(vectors, vectors_special_numbers[i]);
  // Multiples of 1/8 up to 8 include every 4-bit value and every midpoint; E4M3 has its own table.
  for (int eighths = 1; eighths <= 64; eighths++) put_casts_around(vectors, (float)eighths / 8);
  for (uint8_t byte = 0; byte < 0x7E; byte++) {
    float low = ufp4_e4m3_value(byte), high = ufp4_e4m3_value((uint8_t)(byte + 1));
    if (low > 0) put_casts_around(vectors, low);
    put_casts_around(vectors, (low + high) / 2);
  }
  put_casts_around(vectors, 448);
  put_casts_around(vectors, 464);
  for (int power = -126; power <= 127; power++) put_casts_around(vectors, ldexpf(1, power));
}

static void cast_draw(vectors_t *vectors) {
  uint32_t bits = (uint32_t)vectors_next(vectors);
  // Half of the numbers are in the range of the 4-bit formats and E4M3: 2^-13 to 2^10.
  if (vectors_below(vectors, 2))
    bits = (bits & 0x807FFFFFu) | (114 + vectors_below(vectors, 24)) << 23;
  put_casts(vectors, bits);
}

// --- Dot product and accumulation ---------------------------------------------------------------

static int dot_of(ufp4_elem_t a_elem, ufp4_elem_t b_elem, const uint8_t a[16],
                  const uint8_t b[16]) {
  int sum = 0;
  for (int i = 0; i < 16; i++)
    sum += ufp4_elem_quanta(a_elem, a[i]) * ufp4_elem_quanta(b_elem, b[i]);
  return sum;
}

static void put_dot(vectors_t *vectors, ufp4_elem_t a_elem, ufp4_elem_t b_elem, const uint8_t a[16],
                    const uint8_t b[16]) {
  vectors_record_t record = {0};
  vectors_set(&record, 0, a_elem);
  vectors_set(&record, 1, b_elem);
  vectors_set(&record, 2, vectors_join_codes(a));
  vectors_set(&record, 3, vectors_join_codes(b));
  vectors_set(&record, 4, (uint64_t)dot_of(a_elem, b_elem, a, b));
  vectors_put(vectors, &record);
}

// Every pair of codes in all lanes at once, also with the sign of every second product inverted.
static void dot_boundary(vectors_t *vectors) {
  for (unsigned i = 0; i < UFP4_ELEM_COUNT * UFP4_ELEM_COUNT * 256; i++) {
    for (int cancel = 0; cancel < 2; cancel++) {
      uint8_t a[16], b[16];
      memset(a, (int)(i / 16 % 16), sizeof a);
      memset(b, (int)(i % 16), sizeof b);
      for (int lane = 0; cancel && lane < 16; lane += 2) b[lane] ^= 8;
      put_dot(vectors, (ufp4_elem_t)(i / 256 % UFP4_ELEM_COUNT),
              (ufp4_elem_t)(i / 256 / UFP4_ELEM_COUNT), a, b);
    }
  }
}

static void dot_draw(vectors_t *vectors) {
  uint8_t a[16], b[16];
  vectors_draw_codes(vectors, a);
  vectors_draw_codes(vectors, b);
  ufp4_elem_t a_elem = vectors_draw_elem(vectors);
  put_dot(vectors, a_elem, vectors_draw_elem(vectors), a, b);
}

// Makes an operand of one row from a block; the caller owns codes and scale.
static ufp4_operand_t block_operand(ufp4_elem_t elem, const uint8_t unpacked[16], uint8_t codes[8],
                                    uint8_t *scale) {
  for (int i = 0; i < 8; i++) codes[i] = (uint8_t)(unpacked[2 * i] | unpacked[2 * i + 1] << 4);
  return (ufp4_operand_t){.elem = elem,
                          .rows = 1,
                          .cols = 16,
                          .blocks = 1,
                          .block = 16,
                          .scale_blocks = 1,
                          .codes = codes,
                          .scales = scale,
                          .tensor_scale = 1};
}

typedef struct {
  ufp4_elem_t elem;
  uint8_t codes[16];
  uint8_t scale;
} block_t;

static void put_pe(vectors_t *vectors, const block_t *a, const block_t *b, int64_t sum_in) {
  uint8_t a_codes[8], b_codes[8], a_scale = a->scale, b_scale = b->scale;
  ufp4_operand_t a_operand = block_operand(a->elem, a->codes, a_codes, &a_scale);
  ufp4_operand_t b_operand = block_operand(b->elem, b->codes, b_codes, &b_scale);
  ufp4_gemm_t how = {.d_dtype = UFP4_DTYPE_I64, .alpha = 1};
  int64_t term = 0, sum = 0;
  if (ufp4_gemm(&a_operand, &b_operand, &how, &term, 1) != UFP4_OK) return;
  how.accumulate = &sum_in;
  how.accumulate_ld = 1;
  if (ufp4_gemm(&a_operand, &b_operand, &how, &sum, 1) != UFP4_OK) return;
  vectors_record_t record = {0};
  vectors_set(&record, 0, a->elem);
  vectors_set(&record, 1, b->elem);
  vectors_set(&record, 2, vectors_join_codes(a->codes));
  vectors_set(&record, 3, vectors_join_codes(b->codes));
  vectors_set(&record, 4, a->scale);
  vectors_set(&record, 5, b->scale);
  vectors_set(&record, 6, (uint64_t)sum_in);
  vectors_set(&record, 7, (uint64_t)dot_of(a->elem, b->elem, a->codes, b->codes));
  vectors_set(&record, 8, (uint64_t)term);
  vectors_set(&record, 9, (uint64_t)sum);
  vectors_put(vectors, &record);
}

// A carry and a borrow that end at each bit. There are eight records of 2^bit with either sign:
// readers that cut the sum into four pieces, with three carries given by the number of the record,
// then see all combinations, so carries inside a piece end there, too.
static void pe_carries(vectors_t *vectors) {
  block_t one = {.elem = UFP4_ELEM_E1M2, .codes = {1}, .scale = 1}, minus = one;
  minus.codes[0] = 8 | 1;
  for (int bit = 0; bit <= 62; bit++) {
    const int64_t power = (int64_t)1 << bit;
    put_pe(vectors, &one, &one, power - 1);
    for (int i = 0; i < 16; i++) put_pe(vectors, i < 8 ? &minus : &one, &one, power);
  }
}

// Every E4M3 scale except NaN on either side; the largest and the smallest products of each pair of
// formats.
static void pe_boundary(vectors_t *vectors) {
  for (unsigned i = 0; i < UFP4_ELEM_COUNT * UFP4_ELEM_COUNT * 127; i++) {
    uint8_t byte = (uint8_t)(i % 127), other = i % 2 ? 0x7E : 0x01;
    block_t a = {.elem = (ufp4_elem_t)(i / 127 % UFP4_ELEM_COUNT), .scale = byte};
    block_t b = {.elem = (ufp4_elem_t)(i / 127 / UFP4_ELEM_COUNT), .scale = other};
    memset(a.codes, i % 4 < 2 ? 7 : 15, sizeof a.codes);
    memset(b.codes, 7, sizeof b.codes);
    put_pe(vectors, &a, &b, i % 3 == 0 ? 0 : i % 3 == 1 ? ((int64_t)1 << 62) - 1 : -1);
    put_pe(vectors, &b, &a, i % 3 == 0 ? 1 : i % 3 == 1 ? -((int64_t)1 << 62) : (int64_t)1 << 47);
  }
  pe_carries(vectors);
}

static void pe_draw(vectors_t *vectors) {
  block_t blocks[2];
  for (int i = 0; i < 2; i++) {
    blocks[i] = (block_t){.elem = vectors_draw_elem(vectors),
                          .scale = (uint8_t)vectors_below(vectors, 127)};
    vectors_draw_codes(vectors, blocks[i].codes);
  }
  put_pe(vectors, &blocks[0], &blocks[1],
         (int64_t)vectors_next(vectors) >> (2 + vectors_below(vectors, 50)));
}

static void put_f32(vectors_t *vectors, int exponent, int64_t sum) {
  vectors_record_t record = {0};
  vectors_set(&record, 0, (uint64_t)exponent);
  vectors_set(&record, 1, (uint64_t)sum);
  vectors_set(&record, 2, ufp4_f32_from_scaled(sum, exponent));
  vectors_put(vectors, &record);
}

// Powers of two and ties of the last kept bit, with their neighbours, for results that are normal,
// subnormal and out of range.
static void f32_boundary(vectors_t *vectors) {
  static const int exponents[] = {-22, -190, -170, -131, 65, 104, 65559, -65559};
  for (size_t e = 0; e < COUNT(exponents); e++) {
    put_f32(vectors, exponents[e], 0);
    for (int top = 0; top < 63; top += top < 22 || top > 58 ? 1 : 3) {
      int64_t one = (int64_t)1 << top, half = top >= 24 ? (int64_t)1 << (top - 24) : 0;
      for (int64_t delta = -1; delta <= 1; delta++) {
        put_f32(vectors, exponents[e], one + delta);
        put_f32(vectors, exponents[e], -(one + half + delta));
        put_f32(vectors, exponents[e], one / 2 * 3 + half + delta);
      }
    }
  }
}

// Subnormal results, and the smallest normal ones, that differ from a tie only in one low bit.
static void f32_sticky_boundary(vectors_t *vectors) {
  for (int shift = 0; shift <= 23; shift++) {
    // The bit of the tie, for a number with its leading one at 62 and the value 2^(-126 - shift).
    int half = 62 - 24 + shift;
    for (int low = -1; low < half; low++) {
      int64_t sum = (int64_t)1 << 62 | (int64_t)1 << half | (low < 0 ? 0 : (int64_t)1 << low);
      put_f32(vectors, -126 - shift - 62, low % 2 ? sum : -sum);
    }
  }
}

static void i64_to_f32_boundary(vectors_t *vectors) {
  f32_boundary(vectors);
  f32_sticky_boundary(vectors);
}

static void f32_draw(vectors_t *vectors) {
  int64_t sum = (int64_t)vectors_next(vectors) >> vectors_below(vectors, 64);
  put_f32(vectors, (int)vectors_below(vectors, 300) - 200, sum);
}

// Makes a record of a product or a sum of FP32 numbers, each rounded once, as in the scaling of an
// output.
static void put_alu(vectors_t *vectors, unsigned add, uint32_t a, uint32_t b) {
  vectors_record_t record = {0};
  float value = add ? ufp4_f32_value(a) + ufp4_f32_value(b) : ufp4_f32_value(a) * ufp4_f32_value(b);
  vectors_set(&record, 0, add);
  vectors_set(&record, 1, a);
  vectors_set(&record, 2, b);
  vectors_set(&record, 3, isnan(value) ? UFP4_F32_NAN : ufp4_f32_bits(value));
  vectors_put(vectors, &record);
}

// Products whose rounding depends on one bit: one far below a tie, or the tie of a number with many
// leading zeros; and Inf with nearly zero.
static void alu_lone_bits(vectors_t *vectors) {
  for (uint32_t v = 0; v < 12; v++) {
    for (uint32_t u = v; u < 23; u++) {
      // (2^23 + 2^u) (2^23 + 2^v) has only the bit at u + v below the one at 23 + v, which the
      // exponents place at the tie.
      put_alu(vectors, 0, (126 - v) << 23 | 1u << u, 1u << 23 | 1u << v);
      put_alu(vectors, 0, (125 - v) << 23 | 1u << u, 1u << 23 | 1u << v);
    }
  }
  for (uint32_t bit = 0; bit < 22; bit++) {
    // 3 times an odd number has 25 bits, a tie; the 3, times a power of two, is a subnormal number.
    for (uint32_t odd = 1; odd < 9; odd += 2)
      put_alu(vectors, 0, 200u << 23 | odd, (3u << bit) & 0x7FFFFFu);
  }
  for (uint32_t bit = 0; bit < 31; bit++) {
    put_alu(vectors, 0, 0x7F800000u, 1u << bit);
    put_alu(vectors, 0, 1u << bit, 0x7F800000u);
  }
}

static void alu_boundary(vectors_t *vectors) {
  static const uint32_t fields[] = {0, 1, 2, 24, 102, 126, 127, 128, 151, 152, 253, 254, 255};
  static const uint32_t fractions[] = {0, 1, 0x400000, 0x7FFFFF};
  uint32_t numbers[2 * COUNT(fields) * COUNT(fractions)];
  for (size_t i = 0; i < COUNT(numbers); i++) {
    numbers[i] = (uint32_t)(i % 2) << 31 | fields[i / 2 % COUNT(fields)] << 23 |
                 fractions[i / 2 / COUNT(fields)];
  }
  for (size_t i = 0; i < COUNT(numbers) * COUNT(numbers); i++) {
    uint32_t a = numbers[i % COUNT(numbers)], b = numbers[i / COUNT(numbers)];
    put_alu(vectors, 0, a, b);
    put_alu(vectors, 1, a, b);
  }
  alu_lone_bits(vectors);
}

// Most are products near the smallest numbers, and sums of numbers with close exponents.
static void alu_draw(vectors_t *vectors) {
  uint64_t bits = vectors_next(vectors);
  uint32_t a = (uint32_t)bits, b = (uint32_t)(bits >> 32), add = vectors_below(vectors, 2);
  if (vectors_below(vectors, 4)) {
    uint32_t field = a >> 23 & 255;
    uint32_t near = add ? field + vectors_below(vectors, 56) - 28
                        : 127 - field + vectors_below(vectors, 60) - 30;
    b = (b & 0x807FFFFFu) | (near & 255) << 23;
  }
  put_alu(vectors, add, a, b);
}

// --- The table ----------------------------------------------------------------------------------

#define A_CODES "16 codes of A"
#define B_CODES "16 codes of B"

const vectors_unit_t vectors_multiply[] = {
    {"elem_decode",
     "the value of every 4-bit code (ufp4_elem_quanta; numerics.md 1)",
     {{"elem", 8, VECTORS_ELEM ", 3 mixed"},
      {"uniform", 1, "bit 7 of the block's scale byte: of elements mixed the uniform grid"},
      {"code", 4, "the code"},
      {"quanta", 8, "result: value x 2^frac, signed"}},
     elem_decode_boundary,
     NULL},
    {"cast",
     "FP32 to each format, without scaling (ufp4_elem_cast, ufp4_e4m3_cast, ..; numerics.md 1); no "
     "unit of the core",
     {{"f32", 32, "the number"},
      {"e2m1", 4, "result: nearest even, saturating; NaN 7"},
      {"e1m2", 4, "result: the same"},
      {"int4", 4, "result: the same, two's complement"},
      {"e4m3", 8, "result: nearest even, saturating at 448; NaN 7f"},
      {"e8m0_down", 8, "result: rounded down, of the magnitude"},
      {"e8m0_up", 8, "result: rounded up, of the magnitude"},
      {"bf16", 16, "result: nearest even; NaN 7fc0"}},
     cast_boundary,
     cast_draw},
    {"scale_decode",
     "every E4M3 scale byte (ufp4_e4m3_decode; numerics.md 2)",
     {{"byte", 8, "the scale; its sign is ignored"},
      {"sig", 4, "result: value = sig x 2^(exp - 9); 0 for NaN"},
      {"exp", 4, "result: 0 to 14; 0 for NaN"},
      {"nan", 1, "result: 7f or ff"}},
     scale_decode_boundary,
     NULL},
    {"dot",
     "dot product of 16 pairs of codes, behind two elem_decode (numerics.md 5)",
     {{"a_elem", 8, VECTORS_ELEM},
      {"b_elem", 8, "the same of B"},
      {"a_codes", 64, A_CODES},
      {"b_codes", 64, B_CODES},
      {"dot", 13, "result: the sum of the products in quanta, exact, signed"}},
     dot_boundary,
     dot_draw},
    {"pe",
     "dot product, scale product and exact accumulation of one block (ufp4_gemm, contract exact; "
     "numerics.md 5)",
     {{"a_elem", 8, VECTORS_ELEM},
      {"b_elem", 8, "the same of B"},
      {"a_codes", 64, A_CODES},
      {"b_codes", 64, B_CODES},
      {"a_scale", 8, "E4M3 scale of A, not NaN"},
      {"b_scale", 8, "E4M3 scale of B, not NaN"},
      {"sum_in", 64, "the sum so far, signed"},
      {"dot", 13, "result: the sum of the products in quanta, signed"},
      {"term", 48, "result: dot x sigA x sigB x 2^(expA + expB), signed"},
      {"sum", 64, "result: sum_in + term, unit 2^-(18 + fracA + fracB), signed"}},
     pe_boundary,
     pe_draw},
    {"i64_to_f32",
     "a sum rounded once to FP32 (ufp4_f32_from_scaled; numerics.md 5)",
     {{"exponent", 18, "of the sum's unit, signed"},
      {"sum", 64, "signed, not the smallest number"},
      {"f32", 32, "result: sum x 2^exponent, nearest even, gradual underflow, overflow to Inf"}},
     i64_to_f32_boundary,
     f32_draw},
    {"f32_alu",
     "a product or a sum of two FP32 numbers (ufp4_gemm's tensor scale, alpha and C; numerics.md "
     "5)",
     {{"add", 1, "sum, else product"},
      {"a", 32, "FP32"},
      {"b", 32, "FP32"},
      {"f32", 32, "result: rounded once to nearest even, gradual underflow; NaN 7fc00000"}},
     alu_boundary,
     alu_draw},
};
const size_t vectors_multiply_count = COUNT(vectors_multiply);
