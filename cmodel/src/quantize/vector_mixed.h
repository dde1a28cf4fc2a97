// SPDX-License-Identifier: Apache-2.0
// The grid of each block of a tile, of elements mixed. The errors are those of mixed.c, exactly.
//
// With E2M1's scale, sig * 2^e, floor(|x| * 2^k) is one dividend for both grids: a quotient in
// 512ths is that divided by sig, or for the uniform grid by its own significand, and by 2 where its
// scale has an exponent more. A dividend is under 2^17 and a divisor at most 30, so the quotient of
// half more than the dividend is no less than 1/60 away from any integer; floats, truncated after
// one rounded multiplication, make the right integer of it. There is nothing to saturate: what is
// not left to the portable code has no quotient over 12.8 quanta.
//
// Nearest grid points are made by adding what has an ulp of a cell, and subtracting it: 2^32 has
// one of 512; with E2M1 it goes with the binade, from 2 quanta on.
#ifndef UFP4_QUANTIZE_VECTOR_MIXED_H
#define UFP4_QUANTIZE_VECTOR_MIXED_H

#include "quantize/vector_scale.h"

// 1 / a divisor, and half of that.
typedef struct {
  floats_t whole, half;
} inverse_t;

INLINE inverse_t inverse_of(words_t divisor) {
  const floats_t inverse = V(div_ps)(V(set1_ps)(1.0f), as_floats(divisor));
  return (inverse_t){inverse, V(mul_ps)(inverse, V(set1_ps)(0.5f))};
}

INLINE floats_t quotient_of(floats_t dividend, const inverse_t *inverse) {
  return truncated_float(V(fmadd_ps)(dividend, inverse->whole, inverse->half));
}

INLINE floats_t distance_to(floats_t quotient, floats_t cell) {
  return magnitude_of(V(sub_ps)(quotient, V(sub_ps)(V(add_ps)(quotient, cell), cell)));
}

INLINE floats_t e2m1_cell(floats_t quotient) {
  const words_t binade = BITS(and)(as_words(quotient), V(set1_epi32)(0x7F800000));
  const words_t least = as_words(V(set1_ps)(1024.0f));
  return as_floats(V(add_epi32)(V(max_epi32)(binade, least), V(set1_epi32)(22 << 23)));
}

// floor(|x| * 2^k); the integers of a transform are shifted, for floats may have rounded them.
INLINE floats_t dividend_of(kind_t kind, const numbers_t *numbers, int i, words_t exponent) {
  if (!kind.rht) {
    const words_t factor = V(sub_epi32)(all_words(268u << 23), exponent);
    return truncated_float(V(mul_ps)(magnitude_of(numbers->x[i]), as_floats(factor)));
  }
  const words_t shift = V(sub_epi32)(V(srli_epi32)(exponent, 23), V(set1_epi32)(127 + 14));
  return V(cvtepi32_ps)(V(srlv_epi32)(V(abs_epi32)(numbers->v[i]), shift));
}

// The scale of the better grid, and what makes quotients of the numbers.
INLINE void choose_grids(kind_t kind, const job_t *job, numbers_t *out) {
  const words_t upper = all_words(0xFFF00000u), field = V(set1_epi32)(0x7F800000);
  const words_t e2m1 = round_ratio(kind, job, out->third);
  const words_t uniform = round_ratio(kind, job, out->ratio);
  const words_t exponent = BITS(and)(e2m1, field);
  const words_t one = V(sub_epi32)(all_words((127u + 3) << 23), exponent);
  const inverse_t inverses[2] = {
      inverse_of(V(add_epi32)(BITS(and)(e2m1, upper), one)),
      inverse_of(V(add_epi32)(BITS(and)(uniform, upper), V(add_epi32)(one, all_words(2u << 23))))};
  const floats_t cell = V(set1_ps)(0x1p32f);
  floats_t errors[2] = {V(setzero_ps)(), V(setzero_ps)()};
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    const floats_t dividend = dividend_of(kind, out, i, exponent);
    const floats_t a = quotient_of(dividend, &inverses[0]), b = quotient_of(dividend, &inverses[1]);
    errors[0] = V(add_ps)(errors[0], distance_to(a, e2m1_cell(a)));
    errors[1] = V(add_ps)(errors[1], distance_to(b, cell));
  }
  // The scales are a half of E2M1's ratio and twice the other.
  const floats_t weights[2] = {as_floats(BITS(and)(e2m1, upper)),
                               V(mul_ps)(as_floats(BITS(and)(uniform, upper)), V(set1_ps)(4.0f))};
  const mask_t better =
      floats_less(V(mul_ps)(errors[1], weights[1]), V(mul_ps)(errors[0], weights[0]));
  out->uniform = where(better, V(set1_epi32)(-1));
  out->rounded = chosen(out->uniform, uniform, e2m1);
  kind_t own = kind;
  own.e2m1 = 0;
  out->reciprocal = as_floats(chosen(out->uniform, as_words(reciprocal_of(own, uniform)),
                                     as_words(reciprocal_of(kind, e2m1))));
}

// The places of scales relative to the uniform grid's: an E2M1 scale is a quarter of what its ratio
// says, which is 16 places.
INLINE words_t mixed_places(words_t bits, words_t uniform) {
  const words_t lower = V(sub_epi32)(bits, V(set1_epi32)(16));
  return chosen(uniform, BITS(or)(bits, V(set1_epi32)(PLACE_UNIFORM)), lower);
}

#endif
