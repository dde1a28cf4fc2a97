// SPDX-License-Identifier: Apache-2.0
// Quantizes tensors (numerics.md 2 and 4): tiles of numbers that share a scale, and the choices
// that a tile makes.
#include <stdlib.h>

#include "code.h"

#define E4M3_MAX 0x7E  // 448
#define F32_ONE 0x3F800000u
#define F32_NAN 0x7FC00000u

// --- Tiles: the numbers that share a scale ------------------------------------------------------

typedef struct {
  int poisoned;
  reference_real_t amax;
  int target;             ///< the largest code in quarters: 4 x 6, or with 4/6 possibly 4 x 4
  reference_elem_t grid;  ///< grid of its codes
} summary_t;

static void summarize(summary_t *summary, const reference_block_t *block) {
  summary->poisoned |= block->poisoned;
  for (int i = 0; i < 16 && !block->poisoned; i++) {
    const reference_real_t magnitude = {0, block->x[i].magnitude, block->x[i].exponent};
    if (reference_real_compare(magnitude, summary->amax) > 0) summary->amax = magnitude;
  }
}

/** Returns how to quantize on a tile's grid, as if it were an element. */
static reference_quantize_t how_of(const summary_t *tile, const reference_quantize_t *how) {
  reference_quantize_t own = *how;
  own.elem = tile->grid;
  return own;
}

/** Computes the scale of a tile, without the bit for its grid. @return flags. */
static unsigned tile_scale(const summary_t *tile, const reference_quantize_t *how,
                           const reference_level_t *level, uint32_t *scale) {
  *scale = tile->poisoned ? reference_scale_nan(how->scale) : 0;
  if (tile->poisoned) return REFERENCE_FLAG_NAN;
  if (tile->amax.magnitude == 0) return 0;
  *scale = how->scale_round == REFERENCE_SCALE_46
               ? reference_nvfp4_scale(tile->amax, level, tile->target)
               : reference_scale_of(tile->amax, how, level);
  const int over = how->scale == REFERENCE_SCALE_E4M3 &&
                   reference_compare_quotient(how->elem, tile->amax, level->t,
                                              reference_e4m3_units(E4M3_MAX), 0) > 0;
  return over ? REFERENCE_FLAG_SATURATED : 0;
}

/** Computes the codes of 16 numbers of a tile. */
static void tile_codes(const reference_block_t *block, const summary_t *tile, uint32_t scale,
                       const reference_quantize_t *how, const reference_level_t *level,
                       const uint8_t random[16], uint8_t codes[16]) {
  const int empty = tile->poisoned || tile->amax.magnitude == 0;
  for (int i = 0; i < 16; i++)
    codes[i] = empty ? 0 : reference_code_of(block->x[i], scale, how, level, random[i]);
}

/** Returns the scale byte or pattern that the operand holds; for mixed, bit 7 is the grid. */
static uint32_t stored_scale(const summary_t *tile, uint32_t scale) {
  return tile->grid == REFERENCE_HALVES ? scale | 0x80 : scale;
}

// --- Tensors ------------------------------------------------------------------------------------

/** The groups of 16 along a tensor's rows that enter the quantizer, and the tiles that share a
 * scale. */
typedef struct {
  int64_t rows, groups;
  reference_block_t *block;  ///< [rows][groups]
  int64_t tile_rows, tile_cols;
  int tall, wide;   ///< rows and groups of a tile
  summary_t *tile;  ///< [tile_rows][tile_cols]
} loaded_t;

static summary_t *tile_at(const loaded_t *in, int64_t row, int64_t group) {
  return &in->tile[row / in->tall * in->tile_cols + group / in->wide];
}

/** Loads block b of a row, padded with +0. */
static void gather(const uint32_t *row, int64_t cols, int64_t b, uint32_t bits[16]) {
  for (int i = 0; i < 16; i++) bits[i] = 16 * b + i < cols ? row[16 * b + i] : 0;
}

static int block_of(const reference_quantize_t *how) {
  return how->block != 0 ? how->block : reference_scale_block(how->scale);
}

