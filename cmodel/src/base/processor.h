// SPDX-License-Identifier: Apache-2.0
// The kernels that this processor can run (ufp4/kernel.h).
#ifndef UFP4_PROCESSOR_H
#define UFP4_PROCESSOR_H

#include "ufp4/kernel.h"

/** Returns @p asked, which must be available, or the fastest available kernel for
 * UFP4_KERNEL_FASTEST. */
ufp4_kernel_t ufp4_kernel_chosen(ufp4_kernel_t asked);

#endif
