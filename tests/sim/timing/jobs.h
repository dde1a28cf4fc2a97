// SPDX-License-Identifier: Apache-2.0
// Random jobs that exercise every option that changes a cycle count, with any data.
#ifndef UFP4_TEST_TIMING_JOBS_H
#define UFP4_TEST_TIMING_JOBS_H

#include "twin.h"

twin_job_t timing_gemm(twin_t *twin, uint32_t m, uint32_t n, uint32_t k);
/** Returns a QUANT, or the AMAX of the same tensor. */
twin_job_t timing_quant(twin_t *twin, uint32_t rows, uint32_t cols, int amax);
/** Returns one of either with sizes up to @p limit; now and then a fence, or a job that is
 * refused. */
twin_job_t timing_job(twin_t *twin, uint32_t limit);
/** Makes the jobs of a layer's training step with sizes up to @p limit: AMAX and QUANT of X, W and
 * dY, then the three GEMMs, the first with the panels of the QUANT before it. @return how many */
unsigned timing_step(twin_t *twin, uint32_t limit, twin_job_t jobs[16]);
/** Makes up to 15 jobs, most of which overlap others, wait for some, and use panels. @return how
 * many */
unsigned timing_list(twin_t *twin, uint32_t limit, twin_job_t jobs[16]);

#endif