/** Loads group @p b of a row as an input of the quantizer. */
static reference_block_t load_group(const uint32_t *row, int64_t cols, int64_t b,
                                    const reference_quantize_t *how) {
  uint32_t group[64];
  if (how->rht == REFERENCE_RHT_NONE || how->points <= 16) {
    gather(row, cols, b, group);
    return reference_block_load(group, how);
  }
  const int parts = how->points / 16;
  for (int i = 0; i < parts; i++) gather(row, cols, b / parts * parts + i, group + 16 * i);
  return reference_points_load(group, (int)(b % parts), how);
}

static loaded_t load(const uint32_t *bits, int64_t rows, int64_t cols,
                     const reference_quantize_t *how) {
  loaded_t in = {.rows = rows, .groups = (cols + 15) / 16, .tall = how->tall ? 16 : 1};
  in.wide = block_of(how) / 16;
  in.tile_rows = (rows + in.tall - 1) / in.tall;
  in.tile_cols = (in.groups + in.wide - 1) / in.wide;
  in.block = malloc((size_t)(rows * in.groups) * sizeof *in.block);
  in.tile = calloc((size_t)(in.tile_rows * in.tile_cols), sizeof *in.tile);
  if (!in.block || !in.tile) abort();
  for (int64_t i = 0; i < rows * in.groups; i++) {
    in.block[i] = load_group(bits + i / in.groups * cols, cols, i % in.groups, how);
    summarize(tile_at(&in, i / in.groups, i % in.groups), &in.block[i]);
  }
  return in;
}

static void unload(loaded_t *in) {
  free(in->block);
  free(in->tile);
}

/** Returns the largest magnitude in tiles without NaN or Inf. */
static reference_real_t clean_amax(const loaded_t *in) {
  reference_real_t amax = {0, 0, 0};
  for (int64_t i = 0; i < in->tile_rows * in->tile_cols; i++) {
    const summary_t *tile = &in->tile[i];
    if (!tile->poisoned && reference_real_compare(tile->amax, amax) > 0) amax = tile->amax;
  }
  return amax;
}

int reference_tensor_exponent(const uint32_t *bits, int64_t rows, int64_t cols,
                              const reference_quantize_t *how) {
  loaded_t in = load(bits, rows, cols, how);
  const int t = reference_exponent_of(how->elem, clean_amax(&in));
  unload(&in);
  return t;
}

static reference_level_t level_of(const loaded_t *in, const reference_quantize_t *how, int t) {
  const int full = how->scale_round == REFERENCE_SCALE_46
                       ? 1536
                       : 448 * reference_quarters(reference_full_elem(how->elem)) / 4;
  if (how->scale == REFERENCE_SCALE_NVFP4) return reference_nvfp4_level(clean_amax(in), full);
  return (reference_level_t){how->scale == REFERENCE_SCALE_E4M3 ? t : 0, F32_ONE, F32_ONE};
}

/** Returns the squared error of a tile with a scale for codes up to @p target quarters, row after
 * row; the element of @p how is its grid. */
static uint32_t tile_error(const loaded_t *in, int64_t tile_row, int64_t group, int target,
                           const reference_quantize_t *how, const reference_level_t *level) {
  const summary_t *tile = &in->tile[tile_row * in->tile_cols + group];
  const uint8_t scale = reference_nvfp4_scale(tile->amax, level, target);
  uint32_t error = 0;
  for (int64_t row = tile_row * in->tall; row < (tile_row + 1) * in->tall && row < in->rows;
       row++) {
    const int64_t g = row * in->groups + group;
    uint8_t random[16];
    uint32_t of_row = 0;
    reference_random_block(how->seed, how->tensor_id, (uint64_t)g, random);
    for (int i = 0; i < 16; i++) {
      const reference_real_t x = in->block[g].x[i];
      const uint8_t code = reference_code_of(x, scale, how, level, random[i]);
      of_row = reference_add_square(of_row, how->elem, x, code, scale, level);
    }
    error = reference_f32_add(error, of_row);
  }
  return error;
}

