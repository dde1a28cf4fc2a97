// SPDX-License-Identifier: Apache-2.0
// The units of ufp4 vectors that quantize. Every result comes from the golden model, or follows
// from one by the contract in the header of the RTL module.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ufp4.h"
#include "ufp4/rht.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

// A block on its way through the quantizer.
typedef struct {
  ufp4_quantize_t how;
  int t;
  uint32_t bits[16];
  uint8_t random[16];
  uint8_t codes[16], scale;
  unsigned flags;
  uint32_t payload[16];  // input of scale and divider: FP32 numbers, or transformed lanes
  uint32_t amax;         // 28 bits
  int exponent;          // the block's largest exponent, at least 1
} quantized_t;

static void find_amax(quantized_t *q) {
  if (q->how.rht == UFP4_RHT_INTEGER) {
    int32_t numbers[16];
    q->exponent = ufp4_rht_block(q->bits, (uint16_t)q->how.rht_mask, numbers);
    vectors_transformed_words(numbers, q->payload);
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

// Draws t near the block's own, so that scales are subnormal, normal and saturated; sometimes any
// t.
static quantized_t draw_quantized(vectors_t *vectors, int special) {
  quantized_t q = {.how = options(vectors_below(vectors, OPTIONS))};
  vectors_draw_block(vectors, special, q.bits);
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

// Follows the contract of ufp4_e4m3_scale: the distance of the divider's first shift, plus the
// element's exponent.
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
  vectors_set(&record, 0, q->how.rht == UFP4_RHT_INTEGER);
  vectors_set(&record, 1, q->how.elem);
  vectors_set(&record, 2, q->how.scale_round == UFP4_SCALE_ROUND_UP);
  vectors_set(&record, 3, (uint64_t)q->t);
  vectors_set(&record, 4, (uint64_t)q->exponent);
  vectors_set(&record, 5, q->amax);
  vectors_set(&record, 6, (uint64_t)(q->exponent + 27 - shift));
  vectors_set(&record, 7, (uint64_t)q->amax << shift);
  vectors_set(&record, 8, q->scale);
  vectors_set(&record, 9, (q->flags & UFP4_FLAG_ROW_SATURATED) != 0);
  vectors_set(&record, 10, (uint64_t)sig);
  vectors_set(&record, 11, (uint64_t)divider_base(q, exp));
  vectors_put(vectors, &record);
}

// Quotients on and next to every E4M3 value and every midpoint: multiples of qmax / 16.
static void e4m3_scale_near_values(vectors_t *vectors, const ufp4_quantize_t *how) {
  for (int sixteenths = 1; sixteenths <= 32; sixteenths++) {
    for (int step = -1; step <= 1; step++) {
      float amax = (float)(sixteenths * ufp4_elem_qmax_quanta(how->elem));
      for (int t = -12; t <= 12; t += 3) {
        quantized_t q = {.how = *how, .t = t};
        q.bits[0] = ufp4_f32_bits(amax) + (uint32_t)step;
        put_e4m3_scale(vectors, &q);
      }
    }
  }
}

// Quotients whose remainder is a single bit, at least 8 bits below the leading one: a transformed
// block of sixteen numbers top * 2^16, whose signs the mask removes, and one of which has another
// bit.
static void e4m3_scale_lone_bits(vectors_t *vectors, const ufp4_quantize_t *how) {
  const unsigned divisor = how->elem == UFP4_ELEM_E2M1 ? 3 : 7;
  if (how->rht != UFP4_RHT_INTEGER) return;
  for (unsigned top = 128 + divisor - 128 % divisor; top < 256; top += 5 * divisor) {
    for (unsigned bit = 0; bit < 20; bit++) {
      quantized_t q = {.how = *how};
      for (unsigned i = 0; i < 16; i++) {
        const uint32_t sign = (uint32_t)(how->rht_mask >> i & 1) << 31;
        q.bits[i] = sign | ufp4_f32_bits((float)((top << 16) + (i == 0 ? 1u << bit : 0)));
      }
      q.t = best_exponent(q.bits, how);
      put_e4m3_scale(vectors, &q);
    }
  }
}

static void put_one_number(vectors_t *vectors, const ufp4_quantize_t *how, uint32_t bits,
                           int more) {
  quantized_t q = {.how = *how, .bits = {bits}};
  q.t = best_exponent(q.bits, how) + more;
  put_e4m3_scale(vectors, &q);
}

// Subnormal numbers of one bit; tensor exponents far from the best one.
static void e4m3_scale_single_bits(vectors_t *vectors, const ufp4_quantize_t *how) {
  for (unsigned bit = 0; bit < 23; bit++) put_one_number(vectors, how, 1u << bit, 0);
  for (unsigned bit = 5; bit < 15; bit++) {
    put_one_number(vectors, how, ufp4_f32_bits(1), 1 << bit);
    put_one_number(vectors, how, ufp4_f32_bits(1), -(1 << bit));
  }
}

static void e4m3_scale_boundary(vectors_t *vectors) {
  for (unsigned n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    if (how.round == UFP4_ROUND_SR) continue;  // it does not affect the scale
    e4m3_scale_near_values(vectors, &how);
    e4m3_scale_lone_bits(vectors, &how);
    e4m3_scale_single_bits(vectors, &how);
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
  vectors_set(&record, 0, q->how.rht == UFP4_RHT_INTEGER);
  vectors_set(&record, 1, q->how.elem);
  vectors_set(&record, 2, q->how.round == UFP4_ROUND_SR);
  vectors_set(&record, 3, (uint64_t)divider_base(q, exp));
  vectors_set(&record, 4, (uint64_t)sig);
  vectors_set_words(&record, 5, q->payload, 16);
  for (int i = 0; i < 16; i++) record.column[6][i / 4] |= (uint32_t)q->random[i] << 8 * (i % 4);
  vectors_set(&record, 7, vectors_join_codes(q->codes));
  vectors_put(vectors, &record);
}

// Elements at the ends and in the middle of each cell of the grid, and next to them, with scales of
// every significand.
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

// Returns a threshold of some cell of the grid, for nearest or for that random byte, or a number
// one bit above or below.
static float turning_number(vectors_t *vectors, const ufp4_quantize_t *how, float unit,
                            uint8_t random) {
  int low = (int)vectors_below(vectors, (uint32_t)ufp4_elem_qmax_quanta(how->elem));
  int cell = how->elem != UFP4_ELEM_E2M1 || low < 4 ? 1 : low < 8 ? 2 : 4;
  float part = how->round == UFP4_ROUND_SR ? (float)(2 * random + 1) / 512 : 0.5f;
  uint32_t bits = ufp4_f32_bits(unit * ((float)(low / cell * cell) + (float)cell * part));
  uint32_t bit = 1u << vectors_below(vectors, 18), way = vectors_below(vectors, 3);
  return ufp4_f32_value(way == 0 ? bits : way == 1 ? bits + bit : bits - bit);
}

// Each lane has its own threshold; with the transform half of them have one, and the others the
// largest.
static void turning_block(vectors_t *vectors, uint8_t scale, quantized_t *q) {
  float unit = ufp4_e4m3_value(scale) * ldexpf(1, -ufp4_elem_frac(q->how.elem));
  float largest = unit * (float)ufp4_elem_qmax_quanta(q->how.elem);
  // Small numbers are included, because stochastic rounding has thresholds at small quotients.
  for (int i = 0; i < 16; i++)
    q->random[i] = (uint8_t)(vectors_below(vectors, 256) >> vectors_below(vectors, 9));
  uint32_t first = vectors_below(vectors, 16),
           second = (first + 1 + vectors_below(vectors, 15)) % 16;
  if (q->how.rht == UFP4_RHT_INTEGER) {
    // The transform makes (+-a +- b) / 4 of two numbers a and b.
    memset(q->random, q->random[0], sizeof q->random);
    float turning = turning_number(vectors, &q->how, unit, q->random[0]);
    q->how.rht_mask = (uint16_t)vectors_next(vectors);
    q->bits[first] = ufp4_f32_bits(2 * (largest + turning));
    q->bits[second] = ufp4_f32_bits(2 * (largest - turning));
    return;
  }
  for (uint32_t i = 0; i < 16; i++) {
    float number = i == first ? largest : turning_number(vectors, &q->how, unit, q->random[i]);
    q->bits[i] = ufp4_f32_bits(vectors_below(vectors, 2) ? number : -number);
  }
}

// A power of two in each lane, far below and far above the largest scale's range.
static void powers(vectors_t *vectors) {
  for (unsigned n = 0; n < OPTIONS / 2; n++) {
    for (int power = 4; power < 64; power++) {
      quantized_t q = {.how = options(n)};
      const int lanes = q.how.rht == UFP4_RHT_INTEGER ? 1 : 16;  // the transform spreads one to all
                                                                 // lanes
      for (int i = 0; i < lanes; i++) q.bits[i] = ufp4_f32_bits(ldexpf(i % 3 ? -1 : 1, power));
      put_divide_round(vectors, &q);
    }
  }
}

// With the least scale, a 512th of a quantum, which is the threshold of random byte 0, and one bit
// more.
static void least_quotients(vectors_t *vectors) {
  for (unsigned n = 0; n < OPTIONS / 2 * 23; n++) {
    quantized_t q = {.how = options(n % (OPTIONS / 2))};
    if (q.how.round != UFP4_ROUND_SR) continue;
    const float number = ufp4_f32_value(ufp4_f32_bits(1) | 1u << n / (OPTIONS / 2));
    q.t = -17 - ufp4_elem_frac(q.how.elem);
    // The transform makes a / 2 of two numbers a, in half of the lanes.
    const int numbers = q.how.rht == UFP4_RHT_INTEGER ? 2 : 1;
    for (int i = 0; i < numbers; i++) q.bits[i] = ufp4_f32_bits(numbers == 2 ? number : number / 2);
    put_divide_round(vectors, &q);
  }
}

static void divide_round_boundary(vectors_t *vectors) {
  tie_blocks(vectors, put_divide_round);
  powers(vectors);
  for (unsigned n = 0; n < OPTIONS / 2 * 8 * 48; n++) {
    quantized_t q = {.how = options(n % (OPTIONS / 2))};  // scale rounding does not matter
    turning_block(vectors, (uint8_t)(0x38 + n / (OPTIONS / 2) % 8), &q);
    put_divide_round(vectors, &q);
  }
  least_quotients(vectors);
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
  vectors_set(&record, 0,
              (uint64_t)q->how.elem | (uint64_t)(q->how.rht == UFP4_RHT_INTEGER) << 8 |
                  (uint64_t)(q->how.round == UFP4_ROUND_SR) << 9 |
                  (uint64_t)(q->how.scale_round == UFP4_SCALE_ROUND_UP) << 10);
  vectors_set(&record, 1, q->how.rht_mask);
  vectors_set(&record, 2, (uint64_t)q->t);
  vectors_set(&record, 3, q->how.seed);
  vectors_set(&record, 4, q->how.tensor_id);
  vectors_set(&record, 5, group);
  vectors_set_words(&record, 6, q->bits, 16);
  vectors_set(&record, 7, vectors_join_codes(q->codes));
  vectors_set(&record, 8, q->scale);
  vectors_set(&record, 9, (q->flags & UFP4_FLAG_NAN) != 0);
  vectors_set(&record, 10, (q->flags & UFP4_FLAG_ROW_SATURATED) != 0);
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

// All lanes have a number that times 2^t is a scale times the largest element, and each lane in
// turn a larger one, which changes a scale that is rounded up; then the blocks whose transforms are
// these.
static void one_larger(vectors_t *vectors, double number, double more, int t) {
  const ufp4_quantize_t up = {.elem = UFP4_ELEM_E1M2,
                              .rht_mask = UFP4_RHT_DEFAULT_MASK,
                              .scale_round = UFP4_SCALE_ROUND_UP};
  for (unsigned lane = 0; lane < 16; lane++) {
    quantized_t plain = {.how = up, .t = t}, rht = {.how = up, .t = t};
    rht.how.rht = UFP4_RHT_INTEGER;
    rht.how.rht_mask = 0;
    for (unsigned i = 0; i < 16; i++) {
      const double part = (__builtin_parity(i & lane) ? -more : more) / 4;
      plain.bits[i] = ufp4_f32_bits((float)(i == lane ? number + more : number));
      rht.bits[i] = ufp4_f32_bits((float)(i == 0 ? 4 * number + part : part));
    }
    put_quant_block(vectors, &plain, 0);
    put_quant_block(vectors, &rht, 0);
  }
}

// Larger by each bit; by one below others that are set, which makes subnormal numbers; by none; and
// by the lowest bit that the transform creates in a single lane.
static void one_larger_by_bits(vectors_t *vectors) {
  for (int bit = 0; bit <= 20; bit++) {
    one_larger(vectors, 1.75, ldexp(1, bit - 23), 0);
    one_larger(vectors, 1.75 * 1.25, ldexp(1, bit - 23), 0);
  }
  for (int low = 1; low <= 20; low++) {
    const double number = ldexp(7, low - 149);
    const int t = 147 - low;  // times 2^t this is 1.75
    one_larger(vectors, number, ldexp(4, -149), t);
    one_larger(vectors, number, 0, t);
    if (low == 10) one_larger(vectors, number - ldexp(3.5, -149), ldexp(4, -149), t);
  }
}

// --- Elements mixed -----------------------------------------------------------------------------

enum { NEAR_EQUAL_BLOCKS = 24 };

// In every second block both scales are 448. The errors then differ by an even multiple of 14,
// because a quotient is as odd as either distance.
static void near_equal_blocks(vectors_t *vectors) {
  int n = 0;
  for (int tries = 0; n < NEAR_EQUAL_BLOCKS && tries < 5000; tries++) {
    quantized_t q = {.how = options((unsigned)n % OPTIONS), .t = n % 2 ? 9 : 0};
    q.how.elem = UFP4_ELEM_MIXED;
    q.how.rht = UFP4_RHT_NONE;
    q.how.scale_round = UFP4_SCALE_ROUND_RNE;
    if (!vectors_near_equal(vectors, (n / 2 % 3 - 1) * (n % 2 ? 28 : 1), q.t, q.bits)) continue;
    put_quant_block(vectors, &q, 0);
    n++;
  }
  // Only this function makes such blocks, without which a core could choose the other grid
  // unnoticed.
  if (n < NEAR_EQUAL_BLOCKS) abort();
}

static void put_mixed_options(vectors_t *vectors, const uint32_t bits[16]) {
  for (unsigned n = 0; n < OPTIONS; n += 9) {
    quantized_t q = {.how = options(n)};
    q.how.elem = UFP4_ELEM_MIXED;
    memcpy(q.bits, bits, sizeof q.bits);
    q.t = best_exponent(q.bits, &q.how);
    put_quant_block(vectors, &q, 1);
  }
}

static void quant_block_boundary(vectors_t *vectors) {
  one_larger_by_bits(vectors);
  tie_blocks(vectors, put_quant_block_first);
  vectors_boundary_blocks(vectors, put_quant_block_options);
  vectors_boundary_blocks(vectors, put_mixed_options);
  near_equal_blocks(vectors);
}

static void quant_block_draw(vectors_t *vectors) {
  quantized_t q = draw_quantized(vectors, 1);
  if (vectors_below(vectors, 3) == 0) q.how.elem = UFP4_ELEM_MIXED;
  q.how.seed = vectors_next(vectors);
  q.how.tensor_id = vectors_next(vectors);
  put_quant_block(vectors, &q, vectors_next(vectors) >> vectors_below(vectors, 64));
}

#define TENSOR_EXPONENT "tensor exponent t, signed"

const vectors_unit_t vectors_quantize[] = {
    {"e4m3_scale",
     "scale of a block from its largest number (ufp4_quantize_block; numerics.md 2)",
     {{"rht", 1, "the numbers come from the transform"},
      {"elem", 8, VECTORS_ELEM},
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
      {"elem", 8, VECTORS_ELEM},
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
     {{"options", 11,
       "7:0 element format (0 E2M1, 1 E1M2, 2 INT4, 3 mixed), 8 transform, 9 stochastic, 10 scale "
       "rounded up"},
      {"mask", 16, "signs of the transform: bit i negates element i"},
      {"tensor_exponent", 16, TENSOR_EXPONENT},
      {"seed", 64, "of the random bytes"},
      {"tensor_id", 64, "of the random bytes"},
      {"group", 64, "of the random bytes"},
      {"words", 512, "16 FP32 numbers"},
      {"codes", 64, "result: 16 codes"},
      {"scale", 8,
       "result: E4M3; 7f where a number is NaN or Inf; of elements mixed bit 7: the uniform grid"},
      {"nan", 1, "result: a number is NaN or Inf"},
      {"saturated", 1, "result: the scale's quotient is over 448"}},
     quant_block_boundary,
     quant_block_draw},
};
const size_t vectors_quantize_count = COUNT(vectors_quantize);
