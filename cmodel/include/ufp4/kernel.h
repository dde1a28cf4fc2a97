// SPDX-License-Identifier: Apache-2.0
// The implementations that the golden model has of its heavy loops. They give the same bits; only
// the time differs.
#ifndef UFP4_KERNEL_H
#define UFP4_KERNEL_H

#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  UFP4_KERNEL_FASTEST = 0,  ///< of this processor
  UFP4_KERNEL_PORTABLE,     ///< plain C
  UFP4_KERNEL_AVX2,
  UFP4_KERNEL_AVX512,  ///< AVX-512 F, BW, VL, DQ and VNNI
  UFP4_KERNEL_COUNT
} ufp4_kernel_t;

/** "fastest", "portable", "avx2" or "avx512"; NULL for any other number. */
const char *ufp4_kernel_name(ufp4_kernel_t kernel);

/** The kernel of that name. UFP4_ERROR_ARGUMENT: there is none, and *out is untouched. */
ufp4_status_t ufp4_kernel_named(const char *name, ufp4_kernel_t *out);

/** Whether this build and this processor have @p kernel. Calls that are told to use one they do not
 * have return UFP4_ERROR_UNSUPPORTED. */
int ufp4_kernel_available(ufp4_kernel_t kernel);

#ifdef __cplusplus
}
#endif

#endif
