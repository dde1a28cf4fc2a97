// SPDX-License-Identifier: Apache-2.0
// The loss of given weights on held-out text, by sequence: what recipes are compared by in pairs.
#ifndef UFP4_TRAIN_EVALUATE_H
#define UFP4_TRAIN_EVALUATE_H

#include "text.h"
#include "train/model/transformer.h"

/** Held-out text is taken as so many stretches for the error that its choice makes: the differences
 * of neighbouring sequences have much in common (in gcide a standard error that takes them for
 * independent is two to three times too small), those of stretches less. */
#define UFP4_STRETCHES 32

/** Mean losses of the stretches of held-out text. */
typedef struct {
  int count;  ///< fewer where there are fewer sequences
  double loss[UFP4_STRETCHES];
} ufp4_stretches_t;
/** @p each: the losses of @p count sequences. */
void ufp4_stretches(const double *each, int64_t count, ufp4_stretches_t *out);

/** A model as it is run forward, and over how much. */
typedef struct {
  const ufp4_transformer_shape_t *shape;
  const ufp4_weights_t *weights;
  ufp4_device_t *device;        ///< it and the recipe NULL: plain FP32 linear layers
  const ufp4_recipe_t *recipe;  ///< FPROP is quantized as in training
  uint64_t seed;                ///< of the quantizer's random bytes
  uint64_t step;                ///< of the same
  int64_t batch;                ///< sequences a forward pass
  int64_t sequences;            ///< spread evenly over the held-out text; whole batches
} ufp4_evaluation_t;

/** Sets sequences: at most @p tokens held-out tokens, whole batches, all there are if fewer. Lowers
 * batch where the text has no whole one. */
void ufp4_evaluate_plan(ufp4_evaluation_t *evaluation, const ufp4_text_t *text, int64_t tokens);
/** Runs sequences @p first to before @p first + @p count of the plan, whole batches, and gives
 * @p each [count] of them its loss in nats per token. Other sequences of its batch have a part in
 * it (the tensor exponents), sequences of other batches none: the plan may be run in pieces.
 *  @p mean of the losses of the batches. One of the two may be NULL. */
ufp4_status_t ufp4_evaluate(const ufp4_evaluation_t *evaluation, const ufp4_text_t *text,
                            int64_t first, int64_t count, double *each, double *mean);

#endif
