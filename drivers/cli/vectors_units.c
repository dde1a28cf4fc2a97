// SPDX-License-Identifier: Apache-2.0
// The units of ufp4 vectors. Every result is the golden model's, or follows from one by the contract in the header of
// the RTL module.
#include <math.h>
#include <string.h>

#include "ufp4.h"
#include "ufp4/rht.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

// --- Records ---------------------------------------------------------------------------------------------

static void set(vectors_record_t *record, int column, uint64_t value) {
  record->column[column][0] = (uint32_t)value;
  record->column[column][1] = (uint32_t)(value >> 32);
}

static void set_words(vectors_record_t *record, int column, const uint32_t *words, size_t count) {
  memcpy(record->column[column], words, count * sizeof *words);
}

static uint64_t join_codes(const uint8_t codes[16]) {
  uint64_t joined = 0;
  for (int i = 0; i < 16; i++) joined |= (uint64_t)(codes[i] & 15) << 4 * i;
  return joined;
}

// --- Decoders and casts ----------------------------------------------------------------------------------

static void elem_decode_boundary(vectors_t *vectors) {
  for (unsigned i = 0; i < UFP4_ELEM_COUNT * 16; i++) {
    vectors_record_t record = {0};
    set(&record, 0, i / 16);
    set(&record, 1, i % 16);
    set(&record, 2, (uint64_t)ufp4_elem_quanta((ufp4_elem_t)(i / 16), i % 16));
    vectors_put(vectors, &record);
  }
}

static void scale_decode_boundary(vectors_t *vectors) {
  for (unsigned byte = 0; byte < 256; byte++) {
    vectors_record_t record = {0};
    int sig = 0, exp = 0;
    int number = ufp4_e4m3_decode((uint8_t)byte, &sig, &exp);
    set(&record, 0, byte);
    set(&record, 1, number ? (uint64_t)sig : 0);
    set(&record, 2, number ? (uint64_t)exp : 0);
    set(&record, 3, !number);
    vectors_put(vectors, &record);
  }
}

static void put_casts(vectors_t *vectors, uint32_t bits) {
  vectors_record_t record = {0};
  float value = ufp4_f32_value(bits);
  set(&record, 0, bits);
  for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++) set(&record, 1 + elem, ufp4_elem_cast((ufp4_elem_t)elem, value));
  set(&record, 4, ufp4_e4m3_cast(value));
  set(&record, 5, ufp4_e8m0_cast(value, 0));
  set(&record, 6, ufp4_e8m0_cast(value, 1));
  set(&record, 7, ufp4_bf16_cast(value));
  vectors_put(vectors, &record);
}

static const uint32_t special_numbers[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF,
                                           0x00800000, 0x3F800000, 0xBFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF,
                                           0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF};

// Both signs, and the numbers next to it.
static void put_casts_around(vectors_t *vectors, float value) {
  uint32_t bits = ufp4_f32_bits(value);
  for (int step = -1; step <= 1; step++) {
    put_casts(vectors, bits + (uint32_t)step);
    put_casts(vectors, (bits + (uint32_t)step) | 0x80000000u);
  }
}

static void cast_boundary(vectors_t *vectors) {
  for (size_t i = 0; i < COUNT(special_numbers); i++) put_casts(vectors, special_numbers[i]);
  // Eighths up to 8 hold every 4-bit value and every point half way between two; E4M3 has its own.
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
  // Half of them where the 4-bit formats and E4M3 have their values: 2^-13 to 2^10.
  if (vectors_below(vectors, 2)) bits = (bits & 0x807FFFFFu) | (114 + vectors_below(vectors, 24)) << 23;
  put_casts(vectors, bits);
}

// --- Dot product and accumulation ------------------------------------------------------------------------

static int dot_of(ufp4_elem_t a_elem, ufp4_elem_t b_elem, const uint8_t a[16], const uint8_t b[16]) {
  int sum = 0;
  for (int i = 0; i < 16; i++) sum += ufp4_elem_quanta(a_elem, a[i]) * ufp4_elem_quanta(b_elem, b[i]);
  return sum;
}

