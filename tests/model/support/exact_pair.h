// SPDX-License-Identifier: Apache-2.0
// The two operands of a GEMM of the contract exact, with sums in and out, and the comparison of
// both models on them.
#ifndef UFP4_EXACT_PAIR_H
#define UFP4_EXACT_PAIR_H

#include "fixture.h"

typedef struct {
  ufp4_operand_t a, b;
  reference_operand_t reference_a, reference_b;
} exact_pair_t;

/** Random operands of pair @p formats (0 to 8) of element formats, @p shape M, N, K. */
exact_pair_t exact_pair(check_random_t *random, int formats, const int shape[3],
                        fixture_scales_t scales);
void exact_set_exponents(exact_pair_t *p, int t_a, int t_b);
void exact_pair_free(exact_pair_t *p);
/** Options without alpha, C and sums. */
ufp4_gemm_t exact_plain(ufp4_dtype_t dtype);
/** Runs the golden GEMM into rows with a gap after each, and compares all, the gap included. */
void exact_check(int64_t index, const exact_pair_t *p, const ufp4_gemm_t *how);

#endif
