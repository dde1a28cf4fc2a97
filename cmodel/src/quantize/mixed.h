// SPDX-License-Identifier: Apache-2.0
// Elements mixed with E4M3 scales: which of its two grids a block takes
// (docs/reference/numerics.md, 4).
#ifndef UFP4_QUANTIZE_MIXED_H
#define UFP4_QUANTIZE_MIXED_H

#include "quantize/tile.h"

enum { GRIDS = 2 };

/** A tile's blocks on each of their grids: the scales, and the errors, in quanta times 512. */
typedef struct {
  scale_t scale[GRIDS];
  lanes_t error[GRIDS];
} mixed_t;

/** How the grid @p grid is quantized, with the tensor exponent less @p grid: E1M2's qmax is half of
 * the second grid's, and its quanta are half as large. */
ufp4_quantize_t ufp4_mixed_how(const ufp4_quantize_t *how, unsigned grid);
/** The scales of a tile's blocks on both grids, and the errors of their own 16 numbers. */
void ufp4_mixed_try(const tile_t *tile, const ufp4_quantize_t *how, int t, mixed_t *out);
/** Scale bytes and codes on the better grid, as ufp4_tile_encode has them. The errors of @p mixed
 * may be those of more numbers, which share a scale. @return flags. */
unsigned ufp4_mixed_encode(const tile_t *tile, const ufp4_quantize_t *how, int t,
                           const mixed_t *mixed, const ulanes_t random[4], lanes_t *scale,
                           ulanes_t codes[2]);

#endif
