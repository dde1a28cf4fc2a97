// SPDX-License-Identifier: Apache-2.0
// Tests that the number of threads does not change the bits of the quantizer.
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "legal.h"
#include "ufp4/format.h"

enum { ROWS = 701, COLS = 1030 };
static uint32_t numbers[ROWS * COLS];

static void check_same(int64_t index, const ufp4_operand_t *got, const ufp4_operand_t *want) {
  check_bits(index, (uint64_t)got->exponent, (uint64_t)want->exponent, "exponent");
  check_bits(index, got->flags, want->flags, "flags");
  check_that(index, memcmp(got->codes, want->codes, (size_t)(want->rows * want->blocks) * 8) == 0,
             "codes");
  int64_t bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(want, &bytes);
  check_that(index, memcmp(ufp4_operand_scale_bytes(got, &bytes), scales, (size_t)bytes) == 0,
             "scales");
}

static void check_threads(int64_t index, const ufp4_matrix_t *in, ufp4_quantize_t how) {
  static const int threads[] = {1, 2, 3, 5, 200};
  ufp4_operand_t want, got;
  if (ufp4_quantize(in, &how, &want) != UFP4_OK) abort();
  for (int i = 0; i < 5; i++) {
    how.threads = threads[i];
    check_bits(index, ufp4_quantize(in, &how, &got), UFP4_OK, "%d threads", threads[i]);
    check_same(index, &got, &want);
    ufp4_operand_free(&got);
  }
  ufp4_operand_free(&want);
}

// Checks both axes, roundings and transforms with one kernel, with t from the data and with t
// given.
static void check_kernel(ufp4_kernel_t kernel) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, COLS - 3, COLS, numbers};
  const ufp4_matrix_t halves = {UFP4_DTYPE_BF16, ROWS, COLS, COLS + 6, numbers};
  if (!ufp4_kernel_available(kernel)) kernel = UFP4_KERNEL_FASTEST;
  for (int i = 0; i < 32; i++) {
    const ufp4_quantize_t how = {.elem = (ufp4_elem_t)(i % 3),
                                 .axis = (ufp4_axis_t)(i & 1),
                                 .rht = i & 2 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
                                 .rht_mask = 0xD7E8,
                                 .round = i & 4 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
                                 .seed = 7,
                                 .tensor_id = 9,
                                 .exponent_given = i >> 3 & 1,
                                 .exponent = 3,
                                 .kernel = kernel};
    check_threads(i, i & 16 ? &halves : &in, how);
  }
}

static void fill(void) {
  check_random_t random = check_random();
  fixture_numbers(&random, FIXTURE_OUTLIERS, numbers, ROWS * COLS);
}

TEST(any_number_of_threads_gives_the_same_bits_portable) {
  fill();
  check_kernel(UFP4_KERNEL_PORTABLE);
}

TEST(any_number_of_threads_gives_the_same_bits_avx2) {
  fill();
  check_kernel(UFP4_KERNEL_AVX2);
}

TEST(any_number_of_threads_gives_the_same_bits_avx512) {
  fill();
  check_kernel(UFP4_KERNEL_AVX512);
}

TEST(parts_without_a_number_ask_for_no_exponent) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, COLS, COLS, numbers};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2};
  fill();
  memset(numbers, 0, sizeof(uint32_t) * 300 * COLS);
  for (int i = 400 * COLS; i < 600 * COLS; i++) numbers[i] = 0x7F800000u;
  check_threads(0, &in, how);
  memset(numbers, 0, sizeof numbers);
  check_threads(1, &in, how);
}

TEST(other_scales_take_threads_too) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, COLS, COLS, numbers};
  fill();
  // No option has seven values, so every seventh combination covers each value of each option.
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n += check_draws(7, 1)) {
    ufp4_quantize_t how = legal_quantize_combination(n);
    how.axis = (ufp4_axis_t)(n / 2 & 1);
    if (how.scale != UFP4_SCALE_E4M3 && legal_quantize(&how)) check_threads(n, &in, how);
  }
}

TEST(rejects_a_negative_number_of_threads) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, COLS, COLS, numbers};
  const ufp4_quantize_t how = {.threads = -1};
  ufp4_operand_t out;
  check_bits(0, ufp4_quantize(&in, &how, &out), UFP4_ERROR_ARGUMENT, "status");
}