static void put_dot(vectors_t *vectors, ufp4_elem_t a_elem, ufp4_elem_t b_elem, const uint8_t a[16],
                    const uint8_t b[16]) {
  vectors_record_t record = {0};
  set(&record, 0, a_elem);
  set(&record, 1, b_elem);
  set(&record, 2, join_codes(a));
  set(&record, 3, join_codes(b));
  set(&record, 4, (uint64_t)dot_of(a_elem, b_elem, a, b));
  vectors_put(vectors, &record);
}

// Every pair of codes in all lanes at once, and with every second product's sign turned.
static void dot_boundary(vectors_t *vectors) {
  for (unsigned i = 0; i < UFP4_ELEM_COUNT * UFP4_ELEM_COUNT * 256; i++) {
    for (int cancel = 0; cancel < 2; cancel++) {
      uint8_t a[16], b[16];
      memset(a, (int)(i / 16 % 16), sizeof a);
      memset(b, (int)(i % 16), sizeof b);
      for (int lane = 0; cancel && lane < 16; lane += 2) b[lane] ^= 8;
      put_dot(vectors, (ufp4_elem_t)(i / 256 % UFP4_ELEM_COUNT), (ufp4_elem_t)(i / 256 / UFP4_ELEM_COUNT), a, b);
    }
  }
}

static void draw_codes(vectors_t *vectors, uint8_t codes[16]) {
  uint64_t bits = vectors_next(vectors);
  for (int i = 0; i < 16; i++) codes[i] = bits >> 4 * i & 15;
}

static ufp4_elem_t draw_elem(vectors_t *vectors) {
  return (ufp4_elem_t)vectors_below(vectors, UFP4_ELEM_COUNT);
}

static void dot_draw(vectors_t *vectors) {
  uint8_t a[16], b[16];
  draw_codes(vectors, a);
  draw_codes(vectors, b);
  ufp4_elem_t a_elem = draw_elem(vectors);
  put_dot(vectors, a_elem, draw_elem(vectors), a, b);
}

// A block as an operand of one row; codes and scale are the caller's memory.
static ufp4_operand_t block_operand(ufp4_elem_t elem, const uint8_t unpacked[16], uint8_t codes[8], uint8_t *scale) {
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
  set(&record, 0, a->elem);
  set(&record, 1, b->elem);
  set(&record, 2, join_codes(a->codes));
  set(&record, 3, join_codes(b->codes));
  set(&record, 4, a->scale);
  set(&record, 5, b->scale);
  set(&record, 6, (uint64_t)sum_in);
  set(&record, 7, (uint64_t)dot_of(a->elem, b->elem, a->codes, b->codes));
  set(&record, 8, (uint64_t)term);
  set(&record, 9, (uint64_t)sum);
  vectors_put(vectors, &record);
}

// Every E4M3 scale but NaN on either side; the largest and the smallest products of each pair of formats.
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
}

static void pe_draw(vectors_t *vectors) {
  block_t blocks[2];
  for (int i = 0; i < 2; i++) {
    blocks[i] = (block_t){.elem = draw_elem(vectors), .scale = (uint8_t)vectors_below(vectors, 127)};
    draw_codes(vectors, blocks[i].codes);
  }
  put_pe(vectors, &blocks[0], &blocks[1], (int64_t)vectors_next(vectors) >> (2 + vectors_below(vectors, 50)));
}

// One operand of two blocks of scales: E4M3 16 elements each, E8M0 32.
typedef struct {
  ufp4_elem_t elem;
  uint8_t codes[64];  // one in a byte
  uint8_t scales[2];
} pair_t;

// The accumulator of the contract fp32 behind the first one or both blocks.
static uint32_t accumulate(const pair_t pairs[2], ufp4_scale_t scale, int blocks) {
  uint8_t packed[2][32], scales[2][2];
  ufp4_operand_t operands[2];
  float d = 0;
  int cols = blocks * ufp4_scale_block(scale);
  for (int o = 0; o < 2; o++) {
    for (int i = 0; i < 32; i++) packed[o][i] = (uint8_t)(pairs[o].codes[2 * i] | pairs[o].codes[2 * i + 1] << 4);
    memcpy(scales[o], pairs[o].scales, sizeof scales[o]);
    operands[o] = (ufp4_operand_t){.elem = pairs[o].elem,
                                   .scale = scale,
                                   .rows = 1,
                                   .cols = cols,
                                   .blocks = cols / 16,
                                   .block = ufp4_scale_block(scale),
                                   .scale_blocks = blocks,
                                   .codes = packed[o],
                                   .scales = scales[o],
                                   .tensor_scale = 1};
  }
  ufp4_gemm_t how = {.contract = UFP4_CONTRACT_FP32, .alpha = 1};
  return ufp4_gemm(&operands[0], &operands[1], &how, &d, 1) == UFP4_OK ? ufp4_f32_bits(d) : UFP4_F32_NAN;
}

