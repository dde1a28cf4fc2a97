// SPDX-License-Identifier: Apache-2.0
#include "rope.h"

#include <math.h>

#include "base/hot.h"

void ufp4_rope_table(int64_t context, int64_t head, float *table) {
  int64_t half = head / 2;
  float *sines = table + context * half;
  for (int64_t t = 0; t < context; t++) {
    for (int64_t i = 0; i < half; i++) {
      double angle = (double)t * pow(10000.0, -2.0 * (double)i / (double)head);
      table[t * half + i] = (float)cos(angle);
      sines[t * half + i] = (float)sin(angle);
    }
  }
}

UFP4_HOT static void rotate(int64_t half, const float *cosine, const float *sine, float sign,
                            float *restrict x) {
  for (int64_t i = 0; i < half; i++) {
    float a = x[i], b = x[i + half], s = sign * sine[i];
    x[i] = a * cosine[i] - b * s;
    x[i + half] = a * s + b * cosine[i];
  }
}

void ufp4_rope_apply(int64_t context, int64_t heads, int64_t head, const float *table, int inverse,
                     float *x, int64_t ld) {
  int64_t half = head / 2;
  const float *sines = table + context * half;
  for (int64_t t = 0; t < context; t++) {
    for (int64_t h = 0; h < heads; h++) {
      rotate(half, table + t * half, sines + t * half, inverse ? -1.0f : 1.0f,
             x + t * ld + h * head);
    }
  }
}
