// SPDX-License-Identifier: Apache-2.0
// The memory that one of many chips needs, by formula (docs/reference/models.md).
#include <math.h>

#include "explore/costs/costs.h"
#include "explore/jobs/jobs.h"

/** Bytes that a chip holds for one block. */
typedef struct {
  double copies;   ///< codes and scales of W
  double kept;     ///< kept from forward to backward pass of a micro-batch: X, its copies, and the
                   ///< second of two activations
  double input;    ///< kept instead if the rest is computed again
  double passing;  ///< in the backward pass of one layer: dY, its copies, dX, and the FP32 gradient
                   ///< of a second activation
} held_t;

static double copies_of(const explore_plan_t *plan, const explore_case_t *of,
                        const explore_layer_t *layer, int role) {
  const int copies =
      explore_wants(of, role, UFP4_AXIS_ROW) + explore_wants(of, role, UFP4_AXIS_COL);
  const int64_t tokens = explore_layer_tokens(of, layer);
  return (double)explore_layer_count(of, layer) *
         explore_quant_row(plan, of, layer, tokens, role, EXPLORE_QUANT, copies).written;
}

// With sequence parallelism each chip keeps its part of a shared X, but the copies of all of it,
// because WGRAD reads them.
static double x_bytes(const explore_plan_t *plan, const explore_case_t *of,
                      const explore_layer_t *layer) {
  const double bytes = plan->source == UFP4_DTYPE_BF16 ? 2 : 4;
  const int in_parts = plan->layout.sequence && layer->share == EXPLORE_COLUMNS;
  return bytes * (double)explore_layer_count(of, layer) * (double)explore_layer_tokens(of, layer) *
         (double)explore_cin(of, layer) / (in_parts ? of->chips.tensor : 1);
}

static held_t held_of(const explore_plan_t *plan, const explore_case_t *of, int kind) {
  const double bytes = plan->source == UFP4_DTYPE_BF16 ? 2 : 4;
  held_t held = {.copies = 0};
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    if (!explore_is_of(layer, kind)) continue;
    const double rows = (double)explore_layer_count(of, layer) *
                        (double)explore_layer_tokens(of, layer),
                 w = copies_of(plan, of, layer, UFP4_ROLE_W), x = x_bytes(plan, of, layer),
                 width = (double)explore_cin(of, layer) + (double)explore_cout(of, layer);
    const int is_linear = layer->kind == EXPLORE_LINEAR;
    const double second = is_linear ? 0
                                    : (double)explore_layer_count(of, layer) *
                                          (double)explore_cin(of, layer) *
                                          (double)explore_cout(of, layer);
    held.copies += is_linear ? w : 0;
    held.kept += x + copies_of(plan, of, layer, UFP4_ROLE_X) + (is_linear ? 0 : w) + bytes * second;
    if (held.input == 0) held.input = x;
    held.passing = fmax(
        held.passing, copies_of(plan, of, layer, UFP4_ROLE_DY) + bytes * rows * width + 4 * second);
  }
  return held;
}

// Returns the micro-batches between their forward and their backward pass on a chip, for
// one-forward-one-backward. With several stages per chip there are some more.
static double in_flight(const explore_plan_t *plan, const explore_case_t *of, int chip) {
  const double chips = of->chips.pipeline, stages = plan->layout.interleave;
  const double most = stages > 1 ? chips + (chips - 1) / stages - 2 * chip / stages : chips - chip;
  return fmin(of->micro, most);
}

static explore_chip_t bytes_of(const explore_plan_t *plan, const explore_case_t *of, int chip) {
  const double bytes = plan->source == UFP4_DTYPE_BF16 ? 2 : 4, moments = bytes == 2 ? 12 : 8;
  const double dense = of->chips.data, experts = dense / of->chips.experts;
  const int zero = plan->layout.zero;
  double counts[EXPLORE_MAX_KINDS], shared = 0, all = 0, whole = 0, passing = 0;
  explore_chip_t need = {.weights = 0};
  explore_stage(plan, of, chip, counts);
  for (int kind = 0; kind < plan->model.kind_count; kind++) {
    const explore_numbers_t numbers = explore_numbers(plan, of, kind);
    const held_t held = held_of(plan, of, kind);
    if (counts[kind] == 0) continue;
    all += counts[kind] * (numbers.dense + numbers.experts);
    shared += counts[kind] * (numbers.dense / dense + numbers.experts / experts);
    need.copies += counts[kind] * held.copies;
    need.activations += counts[kind] * (plan->layout.recompute ? held.input : held.kept);
    whole = fmax(whole, plan->layout.recompute ? held.kept : 0);
    passing = fmax(passing, held.passing);
  }
  need.weights = bytes * (zero >= 3 ? shared : all);
  need.gradients = 4 * (zero >= 2 ? shared : all);
  need.optimizer = moments * (zero >= 1 ? shared : all);
  need.activations = need.activations * in_flight(plan, of, chip) + whole + passing;
  need.all = need.weights + need.gradients + need.optimizer + need.copies + need.activations;
  return need;
}

explore_chip_t explore_chip_bytes(const explore_plan_t *plan, const explore_case_t *of) {
  explore_chip_t most = {.all = -1};
  for (int chip = 0; chip < of->chips.pipeline; chip++) {
    const explore_chip_t need = bytes_of(plan, of, chip);
    if (need.all > most.all) most = need;
  }
  return most;
}
