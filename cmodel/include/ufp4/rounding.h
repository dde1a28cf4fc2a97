// SPDX-License-Identifier: Apache-2.0
// Measures the effect of four-bit rounding on a tensor: shrinkage, preserved signal, noise and the
// use of the codes.
#ifndef UFP4_ROUNDING_H
#define UFP4_ROUNDING_H

#include "ufp4/quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The number of distinct values on a grid, where -0 counts as 0. */
#define UFP4_ROUNDING_VALUES 15

/** Measures of one tensor and one quantizer. A is the input of the rounding: the tensor, after the
 * Hadamard transform if there is one. Q(A) is the decoded result, rounded to FP32 unless that gives
 * Inf. Blocks that hold NaN or Inf are left out. */
typedef struct {
  double bias_percent;  ///< 100 sum((|Q(A)| - |A|)) / sum |A|: negative is shrinkage
  double kept;          ///< <Q(A), A> / |A|^2, the attenuation alpha of the paper's Eq. 3
  double sqnr_db;       ///< 10 log10(|A|^2 / |Q(A) - A|^2)
  double bucket_ratio;  ///< exp(-sum p log p) / K over the K = 15 distinct values of the codes; NaN
                        ///< for mixed, whose codes have a different value in each grid
  double share[UFP4_ROUNDING_VALUES];  ///< p above: the share of the codes with each value, lowest
                                       ///< first
  double uniform;      ///< mixed: the share of measured groups on the uniform grid; NaN for other
                       ///< elements, or if no group is measured
  int64_t blocks;      ///< measured groups of 16
  int64_t blocks_out;  ///< groups left out because of NaN or Inf
} ufp4_rounding_t;

/** Quantizes @p in by @p how and measures the result. UFP4_ERROR_ARGUMENT: as ufp4_quantize. */
ufp4_status_t ufp4_rounding_measure(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                    ufp4_rounding_t *out);

/** Returns Eq. 2 of the paper for grid point @p code (1..6; the last point's cell has no upper
 * end): the mean error of values spread evenly over the point's cell, (2 q - q_below - q_above) /
 * 4, in units of the element. */
double ufp4_cell_bias(ufp4_elem_t elem, unsigned code);
/** Measures that mean error with @p samples values spread evenly over the cell. */
double ufp4_cell_bias_measured(ufp4_elem_t elem, unsigned code, int samples);

#ifdef __cplusplus
}
#endif

#endif
