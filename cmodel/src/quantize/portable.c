// SPDX-License-Identifier: Apache-2.0
// Quantizes with E4M3 scales of one row and blocks of 16 on any processor, tile by tile: the tensor
// exponent in one walk, codes and scales in another. The arithmetic is in tile.c.
#include "quantize/portable.h"

#include "quantize/tile.h"

// --- Tensor exponent ----------------------------------------------------------------------------

int ufp4_exponent_from_amax(int32_t m, int32_t x, ufp4_elem_t elem) {
  const qmax_t qmax = ufp4_elem_qmax(elem);
  int limit = 7 * qmax.odd;  // 448 = 7 * 2^6
  int shift = __builtin_clz((unsigned)limit) - 4;
  return 6 + qmax.exponent - shift - x - (m > limit << shift);
}

// Lane by lane, takes the larger of (amax, exponent) and the tile's; both are normalized.
HOT static void raise_amax(const tile_t *tile, lanes_t *amax, lanes_t *exponent) {
  lanes_t larger = (tile->amax_exponent > *exponent) |
                   ((tile->amax_exponent == *exponent) & (tile->amax > *amax));
  *amax = select_lanes(larger, tile->amax, *amax);
  *exponent = select_lanes(larger, tile->amax_exponent, *exponent);
}

static int largest_exponent(const lanes_t *amax, const lanes_t *exponent, ufp4_elem_t elem) {
  int t = INT32_MAX;
  for (unsigned l = 0; l < LANES; l++) {
    if ((*amax)[l] == 0) continue;
    int lane_t = ufp4_exponent_from_amax((*amax)[l], (*exponent)[l], elem);
    t = lane_t < t ? lane_t : t;
  }
  return t;
}

void ufp4_place_exponent(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                         int *exponent) {
  ulanes_t bits[BLOCK];
  tile_t tile;
  ufp4_load_tile(source, how, place, bits);
  ufp4_tile_unpack(bits, how, &tile);
  int t = largest_exponent(&tile.amax, &tile.amax_exponent, how->elem);
  *exponent = t < *exponent ? t : *exponent;
}

int ufp4_source_exponent(const source_t *source, const ufp4_quantize_t *how) {
  lanes_t amax = {0}, exponent = all_lanes(INT32_MIN);
  place_t place;
  for (int more = ufp4_first_place(source, &place); more; more = ufp4_next_place(source, &place)) {
    ulanes_t bits[BLOCK];
    tile_t tile;
    ufp4_load_tile(source, how, &place, bits);
    ufp4_tile_unpack(bits, how, &tile);
    raise_amax(&tile, &amax, &exponent);
  }
  return largest_exponent(&amax, &exponent, how->elem);
}

// --- Codes and scales ---------------------------------------------------------------------------

static void store_tile(const place_t *place, const lanes_t *scale, const ulanes_t codes[2],
                       ufp4_operand_t *out) {
  for (unsigned l = 0; l < place->lanes; l++) {
    int64_t g = place->first + l * place->step;
    store_codes(codes, l, out->codes + g * CODE_BYTES);
    out->scales[g] = (uint8_t)(*scale)[l];
  }
}

void ufp4_quantize_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                         ufp4_operand_t *out) {
  ulanes_t bits[BLOCK], draws[4], codes[2];
  lanes_t scale;
  tile_t tile;
  ufp4_load_tile(source, how, place, bits);
  ufp4_random_place(source, how, place, draws);
  ufp4_tile_unpack(bits, how, &tile);
  out->flags |= ufp4_tile_encode(&tile, how, out->exponent, draws, &scale, codes);
  store_tile(place, &scale, codes, out);
}

void ufp4_quantize_tiles(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out) {
  out->exponent =
      how->exponent_given ? how->exponent : some_exponent(ufp4_source_exponent(source, how));
  place_t place;
  for (int more = ufp4_first_place(source, &place); more; more = ufp4_next_place(source, &place)) {
    ufp4_quantize_place(source, how, &place, out);
  }
}
