// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(double value) {
  const float rounded = (float)value;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  return bits;
}

/** The sum of twelve uniform numbers less its mean: near enough to a standard Gaussian. */
static double gaussian(check_random_t *random) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += (double)(check_next(random) >> 11) / 9007199254740992.0;
  return sum;
}

static uint32_t wild(check_random_t *random) {
  uint32_t bits = (uint32_t)check_next(random);
  while (!slow_f32_is_finite(bits)) bits = (uint32_t)check_next(random);
  return bits;
}

static uint32_t special(check_random_t *random) {
  static const uint32_t table[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF};
  return check_below(random, 40) == 0 ? table[check_below(random, 5)] : bits_of(gaussian(random));
}

static uint32_t tie(check_random_t *random) {
  const uint32_t bits = bits_of((double)(2 * check_below(random, 32) + 1) / 8 * (check_below(random, 2) ? 1 : -1));
  return bits + check_below(random, 3) - 1;
}

uint32_t fixture_number(check_random_t *random, fixture_distribution_t distribution) {
  const uint32_t r = (uint32_t)check_next(random);
  switch (distribution) {
    case FIXTURE_GAUSSIAN:
      return bits_of(gaussian(random));
    case FIXTURE_OUTLIERS:
      return bits_of(gaussian(random) * (check_below(random, 50) == 0 ? 16 : 1));
    case FIXTURE_INTEGERS:
      return bits_of((double)check_below(random, 33) - 16);
    case FIXTURE_BF16:
      return bits_of(gaussian(random)) & 0xFFFF0000u;
    case FIXTURE_WILD:
      return wild(random);
    case FIXTURE_SUBNORMAL:
      return r & 0x81FFFFFFu & (0xFFFFFFFFu >> (r >> 27 & 15) | 0x80000000u);
    case FIXTURE_SPARSE:
      return check_below(random, 8) == 0 ? bits_of(gaussian(random)) : r & 0x80000000u;
    case FIXTURE_TIES:
      return tie(random);
    case FIXTURE_NEAR:
      return (r & 0x80FFFFFFu) + (100u << 23) + (check_below(random, 6) << 23);
    default:
      return special(random);
  }
}

void fixture_numbers(check_random_t *random, fixture_distribution_t distribution, uint32_t *bits, int64_t count) {
  for (int64_t i = 0; i < count; i++) bits[i] = fixture_number(random, distribution);
}

slow_quantize_t fixture_slow_options(const ufp4_quantize_t *how) {
  static const slow_elem_t elems[] = {
      [UFP4_ELEM_E2M1] = SLOW_E2M1, [UFP4_ELEM_E1M2] = SLOW_E1M2, [UFP4_ELEM_INT4] = SLOW_INT4};
  const slow_quantize_t out = {elems[how->elem],
                               how->rht,
                               how->rht_mask,
                               how->round == UFP4_ROUND_SR,
                               how->scale_round == UFP4_SCALE_ROUND_UP,
                               how->seed,
                               how->tensor_id};
  return out;
}

uint8_t fixture_code(const ufp4_operand_t *operand, int64_t row, int64_t k) {
  const uint8_t byte = operand->codes[row * operand->blocks * 8 + k / 2];
  return k % 2 == 0 ? byte & 15 : byte >> 4;
}

slow_operand_t fixture_slow_operand(const ufp4_operand_t *operand) {
  const int64_t width = operand->blocks * 16;
  const ufp4_quantize_t how = {.elem = operand->elem};
  slow_operand_t out = {
      fixture_slow_options(&how).elem, operand->rows, operand->blocks, operand->exponent, 0, NULL, NULL};
  out.codes = malloc((size_t)(out.rows * width));
  out.scales = malloc((size_t)(out.rows * out.blocks));
  if (!out.codes || !out.scales) abort();
  for (int64_t i = 0; i < out.rows * width; i++) out.codes[i] = fixture_code(operand, i / width, i % width);
  memcpy(out.scales, operand->scales, (size_t)(out.rows * out.blocks));
  return out;
}

static uint8_t any_scale(check_random_t *random) {
  return (uint8_t)(check_below(random, 0x7F) | check_below(random, 2) << 7);
}

static uint8_t one_scale(check_random_t *random, fixture_scales_t scales) {
  switch (scales) {
    case FIXTURE_SCALES_MAX:
      return 0x7E;
    case FIXTURE_SCALES_NAN:
      return check_below(random, 16) == 0 ? 0x7F | (uint8_t)(check_below(random, 2) << 7) : any_scale(random);
    default:
      return any_scale(random);
  }
}

ufp4_operand_t fixture_operand(check_random_t *random, ufp4_elem_t elem, int64_t rows, int64_t cols,
                               fixture_scales_t scales) {
  ufp4_operand_t out;
  if (ufp4_operand_create(elem, rows, cols, &out) != UFP4_OK) abort();
  // The largest magnitude: INT4 -8 is code 8, E2M1 and E1M2 have it as codes 7 and 15.
  const uint8_t largest = elem == UFP4_ELEM_INT4 ? 0x88 : 0x77;
  for (int64_t i = 0; i < rows * out.blocks * 8; i++) {
    out.codes[i] = scales == FIXTURE_SCALES_MAX ? largest : (uint8_t)check_next(random);
  }
  for (int64_t i = 0; i < rows * out.blocks; i++) out.scales[i] = one_scale(random, scales);
  return out;
}

void fixture_check_operand(const ufp4_operand_t *got, const slow_operand_t *want, const char *what) {
  if (!check_that(0, got->rows == want->rows && got->blocks == want->blocks, "%s: shape %lld x %lld blocks", what,
                  (long long)got->rows, (long long)got->blocks)) {
    return;
  }
  check_bits(0, (uint64_t)(int64_t)got->exponent, (uint64_t)(int64_t)want->t, "%s: tensor exponent", what);
  const unsigned flags = (want->flags & SLOW_FLAG_NAN ? UFP4_FLAG_NAN : 0u) |
                         (want->flags & SLOW_FLAG_SATURATED ? UFP4_FLAG_ROW_SATURATED : 0u);
  check_bits(0, got->flags, flags, "%s: flags", what);
  const int64_t width = got->blocks * 16;
  for (int64_t i = 0; i < got->rows * got->blocks; i++) {
    check_bits(i, got->scales[i], want->scales[i], "%s: scale of row %lld, block %lld", what,
               (long long)(i / got->blocks), (long long)(i % got->blocks));
  }
  for (int64_t i = 0; i < got->rows * width; i++) {
    check_bits(i, fixture_code(got, i / width, i % width), want->codes[i], "%s: code of row %lld, k %lld", what,
               (long long)(i / width), (long long)(i % width));
  }
}
