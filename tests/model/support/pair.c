// SPDX-License-Identifier: Apache-2.0
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ufp4/format.h"

pair_t pair_random(check_random_t *random, int n, const int shape[3], fixture_scales_t scales) {
  pair_t p = {.what = legal_gemm_combination(n)};
  p.a = fixture_operand_scaled(random, p.what.a, p.what.scale, shape[0], shape[2], scales);
  p.b = fixture_operand_scaled(random, p.what.b, p.what.scale, shape[1], shape[2], scales);
  return p;
}

void pair_set_level(pair_t *p, int t_a, int t_b) {
  if (p->what.scale == UFP4_SCALE_E4M3) p->a.exponent = t_a, p->b.exponent = t_b;
  if (p->what.scale != UFP4_SCALE_NVFP4) return;
  p->a.tensor_scale = ufp4_f32_value(reference_f32_round(0, 0x1555557, -24 - t_a));
  p->b.tensor_scale = ufp4_f32_value(reference_f32_round(0, 0x1ABCDEF, -24 - t_b));
}

void pair_free(pair_t *p) {
  ufp4_operand_free(&p->a);
  ufp4_operand_free(&p->b);
}

ufp4_gemm_t pair_plain(const pair_t *p, ufp4_dtype_t dtype) {
  const ufp4_gemm_t how = {
      .contract = p->what.contract, .d_dtype = dtype, .alpha = 1, .kernel = fixture_kernel()};
  return how;
}

static int64_t exact_sum(const pair_t *p, const ufp4_gemm_t *how, int64_t i, int64_t j) {
  const int64_t start = how->accumulate ? how->accumulate[i * how->accumulate_ld + j] : 0;
  return reference_gemm_sum(&p->reference_a, i, &p->reference_b, j, start);
}

/** Returns output (i, j) of the reference model before it is rounded to BF16. */
static uint32_t rounded(const pair_t *p, const ufp4_gemm_t *how, int64_t i, int64_t j) {
  const uint32_t alpha = ufp4_f32_bits(how->alpha),
                 c = how->c ? ufp4_f32_bits(how->c[i * how->c_ld + j]) : 0;
  const uint32_t *alpha_if = alpha != 0x3F800000 ? &alpha : NULL, *c_if = how->c ? &c : NULL;
  const reference_operand_t *a = &p->reference_a, *b = &p->reference_b;
  switch (how->contract) {
    case UFP4_CONTRACT_EXACT:
      return reference_gemm_round(a, b, exact_sum(p, how, i, j), alpha_if, c_if);
    case UFP4_CONTRACT_NV:
      return reference_gemm_scale(a, b, REFERENCE_NV, reference_gemm_nv(a, i, b, j, c), alpha_if,
                                  NULL);
    default:
      return reference_gemm_scale(a, b, REFERENCE_FP32, reference_gemm_fp32(a, i, b, j), alpha_if,
                                  c_if);
  }
}

uint64_t pair_expected(const pair_t *p, const ufp4_gemm_t *how, int64_t i, int64_t j) {
  if (how->d_dtype == UFP4_DTYPE_I64) return (uint64_t)exact_sum(p, how, i, j);
  const uint32_t d = rounded(p, how, i, j);
  return how->d_dtype == UFP4_DTYPE_BF16 ? reference_gemm_bf16(d) : d;
}

/** Output @p at of D, whose numbers have @p size bytes in the host's order. */
static uint64_t output_at(const uint8_t *d, size_t size, int64_t at) {
  uint16_t half;
  uint32_t word;
  uint64_t sum;
  switch (size) {
    case sizeof half:
      memcpy(&half, d + at * 2, size);
      return half;
    case sizeof word:
      memcpy(&word, d + at * 4, size);
      return word;
    default:
      memcpy(&sum, d + at * 8, size);
      return sum;
  }
}

void pair_check(int64_t index, pair_t *p, const ufp4_gemm_t *how) {
  static const size_t sizes[] = {[UFP4_DTYPE_F32] = 4, [UFP4_DTYPE_BF16] = 2, [UFP4_DTYPE_I64] = 8};
  const int64_t m = p->a.rows, n = p->b.rows, ld = n + 3;
  const size_t size = sizes[how->d_dtype];
  uint8_t *d = malloc((size_t)(m * ld) * size);
  char what[128];
  if (!d) abort();
  memset(d, 0xA5, (size_t)(m * ld) * size);
  p->reference_a = fixture_slow_operand(&p->a);
  p->reference_b = fixture_slow_operand(&p->b);
  snprintf(what, sizeof what,
           "case %lld: %lld x %lld x %lld, elems %u and %u, scale %u, contract %u, dtype %u",
           (long long)index, (long long)m, (long long)n, (long long)p->a.cols, p->a.elem, p->b.elem,
           p->a.scale, how->contract, how->d_dtype);
  check_bits(index, (uint64_t)ufp4_gemm(&p->a, &p->b, how, d, ld), UFP4_OK, "%s: status", what);
  for (int64_t at = 0; at < m * ld; at++) {
    const uint64_t gap = 0xA5A5A5A5A5A5A5A5;
    const int64_t i = at / ld, j = at % ld;
    check_bits(at, output_at(d, size, at),
               j < n ? pair_expected(p, how, i, j) : gap >> (64 - 8 * size), "%s: D[%lld][%lld]",
               what, (long long)i, (long long)j);
  }
  reference_operand_free(&p->reference_a);
  reference_operand_free(&p->reference_b);
  free(d);
}
