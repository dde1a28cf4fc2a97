// SPDX-License-Identifier: Apache-2.0
// Measures what rounding to four bits does to a tensor: shrinkage, kept signal, noise, use of the
// codes.
#ifndef UFP4_ROUNDING_H
#define UFP4_ROUNDING_H

#include "ufp4/quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Distinct values of the codes of a grid; -0 is 0. */
#define UFP4_ROUNDING_VALUES 15

/** The measures of one tensor and one quantizer. A is what enters the rounding: the tensor, after
 * the Hadamard transform where there is one. Q(A) is what the codes and scales stand for, rounded
 * to FP32 except where that gives Inf. Blocks that hold NaN or Inf are left out. */
typedef struct {
  double bias_percent;  ///< 100 sum((|Q(A)| - |A|)) / sum |A|: negative is shrinkage
  double kept;          ///< <Q(A), A> / |A|^2, the attenuation alpha of the paper's Eq. 3
  double sqnr_db;       ///< 10 log10(|A|^2 / |Q(A) - A|^2)
  double bucket_ratio;  ///< exp(-sum p log p) / K over the K = 15 distinct values of the codes; NaN
                        ///< with elements mixed, whose codes have another value in each grid
  double share[UFP4_ROUNDING_VALUES];  ///< of the codes, by value from the lowest: p above
  double uniform;      ///< elements mixed: the share of the measured groups that are on the uniform
                       ///< grid; NaN with others, and where none is measured
  int64_t blocks;      ///< groups of 16 that are measured
  int64_t blocks_out;  ///< left out
} ufp4_rounding_t;

/** Quantizes @p in as @p how says and measures. UFP4_ERROR_ARGUMENT as ufp4_quantize. */
ufp4_status_t ufp4_rounding_measure(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                    ufp4_rounding_t *out);

/** Eq. 2 of the paper for grid point @p code (1..6, not the last: its cell has no upper end): mean
 * error of values spread evenly over the cell of a point, (2 q - q_below - q_above) / 4, in units
 * of the element. */
double ufp4_cell_bias(ufp4_elem_t elem, unsigned code);
/** Measures the same mean error, with @p samples values that are spread evenly over the cell. */
double ufp4_cell_bias_measured(ufp4_elem_t elem, unsigned code, int samples);

#ifdef __cplusplus
}
#endif

#endif
