// SPDX-License-Identifier: Apache-2.0
// Elements and scales (numerics.md 1 and 2): casts choose the code whose value is nearest.
#include "reference.h"

#define F32_NAN 0x7FC00000u
#define E4M3_MAX 0x7E
#define E4M3_NAN 0x7F

reference_elem_t reference_elem_grid(reference_elem_t elem, uint32_t scale) {
  if (elem != REFERENCE_MIXED) return elem;
  return scale & 0x80 ? REFERENCE_HALVES : REFERENCE_E2M1;
}

int reference_elem_magnitude(reference_elem_t elem, int k) {
  static const int e2m1[8] = {0, 1, 2, 3, 4, 6, 8, 12};
  return elem == REFERENCE_E2M1 ? e2m1[k] : k;  // the other grids are uniform
}

int reference_elem_frac(reference_elem_t elem) {
  switch (elem) {
    case REFERENCE_E2M1:
    case REFERENCE_MIXED:
    case REFERENCE_HALVES:
      return 1;
    case REFERENCE_E1M2:
      return 2;
    default:
      return 0;
  }
}

int reference_elem_quanta(reference_elem_t elem, unsigned code) {
  const int c = (int)(code % 16);
  if (elem == REFERENCE_INT4) return c < 8 ? c : c - 16;
  return c < 8 ? reference_elem_magnitude(elem, c) : -reference_elem_magnitude(elem, c - 8);
}

uint8_t reference_elem_encode(reference_elem_t elem, int negative, int k) {
  if (!negative) return (uint8_t)k;
  return (uint8_t)(elem == REFERENCE_INT4 ? (16 - k) % 16 : 8 + k);
}

uint32_t reference_elem_value(reference_elem_t elem, unsigned code) {
  const int quanta = reference_elem_quanta(elem, code);
  const int negative =
      elem == REFERENCE_INT4 ? quanta < 0 : code % 16 >= 8;  // code 8 of the others is -0
  return reference_f32_round(negative, (uint64_t)(quanta < 0 ? -quanta : quanta),
                             -reference_elem_frac(elem));
}

uint8_t reference_elem_cast(reference_elem_t elem, uint32_t bits) {
  if (reference_f32_is_nan(bits)) return 7;
  const int negative = bits >> 31 != 0;
  if (!reference_f32_is_finite(bits)) return reference_elem_encode(elem, negative, 7);
  const reference_real_t x = reference_f32_real(bits);
  int k = 0;
  for (; k < 7; k++) {
    // Compares 2 |x| with the sum of two neighbours, in quanta; a tie goes to the even one of k and
    // k + 1.
    const int sum = reference_elem_magnitude(elem, k) + reference_elem_magnitude(elem, k + 1);
    const int c = reference_compare(x.magnitude, x.exponent + reference_elem_frac(elem) + 1,
                                    (uint64_t)sum, 0);
    if (c < 0 || (c == 0 && k % 2 == 0)) break;
  }
  return reference_elem_encode(elem, negative, k);
}

int reference_e4m3_units(uint8_t byte) {
  const int exponent = (byte >> 3) & 15, mantissa = byte & 7;
  if (exponent == 15 && mantissa == 7) return -1;
  // Bias 7: a subnormal is mantissa * 2^-9, a normal one (8 + mantissa) * 2^(exponent - 10).
  return exponent == 0 ? mantissa : (8 + mantissa) << (exponent - 1);
}

uint32_t reference_e4m3_value(uint8_t byte) {
  const int units = reference_e4m3_units(byte);
  return units < 0 ? F32_NAN : reference_f32_round(byte >= 128, (uint64_t)units, -9);
}

uint8_t reference_e4m3_cast(uint32_t bits) {
  const uint8_t sign = (uint8_t)(bits >> 31 << 7);
  if (reference_f32_is_nan(bits)) return E4M3_NAN;
  if (!reference_f32_is_finite(bits)) return E4M3_MAX | sign;
  const reference_real_t x = reference_f32_real(bits);
  uint8_t k = 0;
  for (; k < E4M3_MAX; k++) {
    const int sum = reference_e4m3_units(k) + reference_e4m3_units((uint8_t)(k + 1));
    const int c = reference_compare(x.magnitude, x.exponent + 1, (uint64_t)sum, -9);
    if (c < 0 || (c == 0 && k % 2 == 0)) break;
  }
  return k | sign;
}

uint8_t reference_e8m0_cast(uint32_t bits, int up) {
  if (reference_f32_is_nan(bits)) return 255;
  if (!reference_f32_is_finite(bits)) return 254;
  const reference_real_t x = reference_f32_real(bits);
  // Down: the largest power of two not above |x|; up: the smallest not below it; within 2^-127 and
  // 2^127.
  uint8_t k = up ? 0 : 254;
  if (up) {
    while (k < 254 && reference_compare(1, k - 127, x.magnitude, x.exponent) < 0) k++;
  } else {
    while (k > 0 && reference_compare(1, k - 127, x.magnitude, x.exponent) > 0) k--;
  }
  return k;
}

uint32_t reference_e8m0_value(uint8_t byte) {
  return byte == 255 ? F32_NAN : reference_f32_round(0, 1, byte - 127);
}

uint16_t reference_bf16_cast(uint32_t bits) {
  const uint32_t sign = bits >> 31 << 15;
  if (reference_f32_is_nan(bits)) return 0x7FC0;
  if (!reference_f32_is_finite(bits)) return (uint16_t)(0x7F80 | sign);
  const reference_real_t x = reference_f32_real(bits);
  uint32_t below = 0, above = 0x7F80;  // 0x7F80 stands for 2^128
  while (above - below > 1) {
    const uint32_t middle = (below + above) / 2;
    if (reference_real_compare(reference_f32_real(middle << 16), x) <= 0) {
      below = middle;
    } else {
      above = middle;
    }
  }
  // The FP32 pattern half-way between two BF16 neighbours also has the value half-way between
  // theirs.
  const int past_half = reference_real_compare(x, reference_f32_real((below << 16) + 0x8000));
  return (uint16_t)((past_half > 0 || (past_half == 0 && below % 2 == 1) ? above : below) | sign);
}
