// SPDX-License-Identifier: Apache-2.0
// The quantizer for scales that one FP32 multiplication undoes: NVFP4, and E8M0 without the integer
// transform.
#ifndef UFP4_QUANTIZE_PRODUCT_H
#define UFP4_QUANTIZE_PRODUCT_H

#include "quantize/span.h"

/** Returns whether @p how can be quantized by products; the integer transform does not give FP32
 * numbers. */
int ufp4_how_has_products(const ufp4_quantize_t *how);
/** The largest magnitudes of a tensor's spans. */
typedef struct {
  int32_t *of_spans;         ///< patterns, of which NaN and Inf are the largest; the caller frees
                             ///< it
  float encode, reciprocal;  ///< NVFP4: S, and its inverse Sd
} peaks_t;
/** Collects the largest magnitudes. S maps the largest finite number to @p top, computed in the
 * order of NVIDIA's reference, where each operation is in FP32 and rounded once.
 * UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_peaks_of(const spans_t *spans, float top, peaks_t *out);
/** Quantizes as ufp4_quantize does; @p out is allocated and @p how is legal. UFP4_ERROR_MEMORY. */
ufp4_status_t ufp4_quantize_products(const source_t *source, const ufp4_quantize_t *how,
                                     ufp4_operand_t *out);

#endif
