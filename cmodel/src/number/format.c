// SPDX-License-Identifier: Apache-2.0
#include "ufp4/format.h"

#include <string.h>

#define F32_ABS 0x7FFFFFFFu
#define F32_INF 0x7F800000u
#define CODE_SIGN 8u

static const int8_t quanta_table[UFP4_ELEM_COUNT][16] = UFP4_ELEM_QUANTA;
static const int8_t frac_table[UFP4_ELEM_COUNT] = UFP4_ELEM_FRAC;

ufp4_elem_t ufp4_elem_grid(ufp4_elem_t elem, uint8_t scale) {
  static const ufp4_elem_t grids[2] = UFP4_MIXED_GRIDS;
  return elem == UFP4_ELEM_MIXED ? grids[scale >> 7] : elem;
}

int ufp4_elem_quanta(ufp4_elem_t elem, unsigned code) {
  return elem == UFP4_ELEM_MIXED ? 0 : quanta_table[elem][code & 15];
}

int ufp4_elem_frac(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_MIXED ? UFP4_MIXED_FRAC : frac_table[elem];
}

int ufp4_elem_qmax_quanta(ufp4_elem_t elem) {
  return ufp4_elem_quanta(ufp4_elem_grid(elem, 0x80), 7);
}

uint32_t ufp4_f32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float ufp4_f32_value(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

float ufp4_elem_value(ufp4_elem_t elem, unsigned code) {
  return ufp4_elem_block_value(elem, 0, code);
}

float ufp4_elem_block_value(ufp4_elem_t elem, uint8_t scale, unsigned code) {
  int quanta = ufp4_elem_quanta(ufp4_elem_grid(elem, scale), code);
  uint32_t magnitude = ufp4_f32_from_scaled(quanta < 0 ? -quanta : quanta, -ufp4_elem_frac(elem));
  return ufp4_f32_value((code & CODE_SIGN) << 28 | magnitude);
}

// Magnitudes of FP32 numbers compare as their bit patterns do, so the code is the number of
// midpoints that are passed. A tie at the midpoint above an odd code goes up: there "at least the
// midpoint" is "more than the pattern before it".
static uint8_t nearest_code(ufp4_elem_t elem, uint32_t magnitude) {
  uint8_t code = 0;
  for (unsigned c = 0; c < 7; c++) {
    uint32_t midpoint = ufp4_f32_from_scaled(quanta_table[elem][c] + quanta_table[elem][c + 1],
                                             -frac_table[elem] - 1);
    code = (uint8_t)(code + (magnitude > midpoint - (c & 1)));
  }
  return code;
}

uint8_t ufp4_elem_cast(ufp4_elem_t elem, float value) {
  uint32_t bits = ufp4_f32_bits(value);
  if ((bits & F32_ABS) > F32_INF || elem == UFP4_ELEM_MIXED) return 7;
  uint8_t code = nearest_code(elem, bits & F32_ABS);
  if (bits >> 31 == 0) return code;
  return elem == UFP4_ELEM_INT4 ? (uint8_t)((16 - code) & 15) : (uint8_t)(code | CODE_SIGN);
}

int ufp4_e4m3_decode(uint8_t byte, int *sig, int *exp) {
  int field = (byte >> 3) & 15;
  *sig = (byte & 7) | (field != 0 ? 8 : 0);
  *exp = field != 0 ? field - 1 : 0;
  return (byte & 0x7F) != 0x7F;
}

float ufp4_e4m3_value(uint8_t byte) {
  int sig, exp;
  if (!ufp4_e4m3_decode(byte, &sig, &exp)) return ufp4_f32_value(UFP4_F32_NAN);
  return ufp4_f32_value((uint32_t)(byte & 0x80) << 24 | ufp4_f32_from_scaled(sig, exp - 9));
}

// Returns magnitude / 2^shift rounded to nearest even; magnitude <= 2^63.
static uint64_t shift_nearest(uint64_t magnitude, int shift) {
  if (shift <= 0) return magnitude << -shift;
  if (shift > 63) return 0;
  uint64_t kept = magnitude >> shift;
  uint64_t rest = magnitude & ((UINT64_C(1) << shift) - 1);
  uint64_t half = UINT64_C(1) << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

// Rounds significand * 2^exponent to an E4M3 byte, nearest even, saturating at 448; significand <
// 2^24.
static uint8_t nearest_e4m3(uint32_t significand, int exponent) {
  if (significand == 0) return 0;
  int top = 31 - __builtin_clz(significand) + exponent;
  if (top > 8) return 0x7E;
  int binade = top < -6 ? -6 : top;
  // A carry out of the significand correctly increments the exponent field.
  int byte = (binade + 6) * 8 + (int)shift_nearest(significand, binade - 3 - exponent);
  return (uint8_t)(byte > 0x7E ? 0x7E : byte);
}

uint8_t ufp4_e4m3_cast(float value) {
  uint32_t bits = ufp4_f32_bits(value);
  uint32_t magnitude = bits & F32_ABS;
  if (magnitude > F32_INF) return 0x7F;
  uint32_t field = magnitude >> 23;
  uint32_t significand = (magnitude & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0);
  uint8_t byte = nearest_e4m3(significand, (field != 0 ? (int)field : 1) - 150);
  return (uint8_t)(bits >> 31 << 7 | byte);
}

uint8_t ufp4_e8m0_cast(float value, int up) {
  uint32_t magnitude = ufp4_f32_bits(value) & F32_ABS;
  if (magnitude > F32_INF) return 0xFF;
  uint32_t field = magnitude >> 23;
  uint32_t fraction = magnitude & 0x7FFFFFu;
  // Exponent field 0 stands for 2^-127 here, which in FP32 is the subnormal with fraction 0x400000.
  if (up && fraction > (field == 0 ? 0x400000u : 0)) field++;
  return (uint8_t)(field > 254 ? 254 : field);
}

float ufp4_e8m0_value(uint8_t byte) {
  if (byte == 0xFF) return ufp4_f32_value(UFP4_F32_NAN);
  return ufp4_f32_value(byte == 0 ? 0x400000u : (uint32_t)byte << 23);
}

int ufp4_scale_block(ufp4_scale_t scale) {
  static const uint8_t block[UFP4_SCALE_COUNT] = UFP4_SCALE_BLOCK;
  return block[scale];
}

uint16_t ufp4_bf16_cast(float value) {
  uint32_t bits = ufp4_f32_bits(value);
  if ((bits & F32_ABS) > F32_INF) return UFP4_BF16_NAN;
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

float ufp4_bf16_value(uint16_t bits) {
  return ufp4_f32_value((uint32_t)bits << 16);
}

uint32_t ufp4_f32_from_scaled(int64_t sum, int exponent) {
  if (sum == 0) return 0;
  uint32_t sign = sum < 0 ? UINT32_C(1) << 31 : 0;
  uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
  // Beyond these exponents every sum overflows, or underflows, in the same way.
  int bounded = exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent;
  int top = 63 - __builtin_clzll(magnitude) + bounded;
  if (top > 127) return sign | F32_INF;
  int binade = top < -126 ? -126 : top;
  uint64_t significand = shift_nearest(magnitude, binade - 23 - bounded);
  // The significand's leading one, and a carry, are added to the exponent field; above 254 this
  // gives Inf.
  return sign | (((uint32_t)(binade + 126) << 23) + (uint32_t)significand);
}
