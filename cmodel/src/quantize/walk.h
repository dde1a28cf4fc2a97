// SPDX-License-Identifier: Apache-2.0
// The walk over the tiles of a tensor.
#ifndef UFP4_QUANTIZE_WALK_H
#define UFP4_QUANTIZE_WALK_H

#include "number/lanes.h"
#include "ufp4/quantize.h"

/** A tensor in its blocked orientation. Group b of row r has the index r * blocks + b: its
 * position in the operand and the counter of its random bytes. */
typedef struct {
  const ufp4_matrix_t *in;
  ufp4_axis_t axis;
  int64_t rows, cols, blocks;
  int64_t first_group;  ///< offset of the random bytes' counters in a part of a tensor
} source_t;

/** The place of a tile: groups first, first + step, .., one per lane. Row copies take groups along
 * a row and continue in the next row; column copies take group b of adjacent rows, because those
 * are adjacent in memory. */
typedef struct {
  int64_t first, step;
  unsigned lanes;
  int64_t strip, row, block;  // column copies only
} place_t;

source_t ufp4_source_of(const ufp4_matrix_t *in, ufp4_axis_t axis);
/** Set the first place, and the one after @p place; 0 if there is none. */
int ufp4_first_place(const source_t *source, place_t *place);
int ufp4_next_place(const source_t *source, place_t *place);
/** Reads a tile's FP32 bit patterns, through the BF16 RHT if @p how requests it. Positions beyond
 * the tensor read as zero. */
void ufp4_load_tile(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                    ulanes_t bits[BLOCK]);
/** Draws the random words of a tile. */
void ufp4_random_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                       ulanes_t words[4]);

#endif
