// SPDX-License-Identifier: Apache-2.0
// The quantizer's fast kernels and what they take from the portable one.
#ifndef UFP4_QUANTIZE_KERNEL_H
#define UFP4_QUANTIZE_KERNEL_H

#include "internal.h"

/** Quantizes the blocks of a place with the tensor exponent of @p out; raises the flags of @p out. */
void ufp4_quantize_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place, ufp4_operand_t *out);

/** Lowers *exponent to what the blocks of a place need. */
void ufp4_place_exponent(const source_t *source, const ufp4_quantize_t *how, const place_t *place, int *exponent);

/** For E4M3 scales of one row, the transform of integers or none, and fewer than 2^32 blocks. */
typedef struct {
  /** As ufp4_tensor_exponent. */
  int (*exponent)(const source_t *source, const ufp4_quantize_t *how);
  /** As ufp4_quantize; @p out is allocated. UFP4_ERROR_MEMORY. */
  ufp4_status_t (*quantize)(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out);
} quantize_kernel_t;

/** NULL where the compiler does not have the instructions. */
const quantize_kernel_t *quantize_avx512(void);
const quantize_kernel_t *quantize_avx2(void);

#endif
