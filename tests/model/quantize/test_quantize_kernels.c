// SPDX-License-Identifier: Apache-2.0
// Every quantizer kernel gives the bits of the portable one. The kernel is that of UFP4_KERNEL
// (unset: the fastest); the portable one has the reference model as its witness, and so have all in
// the runs of test_tensor.c that CMakeLists.txt adds.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

// --- Comparison ---------------------------------------------------------------------------------

static uint64_t block_codes(const ufp4_operand_t *x, int64_t group) {
  uint64_t codes;
  memcpy(&codes, x->codes + 8 * group, 8);
  return codes;
}

/** Quantizes one tensor by the tested and the portable kernel. @return its number of blocks. */
static int64_t check_both(int64_t index, const ufp4_matrix_t *in, const ufp4_quantize_t *how) {
  ufp4_quantize_t tested = *how, portable = *how;
  ufp4_operand_t got, want;
  int got_t = 99999, want_t = 99998;
  char what[200];
  tested.kernel = fixture_kernel();
  portable.kernel = UFP4_KERNEL_PORTABLE;
  snprintf(what, sizeof what,
           "%lld x %lld, ld %lld, dtype %u, elem %u, axis %u, rht %u %04x, round %u %u, t %s %d",
           (long long)in->rows, (long long)in->cols, (long long)in->ld, in->dtype, how->elem,
           how->axis, how->rht, (unsigned)how->rht_mask, how->round, how->scale_round,
           how->exponent_given ? "given" : "derived", how->exponent);
  if (ufp4_quantize(in, &portable, &want) != UFP4_OK ||
      ufp4_tensor_exponent(in, &portable, &want_t) != UFP4_OK)
    abort();
  check_bits(index, ufp4_tensor_exponent(in, &tested, &got_t), UFP4_OK,
             "%s: status of the exponent", what);
  check_bits(index, (uint64_t)got_t, (uint64_t)want_t, "%s: exponent", what);
  if (!check_bits(index, ufp4_quantize(in, &tested, &got), UFP4_OK, "%s: status", what)) return 0;
  check_bits(index, (uint64_t)got.exponent, (uint64_t)want.exponent, "%s: exponent of the operand",
             what);
  check_bits(index, got.flags, want.flags, "%s: flags", what);
  const int64_t blocks = want.rows * want.blocks;
  for (int64_t i = 0; i < blocks; i++) {
    check_bits(index, got.scales[i], want.scales[i], "%s: scale %lld", what, (long long)i);
    check_bits(index, block_codes(&got, i), block_codes(&want, i), "%s: codes of block %lld", what,
               (long long)i);
  }
  ufp4_operand_free(&got);
  ufp4_operand_free(&want);
  return blocks;
}

// --- Options ------------------------------------------------------------------------------------

/** Returns option set n of 3 x 2 x 2 x 2 x 2: element, RHT, rounding, axis, scale rounding. */
static ufp4_quantize_t options(int n) {
  static const ufp4_elem_t elems[] = {UFP4_ELEM_E2M1, UFP4_ELEM_E1M2, UFP4_ELEM_INT4};
  const ufp4_quantize_t how = {
      .elem = elems[n % 3],
      .rht = n / 3 % 2 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
      .rht_mask = UFP4_RHT_DEFAULT_MASK,
      .round = n / 6 % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
      .axis = n / 12 % 2 ? UFP4_AXIS_COL : UFP4_AXIS_ROW,
      .scale_round = n / 24 % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE};
  return how;
}
#define OPTIONS 48

static ufp4_quantize_t drawn_options(check_random_t *random) {
  ufp4_quantize_t how = options((int)check_below(random, OPTIONS));
  if (check_below(random, 2)) how.rht_mask = (uint16_t)check_next(random);
  if (check_below(random, 4) == 0) how.elem = UFP4_ELEM_MIXED;
  how.seed = check_next(random);
  how.tensor_id = check_next(random);
  how.exponent_given = check_below(random, 3) == 0;
  how.exponent = (int)check_below(random, 24) - 8;
  return how;
}

// --- Properties ---------------------------------------------------------------------------------

