// SPDX-License-Identifier: Apache-2.0
// AdamW with a clipped global gradient norm, linear warm-up and cosine decay to zero.
#ifndef UFP4_TRAIN_ADAMW_H
#define UFP4_TRAIN_ADAMW_H

#include <stdint.h>

typedef struct {
  float rate;  ///< peak learning rate
  float beta1, beta2;
  float epsilon;
  float decay;    ///< per unit of learning rate, on the first decayed elements
  float clip;     ///< limit of the gradient's norm
  double warmup;  ///< share of the steps
  int64_t steps;  ///< length of the schedule
} ufp4_adamw_t;

/** Returns 0.9, 0.95, 1e-8, decay 0.1, clip 1, 10 % warm-up. */
ufp4_adamw_t ufp4_adamw_default(float rate, int64_t steps);
/** Returns the learning rate of step 0, 1, ...; zero from the end of the schedule on. */
float ufp4_adamw_rate(const ufp4_adamw_t *how, int64_t step);
/** Updates @p weights [count] (with weight decay on the first @p decayed of them) by @p gradient,
 * which is clipped in place; moments @p first and @p second start at zero. @return the norm of the
 * gradient before clipping. */
float ufp4_adamw_step(const ufp4_adamw_t *how, int64_t step, int64_t count, int64_t decayed,
                      float *weights, float *gradient, float *first, float *second);

#endif
