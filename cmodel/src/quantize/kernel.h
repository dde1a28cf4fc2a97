// SPDX-License-Identifier: Apache-2.0
// The interface of the fast kernels, which quantize with E4M3 scales of one row: avx512.c, avx2.c,
// and wide.c.
#ifndef UFP4_QUANTIZE_KERNEL_H
#define UFP4_QUANTIZE_KERNEL_H

#include "quantize/walk.h"

/** Requires E4M3 scales of one row, the integer transform or none, and fewer than 2^32 blocks. */
typedef struct {
  /** Does what ufp4_source_exponent does. */
  int (*exponent)(const source_t *source, const ufp4_quantize_t *how);
  /** Does what ufp4_quantize does; @p out is allocated. UFP4_ERROR_MEMORY. */
  ufp4_status_t (*quantize)(const source_t *source, const ufp4_quantize_t *how,
                            ufp4_operand_t *out);
} quantize_kernel_t;

/** NULL if the compiler does not support the instructions. */
const quantize_kernel_t *quantize_avx512(void);
const quantize_kernel_t *quantize_avx2(void);

#endif
