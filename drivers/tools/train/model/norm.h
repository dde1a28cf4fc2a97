// SPDX-License-Identifier: Apache-2.0
// RMSNorm: y = g x / sqrt(mean(x^2) + 1e-5), row by row.
#ifndef UFP4_TRAIN_NORM_H
#define UFP4_TRAIN_NORM_H

#include <stdint.h>

/** Normalizes x to y [rows][cols]; @p inverse [rows] keeps 1 / sqrt(mean + 1e-5) for the backward
 * pass. */
void ufp4_norm_forward(int64_t rows, int64_t cols, const float *x, const float *gain, float *y,
                       float *inverse);
/** Adds to @p dx [rows][cols] and @p dgain [cols]. */
void ufp4_norm_backward(int64_t rows, int64_t cols, const float *x, const float *gain,
                        const float *inverse, const float *dy, float *dx, float *dgain);

#endif
