// SPDX-License-Identifier: Apache-2.0
// Memory and alternating runs for measurements on a GPU.
#ifndef UFP4_CUDA_MEASURE_RUN_H
#define UFP4_CUDA_MEASURE_RUN_H

#include "measure.h"

/** A GPU and the memory for measurements. */
typedef struct {
  const ufp4_cuda_table_t *table;
  ufp4_cuda_t *cuda;
  ufp4_cuda_description_t gpu;
  ufp4_message_t *message;
  int64_t size;
  void (*take)(void *argument, const ufp4_cuda_figure_t *figure);
  void *argument;
  void *source;  // [size][size] FP32, Gaussian-like
  void *codes[2], *scales[2], *words, *workspace;
  size_t workspace_bytes;
  void *d, *yard[2];  // sized for FP64, the largest element measured
} measure_t;

ufp4_status_t ufp4_measure_allocate(measure_t *m);
void ufp4_measure_release(measure_t *m);
/** Fills with sums of eight bytes, which approximate a Gaussian distribution. */
ufp4_status_t ufp4_measure_fill_source(measure_t *m);
/** Fills the yardsticks' numbers so that as many bits toggle as in ours. */
ufp4_status_t ufp4_measure_fill_yard(measure_t *m, ufp4_cuda_vendor_t vendor);
/** Sets @p out for a call with @p bytes of workspace. */
ufp4_status_t ufp4_measure_call(measure_t *m, size_t bytes, ufp4_cuda_call_t *out);

typedef ufp4_status_t (*run_t)(measure_t *m, const void *what);
/** Alternates the two runs, so that both run at the same clocks; the first pair does not count. @p
 * yard may be NULL. Returns medians. */
ufp4_status_t ufp4_measure_turns(measure_t *m, run_t run, const void *what, run_t yard,
                                 const void *yard_what, double milliseconds[2]);
void ufp4_measure_give(measure_t *m, ufp4_cuda_figure_t figure);

/** Runs copies by the runtime, and cuBLAS of size x size x size; *what is one of
 * ufp4_cuda_vendor_t. */
ufp4_status_t ufp4_measure_copy(measure_t *m, const void *what);
ufp4_status_t ufp4_measure_vendor(measure_t *m, const void *what);

/** measure_calls.c: calls as applications make them, beyond bare kernels. */
ufp4_status_t ufp4_measure_calls(measure_t *m);

#endif
