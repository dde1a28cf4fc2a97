// SPDX-License-Identifier: Apache-2.0
#include "loss.h"

#include <math.h>

#include "base/hot.h"
#include "elementary.h"

UFP4_HOT static double row_loss(int64_t cols, int64_t target, float scale, float *x) {
  float largest = x[0];
  for (int64_t i = 1; i < cols; i++) largest = x[i] > largest ? x[i] : largest;
  double wanted = (double)x[target] - (double)largest;
  for (int64_t i = 0; i < cols; i++) x[i] = ufp4_exp(x[i] - largest);
  float sum = ufp4_sum(x, cols), factor = scale / sum;
  for (int64_t i = 0; i < cols; i++) x[i] *= factor;
  x[target] -= scale;
  return log((double)sum) - wanted;
}

double ufp4_loss(int64_t rows, int64_t cols, const uint8_t *targets, float *logits, double *each) {
  double sum = 0;
  for (int64_t r = 0; r < rows; r++) {
    each[r] = row_loss(cols, targets[r], 1.0f / (float)rows, logits + r * cols);
    sum += each[r];
  }
  return sum;
}