// The record is the second block; the first one only makes the accumulator before it.
static void put_pe_fp32(vectors_t *vectors, const pair_t pairs[2], ufp4_scale_t scale) {
  vectors_record_t record = {0};
  int block = ufp4_scale_block(scale);
  set(&record, 0, scale);
  for (int o = 0; o < 2; o++) {
    const uint8_t *codes = pairs[o].codes + block;
    set(&record, 1 + o, pairs[o].elem);
    for (int i = 0; i < block; i++) record.column[3 + o][i / 8] |= (uint32_t)codes[i] << 4 * (i % 8);
    set(&record, 5 + o, pairs[o].scales[1]);
  }
  set(&record, 7, accumulate(pairs, scale, 1));
  set(&record, 8, accumulate(pairs, scale, 2));
  vectors_put(vectors, &record);
}

// Equal blocks that cancel, halve a unit in the last place, or meet an accumulator far above or below: every distance
// of the scales, at the ends of their range too.
static void pe_fp32_boundary(vectors_t *vectors) {
  for (unsigned n = 0; n < 2 * UFP4_ELEM_COUNT * UFP4_ELEM_COUNT * 64; n++) {
    ufp4_scale_t scale = n % 2 ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3;
    pair_t pairs[2] = {{.elem = (ufp4_elem_t)(n / 2 % 3)}, {.elem = (ufp4_elem_t)(n / 6 % 3)}};
    unsigned distance = n / 18;
    for (int o = 0; o < 2; o++) {
      memset(pairs[o].codes, o == 0 ? 7 : (int)(1 + distance % 7), sizeof pairs[o].codes);
      pairs[o].scales[0] = scale == UFP4_SCALE_E4M3 ? (uint8_t)(2 * distance) : (uint8_t)(4 * distance);
      pairs[o].scales[1] = scale == UFP4_SCALE_E4M3 ? (uint8_t)(n % 3 ? 2 * distance : 126 - 2 * distance)
                                                    : (uint8_t)(4 * distance + (o == 0 ? n % 7 * 5 : 0) % 3);
    }
    for (size_t i = 32; i < sizeof pairs[0].codes && n % 4 == 1; i++) pairs[0].codes[i] ^= 8;
    for (size_t i = 16; i < 32 && n % 4 == 0; i++) pairs[0].codes[i] ^= 8;
    put_pe_fp32(vectors, pairs, scale);
  }
}

static void pe_fp32_draw(vectors_t *vectors) {
  ufp4_scale_t scale = vectors_below(vectors, 2) ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3;
  pair_t pairs[2];
  uint32_t base = vectors_below(vectors, 255 - 16);
  for (int o = 0; o < 2; o++) {
    pairs[o].elem = draw_elem(vectors);
    for (int i = 0; i < 4; i++) draw_codes(vectors, pairs[o].codes + 16 * i);
    for (int i = 0; i < 2; i++) {
      pairs[o].scales[i] =
          (uint8_t)(scale == UFP4_SCALE_E4M3 ? vectors_below(vectors, 127) : base + vectors_below(vectors, 16));
    }
  }
  put_pe_fp32(vectors, pairs, scale);
}

static void put_f32(vectors_t *vectors, int exponent, int64_t sum) {
  vectors_record_t record = {0};
  set(&record, 0, (uint64_t)exponent);
  set(&record, 1, (uint64_t)sum);
  set(&record, 2, ufp4_f32_from_scaled(sum, exponent));
  vectors_put(vectors, &record);
}

// Powers of two and halves of the last kept bit, with their neighbours, where results are normal, subnormal and out of
// range.
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

static void f32_draw(vectors_t *vectors) {
  int64_t sum = (int64_t)vectors_next(vectors) >> vectors_below(vectors, 64);
  put_f32(vectors, (int)vectors_below(vectors, 300) - 200, sum);
}

// --- Random words and transform --------------------------------------------------------------------------

