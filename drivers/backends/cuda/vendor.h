// SPDX-License-Identifier: Apache-2.0
// NVIDIA's cuBLAS and cuBLASLt, found with dlopen and used only for comparison.
#ifndef UFP4_CUDA_VENDOR_H
#define UFP4_CUDA_VENDOR_H

#include "table.h"

typedef struct vendor vendor_t;

/** Opens the library. NULL if it is not installed, or its headers were not when this was built; @p
 * message says so. */
vendor_t *vendor_open(ufp4_message_t *message);
void vendor_close(vendor_t *vendor);
/** Implement the table's vendor() and vendor_narrow(). */
ufp4_status_t vendor_gemm(vendor_t *vendor, ufp4_cuda_vendor_t what, int64_t m, int64_t n,
                          int64_t k, const void *a, const void *b, void *d,
                          ufp4_message_t *message);
ufp4_status_t vendor_gemm_narrow(vendor_t *vendor, const ufp4_cuda_narrow_gemm_t *job,
                                 ufp4_message_t *message);

#endif
