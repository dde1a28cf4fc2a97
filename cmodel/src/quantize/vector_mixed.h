// SPDX-License-Identifier: Apache-2.0
// Chooses the grid of each block of a tile with elements mixed. The errors are exactly those of
// mixed.c.
//
// With E2M1's scale, sig * 2^e, floor(|x| * 2^k) is one dividend for both grids: a quotient in
// 512ths is the dividend divided by sig, or for the uniform grid by that grid's significand, and by
// 2 if its scale's exponent is larger by one. A dividend is under 2^17 and a divisor at most 30, so
// the quotient of the dividend plus one half is at least 1/60 away from any integer; floats,
// truncated after one rounded multiplication, therefore give the right integer. Nothing saturates,
// because only the portable code has quotients over 12.8 quanta.
//
// A quotient has 13 bits, so a word holds the quotients of two elements, whose errors are computed
// together.
#ifndef UFP4_QUANTIZE_VECTOR_MIXED_H
#define UFP4_QUANTIZE_VECTOR_MIXED_H

#include "quantize/vector_scale.h"

// The factor and the addend that turn a dividend into its quotient, in the lower half of a word
// and in the upper half.
typedef struct {
  floats_t factor[2], addend[2];
} division_t;

INLINE division_t division_by(words_t divisor, int offset) {
  const floats_t factor = V(div_ps)(V(set1_ps)(1.0f), as_floats(divisor));
  const floats_t addend = V(fmadd_ps)(factor, V(set1_ps)(0.5f), V(set1_ps)((float)offset));
  const floats_t upper = V(set1_ps)(0x1p16f);
  return (division_t){{factor, V(mul_ps)(factor, upper)}, {addend, V(mul_ps)(addend, upper)}};
}

// Computes the quotients of two elements. The fraction of the upper one, which lies in the lower
// half of its word, is replaced by the lower one.
INLINE words_t quotients_of(const floats_t dividend[2], const division_t *by) {
  words_t whole[2];
  for (int i = 0; i < 2; i++) {
    whole[i] = V(cvttps_epi32)(V(fmadd_ps)(dividend[i], by->factor[i], by->addend[i]));
  }
  return upper_halves_into(whole[0], whole[1]);
}

// Computes the distances to the nearest multiple of 512: the magnitudes of the lower 9 bits, taken
// as signed numbers.
INLINE words_t uniform_errors(words_t quotients) {
  return V(srli_epi16)(V(abs_epi16)(V(slli_epi16)(quotients, 7)), 7);
}

// Computes the distances to the nearest E2M1 point of quotients that have E2M1_OFFSET, a half,
// added. The integer part selects a point, `near`. If that is no point of E2M1 but the middle
// between two, the distance is `between` minus the distance to the middle. The tables hold the
// upper bytes of both; bit 7 of an index's lower byte is set, for which a lookup gives 0.
#define E2M1_OFFSET 256
INLINE words_t e2m1_errors(words_t quotients) {
  const words_t near = quad(0x00001919, 0x19151111, 0x0F0D0B09, 0x07050301);
  const words_t between = quad(0, 0x00040000, 0x02000200, 0);
  const words_t index = BITS(or)(V(srli_epi16)(quotients, 1), V(set1_epi16)(0x80));
  const words_t far = V(abs_epi16)(V(sub_epi16)(quotients, V(shuffle_epi8)(near, index)));
  return V(abs_epi16)(V(sub_epi16)(V(shuffle_epi8)(between, index), far));
}

// Adds both halves of each word.
INLINE floats_t sum_of_halves(words_t x) {
  return V(cvtepi32_ps)(V(add_epi32)(V(srli_epi32)(x, 16), BITS(and)(x, V(set1_epi32)(0xFFFF))));
}

// Computes floor(|x| * 2^k). The integers of a transform are shifted, because floats may have
// rounded them.
INLINE floats_t dividend_of(kind_t kind, const numbers_t *numbers, int i, words_t exponent) {
  if (!kind.rht) {
    const words_t factor = V(sub_epi32)(all_words(268u << 23), exponent);
    return truncated_float(V(mul_ps)(magnitude_of(numbers->x[i]), as_floats(factor)));
  }
  const words_t shift = V(sub_epi32)(V(srli_epi32)(exponent, 23), V(set1_epi32)(127 + 14));
  return V(cvtepi32_ps)(V(srlv_epi32)(V(abs_epi32)(numbers->v[i]), shift));
}

// Computes the scale of the better grid, and the factor that makes quotients of the numbers.
INLINE void choose_grids(kind_t kind, const job_t *job, numbers_t *out) {
  const words_t upper = all_words(0xFFF00000u), field = V(set1_epi32)(0x7F800000);
  const words_t e2m1 = round_ratio(kind, job, out->third);
  const words_t uniform = round_ratio(kind, job, out->ratio);
  const words_t exponent = BITS(and)(e2m1, field);
  const words_t one = V(sub_epi32)(all_words((127u + 3) << 23), exponent);
  const division_t by_e2m1 = division_by(V(add_epi32)(BITS(and)(e2m1, upper), one), E2M1_OFFSET);
  const division_t by_uniform = division_by(
      V(add_epi32)(BITS(and)(uniform, upper), V(add_epi32)(one, all_words(2u << 23))), 0);
  words_t sums[2] = {BITS(setzero)(), BITS(setzero)()};
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    const floats_t dividends[2] = {dividend_of(kind, out, i, exponent),
                                   dividend_of(kind, out, i + 1, exponent)};
    sums[0] = V(add_epi16)(sums[0], e2m1_errors(quotients_of(dividends, &by_e2m1)));
    sums[1] = V(add_epi16)(sums[1], uniform_errors(quotients_of(dividends, &by_uniform)));
  }
  const floats_t errors[2] = {sum_of_halves(sums[0]), sum_of_halves(sums[1])};
  // The scales are half of E2M1's ratio and twice the uniform grid's.
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

// Places of scales relative to the uniform grid's: an E2M1 scale is a quarter of its ratio, which
// is 16 places.
INLINE words_t mixed_places(words_t bits, words_t uniform) {
  const words_t lower = V(sub_epi32)(bits, V(set1_epi32)(16));
  return chosen(uniform, BITS(or)(bits, V(set1_epi32)(PLACE_UNIFORM)), lower);
}

#endif