/** Checks a tensor of a distribution with drawn size and options. */
static int64_t check_drawn(check_random_t *random, int64_t index,
                           fixture_distribution_t distribution) {
  const ufp4_quantize_t how = drawn_options(random);
  const int rows = 1 + (int)check_below(random, 130);
  int cols = 1 + (int)check_below(random, 400);
  if (check_below(random, 2)) cols = (cols + 15) / 16 * 16;
  fixture_tensor_t in =
      fixture_tensor(random, rows, cols, distribution,
                     check_below(random, 3) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16, how.axis);
  const int64_t blocks = check_both(index, &in.view, &how);
  fixture_tensor_free(&in);
  return blocks;
}

TEST(every_distribution) {
  check_random_t random = check_random();
  for (int i = 0; i < 50 * FIXTURE_DISTRIBUTIONS; i++)
    check_drawn(&random, i, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS));
}

SLOW_TEST(many_blocks) {
  check_random_t random = check_random();
  int64_t blocks = 0;
  check_next(&random);
  for (int i = 0; blocks < 250000; i++) {
    blocks += check_drawn(&random, i, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS));
  }
}

/** Checks a dense tensor of the caller's numbers, along the axis that @p how names. */
static void check_numbers(int64_t index, const uint32_t *numbers, int64_t blocks,
                          const ufp4_quantize_t *how) {
  ufp4_matrix_t in = {UFP4_DTYPE_F32, blocks, 16, 16, numbers};
  uint32_t *turned = malloc((size_t)blocks * 16 * sizeof *turned);
  if (!turned) abort();
  if (how->axis == UFP4_AXIS_COL) {
    for (int64_t i = 0; i < 16 * blocks; i++) turned[i % 16 * blocks + i / 16] = numbers[i];
    in = (ufp4_matrix_t){UFP4_DTYPE_F32, 16, blocks, blocks, turned};
  }
  check_both(index, &in, how);
  free(turned);
}

// Element 0 determines the scale; the others are multiples of 1/64 of its quantum. This gives ties
// for each significand, and numbers one step beside them.
TEST(ties_of_every_significand) {
  enum { COUNT = 8 * 64 };
  uint32_t *numbers = malloc(COUNT * 16 * sizeof *numbers);
  if (!numbers) abort();
  for (int n = 0; n < OPTIONS * 3; n++) {
    ufp4_quantize_t how = options(n % OPTIONS);
    const int step = n / OPTIONS - 1, largest = how.elem == UFP4_ELEM_E2M1 ? 12 : 7;
    how.exponent_given = 1;
    for (int i = 0; i < COUNT * 16; i++) {
      const int significand = 8 + i / 16 % 8, k = i / 128 * 16 + i % 16;
      const float x = (float)(i % 16 == 0 ? 64 * largest * significand
                                          : k * significand % (64 * largest * significand));
      const uint32_t bits = ufp4_f32_bits(i % 3 ? x / 64 : -x / 64);
      numbers[i] = bits + (uint32_t)(i % 16 == 0 || x == 0 ? 0 : step);
    }
    check_numbers(n, numbers, COUNT, &how);
  }
  free(numbers);
}

/** Returns the sign of element i in sum j: row @p j of the Hadamard matrix times the mask. */
static int sign_in_sum(uint16_t mask, int j, int i) {
  return (__builtin_popcount((unsigned)(i & j)) + (mask >> i & 1)) & 1 ? -1 : 1;
}

/** Makes a block whose sum j is @p target quanta of the scale plus @p units, and whose other sums
 * are that or 7 (E2M1: 12) quanta. Elements 0 and 1 determine the sums, for which j must be odd;
 * the others are truncated by nearly a unit each, all to the same side. @return 0 if there is no
 * such block. */
static int near_boundary(check_random_t *random, const ufp4_quantize_t *how, int j, double target,
                         int units, uint32_t numbers[16]) {
  const int odd = how->elem == UFP4_ELEM_E2M1 ? 3 : 7;
  const double scale = ldexp(8 + (int)check_below(random, 8), 18 + (int)check_below(random, 3));
  const double quantum = how->elem == UFP4_ELEM_E2M1 ? scale / 4 : scale;
  int64_t sum = llround(target * quantum) + units, large = (int64_t)(odd * scale) & ~INT64_C(1);
  for (int i = 2; i < 16; i++) {
    const int64_t whole = 1 + (int64_t)check_below(random, 500);
    const int sign = sign_in_sum((uint16_t)how->rht_mask, j, i);
    numbers[i] = ufp4_f32_bits((float)(sign * ldexp((double)whole + 0.99, -20)));
    sum -= whole;
  }
  large += (large ^ sum) & 1;
  const int64_t first = (large + sum) / 2, second = (large - sum) / 2;
  if (first < 1 << 23 || first >= 1 << 24 || second < 0) return 0;
  numbers[0] = ufp4_f32_bits(
      (float)(sign_in_sum((uint16_t)how->rht_mask, j, 0) * ldexp((double)first, -20)));
  numbers[1] = ufp4_f32_bits(
      (float)(-sign_in_sum((uint16_t)how->rht_mask, j, 1) * ldexp((double)second, -20)));
  return 1;
}

