// SPDX-License-Identifier: Apache-2.0
// Training of the language model, step by step, on one device with one recipe.
#ifndef UFP4_TRAIN_TRAINER_H
#define UFP4_TRAIN_TRAINER_H

#include "adamw.h"
#include "evaluate.h"
#include "text.h"
#include "train/model/transformer.h"

typedef struct {
  ufp4_transformer_shape_t shape;
  int64_t batch;       ///< sequences per step
  int64_t steps;       ///< length of the schedule
  float rate;          ///< peak learning rate
  uint64_t seed;       ///< seed of weights, data order and the quantizer's random bytes
  float perturbation;  ///< relative deviation added to the initial weights; 0: none
} ufp4_trainer_options_t;

/** Returns the small model, 16 sequences (2048 tokens) per step, 300 steps, rate 3e-3, seed 0. */
ufp4_trainer_options_t ufp4_trainer_options_default(void);

typedef struct ufp4_trainer ufp4_trainer_t;

/** Creates a trainer; @p text and @p device must outlive it. @p device and @p recipe NULL: plain
 * FP32 linear layers. */
ufp4_status_t ufp4_trainer_create(const ufp4_trainer_options_t *options, const ufp4_text_t *text,
                                  ufp4_device_t *device, const ufp4_recipe_t *recipe,
                                  ufp4_trainer_t **trainer);
void ufp4_trainer_free(ufp4_trainer_t *trainer);
/** Checks that @p device has memory for such a trainer's layers; errors are those of
 * ufp4_trainer_create. */
ufp4_status_t ufp4_trainer_fits(const ufp4_trainer_options_t *options, ufp4_device_t *device,
                                const ufp4_recipe_t *recipe);
/** Sets a hook that sees every GEMM of later steps (not of evaluations). */
void ufp4_trainer_set_hook(ufp4_trainer_t *trainer, ufp4_layer_hook_t hook);
/** Makes linear layers without a recipe multiply by @p product, for timing. */
void ufp4_trainer_set_product(ufp4_trainer_t *trainer, ufp4_product_t product);
/** Runs one whole step: batch, forward, backward, clip, update. @p loss is that of the batch
 * before the update. */
ufp4_status_t ufp4_trainer_step(ufp4_trainer_t *trainer, double *loss);
/** Shows @p hook every GEMM of the next step without taking it. */
ufp4_status_t ufp4_trainer_look(ufp4_trainer_t *trainer, ufp4_layer_hook_t hook);
/** Returns the mean loss over at most @p tokens held-out tokens (whole batches; all if there are
 * fewer), with FPROP quantized as in training. @p measured, the number of tokens, and @p stretches
 * may be NULL. */
ufp4_status_t ufp4_trainer_evaluate(ufp4_trainer_t *trainer, int64_t tokens, double *loss,
                                    int64_t *measured, ufp4_stretches_t *stretches);
/** Returns the evaluation that ufp4_trainer_evaluate runs, so that it can be run by sequence or
 * with another recipe. It is valid until the next step. */
ufp4_evaluation_t ufp4_trainer_evaluation(const ufp4_trainer_t *trainer, int64_t tokens);
/** Copies the state of @p from: weights, moments and step. The shapes must be equal; batches may
 * differ. */
ufp4_status_t ufp4_trainer_copy(ufp4_trainer_t *to, const ufp4_trainer_t *from);
/** Returns the number of steps taken. */
int64_t ufp4_trainer_steps(const ufp4_trainer_t *trainer);
const ufp4_weights_t *ufp4_trainer_weights(const ufp4_trainer_t *trainer);

#endif
