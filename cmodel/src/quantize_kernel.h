// SPDX-License-Identifier: Apache-2.0
// The quantizer's fast kernel and what it takes from the portable one.
#ifndef UFP4_QUANTIZE_KERNEL_H
#define UFP4_QUANTIZE_KERNEL_H

#include "internal.h"

/** Quantizes the blocks of a place with the tensor exponent of @p out; raises the flags of @p out. */
void ufp4_quantize_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place, ufp4_operand_t *out);

/** Lowers *exponent to what the blocks of a place need. */
void ufp4_place_exponent(const source_t *source, const ufp4_quantize_t *how, const place_t *place, int *exponent);

/** Whether the AVX-512 kernel can do this; always 0 where it was not built. */
int ufp4_quantize_avx512_covers(const source_t *source, const ufp4_quantize_t *how);

/** As ufp4_tensor_exponent. */
int ufp4_exponent_avx512(const source_t *source, const ufp4_quantize_t *how);

/** As ufp4_quantize; @p out is allocated. UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_quantize_avx512(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out);

#endif
