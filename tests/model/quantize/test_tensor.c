// SPDX-License-Identifier: Apache-2.0
// Tests the quantization of whole tensors: shapes, axes, exponents, random bytes by position, and
// dequantization (numerics.md 2 to 4).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

static const int shapes[][2] = {{1, 1},   {1, 16},  {16, 1},   {3, 5},   {5, 17},
                                {17, 5},  {16, 16}, {31, 33},  {33, 31}, {64, 48},
                                {1, 257}, {257, 1}, {15, 130}, {47, 18}};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

/** Returns option set n of 3 x 2 x 2 x 2 x 2: element, RHT, rounding, scale rounding, axis. */
static ufp4_quantize_t options(int n) {
  static const ufp4_elem_t elems[] = {UFP4_ELEM_E2M1, UFP4_ELEM_E1M2, UFP4_ELEM_INT4};
  const ufp4_quantize_t how = {
      .elem = elems[n % 3],
      .rht = n / 3 % 2,
      .rht_mask = n % 2 ? 0x1234 : UFP4_RHT_DEFAULT_MASK,
      .round = n / 6 % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
      .scale_round = n / 12 % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE,
      .axis = n / 24 % 2 ? UFP4_AXIS_COL : UFP4_AXIS_ROW,
      .seed = 0x123456789ABCDEF0u + (uint64_t)n,
      .tensor_id = 0xFEDCBA9876543210u - (uint64_t)n,
      .kernel = fixture_kernel()};
  return how;
}
#define OPTIONS 48

static void sweep(ufp4_dtype_t dtype, int distributions) {
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS * SHAPES; i++) {
    const ufp4_quantize_t how = options(i % OPTIONS);
    const int *shape = shapes[i / OPTIONS];
    fixture_tensor_t in = fixture_tensor(
        &random, shape[0], shape[1], (fixture_distribution_t)(i % distributions), dtype, how.axis);
    fixture_check_tensor(i, &in, &how);
    fixture_tensor_free(&in);
  }
}

TEST(odd_shapes_of_f32) {
  sweep(UFP4_DTYPE_F32, FIXTURE_DISTRIBUTIONS);
}
TEST(odd_shapes_of_bf16) {
  sweep(UFP4_DTYPE_BF16, FIXTURE_DISTRIBUTIONS);
}

TEST(exponents_given) {
  static const int exponents[] = {-32768, -200, -1, 0, 3, 8, 100, 32767};
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS * 8; i++) {
    ufp4_quantize_t how = options(i % OPTIONS);
    how.exponent_given = 1;
    how.exponent = exponents[i / OPTIONS];
    fixture_tensor_t in =
        fixture_tensor(&random, 19, 37, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS),
                       UFP4_DTYPE_F32, how.axis);
    fixture_check_tensor(i, &in, &how);
    fixture_tensor_free(&in);
  }
}

/** All numbers are equal except in one block, whose scale quotient lies on either side of 448, the
 * largest scale, or of 464, the midpoint to the next scale if there were one. */
TEST(saturates_from_448_on) {
  enum { ROWS = 40, COLS = 48 };
  const float quotients[] = {448.0f, nextafterf(448.0f, 512), 455.0f, nextafterf(464.0f, 0), 464.0f,
                             600.0f};
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS / 2 * 6; i++) {
    ufp4_quantize_t how = options(i % (OPTIONS / 2));
    how.exponent_given = 1;
    how.exponent = 3;
    const float unit =
        ldexpf((float)ufp4_elem_qmax_quanta(how.elem), -ufp4_elem_frac(how.elem) - how.exponent);
    const float quotient = quotients[i / (OPTIONS / 2)];
    uint32_t bits[ROWS * COLS];
    for (int j = 0; j < ROWS * COLS; j++) bits[j] = ufp4_f32_bits(unit * (how.rht ? 16 : 100));
    uint32_t *block = &bits[16 * check_below(&random, ROWS * COLS / 16)];
    // The mask cancels the signs of these sixteen equal numbers, so the transform makes one number,
    // four times as large.
    for (int j = 0; j < 16 && how.rht; j++)
      block[j] = ufp4_f32_bits((how.rht_mask >> j & 1 ? -1.0f : 1.0f) * unit * quotient / 4);
    if (!how.rht) block[check_below(&random, 16)] = ufp4_f32_bits(unit * quotient);
    fixture_tensor_t in = fixture_tensor_of(bits, ROWS, COLS);
    fixture_check_tensor(i, &in, &how);
    ufp4_operand_t got;
    check_bits(i, (uint64_t)ufp4_quantize(&in.view, &how, &got), UFP4_OK, "ufp4_quantize");
    check_bits(i, got.flags, quotient > 448 ? UFP4_FLAG_ROW_SATURATED : 0, "flags of %.9g",
               (double)quotient);
    ufp4_operand_free(&got);
    fixture_tensor_free(&in);
  }
}

