// SPDX-License-Identifier: Apache-2.0
// Quantizes the blocks of a tile, one in each lane (docs/reference/numerics.md, 4): portable.c,
// shared.c and wide.c call it.
#include "quantize/tile.h"

#include "quantize/mixed.h"
#include "ufp4/format.h"
#include "ufp4/rht.h"

#define F32_INF 0x7F800000
#define NAN_SCALE 0x7F
#define LARGEST_SCALE 0x7E  // 448

// --- Unpack -------------------------------------------------------------------------------------

// Shifts significands under 2^28 up to [2^27, 2^28); zero stays zero.
INLINE void normalize(lanes_t *significand, lanes_t *exponent) {
  for (int step = 16; step >= 1; step /= 2) {
    lanes_t shift = (*significand < all_lanes(1 << (28 - step))) & step;
    *significand <<= shift;
    *exponent -= shift;
  }
}

INLINE void unpack_plain(const ulanes_t bits[BLOCK], tile_t *tile) {
  lanes_t amax = {0};
  for (unsigned i = 0; i < BLOCK; i++) {
    tile->magnitude[i] = significand_lanes(bits[i]);
    tile->exponent[i] = exponent_lanes(bits[i]) - 150;
    tile->negative[i] = (lanes_t)bits[i] >> 31;
    amax = max_lanes(
        amax, (lanes_t)(bits[i] & 0x7FFFFFFFu));  // magnitudes compare as their bit patterns do
  }
  tile->amax = significand_lanes((ulanes_t)amax);
  tile->amax_exponent = exponent_lanes((ulanes_t)amax) - 150;
  tile->poisoned = amax >= F32_INF;
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

// Transforms of 2 or 4 adjacent blocks.
static void unpack_points(const ulanes_t bits[BLOCK], int points, uint64_t mask, tile_t *tile) {
  uint32_t in[64];
  int32_t out[64];
  tile->amax = tile->poisoned = (lanes_t){0};
  for (int first = 0; first < BLOCK * LANES; first += points) {
    for (int i = 0; i < points; i++) in[i] = bits[i % BLOCK][(first + i) / BLOCK];
    const int largest = ufp4_rht_points(in, points, mask, out);
    for (int i = 0; i < points; i++) {
      const int lane = (first + i) / BLOCK, at = i % BLOCK;
      const int32_t y = largest == 0 ? 0 : out[i], magnitude = y < 0 ? -y : y;
      tile->magnitude[at][lane] = magnitude;
      tile->negative[at][lane] = y < 0 ? -1 : 0;
      tile->exponent[at][lane] = largest - 151;
      if (magnitude > tile->amax[lane]) tile->amax[lane] = magnitude;
      tile->amax_exponent[lane] = largest - 151;
      tile->poisoned[lane] = largest == 0 ? -1 : 0;
    }
  }
}

HOT void ufp4_tile_unpack(const ulanes_t bits[BLOCK], const ufp4_quantize_t *how, tile_t *tile) {
  if (ufp4_how_points(how) > BLOCK) {
    unpack_points(bits, how->rht_size, how->rht_mask, tile);
  } else if (how->rht == UFP4_RHT_INTEGER) {
    unpack_rht(bits, (uint16_t)how->rht_mask, tile);
  } else {
    unpack_plain(bits, tile);
  }
  tile->amax &= ~tile->poisoned;
  normalize(&tile->amax, &tile->amax_exponent);
  tile->amax_exponent = select_lanes(tile->amax == 0, all_lanes(INT32_MIN), tile->amax_exponent);
}

// --- Scale --------------------------------------------------------------------------------------

qmax_t ufp4_elem_qmax(ufp4_elem_t elem) {
  static const int8_t odd[UFP4_ELEM_COUNT] = UFP4_ELEM_QMAX_ODD,
                      exponent[UFP4_ELEM_COUNT] = UFP4_ELEM_QMAX_EXPONENT;
  if (elem == UFP4_ELEM_MIXED) return (qmax_t){UFP4_MIXED_QMAX_ODD, UFP4_MIXED_QMAX_EXPONENT};
  return (qmax_t){odd[elem], exponent[elem]};
}

// amax / odd as quotient * 2^15 and a remainder. The upper 13 bits of amax give at least 9
// bits of quotient, of which E4M3 keeps 4.
typedef struct {
  lanes_t quotient;
  lanes_t top;     // floor(log2(quotient))
  lanes_t sticky;  // 1 if there is a remainder
} ratio_t;

INLINE void divide(const lanes_t *amax, int odd, ratio_t *out) {
  lanes_t high = *amax >> 15;
  // Exact for 13 bits: 2^17 / 3 and 2^16 / 7 rounded up err by less than 1 / 2^13 each.
  lanes_t quotient = odd == 3 ? high * 43691 >> 17 : high * 9363 >> 16;
  lanes_t exact = (quotient * odd == high) & ((*amax & 0x7FFF) == 0);
  out->quotient = quotient;
  out->sticky = exact + 1;
  int top = odd == 3 ? 10 : 9;
  out->top = top - (quotient >= 2 << top);
}

// Rounds ratio * 2^exponent to E4M3 bytes: nearest even or up, at least 1, at most LARGEST_SCALE.
// @return ones where it exceeds 448.
INLINE lanes_t round_scale(const ratio_t *ratio, lanes_t exponent, int up, lanes_t *byte) {
  lanes_t binade = max_lanes(ratio->top + exponent, all_lanes(-6));
  lanes_t shift = min_lanes(binade - 3 - exponent, all_lanes(20));
  lanes_t kept = ratio->quotient >> shift;
  lanes_t rest = 2 * (ratio->quotient - (kept << shift)) + ratio->sticky;
  lanes_t half = all_lanes(1) << shift;
  // A carry out of the significand correctly increments the exponent field; an exponent beyond the
  // field's saturates.
  lanes_t down = min_lanes(binade + 6, all_lanes(16)) * 8 + kept;
  lanes_t rounded = down - (up ? rest > 0 : rest > half - (kept & 1));
  *byte = min_lanes(max_lanes(rounded, all_lanes(1)), all_lanes(LARGEST_SCALE));
  return (down > LARGEST_SCALE) | ((down == LARGEST_SCALE) & (rest > 0));
}

INLINE void scale_of(const tile_t *tile, const ufp4_quantize_t *how, int t, scale_t *out) {
  const qmax_t qmax = ufp4_elem_qmax(how->elem);
  ratio_t ratio;
  divide(&tile->amax, qmax.odd, &ratio);
  lanes_t byte;
  out->keep = tile->amax != 0;
  lanes_t exponent = (tile->amax_exponent & out->keep) + (15 + t - qmax.exponent);
  out->saturated =
      round_scale(&ratio, exponent, how->scale_round == UFP4_SCALE_ROUND_UP, &byte) & out->keep;
  lanes_t field = byte >> 3;
  out->significand = (byte & 7) | ((field != 0) & 8);
  out->exponent = field - 1 - (field == 0);
  out->byte = (byte & out->keep) | (tile->poisoned & NAN_SCALE);
}

// --- Encode -------------------------------------------------------------------------------------

// Quotients are compared in fixed point: |x| * 2^t / s in quanta, times 1024 times the scale's
// significand; the lowest bit is sticky. A threshold is at most 15 * 1024 * 12 there, so anything
// from 2^28 on is as good as 2^28.
#define QUOTIENT_LOG2 10
#define QUOTIENT_MAX (1 << 28)

// The thresholds between codes: a quotient between codes c and c + 1 rounds to c + 1 above base[c]
// + step * 2^cell_log2[c].
typedef struct {
  lanes_t base[7];
  int cell_log2[7];
} thresholds_t;

INLINE void thresholds_of(const ufp4_quantize_t *how, const lanes_t *significand,
                          thresholds_t *out) {
  for (unsigned c = 0; c < 7; c++) {
    int low = ufp4_elem_quanta(how->elem, c);
    int cell = ufp4_elem_quanta(how->elem, c + 1) - low;
    out->cell_log2[c] = __builtin_ctz((unsigned)cell);
    out->base[c] = *significand * (low << QUOTIENT_LOG2);
    // The midpoint itself rounds up from an odd code.
    if (how->round == UFP4_ROUND_RNE)
      out->base[c] += *significand * (cell << (QUOTIENT_LOG2 - 1)) - (int)(c & 1);
  }
}

// Computes magnitude * 2^up with a sticky lowest bit, limited to QUOTIENT_MAX before it is shifted
// down.
INLINE void fixed_point(const lanes_t *magnitude, lanes_t up, lanes_t *out) {
  lanes_t left = min_lanes(max_lanes(up, all_lanes(0)), all_lanes(28));
  lanes_t right = min_lanes(max_lanes(-up, all_lanes(0)), all_lanes(31));
  lanes_t over = *magnitude > (all_lanes(QUOTIENT_MAX) >> left);
  lanes_t raised = select_lanes(over, all_lanes(QUOTIENT_MAX),
                                (lanes_t)((ulanes_t)*magnitude << (ulanes_t)left));
  lanes_t lowered = raised >> right;
  *out = lowered | ((lowered << right != raised) & 1);
}

INLINE void nearest(const lanes_t *quotient, const thresholds_t *thresholds, lanes_t *code) {
  *code = (lanes_t){0};
  for (unsigned c = 0; c < 7; c++) *code -= *quotient > thresholds->base[c];
}

// step = (random byte + 1/2) / 256 of a cell of one quantum. A quotient passes the thresholds of
// all cells below its own and fails those above, so only its own threshold decides.
INLINE void stochastic(const lanes_t *quotient, const thresholds_t *thresholds, lanes_t step,
                       lanes_t *code) {
  *code = (lanes_t){0};
  for (unsigned c = 0; c < 7; c++)
    *code -= *quotient > thresholds->base[c] + (step << thresholds->cell_log2[c]);
}

INLINE lanes_t random_byte(const ulanes_t random[4], unsigned element) {
  return (lanes_t)(random[element / 4] >> 8 * (element % 4) & 0xFF);
}

INLINE void encode_elements(const tile_t *tile, const ufp4_quantize_t *how, int t,
                            const scale_t *scale, const ulanes_t random[4], ulanes_t codes[2]) {
  thresholds_t thresholds;
  thresholds_of(how, &scale->significand, &thresholds);
  const lanes_t up = (t + ufp4_elem_frac(how->elem) + QUOTIENT_LOG2 + 9) - scale->exponent;
  codes[0] = codes[1] = (ulanes_t){0};
  for (unsigned i = 0; i < BLOCK; i++) {
    lanes_t quotient, code;
    fixed_point(&tile->magnitude[i], tile->exponent[i] + up, &quotient);
    if (how->round == UFP4_ROUND_SR) {
      stochastic(&quotient, &thresholds, scale->significand * (4 * random_byte(random, i) + 2),
                 &code);
    } else {
      nearest(&quotient, &thresholds, &code);
    }
    lanes_t negative = tile->negative[i];
    code = how->elem == UFP4_ELEM_INT4 ? (code ^ negative) - negative : code | (negative & 8);
    codes[i / 8] |= (ulanes_t)(code & scale->keep & 15) << 4 * (i % 8);
  }
}

INLINE int any_lane(lanes_t mask) {
  int any = 0;
  for (unsigned l = 0; l < LANES; l++) any |= mask[l];
  return any != 0;
}

HOT void ufp4_tile_codes(const tile_t *tile, const ufp4_quantize_t *how, int t,
                         const scale_t *scale, const ulanes_t random[4], ulanes_t codes[2]) {
  encode_elements(tile, how, t, scale, random, codes);
}

HOT void ufp4_tile_scales(const tile_t *tile, const ufp4_quantize_t *how, int t, scale_t *out) {
  scale_of(tile, how, t, out);
}

unsigned ufp4_tile_flags(const tile_t *tile, const lanes_t *saturated) {
  return (any_lane(tile->poisoned) ? UFP4_FLAG_NAN : 0) |
         (any_lane(*saturated) ? UFP4_FLAG_ROW_SATURATED : 0);
}

HOT static void encode_own(const tile_t *tile, const ufp4_quantize_t *how, int t,
                           const ulanes_t random[4], scale_t *scale, ulanes_t codes[2]) {
  scale_of(tile, how, t, scale);
  encode_elements(tile, how, t, scale, random, codes);
}

unsigned ufp4_tile_encode(const tile_t *tile, const ufp4_quantize_t *how, int t,
                          const ulanes_t random[4], lanes_t *scale, ulanes_t codes[2]) {
  mixed_t mixed;
  scale_t own;
  if (how->elem == UFP4_ELEM_MIXED) {
    ufp4_mixed_try(tile, how, t, &mixed);
    return ufp4_mixed_encode(tile, how, t, &mixed, random, scale, codes);
  }
  encode_own(tile, how, t, random, &own, codes);
  *scale = own.byte;
  return ufp4_tile_flags(tile, &own.saturated);
}
