// SPDX-License-Identifier: Apache-2.0
#include "ufp4/quantize.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "ufp4/format.h"
#include "ufp4/random.h"
#include "ufp4/rht.h"

#define F32_INF 0x7F800000u
#define CODE_BYTES 8
#define FLAG_SATURATED UFP4_FLAG_ROW_SATURATED

// Quotients are compared in fixed point: |x| * 2^t / s in quanta, times 1024 times the scale's significand; the lowest
// bit is sticky. A threshold is at most 15 * 1024 * 12 there, so anything from 2^28 on is as good as 2^28.
#define QUOTIENT_LOG2 10
#define QUOTIENT_MAX (1 << 28)

// --- The blocks of a tile, unpacked ------------------------------------------------------------------

typedef struct {
  lanes_t magnitude[BLOCK];  // |x| = magnitude * 2^exponent; under 2^28
  lanes_t exponent[BLOCK];
  lanes_t negative[BLOCK];  // all ones or zero
  lanes_t amax;             // largest |x| of the block = amax * 2^amax_exponent
  lanes_t amax_exponent;
  lanes_t poisoned;  // all ones where the block holds NaN or Inf
} tile_t;

INLINE void unpack_plain(const ulanes_t bits[BLOCK], tile_t *tile) {
  lanes_t amax = {0};
  for (unsigned i = 0; i < BLOCK; i++) {
    tile->magnitude[i] = significand_lanes(bits[i]);
    tile->exponent[i] = exponent_lanes(bits[i]) - 150;
    tile->negative[i] = (lanes_t)bits[i] >> 31;
    amax = max_lanes(amax, (lanes_t)(bits[i] & 0x7FFFFFFFu));  // magnitudes compare as their bit patterns do
  }
  tile->amax = significand_lanes((ulanes_t)amax);
  tile->amax_exponent = exponent_lanes((ulanes_t)amax) - 150;
  tile->poisoned = amax >= (int32_t)F32_INF;
}

INLINE void unpack_rht(const ulanes_t bits[BLOCK], uint16_t mask, tile_t *tile) {
  lanes_t transformed[BLOCK], largest;
  ufp4_rht_tile(bits, mask, transformed, &largest);
  lanes_t amax = {0};
  for (unsigned i = 0; i < BLOCK; i++) {
    lanes_t negative = transformed[i] >> 31;
    tile->negative[i] = negative;
    tile->magnitude[i] = (transformed[i] ^ negative) - negative;
    tile->exponent[i] = largest - 152;
    amax = max_lanes(amax, tile->magnitude[i]);
  }
  tile->amax = amax;
  tile->amax_exponent = largest - 152;
  tile->poisoned = largest == 0;
}

UFP4_HOT static void unpack(const ulanes_t bits[BLOCK], const ufp4_quantize_t *how, tile_t *tile) {
  if (how->rht) {
    unpack_rht(bits, how->rht_mask, tile);
  } else {
    unpack_plain(bits, tile);
  }
}

// --- Scales ------------------------------------------------------------------------------------------

// qmax as odd * 2^exponent
typedef struct {
  unsigned odd;
  int exponent;
} qmax_t;

static qmax_t qmax_of(ufp4_elem_t elem) {
  unsigned quanta = (unsigned)ufp4_elem_qmax_quanta(elem);
  int shift = __builtin_ctz(quanta);
  return (qmax_t){quanta >> shift, shift - ufp4_elem_frac(elem)};
}

// E4M3(amax * 2^exponent / odd), at least the smallest scale.
static uint8_t scale_byte(uint32_t amax, int exponent, unsigned odd, int up, int *saturated) {
  uint64_t wide = (uint64_t)amax << 32;
  // Constant divisors, because a division costs more than the rest.
  uint64_t quotient = odd == 3 ? wide / 3 : odd == 7 ? wide / 7 : wide / odd;
  int sticky = quotient * odd != wide;
  int top = 63 - __builtin_clzll(quotient) + exponent - 32;
  *saturated = top > 8;
  if (top == 8) *saturated = wide > (uint64_t)(7 * odd) << (38 - exponent);
  uint8_t byte = ufp4_e4m3_round(quotient, exponent - 32, sticky, up);
  return byte != 0 ? byte : 1;
}

