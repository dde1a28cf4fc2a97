// SPDX-License-Identifier: Apache-2.0
#include "adamw.h"

#include <math.h>

#include "base/hot.h"

ufp4_adamw_t ufp4_adamw_default(float rate, int64_t steps) {
  return (ufp4_adamw_t){.rate = rate,
                        .beta1 = 0.9f,
                        .beta2 = 0.95f,
                        .epsilon = 1e-8f,
                        .decay = 0.1f,
                        .clip = 1.0f,
                        .warmup = 0.1,
                        .steps = steps};
}

float ufp4_adamw_rate(const ufp4_adamw_t *how, int64_t step) {
  const double pi = 3.14159265358979323846;
  double warm = ceil(how->warmup * (double)how->steps);
  if ((double)step < warm) return (float)((double)how->rate * (double)(step + 1) / warm);
  if (step >= how->steps) return 0;
  double done = ((double)step - warm) / ((double)how->steps - warm);
  return (float)((double)how->rate * 0.5 * (1.0 + cos(pi * done)));
}

UFP4_HOT static double norm(int64_t count, const float *x) {
  double lane[8] = {0};  // a fixed order that vectorizes
  for (int64_t i = 0; i < count; i++) lane[i % 8] += (double)x[i] * (double)x[i];
  return sqrt(((lane[0] + lane[4]) + (lane[2] + lane[6])) +
              ((lane[1] + lane[5]) + (lane[3] + lane[7])));
}

static float correction(float beta, int64_t step) {
  return (float)(1.0 / (1.0 - pow((double)beta, (double)(step + 1))));
}

UFP4_HOT static void update(const ufp4_adamw_t *how, int64_t step, float keep, int64_t count,
                            float *restrict w, const float *restrict g, float *restrict m,
                            float *restrict v) {
  float rate = ufp4_adamw_rate(how, step), m_scale = correction(how->beta1, step),
        v_scale = correction(how->beta2, step);
  float beta1 = how->beta1, beta2 = how->beta2, epsilon = how->epsilon;
  for (int64_t i = 0; i < count; i++) {
    m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
    w[i] = keep * w[i] - rate * (m[i] * m_scale) / (sqrtf(v[i] * v_scale) + epsilon);
  }
}

float ufp4_adamw_step(const ufp4_adamw_t *how, int64_t step, int64_t count, int64_t decayed,
                      float *weights, float *gradient, float *first, float *second) {
  float length = (float)norm(count, gradient);
  if (length > how->clip) {
    float scale = how->clip / length;
    for (int64_t i = 0; i < count; i++) gradient[i] *= scale;
  }
  float keep = 1.0f - ufp4_adamw_rate(how, step) * how->decay;
  update(how, step, keep, decayed, weights, gradient, first, second);
  update(how, step, 1.0f, count - decayed, weights + decayed, gradient + decayed, first + decayed,
         second + decayed);
  return length;
}
