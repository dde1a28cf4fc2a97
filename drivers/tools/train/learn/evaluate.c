// SPDX-License-Identifier: Apache-2.0
#include "evaluate.h"

void ufp4_evaluate_plan(ufp4_evaluation_t *e, const ufp4_text_t *text, int64_t tokens) {
  int64_t context = e->shape->context, wanted = tokens / context;
  int64_t count = ufp4_text_held_sequences(text, context, wanted > 0 ? wanted : 1);
  if (count < e->batch) e->batch = count;
  e->sequences = count / e->batch * e->batch;
}

// Evaluates one batch; @p loss is its mean.
static ufp4_status_t run_batch(const ufp4_evaluation_t *e, const ufp4_text_t *text,
                               ufp4_transformer_t *model, int64_t first, uint8_t *inputs,
                               double *loss) {
  int64_t n = model->shape.context;
  uint8_t *targets = inputs + model->tokens;
  for (int64_t i = 0; i < model->batch; i++) {
    ufp4_text_held_sequence(text, first + i, e->sequences, n, inputs + i * n, targets + i * n);
  }
  return ufp4_transformer_forward(model, e->weights, inputs, targets, e->step, loss);
}

static void losses_of_sequences(const ufp4_transformer_t *model, double *each) {
  int64_t n = model->shape.context;
  for (int64_t i = 0; i < model->batch; i++) {
    double sum = 0;
    for (int64_t t = 0; t < n; t++) sum += model->losses[i * n + t];
    each[i] = sum / (double)n;
  }
}

void ufp4_stretches(const double *each, int64_t count, ufp4_stretches_t *out) {
  out->count = count < UFP4_STRETCHES ? (int)count : UFP4_STRETCHES;
  for (int i = 0; i < out->count; i++) {
    const int64_t from = i * count / out->count, to = (i + 1) * count / out->count;
    double sum = 0;
    for (int64_t j = from; j < to; j++) sum += each[j];
    out->loss[i] = sum / (double)(to - from);
  }
}

ufp4_status_t ufp4_evaluate(const ufp4_evaluation_t *e, const ufp4_text_t *text, int64_t first,
                            int64_t count, double *each, double *mean) {
  ufp4_transformer_t model;
  ufp4_status_t status =
      ufp4_transformer_create(e->shape, e->batch, 0, e->device, e->recipe, e->seed, &model);
  if (status) return status;
  for (int64_t i = 0; i < model.shape.blocks * UFP4_MATRIX_COUNT; i++) model.layer[i].fixed = 1;
  uint8_t *inputs = ufp4_pool_alloc(&model.pool, 2 * model.tokens, 1);
  if (!inputs) status = UFP4_ERROR_MEMORY;
  double sum = 0, part = 0;
  for (int64_t i = 0; !status && i < count; i += e->batch) {
    status = run_batch(e, text, &model, first + i, inputs, &part);
    sum += part;
    if (!status && each) losses_of_sequences(&model, each + i);
  }
  if (mean) *mean = sum / (double)(count / e->batch);
  ufp4_transformer_free(&model);
  return status;
}
