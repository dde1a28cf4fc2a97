// SPDX-License-Identifier: Apache-2.0
#include "quantize/span.h"

#include "ufp4/format.h"

#define TILE_ROWS_LOG2 4

spans_t ufp4_spans_of(const source_t *source, const ufp4_quantize_t *how) {
  spans_t spans = {.rows = how->layout == UFP4_LAYOUT_2D ? 1 << TILE_ROWS_LOG2 : 1,
                   .groups = ufp4_how_block(how) / BLOCK};
  spans.across = (source->blocks + spans.groups - 1) / spans.groups;
  spans.count = (source->rows + spans.rows - 1) / spans.rows * spans.across;
  return spans;
}

// One division for all blocks of a place: of row copies they follow each other, of column copies
// they lie in adjacent rows.
static void place_indices(const spans_t *spans, const source_t *source, const place_t *place,
                          int rows_log2, int64_t at[LANES]) {
  const int groups_log2 = spans->groups > 1;  // 1 or 2
  int64_t row = place->first / source->blocks, block = place->first % source->blocks;
  for (unsigned l = 0; l < LANES; l++) {
    at[l] = (row >> rows_log2) * spans->across + (block >> groups_log2);
    if (source->axis == UFP4_AXIS_COL || ++block == source->blocks) {
      row++;
      if (source->axis == UFP4_AXIS_ROW) block = 0;
    }
  }
}

void ufp4_place_spans(const spans_t *spans, const source_t *source, const place_t *place,
                      int64_t at[LANES]) {
  place_indices(spans, source, place, spans->rows > 1 ? TILE_ROWS_LOG2 : 0, at);
}

void ufp4_place_scales(const spans_t *spans, const source_t *source, const place_t *place,
                       int64_t at[LANES]) {
  place_indices(spans, source, place, 0, at);
}
