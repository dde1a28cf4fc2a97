// SPDX-License-Identifier: Apache-2.0
// Scales that one FP32 multiplication undoes: NVFP4, and E8M0 of numbers in memory.
#ifndef UFP4_QUANTIZE_PRODUCT_H
#define UFP4_QUANTIZE_PRODUCT_H

#include "quantize/walk.h"

/** Whether products are what @p how asks for: the integer transform leaves no FP32 numbers. */
int ufp4_how_has_products(const ufp4_quantize_t *how);
/** As ufp4_quantize; @p out is allocated and @p how is legal. UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_quantize_products(const source_t *source, const ufp4_quantize_t *how,
                                     ufp4_operand_t *out);

#endif
