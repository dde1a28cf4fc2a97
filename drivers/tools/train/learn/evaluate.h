// SPDX-License-Identifier: Apache-2.0
// The loss of given weights on held-out text by sequence, for paired comparisons of recipes.
#ifndef UFP4_TRAIN_EVALUATE_H
#define UFP4_TRAIN_EVALUATE_H

#include "text.h"
#include "train/model/transformer.h"

/** The number of stretches into which held-out text is divided to estimate the error due to its
 * choice. Neighbouring sequences are correlated (in gcide a standard error that assumes
 * independence is two to three times too small); stretches are less so. */
#define UFP4_STRETCHES 32

/** Mean losses of the stretches of held-out text. */
typedef struct {
  int count;  ///< fewer if there are fewer sequences
  double loss[UFP4_STRETCHES];
} ufp4_stretches_t;
/** Computes the stretches' means from @p each, the losses of @p count sequences. */
void ufp4_stretches(const double *each, int64_t count, ufp4_stretches_t *out);

/** A model to evaluate, and the amount of text. */
typedef struct {
  const ufp4_transformer_shape_t *shape;
  const ufp4_weights_t *weights;
  ufp4_device_t *device;        ///< if this and the recipe are NULL: plain FP32 linear layers
  const ufp4_recipe_t *recipe;  ///< FPROP is quantized as in training
  uint64_t seed;                ///< seed of the quantizer's random bytes
  uint64_t step;                ///< step of the quantizer's random bytes
  int64_t batch;                ///< sequences per forward pass
  int64_t sequences;            ///< spread evenly over the held-out text; whole batches
} ufp4_evaluation_t;

/** Sets sequences: at most @p tokens held-out tokens, in whole batches, or all if there are fewer.
 * Lowers batch if the text has no whole batch. */
void ufp4_evaluate_plan(ufp4_evaluation_t *evaluation, const ufp4_text_t *text, int64_t tokens);
/** Evaluates sequences @p first up to @p first + @p count of the plan, whole batches, and sets @p
 * each [count] to their losses in nats per token. A sequence's loss depends on the other sequences
 * of its batch (by the tensor exponents) but not on other batches, so the plan may be evaluated in
 * pieces. @p mean is the mean of the batches' losses. One of the two may be NULL. */
ufp4_status_t ufp4_evaluate(const ufp4_evaluation_t *evaluation, const ufp4_text_t *text,
                            int64_t first, int64_t count, double *each, double *mean);

#endif
