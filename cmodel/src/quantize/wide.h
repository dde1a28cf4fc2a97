// SPDX-License-Identifier: Apache-2.0
// Blocks of 32, 64 and 128 with E4M3 scales, and transforms of 32 and 64 points.
#ifndef UFP4_QUANTIZE_WIDE_H
#define UFP4_QUANTIZE_WIDE_H

#include "quantize/kernel.h"
#include "ufp4/format.h"

/** Returns whether @p how, which is legal, has larger blocks than its scale's default, or more
 * than 16 points. */
int ufp4_how_is_wide(const ufp4_quantize_t *how);
/** The kernel for such quantizers. */
const quantize_kernel_t *ufp4_quantize_wide(void);

#endif
