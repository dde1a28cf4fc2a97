// SPDX-License-Identifier: Apache-2.0
// A GEMM by the tested kernel against the same by the portable one.
#ifndef UFP4_KERNELS_H
#define UFP4_KERNELS_H

#include "fixture.h"

/** Runs both into rows with a gap after each, and compares all, the gap included. */
void kernels_check(int64_t index, const ufp4_operand_t *a, const ufp4_operand_t *b,
                   const ufp4_gemm_t *how);

#endif
