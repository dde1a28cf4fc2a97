// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_GEMM_STORE_H
#define UFP4_GEMM_STORE_H

#include "gemm/kernel.h"

/** Stores one output of any kernel: adds the initial sum to S, then applies NaN, the one rounding,
 * alpha, C and the type of D. */
void gemm_store(const gemm_job_t *job, int poisoned, int64_t sum, int64_t i, int64_t j);

/** Stores one output of an FP32 accumulator. */
void gemm_store_f32(const gemm_job_t *job, int poisoned, float sum, int64_t i, int64_t j);

/** Stores each output of a tile by gemm_store, or gemm_store_f32; @p sums [rows][ld]. */
void gemm_store_tile(const gemm_job_t *job, const gemm_tile_t *tile, const int64_t *sums, int ld);
void gemm_store_tile_f32(const gemm_job_t *job, const gemm_tile_t *tile, const float *sums, int ld);

/** Returns whether D is FP32 and the sum is its only term. */
static inline int gemm_is_bare(const gemm_job_t *job) {
  const ufp4_gemm_t *how = job->how;
  return how->d_dtype == UFP4_DTYPE_F32 && how->alpha == 1.0f && job->scale == 1.0f &&
         how->c == NULL;
}

/** Finishes an output of any contract: r = RNE32(S * 2^-(tA+tB)), or NaN, times the tensor scales,
 * times alpha, plus C, converted to the type of D. */
void gemm_finish(const gemm_job_t *job, float r, int64_t i, int64_t j);

#endif
