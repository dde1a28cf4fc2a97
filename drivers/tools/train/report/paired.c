// SPDX-License-Identifier: Apache-2.0
#include "paired.h"

#include <float.h>
#include <math.h>

// The continued fraction of the incomplete beta function by Lentz's method; it converges fast for
// x < (a + 1) / (a + b + 2).
static double beta_fraction(double x, double a, double b) {
  double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < 10000; m++) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    value *= c * d;
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    value *= c * d;
    if (fabs(c * d - 1) < 4 * DBL_EPSILON) break;
  }
  return value;
}

static double incomplete_beta(double x, double a, double b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
                                   : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double ufp4_student_p(double t, int64_t freedom) {
  if (freedom < 1 || isnan(t)) return 1;
  if (isinf(t)) return 0;
  const double n = (double)freedom;
  return incomplete_beta(n / (n + t * t), n / 2, 0.5);
}

double ufp4_student_limit(double p, int64_t freedom) {
  double low = 0, high = 1;
  if (freedom < 1 || !(p > 0)) return INFINITY;
  while (ufp4_student_p(high, freedom) > p) high *= 2;
  for (int i = 0; i < 100 && low < high; i++) {
    const double middle = (low + high) / 2;
    if (ufp4_student_p(middle, freedom) > p) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return high;
}

ufp4_paired_t ufp4_paired(const double *differences, int64_t count) {
  ufp4_paired_t out = {
      .count = count, .mean = NAN, .deviation = NAN, .interval = NAN, .t = NAN, .p = 1};
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) {
    sum += differences[i];
    out.positive += differences[i] > 0;
  }
  if (count < 1) return out;
  out.mean = sum / (double)count;
  if (count < 2) return out;
  for (int64_t i = 0; i < count; i++)
    squares += (differences[i] - out.mean) * (differences[i] - out.mean);
  out.deviation = sqrt(squares / (double)(count - 1));
  const double error = out.deviation / sqrt((double)count);
  out.interval = ufp4_student_limit(0.05, count - 1) * error;
  if (error > 0) out.t = out.mean / error;
  out.p = ufp4_student_p(out.t, count - 1);
  return out;
}

void ufp4_holm(double *p, int count) {
  // The smallest that is left times how many are left, never under one before it. Those that are
  // done are marked by their sign.
  double floor = 0;
  for (int left = count; left > 0; left--) {
    int smallest = -1;
    for (int i = 0; i < count; i++) {
      if (p[i] >= 0 && !signbit(p[i]) && (smallest < 0 || p[i] < p[smallest])) smallest = i;
    }
    floor = fmin(1, fmax(floor, p[smallest] * left));
    p[smallest] = -floor;
  }
  for (int i = 0; i < count; i++) p[i] = fabs(p[i]);
}
