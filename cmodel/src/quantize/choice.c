// SPDX-License-Identifier: Apache-2.0
// Quantizes with NVFP4 scales where each block chooses between two, by Four Over Six or as mixed.
// The first walk collects the largest magnitude of each span (the numbers that share a scale), the
// second one the squared error of each of the two scales, and the third one encodes with the better
// scale. All floats are FP32, each operation rounded once, in the order of numerics.md.
#include "quantize/choice.h"

#include <float.h>
#include <stdlib.h>

#include "quantize/mixed.h"
#include "quantize/product.h"
#include "quantize/tile.h"
#include "ufp4/format.h"

#define F32_INF 0x7F800000

typedef float flanes_t __attribute__((vector_size(4 * LANES)));

enum { TARGETS = 2 };

// The two targets between which a block chooses: the factor that makes a scale from its largest
// magnitude, and the grid of its codes. The second is chosen only if its error is smaller.
typedef struct {
  float share[TARGETS];
  unsigned grid[TARGETS];  // grid of mixed; 0 is E2M1
  uint8_t bit[TARGETS];    // its bit in the scale byte
  float top;               // S maps the tensor's largest number to this
  ufp4_round_t round;      // rounding of the codes that are compared
} targets_t;

static targets_t targets_of(const ufp4_quantize_t *how) {
  if (how->elem == UFP4_ELEM_MIXED)
    return (targets_t){
        {1.0f / 6.0f, 1.0f / 3.5f}, {0, 1}, {0, 0x80}, 448.0f * 3.5f, UFP4_ROUND_RNE};
  return (targets_t){{1.0f / 6.0f, 1.0f / 4.0f}, {0, 0}, {0, 0}, 1536.0f, how->round};
}

typedef struct {
  targets_t targets;
  spans_t spans;
  peaks_t peaks;
  float (*errors)[TARGETS];  // by span
  ufp4_operand_t *out;
} choice_t;

// A tile that has been quantized with one target for each of its blocks.
typedef struct {
  lanes_t byte;
  flanes_t scale;
  ulanes_t codes[2];
} trial_t;

// --- Second walk --------------------------------------------------------------------------------

// Computes the scales of a tile's blocks and the factors of its numbers.
static void scales_of(const choice_t *q, const visit_t *visit, const int target[LANES],
                      trial_t *out, flanes_t *factor) {
  *factor = out->scale = (flanes_t){0};
  out->byte = (lanes_t){0};
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    const int32_t peak = q->peaks.of_spans[visit->spans[l]];
    if (peak >= F32_INF) out->byte[l] = 0x7F;
    if (peak == 0 || peak >= F32_INF) continue;
    const float share = q->targets.share[target[l]];
    const uint8_t byte = ufp4_e4m3_cast(ufp4_f32_value((uint32_t)peak) * (q->peaks.encode * share));
    const float scale = ufp4_e4m3_value(byte), undo = 1.0f / (scale * q->peaks.reciprocal);
    out->byte[l] = byte | q->targets.bit[target[l]];
    out->scale[l] = scale;
    (*factor)[l] = undo < FLT_MAX ? undo : FLT_MAX;
  }
}

HOT static void encode(const ulanes_t bits[BLOCK], const flanes_t *factor,
                       const ufp4_quantize_t *how, int t, const ulanes_t random[4],
                       ulanes_t codes[2]) {
  const ufp4_quantize_t plain = {.rht = UFP4_RHT_NONE};
  // The products are codes already.
  const scale_t one = {
      .significand = all_lanes(1), .exponent = all_lanes(9), .keep = (lanes_t)(*factor != 0.0f)};
  ulanes_t products[BLOCK];
  tile_t tile;
  for (unsigned i = 0; i < BLOCK; i++) products[i] = (ulanes_t)((flanes_t)bits[i] * *factor);
  ufp4_tile_unpack(products, &plain, &tile);
  ufp4_tile_codes(&tile, how, t, &one, random, codes);
}

static int is_among(int t, const int target[LANES]) {
  int found = 0;
  for (unsigned l = 0; l < LANES; l++) found |= target[l] == t;
  return found;
}

