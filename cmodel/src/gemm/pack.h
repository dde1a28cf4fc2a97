// SPDX-License-Identifier: Apache-2.0
// Functions that the packings of the fast GEMMs share.
#ifndef UFP4_GEMM_PACK_H
#define UFP4_GEMM_PACK_H

#include "gemm/kernel.h"
#include "ufp4/format.h"

/** The largest magnitude of a code, in quanta. */
static inline int gemm_largest_quanta(ufp4_elem_t elem) {
  static const int8_t largest[UFP4_ELEM_COUNT] = UFP4_ELEM_LARGEST;
  return elem == UFP4_ELEM_MIXED ? UFP4_MIXED_LARGEST : largest[elem];
}

/** Returns whether an operand has no blocks of E2M1, whose largest magnitude is 12. */
static inline int gemm_is_uniform(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_E1M2 || elem == UFP4_ELEM_INT4;
}

/** Returns by how many bits A's elements may be shifted within 8 bits: E2M1's 12 becomes 96,
 * E1M2's 7 112, INT4's -8 -128. A dot with any B, whose largest magnitude is 12, is then 24576 at
 * most. */
static inline int gemm_absorb_of(ufp4_elem_t elem) {
  return gemm_is_uniform(elem) ? 4 : 3;
}

/** Returns how many of @p chunk blocks there are from @p block on. */
static inline int64_t gemm_chunk_blocks(const ufp4_operand_t *x, int64_t block, int64_t chunk) {
  return x->blocks - block < chunk ? x->blocks - block : chunk;
}

/** Returns the fraction bits of a product. */
static inline int gemm_frac_of(const gemm_job_t *job) {
  return ufp4_elem_frac(job->a->elem) + ufp4_elem_frac(job->b->elem);
}

/** Returns 2^exponent, which must be a normal number. */
static inline float gemm_power(int exponent) {
  return ufp4_f32_value((uint32_t)(127 + exponent) << 23);
}

#endif
