// SPDX-License-Identifier: Apache-2.0
// One walk collects the largest magnitude of each span, which is what shares a scale; a second one
// the squared error that each of the two scales would leave; a third one encodes with the better.
// All floats are FP32, each operation rounded once, in the order of numerics.md.
#include "quantize/four_six.h"

#include <float.h>
#include <stdlib.h>

#include "quantize/product.h"
#include "quantize/tile.h"
#include "ufp4/format.h"

#define F32_INF 0x7F800000

typedef float flanes_t __attribute__((vector_size(4 * LANES)));

// The two targets, by the numbers that a block's largest magnitude is multiplied by.
enum { SIX, FOUR, TARGETS };
static const float shares[TARGETS] = {1.0f / 6.0f, 1.0f / 4.0f};

typedef struct {
  spans_t spans;
  peaks_t peaks;
  float (*errors)[TARGETS];  // of each span
  ufp4_operand_t *out;
} four_six_t;

// What a tile becomes with one target for each of its blocks.
typedef struct {
  lanes_t byte;
  flanes_t scale;
  ulanes_t codes[2];
} trial_t;

// --- Second walk --------------------------------------------------------------------------------

// Scales of a tile's blocks, and what its numbers are multiplied by.
static void scales_of(const four_six_t *q, const visit_t *visit, const int target[LANES],
                      trial_t *out, flanes_t *factor) {
  *factor = out->scale = (flanes_t){0};
  out->byte = (lanes_t){0};
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    const int32_t peak = q->peaks.of_spans[visit->spans[l]];
    if (peak >= F32_INF) out->byte[l] = 0x7F;
    if (peak == 0 || peak >= F32_INF) continue;
    const float wanted = ufp4_f32_value((uint32_t)peak) * (q->peaks.encode * shares[target[l]]);
    const uint8_t byte = ufp4_e4m3_cast(wanted);
    const float scale = ufp4_e4m3_value(byte), undo = 1.0f / (scale * q->peaks.reciprocal);
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

static void try_targets(const four_six_t *q, const visit_t *visit, const int target[LANES],
                        trial_t *out) {
  flanes_t factor;
  scales_of(q, visit, target, out, &factor);
  encode(visit->bits, &factor, q->spans.how, visit->random, out->codes);
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

static void collect_errors(void *state, const visit_t *visit) {
  const four_six_t *q = state;
  for (int t = 0; t < TARGETS; t++) {
    const int target[LANES] = {t, t, t, t, t, t, t, t};
    trial_t trial;
    flanes_t error;
    try_targets(q, visit, target, &trial);
    errors_of(visit->bits, q->peaks.encode, &trial, &error);
    // A tile's rows come in increasing order.
    for (unsigned l = 0; l < visit->place.lanes; l++) q->errors[visit->spans[l]][t] += error[l];
  }
}

// --- Third walk ---------------------------------------------------------------------------------

static void encode_visit(void *state, const visit_t *visit) {
  const four_six_t *q = state;
  int target[LANES] = {0};
  trial_t trial;
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    const int64_t span = visit->spans[l];
    target[l] = q->errors[span][FOUR] < q->errors[span][SIX] ? FOUR : SIX;
    if (q->peaks.of_spans[span] >= F32_INF) q->out->flags |= UFP4_FLAG_NAN;
  }
  try_targets(q, visit, target, &trial);
  ufp4_store_visit(&q->spans, visit, &trial.byte, trial.codes, q->out);
}

ufp4_status_t ufp4_quantize_four_six(const source_t *source, const ufp4_quantize_t *how,
                                     ufp4_operand_t *out) {
  four_six_t q = {.spans = ufp4_spans_of(source, how), .out = out};
  q.errors = calloc(ufp4_matrix_bytes(q.spans.count, 1, sizeof *q.errors), 1);
  ufp4_status_t status =
      q.errors != NULL ? ufp4_peaks_of(&q.spans, 1536.0f, &q.peaks) : UFP4_ERROR_MEMORY;
  if (status == UFP4_OK) {
    out->tensor_scale = q.peaks.reciprocal;
    ufp4_visit_tiles(&q.spans, 1, collect_errors, &q);
    ufp4_visit_tiles(&q.spans, 1, encode_visit, &q);
  }
  free(q.peaks.of_spans);
  free(q.errors);
  return status;
}
