// SPDX-License-Identifier: Apache-2.0
// The two operands of a GEMM, with any scale and contract, and the comparison of both models on
// them.
#ifndef UFP4_PAIR_H
#define UFP4_PAIR_H

#include "fixture.h"
#include "legal.h"

typedef struct {
  legal_gemm_t what;
  ufp4_operand_t a, b;
  reference_operand_t reference_a, reference_b;  ///< filled in while they are compared
} pair_t;

/** Draws operands of combination @p n and @p shape M, N, K. */
pair_t pair_random(check_random_t *random, int n, const int shape[3], fixture_scales_t scales);
/** Sets the tensor exponents or the tensor scales, whichever the format has. */
void pair_set_level(pair_t *p, int t_a, int t_b);
void pair_free(pair_t *p);
/** Returns options without alpha and C. */
ufp4_gemm_t pair_plain(const pair_t *p, ufp4_dtype_t dtype);
/** Output (i, j) of the reference model, from its two operands, in the bits of how->d_dtype. */
uint64_t pair_expected(const pair_t *p, const ufp4_gemm_t *how, int64_t i, int64_t j);
/** Runs the golden GEMM into rows with a gap after each, and compares all, the gap
 * included. */
void pair_check(int64_t index, pair_t *p, const ufp4_gemm_t *how);

#endif
