// SPDX-License-Identifier: Apache-2.0
// Arguments of ufp4_gemm that must be refused, leaving D as it was.
#include <string.h>

#include "fixture.h"
#include "ufp4/format.h"

typedef struct {
  ufp4_operand_t a, b;
  ufp4_gemm_t how;
  int64_t ld;
} call_t;

static call_t call(void) {
  check_random_t random = check_random();
  const call_t c = {fixture_operand(&random, UFP4_ELEM_E2M1, 4, 20, FIXTURE_SCALES_ANY),
                    fixture_operand(&random, UFP4_ELEM_E2M1, 5, 20, FIXTURE_SCALES_ANY),
                    {.contract = UFP4_CONTRACT_EXACT, .d_dtype = UFP4_DTYPE_F32, .alpha = 1},
                    5};
  return c;
}

static void call_free(call_t *c) {
  ufp4_operand_free(&c->a);
  ufp4_operand_free(&c->b);
}

static void check_refused(int64_t index, const ufp4_operand_t *a, const ufp4_operand_t *b,
                          const ufp4_gemm_t *how, int64_t ld, const char *what) {
  uint64_t d[64], before[64];
  memset(d, 0xA5, sizeof d);
  memcpy(before, d, sizeof d);
  check_bits(index, (uint64_t)ufp4_gemm(a, b, how, d, ld), UFP4_ERROR_ARGUMENT, "%s", what);
  check_that(index, memcmp(d, before, sizeof d) == 0, "%s: output touched", what);
}

TEST(rejects_no_operand) {
  call_t c = call();
  check_refused(0, NULL, &c.b, &c.how, c.ld, "no A");
  check_refused(1, &c.a, NULL, &c.how, c.ld, "no B");
  call_free(&c);
}

TEST(rejects_no_options) {
  call_t c = call();
  check_refused(0, &c.a, &c.b, NULL, c.ld, "no options");
  call_free(&c);
}

TEST(rejects_no_output) {
  call_t c = call();
  check_bits(0, (uint64_t)ufp4_gemm(&c.a, &c.b, &c.how, NULL, c.ld), UFP4_ERROR_ARGUMENT, "no D");
  call_free(&c);
}

TEST(rejects_hollow_operands) {
  call_t c = call();
  ufp4_operand_t hollow = c.a;
  hollow.codes = NULL;
  check_refused(0, &hollow, &c.b, &c.how, c.ld, "no codes");
  hollow = c.b;
  hollow.scales = NULL;
  check_refused(1, &c.a, &hollow, &c.how, c.ld, "no scales");
  call_free(&c);
}

TEST(rejects_operands_that_do_not_match) {
  check_random_t random = check_random();
  static const int bad[] = {1, 16, 19, 21, 32, 36};
  call_t c = call();
  for (int i = 0; i < 6; i++) {
    ufp4_operand_t b = fixture_operand(&random, UFP4_ELEM_E2M1, 5, bad[i], FIXTURE_SCALES_ANY);
    check_refused(i, &c.a, &b, &c.how, c.ld, "K of B");
    ufp4_operand_free(&b);
  }
  call_free(&c);
}

