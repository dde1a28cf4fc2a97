// SPDX-License-Identifier: Apache-2.0
// Calls of the GEMM: what is asked for is checked, and goes to the fastest code there is for it.
#include "gemm/kernel.h"
#include "processor.h"
#include "tensor/operand.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"

static int sizes_ok(const ufp4_gemm_t *how, int64_t n) {
  if ((unsigned)how->d_dtype >= UFP4_DTYPE_COUNT || how->threads < 0) return 0;
  if ((unsigned)how->kernel >= UFP4_KERNEL_COUNT) return 0;
  if ((how->c != NULL && how->c_ld < n) || (how->accumulate != NULL && how->accumulate_ld < n)) return 0;
  return how->d_dtype != UFP4_DTYPE_I64 || (how->c == NULL && how->alpha == 1.0f);
}

static int contract_ok(const ufp4_operand_t *a, const ufp4_operand_t *b, const ufp4_gemm_t *how) {
  if (a->scale != b->scale) return 0;
  if (ufp4_combination_gemm(a->elem, b->elem, a->scale, how->contract, NULL, NULL) != UFP4_OK) return 0;
  if (how->contract == UFP4_CONTRACT_EXACT) return 1;
  if (how->d_dtype == UFP4_DTYPE_I64 || how->accumulate != NULL) return 0;
  if (how->contract == UFP4_CONTRACT_FP32 || how->c == NULL) return 1;
  // C is nv's accumulator: nothing may scale what comes out.
  return how->alpha == 1.0f && a->exponent + b->exponent == 0 &&
         (a->scale != UFP4_SCALE_NVFP4 || (a->tensor_scale == 1.0f && b->tensor_scale == 1.0f));
}

static const gemm_kernel_t *exact_avx512(const gemm_job_t *job) {
  return job->a->elem == UFP4_ELEM_E2M1 || job->b->elem == UFP4_ELEM_E2M1 ? gemm_avx512() : gemm_avx512_folded();
}

// NULL: portable.
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

ufp4_contract_t ufp4_gemm_default_contract(ufp4_scale_t scale) {
  return scale == UFP4_SCALE_E4M3 || scale == UFP4_SCALE_NVFP4 ? UFP4_CONTRACT_EXACT : UFP4_CONTRACT_FP32;
}

ufp4_status_t ufp4_gemm(const ufp4_operand_t *a, const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                        int64_t d_ld) {
  if (!ufp4_operand_ok(a) || !ufp4_operand_ok(b) || a->cols != b->cols || d == NULL) return UFP4_ERROR_ARGUMENT;
  if (how == NULL || !sizes_ok(how, b->rows) || d_ld < b->rows) return UFP4_ERROR_ARGUMENT;
  if (!contract_ok(a, b, how) || !ufp4_scales_ok(a) || !ufp4_scales_ok(b)) return UFP4_ERROR_ARGUMENT;
  if (!ufp4_kernel_available(how->kernel)) return UFP4_ERROR_UNSUPPORTED;
  gemm_job_t job = {.a = a, .b = b, .how = how, .scale = 1.0f, .d = d, .d_ld = d_ld};
  job.exponent = -(18 + ufp4_elem_frac(a->elem) + ufp4_elem_frac(b->elem) + a->exponent + b->exponent);
  if (a->scale == UFP4_SCALE_NVFP4) job.scale = a->tensor_scale * b->tensor_scale;
  return run(&job);
}
