// SPDX-License-Identifier: Apache-2.0
// Jobs whose tensors lie far from each other, and their rows too: every bit of addresses and
// strides is in use.
#ifndef UFP4_TEST_FAR_H
#define UFP4_TEST_FAR_H

#include "pair.h"

/** Runs a chain of jobs near, compared with the model, and each of them far, compared with the near
 * one. @p pair is one of pair_open_far. */
void far_chain(pair_t *pair);

#endif
