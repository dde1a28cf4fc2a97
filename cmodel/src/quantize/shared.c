// SPDX-License-Identifier: Apache-2.0
// Quantizes what the other files do not: tiles of 16 rows with E4M3 scales, everything with FP32
// scales, and E8M0 after the integer transform. The first walk collects the largest magnitude of
// each span (the numbers that share a scale), and the second one derives the scales from it and
// encodes.
#include "quantize/shared.h"

#include <stdlib.h>

#include "quantize/mixed.h"
#include "quantize/portable.h"
#include "quantize/span.h"
#include "quantize/tile.h"
#include "ufp4/format.h"

#define POISONED (-1)

// Largest |x| = amax * 2^exponent; amax in [2^27, 2^28), or 0, or POISONED.
typedef struct {
  int32_t amax, exponent;
} span_t;

typedef struct {
  spans_t of;
  span_t *spans;
  int32_t (*errors)[GRIDS];  // by span; NULL unless the elements are mixed
  int t;                     // tensor exponent of E4M3
  ufp4_operand_t *out;
} shared_t;

static ufp4_status_t shared_create(const source_t *source, const ufp4_quantize_t *how,
                                   shared_t *out) {
  *out = (shared_t){.of = ufp4_spans_of(source, how)};
  out->spans = calloc(ufp4_matrix_bytes(out->of.count, 1, sizeof *out->spans), 1);
  return out->spans != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
}

// --- First walk ---------------------------------------------------------------------------------

static void raise_span(span_t *span, int32_t amax, int32_t exponent) {
  if (span->amax == POISONED || amax == 0) return;
  if (span->amax != 0 &&
      (exponent < span->exponent || (exponent == span->exponent && amax <= span->amax)))
    return;
  *span = (span_t){amax, exponent};
}

static void collect_spans(void *state, const visit_t *visit) {
  const shared_t *shared = state;
  tile_t tile;
  ufp4_tile_unpack(visit->bits, shared->of.how, &tile);
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    span_t *span = &shared->spans[visit->spans[l]];
    if (tile.poisoned[l]) span->amax = POISONED;
    raise_span(span, tile.amax[l], tile.amax_exponent[l]);
  }
}

// Returns the largest magnitude of the clean spans.
static span_t largest_span(const shared_t *shared) {
  span_t largest = {0, 0};
  for (int64_t i = 0; i < shared->of.count; i++) {
    const span_t *span = &shared->spans[i];
    if (span->amax > 0) raise_span(&largest, span->amax, span->exponent);
  }
  return largest;
}

static void set_exponent(shared_t *shared) {
  const span_t largest = largest_span(shared);
  shared->t = largest.amax == 0
                  ? 0
                  : ufp4_exponent_from_amax(largest.amax, largest.exponent, shared->of.how->elem);
}

// --- Second walk --------------------------------------------------------------------------------

// Gathers the spans of a tile's lanes, as if each lane had its own.
static void take_spans(const shared_t *shared, const visit_t *visit, tile_t *tile) {
  tile->amax = tile->poisoned = (lanes_t){0};
  tile->amax_exponent = all_lanes(INT32_MIN);
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    const span_t *span = &shared->spans[visit->spans[l]];
    tile->poisoned[l] = span->amax == POISONED ? -1 : 0;
    if (span->amax <= 0) continue;
    tile->amax[l] = span->amax;
    tile->amax_exponent[l] = span->exponent;
  }
}

// Down: floor(log2 amax) - floor(log2 qmax); up: the smallest k with amax <= qmax * 2^k.
static int e8m0_exponent(int32_t amax, int32_t exponent, const ufp4_quantize_t *how) {
  const qmax_t qmax = ufp4_elem_qmax(how->elem);
  int shift = __builtin_clz((unsigned)qmax.odd) - 4;  // to [2^27, 2^28), like amax
  int k = exponent + shift - qmax.exponent;
  if (how->scale_round == UFP4_SCALE_ROUND_UP) k += amax > qmax.odd << shift;
  return k < -127 ? -127 : k > 127 ? 127 : k;
}

static void e8m0_scales(const tile_t *tile, const ufp4_quantize_t *how, scale_t *out) {
  *out = (scale_t){.significand = all_lanes(1), .keep = tile->amax != 0};
  for (unsigned l = 0; l < LANES; l++) {
    if (tile->poisoned[l]) out->byte[l] = 0xFF;
    if (tile->amax[l] == 0) continue;
    int k = e8m0_exponent(tile->amax[l], tile->amax_exponent[l], how);
    out->byte[l] = k + 127;
    out->exponent[l] = k + 9;
  }
}

