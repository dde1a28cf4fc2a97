// SPDX-License-Identifier: Apache-2.0
// Reads a tensor tile by tile, in either orientation.
#include "quantize/walk.h"

#include <string.h>

#include "base/integer.h"

// Columns of a strip of the column copy: enough to read rows in long runs, and few enough that the
// cache lines of codes stay in a near cache until they are full.
#define STRIP_COLS 128

source_t ufp4_source_of(const ufp4_matrix_t *in, ufp4_axis_t axis) {
  int64_t rows = axis == UFP4_AXIS_COL ? in->cols : in->rows;
  int64_t cols = axis == UFP4_AXIS_COL ? in->rows : in->cols;
  return (source_t){in, axis, rows, cols, (cols + BLOCK - 1) / BLOCK, 0};
}

static int place_of(const source_t *source, place_t *place) {
  int64_t left;
  if (source->axis == UFP4_AXIS_ROW) {
    place->step = 1;
    left = source->rows * source->blocks - place->first;
  } else {
    place->step = source->blocks;
    place->first = place->row * source->blocks + place->block;
    left = min_i64(place->strip + STRIP_COLS, source->rows) - place->row;
  }
  place->lanes = (unsigned)min_i64(left, LANES);
  return left > 0;
}

int ufp4_first_place(const source_t *source, place_t *place) {
  *place = (place_t){0};
  return place_of(source, place);
}

int ufp4_next_place(const source_t *source, place_t *place) {
  place->first += LANES;
  place->row += LANES;
  if (place_of(source, place)) return 1;
  if (source->axis == UFP4_AXIS_ROW) return 0;
  if (++place->block == source->blocks) {
    place->block = 0;
    place->strip += STRIP_COLS;
  }
  place->row = place->strip;
  return place_of(source, place);
}

static uint32_t element_bits(const ufp4_matrix_t *in, int64_t index) {
  if (in->dtype == UFP4_DTYPE_BF16) return (uint32_t)((const uint16_t *)in->data)[index] << 16;
  return ((const uint32_t *)in->data)[index];
}

static void load_lane(const source_t *source, int64_t g, unsigned lane, ulanes_t bits[BLOCK]) {
  int64_t row = g / source->blocks, col = g % source->blocks * BLOCK;
  int64_t ld = source->in->ld;
  int64_t first = source->axis == UFP4_AXIS_COL ? col * ld + row : row * ld + col;
  int64_t step = source->axis == UFP4_AXIS_COL ? ld : 1;
  int64_t count = min_i64(source->cols - col, BLOCK);
  for (int64_t i = 0; i < count; i++) bits[i][lane] = element_bits(source->in, first + i * step);
}

// Reads a whole tile of a column copy: element i of all lanes is contiguous.
static void load_rows(const ufp4_matrix_t *in, int64_t first, int64_t count, ulanes_t bits[BLOCK]) {
  for (int64_t i = 0; i < count; i++, first += in->ld) {
    if (in->dtype == UFP4_DTYPE_F32) {
      memcpy(&bits[i], (const float *)in->data + first, sizeof bits[i]);
    } else {
      const uint16_t *from = (const uint16_t *)in->data + first;
      for (unsigned l = 0; l < LANES; l++) bits[i][l] = (uint32_t)from[l] << 16;
    }
  }
}

// Reads elements `half` to `half` + 7 of 8 blocks.
INLINE void turn_half(const float *const blocks[LANES], unsigned half, ulanes_t bits[BLOCK]) {
  ulanes_t v[LANES], w[LANES];
  for (unsigned l = 0; l < LANES; l++) memcpy(&v[l], blocks[l] + half, sizeof v[l]);
  // Each stage interleaves vectors that are half the size of the square apart.
  for (unsigned stage = 0; stage < 3; stage++) {
    for (unsigned l = 0; l < LANES / 2; l++) {
      w[2 * l] = __builtin_shufflevector(v[l], v[l + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      w[2 * l + 1] = __builtin_shufflevector(v[l], v[l + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    memcpy(v, w, sizeof v);
  }
  memcpy(bits + half, v, sizeof v);
}

HOT static void turn_blocks(const float *const blocks[LANES], ulanes_t bits[BLOCK]) {
  for (unsigned half = 0; half < BLOCK; half += LANES) turn_half(blocks, half, bits);
}

// Reads a whole tile of a row copy: the elements of each lane are contiguous.
static void load_blocks(const source_t *source, int64_t first, ulanes_t bits[BLOCK]) {
  const float *blocks[LANES];
  int64_t row = first / source->blocks, block = first % source->blocks;
  for (unsigned l = 0; l < LANES; l++) {
    blocks[l] = (const float *)source->in->data + row * source->in->ld + block * BLOCK;
    if (++block < source->blocks) continue;
    block = 0;
    row++;
  }
  turn_blocks(blocks, bits);
}

static int blocks_are_whole(const source_t *source, const place_t *place) {
  return source->axis == UFP4_AXIS_ROW && place->lanes == LANES &&
         source->in->dtype == UFP4_DTYPE_F32 && source->cols % BLOCK == 0;
}

static void load_numbers(const source_t *source, const place_t *place, ulanes_t bits[BLOCK]) {
  if (blocks_are_whole(source, place)) {
    load_blocks(source, place->first, bits);
    return;
  }
  memset(bits, 0, BLOCK * sizeof *bits);
  if (source->axis == UFP4_AXIS_COL && place->lanes == LANES) {
    int64_t row = place->block * BLOCK;
    load_rows(source->in, row * source->in->ld + place->row, min_i64(source->cols - row, BLOCK),
              bits);
  } else {
    for (unsigned l = 0; l < place->lanes; l++)
      load_lane(source, place->first + l * place->step, l, bits);
  }
}

void ufp4_load_tile(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                    ulanes_t bits[BLOCK]) {
  load_numbers(source, place, bits);
  if (how->rht == UFP4_RHT_BF16) ufp4_rht_tile_bf16(bits, (uint16_t)how->rht_mask);
}

void ufp4_random_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                       ulanes_t words[4]) {
  if (how->round != UFP4_ROUND_SR) return;
  ufp4_random_tile(how->seed, how->tensor_id, (uint64_t)(source->first_group + place->first),
                   (uint64_t)place->step, words);
}
