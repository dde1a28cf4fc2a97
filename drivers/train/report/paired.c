// SPDX-License-Identifier: Apache-2.0
#include "report/paired.h"

#include <math.h>

double ufp4_student_limit(int64_t freedom) {
  static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  const int64_t count = sizeof table / sizeof *table;
  if (freedom < 1) return INFINITY;
  return freedom <= count ? table[freedom - 1] : 1.96 + 2.372 / (double)freedom;
}

ufp4_paired_t ufp4_paired(const double *differences, int64_t count) {
  ufp4_paired_t out = {.count = count, .mean = NAN, .deviation = NAN, .t = NAN};
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
  if (out.deviation > 0) out.t = out.mean / (out.deviation / sqrt((double)count));
  out.separated = fabs(out.t) > ufp4_student_limit(count - 1);
  return out;
}
