// SPDX-License-Identifier: Apache-2.0
// Tests that the quantizer refuses invalid arguments and leaves its output unchanged.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "rows.h"
#include "ufp4/quantize.h"

typedef struct {
  ufp4_matrix_t in;
  ufp4_quantize_t how;
} call_t;

static float plain[32 * 32];
static const call_t good = {{UFP4_DTYPE_F32, 4, 4, 4, plain}, {.elem = UFP4_ELEM_E2M1}};

static void check_quantize(int64_t index, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                           const char *what) {
  ufp4_operand_t out;
  memset(&out, 0x5A, sizeof out);
  const ufp4_operand_t before = out;
  check_bits(index, (uint64_t)ufp4_quantize(in, how, &out), UFP4_ERROR_ARGUMENT,
             "ufp4_quantize, %s", what);
  check_that(index, memcmp(&out, &before, sizeof out) == 0, "ufp4_quantize, %s: output touched",
             what);
}

static void check_refused(int64_t index, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                          const char *what) {
  int t = 4711;
  check_quantize(index, in, how, what);
  check_bits(index, (uint64_t)ufp4_tensor_exponent(in, how, &t), UFP4_ERROR_ARGUMENT,
             "ufp4_tensor_exponent, %s", what);
  check_bits(index, (uint64_t)t, 4711, "ufp4_tensor_exponent, %s: output touched", what);
}

TEST(rejects_what_is_missing) {
  check_refused(0, NULL, &good.how, "no tensor");
  check_refused(1, &good.in, NULL, "no options");
  check_bits(2, (uint64_t)ufp4_quantize(&good.in, &good.how, NULL), UFP4_ERROR_ARGUMENT,
             "no operand");
  check_bits(3, (uint64_t)ufp4_tensor_exponent(&good.in, &good.how, NULL), UFP4_ERROR_ARGUMENT,
             "no exponent");
  check_bits(4, (uint64_t)ufp4_operand_create(UFP4_ELEM_E2M1, 1, 1, NULL), UFP4_ERROR_ARGUMENT,
             "no operand to create");
}

TEST(rejects_sizes) {
  static const int64_t bad[] = {0, -1, INT64_MIN, UFP4_MAX_DIM + 1, INT64_MAX};
  for (int i = 0; i < 5; i++) {
    const ufp4_matrix_t rows = {UFP4_DTYPE_F32, bad[i], 1, 1, plain};
    const ufp4_matrix_t cols = {UFP4_DTYPE_F32, 1, bad[i], INT64_MAX, plain};
    ufp4_operand_t out;
    check_refused(i, &rows, &good.how, "rows");
    check_refused(i, &cols, &good.how, "cols");
    check_bits(i, (uint64_t)ufp4_operand_create(UFP4_ELEM_E2M1, bad[i], 1, &out),
               UFP4_ERROR_ARGUMENT, "create, rows");
    check_bits(i, (uint64_t)ufp4_operand_create(UFP4_ELEM_E2M1, 1, bad[i], &out),
               UFP4_ERROR_ARGUMENT, "create, cols");
  }
}

TEST(rejects_a_short_leading_dimension) {
  for (int64_t ld = -1; ld < 5; ld++) {
    const ufp4_matrix_t in = {UFP4_DTYPE_F32, 4, 5, ld, plain};
    check_refused(ld, &in, &good.how, "ld");
  }
}

TEST(rejects_words_that_are_unknown) {
  static const row_t rows[] = {
      {"no data", {SET(in.data, 0)}},
      {"dtype", {SET(in.dtype, UFP4_DTYPE_I64)}},
      {"dtype", {SET(in.dtype, UFP4_DTYPE_COUNT)}},
      {"dtype", {SET(in.dtype, 99)}},
      {"elem", {SET(how.elem, UFP4_ELEM_KINDS)}},
      {"scale", {SET(how.scale, UFP4_SCALE_COUNT)}},
      {"axis", {SET(how.axis, 2)}},
      {"rht", {SET(how.rht, UFP4_RHT_COUNT)}},
      {"rht", {SET(how.rht, UFP4_RHT_COUNT + 1)}},
      {"rht", {SET(how.rht, UINT32_MAX)}},
      // Only the quantizer refuses these, because the tensor exponent does not depend on them.
      {"round", {SET(how.round, UFP4_ROUND_COUNT)}},
      {"scale_round", {SET(how.scale_round, UFP4_SCALE_ROUND_COUNT)}},
      {"exponent", {SET(how.exponent_given, 1), SET(how.exponent, 32768)}},
      {"exponent", {SET(how.exponent_given, 1), SET(how.exponent, -32769)}},
      {"exponent", {SET(how.exponent_given, 1), SET(how.exponent, 1 << 20)}},
      {"exponent", {SET(how.exponent_given, 1), SET(how.exponent, INT32_MIN)}},
  };
  for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
    call_t call = good;
    row_apply(&rows[i], &call);
    (i < 10 ? check_refused : check_quantize)(i, &call.in, &call.how, rows[i].what);
  }
  ufp4_operand_t out;
  check_bits(0, (uint64_t)ufp4_operand_create((ufp4_elem_t)UFP4_ELEM_KINDS, 1, 1, &out),
             UFP4_ERROR_ARGUMENT, "create");
}

/** Creates an operand of 2 x 5 with its arrays. */
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

TEST(rejects_dequantizing_to_another_width_or_short_rows) {
  static const int64_t bad[] = {0, -1, 4, 6, 15, 17, 32};
  ufp4_operand_t in = small_operand();
  for (int i = 0; i < 7; i++) check_dequantize_refused(i, &in, bad[i], plain, 32);
  check_bits(7, (uint64_t)ufp4_dequantize(&in, 5, plain, 5), UFP4_OK, "the logical width");
  check_bits(8, (uint64_t)ufp4_dequantize(&in, 16, plain, 16), UFP4_OK, "whole blocks");
  check_dequantize_refused(9, &in, 5, plain, 4);
  check_dequantize_refused(10, &in, 16, plain, 15);
  check_dequantize_refused(11, &in, 5, plain, -5);
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
  hollow = in;
  hollow.elem = (ufp4_elem_t)UFP4_ELEM_KINDS;
  check_dequantize_refused(4, &hollow, 5, plain, 5);
  ufp4_operand_free(&in);
}

TEST(accepts_freeing_nothing) {
  ufp4_operand_t empty;
  memset(&empty, 0, sizeof empty);
  ufp4_operand_free(&empty);
  ufp4_operand_free(NULL);
  check_that(0, empty.codes == NULL, "freed");
}
