// SPDX-License-Identifier: Apache-2.0
// Quantizes with E4M3 scales of one row, for blocks of more than 16 and transforms of more than 16
// points. A tile is 128 numbers of one row, a multiple of every block and transform.
#include "quantize/wide.h"

#include "base/integer.h"
#include "quantize/portable.h"
#include "quantize/tile.h"

int ufp4_how_is_wide(const ufp4_quantize_t *how) {
  return how->block > ufp4_scale_block(how->scale) || ufp4_how_points(how) > BLOCK;
}

static uint32_t bits_at(const source_t *source, int64_t row, int64_t col) {
  const int64_t ld = source->in->ld;
  const int64_t at = source->axis == UFP4_AXIS_COL ? col * ld + row : row * ld + col;
  if (col >= source->cols) return 0;
  if (source->in->dtype == UFP4_DTYPE_BF16)
    return (uint32_t)((const uint16_t *)source->in->data)[at] << 16;
  return ((const uint32_t *)source->in->data)[at];
}

// The lanes of a block share its largest magnitude, and are poisoned together.
static void share(tile_t *tile, unsigned lanes) {
  for (unsigned first = 0; first < LANES; first += lanes) {
    int32_t amax = 0, exponent = INT32_MIN, poisoned = 0;
    for (unsigned l = first; l < first + lanes; l++) {
      poisoned |= tile->poisoned[l];
      if (tile->amax[l] == 0 || tile->amax_exponent[l] < exponent) continue;
      if (tile->amax_exponent[l] > exponent || tile->amax[l] > amax) amax = tile->amax[l];
      exponent = tile->amax_exponent[l];
    }
    for (unsigned l = first; l < first + lanes; l++) {
      tile->poisoned[l] = poisoned;
      tile->amax[l] = poisoned ? 0 : amax;
      tile->amax_exponent[l] = poisoned ? INT32_MIN : exponent;
    }
  }
}

static unsigned lanes_of_block(const ufp4_quantize_t *how) {
  return how->block > BLOCK ? (unsigned)how->block / BLOCK : 1;
}

static void load(const source_t *source, const ufp4_quantize_t *how, int64_t row, int64_t group,
                 tile_t *tile) {
  ulanes_t bits[BLOCK];
  for (unsigned i = 0; i < BLOCK * LANES; i++)
    bits[i % BLOCK][i / BLOCK] = bits_at(source, row, group * BLOCK + i);
  ufp4_tile_unpack(bits, how, tile);
  share(tile, lanes_of_block(how));
}

static int exponent_of(const source_t *source, const ufp4_quantize_t *how) {
  int exponent = INT32_MAX;
  for (int64_t row = 0; row < source->rows; row++) {
    for (int64_t group = 0; group < source->blocks; group += LANES) {
      tile_t tile;
      load(source, how, row, group, &tile);
      for (unsigned l = 0; l < LANES; l++) {
        if (tile.amax[l] == 0) continue;
        const int own = ufp4_exponent_from_amax(tile.amax[l], tile.amax_exponent[l], how->elem);
        exponent = own < exponent ? own : exponent;
      }
    }
  }
  return exponent;
}

static void encode(const source_t *source, const ufp4_quantize_t *how, int64_t row, int64_t group,
                   ufp4_operand_t *out) {
  ulanes_t draws[4], codes[2];
  lanes_t scale;
  tile_t tile;
  const int64_t place = row * source->blocks + group;
  const unsigned lanes = (unsigned)min_i64(source->blocks - group, LANES);
  load(source, how, row, group, &tile);
  if (how->round == UFP4_ROUND_SR)
    ufp4_random_tile(how->seed, how->tensor_id, (uint64_t)(source->first_group + place), 1, draws);
  out->flags |= ufp4_tile_encode(&tile, how, out->exponent, draws, &scale, codes);
  for (unsigned l = 0; l < lanes; l++) {
    store_codes(codes, l, out->codes + (place + l) * CODE_BYTES);
    out->scales[row * out->scale_blocks + (group + l) / lanes_of_block(how)] = (uint8_t)scale[l];
  }
}

static ufp4_status_t quantize(const source_t *source, const ufp4_quantize_t *how,
                              ufp4_operand_t *out) {
  out->exponent = how->exponent_given ? how->exponent : some_exponent(exponent_of(source, how));
  for (int64_t row = 0; row < source->rows; row++) {
    for (int64_t group = 0; group < source->blocks; group += LANES)
      encode(source, how, row, group, out);
  }
  return UFP4_OK;
}

const quantize_kernel_t *ufp4_quantize_wide(void) {
  static const quantize_kernel_t kernel = {exponent_of, quantize};
  return &kernel;
}
