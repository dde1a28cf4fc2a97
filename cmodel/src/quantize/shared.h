// SPDX-License-Identifier: Apache-2.0
// The quantizer for scale formats and layouts that neither portable.c nor product.c supports: FP32
// scales, and tiles of 16 rows.
#ifndef UFP4_QUANTIZE_SHARED_H
#define UFP4_QUANTIZE_SHARED_H

#include "quantize/walk.h"

/** Quantizes as ufp4_quantize does; @p out is allocated and @p how is legal. */
ufp4_status_t ufp4_quantize_shared(const source_t *source, const ufp4_quantize_t *how,
                                   ufp4_operand_t *out);
/** The tensor exponent of the 2D layout. */
ufp4_status_t ufp4_shared_exponent(const source_t *source, const ufp4_quantize_t *how,
                                   int *exponent);

#endif
