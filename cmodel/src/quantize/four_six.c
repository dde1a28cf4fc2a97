// SPDX-License-Identifier: Apache-2.0
// One walk collects the largest magnitude of each span, which is what shares a scale; a second one
// the squared error that each of the two scales would leave; a third one encodes with the better.
// All floats are FP32, each operation rounded once, in the order of numerics.md.
#include "quantize/four_six.h"

#include <float.h>
#include <stdlib.h>

#include "quantize/tile.h"
#include "ufp4/format.h"

#define TILE_ROWS 16
#define F32_ABS 0x7FFFFFFFu
#define F32_INF 0x7F800000

typedef float flanes_t __attribute__((vector_size(4 * LANES)));

// The two targets, by the numbers that a block's largest magnitude is multiplied by.
enum { SIX, FOUR, TARGETS };
static const float shares[TARGETS] = {1.0f / 6.0f, 1.0f / 4.0f};

typedef struct {
  int32_t peak;  // largest magnitude as a pattern; NaN and Inf are largest
  float error[TARGETS];
} span_t;

typedef struct {
  const source_t *source;
  const ufp4_quantize_t *how;
  int64_t rows;              // that share a scale
  float encode, reciprocal;  // S, and the Sd that undoes it
  span_t *spans;
} four_six_t;

// What a tile becomes with one target for each of its blocks.
typedef struct {
  lanes_t byte;
  flanes_t scale;
  ulanes_t codes[2];
} trial_t;

static span_t *span_of(const four_six_t *q, const place_t *place, unsigned lane) {
  const int64_t group = place->first + lane * place->step, blocks = q->source->blocks;
  return &q->spans[group / blocks / q->rows * blocks + group % blocks];
}

// --- First walk ---------------------------------------------------------------------------------

static void collect_peaks(const four_six_t *q, const place_t *place, const ulanes_t bits[BLOCK]) {
  lanes_t peaks = {0};
  for (unsigned i = 0; i < BLOCK; i++) peaks = max_lanes(peaks, (lanes_t)(bits[i] & F32_ABS));
  for (unsigned l = 0; l < place->lanes; l++) {
    span_t *span = span_of(q, place, l);
    if (peaks[l] > span->peak) span->peak = peaks[l];
  }
}

static void set_tensor_scale(four_six_t *q, int64_t count) {
  int32_t largest = 0;
  for (int64_t i = 0; i < count; i++) {
    const int32_t peak = q->spans[i].peak;
    if (peak < F32_INF && peak > largest) largest = peak;
  }
  const float encode = 1536.0f / ufp4_f32_value((uint32_t)largest);
  q->encode = largest == 0 ? 1.0f : encode < FLT_MAX ? encode : FLT_MAX;
  q->reciprocal = 1.0f / q->encode;
}

// --- Second walk --------------------------------------------------------------------------------

// Scales of a tile's blocks, and what its numbers are multiplied by.
static void scales_of(const four_six_t *q, const place_t *place, const int target[LANES],
                      trial_t *out, flanes_t *factor) {
  *factor = out->scale = (flanes_t){0};
  out->byte = (lanes_t){0};
  for (unsigned l = 0; l < place->lanes; l++) {
    const int32_t peak = span_of(q, place, l)->peak;
    if (peak >= F32_INF) out->byte[l] = 0x7F;
    if (peak == 0 || peak >= F32_INF) continue;
    const float wanted = ufp4_f32_value((uint32_t)peak) * (q->encode * shares[target[l]]);
    const uint8_t byte = ufp4_e4m3_cast(wanted);
    const float scale = ufp4_e4m3_value(byte), undo = 1.0f / (scale * q->reciprocal);
    out->byte[l] = byte;
    out->scale[l] = scale;
    (*factor)[l] = undo < FLT_MAX ? undo : FLT_MAX;
  }
}

HOT static void encode(const ulanes_t bits[BLOCK], const flanes_t *factor,
                       const ufp4_quantize_t *how, const ulanes_t random[4], ulanes_t codes[2]) {
  const ufp4_quantize_t plain = {.rht = UFP4_RHT_NONE};
  // The products are codes already.
  const scale_t one = {
      .significand = all_lanes(1), .exponent = all_lanes(9), .keep = (lanes_t)(*factor != 0.0f)};
  ulanes_t products[BLOCK];
  tile_t tile;
  for (unsigned i = 0; i < BLOCK; i++) products[i] = (ulanes_t)((flanes_t)bits[i] * *factor);
  ufp4_tile_unpack(products, &plain, &tile);
  ufp4_tile_codes(&tile, how, 0, &one, random, codes);
}

