// SPDX-License-Identifier: Apache-2.0
// Arguments of the quantizer's calls that must be refused, leaving the output as it was.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ufp4/quantize.h"

static ufp4_quantize_t options(void) {
  return (ufp4_quantize_t){.elem = UFP4_ELEM_E2M1};
}

static float plain[32 * 32];

static void check_refused(int64_t index, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                          const char *what) {
  ufp4_operand_t out;
  int t = 4711;
  memset(&out, 0x5A, sizeof out);
  const ufp4_operand_t before = out;
  check_bits(index, (uint64_t)ufp4_quantize(in, how, &out), UFP4_ERROR_ARGUMENT,
             "ufp4_quantize, %s", what);
  check_that(index, memcmp(&out, &before, sizeof out) == 0, "ufp4_quantize, %s: output touched",
             what);
  check_bits(index, (uint64_t)ufp4_tensor_exponent(in, how, &t), UFP4_ERROR_ARGUMENT,
             "ufp4_tensor_exponent, %s", what);
  check_bits(index, (uint64_t)t, 4711, "ufp4_tensor_exponent, %s: output touched", what);
}

static const ufp4_matrix_t good = {UFP4_DTYPE_F32, 4, 4, 4, plain};

TEST(rejects_no_tensor) {
  const ufp4_matrix_t empty = {UFP4_DTYPE_F32, 4, 4, 4, NULL};
  const ufp4_quantize_t how = options();
  check_refused(0, NULL, &how, "no tensor");
  check_refused(1, &empty, &how, "no data");
}

TEST(rejects_no_options) {
  check_refused(0, &good, NULL, "no options");
}

TEST(rejects_no_output) {
  const ufp4_quantize_t how = options();
  check_bits(0, (uint64_t)ufp4_quantize(&good, &how, NULL), UFP4_ERROR_ARGUMENT, "no operand");
  check_bits(1, (uint64_t)ufp4_tensor_exponent(&good, &how, NULL), UFP4_ERROR_ARGUMENT,
             "no exponent");
  check_bits(2, (uint64_t)ufp4_operand_create(UFP4_ELEM_E2M1, 1, 1, NULL), UFP4_ERROR_ARGUMENT,
             "no operand to create");
}

/** A size that is refused as rows and as columns. */
static void check_size(int64_t index, int64_t size) {
  const ufp4_quantize_t how = options();
  const ufp4_matrix_t rows = {UFP4_DTYPE_F32, size, 1, 1, plain};
  const ufp4_matrix_t cols = {UFP4_DTYPE_F32, 1, size, INT64_MAX, plain};
  ufp4_operand_t out;
  check_refused(index, &rows, &how, "rows");
  check_refused(index, &cols, &how, "cols");
  check_bits(index, (uint64_t)ufp4_operand_create(UFP4_ELEM_E2M1, size, 1, &out),
             UFP4_ERROR_ARGUMENT, "create, rows");
  check_bits(index, (uint64_t)ufp4_operand_create(UFP4_ELEM_E2M1, 1, size, &out),
             UFP4_ERROR_ARGUMENT, "create, cols");
}

TEST(rejects_zero_sizes) {
  check_size(0, 0);
}

TEST(rejects_negative_sizes) {
  check_size(0, -1);
  check_size(1, INT64_MIN);
}

TEST(rejects_sizes_over_the_limit) {
  check_size(0, UFP4_MAX_DIM + 1);
  check_size(1, INT64_MAX);
}

TEST(rejects_a_short_leading_dimension) {
  const ufp4_quantize_t how = options();
  for (int64_t ld = -1; ld < 5; ld++) {
    const ufp4_matrix_t in = {UFP4_DTYPE_F32, 4, 5, ld, plain};
    check_refused(ld, &in, &how, "ld");
  }
}

TEST(rejects_a_dtype_that_is_no_float) {
  static const int bad[] = {UFP4_DTYPE_I64, UFP4_DTYPE_COUNT, 99};
  const ufp4_quantize_t how = options();
  for (int i = 0; i < 3; i++) {
    const ufp4_matrix_t in = {(ufp4_dtype_t)bad[i], 4, 4, 4, plain};
    check_refused(i, &in, &how, "dtype");
  }
}

TEST(rejects_an_unknown_element) {
  ufp4_quantize_t how = options();
  ufp4_operand_t out;
  how.elem = (ufp4_elem_t)UFP4_ELEM_COUNT;
  check_refused(0, &good, &how, "elem");
  check_bits(1, (uint64_t)ufp4_operand_create(how.elem, 1, 1, &out), UFP4_ERROR_ARGUMENT, "create");
}