static void put_threefry(vectors_t *vectors, uint64_t seed, uint64_t id, uint64_t group) {
  vectors_record_t record = {0};
  uint8_t bytes[16];
  ufp4_random_block(seed, id, group, bytes);
  set(&record, 0, seed);
  set(&record, 1, id);
  set(&record, 2, group);
  for (int i = 0; i < 16; i++) record.column[3][i / 4] |= (uint32_t)bytes[i] << 8 * (i % 4);
  vectors_put(vectors, &record);
}

static void threefry_boundary(vectors_t *vectors) {
  static const uint64_t words[] = {0, 1, 0xFFFFFFFF, 0x100000000, UINT64_MAX};
  for (size_t i = 0; i < COUNT(words) * COUNT(words) * COUNT(words); i++) {
    put_threefry(vectors, words[i % 5], words[i / 5 % 5], words[i / 25]);
  }
}

static void threefry_draw(vectors_t *vectors) {
  uint64_t seed = vectors_next(vectors), id = vectors_next(vectors);
  put_threefry(vectors, seed, id, vectors_next(vectors) >> vectors_below(vectors, 64));
}

// 16 FP32 numbers of one of several kinds; NaN and Inf only with @p special.
static void draw_block(vectors_t *vectors, int special, uint32_t bits[16]) {
  uint32_t kind = vectors_below(vectors, special ? 6 : 5), base = 1 + vectors_below(vectors, 240);
  for (int i = 0; i < 16; i++) {
    uint32_t random = (uint32_t)vectors_next(vectors), exponent = random >> 23 & 255;
    bits[i] = random;
    if (kind == 0 && exponent == 255) bits[i] = random & 0x807FFFFFu;
    if (kind == 1) bits[i] = (random & 0x807FFFFFu) | (base + exponent % 14) << 23;
    if (kind == 2) bits[i] = ufp4_f32_bits((float)(int)(random % 33) - 16);
    if (kind == 3) bits[i] = random & 0x80000000u;
    if (kind == 3 && random % 8 == 0) bits[i] = (random & 0x807FFFFFu) | base << 23;
    if (kind == 4) bits[i] = (random & 0x807FFFFFu) | (exponent % 3) << 23;
    if (kind == 5 && random % 16 != 0) bits[i] = (random & 0x807FFFFFu) | 127u << 23;
  }
}

// A transformed lane as the RTL carries it: sign, three zeros, magnitude.
static void transformed_words(const int32_t numbers[16], uint32_t words[16]) {
  for (int i = 0; i < 16; i++) words[i] = numbers[i] < 0 ? 0x80000000u | (uint32_t)-numbers[i] : (uint32_t)numbers[i];
}

static void put_rht(vectors_t *vectors, uint16_t mask, const uint32_t bits[16]) {
  int32_t numbers[16];
  uint32_t words[16];
  int exponent = ufp4_rht_block(bits, mask, numbers);
  if (exponent == 0) return;  // NaN or Inf: the unit's result is not used
  transformed_words(numbers, words);
  vectors_record_t record = {0};
  set(&record, 0, mask);
  set(&record, 1, (uint64_t)exponent);
  set_words(&record, 2, bits, 16);
  set_words(&record, 3, words, 16);
  vectors_put(vectors, &record);
}

// Blocks of one number with another in one place, or in half of the places.
typedef void (*put_block_t)(vectors_t *vectors, const uint32_t bits[16]);
static void boundary_blocks(vectors_t *vectors, put_block_t put) {
  for (size_t i = 0; i < COUNT(special_numbers) * COUNT(special_numbers); i++) {
    uint32_t one = special_numbers[i / COUNT(special_numbers)], rest = special_numbers[i % COUNT(special_numbers)];
    uint32_t bits[16];
    for (size_t j = 0; j < 16; j++) bits[j] = j == i % 16 ? one : rest;
    put(vectors, bits);
    for (size_t j = 0; j < 16; j++) bits[j] = (j & (1u << i % 4)) != 0 ? one : rest;
    put(vectors, bits);
  }
}

static void put_rht_both(vectors_t *vectors, const uint32_t bits[16]) {
  put_rht(vectors, 0, bits);
  put_rht(vectors, UFP4_RHT_DEFAULT_MASK, bits);
}

static void rht_boundary(vectors_t *vectors) {
  boundary_blocks(vectors, put_rht_both);
}

