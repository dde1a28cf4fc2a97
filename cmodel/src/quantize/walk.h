// SPDX-License-Identifier: Apache-2.0
// The walk over the tiles of a tensor.
#ifndef UFP4_QUANTIZE_WALK_H
#define UFP4_QUANTIZE_WALK_H

#include "number/lanes.h"
#include "ufp4/quantize.h"

/** A tensor in the orientation that is blocked. Group b of row r is r * blocks + b: its place in
 * the operand and the counter of its random bytes. */
typedef struct {
  const ufp4_matrix_t *in;
  ufp4_axis_t axis;
  int64_t rows, cols, blocks;
  int64_t first_group;  ///< of a part of a tensor: counters of random bytes begin here
} source_t;

/** One tile: groups first, first + step, ..; as many as there are lanes. Row copies take groups
 * along a row and on into the next; column copies take group b of adjacent rows, because those lie
 * side by side in memory. */
typedef struct {
  int64_t first, step;
  unsigned lanes;
  int64_t strip, row, block;  // column copies only
} place_t;

source_t ufp4_source_of(const ufp4_matrix_t *in, ufp4_axis_t axis);
/** The first tile, and the next one after @p place: 0 where there is none. */
int ufp4_first_place(const source_t *source, place_t *place);
int ufp4_next_place(const source_t *source, place_t *place);
/** A tile's FP32 bit patterns, through the BF16 RHT if @p how says so. What lies beyond the tensor
 * reads as zero. */
void ufp4_load_tile(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                    ulanes_t bits[BLOCK]);
/** The random words of a tile. */
void ufp4_random_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                       ulanes_t words[4]);

#endif
