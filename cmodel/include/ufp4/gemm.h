// SPDX-License-Identifier: Apache-2.0
// D = alpha A B^T + C by one of three contracts (docs/reference/numerics.md, 5). RTL: rtl/array
// (exact).
#ifndef UFP4_GEMM_H
#define UFP4_GEMM_H

#include <stdint.h>

#include "ufp4/kernel.h"
#include "ufp4/quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The NaN of a tensor of unrounded sums. */
#define UFP4_I64_NAN INT64_MIN

typedef struct {
  ufp4_contract_t contract;
  ufp4_dtype_t d_dtype;  ///< F32, BF16, or I64: the unrounded sums in units of 2^-(18 + fracA +
                         ///< fracB), before t is applied
  float alpha;           ///< 1: D is not multiplied
  const float *c;        ///< [m][c_ld], or NULL; contract nv: the initial accumulator
  int64_t c_ld;
  const int64_t *accumulate;  ///< [m][accumulate_ld] unrounded sums added first, or NULL
  int64_t accumulate_ld;
  int threads;           ///< 0: one thread; the result does not depend on it
  ufp4_kernel_t kernel;  ///< 0: the fastest; the result does not depend on it
} ufp4_gemm_t;

/** Returns the default contract for @p scale: exact where it is legal, otherwise fp32. */
ufp4_contract_t ufp4_gemm_default_contract(ufp4_scale_t scale);

/** Checks the arguments of ufp4_gemm. UFP4_ERROR_ARGUMENT: an incomplete operand, unequal K or
 * scale formats, M, N or K over UFP4_MAX_DIM, a leading dimension under N, a combination that
 * ufp4_combination_gemm (combination.h) calls illegal, I64 or accumulate without contract exact,
 * I64 with C or alpha not 1, a negative or infinite FP32 scale, nv with C where alpha is not 1, tA
 * + tB not 0 or a tensor scale not 1. @p message (may be NULL) says what is wrong. */
ufp4_status_t ufp4_gemm_check(const ufp4_operand_t *a, const ufp4_operand_t *b,
                              const ufp4_gemm_t *how, ufp4_message_t *message);

/** Computes D [m][ld] = A [m][k] B [n][k]^T. The contract defines the sum S:
 *    exact  the exact sum in 64-bit fixed point, unit 2^-(18 + fracA + fracB);
 *    fp32   an FP32 accumulator, one RNE per block of scales, in increasing k;
 *    nv     Blackwell's tensor core: steps of K = 64, aligned, truncated, rounded toward zero.
 * Source: MMA-Sim. r = RNE32(S * 2^-(tA+tB)); then, where present, times RNE32(SdA * SdB) (nvfp4),
 * times alpha, plus C (not with nv), one RNE32 each; BF16: RNE of that. NaN scales poison their row
 * or column. UFP4_ERROR_ARGUMENT: what ufp4_gemm_check refuses, no D, or ld under N.
 * UFP4_ERROR_UNSUPPORTED: this processor does not have the kernel. */
ufp4_status_t ufp4_gemm(const ufp4_operand_t *a, const ufp4_operand_t *b, const ufp4_gemm_t *how,
                        void *d, int64_t d_ld);

#ifdef __cplusplus
}
#endif

#endif
