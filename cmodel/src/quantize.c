// SPDX-License-Identifier: Apache-2.0
// Whole tensors: the walk over tiles, and what is common to all of them. The arithmetic is in tile.c.
#include "ufp4/quantize.h"

#include <string.h>

#include "internal.h"

// Columns of a strip of the column copy: wide enough to read rows in long runs, narrow enough that the cache lines
// of codes it writes into stay near until they are full.
#define STRIP_COLS 128

unsigned ufp4_quantize_block(const uint32_t bits[16], const ufp4_quantize_t *how, int exponent,
                             const uint8_t random[16], uint8_t codes[16], uint8_t *scale) {
  ulanes_t lanes[BLOCK] = {{0}}, draws[4] = {{0}}, words[2];
  lanes_t bytes;
  tile_t tile;
  for (unsigned i = 0; i < BLOCK; i++) {
    lanes[i][0] = bits[i];
    if (how->round == UFP4_ROUND_SR) draws[i / 4][0] |= (uint32_t)random[i] << 8 * (i % 4);
  }
  ufp4_tile_unpack(lanes, how, &tile);
  unsigned flags = ufp4_tile_encode(&tile, how, exponent, draws, &bytes, words);
  for (unsigned i = 0; i < BLOCK; i++) codes[i] = (uint8_t)(words[i / 8][0] >> 4 * (i % 8) & 15);
  *scale = (uint8_t)bytes[0];
  return flags;
}

// --- Walk --------------------------------------------------------------------------------------------

// A tensor in the orientation that is blocked. Block b of row r is group r * blocks + b: its place in the operand and
// the counter of its random bytes.
typedef struct {
  const ufp4_matrix_t *in;
  ufp4_axis_t axis;
  int64_t rows, cols, blocks;
} source_t;

// One tile: groups first, first + step, ..; as many as there are lanes. Row copies take blocks along a row and on into
// the next; column copies take block b of adjacent rows, because those lie side by side in memory.
typedef struct {
  int64_t first, step;
  unsigned lanes;
  int64_t strip, row, block;  // column copies only
} place_t;

static source_t source_of(const ufp4_matrix_t *in, ufp4_axis_t axis) {
  int64_t rows = axis == UFP4_AXIS_COL ? in->cols : in->rows;
  int64_t cols = axis == UFP4_AXIS_COL ? in->rows : in->cols;
  return (source_t){in, axis, rows, cols, (cols + BLOCK - 1) / BLOCK};
}

static int64_t min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
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

static int first_place(const source_t *source, place_t *place) {
  *place = (place_t){0};
  return place_of(source, place);
}