TEST(exponent_worked) {
  // amax * 2^t / qmax <= 448: E2M1 at most 2688, E1M2 784, INT4 3136.
  static const struct {
    float amax;
    int e2m1, e1m2, int4;
  } table[] = {{1.0f, 11, 9, 11}, {2688.0f, 0, -2, 0},  {2689.0f, -1, -2, 0},
               {784.0f, 1, 0, 2}, {785.0f, 1, -1, 1},   {3136.0f, -1, -2, 0},
               {0.0f, 0, 0, 0},   {3137.0f, -1, -3, -1}};
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    const int want[3] = {table[i].e2m1, table[i].e1m2, table[i].int4};
    const float data[2] = {-table[i].amax, 0};
    const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 2, 2, data};
    for (int n = 0; n < 3; n++) {
      const ufp4_quantize_t how = options(n);
      int t = 999;
      ufp4_tensor_exponent(&in, &how, &t);
      check_bits(i, (uint64_t)(int64_t)t, (uint64_t)(int64_t)want[n], "amax %g, elem %d",
                 (double)table[i].amax, n);
    }
  }
}

TEST(exponent_ignores_poisoned_blocks) {
  float data[32] = {1.0f};
  data[16] = 1e30f;
  data[17] = ufp4_f32_value(0x7F800000);
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 32, 32, data};
  for (int n = 0; n < 6; n++) {
    const ufp4_quantize_t how = options(n);
    int got = 999, want = 998;
    const ufp4_matrix_t clean = {UFP4_DTYPE_F32, 1, 16, 16, data};
    ufp4_tensor_exponent(&in, &how, &got);
    ufp4_tensor_exponent(&clean, &how, &want);
    check_bits(n, (uint64_t)(int64_t)got, (uint64_t)(int64_t)want, "elem %u, rht %d", how.elem,
               how.rht);
  }
}

TEST(exponent_is_zero_without_clean_data) {
  float data[16] = {0};
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 16, 16, data};
  for (int n = 0; n < 6; n++) {
    const ufp4_quantize_t how = options(n);
    int t = 999;
    data[0] = 0;
    ufp4_tensor_exponent(&in, &how, &t);
    check_bits(n, (uint64_t)t, 0, "zeros");
    data[0] = ufp4_f32_value(0x7FC00000);
    t = 999;
    ufp4_tensor_exponent(&in, &how, &t);
    check_bits(n, (uint64_t)t, 0, "NaN");
  }
}

TEST(stochastic_rounding_depends_on_position_only) {
  // With t given, the codes of block g depend only on its data and on random bytes g.
  check_random_t random = check_random();
  for (int i = 0; i < 24; i++) {
    ufp4_quantize_t how = options(6 + i % 6);
    how.exponent_given = 1;
    how.exponent = 4;
    fixture_tensor_t in =
        fixture_tensor(&random, 7, 80, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, how.axis);
    ufp4_operand_t whole;
    if (ufp4_quantize(&in.view, &how, &whole) != UFP4_OK) abort();
    for (int64_t g = 0; g < 35; g++) {
      uint8_t bytes[16], codes[16], scale;
      ufp4_random_block(how.seed, how.tensor_id, (uint64_t)g, bytes);
      ufp4_quantize_block(in.blocked + 16 * g, &how, how.exponent, bytes, codes, &scale);
      check_bits(g, whole.scales[g], scale, "scale");
      for (int j = 0; j < 16; j++)
        check_bits(g, fixture_code(&whole, g / 5, g % 5 * 16 + j), codes[j], "code %d", j);
    }
    ufp4_operand_free(&whole);
    fixture_tensor_free(&in);
  }
}

