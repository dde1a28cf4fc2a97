// SPDX-License-Identifier: Apache-2.0
// Figures of the GPU, for the bench and for records.
#ifndef UFP4_CUDA_MEASURE_H
#define UFP4_CUDA_MEASURE_H

#include "table.h"

/** Whether the library is there and finds a GPU; @p message says why not. */
ufp4_status_t ufp4_cuda_available(ufp4_message_t *message);

/** One figure: GPU time, medians of several runs. */
typedef struct {
  const char *name;  ///< "gemm_exact", ..
  int64_t m, n, k;   ///< of a GEMM; of a quantizer m x n
  double milliseconds;
  double rate;          ///< in unit
  const char *unit;     ///< "TMAC/s" or "GB/s"
  const char *against;  ///< what it stands against; NULL: nothing
  double against_rate;  ///< in unit
  double ratio;         ///< rate / against_rate
} ufp4_cuda_figure_t;

/** Times every kernel on size x size (and x size), then what callers ask for (measure_calls.c), and
 * gives each figure to @p take. Yardsticks are the GPU's memory bandwidth, a copy, the plain
 * quantizer, and cuBLAS in BF16 and FP64, each measured next to what stands against it. */
ufp4_status_t ufp4_cuda_measure(int64_t size, ufp4_message_t *message,
                                void (*take)(void *argument, const ufp4_cuda_figure_t *figure),
                                void *argument);

/** How far the GPU's own narrow arithmetic is from the exact contract, on the same codes and
 * scales. */
typedef struct {
  const char *name;        ///< "vendor_fp8", "vendor_fp8_fast" or "vendor_fp4"
  int64_t size;            ///< m, n and k
  char skipped[200];       ///< why there is nothing to say; empty if there is
  double unequal_percent;  ///< outputs whose bits differ
  double largest,
      mean;  ///< error: the largest as part of the largest |D|, the mean as part of the mean |D|
} ufp4_cuda_distance_t;
#define UFP4_CUDA_DISTANCES 3
ufp4_status_t ufp4_cuda_vendor_distances(int64_t size, ufp4_message_t *message,
                                         ufp4_cuda_distance_t out[UFP4_CUDA_DISTANCES]);

/** GPU time of one exact GEMM with E4M3 scales, its operands on the GPU already. */
ufp4_status_t ufp4_cuda_time_gemm(int64_t rows, int64_t cols, int64_t k, ufp4_message_t *message,
                                  double *milliseconds);

#endif
