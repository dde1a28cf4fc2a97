// SPDX-License-Identifier: Apache-2.0
// The vector quantizer: E4M3 scales for blocks of one row, with the integer transform or none. The
// including file first includes the vector operations of one instruction set, which has TILE lanes,
// one block per lane.
//
// While a block's scale is a normal number, its codes do not depend on the tensor exponent. One
// walk therefore makes the codes and keeps the place of each scale; at its end the tensor exponent
// is known, and scales become bytes. If a scale is subnormal or saturates, or the vector code
// declined its tile, the portable code makes the tile again.
#ifndef UFP4_QUANTIZE_VECTOR_WALK_H
#define UFP4_QUANTIZE_VECTOR_WALK_H

#include <stdlib.h>
#include <string.h>

#include "quantize/kernel.h"
#include "quantize/portable.h"
#include "quantize/vector_load.h"
#include "quantize/vector_tile.h"

#define DEPTH 8  // blocks of a row whose codes fill a cache line
#define LINE_BYTES (DEPTH * CODE_BYTES)
#define PATIENCE 128
#define CACHED_BYTES (4 << 20)  // codes up to this size may stay in caches
#define STRIP_COLS \
  4096  // of a column copy: their codes, DEPTH blocks deep, stay in the second cache

typedef void (*tile_function_t)(const job_t *job, const spot_t *place, result_t *out);

typedef struct {
  tile_function_t first,
      again;  // called if first requests it; NULL if it never does
} tiles_t;

// Tiles of a column copy that are stored together: up to DEPTH of them along k, of the same TILE
// rows.
typedef struct {
  words_t codes[DEPTH][2];
  places_t places[DEPTH];
  int count;
} column_t;

typedef struct {
  job_t job;
  tiles_t tiles;
  int patience;  // decreases if over a third of the tiles is made again; below 0 all tiles use the
                 // careful variant at once
  ufp4_operand_t *out;  // NULL: only the tensor exponent is requested
  words_t ratio;        // the largest so far
  int least;        // smallest tensor exponent of blocks left to the portable code, INT32_MAX: none
  int known;        // out->exponent is final
  int16_t shift;    // from places to bytes, if known
  int past_cache;   // column copies: codes bypass the caches, in whole lines
  int16_t *places;  // [tiles][TILE] in the order of the walk; NULL if known from the start
  int64_t done;     // tiles done
  column_t *made;   // buffer for a strip; NULL for row copies, or if no codes are requested
} walk_t;

// --- Kinds of tiles -----------------------------------------------------------------------------

#define FUNCTION(name, rht, stochastic, e2m1, codes, careful)                           \
  static void name(const job_t *job, const spot_t *place, result_t *out) {              \
    quantize_tile((kind_t){rht, stochastic, e2m1, codes, careful, 0}, job, place, out); \
  }
#define MIXED(name, rht, stochastic)                                       \
  static void name(const job_t *job, const spot_t *place, result_t *out) { \
    quantize_tile((kind_t){rht, stochastic, 1, 1, 1, 1}, job, place, out); \
  }
