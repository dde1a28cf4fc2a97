// SPDX-License-Identifier: Apache-2.0
// Compares a GEMM by the tested kernel with the same GEMM by the portable one.
#ifndef UFP4_KERNELS_H
#define UFP4_KERNELS_H

#include "fixture.h"

/** Runs both kernels into rows with a gap after each, and compares rows and gaps. */
void kernels_check(int64_t index, const ufp4_operand_t *a, const ufp4_operand_t *b,
                   const ufp4_gemm_t *how);

#endif
