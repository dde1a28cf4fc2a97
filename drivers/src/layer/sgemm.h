// SPDX-License-Identifier: Apache-2.0
// An FP32 matrix product with a fixed order of additions, which gives the same bits on every
// machine; a BLAS would give different bits on each processor. The recipes bf16 and fp32 use it,
// and so do the parts of the language model that are not quantized (attention, head).
#ifndef UFP4_SGEMM_H
#define UFP4_SGEMM_H

#include <stdint.h>

/** Element (i, j) is data[i * row + j * col]; swapping the two gives the transposed view. */
typedef struct {
  const float *data;
  int64_t row;
  int64_t col;
} ufp4_sgemm_view_t;

/** D [m][n], row stride @p ld, = (@p accumulate ? D : +0) + A [m][k] B [k][n]: for each element one
 * accumulator, k ascending, each product and each sum rounded to nearest even (no fused operation).
 * With BF16 values the product is exact unless it underflows. k is 1 or more. */
void ufp4_sgemm(int64_t m, int64_t n, int64_t k, ufp4_sgemm_view_t a, ufp4_sgemm_view_t b, float *d,
                int64_t ld, int accumulate);

#endif