/** Chooses 4 if it has the smaller error, otherwise 6. */
static void choose_targets(loaded_t *in, const reference_quantize_t *how,
                           const reference_level_t *level) {
  for (int64_t i = 0; i < in->tile_rows * in->tile_cols; i++) {
    summary_t *tile = &in->tile[i];
    tile->target = 24;
    if (tile->poisoned || tile->amax.magnitude == 0) continue;
    const int64_t row = i / in->tile_cols, group = i % in->tile_cols;
    const uint32_t four = tile_error(in, row, group, 16, how, level);
    const uint32_t six = tile_error(in, row, group, 24, how, level);
    if (four < six) tile->target = 16;  // patterns of positive numbers compare like the numbers
  }
}

// --- Mixed: the grid of a tile ------------------------------------------------------------------

/** Returns |x| * 2^t / s in 512ths of a quantum, truncated, and at most 16 quanta. */
static int truncated_quotient(reference_elem_t grid, reference_real_t x, int t, int units) {
  int below = 0, above = 16 * 512 + 1;
  while (above - below > 1) {
    const int middle = (below + above) / 2;
    const int c = reference_compare((uint64_t)middle * (uint64_t)units, -9, x.magnitude,
                                    x.exponent + t + reference_elem_frac(grid) + 9);
    *(c <= 0 ? &below : &above) = middle;
  }
  return below;
}

/** Sums the distances of 16 quotients to their nearest codes, in 512ths of a quantum. */
static int64_t block_distance(const reference_block_t *block, reference_elem_t grid, int t,
                              uint8_t scale) {
  reference_real_t s;
  int64_t sum = 0;
  reference_scale_real(REFERENCE_SCALE_E4M3, scale, &s);
  for (int i = 0; i < 16; i++) {
    reference_real_t x = block->x[i];
    const int quotient = truncated_quotient(grid, x, t, reference_e4m3_units(scale));
    x.exponent += t;
    const int off =
        quotient - 512 * reference_elem_magnitude(grid, reference_nearest_magnitude(grid, x, s));
    sum += off < 0 ? -off : off;
  }
  return sum;
}

/** Returns the sum of a tile's distances times its scale, for E4M3. */
static int64_t weighted_distance(const loaded_t *in, int64_t tile_row, int64_t group,
                                 const reference_quantize_t *how, int t) {
  const summary_t *tile = &in->tile[tile_row * in->tile_cols + group];
  const uint8_t scale =
      reference_e4m3_scale(how->elem, tile->amax, t, how->scale_round == REFERENCE_SCALE_UP);
  int64_t sum = 0;
  for (int64_t row = tile_row * in->tall; row < (tile_row + 1) * in->tall && row < in->rows; row++)
    sum += block_distance(&in->block[row * in->groups + group], how->elem, t, scale);
  return sum * reference_e4m3_units(scale);
}

/** Chooses halves if they have the smaller error, otherwise E2M1. */
static void choose_grids(loaded_t *in, const reference_quantize_t *how,
                         const reference_level_t *level) {
  reference_quantize_t e2m1 = *how, halves = *how;
  e2m1.elem = REFERENCE_E2M1;
  halves.elem = REFERENCE_HALVES;
  e2m1.stochastic = halves.stochastic = 0;  // the choice does not depend on the random bytes
  for (int64_t i = 0; i < in->tile_rows * in->tile_cols; i++) {
    summary_t *tile = &in->tile[i];
    const int64_t row = i / in->tile_cols, group = i % in->tile_cols;
    tile->grid = REFERENCE_E2M1;
    if (tile->poisoned || tile->amax.magnitude == 0) continue;
    const int better =
        how->scale == REFERENCE_SCALE_NVFP4
            ? tile_error(in, row, group, reference_quarters(REFERENCE_HALVES), &halves, level) <
                  tile_error(in, row, group, reference_quarters(REFERENCE_E2M1), &e2m1, level)
            : weighted_distance(in, row, group, &halves, level->t) <
                  weighted_distance(in, row, group, &e2m1, level->t);
    if (better) tile->grid = REFERENCE_HALVES;
  }
}

/** Sets the grid of each tile, which is the element's own unless the elements are mixed. */
static void set_grids(loaded_t *in, const reference_quantize_t *how,
                      const reference_level_t *level) {
  for (int64_t i = 0; i < in->tile_rows * in->tile_cols; i++) in->tile[i].grid = how->elem;
  if (how->elem == REFERENCE_MIXED) choose_grids(in, how, level);
}

