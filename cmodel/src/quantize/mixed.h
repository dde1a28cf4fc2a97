// SPDX-License-Identifier: Apache-2.0
// Elements mixed with E4M3 scales: the choice of each block's grid (docs/reference/numerics.md, 4).
#ifndef UFP4_QUANTIZE_MIXED_H
#define UFP4_QUANTIZE_MIXED_H

#include "quantize/tile.h"

enum { GRIDS = 2 };

/** A tile's blocks on both grids: the scales, and the errors in quanta times 512. */
typedef struct {
  scale_t scale[GRIDS];
  lanes_t error[GRIDS];
} mixed_t;

/** Returns how to quantize on grid @p grid. The tensor exponent has to be reduced by @p grid,
 * because E1M2's qmax and quanta are half of the second grid's. */
ufp4_quantize_t ufp4_mixed_how(const ufp4_quantize_t *how, unsigned grid);
/** Computes the scales of a tile's blocks on both grids, and the errors of their own 16
 * numbers. */
void ufp4_mixed_try(const tile_t *tile, const ufp4_quantize_t *how, int t, mixed_t *out);
/** Makes scale bytes and codes on the better grid, in the format of ufp4_tile_encode. The errors
 * of @p mixed may be sums over all blocks that share a scale. @return flags. */
unsigned ufp4_mixed_encode(const tile_t *tile, const ufp4_quantize_t *how, int t,
                           const mixed_t *mixed, const ulanes_t random[4], lanes_t *scale,
                           ulanes_t codes[2]);

#endif
