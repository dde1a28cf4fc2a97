// SPDX-License-Identifier: Apache-2.0
// FP32 GEMM on the host, for the recipes bf16 and fp32.
#ifndef UFP4_HOST_GEMM_H
#define UFP4_HOST_GEMM_H

#include "ufp4.h"

/** Element (r, k) of an operand is data[r * row_step + k * k_step]. */
typedef struct {
  const float *data;
  int64_t row_step;
  int64_t k_step;
} host_operand_t;

/** D [m][ld] = A [m][k] B [n][k]^T; d = RNE32(d + RNE32(a b)), from d = +0, in increasing k. The
 * order is fixed, so the bits depend on the operands alone. With BF16 values the product is exact
 * unless it underflows. */
ufp4_status_t host_gemm(const host_operand_t *a, const host_operand_t *b, int64_t m, int64_t n,
                        int64_t k, float *d, int64_t d_ld);

#endif