unsigned reference_quantize_block(const uint32_t bits[16], const reference_quantize_t *how, int t,
                                  const uint8_t random[16], uint8_t codes[16], uint32_t *scale) {
  reference_block_t block = reference_block_load(bits, how);
  const reference_level_t level = {how->scale == REFERENCE_SCALE_E4M3 ? t : 0, F32_ONE, F32_ONE};
  summary_t tile = {0};
  loaded_t in = {1, 1, &block, 1, 1, 1, 1, &tile};
  summarize(&tile, &block);
  set_grids(&in, how, &level);
  const reference_quantize_t own = how_of(&tile, how);
  const unsigned flags = tile_scale(&tile, &own, &level, scale);
  tile_codes(&block, &tile, *scale, &own, &level, random, codes);
  *scale = stored_scale(&tile, *scale);
  return flags;
}

reference_operand_t reference_operand_create(reference_elem_t elem, reference_scale_t scale,
                                             int64_t rows, int64_t cols) {
  return reference_operand_create_blocks(elem, scale, reference_scale_block(scale), rows, cols);
}

reference_operand_t reference_operand_create_blocks(reference_elem_t elem, reference_scale_t scale,
                                                    int block, int64_t rows, int64_t cols) {
  reference_operand_t out = {.elem = elem, .scale = scale, .rows = rows, .tensor_scale = F32_ONE};
  out.block = block;
  out.groups = (cols + 15) / 16;
  out.scale_blocks = (cols + block - 1) / block;
  out.codes = calloc((size_t)(rows * out.groups), 16);
  out.scales = calloc((size_t)(rows * out.scale_blocks), sizeof *out.scales);
  if (!out.codes || !out.scales) abort();
  return out;
}

reference_operand_t reference_quantize(const uint32_t *bits, int64_t rows, int64_t cols,
                                       const reference_quantize_t *how, int t) {
  loaded_t in = load(bits, rows, cols, how);
  const reference_level_t level = level_of(&in, how, t);
  if (how->scale_round == REFERENCE_SCALE_46) choose_targets(&in, how, &level);
  set_grids(&in, how, &level);
  reference_operand_t out =
      reference_operand_create_blocks(how->elem, how->scale, block_of(how), rows, cols);
  out.t = level.t;
  out.half = how->rht != REFERENCE_RHT_NONE && how->points == 32;
  out.tensor_scale = level.decode;
  for (int64_t g = 0; g < rows * out.groups; g++) {
    const int64_t row = g / out.groups, group = g % out.groups;
    const summary_t *tile = tile_at(&in, row, group);
    const reference_quantize_t own = how_of(tile, how);
    uint32_t scale;
    uint8_t random[16];
    reference_random_block(how->seed, how->tensor_id, (uint64_t)g, random);
    out.flags |= tile_scale(tile, &own, &level, &scale);
    tile_codes(&in.block[g], tile, scale, &own, &level, random, out.codes + 16 * g);
    out.scales[row * out.scale_blocks + group / in.wide] = stored_scale(tile, scale);
  }
  unload(&in);
  return out;
}

void reference_operand_free(reference_operand_t *operand) {
  free(operand->codes);
  free(operand->scales);
}

uint32_t reference_dequantize(const reference_operand_t *operand, int64_t row, int64_t k) {
  const int64_t block = k / operand->block;
  const reference_elem_t grid =
      reference_elem_grid(operand->elem, operand->scales[row * operand->scale_blocks + block]);
  const uint8_t code = operand->codes[row * operand->groups * 16 + k];
  const int negative = reference_elem_value(grid, code) >> 31 != 0;  // of -0 too
  const uint64_t quanta = (uint64_t)abs(reference_elem_quanta(grid, code));
  const reference_real_t tensor = reference_f32_real(operand->tensor_scale);
  reference_real_t scale;
  if (!reference_scale_real(operand->scale, operand->scales[row * operand->scale_blocks + block],
                            &scale))
    return F32_NAN;
  return reference_f32_round(
      negative, quanta * scale.magnitude * tensor.magnitude,
      scale.exponent + tensor.exponent - reference_elem_frac(grid) - operand->t);
}
