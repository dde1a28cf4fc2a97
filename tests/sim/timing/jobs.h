// SPDX-License-Identifier: Apache-2.0
// Random jobs whose time is worth comparing: every option that moves a cycle, any data.
#ifndef UFP4_TEST_TIMING_JOBS_H
#define UFP4_TEST_TIMING_JOBS_H

#include "twin.h"

twin_job_t timing_gemm(twin_t *twin, uint32_t m, uint32_t n, uint32_t k);
/** QUANT, or the AMAX of the same tensor. */
twin_job_t timing_quant(twin_t *twin, uint32_t rows, uint32_t cols, int amax);
/** One of either, of sizes to @p limit; now and then a fence, or a job that is refused. */
twin_job_t timing_job(twin_t *twin, uint32_t limit);
/** A layer's training step, of sizes to @p limit: AMAX and QUANT of X, W and dY, the three GEMMs,
 * each from the one before it on, with panels of the QUANT before it. @return how many */
unsigned timing_step(twin_t *twin, uint32_t limit, twin_job_t jobs[16]);
/** Up to 15 jobs, most of which overlap others, wait for some, and use panels. @return how many */
unsigned timing_list(twin_t *twin, uint32_t limit, twin_job_t jobs[16]);

#endif