typedef struct {
  lanes_t significand;  // of the scale
  lanes_t shift;        // a magnitude times 2^(its exponent + shift) is a quotient in fixed point
  lanes_t keep;         // zero where all codes of the block are 0
  uint8_t bytes[LANES];
  unsigned flags;
} scales_t;

static void lane_scale(const tile_t *tile, unsigned lane, const ufp4_quantize_t *how, int t, qmax_t qmax,
                       scales_t *scales) {
  scales->significand[lane] = 1;
  scales->shift[lane] = 0;
  scales->keep[lane] = 0;
  scales->bytes[lane] = 0;
  if (tile->poisoned[lane]) {
    scales->bytes[lane] = 0x7F;
    scales->flags |= UFP4_FLAG_NAN;
  } else if (tile->amax[lane] != 0) {
    int saturated, sig, exp;
    uint8_t byte = scale_byte((uint32_t)tile->amax[lane], tile->amax_exponent[lane] + t - qmax.exponent, qmax.odd,
                              how->scale_round == UFP4_SCALE_ROUND_UP, &saturated);
    (void)ufp4_e4m3_decode(byte, &sig, &exp);
    scales->significand[lane] = sig;
    scales->shift[lane] = t + ufp4_elem_frac(how->elem) + QUOTIENT_LOG2 + 9 - exp;
    scales->keep[lane] = -1;
    scales->bytes[lane] = byte;
    if (saturated) scales->flags |= FLAG_SATURATED;
  }
}

// --- Codes -------------------------------------------------------------------------------------------

// Between codes c and c + 1: rounds to c + 1 above base[c] + step * 2^cell_log2[c].
typedef struct {
  lanes_t base[7];
  int cell_log2[7];
} thresholds_t;

INLINE void thresholds_of(const ufp4_quantize_t *how, const lanes_t *significand, thresholds_t *out) {
  for (unsigned c = 0; c < 7; c++) {
    int low = ufp4_elem_quanta(how->elem, c);
    int cell = ufp4_elem_quanta(how->elem, c + 1) - low;
    out->cell_log2[c] = __builtin_ctz((unsigned)cell);
    out->base[c] = *significand * (low << QUOTIENT_LOG2);
    // The midpoint itself rounds up from an odd code.
    if (how->round == UFP4_ROUND_RNE) out->base[c] += *significand * (cell << (QUOTIENT_LOG2 - 1)) - (int)(c & 1);
  }
}

// magnitude * 2^up with a sticky lowest bit, no more than QUOTIENT_MAX before it is shifted down.
INLINE void fixed_point(const lanes_t *magnitude, lanes_t up, lanes_t *out) {
  const lanes_t zero = {0};
  lanes_t left = min_lanes(max_lanes(up, zero), zero + 28);
  lanes_t right = min_lanes(max_lanes(-up, zero), zero + 31);
  lanes_t over = *magnitude > ((zero + QUOTIENT_MAX) >> left);
  lanes_t raised = select_lanes(over, zero + QUOTIENT_MAX, *magnitude << left);
  lanes_t lowered = raised >> right;
  *out = lowered | ((lowered << right != raised) & 1);
}

INLINE void code_magnitudes(const lanes_t *quotient, const thresholds_t *thresholds, const lanes_t *step,
                            lanes_t *code) {
  *code = (lanes_t){0};
  for (unsigned c = 0; c < 7; c++) {
    *code -= *quotient > thresholds->base[c] + (*step << thresholds->cell_log2[c]);
  }
}