// Each sum lies so near a boundary that the truncated bits decide its code. Only one block of 16 is
// of this kind, because kernels may treat many such blocks differently.
static void check_boundaries(check_random_t *random, int64_t index, const ufp4_quantize_t *how) {
  enum { COUNT = 16 * 14 };
  static const int low[2][7] = {{0, 1, 2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 6, 8}},
                   cell[7] = {1, 1, 1, 1, 2, 2, 4};
  const int e2m1 = how->elem == UFP4_ELEM_E2M1;
  uint32_t numbers[COUNT * 16] = {0};
  for (int64_t group = index % 16; group < COUNT;) {
    uint8_t bytes[16];
    const int j = 2 * (int)check_below(random, 8) + 1, code = (int)check_below(random, 7);
    ufp4_random_block(how->seed, how->tensor_id, (uint64_t)group, bytes);
    const double fraction = how->round == UFP4_ROUND_SR ? (bytes[j] + 0.5) / 256 : 0.5;
    const double target = low[e2m1][code] + fraction * (e2m1 ? cell[code] : 1);
    const int units = (int)check_below(random, 81) - 40;
    if (near_boundary(random, how, j, target, units, numbers + 16 * group)) group += 16;
  }
  check_numbers(index, numbers, COUNT, how);
}

TEST(truncated_sums_at_boundaries) {
  check_random_t random = check_random();
  for (int n = 0; n < OPTIONS * 40; n++) {
    ufp4_quantize_t how = options(n % OPTIONS);
    if (how.rht == UFP4_RHT_NONE) continue;
    how.rht_mask = (uint16_t)check_next(&random);
    how.seed = check_next(&random);
    check_boundaries(&random, n, &how);
  }
}

// Some float sums overflow to infinities of both signs, whose sum is NaN; others do not.
TEST(transforms_that_overflow_both_ways) {
  uint32_t numbers[16 * 16];
  for (int n = 0; n < OPTIONS * 45; n++) {
    ufp4_quantize_t how = options(n % OPTIONS);
    if (how.rht == UFP4_RHT_NONE) continue;
    const int large = n / OPTIONS, negative = large % 9, small = large / 9;
    how.rht_mask = UFP4_RHT_DEFAULT_MASK;
    for (int i = 0; i < 16 * 16; i++) {
      const int at = i % 16, sign = (how.rht_mask >> at & 1) ^ (at >= 8 - negative);
      const float rest = small % 2 ? 1.3f * (float)(at - 7) : 0.0f;
      const uint32_t number = at < 8 ? 0x7F61B1E6u : ufp4_f32_bits(rest);  // 3e38
      numbers[i] = number ^ (uint32_t)(at < 8 && sign) << 31;
    }
    how.exponent_given = small >= 2;
    how.exponent = -119 - small;
    check_numbers(n, numbers, 16, &how);
  }
}

// Vector code leaves some blocks to scalar code. The largest exponents lie on both sides of its
// limits, and some blocks are zero or have a NaN.
TEST(tiles_of_mixed_exponents) {
  enum { COUNT = 256 };
  static const int exponents[] = {0, 1, 2, 38, 39, 40, 41, 127, 228, 229, 230, 231, 253, 254, 255};
  uint32_t *numbers = malloc(COUNT * 16 * sizeof *numbers);
  check_random_t random = check_random();
  if (!numbers) abort();
  for (int n = 0; n < OPTIONS * 15; n++) {
    ufp4_quantize_t how = options(n % OPTIONS);
    const int usual = exponents[n / OPTIONS];
    how.exponent_given = n % 7 == 0;
    how.exponent = 134 - usual;
    for (int i = 0; i < COUNT; i++) {
      const int other = exponents[check_below(&random, 14)];
      const int exponent = check_below(&random, 20) ? usual - (usual == 255) : other,
                zero = !check_below(&random, 30);
      for (int j = 0; j < 16; j++) {
        const uint32_t bits = (uint32_t)check_next(&random) & 0x807FFFFFu;
        numbers[16 * i + j] = zero ? bits & 0x80000000u : bits | (uint32_t)exponent << 23;
      }
      if (check_below(&random, 100) == 0) numbers[16 * i + 5] = 0x7FC00000;
    }
    check_numbers(n, numbers, COUNT, &how);
  }
  free(numbers);
}