/** A size that is refused as M, N and K. */
static void check_size(int64_t index, int64_t size) {
  call_t c = call();
  ufp4_operand_t a = c.a, b = c.b;
  a.rows = size;
  check_refused(index, &a, &b, &c.how, INT64_MAX, "M");
  a.rows = 4;
  b.rows = size;
  check_refused(index, &a, &b, &c.how, INT64_MAX, "N");
  b.rows = 5;
  a.cols = b.cols = size;
  check_refused(index, &a, &b, &c.how, c.ld, "K");
  call_free(&c);
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

TEST(rejects_k_over_its_limit) {
  call_t c = call();
  ufp4_operand_t a = c.a, b = c.b;
  a.rows = b.rows = 1;
  a.cols = b.cols = UFP4_MAX_DIM + 1;
  a.blocks = b.blocks = UFP4_MAX_DIM / 16 + 1;
  check_refused(0, &a, &b, &c.how, c.ld, "K of 2^20 + 1");
  call_free(&c);
}

TEST(rejects_block_counts_that_are_not_of_k) {
  call_t c = call();
  for (int64_t blocks = -1; blocks < 5; blocks++) {
    ufp4_operand_t a = c.a, b = c.b;
    if (blocks == 2) continue;
    a.blocks = blocks;
    check_refused(blocks, &a, &b, &c.how, c.ld, "blocks of A");
    a.blocks = 2;
    b.blocks = blocks;
    check_refused(blocks, &a, &b, &c.how, c.ld, "blocks of B");
  }
  call_free(&c);
}

TEST(rejects_short_rows_of_d) {
  call_t c = call();
  for (int64_t ld = -1; ld < 5; ld++) check_refused(ld, &c.a, &c.b, &c.how, ld, "ld of D");
  call_free(&c);
}

TEST(rejects_short_rows_of_c) {
  call_t c = call();
  static const float matrix[64];
  c.how.c = matrix;
  for (c.how.c_ld = -1; c.how.c_ld < 5; c.how.c_ld++)
    check_refused(c.how.c_ld, &c.a, &c.b, &c.how, c.ld, "ld of C");
  call_free(&c);
}

TEST(rejects_short_rows_of_sums) {
  call_t c = call();
  static const int64_t sums[64];
  c.how.accumulate = sums;
  for (int64_t ld = -1; ld < 5; ld++) {
    c.how.accumulate_ld = ld;
    check_refused(ld, &c.a, &c.b, &c.how, c.ld, "ld of the sums");
  }
  call_free(&c);
}

TEST(rejects_an_unknown_dtype) {
  call_t c = call();
  c.how.d_dtype = (ufp4_dtype_t)UFP4_DTYPE_COUNT;
  check_refused(0, &c.a, &c.b, &c.how, c.ld, "dtype");
  call_free(&c);
}

TEST(rejects_an_unknown_contract) {
  call_t c = call();
  c.how.contract = (ufp4_contract_t)UFP4_CONTRACT_COUNT;
  check_refused(0, &c.a, &c.b, &c.how, c.ld, "contract");
  call_free(&c);
}

TEST(rejects_unknown_formats) {
  call_t c = call();
  ufp4_operand_t elem = c.a, scale = c.b;
  elem.elem = (ufp4_elem_t)UFP4_ELEM_COUNT;
  scale.scale = (ufp4_scale_t)UFP4_SCALE_COUNT;
  check_refused(0, &elem, &c.b, &c.how, c.ld, "elem");
  check_refused(1, &c.a, &scale, &c.how, c.ld, "scale");
  call_free(&c);
}

TEST(rejects_i64_with_alpha) {
  call_t c = call();
  c.how.d_dtype = UFP4_DTYPE_I64;
  c.how.alpha = 2;
  check_refused(0, &c.a, &c.b, &c.how, c.ld, "alpha");
  call_free(&c);
}

TEST(rejects_i64_with_c) {
  call_t c = call();
  static const float matrix[64];
  c.how.d_dtype = UFP4_DTYPE_I64;
  c.how.c = matrix;
  c.how.c_ld = 5;
  check_refused(0, &c.a, &c.b, &c.how, c.ld, "C");
  call_free(&c);
}

TEST(rejects_exponents_beyond_16_bits) {
  static const int bad[] = {32768, -32769, INT32_MAX, INT32_MIN};
  call_t c = call();
  for (int i = 0; i < 4; i++) {
    ufp4_operand_t a = c.a, b = c.b;
    a.exponent = bad[i];
    check_refused(i, &a, &c.b, &c.how, c.ld, "t of A");
    b.exponent = bad[i];
    check_refused(i, &c.a, &b, &c.how, c.ld, "t of B");
  }
  call_free(&c);
}

TEST(rejects_negative_threads) {
  call_t c = call();
  c.how.threads = -1;
  check_refused(0, &c.a, &c.b, &c.how, c.ld, "threads");
  call_free(&c);
}
