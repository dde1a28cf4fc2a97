// SPDX-License-Identifier: Apache-2.0
// Implementations of the golden model's inner loops. All give the same bits and differ only in
// speed.
#ifndef UFP4_KERNEL_H
#define UFP4_KERNEL_H

#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  UFP4_KERNEL_FASTEST = 0,  ///< the fastest that this processor runs
  UFP4_KERNEL_PORTABLE,     ///< plain C
  UFP4_KERNEL_AVX2,
  UFP4_KERNEL_AVX512,  ///< AVX-512 F, BW, VL, DQ and VNNI
  UFP4_KERNEL_COUNT
} ufp4_kernel_t;

/** "fastest", "portable", "avx2" or "avx512"; NULL for any other number. */
const char *ufp4_kernel_name(ufp4_kernel_t kernel);

/** Finds a kernel by name. UFP4_ERROR_ARGUMENT: there is none, and *out is unchanged. */
ufp4_status_t ufp4_kernel_named(const char *name, ufp4_kernel_t *out);

/** Returns whether both this build and this processor support @p kernel. Calls that name an
 * unsupported kernel return UFP4_ERROR_UNSUPPORTED. */
int ufp4_kernel_available(ufp4_kernel_t kernel);

#ifdef __cplusplus
}
#endif

#endif
