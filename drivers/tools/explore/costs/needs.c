// SPDX-License-Identifier: Apache-2.0
// The memory that a training step of a case needs, by formula.
#include <math.h>

#include "explore/costs/costs.h"
#include "explore/jobs/jobs.h"

/** Bytes of a layer of the model, times its count, in one block. */
typedef struct {
  double weights, copies, activations, gradients;
  double kept;     ///< kept from forward to backward pass: X, and copies of X and W
  double passing;  ///< only in its backward pass: dY, its copies, and dX
} line_t;

static double copies_of(const explore_plan_t *plan, const explore_case_t *of,
                        const explore_layer_t *layer, int64_t tokens, int role) {
  const int copies =
      explore_wants(of, role, UFP4_AXIS_ROW) + explore_wants(of, role, UFP4_AXIS_COL);
  return explore_quant_row(plan, of, layer, tokens, role, EXPLORE_QUANT, copies).written;
}

// Idle experts have weights, and zero gradients, but no copies. In a product of two activations one
// takes the place of W, and its gradient is passed on.
static line_t line_of(const explore_plan_t *plan, const explore_case_t *of,
                      const explore_layer_t *layer) {
  const double active = (double)explore_layer_count(of, layer),
               bytes = plan->source == UFP4_DTYPE_BF16 ? 2 : 4;
  const double cin = (double)explore_cin(of, layer);
  const double cout = (double)explore_cout(of, layer);
  const int64_t tokens = explore_layer_tokens(of, layer), batches = explore_batches(plan, of);
  const int is_linear = layer->kind == EXPLORE_LINEAR;
  const double numbers = (double)layer->count * cin * cout, dw = 4 * (double)batches * numbers;
  double x = 0, dy = 0;
  for (int64_t b = 0; b < batches; b++) {
    const int64_t part = (tokens + batches - 1 - b) / batches;
    x += active * copies_of(plan, of, layer, part, UFP4_ROLE_X);
    dy += active * copies_of(plan, of, layer, part, UFP4_ROLE_DY);
  }
  const double w = active * copies_of(plan, of, layer, tokens, UFP4_ROLE_W);
  const double plain = active * bytes * (double)tokens * cin + (is_linear ? 0 : bytes * numbers);
  return (line_t){
      .weights = is_linear ? bytes * numbers : 0,
      .copies = x + w,
      .activations = plain,
      .gradients = is_linear ? dw : 0,
      .kept = x + w + plain,
      .passing = dy + active * bytes * (double)tokens * (cin + cout) + (is_linear ? 0 : dw)};
}

// Returns the maximum besides a block of this kind if kinds alternate: data kept by earlier blocks,
// and gradients of later ones.
static double live_beside(const explore_model_t *model, const double kept[],
                          const double gradients[], int kind) {
  double most = 0, before = 0, behind = 0;
  for (int64_t i = 0; i < model->blocks; i++) behind += gradients[explore_kind_at(model, i)];
  for (int64_t i = 0; i < model->blocks; i++) {
    const int at = explore_kind_at(model, i);
    behind -= gradients[at];
    if (at == kind) most = fmax(most, before + behind);
    before += kept[at];
  }
  return most;
}

// The maximum in the backward pass of a layer: data kept by the layers up to it, and the gradients
// from it on. Blocks of a kind are alike, so the maximum occurs in the first or the last one.
static double most_live(const explore_model_t *model, const line_t lines[], double always) {
  double kept[EXPLORE_MAX_KINDS] = {0}, gradients[EXPLORE_MAX_KINDS] = {0}, most = 0;
  for (int i = 0; i < model->layer_count * model->kind_count; i++) {
    const int at = i / model->kind_count, kind = i % model->kind_count;
    kept[kind] += explore_is_of(&model->layers[at], kind) ? lines[at].kept : 0;
    gradients[kind] += explore_is_of(&model->layers[at], kind) ? lines[at].gradients : 0;
  }
  for (int kind = 0; kind < model->kind_count; kind++) {
    double before = 0, after = gradients[kind];
    double others = (double)(model->kinds[kind].blocks - 1) * fmax(kept[kind], gradients[kind]);
    for (int other = 0; other < model->kind_count; other++)
      others += other == kind ? 0
                              : (double)model->kinds[other].blocks *
                                    (other < kind ? kept[other] : gradients[other]);
    if (model->every != 0) others = live_beside(model, kept, gradients, kind);
    for (int i = 0; i < model->layer_count; i++) {
      if (!explore_is_of(&model->layers[i], kind)) continue;
      before += lines[i].kept;
      most = fmax(most, others + before + after + lines[i].passing);
      after -= lines[i].gradients;
    }
  }
  return always + most;
}

explore_needs_t explore_needs(const explore_plan_t *plan, const explore_case_t *shared) {
  const explore_model_t *model = &plan->model;
  const explore_case_t alone = explore_alone(shared), *of = &alone;
  explore_needs_t needs = {.weights = 0};
  line_t lines[EXPLORE_MAX_LAYERS];
  for (int i = 0; i < model->layer_count; i++) {
    const double blocks = (double)model->layers[i].blocks;
    lines[i] = line_of(plan, of, &model->layers[i]);
    needs.weights += blocks * lines[i].weights;
    needs.copies += blocks * lines[i].copies;
    needs.activations += blocks * lines[i].activations;
    needs.gradients += blocks * lines[i].gradients;
  }
  // AdamW keeps two moments in FP32, and FP32 weights if the others are BF16.
  needs.optimizer = plan->source == UFP4_DTYPE_BF16 ? 6 * needs.weights : 2 * needs.weights;
  needs.live = most_live(model, lines, needs.weights + needs.optimizer);
  return needs;
}
