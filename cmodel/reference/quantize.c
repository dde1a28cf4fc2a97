// SPDX-License-Identifier: Apache-2.0
// Scales and codes (numerics.md 2 and 4). Quotients are never formed: x / s against a bound is x
// against bound * s.
#include <stdlib.h>

#include "reference.h"

#define E4M3_MAX 0x7E  // 448
#define F32_ONE 0x3F800000u
#define F32_MAX 0x7F7FFFFFu
#define F32_NAN 0x7FC00000u

// --- Scales -------------------------------------------------------------------------------------

int reference_scale_block(reference_scale_t scale) {
  return scale == REFERENCE_SCALE_E8M0 ? 32 : 16;
}

int reference_scale_real(reference_scale_t scale, uint32_t bits, reference_real_t *out) {
  const int units = reference_e4m3_units((uint8_t)bits);
  switch (scale) {
    case REFERENCE_SCALE_E8M0:
      *out = (reference_real_t){0, 1, (int)bits - 127};
      return bits != 255;
    case REFERENCE_SCALE_FP32:
      *out = reference_f32_real(bits & 0x7FFFFFFF);
      return !reference_f32_is_nan(bits);
    default:
      *out = (reference_real_t){0, units < 0 ? 0 : (uint64_t)units, -9};
      return units >= 0;
  }
}

static uint32_t scale_nan(reference_scale_t scale) {
  switch (scale) {
    case REFERENCE_SCALE_E8M0:
      return 0xFF;
    case REFERENCE_SCALE_FP32:
      return F32_NAN;
    default:
      return 0x7F;
  }
}

/** amax * 2^t / qmax against units * 2^(exponent - 9). */
static int compare_quotient(reference_elem_t elem, reference_real_t amax, int t, int units,
                            int exponent) {
  const reference_u128_t qmax = (reference_u128_t)reference_elem_magnitude(elem, 7);
  return reference_compare(amax.magnitude, amax.exponent + t, (reference_u128_t)units * qmax,
                           exponent - 9 - reference_elem_frac(elem));
}

int reference_exponent_of(reference_elem_t elem, reference_real_t amax) {
  if (amax.magnitude == 0) return 0;
  int t = 1000;  // far above any that FP32 data can need
  while (compare_quotient(elem, amax, t, reference_e4m3_units(E4M3_MAX), 0) > 0) t--;
  return t;
}

/** The smallest scale not below the quotient, or the nearest, ties to even; from 2^-9 to 448. */
static uint8_t e4m3_scale(reference_elem_t elem, reference_real_t amax, int t, int up) {
  uint8_t byte = up ? 1 : 0;
  for (; byte < E4M3_MAX; byte++) {
    if (up) {
      if (compare_quotient(elem, amax, t, reference_e4m3_units(byte), 0) <= 0) break;
    } else {
      const int twice_middle =
          reference_e4m3_units(byte) + reference_e4m3_units((uint8_t)(byte + 1));
      const int c = compare_quotient(elem, amax, t, twice_middle, -1);
      if (c < 0 || (c == 0 && byte % 2 == 0)) break;
    }
  }
  return byte == 0 ? 1 : byte;
}

/** Up: the smallest k with amax <= qmax * 2^k. Down: the largest with 2^(k + emax) <= amax. Both
 * from -127 to 127. */
static uint8_t e8m0_scale(reference_elem_t elem, reference_real_t amax, int up) {
  static const int emax[REFERENCE_ELEM_COUNT] = {
      [REFERENCE_E2M1] = 2, [REFERENCE_E1M2] = 0, [REFERENCE_INT4] = 2};
  const reference_u128_t qmax = (reference_u128_t)reference_elem_magnitude(elem, 7);
  int k = up ? -127 : 127;
  if (up) {
    while (k < 127 && reference_compare(amax.magnitude, amax.exponent, qmax,
                                        k - reference_elem_frac(elem)) > 0)
      k++;
  } else {
    while (k > -127 && reference_compare(1, k + emax[elem], amax.magnitude, amax.exponent) > 0) k--;
  }
  return (uint8_t)(k + 127);
}

/** RN(amax / qmax), at least the smallest and at most the largest number. */
static uint32_t fp32_scale(reference_elem_t elem, reference_real_t amax) {
  const reference_u128_t qmax = (reference_u128_t)reference_elem_magnitude(elem, 7);
  const uint32_t s =
      reference_f32_quotient(0, amax.magnitude, amax.exponent + reference_elem_frac(elem), qmax);
  if (s == 0) return 1;
  return s > F32_MAX ? F32_MAX : s;
}