// words[0] gets elements 0..7 of each block, 4 bits each, words[1] elements 8..15.
UFP4_HOT static void encode(const tile_t *tile, const ufp4_quantize_t *how, const scales_t *scales,
                            const ulanes_t random[4], ulanes_t words[2]) {
  thresholds_t thresholds;
  thresholds_of(how, &scales->significand, &thresholds);
  words[0] = words[1] = (ulanes_t){0};
  for (unsigned i = 0; i < BLOCK; i++) {
    lanes_t quotient, code, step = {0};
    fixed_point(&tile->magnitude[i], tile->exponent[i] + scales->shift, &quotient);
    if (how->round == UFP4_ROUND_SR) {
      lanes_t byte = (lanes_t)(random[i / 4] >> 8 * (i % 4) & 0xFF);
      step = scales->significand * (4 * byte + 2);  // (byte + 1/2)/256 of a cell of one quantum
    }
    code_magnitudes(&quotient, &thresholds, &step, &code);
    code =
        how->elem == UFP4_ELEM_INT4 ? (code ^ tile->negative[i]) - tile->negative[i] : code | (tile->negative[i] & 8);
    words[i / 8] |= (ulanes_t)(code & scales->keep & 15) << 4 * (i % 8);
  }
}

static void tile_quantize(const ulanes_t bits[BLOCK], const ufp4_quantize_t *how, int t, const ulanes_t random[4],
                          scales_t *scales, ulanes_t words[2]) {
  tile_t tile;
  unpack(bits, how, &tile);
  const qmax_t qmax = qmax_of(how->elem);
  scales->flags = 0;
  for (unsigned l = 0; l < LANES; l++) lane_scale(&tile, l, how, t, qmax, scales);
  encode(&tile, how, scales, random, words);
}

unsigned ufp4_quantize_block(const uint32_t bits[16], const ufp4_quantize_t *how, int exponent,
                             const uint8_t random[16], uint8_t codes[16], uint8_t *scale) {
  ulanes_t tile[BLOCK] = {{0}}, draws[4] = {{0}}, words[2];
  scales_t scales;
  for (unsigned i = 0; i < BLOCK; i++) {
    tile[i][0] = bits[i];
    if (how->round == UFP4_ROUND_SR) draws[i / 4][0] |= (uint32_t)random[i] << 8 * (i % 4);
  }
  tile_quantize(tile, how, exponent, draws, &scales, words);
  for (unsigned i = 0; i < BLOCK; i++) codes[i] = (uint8_t)(words[i / 8][0] >> 4 * (i % 8) & 15);
  *scale = scales.bytes[0];
  return scales.flags;
}

// --- Tensors -----------------------------------------------------------------------------------------

// The blocks of a tensor in the orientation that is blocked: block g is block g % blocks of row g / blocks, and g is
// also the counter of its random bytes.
typedef struct {
  const ufp4_matrix_t *in;
  ufp4_axis_t axis;
  int64_t rows, cols, blocks;
} source_t;

static source_t source_of(const ufp4_matrix_t *in, ufp4_axis_t axis) {
  int col = axis == UFP4_AXIS_COL;
  int64_t cols = col ? in->rows : in->cols;
  return (source_t){in, axis, col ? in->cols : in->rows, cols, (cols + BLOCK - 1) / BLOCK};
}

static uint32_t element_bits(const ufp4_matrix_t *in, int64_t index) {
  if (in->dtype == UFP4_DTYPE_BF16) return (uint32_t)((const uint16_t *)in->data)[index] << 16;
  return ((const uint32_t *)in->data)[index];
}

static void load_block(const source_t *source, int64_t g, unsigned lane, ulanes_t bits[BLOCK]) {
  int64_t row = g / source->blocks, col = g % source->blocks * BLOCK;
  int64_t ld = source->in->ld;
  int64_t first = source->axis == UFP4_AXIS_COL ? col * ld + row : row * ld + col;
  int64_t step = source->axis == UFP4_AXIS_COL ? ld : 1;
  int64_t count = source->cols - col < BLOCK ? source->cols - col : BLOCK;
  for (int64_t i = 0; i < count; i++) bits[i][lane] = element_bits(source->in, first + i * step);
}

