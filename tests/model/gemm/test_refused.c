// SPDX-License-Identifier: Apache-2.0
// Tests that ufp4_gemm refuses invalid arguments and illegal combinations of formats, contracts and
// options, and leaves D unchanged.
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "rows.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"

typedef struct {
  ufp4_operand_t a, b;
  ufp4_gemm_t how;
  int64_t ld;
} call_t;

/** Returns a legal call: 4 x 5 x 40, scales near 1. */
static call_t call(ufp4_elem_t elem, ufp4_scale_t scale, ufp4_contract_t contract) {
  check_random_t random = check_random();
  const call_t c = {fixture_operand_scaled(&random, elem, scale, 4, 40, FIXTURE_SCALES_NEAR),
                    fixture_operand_scaled(&random, elem, scale, 5, 40, FIXTURE_SCALES_NEAR),
                    {.contract = contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1},
                    5};
  return c;
}

static void call_free(call_t *c) {
  ufp4_operand_free(&c->a);
  ufp4_operand_free(&c->b);
}

static void check_status(int64_t index, const call_t *c, ufp4_status_t status, const char *what) {
  uint64_t d[64], before[64];
  memset(d, 0xA5, sizeof d);
  memcpy(before, d, sizeof d);
  check_bits(index, (uint64_t)ufp4_gemm(&c->a, &c->b, &c->how, d, c->ld), status, "%s", what);
  if (status != UFP4_OK)
    check_that(index, memcmp(d, before, sizeof d) == 0, "%s: output touched", what);
  if (c->ld < 5) return;  // this limit concerns D alone
  check_bits(index, (uint64_t)ufp4_gemm_check(&c->a, &c->b, &c->how, NULL), status,
             "%s: asked first", what);
}

static void check_refused(int64_t index, const call_t *c, const char *what) {
  check_status(index, c, UFP4_ERROR_ARGUMENT, what);
}

/** Checks that the GEMM and the table of combinations both refuse the elements with this scale and
 * contract. */
static void check_combination(int64_t index, ufp4_elem_t a, ufp4_elem_t b, ufp4_scale_t scale,
                              ufp4_contract_t contract) {
  ufp4_message_t message = {""};
  call_t c = call(a, scale, contract);
  c.b.elem = b;
  check_refused(index, &c, "combination");
  check_bits(index, (uint64_t)ufp4_combination_gemm(a, b, scale, contract, NULL, &message),
             UFP4_ERROR_ARGUMENT, "table");
  check_that(index, message.text[0] != 0, "no reason given");
  check_bits(index, (uint64_t)ufp4_combination_gemm(a, b, scale, contract, "rtl", NULL),
             UFP4_ERROR_ARGUMENT, "table, rtl");
  call_free(&c);
}

TEST(accepts_what_is_legal) {
  for (int i = 0; i < UFP4_SCALE_COUNT * UFP4_CONTRACT_COUNT; i++) {
    const ufp4_scale_t scale = (ufp4_scale_t)(i % UFP4_SCALE_COUNT);
    const ufp4_contract_t contract = (ufp4_contract_t)(i / UFP4_SCALE_COUNT);
    const int bytes_e4m3 = scale == UFP4_SCALE_E4M3 || scale == UFP4_SCALE_NVFP4;
    const int legal = contract == UFP4_CONTRACT_FP32 || bytes_e4m3 ||
                      (contract == UFP4_CONTRACT_NV && scale == UFP4_SCALE_E8M0);
    call_t c = call(UFP4_ELEM_E2M1, scale, contract);
    check_status(i, &c, legal ? UFP4_OK : UFP4_ERROR_ARGUMENT, "E2M1");
    call_free(&c);
  }
}