// --- Elements mixed: a walk between the two -----------------------------------------------------

static void collect_errors(void *state, const visit_t *visit) {
  const shared_t *shared = state;
  mixed_t mixed;
  tile_t tile;
  ufp4_tile_unpack(visit->bits, shared->of.how, &tile);
  take_spans(shared, visit, &tile);
  ufp4_mixed_try(&tile, shared->of.how, shared->t, &mixed);
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    for (unsigned g = 0; g < GRIDS; g++) shared->errors[visit->spans[l]][g] += mixed.error[g][l];
  }
}

static ufp4_status_t find_errors(shared_t *shared) {
  if (shared->of.how->elem != UFP4_ELEM_MIXED) return UFP4_OK;
  shared->errors = calloc(ufp4_matrix_bytes(shared->of.count, 1, sizeof *shared->errors), 1);
  if (shared->errors == NULL) return UFP4_ERROR_MEMORY;
  ufp4_visit_tiles(&shared->of, 0, collect_errors, shared);
  return UFP4_OK;
}

static unsigned encode_mixed(const shared_t *shared, const visit_t *visit, const tile_t *tile,
                             lanes_t *byte, ulanes_t codes[2]) {
  mixed_t mixed;
  ufp4_mixed_try(tile, shared->of.how, shared->t, &mixed);
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    for (unsigned g = 0; g < GRIDS; g++) mixed.error[g][l] = shared->errors[visit->spans[l]][g];
  }
  return ufp4_mixed_encode(tile, shared->of.how, shared->t, &mixed, visit->random, byte, codes);
}

// --- FP32 scales --------------------------------------------------------------------------------

#define QUOTIENT_LOG2 10
#define QUOTIENT_MAX ((int64_t)1 << 40)  // a threshold is under 2^24 * 2^10 * 12

// Returns RN(amax / qmax), clamped: the quotient has 30 bits more than the 28 of amax, and with a
// sticky bit it rounds like the exact one.
static float f32_scale(int32_t amax, int32_t exponent, ufp4_elem_t elem) {
  const qmax_t qmax = ufp4_elem_qmax(elem);
  int64_t dividend = (int64_t)amax << 30;
  int64_t quotient = dividend / qmax.odd * 2 | (dividend % qmax.odd != 0);
  uint32_t bits = ufp4_f32_from_scaled(quotient, exponent - 31 - qmax.exponent);
  return ufp4_f32_value(bits == 0 ? 1 : bits >= 0x7F800000u ? 0x7F7FFFFFu : bits);
}

// Returns magnitude * 2^up with a sticky lowest bit, at most QUOTIENT_MAX.
static int64_t fixed_point(int64_t magnitude, int up) {
  if (up >= 0)
    return up > 40 || magnitude > QUOTIENT_MAX >> up ? (magnitude != 0 ? QUOTIENT_MAX : 0)
                                                     : magnitude << up;
  int down = up < -62 ? 62 : -up;
  return magnitude >> down | ((magnitude & (((int64_t)1 << down) - 1)) != 0);
}

// The thresholds between codes: a quotient between codes c and c + 1 rounds to c + 1 above base[c]
// + draw * step[c], in units of 2^-QUOTIENT_LOG2 of the scale's last place. The last of the eight
// is never passed.
typedef struct {
  int64_t base[8], step[8];
} f32_thresholds_t;

static void f32_thresholds(int64_t significand, const ufp4_quantize_t *how, f32_thresholds_t *out) {
  *out = (f32_thresholds_t){.base = {[7] = QUOTIENT_MAX}};
  for (unsigned c = 0; c < 7; c++) {
    int low = ufp4_elem_quanta(how->elem, c);
    int cell = ufp4_elem_quanta(how->elem, c + 1) - low;
    out->base[c] = significand * (low << QUOTIENT_LOG2);
    if (how->round == UFP4_ROUND_RNE) {
      // The midpoint itself rounds up from an odd code.
      out->base[c] += significand * (cell << (QUOTIENT_LOG2 - 1)) - (c & 1);
    } else {
      // (draw + 1/2) / 256 of a cell.
      out->base[c] += significand * cell * 2;
      out->step[c] = significand * cell * 4;
    }
  }
}

INLINE unsigned f32_code(int64_t quotient, const f32_thresholds_t *thresholds, int64_t draw) {
  int64_t code = 0;
  for (unsigned c = 0; c < 8; c++)
    code += quotient > thresholds->base[c] + draw * thresholds->step[c];
  return (unsigned)code;
}

