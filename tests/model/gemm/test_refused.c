// SPDX-License-Identifier: Apache-2.0
// GEMMs of formats, contracts and options that do not go together: refused, with D as it was.
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"

typedef struct {
  ufp4_operand_t a, b;
  ufp4_gemm_t how;
} call_t;

/** A legal call: 4 x 5 x 40, scales near 1. */
static call_t call(ufp4_elem_t elem, ufp4_scale_t scale, ufp4_contract_t contract) {
  check_random_t random = check_random();
  const call_t c = {fixture_operand_scaled(&random, elem, scale, 4, 40, FIXTURE_SCALES_NEAR),
                    fixture_operand_scaled(&random, elem, scale, 5, 40, FIXTURE_SCALES_NEAR),
                    {.contract = contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1}};
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
  check_bits(index, (uint64_t)ufp4_gemm(&c->a, &c->b, &c->how, d, 5), status, "%s", what);
  if (status != UFP4_OK)
    check_that(index, memcmp(d, before, sizeof d) == 0, "%s: output touched", what);
  check_bits(index, (uint64_t)ufp4_gemm_check(&c->a, &c->b, &c->how, NULL), status,
             "%s: asked first", what);
}

static void check_refused(int64_t index, const call_t *c, const char *what) {
  check_status(index, c, UFP4_ERROR_ARGUMENT, what);
}

/** The GEMM and the table refuse elements with a scale and a contract. */
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

TEST(rejects_exact_with_e8m0_scales) {
  for (int i = 0; i < 9; i++)
    check_combination(i, (ufp4_elem_t)(i % 3), (ufp4_elem_t)(i / 3), UFP4_SCALE_E8M0,
                      UFP4_CONTRACT_EXACT);
}

TEST(rejects_exact_with_fp32_scales) {
  for (int i = 0; i < 9; i++)
    check_combination(i, (ufp4_elem_t)(i % 3), (ufp4_elem_t)(i / 3), UFP4_SCALE_FP32,
                      UFP4_CONTRACT_EXACT);
}

TEST(rejects_nv_with_fp32_scales) {
  for (int i = 0; i < 9; i++)
    check_combination(i, (ufp4_elem_t)(i % 3), (ufp4_elem_t)(i / 3), UFP4_SCALE_FP32,
                      UFP4_CONTRACT_NV);
}

TEST(rejects_nv_with_int4) {
  for (int i = 0; i < 9; i++) {
    const ufp4_elem_t a = (ufp4_elem_t)(i % 3), b = (ufp4_elem_t)(i / 3);
    if (a != UFP4_ELEM_INT4 && b != UFP4_ELEM_INT4) continue;
    check_combination(i, a, b, UFP4_SCALE_E4M3, UFP4_CONTRACT_NV);
    check_combination(i, a, b, UFP4_SCALE_E8M0, UFP4_CONTRACT_NV);
  }
}

// They are the model's alone.
TEST(rejects_nvfp4_with_other_elements_on_cores_and_gpus) {
  for (int i = 0; i < 2 * 9 * 2; i++) {
    const char *backend = i % 2 ? "cuda" : "rtl";
    const ufp4_elem_t a = (ufp4_elem_t)(i / 2 % 3), b = (ufp4_elem_t)(i / 6 % 3);
    const ufp4_contract_t contract = i / 18 ? UFP4_CONTRACT_FP32 : UFP4_CONTRACT_EXACT;
    ufp4_message_t message = {""};
    const int other = a != UFP4_ELEM_E2M1 || b != UFP4_ELEM_E2M1;
    check_bits(i, ufp4_combination_gemm(a, b, UFP4_SCALE_NVFP4, contract, backend, &message),
               other ? UFP4_ERROR_UNSUPPORTED : UFP4_OK, "'%s'", message.text);
    check_that(i, !other || strstr(message.text, "; model has") != NULL, "'%s'", message.text);
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

TEST(rejects_sums_out_of_fp32_and_nv) {
  for (int i = 0; i < 2; i++) {
    call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, i ? UFP4_CONTRACT_FP32 : UFP4_CONTRACT_NV);
    c.how.d_dtype = UFP4_DTYPE_I64;
    check_refused(i, &c, "I64");
    call_free(&c);
  }
}

TEST(rejects_sums_into_fp32_and_nv) {
  static const int64_t sums[32];
  for (int i = 0; i < 2; i++) {
    call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, i ? UFP4_CONTRACT_FP32 : UFP4_CONTRACT_NV);
    c.how.accumulate = sums;
    c.how.accumulate_ld = 5;
    check_refused(i, &c, "accumulate");
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

TEST(rejects_nv_with_c_and_alpha) {
  static const float matrix[32];
  call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, UFP4_CONTRACT_NV);
  c.how.c = matrix;
  c.how.c_ld = 5;
  check_status(0, &c, UFP4_OK, "C alone");
  c.how.alpha = 2;
  check_refused(1, &c, "C and alpha");
  c.how.alpha = -1;
  check_refused(2, &c, "C and alpha");
  call_free(&c);
}

TEST(rejects_nv_with_c_and_exponents) {
  static const float matrix[32];
  call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, UFP4_CONTRACT_NV);
  c.how.c = matrix;
  c.how.c_ld = 5;
  c.a.exponent = 3;
  check_refused(0, &c, "tA + tB = 3");
  c.b.exponent = -3;
  check_status(1, &c, UFP4_OK, "tA + tB = 0");
  c.b.exponent = -4;
  check_refused(2, &c, "tA + tB = -1");
  call_free(&c);
}