TEST(rejects_combinations) {
  // elems: the elements that both operands may have with this scale and contract.
  enum { E2M1 = 1 << UFP4_ELEM_E2M1, E1M2 = 1 << UFP4_ELEM_E1M2 };
  static const struct {
    ufp4_scale_t scale;
    ufp4_contract_t contract;
    int elems;
  } rows[] = {
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_EXACT, 0},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_EXACT, 0},
      {UFP4_SCALE_FP32, UFP4_CONTRACT_NV, 0},
      {UFP4_SCALE_E4M3, UFP4_CONTRACT_NV, E2M1 | E1M2},
      {UFP4_SCALE_E8M0, UFP4_CONTRACT_NV, E2M1 | E1M2},
      {UFP4_SCALE_NVFP4, UFP4_CONTRACT_NV, E2M1 | E1M2},
  };
  for (int i = 0; i < 9 * (int)(sizeof rows / sizeof *rows); i++) {
    const int a = i % 3, b = i / 3 % 3, good = rows[i / 9].elems >> a & rows[i / 9].elems >> b & 1;
    if (good) continue;
    check_combination(i, (ufp4_elem_t)a, (ufp4_elem_t)b, rows[i / 9].scale, rows[i / 9].contract);
  }
}

// Only the model multiplies these elements with NVFP4 scales.
TEST(rejects_nvfp4_with_other_elements_on_cores_and_gpus) {
  for (int i = 0; i < 2 * 9 * 2; i++) {
    const char *backend = i % 2 ? "cuda" : "rtl";
    const ufp4_elem_t a = (ufp4_elem_t)(i / 2 % 3), b = (ufp4_elem_t)(i / 6 % 3);
    const ufp4_contract_t contract = i / 18 ? UFP4_CONTRACT_FP32 : UFP4_CONTRACT_EXACT;
    ufp4_message_t message = {""};
    const int other = a != UFP4_ELEM_E2M1 || b != UFP4_ELEM_E2M1;
    check_bits(i, ufp4_combination_gemm(a, b, UFP4_SCALE_NVFP4, contract, backend, &message),
               other ? UFP4_ERROR_UNSUPPORTED : UFP4_OK, "'%s'", message.text);
    check_that(i, !other || strstr(message.text, "; model does") != NULL, "'%s'", message.text);
    check_bits(i, ufp4_combination_gemm(a, b, UFP4_SCALE_NVFP4, contract, "model", NULL), UFP4_OK,
               "model");
  }
}

TEST(rejects_two_scale_formats) {
  check_random_t random = check_random();
  for (int i = 0; i < 16 * 3; i++) {
    const ufp4_scale_t scale_a = (ufp4_scale_t)(i % 4), scale_b = (ufp4_scale_t)(i / 4 % 4);
    if (scale_a == scale_b) continue;
    call_t c = call(UFP4_ELEM_E2M1, scale_a, (ufp4_contract_t)(i / 16));
    ufp4_operand_free(&c.b);
    c.b = fixture_operand_scaled(&random, UFP4_ELEM_E2M1, scale_b, 5, 40, FIXTURE_SCALES_NEAR);
    check_refused(i, &c, "scales");
    call_free(&c);
  }
}

TEST(rejects_sums_of_fp32_and_nv) {
  static const int64_t sums[32];
  for (int i = 0; i < 2; i++) {
    call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, i ? UFP4_CONTRACT_FP32 : UFP4_CONTRACT_NV);
    c.how.d_dtype = UFP4_DTYPE_I64;
    check_refused(i, &c, "sums out");
    c.how.d_dtype = UFP4_DTYPE_F32;
    c.how.accumulate = sums;
    c.how.accumulate_ld = 5;
    check_refused(i, &c, "sums in");
    call_free(&c);
  }
}

TEST(rejects_negative_and_infinite_fp32_scales) {
  static const uint32_t bad[] = {0x7F800000, 0xFF800000, 0xBF800000, 0x80000001, 0xFF7FFFFF};
  for (int i = 0; i < 5; i++) {
    call_t c = call(UFP4_ELEM_E1M2, UFP4_SCALE_FP32, UFP4_CONTRACT_FP32);
    static float out[4 * 48];
    fixture_set_scale(&c.a, 4 * 3 - 1, bad[i]);
    check_refused(i, &c, "scale of A");
    check_bits(i, (uint64_t)ufp4_dequantize(&c.a, 40, out, 40), UFP4_ERROR_ARGUMENT,
               "dequantize, %08x", bad[i]);
    fixture_set_scale(&c.a, 4 * 3 - 1, 0x3F800000);
    fixture_set_scale(&c.b, 0, bad[i]);
    check_refused(i, &c, "scale of B");
    call_free(&c);
  }
}