INLINE uint32_t f32_lane(const tile_t *tile, const ufp4_quantize_t *how, unsigned l,
                         const ulanes_t random[4], ulanes_t codes[2]) {
  const uint32_t bits = ufp4_f32_bits(f32_scale(tile->amax[l], tile->amax_exponent[l], how->elem));
  const int exponent = (bits >> 23 != 0 ? (int)(bits >> 23) : 1) - 150;
  f32_thresholds_t thresholds;
  f32_thresholds((bits & 0x7FFFFF) | (bits >> 23 != 0 ? 0x800000 : 0), how, &thresholds);
  for (unsigned i = 0; i < BLOCK; i++) {
    int up = tile->exponent[i][l] + ufp4_elem_frac(how->elem) + QUOTIENT_LOG2 - exponent;
    unsigned draw = how->round == UFP4_ROUND_SR ? random[i / 4][l] >> 8 * (i % 4) & 0xFF : 0;
    unsigned code = f32_code(fixed_point(tile->magnitude[i][l], up), &thresholds, draw);
    if (tile->negative[i][l]) code = how->elem == UFP4_ELEM_INT4 ? -code & 15 : code | 8;
    codes[i / 8][l] |= code << 4 * (i % 8);
  }
  return bits;
}

// The scales are stored as bit patterns in place of the bytes.
HOT static void encode_f32(const tile_t *tile, const ufp4_quantize_t *how, const ulanes_t random[4],
                           lanes_t *scale, ulanes_t codes[2]) {
  codes[0] = codes[1] = (ulanes_t){0};
  *scale = tile->poisoned & (int32_t)UFP4_F32_NAN;
  for (unsigned l = 0; l < LANES; l++) {
    if (tile->amax[l] != 0) (*scale)[l] = (int32_t)f32_lane(tile, how, l, random, codes);
  }
}

// --- Tiles --------------------------------------------------------------------------------------

static unsigned encode_tile(const shared_t *shared, const visit_t *visit, const tile_t *tile,
                            lanes_t *byte, ulanes_t codes[2]) {
  const ulanes_t *random = visit->random;
  scale_t scale;
  unsigned flags = 0;
  switch (shared->of.how->scale) {
    case UFP4_SCALE_E8M0:
      e8m0_scales(tile, shared->of.how, &scale);
      ufp4_tile_codes(tile, shared->of.how, 0, &scale, random, codes);
      *byte = scale.byte;
      break;
    case UFP4_SCALE_FP32:
      encode_f32(tile, shared->of.how, random, byte, codes);
      break;
    default:
      flags = shared->errors != NULL
                  ? encode_mixed(shared, visit, tile, byte, codes)
                  : ufp4_tile_encode(tile, shared->of.how, shared->t, random, byte, codes);
      break;
  }
  for (unsigned l = 0; l < LANES; l++) flags |= tile->poisoned[l] ? UFP4_FLAG_NAN : 0;
  return flags;
}

static void encode_visit(void *state, const visit_t *visit) {
  const shared_t *shared = state;
  ulanes_t codes[2];
  lanes_t scale;
  tile_t tile;
  ufp4_tile_unpack(visit->bits, shared->of.how, &tile);
  take_spans(shared, visit, &tile);
  shared->out->flags |= encode_tile(shared, visit, &tile, &scale, codes);
  ufp4_store_visit(&shared->of, visit, &scale, codes, shared->out);
}

ufp4_status_t ufp4_quantize_shared(const source_t *source, const ufp4_quantize_t *how,
                                   ufp4_operand_t *out) {
  shared_t shared;
  ufp4_status_t status = shared_create(source, how, &shared);
  if (status != UFP4_OK) return status;
  ufp4_visit_tiles(&shared.of, 0, collect_spans, &shared);
  if (how->scale == UFP4_SCALE_E4M3) {
    set_exponent(&shared);
    if (how->exponent_given) shared.t = how->exponent;
    out->exponent = shared.t;
  }
  shared.out = out;
  status = find_errors(&shared);
  if (status == UFP4_OK) ufp4_visit_tiles(&shared.of, 1, encode_visit, &shared);
  free(shared.errors);
  free(shared.spans);
  return status;
}

ufp4_status_t ufp4_shared_exponent(const source_t *source, const ufp4_quantize_t *how,
                                   int *exponent) {
  shared_t shared;
  ufp4_status_t status = shared_create(source, how, &shared);
  if (status != UFP4_OK) return status;
  ufp4_visit_tiles(&shared.of, 0, collect_spans, &shared);
  set_exponent(&shared);
  *exponent = shared.t;
  free(shared.spans);
  return UFP4_OK;
}