// Scales range from under the smallest to over the largest, for each tensor exponent.
TEST(every_given_exponent) {
  check_random_t random = check_random();
  for (int i = 0; i < 60 * 6; i++) {
    ufp4_quantize_t how = options(i * 5 % OPTIONS);
    how.exponent_given = 1;
    how.exponent = i < 300 ? i / 6 - 20 : (i % 2 ? INT16_MIN : INT16_MAX);
    fixture_tensor_t in =
        fixture_tensor(&random, 37, 53, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, how.axis);
    check_both(i, &in.view, &how);
    fixture_tensor_free(&in);
  }
}

// All blocks are equal, so that all have the largest scale.
TEST(equal_blocks) {
  uint32_t numbers[64 * 16];
  for (int i = 0; i < OPTIONS * 32; i++) {
    const ufp4_quantize_t how = options(i % OPTIONS);
    for (int j = 0; j < 64 * 16; j++)
      numbers[j] = ufp4_f32_bits((float)((j % 16 * 5 + i) % 32 - 15));
    check_numbers(i, numbers, 64, &how);
  }
}

TEST(every_small_shape) {
  check_random_t random = check_random();
  for (int i = 0; i < 36 * 50; i++) {
    ufp4_quantize_t how = options(i * 7 % OPTIONS);
    how.seed = (uint64_t)i;
    fixture_tensor_t in = fixture_tensor(&random, 1 + i % 36, 1 + i / 36 * 7 % 150,
                                         FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, how.axis);
    check_both(i, &in.view, &how);
    fixture_tensor_free(&in);
  }
}

// The tensor has more rows and blocks than one strip of the column walk.
TEST(several_strips) {
  static const int shapes[][2] = {{300, 530}, {128, 272}, {144, 256},
                                  {530, 300}, {4200, 40}, {40, 4200}};
  check_random_t random = check_random();
  for (int i = 0; i < 6 * 12; i++) {
    const ufp4_quantize_t how = options(12 + i % 12);
    fixture_tensor_t in =
        fixture_tensor(&random, shapes[i / 12][0], shapes[i / 12][1], FIXTURE_OUTLIERS,
                       i % 5 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16, how.axis);
    check_both(i, &in.view, &how);
    fixture_tensor_free(&in);
  }
}

// Codes of 4 MiB and more are stored on another path. There are more columns than a strip has.
TEST(column_copy_of_a_large_tensor) {
  enum { ROWS = 1664, COLS = 5200 };
  uint32_t *numbers = malloc((size_t)ROWS * COLS * sizeof *numbers);
  check_random_t random = check_random();
  if (!numbers) abort();
  for (int i = 0; i < ROWS * COLS; i++) {
    const uint32_t bits = (uint32_t)check_next(&random);
    numbers[i] = (bits & 0x807FFFFFu) | (120 + (bits >> 23 & 7)) << 23;
  }
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, COLS, COLS, numbers};
  for (int i = 0; i < 2; i++) {
    ufp4_quantize_t how = options(12 + 3 + 6 + i);
    how.exponent_given = i;
    how.exponent = 4;
    check_both(i, &in, &how);
  }
  free(numbers);
}

TEST(rejects_a_kernel_that_does_not_exist) {
  const float number = 1;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 1, 1, &number};
  ufp4_quantize_t how = options(0);
  ufp4_operand_t out = {.rows = 12345};
  int t = 12345;
  how.kernel = UFP4_KERNEL_COUNT;
  check_bits(0, ufp4_quantize(&in, &how, &out), UFP4_ERROR_ARGUMENT, "ufp4_quantize");
  check_bits(0, ufp4_tensor_exponent(&in, &how, &t), UFP4_ERROR_ARGUMENT, "ufp4_tensor_exponent");
  check_that(0, out.rows == 12345 && t == 12345, "outputs are untouched");
}
