// SPDX-License-Identifier: Apache-2.0
// Exponential and sums in a fixed order of operations, so that they vectorize and give the same
// bits on every machine.
#ifndef UFP4_TRAIN_ELEMENTARY_H
#define UFP4_TRAIN_ELEMENTARY_H

#include <stdint.h>
#include <string.h>

/** Returns e^x for FP32, with x clamped to -87..88, and NaN for NaN; relative error under 2e-7.
 * The argument is reduced to |r| <= ln 2 / 2 (ln 2 in two parts, Cephes); then follow a polynomial
 * of degree 6 and a shift of the exponent. */
static inline float ufp4_exp(float x) {
  float limited = x > -87.0f ? x : -87.0f;  // also for NaN
  limited = limited < 88.0f ? limited : 88.0f;
  const float rounder = 12582912.0f;  // 1.5 * 2^23: adding and subtracting it rounds to an integer
  float n = (limited * 1.44269504f + rounder) - rounder;
  float r = limited - n * 0.693359375f - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  int32_t bits;
  memcpy(&bits, &p, sizeof bits);
  bits += (int32_t)n * (1 << 23);
  memcpy(&p, &bits, sizeof p);
  return x == x ? p : x;
}

#define UFP4_SUM_LANES 16

static inline float ufp4_sum_lanes(float lane[UFP4_SUM_LANES]) {
  for (int width = UFP4_SUM_LANES / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; i++) lane[i] += lane[i + width];
  }
  return lane[0];
}

/** Returns sum_i a_i b_i: element i is added to lane i mod 16, and the lanes are added as a
 * tree. */
static inline float ufp4_dot(const float *a, const float *b, int64_t count) {
  float lane[UFP4_SUM_LANES] = {0};
  int64_t i = 0;
  for (; i + UFP4_SUM_LANES <= count; i += UFP4_SUM_LANES) {
    for (int j = 0; j < UFP4_SUM_LANES; j++) lane[j] += a[i + j] * b[i + j];
  }
  for (int j = 0; i + j < count; j++) lane[j] += a[i + j] * b[i + j];
  return ufp4_sum_lanes(lane);
}

/** Returns sum_i a_i, in the order of ufp4_dot. */
static inline float ufp4_sum(const float *a, int64_t count) {
  float lane[UFP4_SUM_LANES] = {0};
  int64_t i = 0;
  for (; i + UFP4_SUM_LANES <= count; i += UFP4_SUM_LANES) {
    for (int j = 0; j < UFP4_SUM_LANES; j++) lane[j] += a[i + j];
  }
  for (int j = 0; i + j < count; j++) lane[j] += a[i + j];
  return ufp4_sum_lanes(lane);
}

#endif