static void rht_draw(vectors_t *vectors) {
  uint32_t bits[16];
  draw_block(vectors, 0, bits);
  put_rht(vectors, (uint16_t)vectors_next(vectors), bits);
}

// --- Quantizer -------------------------------------------------------------------------------------------

// One block on its way through the quantizer.
typedef struct {
  ufp4_quantize_t how;
  int t;
  uint32_t bits[16];
  uint8_t random[16];
  uint8_t codes[16], scale;
  unsigned flags;
  uint32_t payload[16];  // what enters scale and divider: FP32 numbers, or transformed lanes
  uint32_t amax;         // 28 bits
  int exponent;          // the block's largest, at least 1
} quantized_t;

static void find_amax(quantized_t *q) {
  if (q->how.rht == UFP4_RHT_INTEGER) {
    int32_t numbers[16];
    q->exponent = ufp4_rht_block(q->bits, q->how.rht_mask, numbers);
    transformed_words(numbers, q->payload);
    for (int i = 0; i < 16; i++) {
      uint32_t magnitude = q->payload[i] & 0x0FFFFFFFu;
      if (magnitude > q->amax) q->amax = magnitude;
    }
    return;
  }
  uint32_t largest = 0;
  for (int i = 0; i < 16; i++) {
    q->payload[i] = q->bits[i];
    if ((q->bits[i] & 0x7FFFFFFFu) > largest) largest = q->bits[i] & 0x7FFFFFFFu;
  }
  q->exponent = largest >> 23 != 0 ? (int)(largest >> 23) : 1;
  q->amax = ((largest & 0x7FFFFFu) | (largest >> 23 != 0 ? 0x800000u : 0)) << 4;
}

static void quantize(quantized_t *q) {
  q->flags = ufp4_quantize_block(q->bits, &q->how, q->t, q->random, q->codes, &q->scale);
  if ((q->flags & UFP4_FLAG_NAN) == 0) find_amax(q);
}

// Option set n of element x RHT x rounding x scale rounding.
#define OPTIONS 24
static ufp4_quantize_t options(unsigned n) {
  return (ufp4_quantize_t){.elem = (ufp4_elem_t)(n % 3),
                           .rht = n / 3 % 2 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
                           .rht_mask = UFP4_RHT_DEFAULT_MASK,
                           .round = n / 6 % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
                           .scale_round = n / 12 % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE};
}

static int best_exponent(const uint32_t bits[16], const ufp4_quantize_t *how) {
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, 1, 16, 16, bits};
  int t = 0;
  (void)ufp4_tensor_exponent(&matrix, how, &t);
  return t;
}

// Around the block's own t, where scales are subnormal, normal and saturated; now and then any.
static quantized_t draw_quantized(vectors_t *vectors, int special) {
  quantized_t q = {.how = options(vectors_below(vectors, OPTIONS))};
  draw_block(vectors, special, q.bits);
  q.how.rht_mask = (uint16_t)vectors_next(vectors);
  q.t = best_exponent(q.bits, &q.how) - 18 + (int)vectors_below(vectors, 21);
  if (vectors_below(vectors, 32) == 0) q.t = (int)vectors_below(vectors, 65536) - 32768;
  for (int i = 0; i < 16; i++) q.random[i] = (uint8_t)vectors_next(vectors);
  return q;
}

static int normal_shift(uint32_t amax) {
  int shift = 0;
  while ((amax << shift & 0x08000000u) == 0) shift++;
  return shift;
}

static int clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

// The contract of ufp4_e4m3_scale: the distance of the divider's first shift, plus the element's exponent.
static int divider_base(const quantized_t *q, int scale_exp) {
  int unit = q->how.rht == UFP4_RHT_INTEGER ? 151 - q->exponent : 149;
  return clamp(unit - q->t - ufp4_elem_frac(q->how.elem) + scale_exp, 0, 511);
}

