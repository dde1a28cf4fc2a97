// SPDX-License-Identifier: Apache-2.0
// Arguments of ufp4_gemm that must be refused, leaving D as it was.
#include <string.h>

#include "fixture.h"
#include "rows.h"
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

static void check_rows(const row_t *rows, size_t count) {
  call_t good = call();
  for (size_t i = 0; i < count; i++) {
    call_t c = good;
    row_apply(&rows[i], &c);
    check_refused((int64_t)i, &c.a, &c.b, &c.how, c.ld, rows[i].what);
  }
  call_free(&good);
}

TEST(rejects_what_is_missing) {
  call_t c = call();
  check_refused(0, NULL, &c.b, &c.how, c.ld, "no A");
  check_refused(1, &c.a, NULL, &c.how, c.ld, "no B");
  check_refused(2, &c.a, &c.b, NULL, c.ld, "no options");
  check_bits(3, (uint64_t)ufp4_gemm(&c.a, &c.b, &c.how, NULL, c.ld), UFP4_ERROR_ARGUMENT, "no D");
  call_free(&c);
}

TEST(rejects_operands) {
  static const row_t rows[] = {
      {"no codes", {SET(a.codes, 0)}},
      {"no scales", {SET(b.scales, 0)}},
      {"no such elements", {SET(a.elem, UFP4_ELEM_COUNT)}},
      {"no such scales", {SET(b.scale, UFP4_SCALE_COUNT)}},
      {"t of A", {SET(a.exponent, 32768)}},
      {"t of A", {SET(a.exponent, INT32_MIN)}},
      {"t of B", {SET(b.exponent, -32769)}},
      {"t of B", {SET(b.exponent, INT32_MAX)}},
      {"K of B", {SET(b.cols, 19)}},
      {"K of B", {SET(b.cols, 21)}},
      {"K of B", {SET(b.cols, 32)}},
      {"K of B", {SET(b.cols, 1), SET(b.blocks, 1), SET(b.scale_blocks, 1)}},
      {"K of B", {SET(b.cols, 16), SET(b.blocks, 1), SET(b.scale_blocks, 1)}},
      {"K of B", {SET(b.cols, 36), SET(b.blocks, 3), SET(b.scale_blocks, 3)}},
      {"negative threads", {SET(how.threads, -1)}},
  };
  check_rows(rows, sizeof rows / sizeof *rows);
}

TEST(rejects_sizes) {
  static const int64_t bad[] = {0, -1, INT64_MIN, UFP4_MAX_DIM + 1, INT64_MAX};
  for (int i = 0; i < 5; i++) {
    const row_t rows[] = {{"M", {SET(a.rows, bad[i]), SET(ld, INT64_MAX)}},
                          {"N", {SET(b.rows, bad[i]), SET(ld, INT64_MAX)}},
                          {"K", {SET(a.cols, bad[i]), SET(b.cols, bad[i])}}};
    check_rows(rows, 3);
  }
  // Only K is wrong, and its counts of blocks go with it.
  const int64_t blocks = UFP4_MAX_DIM / 16 + 1;
  const row_t k = {"K of 2^20 + 1",
                   {SET(a.cols, UFP4_MAX_DIM + 1), SET(b.cols, UFP4_MAX_DIM + 1),
                    SET(a.blocks, blocks), SET(b.blocks, blocks)}};
  check_rows(&k, 1);
}

TEST(rejects_block_counts_that_are_not_of_k) {
  for (int64_t blocks = -1; blocks < 5; blocks++) {
    const row_t rows[] = {{"blocks of A", {SET(a.blocks, blocks)}},
                          {"blocks of B", {SET(b.blocks, blocks)}}};
    if (blocks != 2) check_rows(rows, 2);
  }
}

TEST(rejects_short_rows) {
  static const float c[64];
  static const int64_t sums[64];
  for (int64_t ld = -1; ld < 5; ld++) {
    const row_t rows[] = {
        {"of D", {SET(ld, ld)}},
        {"of C", {SET(how.c, (uintptr_t)c), SET(how.c_ld, ld)}},
        {"of the sums", {SET(how.accumulate, (uintptr_t)sums), SET(how.accumulate_ld, ld)}}};
    check_rows(rows, 3);
  }
}

TEST(rejects_options) {
  static const float c[64];
  const row_t rows[] = {
      {"dtype", {SET(how.d_dtype, UFP4_DTYPE_COUNT)}},
      {"contract", {SET(how.contract, UFP4_CONTRACT_COUNT)}},
      {"I64 with alpha", {SET(how.d_dtype, UFP4_DTYPE_I64), SET(how.alpha, ufp4_f32_bits(2))}},
      {"I64 with C",
       {SET(how.d_dtype, UFP4_DTYPE_I64), SET(how.c, (uintptr_t)c), SET(how.c_ld, 5)}}};
  check_rows(rows, sizeof rows / sizeof *rows);
}