TEST(rejects_nv_with_c_and_a_factor) {
  static const float matrix[32];
  static const struct {
    row_t row;
    ufp4_status_t want;
  } rows[] = {
      {{"C alone", {{0}}}, UFP4_OK},
      {{"alpha 2", {SET(how.alpha, 0x40000000)}}, UFP4_ERROR_ARGUMENT},
      {{"alpha -1", {SET(how.alpha, 0xBF800000)}}, UFP4_ERROR_ARGUMENT},
      {{"tA + tB = 3", {SET(a.exponent, 3)}}, UFP4_ERROR_ARGUMENT},
      {{"tA + tB = 0", {SET(a.exponent, 3), SET(b.exponent, -3)}}, UFP4_OK},
      {{"tA + tB = -1", {SET(a.exponent, 3), SET(b.exponent, -4)}}, UFP4_ERROR_ARGUMENT},
      {{"Sd of A", {SET(a.tensor_scale, 0x3F000000)}}, UFP4_ERROR_ARGUMENT},
      {{"Sd of B", {SET(b.tensor_scale, 0x40000000)}}, UFP4_ERROR_ARGUMENT},
  };
  for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
    const int scaled = rows[i].row.what[0] == 'S';
    call_t c = call(UFP4_ELEM_E2M1, scaled ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E4M3, UFP4_CONTRACT_NV);
    c.how.c = matrix;
    c.how.c_ld = 5;
    row_apply(&rows[i].row, &c);
    check_status(i, &c, rows[i].want, rows[i].row.what);
    call_free(&c);
  }
}

TEST(rejects_tensor_scales_that_are_not_above_zero_and_finite) {
  static const uint32_t bad[] = {0, 0x80000000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000};
  call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, UFP4_CONTRACT_EXACT);
  for (int i = 0; i < 6; i++) {
    c.a.tensor_scale = ufp4_f32_value(bad[i]);
    c.b.tensor_scale = 1;
    check_refused(i, &c, "Sd of A");
    c.b.tensor_scale = c.a.tensor_scale;
    c.a.tensor_scale = 1;
    check_refused(i, &c, "Sd of B");
  }
  call_free(&c);
}

TEST(rejects_scale_blocks_that_are_not_of_k) {
  for (int i = 0; i < 4; i++) {
    call_t c = call(UFP4_ELEM_E2M1, (ufp4_scale_t)i, UFP4_CONTRACT_FP32);
    const call_t good = c;
    c.a.scale_blocks--;
    check_refused(i, &c, "scale blocks of A");
    c = good;
    c.b.scale_blocks++;
    check_refused(i, &c, "scale blocks of B");
    c = good;
    c.a.block = 48 - c.a.block;
    check_refused(i, &c, "block of A");
    c = good;
    call_free(&c);
  }
}

TEST(rejects_operands_without_their_kind_of_scales) {
  for (int i = 0; i < 4; i++) {
    call_t c = call(UFP4_ELEM_E2M1, (ufp4_scale_t)i, UFP4_CONTRACT_FP32);
    const call_t good = c;
    c.a.scales = NULL;
    c.a.scales_f32 = NULL;
    check_refused(i, &c, "no scales");
    c = good;
    call_free(&c);
  }
}

TEST(rejects_creating_an_unknown_scale) {
  ufp4_operand_t out;
  check_bits(0,
             (uint64_t)ufp4_operand_create_scaled(UFP4_ELEM_E2M1, (ufp4_scale_t)UFP4_SCALE_COUNT, 1,
                                                  1, &out),
             UFP4_ERROR_ARGUMENT, "create");
}

