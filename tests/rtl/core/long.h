// SPDX-License-Identifier: Apache-2.0
// Jobs with a long side.
#ifndef UFP4_TEST_LONG_H
#define UFP4_TEST_LONG_H

#include "pair.h"

/** Chains with one side up to LONG_SIDE; then, of GEMMs, one a little over each power of two. */
void long_sides(const setting_t *setting);
/** A GEMM whose count of blocks needs all of its bits but two. */
void long_k(const setting_t *setting);
/** QUANTs of tensors with a side a little over LONG_K, with stochastic rounding: of both copies
   each block has an index, and so random bits, of its own; and of some a little longer than each
   power of two. */
void long_quants(const setting_t *setting);

#endif