/** Returns in how many codes two quantizations of the same data differ. */
static int differing(const ufp4_matrix_t *in, const ufp4_quantize_t *x, const ufp4_quantize_t *y) {
  ufp4_operand_t a, b;
  int count = 0;
  if (ufp4_quantize(in, x, &a) != UFP4_OK || ufp4_quantize(in, y, &b) != UFP4_OK) abort();
  for (int64_t r = 0; r < a.rows; r++) {
    for (int64_t k = 0; k < a.blocks * 16; k++)
      count += fixture_code(&a, r, k) != fixture_code(&b, r, k);
  }
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  return count;
}

TEST(seed_and_tensor_id_change_stochastic_codes_only) {
  check_random_t random = check_random();
  fixture_tensor_t in =
      fixture_tensor(&random, 32, 64, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
  for (int n = 0; n < 12; n++) {
    const ufp4_quantize_t how = options(n);
    ufp4_quantize_t other[4] = {how, how, how, how};
    other[0].seed ^= 1;
    other[1].seed ^= 1ull << 63;
    other[2].tensor_id ^= 1;
    other[3].tensor_id ^= 1ull << 63;
    for (int i = 0; i < 4; i++) {
      const int count = differing(&in.view, &how, &other[i]);
      check_that(n, how.round == UFP4_ROUND_SR ? count > 300 : count == 0,
                 "change %d: %d of 2048 codes differ", i, count);
    }
  }
  fixture_tensor_free(&in);
}

TEST(padding_without_rht_is_zero) {
  check_random_t random = check_random();
  for (int n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    fixture_tensor_t in =
        fixture_tensor(&random, 21, 21, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, how.axis);
    ufp4_operand_t out;
    int nonzero = 0;
    if (ufp4_quantize(&in.view, &how, &out) != UFP4_OK) abort();
    for (int64_t i = 0; i < 21 * 11; i++) nonzero += fixture_code(&out, i / 11, 21 + i % 11) != 0;
    check_that(n, how.rht ? nonzero > 100 : nonzero == 0,
               "%d of 231 padding codes are not zero, rht %d", nonzero, how.rht);
    ufp4_operand_free(&out);
    fixture_tensor_free(&in);
  }
}

TEST(dequantized_gaussian_is_near) {
  // This bound does not depend on either model: half a step of the largest cell is 1/6 of amax for
  // E2M1 and 1/14 for E1M2, and the scale is off by at most 1/16.
  check_random_t random = check_random();
  for (int n = 0; n < 2; n++) {
    const ufp4_quantize_t how = options(n);
    fixture_tensor_t in =
        fixture_tensor(&random, 64, 64, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    static float out[64 * 64];
    ufp4_operand_t q;
    if (ufp4_quantize(&in.view, &how, &q) != UFP4_OK || ufp4_dequantize(&q, 64, out, 64) != UFP4_OK)
      abort();
    for (int i = 0; i < 64 * 64; i++) {
      float amax = 0, x = ufp4_f32_value(in.blocked[i]);
      for (int j = i / 16 * 16; j < i / 16 * 16 + 16; j++) {
        const float y = ufp4_f32_value(in.blocked[j] & 0x7FFFFFFF);
        if (y > amax) amax = y;
      }
      const float bound = amax * (n == 0 ? 1.0f / 6 : 1.0f / 14) * 17 / 16 + amax / 16,
                  error = out[i] - x;
      check_that(i, error <= bound && error >= -bound, "elem %d: %g became %g", n, (double)x,
                 (double)out[i]);
    }
    ufp4_operand_free(&q);
    fixture_tensor_free(&in);
  }
}