TEST(rejects_on_rtl_what_only_the_model_has) {
  check_bits(0,
             (uint64_t)ufp4_combination_gemm(UFP4_ELEM_E2M1, UFP4_ELEM_E2M1, UFP4_SCALE_FP32,
                                             UFP4_CONTRACT_FP32, "rtl", NULL),
             UFP4_ERROR_UNSUPPORTED, "FP32 scales");
  check_bits(1,
             (uint64_t)ufp4_combination_gemm(UFP4_ELEM_E2M1, UFP4_ELEM_INT4, UFP4_SCALE_E4M3,
                                             UFP4_CONTRACT_EXACT, "rtl", NULL),
             UFP4_OK, "E4M3, exact");
  check_bits(2,
             (uint64_t)ufp4_combination_gemm(UFP4_ELEM_E2M1, UFP4_ELEM_INT4, UFP4_SCALE_FP32,
                                             UFP4_CONTRACT_FP32, "model", NULL),
             UFP4_OK, "FP32 scales on the model");
}

/** Each row changes a legal call so that it becomes illegal. */
static void check_rows(const row_t *rows, size_t count) {
  call_t good = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, UFP4_CONTRACT_EXACT);
  for (size_t i = 0; i < count; i++) {
    call_t c = good;
    row_apply(&rows[i], &c);
    check_refused((int64_t)i, &c, rows[i].what);
  }
  call_free(&good);
}

TEST(rejects_what_is_missing) {
  call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, UFP4_CONTRACT_EXACT);
  float d[20];
  check_bits(0, ufp4_gemm(NULL, &c.b, &c.how, d, 5), UFP4_ERROR_ARGUMENT, "no A");
  check_bits(1, ufp4_gemm(&c.a, NULL, &c.how, d, 5), UFP4_ERROR_ARGUMENT, "no B");
  check_bits(2, ufp4_gemm(&c.a, &c.b, NULL, d, 5), UFP4_ERROR_ARGUMENT, "no options");
  check_bits(3, ufp4_gemm(&c.a, &c.b, &c.how, NULL, 5), UFP4_ERROR_ARGUMENT, "no D");
  call_free(&c);
}

