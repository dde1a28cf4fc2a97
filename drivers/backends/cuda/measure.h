// SPDX-License-Identifier: Apache-2.0
// Performance figures of the GPU, for the bench and for records.
#ifndef UFP4_CUDA_MEASURE_H
#define UFP4_CUDA_MEASURE_H

#include "table.h"

/** Returns whether the library exists and finds a GPU; otherwise @p message says why not. */
ufp4_status_t ufp4_cuda_available(ufp4_message_t *message);

/** A figure: GPU time, the median of several runs. */
typedef struct {
  const char *name;  ///< "gemm_exact", ..
  int64_t m, n, k;   ///< of a GEMM; of a quantizer m x n
  double milliseconds;
  double rate;          ///< in unit
  const char *unit;     ///< "TMAC/s" or "GB/s"
  const char *against;  ///< the yardstick; NULL: none
  double against_rate;  ///< in unit
  double ratio;         ///< rate / against_rate
} ufp4_cuda_figure_t;

/** Measures every kernel on size x size (and x size), then the calls that applications make
 * (measure_calls.c), and passes each figure to @p take. The yardsticks are the GPU's memory
 * bandwidth, a copy, the plain quantizer, and cuBLAS in BF16 and FP64, each measured next to the
 * figure that it is compared with. */
ufp4_status_t ufp4_cuda_measure(int64_t size, ufp4_message_t *message,
                                void (*take)(void *argument, const ufp4_cuda_figure_t *figure),
                                void *argument);

/** The difference between the GPU's own narrow arithmetic and contract exact, on the same codes
 * and scales. */
typedef struct {
  const char *name;        ///< "vendor_fp8", "vendor_fp8_fast" or "vendor_fp4"
  int64_t size;            ///< m, n and k
  char skipped[200];       ///< reason if it could not be measured; otherwise empty
  double unequal_percent;  ///< outputs whose bits differ
  double largest,
      mean;  ///< errors: the largest relative to the largest |D|, the mean relative to the mean |D|
} ufp4_cuda_distance_t;
#define UFP4_CUDA_DISTANCES 3
ufp4_status_t ufp4_cuda_vendor_distances(int64_t size, ufp4_message_t *message,
                                         ufp4_cuda_distance_t out[UFP4_CUDA_DISTANCES]);

/** Returns the GPU time of one GEMM by contract exact with E4M3 scales, whose operands are already
 * on the GPU. */
ufp4_status_t ufp4_cuda_time_gemm(int64_t rows, int64_t cols, int64_t k, ufp4_message_t *message,
                                  double *milliseconds);

#endif