TEST(rejects_an_unknown_scale) {
  ufp4_quantize_t how = options();
  how.scale = (ufp4_scale_t)UFP4_SCALE_COUNT;
  check_refused(0, &good, &how, "scale");
}

TEST(rejects_an_unknown_axis) {
  ufp4_quantize_t how = options();
  how.axis = (ufp4_axis_t)2;
  check_refused(0, &good, &how, "axis");
}

TEST(rejects_an_unknown_transform) {
  ufp4_quantize_t how = options();
  for (unsigned i = 0; i < 3; i++) {
    how.rht = (ufp4_rht_t)(i == 2 ? UINT32_MAX : UFP4_RHT_COUNT + i);
    check_refused(i, &good, &how, "rht");
  }
}

TEST(rejects_an_unknown_rounding) {
  ufp4_quantize_t how = options();
  ufp4_operand_t out;
  how.round = (ufp4_round_t)UFP4_ROUND_COUNT;
  check_bits(0, (uint64_t)ufp4_quantize(&good, &how, &out), UFP4_ERROR_ARGUMENT, "round");
}

TEST(rejects_an_unknown_scale_rounding) {
  ufp4_quantize_t how = options();
  ufp4_operand_t out;
  how.scale_round = (ufp4_scale_round_t)UFP4_SCALE_ROUND_COUNT;
  check_bits(0, (uint64_t)ufp4_quantize(&good, &how, &out), UFP4_ERROR_ARGUMENT, "scale_round");
}

TEST(rejects_an_exponent_beyond_16_bits) {
  static const int bad[] = {32768, -32769, 1 << 20, INT32_MIN};
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 4, 4, 4, plain};
  for (int i = 0; i < 4; i++) {
    ufp4_operand_t out;
    ufp4_quantize_t how = options();
    how.exponent_given = 1;
    how.exponent = bad[i];
    check_bits(i, (uint64_t)ufp4_quantize(&in, &how, &out), UFP4_ERROR_ARGUMENT, "exponent %d",
               bad[i]);
  }
}

/** An operand of 2 x 5 with its arrays. */
static ufp4_operand_t small_operand(void) {
  ufp4_operand_t out;
  if (ufp4_operand_create(UFP4_ELEM_E1M2, 2, 5, &out) != UFP4_OK) abort();
  return out;
}

static void check_dequantize_refused(int64_t index, const ufp4_operand_t *in, int64_t width,
                                     float *out, int64_t ld) {
  check_bits(index, (uint64_t)ufp4_dequantize(in, width, out, ld), UFP4_ERROR_ARGUMENT,
             "width %lld, ld %lld", (long long)width, (long long)ld);
}

TEST(rejects_dequantizing_to_another_width) {
  static const int64_t bad[] = {0, -1, 4, 6, 15, 17, 32};
  ufp4_operand_t in = small_operand();
  for (int i = 0; i < 7; i++) check_dequantize_refused(i, &in, bad[i], plain, 32);
  check_bits(7, (uint64_t)ufp4_dequantize(&in, 5, plain, 5), UFP4_OK, "the logical width");
  check_bits(8, (uint64_t)ufp4_dequantize(&in, 16, plain, 16), UFP4_OK, "whole blocks");
  ufp4_operand_free(&in);
}

TEST(rejects_dequantizing_to_short_rows) {
  ufp4_operand_t in = small_operand();
  check_dequantize_refused(0, &in, 5, plain, 4);
  check_dequantize_refused(1, &in, 16, plain, 15);
  check_dequantize_refused(2, &in, 5, plain, -5);
  ufp4_operand_free(&in);
}

TEST(rejects_dequantizing_without_operand_or_room) {
  ufp4_operand_t in = small_operand(), hollow = in;
  check_dequantize_refused(0, NULL, 5, plain, 5);
  check_dequantize_refused(1, &in, 5, NULL, 5);
  hollow.codes = NULL;
  check_dequantize_refused(2, &hollow, 5, plain, 5);
  hollow = in;
  hollow.scales = NULL;
  check_dequantize_refused(3, &hollow, 5, plain, 5);
  ufp4_operand_free(&in);
}

TEST(rejects_dequantizing_an_unknown_element) {
  ufp4_operand_t in = small_operand(), unknown = in;
  unknown.elem = (ufp4_elem_t)UFP4_ELEM_COUNT;
  check_dequantize_refused(0, &unknown, 5, plain, 5);
  ufp4_operand_free(&in);
}

TEST(accepts_freeing_nothing) {
  ufp4_operand_t empty;
  memset(&empty, 0, sizeof empty);
  ufp4_operand_free(&empty);
  ufp4_operand_free(NULL);
  check_that(0, empty.codes == NULL, "freed");
}