TEST(rejects_operands) {
  static const row_t rows[] = {
      {"t of A", {SET(a.exponent, INT32_MIN)}},
      {"t of B", {SET(b.exponent, -32769)}},
      {"t of B", {SET(b.exponent, INT32_MAX)}},
      {"K of B", {SET(b.cols, 41)}},
      {"K of B", {SET(b.cols, 48)}},
      {"K of B", {SET(b.cols, 1), SET(b.blocks, 1), SET(b.scale_blocks, 1)}},
      {"K of B", {SET(b.cols, 32), SET(b.blocks, 2), SET(b.scale_blocks, 2)}},
      {"K of B", {SET(b.cols, 52), SET(b.blocks, 4), SET(b.scale_blocks, 4)}},
      {"no such scales", {SET(b.scale, UFP4_SCALE_COUNT)}},
      {"no such contract", {SET(how.contract, UFP4_CONTRACT_COUNT)}},
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
  // K is too large, and the counts of blocks are consistent with it, so that K is the only error.
  const int64_t blocks = UFP4_MAX_DIM / 16 + 1;
  const row_t k = {
      "K of 2^20 + 1",
      {SET(a.cols, UFP4_MAX_DIM + 1), SET(b.cols, UFP4_MAX_DIM + 1), SET(a.blocks, blocks),
       SET(b.blocks, blocks), SET(a.scale_blocks, blocks), SET(b.scale_blocks, blocks)}};
  check_rows(&k, 1);
}

TEST(rejects_block_counts_and_short_rows) {
  static const float c[64];
  static const int64_t sums[64];
  for (int64_t n = -1; n < 5; n++) {
    const row_t rows[] = {
        {"rows of D", {SET(ld, n)}},
        {"rows of C", {SET(how.c, (uintptr_t)c), SET(how.c_ld, n)}},
        {"of the sums", {SET(how.accumulate, (uintptr_t)sums), SET(how.accumulate_ld, n)}},
        {"blocks of A", {SET(a.blocks, n)}},
        {"blocks of B", {SET(b.blocks, n)}}};
    check_rows(rows, n == 3 ? 3 : 5);  // K has 3 blocks
  }
}

/** Checks each change to a legal call, and that the message contains the expected words. */
static void check_reasons(const row_t *rows, size_t count, ufp4_scale_t scale) {
  const call_t good = call(UFP4_ELEM_E2M1, scale, UFP4_CONTRACT_EXACT);
  call_t c;
  for (size_t i = 0; i < count; i++) {
    ufp4_message_t message = {""};
    c = good;
    row_apply(&rows[i], &c);
    check_refused((int64_t)i, &c, rows[i].what);
    ufp4_gemm_check(&c.a, &c.b, &c.how, &message);
    check_that((int64_t)i, strstr(message.text, rows[i].what) != NULL, "'%s' does not say '%s'",
               message.text, rows[i].what);
  }
  check_bits((int64_t)count, (uint64_t)ufp4_gemm_check(&good.a, &good.b, NULL, NULL),
             UFP4_ERROR_ARGUMENT, "no options");
  c = good;
  call_free(&c);
}

TEST(rejects_operands_with_a_reason) {
  static const row_t rows[] = {
      {"operand A: codes is NULL", {SET(a.codes, 0)}},
      {"operand B: its scales are NULL", {SET(b.scales, 0)}},
      {"operand A: its element or scale format is unknown", {SET(a.elem, UFP4_ELEM_KINDS)}},
      {"operand A: mixed elements need blocks of 16",
       {SET(a.elem, UFP4_ELEM_MIXED), SET(a.scale, UFP4_SCALE_E8M0)}},
      {"operand B: rows and columns must be from 1 to 1048576", {SET(b.rows, 0)}},
      {"operand A: its numbers of blocks", {SET(a.blocks, 4)}},
      {"operand B: its tensor scale must be finite and above 0", {SET(b.tensor_scale, 0)}},
      {"operand A: its tensor exponent must fit 16 bits", {SET(a.exponent, 1 << 15)}},
      {"A has K = 40, B has K = 39; they must be equal", {SET(b.cols, 39)}},
      {"A has scale nvfp4, B has scale e4m3; they must be equal", {SET(b.scale, UFP4_SCALE_E4M3)}},
  };
  check_reasons(rows, sizeof rows / sizeof *rows, UFP4_SCALE_NVFP4);
}

TEST(rejects_options_with_a_reason) {
  static const float matrix[32];
  static const int64_t sums[32];
  const uintptr_t c = (uintptr_t)matrix, from = (uintptr_t)sums;
  const row_t rows[] = {
      {"d_dtype is 3", {SET(how.d_dtype, UFP4_DTYPE_COUNT)}},
      {"threads is -1", {SET(how.threads, -1)}},
      {"C: the leading dimension is 4; it must be at least N = 5",
       {SET(how.c, c), SET(how.c_ld, 4)}},
      {"sums: the leading dimension is 4", {SET(how.accumulate, from), SET(how.accumulate_ld, 4)}},
      {"need contract exact",
       {SET(how.accumulate, from), SET(how.accumulate_ld, 5),
        SET(how.contract, UFP4_CONTRACT_FP32)}},
      {"leave out C, and set alpha to 1",
       {SET(how.d_dtype, UFP4_DTYPE_I64), SET(how.alpha, 0x40000000)}},
      {"leave out C, and set alpha to 1",
       {SET(how.d_dtype, UFP4_DTYPE_I64), SET(how.c, c), SET(how.c_ld, 5)}},
      {"element of B int4 does not work with scale e4m3",
       {SET(b.elem, UFP4_ELEM_INT4), SET(how.contract, UFP4_CONTRACT_NV)}},
      {"contract nv starts the sums with C",
       {SET(how.contract, UFP4_CONTRACT_NV), SET(how.c, c), SET(how.c_ld, 5), SET(b.exponent, 1)}},
  };
  check_reasons(rows, sizeof rows / sizeof *rows, UFP4_SCALE_E4M3);
}
