// SPDX-License-Identifier: Apache-2.0
// Cross entropy of a softmax over the vocabulary.
#ifndef UFP4_TRAIN_LOSS_H
#define UFP4_TRAIN_LOSS_H

#include <stdint.h>

/** Returns the sum over rows of -ln softmax(logits)[target], in nats, added in double in row
 * order; the terms are stored in @p each [rows]. Replaces @p logits [rows][cols] by the gradient of
 * the mean loss: (softmax - onehot) / rows. */
double ufp4_loss(int64_t rows, int64_t cols, const uint8_t *targets, float *logits, double *each);

#endif
