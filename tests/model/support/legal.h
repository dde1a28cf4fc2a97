// SPDX-License-Identifier: Apache-2.0
// All combinations of options, and which of them the tables of numerics.md allow. This is the
// tests' own reading of those tables.
#ifndef UFP4_LEGAL_H
#define UFP4_LEGAL_H

#include "ufp4/gemm.h"
#include "ufp4/quantize.h"

#define LEGAL_QUANTIZE_COUNT (3 * 4 * 2 * 3 * 2 * 4)
/** Returns combination n of element, scale, layout, transform, rounding and scale rounding; masks,
 * seeds and ids differ. */
ufp4_quantize_t legal_quantize_combination(int n);
/** Returns whether sections 2 and 4 allow it. */
int legal_quantize(const ufp4_quantize_t *how);

typedef struct {
  ufp4_elem_t a, b;
  ufp4_scale_t scale;
  ufp4_contract_t contract;
} legal_gemm_t;

#define LEGAL_GEMM_COUNT (3 * 3 * 4 * 3)
/** Returns combination n of the elements of A and B, scale and contract; the first nine are E4M3
 * and exact. */
legal_gemm_t legal_gemm_combination(int n);
/** Returns whether sections 1, 2 and 5 allow it. */
int legal_gemm(const legal_gemm_t *c);

#endif
