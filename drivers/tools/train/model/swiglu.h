// SPDX-License-Identifier: Apache-2.0
// SwiGLU: y = silu(gate) * up, where each row of u holds the gate, then up.
#ifndef UFP4_TRAIN_SWIGLU_H
#define UFP4_TRAIN_SWIGLU_H

#include <stdint.h>

/** Computes y [rows][cols] from u [rows][2 cols]. */
void ufp4_swiglu_forward(int64_t rows, int64_t cols, const float *u, float *y);
/** Computes du [rows][2 cols] from dy [rows][cols]. */
void ufp4_swiglu_backward(int64_t rows, int64_t cols, const float *u, const float *dy, float *du);

#endif
