// SPDX-License-Identifier: Apache-2.0
// The public GEMM calls: each selects the fastest code for its operands.
#include <stdlib.h>

#include "base/processor.h"
#include "gemm/kernel.h"
#include "gemm/pack.h"
#include "number/lanes.h"
#include "ufp4/format.h"

static const gemm_kernel_t *exact_avx512(const gemm_job_t *job) {
  return gemm_is_uniform(job->a->elem) && gemm_is_uniform(job->b->elem) ? gemm_avx512_folded()
                                                                        : gemm_avx512();
}

// NULL: the portable code.
static const gemm_kernel_t *kernel_of(const gemm_job_t *job) {
  const ufp4_gemm_t *how = job->how;
  switch (ufp4_kernel_chosen(how->kernel)) {
    case UFP4_KERNEL_AVX512:
      return how->contract == UFP4_CONTRACT_EXACT ? exact_avx512(job) : gemm_avx512_fp32();
    case UFP4_KERNEL_AVX2:
      return how->contract == UFP4_CONTRACT_EXACT ? gemm_avx2() : gemm_avx2_fp32();
    default:
      return NULL;
  }
}

static ufp4_status_t run(const gemm_job_t *job) {
  const gemm_kernel_t *kernel = job->how->contract == UFP4_CONTRACT_NV ? NULL : kernel_of(job);
  if (kernel != NULL) return gemm_blocked(job, kernel);
  return job->how->contract == UFP4_CONTRACT_EXACT ? gemm_portable(job) : gemm_rounding(job);
}

// Makes the same operand with one scale per 16 elements, which gives the same exact sums. The
// caller frees its scales.
static ufp4_status_t repeat_scales(const ufp4_operand_t *in, ufp4_operand_t *out) {
  *out = *in;
  out->block = BLOCK;
  out->scale_blocks = in->blocks;
  out->scales = malloc(ufp4_matrix_bytes(in->rows, in->blocks, 1));
  if (out->scales == NULL) return UFP4_ERROR_MEMORY;
  for (int64_t i = 0; i < in->rows * in->blocks; i++) {
    const int64_t row = i / in->blocks, group = i % in->blocks;
    out->scales[i] = in->scales[row * in->scale_blocks + group * BLOCK / in->block];
  }
  return UFP4_OK;
}

static ufp4_status_t run_repeated(const gemm_job_t *job) {
  ufp4_operand_t a, b = {.scales = NULL};
  gemm_job_t own = *job;
  ufp4_status_t status = repeat_scales(job->a, &a);
  if (status == UFP4_OK) status = repeat_scales(job->b, &b);
  own.a = &a;
  own.b = &b;
  if (status == UFP4_OK) status = run(&own);
  free(a.scales);
  free(b.scales);
  return status;
}

ufp4_contract_t ufp4_gemm_default_contract(ufp4_scale_t scale) {
  return scale == UFP4_SCALE_E4M3 || scale == UFP4_SCALE_NVFP4 ? UFP4_CONTRACT_EXACT
                                                               : UFP4_CONTRACT_FP32;
}

ufp4_status_t ufp4_gemm(const ufp4_operand_t *a, const ufp4_operand_t *b, const ufp4_gemm_t *how,
                        void *d, int64_t d_ld) {
  if (ufp4_gemm_check(a, b, how, NULL) != UFP4_OK || d == NULL || d_ld < b->rows)
    return UFP4_ERROR_ARGUMENT;
  if (!ufp4_kernel_available(how->kernel)) return UFP4_ERROR_UNSUPPORTED;
  gemm_job_t job = {.a = a, .b = b, .how = how, .scale = 1.0f, .d = d, .d_ld = d_ld};
  job.exponent = -(18 + ufp4_elem_frac(a->elem) + ufp4_elem_frac(b->elem) + a->exponent +
                   b->exponent + a->half);
  if (a->scale == UFP4_SCALE_NVFP4) job.scale = a->tensor_scale * b->tensor_scale;
  return a->block > ufp4_scale_block(a->scale) || b->block > ufp4_scale_block(b->scale)
             ? run_repeated(&job)
             : run(&job);
}
