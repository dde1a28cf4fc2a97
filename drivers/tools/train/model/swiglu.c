// SPDX-License-Identifier: Apache-2.0
#include "swiglu.h"

#include "base/hot.h"
#include "elementary.h"

static inline float sigmoid(float x) {
  return 1.0f / (1.0f + ufp4_exp(-x));
}

UFP4_HOT void ufp4_swiglu_forward(int64_t rows, int64_t cols, const float *u, float *restrict y) {
  for (int64_t r = 0; r < rows; r++, u += 2 * cols, y += cols) {
    const float *up = u + cols;
    for (int64_t i = 0; i < cols; i++) y[i] = u[i] * sigmoid(u[i]) * up[i];
  }
}

// silu'(g) = s (1 + g (1 - s)) with s = sigmoid(g).
UFP4_HOT void ufp4_swiglu_backward(int64_t rows, int64_t cols, const float *u, const float *dy,
                                   float *restrict du) {
  for (int64_t r = 0; r < rows; r++, u += 2 * cols, dy += cols, du += 2 * cols) {
    const float *up = u + cols;
    float *restrict dup = du + cols;
    for (int64_t i = 0; i < cols; i++) {
      float s = sigmoid(u[i]);
      dup[i] = dy[i] * u[i] * s;
      du[i] = dy[i] * up[i] * s * (1.0f + u[i] * (1.0f - s));
    }
  }
}