// --- NVIDIA's two levels, in float32 and in its order -------------------------------------------

/** What the tensor as a whole contributes: t for E4M3; S and Sd, FP32 patterns, for NVFP4. */
typedef struct {
  int t;
  uint32_t encode;  ///< S
  uint32_t decode;  ///< Sd
} level_t;

/** The smaller of two patterns that are no NaN and not negative. */
static uint32_t smaller(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static uint32_t f32_of(reference_real_t x) {
  return reference_f32_round(x.negative, x.magnitude, x.exponent);
}

/** The largest scale times the largest code that goes with it: 448 x qmax, or 256 x 6 = 384 x 4. */
static level_t nvfp4_level(reference_real_t amax, int full) {
  const uint32_t top = reference_f32_round(0, (reference_u128_t)full, 0);
  level_t level = {0, F32_ONE, F32_ONE};
  if (amax.magnitude != 0) level.encode = smaller(reference_f32_divide(top, f32_of(amax)), F32_MAX);
  if (level.encode == 0) level.encode = F32_ONE;
  level.decode = reference_f32_divide(F32_ONE, level.encode);
  return level;
}

/** For a largest code of @p target quarters. */
static uint8_t nvfp4_scale(reference_real_t amax, const level_t *level, int target) {
  const uint32_t share = reference_f32_quotient(0, 4, 0, (reference_u128_t)target);
  const uint32_t f448 = reference_f32_round(0, 448, 0);
  const uint32_t wanted =
      reference_f32_multiply(f32_of(amax), reference_f32_multiply(level->encode, share));
  return reference_e4m3_cast(smaller(wanted, f448));
}

/** The largest magnitude of a format, in quarters. */
static int quarters(reference_elem_t elem) {
  return reference_elem_magnitude(elem, 7) * 4 >> reference_elem_frac(elem);
}

/** clamp(x * e, +-qmax), the sign apart. */
static reference_real_t nvfp4_product(reference_elem_t elem, reference_real_t x, uint8_t scale,
                                      const level_t *level) {
  const uint32_t qmax = reference_f32_round(0, (reference_u128_t)quarters(elem), -2);
  const uint32_t divisor = reference_f32_multiply(reference_e4m3_value(scale), level->decode);
  const uint32_t e = smaller(reference_f32_divide(F32_ONE, divisor), F32_MAX);
  x.negative = 0;
  return reference_f32_real(smaller(reference_f32_multiply(f32_of(x), e), qmax));
}

// --- Codes --------------------------------------------------------------------------------------

/** |x| / s in quanta against bound * 2^-bound_frac. */
static int compare_code(reference_elem_t elem, reference_real_t x, reference_real_t s, int bound,
                        int bound_frac) {
  const reference_u128_t right = (reference_u128_t)bound * s.magnitude;
  return reference_compare(x.magnitude, x.exponent + reference_elem_frac(elem), right,
                           s.exponent - bound_frac);
}

static int nearest_magnitude(reference_elem_t elem, reference_real_t x, reference_real_t s) {
  int k = 0;
  for (; k < 7; k++) {
    const int c = compare_code(
        elem, x, s, reference_elem_magnitude(elem, k) + reference_elem_magnitude(elem, k + 1), 1);
    if (c < 0 || (c == 0 && k % 2 == 0)) break;
  }
  return k;
}

/** The cell from magnitude k to k + 1 that holds the quotient; up iff it is past low + size * (2 r
 * + 1) / 512. */
static int stochastic_magnitude(reference_elem_t elem, reference_real_t x, reference_real_t s,
                                uint8_t r) {
  int k = 0;
  while (k < 7 && compare_code(elem, x, s, reference_elem_magnitude(elem, k + 1), 0) >= 0) k++;
  if (k == 7) return 7;
  const int low = reference_elem_magnitude(elem, k),
            size = reference_elem_magnitude(elem, k + 1) - low;
  return compare_code(elem, x, s, 512 * low + size * (2 * r + 1), 9) > 0 ? k + 1 : k;
}

/** The code of x with a scale: what is rounded is x * 2^t / scale, or NVIDIA's product. */
static uint8_t code_of(reference_real_t x, uint32_t scale, const reference_quantize_t *how,
                       const level_t *level, uint8_t r) {
  reference_real_t dividend = x, divisor = {0, 1, 0};
  if (how->scale == REFERENCE_SCALE_NVFP4) {
    dividend = nvfp4_product(how->elem, x, (uint8_t)scale, level);
  } else {
    reference_scale_real(how->scale, scale, &divisor);
    dividend.exponent += level->t;
  }
  const int k = how->stochastic ? stochastic_magnitude(how->elem, dividend, divisor, r)
                                : nearest_magnitude(how->elem, dividend, divisor);
  return reference_elem_encode(how->elem, x.negative, k);
}

static uint32_t scale_of(reference_real_t amax, const reference_quantize_t *how,
                         const level_t *level) {
  switch (how->scale) {
    case REFERENCE_SCALE_NVFP4:
      return nvfp4_scale(amax, level, quarters(how->elem));
    case REFERENCE_SCALE_E8M0:
      return e8m0_scale(how->elem, amax, how->scale_round == REFERENCE_SCALE_UP);
    case REFERENCE_SCALE_FP32:
      return fp32_scale(how->elem, amax);
    default:
      return e4m3_scale(how->elem, amax, level->t, how->scale_round == REFERENCE_SCALE_UP);
  }
}

// --- 4/6: the scale of a tile for codes up to 6 or up to 4 --------------------------------------

/** RNE32(e + (v - x * S)^2), v the value of the code times its scale, each operation rounded. */
static uint32_t add_square(uint32_t e, reference_real_t x, uint8_t code, uint8_t scale,
                           const level_t *level) {
  const uint32_t value = reference_f32_multiply(reference_elem_value(REFERENCE_E2M1, code),
                                                reference_e4m3_value(scale));
  const uint32_t wanted = reference_f32_multiply(f32_of(x), level->encode);
  const uint32_t off = reference_f32_add(value, wanted ^ 0x80000000u);
  return reference_f32_add(e, reference_f32_multiply(off, off));
}

// --- Tiles: the numbers that share a scale ------------------------------------------------------

typedef struct {
  int poisoned;
  reference_real_t amax;
  int target;  ///< of the largest code, in quarters: 4 x 6, or with 4/6 perhaps 4 x 4
} summary_t;

static void summarize(summary_t *summary, const reference_block_t *block) {
  summary->poisoned |= block->poisoned;
  for (int i = 0; i < 16 && !block->poisoned; i++) {
    const reference_real_t magnitude = {0, block->x[i].magnitude, block->x[i].exponent};
    if (reference_real_compare(magnitude, summary->amax) > 0) summary->amax = magnitude;
  }
}

/** The scale of a tile. @return flags. */
static unsigned tile_scale(const summary_t *tile, const reference_quantize_t *how,
                           const level_t *level, uint32_t *scale) {
  *scale = tile->poisoned ? scale_nan(how->scale) : 0;
  if (tile->poisoned) return REFERENCE_FLAG_NAN;
  if (tile->amax.magnitude == 0) return 0;
  *scale = how->scale_round == REFERENCE_SCALE_46 ? nvfp4_scale(tile->amax, level, tile->target)
                                                  : scale_of(tile->amax, how, level);
  const int over =
      how->scale == REFERENCE_SCALE_E4M3 &&
      compare_quotient(how->elem, tile->amax, level->t, reference_e4m3_units(E4M3_MAX), 0) > 0;
  return over ? REFERENCE_FLAG_SATURATED : 0;
}

/** The codes of 16 numbers of a tile. */
static void tile_codes(const reference_block_t *block, const summary_t *tile, uint32_t scale,
                       const reference_quantize_t *how, const level_t *level,
                       const uint8_t random[16], uint8_t codes[16]) {
  const int empty = tile->poisoned || tile->amax.magnitude == 0;
  for (int i = 0; i < 16; i++)
    codes[i] = empty ? 0 : code_of(block->x[i], scale, how, level, random[i]);
}

unsigned reference_quantize_block(const uint32_t bits[16], const reference_quantize_t *how, int t,
                                  const uint8_t random[16], uint8_t codes[16], uint32_t *scale) {
  const reference_block_t block = reference_block_load(bits, how);
  const level_t level = {how->scale == REFERENCE_SCALE_E4M3 ? t : 0, F32_ONE, F32_ONE};
  summary_t tile = {0};
  summarize(&tile, &block);
  const unsigned flags = tile_scale(&tile, how, &level, scale);
  tile_codes(&block, &tile, *scale, how, &level, random, codes);
  return flags;
}

// --- Tensors ------------------------------------------------------------------------------------

/** A tensor as it enters the quantizer, in groups of 16 along its rows, and the tiles that share a
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

/** Block b of a row, padded with +0. */
static void gather(const uint32_t *row, int64_t cols, int64_t b, uint32_t bits[16]) {
  for (int i = 0; i < 16; i++) bits[i] = 16 * b + i < cols ? row[16 * b + i] : 0;
}

static int block_of(const reference_quantize_t *how) {
  return how->block != 0 ? how->block : reference_scale_block(how->scale);
}

/** Group @p b of a row as it enters the quantizer. */
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

/** The largest magnitude in tiles without NaN or Inf. */
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

static level_t level_of(const loaded_t *in, const reference_quantize_t *how, int t) {
  const int full = how->scale_round == REFERENCE_SCALE_46 ? 1536 : 448 * quarters(how->elem) / 4;
  if (how->scale == REFERENCE_SCALE_NVFP4) return nvfp4_level(clean_amax(in), full);
  return (level_t){how->scale == REFERENCE_SCALE_E4M3 ? t : 0, F32_ONE, F32_ONE};
}

/** The squared error of a tile with a scale for codes up to @p target quarters, its rows one after
 * the other.
 */
static uint32_t tile_error(const loaded_t *in, int64_t tile_row, int64_t group, int target,
                           const reference_quantize_t *how, const level_t *level) {
  const summary_t *tile = &in->tile[tile_row * in->tile_cols + group];
  const uint8_t scale = nvfp4_scale(tile->amax, level, target);
  uint32_t error = 0;
  for (int64_t row = tile_row * in->tall; row < (tile_row + 1) * in->tall && row < in->rows;
       row++) {
    const int64_t g = row * in->groups + group;
    uint8_t random[16];
    uint32_t of_row = 0;
    reference_random_block(how->seed, how->tensor_id, (uint64_t)g, random);
    for (int i = 0; i < 16; i++) {
      const reference_real_t x = in->block[g].x[i];
      const uint8_t code = code_of(x, scale, how, level, random[i]);
      of_row = add_square(of_row, x, code, scale, level);
    }
    error = reference_f32_add(error, of_row);
  }
  return error;
}

/** 4 where it leaves the smaller error, else 6. */
static void choose_targets(loaded_t *in, const reference_quantize_t *how, const level_t *level) {
  for (int64_t i = 0; i < in->tile_rows * in->tile_cols; i++) {
    summary_t *tile = &in->tile[i];
    tile->target = 24;
    if (tile->poisoned || tile->amax.magnitude == 0) continue;
    const int64_t row = i / in->tile_cols, group = i % in->tile_cols;
    const uint32_t four = tile_error(in, row, group, 16, how, level);
    const uint32_t six = tile_error(in, row, group, 24, how, level);
    if (four < six) tile->target = 16;  // patterns of positive numbers compare as these do
  }
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
  const level_t level = level_of(&in, how, t);
  if (how->scale_round == REFERENCE_SCALE_46) choose_targets(&in, how, &level);
  reference_operand_t out =
      reference_operand_create_blocks(how->elem, how->scale, block_of(how), rows, cols);
  out.t = level.t;
  out.half = how->rht != REFERENCE_RHT_NONE && how->points == 32;
  out.tensor_scale = level.decode;
  for (int64_t g = 0; g < rows * out.groups; g++) {
    const int64_t row = g / out.groups, group = g % out.groups;
    const summary_t *tile = tile_at(&in, row, group);
    uint32_t *scale = &out.scales[row * out.scale_blocks + group / in.wide];
    uint8_t random[16];
    reference_random_block(how->seed, how->tensor_id, (uint64_t)g, random);
    out.flags |= tile_scale(tile, how, &level, scale);
    tile_codes(&in.block[g], tile, *scale, how, &level, random, out.codes + 16 * g);
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
  const reference_real_t element = reference_f32_real(
      reference_elem_value(operand->elem, operand->codes[row * operand->groups * 16 + k]));
  const reference_real_t tensor = reference_f32_real(operand->tensor_scale);
  reference_real_t scale;
  if (!reference_scale_real(operand->scale, operand->scales[row * operand->scale_blocks + block],
                            &scale))
    return F32_NAN;
  return reference_f32_round(
      element.negative, (reference_u128_t)element.magnitude * scale.magnitude * tensor.magnitude,
      element.exponent + scale.exponent + tensor.exponent - operand->t);
}