static void put_e4m3_scale(vectors_t *vectors, quantized_t *q) {
  quantize(q);
  if ((q->flags & UFP4_FLAG_NAN) != 0 || q->amax == 0) return;
  int sig, exp, shift = normal_shift(q->amax);
  if (!ufp4_e4m3_decode(q->scale, &sig, &exp)) return;
  vectors_record_t record = {0};
  set(&record, 0, q->how.rht == UFP4_RHT_INTEGER);
  set(&record, 1, q->how.elem);
  set(&record, 2, q->how.scale_round == UFP4_SCALE_ROUND_UP);
  set(&record, 3, (uint64_t)q->t);
  set(&record, 4, (uint64_t)q->exponent);
  set(&record, 5, q->amax);
  set(&record, 6, (uint64_t)(q->exponent + 27 - shift));
  set(&record, 7, (uint64_t)q->amax << shift);
  set(&record, 8, q->scale);
  set(&record, 9, (q->flags & UFP4_FLAG_ROW_SATURATED) != 0);
  set(&record, 10, (uint64_t)sig);
  set(&record, 11, (uint64_t)divider_base(q, exp));
  vectors_put(vectors, &record);
}

// Quotients on and next to every E4M3 value and every point half way between two: multiples of qmax / 16.
static void e4m3_scale_boundary(vectors_t *vectors) {
  for (unsigned n = 0; n < OPTIONS; n++) {
    ufp4_quantize_t how = options(n);
    if (how.round == UFP4_ROUND_SR) continue;  // no matter for the scale
    for (int sixteenths = 1; sixteenths <= 32; sixteenths++) {
      for (int step = -1; step <= 1; step++) {
        float amax = (float)(sixteenths * ufp4_elem_qmax_quanta(how.elem));
        for (int t = -12; t <= 12; t += 3) {
          quantized_t q = {.how = how, .t = t};
          q.bits[0] = ufp4_f32_bits(amax) + (uint32_t)step;
          put_e4m3_scale(vectors, &q);
        }
      }
    }
  }
}

static void e4m3_scale_draw(vectors_t *vectors) {
  uint64_t before = vectors->records;
  while (vectors->records == before) {  // zero blocks give no record
    quantized_t q = draw_quantized(vectors, 0);
    put_e4m3_scale(vectors, &q);
  }
}

static void put_divide_round(vectors_t *vectors, quantized_t *q) {
  quantize(q);
  if ((q->flags & UFP4_FLAG_NAN) != 0 || q->amax == 0) return;
  int sig, exp;
  if (!ufp4_e4m3_decode(q->scale, &sig, &exp)) return;
  vectors_record_t record = {0};
  set(&record, 0, q->how.rht == UFP4_RHT_INTEGER);
  set(&record, 1, q->how.elem);
  set(&record, 2, q->how.round == UFP4_ROUND_SR);
  set(&record, 3, (uint64_t)divider_base(q, exp));
  set(&record, 4, (uint64_t)sig);
  set_words(&record, 5, q->payload, 16);
  for (int i = 0; i < 16; i++) record.column[6][i / 4] |= (uint32_t)q->random[i] << 8 * (i % 4);
  set(&record, 7, join_codes(q->codes));
  vectors_put(vectors, &record);
}

// Elements at the ends and in the middle of each cell of the grid, and next to them, under scales of every significand.
static void tie_block(ufp4_elem_t elem, float scale, int first_half, int step, uint32_t bits[16]) {
  float unit = scale * ldexpf(1, -ufp4_elem_frac(elem));
  int qmax = ufp4_elem_qmax_quanta(elem);
  bits[0] = ufp4_f32_bits(unit * (float)qmax);
  for (int i = 1; i < 16; i++) {
    int halves = first_half + i;
    float value = halves <= 2 * qmax ? unit * (float)halves / 2 : 0;
    bits[i] = value == 0 ? 0 : (ufp4_f32_bits(value) + (uint32_t)step) | (i % 2 ? 0x80000000u : 0);
  }
}

typedef void (*put_quantized_t)(vectors_t *vectors, quantized_t *q);
static void tie_blocks(vectors_t *vectors, put_quantized_t put) {
  for (unsigned n = 0; n < OPTIONS; n++) {
    for (uint8_t byte = 0x38; byte < 0x40; byte++) {
      for (int step = -1; step <= 1; step++) {
        quantized_t q = {.how = options(n)};
        for (int first = -1; first < 2 * ufp4_elem_qmax_quanta(q.how.elem); first += 15) {
          tie_block(q.how.elem, ufp4_e4m3_value(byte), first, step, q.bits);
          memset(q.random, 0x80 * (byte % 2), sizeof q.random);
          quantized_t copy = q;
          put(vectors, &copy);
        }
      }
    }
  }
}