MIXED(plain_nearest_mixed, 0, 0)
MIXED(plain_stochastic_mixed, 0, 1)
MIXED(rht_nearest_mixed, 1, 0)
MIXED(rht_stochastic_mixed, 1, 1)
#define KIND(name, rht, stochastic, e2m1, codes)  \
  FUNCTION(name, rht, stochastic, e2m1, codes, 0) \
  FUNCTION(careful_##name, rht, stochastic, e2m1, codes, 1)
KIND(plain_nearest, 0, 0, 0, 1)
KIND(plain_stochastic, 0, 1, 0, 1)
KIND(rht_nearest, 1, 0, 0, 1)
KIND(rht_stochastic, 1, 1, 0, 1)
KIND(plain_nearest_e2m1, 0, 0, 1, 1)
KIND(plain_stochastic_e2m1, 0, 1, 1, 1)
KIND(rht_nearest_e2m1, 1, 0, 1, 1)
KIND(rht_stochastic_e2m1, 1, 1, 1, 1)
FUNCTION(plain_amax, 0, 0, 0, 0, 0)
KIND(rht_amax, 1, 0, 0, 0)
FUNCTION(plain_amax_e2m1, 0, 0, 1, 0, 0)
KIND(rht_amax_e2m1, 1, 0, 1, 0)

static tiles_t tile_functions(const ufp4_quantize_t *how, int codes) {
  static const tiles_t makes_codes[2][2][2] = {
      {{{plain_nearest, careful_plain_nearest}, {plain_stochastic, careful_plain_stochastic}},
       {{rht_nearest, careful_rht_nearest}, {rht_stochastic, careful_rht_stochastic}}},
      {{{plain_nearest_e2m1, careful_plain_nearest_e2m1},
        {plain_stochastic_e2m1, careful_plain_stochastic_e2m1}},
       {{rht_nearest_e2m1, careful_rht_nearest_e2m1},
        {rht_stochastic_e2m1, careful_rht_stochastic_e2m1}}}};
  static const tiles_t amax[2][2] = {
      {{plain_amax, NULL}, {rht_amax, careful_rht_amax}},
      {{plain_amax_e2m1, NULL}, {rht_amax_e2m1, careful_rht_amax_e2m1}}};
  static const tiles_t mixed[2][2] = {{{plain_nearest_mixed, NULL}, {plain_stochastic_mixed, NULL}},
                                      {{rht_nearest_mixed, NULL}, {rht_stochastic_mixed, NULL}}};
  const int e2m1 = how->elem == UFP4_ELEM_E2M1, rht = how->rht == UFP4_RHT_INTEGER;
  if (codes && how->elem == UFP4_ELEM_MIXED) return mixed[rht][how->round == UFP4_ROUND_SR];
  return codes ? makes_codes[e2m1][rht][how->round == UFP4_ROUND_SR] : amax[e2m1][rht];
}

// --- Left to the portable code ------------------------------------------------------------------

static void portable(walk_t *walk, place_t place) {
  if (walk->known) {
    ufp4_quantize_place(walk->job.source, walk->job.how, &place, walk->out);
  } else {
    ufp4_place_exponent(walk->job.source, walk->job.how, &place, &walk->least);
  }
}

static void portable_tile(walk_t *walk, const spot_t *spot) {
  const source_t *source = walk->job.source;
  place_t place = {
      .first = spot->first, .step = 1, .lanes = LANES, .row = spot->row, .block = spot->block};
  if (source->axis == UFP4_AXIS_COL) place.step = source->blocks;
  for (int lane = 0; lane < TILE; lane += LANES) {
    portable(walk, place);
    place.first += LANES * place.step;
    place.row += LANES;
  }
}

// --- Scales -------------------------------------------------------------------------------------

// Makes the scale bytes of mixed. Both scales of a block must be normal numbers, because the choice
// compares them; E2M1's is up to a binade smaller.
static int mixed_bytes(const walk_t *walk, places_t places, uint8_t bytes[TILE]) {
  int16_t each[TILE];
  uint8_t uniform[TILE];
  int low = 0;
  store_places(each, places);
  for (int i = 0; i < TILE; i++) {
    uniform[i] = (uint8_t)(each[i] & PLACE_UNIFORM ? 0x80 : 0);
    each[i] = (int16_t)(each[i] & ~PLACE_UNIFORM);
  }
  const int later = bytes_of_places(load_places(each), walk->shift, 8, 126, bytes);
  for (int i = 0; i < TILE; i++) {
    low |= uniform[i] != 0 && bytes[i] < 16;
    bytes[i] = (uint8_t)(bytes[i] | uniform[i]);
  }
  return later | low;
}

// Converts places to bytes: 8 to 126 are normal numbers up to 448. @return whether the portable
// code must make the tile.
static int scale_bytes(const walk_t *walk, places_t places, uint8_t bytes[TILE]) {
  if (walk->job.how->elem == UFP4_ELEM_MIXED) return mixed_bytes(walk, places, bytes);
  return bytes_of_places(places, walk->shift, 8, 126, bytes);
}

static void set_exponent(walk_t *walk, int exponent) {
  const int by = exponent - ufp4_elem_qmax(walk->job.how->elem).exponent;
  walk->out->exponent = exponent;
  walk->shift = (int16_t)clamp(8 * (by + 7 - 127), -8192, 8192);
  walk->job.limit =
      (int32_t)clamp(0x43E00000 - by * (INT64_C(1) << 23), 0, INT32_MAX);  // 448 * 2^-by
  walk->known = 1;
}

// --- Row copies ---------------------------------------------------------------------------------

static void tile_again(walk_t *walk, const spot_t *spot, result_t *made) {
  if (made->again && !made->later) {
    walk->tiles.again(&walk->job, spot, made);
    walk->patience -= 3;
    if (walk->patience < 0) walk->tiles.first = walk->tiles.again;
  }
  if (!made->later) {
    if (made->beyond) made->places = all_places(PLACE_LATER);
    return;
  }
  made->places = all_places(PLACE_LATER);
  made->ratio = BITS(setzero)();
  if (!walk->known) portable_tile(walk, spot);
}

static void run_tile(walk_t *walk, const spot_t *spot, result_t *made) {
  walk->tiles.first(&walk->job, spot, made);
  if (made->later | made->again | made->beyond) tile_again(walk, spot, made);
  walk->ratio = V(max_epi32)(walk->ratio, made->ratio);
  walk->patience += walk->patience < PATIENCE;
}

static void finish_row_tile(walk_t *walk, const spot_t *spot, places_t places) {
  uint8_t bytes[TILE];
  if (scale_bytes(walk, places, bytes)) {
    portable_tile(walk, spot);
  } else {
    memcpy(walk->out->scales + spot->first, bytes, sizeof bytes);
  }
}

static void store_row_codes(const result_t *made, uint8_t *target) {
  words_t blocks[2];
  interleave(made->codes, blocks);
  store(target, blocks[0]);
  store(target + sizeof *blocks, blocks[1]);
}

// Makes one tile of the walk, or if @p again, of the second walk, which makes scales.
static void row_tile(walk_t *walk, const spot_t *spot, int again) {
  if (again) {
    finish_row_tile(walk, spot, load_places(walk->places + TILE * walk->done++));
    return;
  }
  result_t made;
  run_tile(walk, spot, &made);
  if (walk->out == NULL) return;
  if (!made.later) store_row_codes(&made, walk->out->codes + spot->first * CODE_BYTES);
  if (walk->known) {
    finish_row_tile(walk, spot, made.places);
  } else {
    store_places(walk->places + TILE * walk->done++, made.places);
  }
}

static void walk_rows(walk_t *walk, int again) {
  const source_t *source = walk->job.source;
  const int64_t groups = source->rows * source->blocks;
  spot_t at = {0};
  for (; at.first + TILE <= groups; at.first += TILE) {
    row_tile(walk, &at, again);
    for (at.block += TILE; at.block >= source->blocks; at.block -= source->blocks) at.row++;
  }
  for (; at.first < groups; at.first += LANES) {
    const int64_t left = groups - at.first;
    portable(
        walk,
        (place_t){.first = at.first, .step = 1, .lanes = (unsigned)(left < LANES ? left : LANES)});
  }
}

// --- Column copies ------------------------------------------------------------------------------

// Stores the codes of a column's rows, from its first block on.
static void store_column_codes(const walk_t *walk, const column_t *column, const spot_t *first) {
  const int stream = walk->past_cache && column->count == DEPTH;
  uint8_t *to = walk->out->codes + first->first * CODE_BYTES;
  store_lines(column->codes, column->count, stream, to, walk->job.source->blocks * CODE_BYTES);
}

static void finish_column(walk_t *walk, const places_t places[DEPTH], int count,
                          const spot_t *first) {
  uint8_t bytes[DEPTH][TILE] = {{0}};
  int later[DEPTH] = {0};
  for (int k = 0; k < count; k++) later[k] = scale_bytes(walk, places[k], bytes[k]);
  for (int lane = 0; lane < TILE; lane++) {
    uint8_t *to = walk->out->scales + first->first + lane * walk->job.source->blocks;
    for (int k = 0; k < count; k++) to[k] = bytes[k][lane];
  }
  for (int k = 0; k < count; k++) {
    const spot_t at = {first->first + k, first->row, first->block + k};
    if (later[k]) portable_tile(walk, &at);
  }
}

static void column_again(walk_t *walk, const spot_t *first, int count) {
  places_t places[DEPTH] = {0};
  for (int k = 0; k < count; k++) {
    places[k] = load_places(walk->places + TILE * walk->done++);
  }
  finish_column(walk, places, count, first);
}

static void finish_made(walk_t *walk, const column_t *made, const spot_t *first) {
  store_column_codes(walk, made, first);
  if (walk->known) {
    finish_column(walk, made->places, made->count, first);
    return;
  }
  for (int k = 0; k < made->count; k++) {
    store_places(walk->places + TILE * walk->done++, made->places[k]);
  }
}

// Handles rows of the copy that do not fill a tile.
static void last_rows(walk_t *walk, int64_t row) {
  const source_t *source = walk->job.source;
  for (; row < source->rows; row += LANES) {
    const int64_t left = source->rows - row;
    for (int64_t block = 0; block < source->blocks; block++) {
      portable(walk, (place_t){.first = row * source->blocks + block,
                               .step = source->blocks,
                               .lanes = (unsigned)(left < LANES ? left : LANES),
                               .row = row,
                               .block = block});
    }
  }
}

// Makes the same blocks of all rows of a strip. Tiles along the rows are adjacent, so the lines of
// the source are read in order.
static void make_columns(walk_t *walk, const spot_t *first, int64_t end, int count) {
  const source_t *source = walk->job.source;
  column_t *made = walk->made;
  const int tiles = (int)((end - first->row) / TILE);
  for (int k = 0; k < count; k++) {
    for (int c = 0; c < tiles; c++) {
      const int64_t row = first->row + c * TILE, block = first->block + k;
      const spot_t at = {row * source->blocks + block, row, block};
      result_t tile;
      run_tile(walk, &at, &tile);
      if (walk->out == NULL) continue;
      made[c].codes[k][0] = tile.codes[0];
      made[c].codes[k][1] = tile.codes[1];
      made[c].places[k] = tile.places;
    }
  }
  if (walk->out == NULL) return;
  for (int c = 0; c < tiles; c++) {
    const int64_t row = first->row + c * TILE;
    const spot_t at = {row * source->blocks + first->block, row, first->block};
    for (int k = count; k < DEPTH; k++) made[c].codes[k][0] = made[c].codes[k][1] = BITS(setzero)();
    made[c].count = count;
    finish_made(walk, &made[c], &at);
  }
}

// Returns the number of blocks that are made together, which fill a cache line.
static int together(const walk_t *walk, int64_t block) {
  const int64_t left = walk->job.source->blocks - block;
  const int ahead =
      walk->past_cache ? (int)(-(uintptr_t)walk->out->codes % LINE_BYTES / CODE_BYTES) : 0;
  if (block == 0 && ahead > 0) return ahead;
  return left < DEPTH ? (int)left : DEPTH;
}

static void walk_strip(walk_t *walk, int64_t strip, int64_t end, int again) {
  const source_t *source = walk->job.source;
  int count;
  for (int64_t block = 0; block < source->blocks; block += count) {
    count = together(walk, block);
    spot_t first = {strip * source->blocks + block, strip, block};
    if (!again) {
      make_columns(walk, &first, end, count);
      continue;
    }
    for (; first.row < end; first.row += TILE, first.first += TILE * source->blocks)
      column_again(walk, &first, count);
  }
}

static void walk_columns(walk_t *walk, int again) {
  const int64_t whole = walk->job.source->rows / TILE * TILE;
  for (int64_t strip = 0; strip < whole; strip += STRIP_COLS) {
    walk_strip(walk, strip, strip + STRIP_COLS < whole ? strip + STRIP_COLS : whole, again);
  }
  last_rows(walk, whole);
}

// --- Tensors ------------------------------------------------------------------------------------

static void walk_once(walk_t *walk, int again) {
  walk->done = 0;
  if (walk->job.source->axis == UFP4_AXIS_ROW) {
    walk_rows(walk, again);
  } else {
    walk_columns(walk, again);
  }
  if (walk->past_cache) _mm_sfence();
}

// Derives the tensor exponent from the largest ratio, as ufp4_exponent_from_amax does from amax:
// amax <= 448 / 2^6 * odd * 2^n if the ratio is at most 1.75 * 2^n.
static int found_exponent(const walk_t *walk) {
  const ufp4_elem_t elem = walk->job.how->elem;
  const int ratio = largest_lane(walk->ratio);
  int t = walk->least;
  if (ratio > 0) {
    const int here = 8 + ufp4_elem_qmax(elem).exponent - (((ratio + 0x1FFFFF) >> 23) - 127);
    t = here < t ? here : t;
  }
  return t;
}

// Returns whether codes of a column copy bypass the caches, which requires all rows to start at the
// same offset in a cache line.
static int past_cache(const source_t *source, const ufp4_operand_t *out) {
  return out != NULL && source->axis == UFP4_AXIS_COL && source->blocks % DEPTH == 0 &&
         (uintptr_t)out->codes % CODE_BYTES == 0 &&
         source->rows * source->blocks * CODE_BYTES >= CACHED_BYTES;
}

static walk_t walk_of(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out) {
  const int up = how->scale_round == UFP4_SCALE_ROUND_UP;
  walk_t walk = {.job = {.how = how,
                         .source = source,
                         .random = random_of(how->seed, how->tensor_id),
                         .addend = up ? 0xFFFFF : 0x7FFFF,
                         .even = !up,
                         .limit = INT32_MAX,
                         .int4 = how->elem == UFP4_ELEM_INT4},
                 .tiles = tile_functions(how, out != NULL),
                 .patience = PATIENCE,
                 .past_cache = past_cache(source, out),
                 .out = out,
                 .ratio = BITS(setzero)(),
                 .least = INT32_MAX};
  turns_of((uint16_t)how->rht_mask, &walk.job);
  // Sums of BF16 numbers are often zero, or lie between two codes.
  if (how->rht == UFP4_RHT_INTEGER && source->in->dtype == UFP4_DTYPE_BF16 &&
      walk.tiles.again != NULL)
    walk.tiles.first = walk.tiles.again;
  const uint32_t step = source->axis == UFP4_AXIS_COL ? (uint32_t)source->blocks : 1;
  for (unsigned l = 0; l < TILE; l++) walk.job.offset[l] = (uint32_t)source->first_group + l * step;
  return walk;
}

static int quantize_exponent(const source_t *source, const ufp4_quantize_t *how) {
  walk_t walk = walk_of(source, how, NULL);
  walk_once(&walk, 0);
  return found_exponent(&walk);
}

static ufp4_status_t quantize_twice(walk_t *walk) {
  const source_t *source = walk->job.source;
  // The buffer has room for all tiles of either walk.
  walk->places = malloc(
      ufp4_matrix_bytes(source->rows * source->blocks / TILE + 1, TILE, sizeof *walk->places));
  if (walk->places == NULL) return UFP4_ERROR_MEMORY;
  walk_once(walk, 0);
  set_exponent(walk, some_exponent(found_exponent(walk)));
  walk_once(walk, 1);
  free(walk->places);
  return UFP4_OK;
}

static ufp4_status_t quantize(const source_t *source, const ufp4_quantize_t *how,
                              ufp4_operand_t *out) {
  walk_t walk = walk_of(source, how, out);
  ufp4_status_t status = UFP4_OK;
  if (source->axis == UFP4_AXIS_COL) {
    const int64_t columns = clamp(source->rows / TILE, 1, STRIP_COLS / TILE);
    walk.made = aligned_alloc(64, (size_t)columns * ((sizeof *walk.made + 63) / 64 * 64));
    if (walk.made == NULL) return UFP4_ERROR_MEMORY;
  }
  if (how->exponent_given) {
    set_exponent(&walk, how->exponent);
    walk_once(&walk, 0);
  } else {
    status = quantize_twice(&walk);
  }
  free(walk.made);
  return status;
}

#endif
