// SPDX-License-Identifier: Apache-2.0
// Spans: the numbers that share a scale, which are one group of 16 or more.
#ifndef UFP4_QUANTIZE_SPAN_H
#define UFP4_QUANTIZE_SPAN_H

#include "quantize/walk.h"

/** Rows and groups of 16 of a tensor that share a scale. */
typedef struct {
  const source_t *source;
  const ufp4_quantize_t *how;
  int64_t rows, groups;
  int64_t across;  ///< spans side by side: the scales of a row
  int64_t count;
} spans_t;

spans_t ufp4_spans_of(const source_t *source, const ufp4_quantize_t *how);

/** A tile: its place, the span of each of its blocks, its numbers and its random words. */
typedef struct {
  place_t place;
  int64_t spans[LANES];
  ulanes_t bits[BLOCK], random[4];
} visit_t;

typedef void visitor_t(void *state, const visit_t *visit);

/** Calls @p visitor for each tile, rows in increasing order; with random words if @p draw. */
void ufp4_visit_tiles(const spans_t *spans, int draw, visitor_t *visitor, void *state);
/** Stores a tile: its codes, and the scale of each block as a byte or an FP32 pattern. */
void ufp4_store_visit(const spans_t *spans, const visit_t *visit, const lanes_t *scales,
                      const ulanes_t codes[2], ufp4_operand_t *out);

#endif