static int matrix_ok(const ufp4_matrix_t *in) {
  return in != NULL && in->data != NULL && in->rows >= 1 && in->cols >= 1 && in->ld >= in->cols &&
         (in->dtype == UFP4_DTYPE_F32 || in->dtype == UFP4_DTYPE_BF16);
}

static int how_ok(const ufp4_quantize_t *how) {
  return how != NULL && (unsigned)how->elem < UFP4_ELEM_COUNT && (unsigned)how->scale < UFP4_SCALE_COUNT &&
         (how->axis == UFP4_AXIS_ROW || how->axis == UFP4_AXIS_COL) && (unsigned)how->round < UFP4_ROUND_COUNT &&
         (unsigned)how->scale_round < UFP4_SCALE_ROUND_COUNT &&
         (!how->exponent_given || (how->exponent >= INT16_MIN && how->exponent <= INT16_MAX));
}

// Positive numbers m * 2^x as pairs that compare as the numbers do.
static int64_t magnitude_key(uint32_t m, int x) {
  int shift = __builtin_clz(m);
  return (int64_t)(x - shift) * (INT64_C(1) << 32) + (int64_t)((uint64_t)m << shift);
}

static void tile_amax(const tile_t *tile, int64_t *amax) {
  for (unsigned l = 0; l < LANES; l++) {
    if (tile->poisoned[l] || tile->amax[l] == 0) continue;
    int64_t key = magnitude_key((uint32_t)tile->amax[l], tile->amax_exponent[l]);
    if (key > *amax) *amax = key;
  }
}

// Largest t with m * 2^(x + t) <= 448 * qmax, m in [2^31, 2^32).
static int exponent_from_amax(int64_t amax, ufp4_elem_t elem) {
  if (amax == INT64_MIN) return 0;
  qmax_t qmax = qmax_of(elem);
  uint32_t limit = 7 * qmax.odd;  // 448 = 7 * 2^6
  int shift = __builtin_clz(limit);
  int64_t limit_key = (int64_t)(6 + qmax.exponent - shift) * (INT64_C(1) << 32) + (int64_t)((uint64_t)limit << shift);
  int64_t distance = limit_key - amax;
  // Flooring division by 2^32: one binade per 2^32, and the significands decide the rest.
  return (int)(distance >> 32);
}

ufp4_status_t ufp4_tensor_exponent(const ufp4_matrix_t *in, const ufp4_quantize_t *how, int *exponent) {
  if (!matrix_ok(in) || !how_ok(how) || exponent == NULL) return UFP4_ERROR_ARGUMENT;
  const source_t source = source_of(in, how->axis);
  int64_t amax = INT64_MIN;
  for (int64_t g = 0; g < source.rows * source.blocks; g += LANES) {
    ulanes_t bits[BLOCK] = {{0}};
    tile_t tile;
    for (unsigned l = 0; l < LANES && g + l < source.rows * source.blocks; l++) load_block(&source, g + l, l, bits);
    unpack(bits, how, &tile);
    tile_amax(&tile, &amax);
  }
  *exponent = exponent_from_amax(amax, how->elem);
  return UFP4_OK;
}

static void quantize_all(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out) {
  int64_t total = source->rows * source->blocks;
  for (int64_t g = 0; g < total; g += LANES) {
    unsigned lanes = total - g < LANES ? (unsigned)(total - g) : LANES;
    ulanes_t bits[BLOCK] = {{0}}, draws[4] = {{0}}, words[2];
    uint64_t group[LANES];
    scales_t scales;
    for (unsigned l = 0; l < LANES; l++) group[l] = (uint64_t)g + l;
    for (unsigned l = 0; l < lanes; l++) load_block(source, g + l, l, bits);
    if (how->round == UFP4_ROUND_SR) ufp4_random_tile(how->seed, how->tensor_id, group, draws);
    tile_quantize(bits, how, out->exponent, draws, &scales, words);
    out->flags |= scales.flags;
    for (unsigned l = 0; l < lanes; l++) {
      uint64_t packed = (uint64_t)words[1][l] << 32 | words[0][l];
      memcpy(out->codes + (g + l) * CODE_BYTES, &packed, CODE_BYTES);
      out->scales[g + l] = scales.bytes[l];
    }
  }
}