TEST(rejects_nv_with_c_and_tensor_scales) {
  static const float matrix[32];
  call_t c = call(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, UFP4_CONTRACT_NV);
  c.how.c = matrix;
  c.how.c_ld = 5;
  c.a.tensor_scale = 0.5f;
  check_refused(0, &c, "Sd of A");
  c.a.tensor_scale = 1;
  c.b.tensor_scale = 2;
  check_refused(1, &c, "Sd of B");
  call_free(&c);
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

/** @p words are in the reason. */
static void check_reason(int64_t index, const call_t *c, const char *words) {
  ufp4_message_t message = {""};
  check_bits(index, (uint64_t)ufp4_gemm_check(&c->a, &c->b, &c->how, &message), UFP4_ERROR_ARGUMENT,
             "status");
  check_that(index, strstr(message.text, words) != NULL, "'%s' does not say '%s'", message.text,
             words);
}

/** The members of a call that a reason is about; each change is of a legal call. */
TEST(rejects_operands_with_a_reason) {
  const call_t good = call(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, UFP4_CONTRACT_EXACT);
  call_t c = good;
  c.a.codes = NULL;
  check_reason(0, &c, "operand A: it has no codes");
  c = good, c.b.scales = NULL;
  check_reason(1, &c, "operand B: it has no scales");
  c = good, c.a.elem = UFP4_ELEM_COUNT;
  check_reason(2, &c, "operand A: unknown format");
  c = good, c.b.rows = 0;
  check_reason(3, &c, "operand B: rows and columns go from 1 to 1048576");
  c = good, c.a.blocks++;
  check_reason(4, &c, "operand A: its counts of blocks");
  c = good, c.b.tensor_scale = 0;
  check_reason(5, &c, "operand B: its tensor scale must be finite and above 0");
  c = good, c.a.exponent = 1 << 15;
  check_reason(6, &c, "operand A: its tensor exponent must fit 16 bits");
  c = good, c.b.cols--;
  check_reason(7, &c, "A has K = 40, B has K = 39; they must be equal");
  c = good, c.b.scale = UFP4_SCALE_E4M3;
  check_reason(8, &c, "A has scale nvfp4, B has scale e4m3; they must be equal");
  c = good;
  call_free(&c);
}

TEST(rejects_options_with_a_reason) {
  static const float matrix[32];
  static const int64_t sums[32];
  const call_t good = call(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, UFP4_CONTRACT_EXACT);
  call_t c = good;
  c.how.d_dtype = UFP4_DTYPE_COUNT;
  check_reason(0, &c, "unknown type 3 of D");
  c = good, c.how.threads = -1;
  check_reason(1, &c, "threads are 0 or more");
  c = good, c.how.c = matrix, c.how.c_ld = 4;
  check_reason(2, &c, "C: rows are 4 elements apart; D has N = 5 columns");
  c = good, c.how.accumulate = sums, c.how.accumulate_ld = 4;
  check_reason(3, &c, "sums: rows are 4 elements apart");
  c.how.accumulate_ld = 5, c.how.contract = UFP4_CONTRACT_FP32;
  check_reason(4, &c, "go with contract exact alone");
  c = good, c.how.d_dtype = UFP4_DTYPE_I64, c.how.alpha = 2;
  check_reason(5, &c, "takes no C, and no alpha but 1");
  c = good, c.b.elem = UFP4_ELEM_INT4, c.how.contract = UFP4_CONTRACT_NV;
  check_reason(6, &c, "element of B int4 does not go with scale e4m3");
  c = good, c.how.contract = UFP4_CONTRACT_NV, c.how.c = matrix, c.how.c_ld = 5, c.b.exponent = 1;
  check_reason(7, &c, "with contract nv the sums begin with C");
  check_bits(8, (uint64_t)ufp4_gemm_check(&good.a, &good.b, NULL, NULL), UFP4_ERROR_ARGUMENT,
             "no options");
  c = good;
  call_free(&c);
}
