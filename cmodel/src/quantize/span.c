// SPDX-License-Identifier: Apache-2.0
// The places of spans and the walk over them, for choice.c, product.c and shared.c.
#include "quantize/span.h"

#include "quantize/tile.h"
#include "ufp4/format.h"

#define TILE_ROWS_LOG2 4

spans_t ufp4_spans_of(const source_t *source, const ufp4_quantize_t *how) {
  spans_t spans = {.source = source,
                   .how = how,
                   .rows = how->layout == UFP4_LAYOUT_2D ? 1 << TILE_ROWS_LOG2 : 1,
                   .groups = ufp4_how_block(how) / BLOCK};
  spans.across = (source->blocks + spans.groups - 1) / spans.groups;
  spans.count = (source->rows + spans.rows - 1) / spans.rows * spans.across;
  return spans;
}

// One division suffices for all blocks of a place, because those of row copies are adjacent, and
// those of column copies lie in adjacent rows.
static void place_indices(const spans_t *spans, const place_t *place, int rows_log2,
                          int64_t places[LANES]) {
  const source_t *source = spans->source;
  const int groups_log2 = spans->groups > 1;  // 1 or 2
  int64_t row = place->first / source->blocks, block = place->first % source->blocks;
  for (unsigned l = 0; l < LANES; l++) {
    places[l] = (row >> rows_log2) * spans->across + (block >> groups_log2);
    if (source->axis == UFP4_AXIS_COL || ++block == source->blocks) {
      row++;
      if (source->axis == UFP4_AXIS_ROW) block = 0;
    }
  }
}

void ufp4_visit_tiles(const spans_t *spans, int draw, visitor_t *visitor, void *state) {
  const source_t *source = spans->source;
  visit_t visit;
  for (int more = ufp4_first_place(source, &visit.place); more;
       more = ufp4_next_place(source, &visit.place)) {
    ufp4_load_tile(source, spans->how, &visit.place, visit.bits);
    if (draw) ufp4_random_place(source, spans->how, &visit.place, visit.random);
    place_indices(spans, &visit.place, spans->rows > 1 ? TILE_ROWS_LOG2 : 0, visit.spans);
    visitor(state, &visit);
  }
}

void ufp4_store_visit(const spans_t *spans, const visit_t *visit, const lanes_t *scales,
                      const ulanes_t codes[2], ufp4_operand_t *out) {
  const place_t *place = &visit->place;
  const int64_t *places = visit->spans;
  int64_t own[LANES];
  if (spans->rows > 1) {  // the operand has a scale for each row
    place_indices(spans, place, 0, own);
    places = own;
  }
  for (unsigned l = 0; l < place->lanes; l++) {
    store_codes(codes, l, out->codes + (place->first + l * place->step) * CODE_BYTES);
    if (out->scales_f32 != NULL) {
      out->scales_f32[places[l]] = ufp4_f32_value((uint32_t)(*scales)[l]);
    } else {
      out->scales[places[l]] = (uint8_t)(*scales)[l];
    }
  }
}