ufp4_status_t ufp4_quantize(const ufp4_matrix_t *in, const ufp4_quantize_t *how, ufp4_operand_t *out) {
  if (!matrix_ok(in) || !how_ok(how) || out == NULL) return UFP4_ERROR_ARGUMENT;
  int exponent = how->exponent;
  if (!how->exponent_given) {
    ufp4_status_t status = ufp4_tensor_exponent(in, how, &exponent);
    if (status != UFP4_OK) return status;
  }
  const source_t source = source_of(in, how->axis);
  ufp4_operand_t operand;
  ufp4_status_t status = ufp4_operand_create(how->elem, source.rows, source.cols, &operand);
  if (status != UFP4_OK) return status;
  operand.exponent = exponent;
  quantize_all(&source, how, &operand);
  *out = operand;
  return UFP4_OK;
}

// --- Operands ----------------------------------------------------------------------------------------

ufp4_status_t ufp4_operand_create(ufp4_elem_t elem, int64_t rows, int64_t cols, ufp4_operand_t *out) {
  if (out == NULL || (unsigned)elem >= UFP4_ELEM_COUNT || rows < 1 || cols < 1) return UFP4_ERROR_ARGUMENT;
  int64_t blocks = (cols - 1) / BLOCK + 1;
  if (blocks > INT64_MAX / CODE_BYTES / rows) return UFP4_ERROR_MEMORY;
  uint8_t *codes = calloc((size_t)(rows * blocks), CODE_BYTES);
  uint8_t *scales = calloc((size_t)(rows * blocks), 1);
  if (codes == NULL || scales == NULL) {
    free(codes);
    free(scales);
    return UFP4_ERROR_MEMORY;
  }
  *out = (ufp4_operand_t){.elem = elem,
                          .scale = UFP4_SCALE_E4M3,
                          .rows = rows,
                          .cols = cols,
                          .blocks = blocks,
                          .codes = codes,
                          .scales = scales};
  return UFP4_OK;
}

void ufp4_operand_free(ufp4_operand_t *operand) {
  if (operand == NULL) return;
  free(operand->codes);
  free(operand->scales);
  *operand = (ufp4_operand_t){0};
}

// A zero keeps the sign of its code, as a product of floats would.
static float dequantize_one(const ufp4_operand_t *in, unsigned code, int sig, int exp) {
  int quanta = ufp4_elem_quanta(in->elem, code);
  int64_t magnitude = (int64_t)sig * (quanta < 0 ? -quanta : quanta);
  uint32_t bits = ufp4_f32_from_scaled(magnitude, exp - 9 - ufp4_elem_frac(in->elem) - in->exponent);
  return ufp4_f32_value((code & 8) << 28 | bits);
}

static void dequantize_block(const ufp4_operand_t *in, int64_t g, int64_t count, float *out) {
  int sig, exp;
  int clean = ufp4_e4m3_decode(in->scales[g], &sig, &exp);
  for (int64_t i = 0; i < count; i++) {
    unsigned code = in->codes[g * CODE_BYTES + i / 2] >> 4 * (i % 2) & 15;
    out[i] = clean ? dequantize_one(in, code, sig, exp) : ufp4_f32_value(UFP4_F32_NAN);
  }
}

ufp4_status_t ufp4_dequantize(const ufp4_operand_t *in, int64_t cols_out, float *out, int64_t ld) {
  if (in == NULL || out == NULL || ld < cols_out) return UFP4_ERROR_ARGUMENT;
  if (cols_out != in->cols && cols_out != in->blocks * BLOCK) return UFP4_ERROR_ARGUMENT;
  for (int64_t row = 0; row < in->rows; row++) {
    for (int64_t b = 0; b < in->blocks; b++) {
      int64_t left = cols_out - b * BLOCK;
      dequantize_block(in, row * in->blocks + b, left < BLOCK ? left : BLOCK, out + row * ld + b * BLOCK);
    }
  }
  return UFP4_OK;
}
