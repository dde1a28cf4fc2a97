// SPDX-License-Identifier: Apache-2.0
#include "exact_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ufp4/format.h"

exact_pair_t exact_pair(check_random_t *random, int formats, const int shape[3],
                        fixture_scales_t scales) {
  exact_pair_t p;
  p.a = fixture_operand(random, (ufp4_elem_t)(formats % 3), shape[0], shape[2], scales);
  p.b = fixture_operand(random, (ufp4_elem_t)(formats / 3 % 3), shape[1], shape[2], scales);
  p.reference_a = fixture_slow_operand(&p.a);
  p.reference_b = fixture_slow_operand(&p.b);
  return p;
}

void exact_set_exponents(exact_pair_t *p, int t_a, int t_b) {
  p->a.exponent = p->reference_a.t = t_a;
  p->b.exponent = p->reference_b.t = t_b;
}

void exact_pair_free(exact_pair_t *p) {
  ufp4_operand_free(&p->a);
  ufp4_operand_free(&p->b);
  reference_operand_free(&p->reference_a);
  reference_operand_free(&p->reference_b);
}

static size_t dtype_bytes(ufp4_dtype_t dtype) {
  static const size_t bytes[] = {[UFP4_DTYPE_F32] = 4, [UFP4_DTYPE_BF16] = 2, [UFP4_DTYPE_I64] = 8};
  return bytes[dtype];
}

ufp4_gemm_t exact_plain(ufp4_dtype_t dtype) {
  const ufp4_gemm_t how = {
      .contract = UFP4_CONTRACT_EXACT, .d_dtype = dtype, .alpha = 1, .kernel = fixture_kernel()};
  return how;
}

// What the reference model says of output (i, j).
static uint64_t expected(const exact_pair_t *p, const ufp4_gemm_t *how, int64_t i, int64_t j) {
  const int64_t start = how->accumulate ? how->accumulate[i * how->accumulate_ld + j] : 0;
  const int64_t sum = reference_gemm_sum(&p->reference_a, i, &p->reference_b, j, start);
  if (how->d_dtype == UFP4_DTYPE_I64) return (uint64_t)sum;
  const uint32_t alpha = ufp4_f32_bits(how->alpha),
                 c = how->c ? ufp4_f32_bits(how->c[i * how->c_ld + j]) : 0;
  const uint32_t d = reference_gemm_round(&p->reference_a, &p->reference_b, sum,
                                          alpha != 0x3F800000 ? &alpha : NULL, how->c ? &c : NULL);
  return how->d_dtype == UFP4_DTYPE_BF16 ? reference_bf16_cast(d) : d;
}

void exact_check(int64_t index, const exact_pair_t *p, const ufp4_gemm_t *how) {
  const int64_t m = p->a.rows, n = p->b.rows, ld = n + 3;
  const size_t size = dtype_bytes(how->d_dtype);
  uint8_t *d = malloc((size_t)(m * ld) * size);
  if (!d) abort();
  memset(d, 0xA5, (size_t)(m * ld) * size);
  char what[96];
  snprintf(what, sizeof what, "case %lld: %lld x %lld x %lld, elems %u and %u, dtype %u",
           (long long)index, (long long)m, (long long)n, (long long)p->a.cols, p->a.elem, p->b.elem,
           how->d_dtype);
  check_bits(index, (uint64_t)ufp4_gemm(&p->a, &p->b, how, d, ld), UFP4_OK, "%s: status", what);
  for (int64_t at = 0; at < m * ld; at++) {
    uint64_t got = 0, gap = 0xA5A5A5A5A5A5A5A5;
    memcpy(&got, d + (size_t)at * size, size);
    const int64_t i = at / ld, j = at % ld;
    check_bits(at, got, j < n ? expected(p, how, i, j) : gap >> (64 - 8 * size),
               "%s: D[%lld][%lld]", what, (long long)i, (long long)j);
  }
  free(d);
}
