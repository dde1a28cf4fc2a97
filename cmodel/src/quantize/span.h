// SPDX-License-Identifier: Apache-2.0
// Spans: what shares a scale where that is more than a group of 16, or as if it were.
#ifndef UFP4_QUANTIZE_SPAN_H
#define UFP4_QUANTIZE_SPAN_H

#include "quantize/walk.h"

/** Rows and groups of 16 that share a scale. */
typedef struct {
  int64_t rows, groups;
  int64_t across;  ///< spans side by side: scales of a row
  int64_t count;
} spans_t;

spans_t ufp4_spans_of(const source_t *source, const ufp4_quantize_t *how);
/** The span of each block of a place. */
void ufp4_place_spans(const spans_t *spans, const source_t *source, const place_t *place,
                      int64_t at[LANES]);
/** Where its scale is in the operand, which has one for each row. */
void ufp4_place_scales(const spans_t *spans, const source_t *source, const place_t *place,
                       int64_t at[LANES]);

#endif