static void try_targets(const four_six_t *q, const place_t *place, const ulanes_t bits[BLOCK],
                        const ulanes_t random[4], const int target[LANES], trial_t *out) {
  flanes_t factor;
  scales_of(q, place, target, out, &factor);
  encode(bits, &factor, q->how, random, out->codes);
}

// Of an E2M1 code: 0, .5, 1, 1.5, 2, 3, 4, 6 and their negatives.
INLINE flanes_t value_of(lanes_t code) {
  const lanes_t magnitude = code & 7, one = magnitude & 1;
  const lanes_t exponent = max_lanes((magnitude >> 1) - 1, all_lanes(0));
  const lanes_t quanta = select_lanes(magnitude < 2, one, (one + 2) << exponent);
  const flanes_t value = __builtin_convertvector(quanta, flanes_t) * 0.5f;
  return (flanes_t)((lanes_t)value | (code & 8) << 28);
}

// Of each block, in the unit of the scales, where nothing is out of range.
HOT static void errors_of(const ulanes_t bits[BLOCK], float encode, const trial_t *trial,
                          flanes_t *error) {
  *error = (flanes_t){0};
  for (unsigned i = 0; i < BLOCK; i++) {
    const lanes_t code = (lanes_t)(trial->codes[i / 8] >> 4 * (i % 8) & 15);
    const flanes_t off = value_of(code) * trial->scale - (flanes_t)bits[i] * encode;
    const flanes_t square = off * off;
    *error = *error + square;
  }
}

static void collect_errors(const four_six_t *q, const place_t *place, const ulanes_t bits[BLOCK],
                           const ulanes_t random[4]) {
  for (int t = 0; t < TARGETS; t++) {
    const int target[LANES] = {t, t, t, t, t, t, t, t};
    trial_t trial;
    flanes_t error;
    try_targets(q, place, bits, random, target, &trial);
    errors_of(bits, q->encode, &trial, &error);
    // A tile's rows come in increasing order.
    for (unsigned l = 0; l < place->lanes; l++) span_of(q, place, l)->error[t] += error[l];
  }
}

// --- Third walk ---------------------------------------------------------------------------------

static void encode_place(const four_six_t *q, const place_t *place, const ulanes_t bits[BLOCK],
                         const ulanes_t random[4], ufp4_operand_t *out) {
  int target[LANES] = {0};
  trial_t trial;
  for (unsigned l = 0; l < place->lanes; l++) {
    const span_t *span = span_of(q, place, l);
    target[l] = span->error[FOUR] < span->error[SIX] ? FOUR : SIX;
    if (span->peak >= F32_INF) out->flags |= UFP4_FLAG_NAN;
  }
  try_targets(q, place, bits, random, target, &trial);
  for (unsigned l = 0; l < place->lanes; l++) {
    const int64_t group = place->first + l * place->step;
    store_codes(trial.codes, l, out->codes + group * CODE_BYTES);
    out->scales[group] = (uint8_t)trial.byte[l];
  }
}

ufp4_status_t ufp4_quantize_four_six(const source_t *source, const ufp4_quantize_t *how,
                                     ufp4_operand_t *out) {
  four_six_t q = {
      .source = source, .how = how, .rows = how->layout == UFP4_LAYOUT_2D ? TILE_ROWS : 1};
  const int64_t count = (source->rows + q.rows - 1) / q.rows * source->blocks;
  q.spans = calloc(ufp4_matrix_bytes(count, 1, sizeof *q.spans), 1);
  if (q.spans == NULL) return UFP4_ERROR_MEMORY;
  for (int walk = 0; walk < 3; walk++) {
    place_t place;
    for (int more = ufp4_first_place(source, &place); more;
         more = ufp4_next_place(source, &place)) {
      ulanes_t bits[BLOCK], random[4];
      ufp4_load_tile(source, how, &place, bits);
      if (walk == 0) {
        collect_peaks(&q, &place, bits);
        continue;
      }
      ufp4_random_place(source, how, &place, random);
      if (walk == 1) collect_errors(&q, &place, bits, random);
      if (walk == 2) encode_place(&q, &place, bits, random, out);
    }
    if (walk == 0) set_tensor_scale(&q, count);
  }
  out->tensor_scale = q.reciprocal;
  free(q.spans);
  return UFP4_OK;
}
