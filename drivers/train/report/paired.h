// SPDX-License-Identifier: Apache-2.0
// Paired comparison over seeds.
#ifndef UFP4_TRAIN_PAIRED_H
#define UFP4_TRAIN_PAIRED_H

#include <stdint.h>

typedef struct {
  int64_t count;
  double mean;
  double deviation;  ///< of the sample, n - 1; NaN for fewer than two
  double t;          ///< mean / (deviation / sqrt n); NaN where that has no value
  int64_t positive;  ///< differences over zero
  int separated;  ///< 1 if |t| exceeds the two-sided 5 % point of Student's t with n - 1 degrees of
                  ///< freedom
} ufp4_paired_t;

ufp4_paired_t ufp4_paired(const double *differences, int64_t count);
/** Two-sided 5 % point of Student's t: a table up to 30 degrees of freedom, beyond it 1.96 + 2.372
 * / @p freedom (error under 0.003). */
double ufp4_student_limit(int64_t freedom);

#endif
