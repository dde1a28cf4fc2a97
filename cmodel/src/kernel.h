// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_KERNEL_CHOSEN_H
#define UFP4_KERNEL_CHOSEN_H

#include "ufp4/kernel.h"

/** @p asked, which is available, or the fastest available for UFP4_KERNEL_FASTEST. */
ufp4_kernel_t ufp4_kernel_chosen(ufp4_kernel_t asked);

#endif
