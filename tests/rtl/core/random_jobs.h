// SPDX-License-Identifier: Apache-2.0
// Random tensors and descriptors, and chains of jobs from them.
#ifndef UFP4_TEST_RANDOM_JOBS_H
#define UFP4_TEST_RANDOM_JOBS_H

#include "fixture.h"
#include "pair.h"

/** Uniform in [0, bound). */
uint32_t below(pair_t *pair, uint32_t bound);
/** 1 to @p limit, small ones more often. */
uint32_t random_size(pair_t *pair, uint32_t limit);
uint32_t dtype_size(uint8_t dtype);

/** Fills the tensor that @p quant reads. */
void write_source(pair_t *pair, const ufp4_quant_descriptor_t *quant,
                  fixture_distribution_t distribution);
/** Quantizes [rows][cols] of place @p source into the four places from @p codes on; the exponents
 * are in @p slot and in the next one. */
ufp4_descriptor_t random_quant(pair_t *pair, uint32_t rows, uint32_t cols, unsigned source,
                               unsigned codes, uint16_t slot);
/** Returns the job with E8M0 scales, which have neither transform nor exponent. */
ufp4_descriptor_t e8m0_of(pair_t *pair, const ufp4_descriptor_t *quant);
/** The AMAX before a QUANT. */
ufp4_descriptor_t amax_of(const ufp4_descriptor_t *quant);
/** The GEMM of the row copies; an operand that was not quantized is garbage, which serves as well.
 * */
ufp4_descriptor_t random_gemm(pair_t *pair, const ufp4_quant_descriptor_t *x,
                              const ufp4_quant_descriptor_t *w);

/** Source, AMAX and QUANT, compared. */
void quantize(pair_t *pair, const ufp4_descriptor_t *quant, fixture_distribution_t distribution);
/** Quantizes and multiplies two tensors with sides up to @p limit, or twice that along K, quantizes
 * one of them with E8M0 scales, and compares everything. */
void chain(pair_t *pair, uint32_t limit);
/** Does the same with tensors of these sizes. */
void chain_of(pair_t *pair, uint32_t m, uint32_t n, uint32_t k);
/** GEMMs of these sizes with garbage as operands, scales of E4M3 or NVFP4, and random terms of D.
 */
void gemms(pair_t *pair, uint32_t m, uint32_t n, uint32_t k, int runs);
/** GEMMs of these sizes with elements mixed on either side and every element on the other; both
 * kinds of blocks occur in all of them. */
void mixed_gemms(pair_t *pair, uint32_t m, uint32_t n, uint32_t k);

#endif
