// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of the language model over a batch of sequences.
#ifndef UFP4_TRAIN_TRANSFORMER_H
#define UFP4_TRAIN_TRANSFORMER_H

#include "layer.h"
#include "weights.h"

/** Tensors of a block that are kept for the backward pass. All are [tokens][..]. */
typedef struct {
  float *in;             ///< [d]: the residual stream
  float *norm1;          ///< [d]: input of qkv
  float *qkv;            ///< [3 d], after RoPE
  float *probabilities;  ///< [batch][heads][context][context]
  float *attended;       ///< [d]: input of proj
  float *middle;         ///< [d]: the residual stream after attention
  float *norm2;          ///< [d]: input of fc1
  float *gated;          ///< [2 ff]: output of fc1
  float *hidden;         ///< [ff]: input of fc2
  float *inverse[2];     ///< [1]: of the norms
} ufp4_activations_t;

/** Buffers and linear layers for batches of one size, without the weights. */
typedef struct {
  ufp4_transformer_shape_t shape;
  int64_t batch;
  int64_t tokens;  ///< batch * context
  int training;    ///< 0: forward only
  ufp4_pool_t pool;
  ufp4_layer_t *layer;  ///< [blocks][4]
  ufp4_activations_t *block;
  float *rope;
  float *last;   ///< [tokens][d]: the residual stream after the last block
  float *final;  ///< [tokens][d]: normalized
  float *inverse;
  float *logits;   ///< [tokens][256]
  double *losses;  ///< [tokens]: of the last forward pass, in nats
  float *stream;   ///< [tokens][d]: gradient of the residual stream
  float *wide[2];  ///< [tokens][widest layer]: scratch
  float *square;   ///< [context][context]: scratch
  ufp4_layer_hook_t hook;
} ufp4_transformer_t;

/** Creates the buffers and layers. @p device and @p recipe NULL: every linear layer is in plain
 * FP32. @p seed seeds the quantizer's random bytes. */
ufp4_status_t ufp4_transformer_create(const ufp4_transformer_shape_t *shape, int64_t batch,
                                      int training, ufp4_device_t *device,
                                      const ufp4_recipe_t *recipe, uint64_t seed,
                                      ufp4_transformer_t *out);
void ufp4_transformer_free(ufp4_transformer_t *model);
/** Returns the mean loss in nats per token over @p inputs and @p targets [batch][context], and
 * leaves the gradient of the loss in logits. */
ufp4_status_t ufp4_transformer_forward(ufp4_transformer_t *model, const ufp4_weights_t *weights,
                                       const uint8_t *inputs, const uint8_t *targets, uint64_t step,
                                       double *loss);
/** Computes all of @p gradient, after forward with the same arguments. */
ufp4_status_t ufp4_transformer_backward(ufp4_transformer_t *model, const ufp4_weights_t *weights,
                                        const uint8_t *inputs, uint64_t step,
                                        ufp4_weights_t *gradient);

#endif