static int next_place(const source_t *source, place_t *place) {
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

// A whole tile of a column copy: element i of all lanes is contiguous.
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

// What lies beyond the tensor reads as zero.
static void load_tile(const source_t *source, const place_t *place, ulanes_t bits[BLOCK]) {
  memset(bits, 0, BLOCK * sizeof *bits);
  if (source->axis == UFP4_AXIS_COL && place->lanes == LANES) {
    int64_t row = place->block * BLOCK;
    load_rows(source->in, row * source->in->ld + place->row, min_i64(source->cols - row, BLOCK), bits);
  } else {
    for (unsigned l = 0; l < place->lanes; l++) load_lane(source, place->first + l * place->step, l, bits);
  }
}

static void store_tile(const place_t *place, const lanes_t *scale, const ulanes_t codes[2], ufp4_operand_t *out) {
  for (unsigned l = 0; l < place->lanes; l++) {
    int64_t g = place->first + l * place->step;
    uint64_t packed = (uint64_t)codes[1][l] << 32 | codes[0][l];
    memcpy(out->codes + g * CODE_BYTES, &packed, CODE_BYTES);
    out->scales[g] = (uint8_t)(*scale)[l];
  }
}

// --- Tensor exponent ---------------------------------------------------------------------------------

// Largest t with m * 2^(x + t) <= 448 * qmax; m in [2^27, 2^28).
static int exponent_from_amax(int32_t m, int32_t x, ufp4_elem_t elem) {
  const qmax_t qmax = ufp4_elem_qmax(elem);
  int limit = 7 * qmax.odd;  // 448 = 7 * 2^6
  int shift = __builtin_clz((unsigned)limit) - 4;
  return 6 + qmax.exponent - shift - x - (m > limit << shift);
}

// Lane by lane, the larger of (amax, exponent) and the tile's; both normalized.
HOT static void raise_amax(const tile_t *tile, lanes_t *amax, lanes_t *exponent) {
  lanes_t larger = (tile->amax_exponent > *exponent) | ((tile->amax_exponent == *exponent) & (tile->amax > *amax));
  *amax = select_lanes(larger, tile->amax, *amax);
  *exponent = select_lanes(larger, tile->amax_exponent, *exponent);
}

static int source_exponent(const source_t *source, const ufp4_quantize_t *how) {
  lanes_t amax = {0}, exponent = all_lanes(INT32_MIN);
  place_t place;
  for (int more = first_place(source, &place); more; more = next_place(source, &place)) {
    ulanes_t bits[BLOCK];
    tile_t tile;
    load_tile(source, &place, bits);
    ufp4_tile_unpack(bits, how, &tile);
    raise_amax(&tile, &amax, &exponent);
  }
  int t = INT32_MAX;
  for (unsigned l = 0; l < LANES; l++) {
    if (amax[l] == 0) continue;
    int lane_t = exponent_from_amax(amax[l], exponent[l], how->elem);
    t = lane_t < t ? lane_t : t;
  }
  return t == INT32_MAX ? 0 : t;
}

// --- Public ------------------------------------------------------------------------------------------

static int matrix_ok(const ufp4_matrix_t *in) {
  return in != NULL && in->data != NULL && in->rows >= 1 && in->rows <= UFP4_MAX_DIM && in->cols >= 1 &&
         in->cols <= UFP4_MAX_DIM && in->ld >= in->cols && (in->dtype == UFP4_DTYPE_F32 || in->dtype == UFP4_DTYPE_BF16);
}

static int how_ok(const ufp4_quantize_t *how) {
  return how != NULL && (unsigned)how->elem < UFP4_ELEM_COUNT && how->scale == UFP4_SCALE_E4M3 && how->layout == UFP4_LAYOUT_1D &&
         (how->axis == UFP4_AXIS_ROW || how->axis == UFP4_AXIS_COL) && (unsigned)how->round < UFP4_ROUND_COUNT &&
         (unsigned)how->scale_round <= UFP4_SCALE_ROUND_UP && (unsigned)how->rht <= UFP4_RHT_INTEGER &&
         (!how->exponent_given || (how->exponent >= INT16_MIN && how->exponent <= INT16_MAX));
}

ufp4_status_t ufp4_tensor_exponent(const ufp4_matrix_t *in, const ufp4_quantize_t *how, int *exponent) {
  if (!matrix_ok(in) || !how_ok(how) || exponent == NULL) return UFP4_ERROR_ARGUMENT;
  const source_t source = source_of(in, how->axis);
  *exponent = source_exponent(&source, how);
  return UFP4_OK;
}

static void quantize_tile(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                          ufp4_operand_t *out) {
  ulanes_t bits[BLOCK], draws[4], codes[2];
  lanes_t scale;
  tile_t tile;
  load_tile(source, place, bits);
  if (how->round == UFP4_ROUND_SR) {
    ufp4_random_tile(how->seed, how->tensor_id, (uint64_t)place->first, (uint64_t)place->step, draws);
  }
  ufp4_tile_unpack(bits, how, &tile);
  out->flags |= ufp4_tile_encode(&tile, how, out->exponent, draws, &scale, codes);
  store_tile(place, &scale, codes, out);
}

ufp4_status_t ufp4_quantize(const ufp4_matrix_t *in, const ufp4_quantize_t *how, ufp4_operand_t *out) {
  if (!matrix_ok(in) || !how_ok(how) || out == NULL) return UFP4_ERROR_ARGUMENT;
  const source_t source = source_of(in, how->axis);
  ufp4_status_t status = ufp4_operand_create(how->elem, source.rows, source.cols, out);
  if (status != UFP4_OK) return status;
  out->exponent = how->exponent_given ? how->exponent : source_exponent(&source, how);
  place_t place;
  for (int more = first_place(&source, &place); more; more = next_place(&source, &place)) {
    quantize_tile(&source, how, &place, out);
  }
  return UFP4_OK;
}
