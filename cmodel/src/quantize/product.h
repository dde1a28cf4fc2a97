// SPDX-License-Identifier: Apache-2.0
// Scales that one FP32 multiplication undoes: NVFP4, and E8M0 of numbers in memory.
#ifndef UFP4_QUANTIZE_PRODUCT_H
#define UFP4_QUANTIZE_PRODUCT_H

#include "quantize/span.h"

/** Whether products are what @p how asks for: the integer transform leaves no FP32 numbers. */
int ufp4_how_has_products(const ufp4_quantize_t *how);
/** The largest magnitudes of a tensor's spans. */
typedef struct {
  int32_t *of_spans;         ///< as patterns; NaN and Inf are largest. The caller frees it.
  float encode, reciprocal;  ///< NVFP4: S, and the Sd that undoes it
} peaks_t;
/** @p top: what S makes of the largest finite number, in the order of NVIDIA's reference, each
 * operation in FP32 and rounded once. UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_peaks_of(const spans_t *spans, float top, peaks_t *out);
/** Quantizes as ufp4_quantize does; @p out is allocated and @p how is legal. UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_quantize_products(const source_t *source, const ufp4_quantize_t *how,
                                     ufp4_operand_t *out);

#endif
