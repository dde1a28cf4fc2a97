// SPDX-License-Identifier: Apache-2.0
// Numbers and operands where a single bit matters: points where scales or codes change, and the
// largest products.
#ifndef UFP4_TEST_EDGES_H
#define UFP4_TEST_EDGES_H

#include "pair.h"

/** QUANT of numbers at points where scales change, and one bit from them. */
void turning_points(pair_t *pair);
/** QUANT of numbers half-way between two codes, and one bit from that. */
void ties(pair_t *pair);
/** QUANT of numbers whose transforms are half-way between two codes. */
void tied_transforms(pair_t *pair);
/** GEMMs of the largest codes of both signs under scales of every exponent. */
void largest_products(pair_t *pair);

#endif
