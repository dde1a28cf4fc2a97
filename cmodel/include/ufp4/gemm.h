// SPDX-License-Identifier: Apache-2.0
// D = alpha A B^T + C with the exact contract (docs/numerics.md, 5). RTL: rtl/array.
#ifndef UFP4_GEMM_H
#define UFP4_GEMM_H

#include <stdint.h>

#include "ufp4/quantize.h"

/** NaN in a tensor of unrounded sums. */
#define UFP4_I64_NAN INT64_MIN

typedef struct {
  ufp4_contract_t contract;
  ufp4_dtype_t d_dtype;       ///< F32, BF16, or I64: the unrounded sums, unit 2^-(18 + fracA + fracB), t not applied
  float alpha;                ///< 1: no multiplication takes place
  const float *c;             ///< [m][c_ld], or NULL
  int64_t c_ld;
  const int64_t *accumulate;  ///< [m][accumulate_ld] unrounded sums added first, or NULL
  int64_t accumulate_ld;
  int threads;                ///< 0: one; the result does not depend on it
} ufp4_gemm_t;

/** D [m][ld] = A [m][k] B [n][k]^T. S = the exact sum in 64-bit fixed point; r = RNE32(S * 2^-(18+fracA+fracB+tA+tB)); then, where
 *  present, times alpha, plus C, one RNE32 each; BF16: RNE of that. NaN scales poison their row or column.
 *  UFP4_ERROR_ARGUMENT: unequal K, M, N or K over UFP4_MAX_DIM, a leading dimension under N, I64 with C or alpha not 1. */
ufp4_status_t ufp4_gemm(const ufp4_operand_t *a, const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d, int64_t d_ld);

#endif
