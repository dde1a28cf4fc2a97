// SPDX-License-Identifier: Apache-2.0
// Causal multi-head attention of one sequence: P = softmax(Q K^T / sqrt(head)), O = P V.
#ifndef UFP4_TRAIN_ATTENTION_H
#define UFP4_TRAIN_ATTENTION_H

#include <stdint.h>

/** Each row of qkv holds Q, K and V, each of heads * head elements. */
typedef struct {
  int64_t context;
  int64_t heads;
  int64_t head;
} ufp4_attention_shape_t;

/** qkv [context][3 d], out [context][d] with d = heads * head; @p probabilities
 * [heads][context][context] is kept for the backward pass (zero above the diagonal). */
void ufp4_attention_forward(const ufp4_attention_shape_t *shape, const float *qkv,
                            float *probabilities, float *out);
/** @p dout [context][d] to @p dqkv [context][3 d]; @p scratch [context][context]. */
void ufp4_attention_backward(const ufp4_attention_shape_t *shape, const float *qkv,
                             const float *probabilities, const float *dout, float *dqkv,
                             float *scratch);

#endif