static void divide_round_boundary(vectors_t *vectors) {
  tie_blocks(vectors, put_divide_round);
}

static void divide_round_draw(vectors_t *vectors) {
  uint64_t before = vectors->records;
  while (vectors->records == before) {
    quantized_t q = draw_quantized(vectors, 0);
    put_divide_round(vectors, &q);
  }
}

// The random bytes here are those of the seed, the tensor id and the group.
static void put_quant_block(vectors_t *vectors, quantized_t *q, uint64_t group) {
  ufp4_random_block(q->how.seed, q->how.tensor_id, group, q->random);
  quantize(q);
  vectors_record_t record = {0};
  set(&record, 0,
      (uint64_t)q->how.elem | (uint64_t)(q->how.rht == UFP4_RHT_INTEGER) << 8 |
          (uint64_t)(q->how.round == UFP4_ROUND_SR) << 9 | (uint64_t)(q->how.scale_round == UFP4_SCALE_ROUND_UP) << 10);
  set(&record, 1, q->how.rht_mask);
  set(&record, 2, (uint64_t)q->t);
  set(&record, 3, q->how.seed);
  set(&record, 4, q->how.tensor_id);
  set(&record, 5, group);
  set_words(&record, 6, q->bits, 16);
  set(&record, 7, join_codes(q->codes));
  set(&record, 8, q->scale);
  set(&record, 9, (q->flags & UFP4_FLAG_NAN) != 0);
  set(&record, 10, (q->flags & UFP4_FLAG_ROW_SATURATED) != 0);
  vectors_put(vectors, &record);
}

static void put_quant_block_first(vectors_t *vectors, quantized_t *q) {
  put_quant_block(vectors, q, 0);
}

static void put_quant_block_options(vectors_t *vectors, const uint32_t bits[16]) {
  for (unsigned n = 0; n < OPTIONS; n += 5) {
    quantized_t q = {.how = options(n)};
    memcpy(q.bits, bits, sizeof q.bits);
    q.t = best_exponent(q.bits, &q.how);
    put_quant_block(vectors, &q, 1);
  }
}

static void quant_block_boundary(vectors_t *vectors) {
  tie_blocks(vectors, put_quant_block_first);
  boundary_blocks(vectors, put_quant_block_options);
}

static void quant_block_draw(vectors_t *vectors) {
  quantized_t q = draw_quantized(vectors, 1);
  q.how.seed = vectors_next(vectors);
  q.how.tensor_id = vectors_next(vectors);
  put_quant_block(vectors, &q, vectors_next(vectors) >> vectors_below(vectors, 64));
}

// --- The table -------------------------------------------------------------------------------------------

#define ELEM "element format: 0 E2M1, 1 E1M2, 2 INT4"
#define A_CODES "16 codes of A"
#define B_CODES "16 codes of B"
#define TENSOR_EXPONENT "tensor exponent t, signed"

