// SPDX-License-Identifier: Apache-2.0
#include "norm.h"

#include <math.h>

#include "base/hot.h"
#include "elementary.h"

#define EPSILON 1e-5f

UFP4_HOT void ufp4_norm_forward(int64_t rows, int64_t cols, const float *x, const float *gain,
                                float *y, float *inverse) {
  for (int64_t r = 0; r < rows; r++, x += cols, y += cols) {
    inverse[r] = 1.0f / sqrtf(ufp4_dot(x, x, cols) / (float)cols + EPSILON);
    for (int64_t i = 0; i < cols; i++) y[i] = x[i] * inverse[r] * gain[i];
  }
}

// With n = x * inverse: dx = inverse * (g dy - n mean(g dy n)).
UFP4_HOT void ufp4_norm_backward(int64_t rows, int64_t cols, const float *x, const float *gain,
                                 const float *inverse, const float *dy, float *dx, float *dgain) {
  for (int64_t r = 0; r < rows; r++, x += cols, dy += cols, dx += cols) {
    float lane[UFP4_SUM_LANES] = {0};
    for (int64_t i = 0; i < cols; i++) lane[i % UFP4_SUM_LANES] += dy[i] * gain[i] * x[i];
    float scale = ufp4_sum_lanes(lane) * inverse[r] * inverse[r] / (float)cols;
    for (int64_t i = 0; i < cols; i++) {
      dgain[i] += dy[i] * x[i] * inverse[r];
      dx[i] += inverse[r] * (dy[i] * gain[i] - x[i] * scale);
    }
  }
}
