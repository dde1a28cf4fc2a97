// SPDX-License-Identifier: Apache-2.0
// Causal multi-head attention of one sequence: P = softmax(Q K^T / sqrt(head)), O = P V.
#ifndef UFP4_TRAIN_ATTENTION_H
#define UFP4_TRAIN_ATTENTION_H

#include <stdint.h>

/** The shape; each row of qkv holds Q, K and V, each of heads * head elements. */
typedef struct {
  int64_t context;
  int64_t heads;
  int64_t head;
} ufp4_attention_shape_t;

/** Computes out [context][d], d = heads * head, from qkv [context][3 d]; @p probabilities
 * [heads][context][context] is kept for the backward pass (zero above the diagonal). */
void ufp4_attention_forward(const ufp4_attention_shape_t *shape, const float *qkv,
                            float *probabilities, float *out);
/** Computes @p dqkv [context][3 d] from @p dout [context][d]; @p scratch [context][context]. */
void ufp4_attention_backward(const ufp4_attention_shape_t *shape, const float *qkv,
                             const float *probabilities, const float *dout, float *dqkv,
                             float *scratch);

#endif