const vectors_unit_t vectors_units[] = {
    {"elem_decode",
     "the value of every 4-bit code (ufp4_elem_quanta; numerics.md 1)",
     {{"elem", 8, ELEM}, {"code", 4, "the code"}, {"quanta", 8, "result: value x 2^frac, signed"}},
     elem_decode_boundary,
     NULL},
    {"cast",
     "FP32 to each format, without scaling (ufp4_elem_cast, ufp4_e4m3_cast, ..; numerics.md 1); no unit of the core",
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
     {{"a_elem", 8, ELEM},
      {"b_elem", 8, "the same of B"},
      {"a_codes", 64, A_CODES},
      {"b_codes", 64, B_CODES},
      {"dot", 13, "result: the sum of the products in quanta, exact, signed"}},
     dot_boundary,
     dot_draw},
    {"pe",
     "dot product, scale product and exact accumulation of one block (ufp4_gemm, contract exact; numerics.md 5)",
     {{"a_elem", 8, ELEM},
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
    {"pe_fp32",
     "one block of scales of the contract fp32 (ufp4_gemm; numerics.md 5); no unit of the core",
     {{"scale", 8, "format of the scales: 0 E4M3, 2 E8M0"},
      {"a_elem", 8, ELEM},
      {"b_elem", 8, "the same of B"},
      {"a_codes", 128, "codes of A: with E4M3 16, with E8M0 32"},
      {"b_codes", 128, "the same of B"},
      {"a_scale", 8, "of A, not NaN"},
      {"b_scale", 8, "of B, not NaN"},
      {"acc_in", 32, "FP32 accumulator before"},
      {"acc", 32, "result: acc_in + dot x scaleA x scaleB, rounded once to nearest even; a zero is +0"}},
     pe_fp32_boundary,
     pe_fp32_draw},
    {"i64_to_f32",
     "a sum rounded once to FP32 (ufp4_f32_from_scaled; numerics.md 5)",
     {{"exponent", 18, "of the sum's unit, signed"},
      {"sum", 64, "signed, not the smallest number"},
      {"f32", 32, "result: sum x 2^exponent, nearest even, gradual underflow, overflow to Inf"}},
     f32_boundary,
     f32_draw},
    {"threefry",
     "16 random bytes of a block (ufp4_random_block; numerics.md 4)",
     {{"seed", 64, "key"},
      {"tensor_id", 64, "upper counter words"},
      {"group", 64, "lower counter words: number of the group of 16"},
      {"words", 128, "result: element i uses byte i"}},
     threefry_boundary,
     threefry_draw},
    {"rht",
     "Hadamard transform of a block in integers (ufp4_rht_block; numerics.md 3)",
     {{"mask", 16, "bit i negates element i"},
      {"exponent", 8, "the block's largest biased exponent, at least 1"},
      {"words", 512, "16 FP32 numbers, none NaN or Inf"},
      {"out", 512, "result: 16 lanes {sign, 3 zeros, 28 bits}, unit 2^(exponent - 152)"}},
     rht_boundary,
     rht_draw},
    {"e4m3_scale",
     "scale of a block from its largest number (ufp4_quantize_block; numerics.md 2)",
     {{"rht", 1, "the numbers come from the transform"},
      {"elem", 8, ELEM},
      {"up", 1, "round up, else to nearest even"},
      {"tensor_exponent", 16, TENSOR_EXPONENT},
      {"exponent", 8, "the block's largest biased exponent, at least 1"},
      {"amax", 28, "largest magnitude = amax x 2^(exponent - (rht ? 152 : 154)); not 0"},
      {"power", 9, "result: exponent of normal: amax = normal x 2^(power - exponent - 27)"},
      {"normal", 28, "result: amax with its leading one on top"},
      {"scale", 8, "result: E4M3 of amax x 2^t / qmax, 01 to 7e"},
      {"saturated", 1, "result: the quotient is over 448"},
      {"sig", 4, "result: scale = sig x 2^(exp - 9)"},
      {"base", 9, "result: shift of an element in divide_round, plus its exponent"}},
     e4m3_scale_boundary,
     e4m3_scale_draw},
    {"divide_round",
     "16 elements divided by their scale and rounded (ufp4_quantize_block; numerics.md 4)",
     {{"rht", 1, "payload holds lanes of the transform, else FP32 numbers"},
      {"elem", 8, ELEM},
      {"sr", 1, "stochastic, else nearest even"},
      {"base", 9, "that of e4m3_scale"},
      {"sig", 4, "the scale's significand"},
      {"payload", 512, "16 lanes"},
      {"random", 128, "16 bytes, used if stochastic"},
      {"codes", 64, "result: 16 codes"}},
     divide_round_boundary,
     divide_round_draw},
    {"quant_block",
     "a whole block: transform, scale, codes (ufp4_quantize_block; numerics.md 2 to 4)",
     {{"options", 11, "7:0 element format (0 E2M1, 1 E1M2, 2 INT4), 8 transform, 9 stochastic, 10 scale rounded up"},
      {"mask", 16, "signs of the transform: bit i negates element i"},
      {"tensor_exponent", 16, TENSOR_EXPONENT},
      {"seed", 64, "of the random bytes"},
      {"tensor_id", 64, "of the random bytes"},
      {"group", 64, "of the random bytes"},
      {"words", 512, "16 FP32 numbers"},
      {"codes", 64, "result: 16 codes"},
      {"scale", 8, "result: E4M3; 7f where a number is NaN or Inf"},
      {"nan", 1, "result: a number is NaN or Inf"},
      {"saturated", 1, "result: the scale's quotient is over 448"}},
     quant_block_boundary,
     quant_block_draw},
};
const size_t vectors_unit_count = COUNT(vectors_units);