// Stores the codes of one target in the lanes that chose it, and leaves the others unchanged.
static void encode_target(const choice_t *q, const visit_t *visit, const int target[LANES], int t,
                          const flanes_t *factor, ufp4_round_t round, ulanes_t codes[2]) {
  ufp4_quantize_t how = ufp4_mixed_how(q->spans.how, q->targets.grid[t]);
  ulanes_t made[2];
  how.round = round;
  if (!is_among(t, target)) return;
  encode(visit->bits, factor, &how, -(int)q->targets.grid[t], visit->random, made);
  for (unsigned l = 0; l < LANES; l++) {
    for (unsigned h = 0; h < 2 && target[l] == t; h++) codes[h][l] = made[h][l];
  }
}

static void try_targets(const choice_t *q, const visit_t *visit, const int target[LANES],
                        ufp4_round_t round, trial_t *out) {
  flanes_t factor;
  scales_of(q, visit, target, out, &factor);
  for (int t = 0; t < TARGETS; t++) encode_target(q, visit, target, t, &factor, round, out->codes);
}

// The value of a code: 0, .5, 1, 1.5, 2, 3, 4, 6 of E2M1, or multiples of a half, and their
// negatives.
INLINE flanes_t value_of(lanes_t code, int uniform) {
  const lanes_t magnitude = code & 7, one = magnitude & 1;
  const lanes_t exponent = max_lanes((magnitude >> 1) - 1, all_lanes(0));
  const lanes_t e2m1 = select_lanes(magnitude < 2, one, (one + 2) << exponent);
  const lanes_t quanta = uniform ? magnitude : e2m1;
  const flanes_t value = __builtin_convertvector(quanta, flanes_t) * 0.5f;
  return (flanes_t)((lanes_t)value | (code & 8) << 28);
}

// Sums the squared errors of each block, in the unit of the scales, if nothing is out of range.
HOT static void errors_of(const ulanes_t bits[BLOCK], float encode, const trial_t *trial,
                          int uniform, flanes_t *error) {
  *error = (flanes_t){0};
  for (unsigned i = 0; i < BLOCK; i++) {
    const lanes_t code = (lanes_t)(trial->codes[i / 8] >> 4 * (i % 8) & 15);
    const flanes_t off = value_of(code, uniform) * trial->scale - (flanes_t)bits[i] * encode;
    const flanes_t square = off * off;
    *error = *error + square;
  }
}

static void collect_errors(void *state, const visit_t *visit) {
  const choice_t *q = state;
  for (int t = 0; t < TARGETS; t++) {
    const int target[LANES] = {t, t, t, t, t, t, t, t};
    trial_t trial;
    flanes_t error;
    try_targets(q, visit, target, q->targets.round, &trial);
    errors_of(visit->bits, q->peaks.encode, &trial, q->targets.grid[t] != 0, &error);
    // A tile's rows come in increasing order.
    for (unsigned l = 0; l < visit->place.lanes; l++) q->errors[visit->spans[l]][t] += error[l];
  }
}

// --- Third walk ---------------------------------------------------------------------------------

static void encode_visit(void *state, const visit_t *visit) {
  const choice_t *q = state;
  int target[LANES] = {0};
  trial_t trial;
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    const int64_t span = visit->spans[l];
    target[l] = q->errors[span][1] < q->errors[span][0];
    if (q->peaks.of_spans[span] >= F32_INF) q->out->flags |= UFP4_FLAG_NAN;
  }
  try_targets(q, visit, target, q->spans.how->round, &trial);
  ufp4_store_visit(&q->spans, visit, &trial.byte, trial.codes, q->out);
}

ufp4_status_t ufp4_quantize_choice(const source_t *source, const ufp4_quantize_t *how,
                                   ufp4_operand_t *out) {
  choice_t q = {.targets = targets_of(how), .spans = ufp4_spans_of(source, how), .out = out};
  q.errors = calloc(ufp4_matrix_bytes(q.spans.count, 1, sizeof *q.errors), 1);
  ufp4_status_t status =
      q.errors != NULL ? ufp4_peaks_of(&q.spans, q.targets.top, &q.peaks) : UFP4_ERROR_MEMORY;
  if (status == UFP4_OK) {
    out->tensor_scale = q.peaks.reciprocal;
    ufp4_visit_tiles(&q.spans, 1, collect_errors, &q);
    ufp4_visit_tiles(&q.spans, 1, encode_visit, &q);
  }
  free(q.peaks.of_spans);
  free(q.errors);
  return status;
}
