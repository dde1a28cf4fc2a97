// SPDX-License-Identifier: Apache-2.0
// Paired comparison over seeds.
#ifndef UFP4_TRAIN_PAIRED_H
#define UFP4_TRAIN_PAIRED_H

#include <stdint.h>

typedef struct {
  int64_t count;
  double mean;
  double deviation;  ///< of the sample, n - 1; NaN for fewer than two
  double interval;  ///< mean +- this holds the true mean with 95 % confidence; NaN for fewer than 2
  double t;         ///< mean / (deviation / sqrt n); NaN where that has no value
  double p;         ///< two-sided, by Student's t with n - 1 degrees of freedom; 1 where t is NaN
  int64_t positive;  ///< differences over zero
} ufp4_paired_t;

ufp4_paired_t ufp4_paired(const double *differences, int64_t count);
/** The probability of a |t| of this size or more with @p freedom degrees of freedom, by the
 * continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8); to 1e-12. */
double ufp4_student_p(double t, int64_t freedom);
/** The |t| whose probability is @p p. */
double ufp4_student_limit(double p, int64_t freedom);
/** Holm's step-down correction of @p count probabilities, in place: at most 1, in the same order of
 * size. (S. Holm, A simple sequentially rejective multiple test procedure, 1979.) */
void ufp4_holm(double *p, int count);

#endif
