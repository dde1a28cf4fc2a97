// SPDX-License-Identifier: Apache-2.0
// What is measured on a GPU lies here, and takes turns here.
#ifndef UFP4_CUDA_MEASURE_RUN_H
#define UFP4_CUDA_MEASURE_RUN_H

#include "measure.h"

/** A GPU, and the memory in which it is measured. */
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
  void *d, *yard[2];  // for the largest element that is measured, FP64
} measure_t;

ufp4_status_t ufp4_measure_allocate(measure_t *m);
void ufp4_measure_release(measure_t *m);
/** Sums of eight bytes: near enough to a Gaussian. */
ufp4_status_t ufp4_measure_fill_source(measure_t *m);
/** Numbers of the yardsticks: as many bits change on the way as in ours. */
ufp4_status_t ufp4_measure_fill_yard(measure_t *m, ufp4_cuda_vendor_t vendor);
/** A call with so much workspace. */
ufp4_status_t ufp4_measure_call(measure_t *m, size_t bytes, ufp4_cuda_call_t *out);

typedef ufp4_status_t (*run_t)(measure_t *m, const void *what);
/** The two take turns, so that both meet the same clocks; the first does not count. @p yard may
 * be NULL. Medians. */
ufp4_status_t ufp4_measure_turns(measure_t *m, run_t run, const void *what, run_t yard,
                                 const void *yard_what, double milliseconds[2]);
void ufp4_measure_give(measure_t *m, ufp4_cuda_figure_t figure);

/** Copies by the runtime, and cuBLAS of size x size x size, *what of ufp4_cuda_vendor_t. */
ufp4_status_t ufp4_measure_copy(measure_t *m, const void *what);
ufp4_status_t ufp4_measure_vendor(measure_t *m, const void *what);

/** measure_calls.c: what callers ask for beside the bare kernels. */
ufp4_status_t ufp4_measure_calls(measure_t *m);

#endif
