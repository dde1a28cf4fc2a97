// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

#include "trainer_state.h"

ufp4_trainer_options_t ufp4_trainer_options_default(void) {
  return (ufp4_trainer_options_t){
      .shape = ufp4_transformer_small(), .batch = 16, .steps = 300, .rate = 3e-3f};
}

static ufp4_status_t alloc_state(ufp4_trainer_t *t) {
  const ufp4_transformer_shape_t *shape = &t->options.shape;
  ufp4_weights_alloc(shape, &t->pool, &t->weights);
  ufp4_weights_alloc(shape, &t->pool, &t->gradient);
  for (int i = 0; i < 2; i++) t->moment[i] = ufp4_pool_floats(&t->pool, t->weights.count);
  t->inputs = ufp4_pool_alloc(&t->pool, t->model.tokens, 1);
  t->targets = ufp4_pool_alloc(&t->pool, t->model.tokens, 1);
  return t->pool.failed ? UFP4_ERROR_MEMORY : UFP4_OK;
}

static const ufp4_recipe_t *recipe_of(const ufp4_trainer_t *t) {
  return t->plain ? NULL : &t->recipe;
}

static ufp4_status_t start(ufp4_trainer_t *t) {
  const ufp4_trainer_options_t *o = &t->options;
  if (o->steps < 1 || !(o->rate > 0)) return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status =
      ufp4_transformer_create(&o->shape, o->batch, 1, t->device, recipe_of(t), o->seed, &t->model);
  if (!status) status = alloc_state(t);
  if (status) return status;
  ufp4_weights_random(&o->shape, o->seed, &t->weights);
  if (o->perturbation > 0) ufp4_weights_perturb(&t->weights, o->seed, o->perturbation);
  t->adamw = ufp4_adamw_default(o->rate, o->steps);
  return UFP4_OK;
}

ufp4_status_t ufp4_trainer_create(const ufp4_trainer_options_t *options, const ufp4_text_t *text,
                                  ufp4_device_t *device, const ufp4_recipe_t *recipe,
                                  ufp4_trainer_t **trainer) {
  *trainer = NULL;
  ufp4_trainer_t *t = calloc(1, sizeof *t);
  if (!t) return UFP4_ERROR_MEMORY;
  t->options = *options;
  t->text = text;
  t->device = device;
  t->plain = !device || !recipe;
  if (recipe) t->recipe = *recipe;
  ufp4_status_t status = start(t);
  if (status) {
    ufp4_trainer_free(t);
    return status;
  }
  *trainer = t;
  return UFP4_OK;
}

ufp4_status_t ufp4_trainer_fits(const ufp4_trainer_options_t *options, ufp4_device_t *device,
                                const ufp4_recipe_t *recipe) {
  ufp4_transformer_t model = {0};
  ufp4_status_t status = ufp4_transformer_create(&options->shape, options->batch, 1, device, recipe,
                                                 options->seed, &model);
  ufp4_transformer_free(&model);
  return status;
}

void ufp4_trainer_free(ufp4_trainer_t *trainer) {
  if (!trainer) return;
  ufp4_transformer_free(&trainer->model);
  ufp4_pool_free(&trainer->pool);
  free(trainer);
}

void ufp4_trainer_set_hook(ufp4_trainer_t *trainer, ufp4_layer_hook_t hook) {
  trainer->model.hook = hook;
}

void ufp4_trainer_set_product(ufp4_trainer_t *trainer, ufp4_product_t product) {
  const int64_t layers = trainer->model.shape.blocks * UFP4_MATRIX_COUNT;
  for (int64_t i = 0; i < layers; i++) trainer->model.layer[i].product = product;
}

// Computes loss and gradient of the next batch.
static ufp4_status_t differentiate(ufp4_trainer_t *t, double *loss) {
  const ufp4_trainer_options_t *o = &t->options;
  uint64_t step = (uint64_t)t->step;
  ufp4_text_batch(t->text, o->seed, t->step, o->batch, o->shape.context, t->inputs, t->targets);
  ufp4_status_t status =
      ufp4_transformer_forward(&t->model, &t->weights, t->inputs, t->targets, step, loss);
  return status ? status
                : ufp4_transformer_backward(&t->model, &t->weights, t->inputs, step, &t->gradient);
}

ufp4_status_t ufp4_trainer_step(ufp4_trainer_t *t, double *loss) {
  ufp4_status_t status = differentiate(t, loss);
  if (status) return status;
  ufp4_adamw_step(&t->adamw, t->step, t->weights.count, t->weights.matrices, t->weights.all,
                  t->gradient.all, t->moment[0], t->moment[1]);
  t->step++;
  return UFP4_OK;
}

ufp4_status_t ufp4_trainer_look(ufp4_trainer_t *t, ufp4_layer_hook_t hook) {
  ufp4_layer_hook_t before = t->model.hook;
  double loss;
  t->model.hook = hook;
  ufp4_status_t status = differentiate(t, &loss);
  t->model.hook = before;
  return status;
}

ufp4_evaluation_t ufp4_trainer_evaluation(const ufp4_trainer_t *t, int64_t tokens) {
  ufp4_evaluation_t out = {.shape = &t->options.shape,
                           .weights = &t->weights,
                           .device = t->device,
                           .recipe = recipe_of(t),
                           .seed = t->options.seed,
                           .step = (uint64_t)t->step,
                           .batch = t->options.batch};
  ufp4_evaluate_plan(&out, t->text, tokens);
  return out;
}

ufp4_status_t ufp4_trainer_evaluate(ufp4_trainer_t *t, int64_t tokens, double *loss,
                                    int64_t *measured, ufp4_stretches_t *stretches) {
  const ufp4_evaluation_t plan = ufp4_trainer_evaluation(t, tokens);
  double *each = malloc((size_t)plan.sequences * sizeof *each);
  if (!each) return UFP4_ERROR_MEMORY;
  const ufp4_status_t status = ufp4_evaluate(&plan, t->text, 0, plan.sequences, each, loss);
  if (measured) *measured = plan.sequences * plan.shape->context;
  if (!status && stretches) ufp4_stretches(each, plan.sequences, stretches);
  free(each);
  return status;
}

ufp4_status_t ufp4_trainer_copy(ufp4_trainer_t *to, const ufp4_trainer_t *from) {
  if (memcmp(&to->options.shape, &from->options.shape, sizeof to->options.shape) != 0)
    return UFP4_ERROR_ARGUMENT;
  size_t bytes = (size_t)from->weights.count * sizeof *from->weights.all;
  memcpy(to->weights.all, from->weights.all, bytes);
  for (int i = 0; i < 2; i++) memcpy(to->moment[i], from->moment[i], bytes);
  to->step = from->step;
  return UFP4_OK;
}

int64_t ufp4_trainer_steps(const ufp4_trainer_t *trainer) {
  return trainer->step;
}

const ufp4_weights_t *ufp4_trainer_weights(const ufp4_trainer_t *trainer) {
  return &trainer->weights;
}
