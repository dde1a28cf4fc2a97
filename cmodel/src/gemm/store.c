// SPDX-License-Identifier: Apache-2.0
// The last step of every contract, one output at a time.
#include "gemm/store.h"

#include "ufp4/format.h"

static int64_t whole_sum(const gemm_job_t *job, int poisoned, int64_t sum, int64_t i, int64_t j) {
  const ufp4_gemm_t *how = job->how;
  int64_t earlier = how->accumulate != NULL ? how->accumulate[i * how->accumulate_ld + j] : 0;
  if (poisoned || earlier == UFP4_I64_NAN) return UFP4_I64_NAN;
  return (int64_t)((uint64_t)sum + (uint64_t)earlier);
}

// Each line is one operation, rounded once; the factor and C apply only if present.
static float finished(const gemm_job_t *job, float value, int64_t i, int64_t j) {
  const ufp4_gemm_t *how = job->how;
  const int nv = how->contract == UFP4_CONTRACT_NV;
  if (job->scale != 1.0f) value = value * job->scale;
  if (how->alpha != 1.0f) value = value * how->alpha;
  if (how->c != NULL && !nv) value = value + how->c[i * how->c_ld + j];
  return value != value ? ufp4_f32_value(nv ? UFP4_F32_NAN_NV : UFP4_F32_NAN) : value;
}

void gemm_finish(const gemm_job_t *job, float r, int64_t i, int64_t j) {
  float value = finished(job, r, i, j);
  int64_t at = i * job->d_ld + j;
  if (job->how->d_dtype == UFP4_DTYPE_F32) {
    ((float *)job->d)[at] = value;
  } else if (value != value && job->how->contract == UFP4_CONTRACT_NV) {
    ((uint16_t *)job->d)[at] = UFP4_BF16_NAN_NV;
  } else {
    ((uint16_t *)job->d)[at] = ufp4_bf16_cast(value);
  }
}

void gemm_store(const gemm_job_t *job, int poisoned, int64_t sum, int64_t i, int64_t j) {
  int64_t whole = whole_sum(job, poisoned, sum, i, j);
  if (job->how->d_dtype == UFP4_DTYPE_I64) {
    ((int64_t *)job->d)[i * job->d_ld + j] = whole;
  } else {
    uint32_t bits =
        whole == UFP4_I64_NAN ? UFP4_F32_NAN : ufp4_f32_from_scaled(whole, job->exponent);
    gemm_finish(job, ufp4_f32_value(bits), i, j);
  }
}

void gemm_store_tile(const gemm_job_t *job, const gemm_tile_t *tile, const int64_t *sums, int ld) {
  for (int r = 0; r < tile->rows; r++) {
    for (int c = 0; c < tile->cols; c++) {
      const int poisoned = tile->row_poisoned[r] | tile->col_poisoned[c];
      gemm_store(job, poisoned, sums[r * ld + c], tile->row + r, tile->col + c);
    }
  }
}

// --- Accumulators of FP32 -----------------------------------------------------------------------

// RNE32(sum * 2^exponent); a zero is +0, and Inf and NaN are kept.
static float rescaled(float sum, int exponent) {
  uint32_t bits = ufp4_f32_bits(sum);
  int field = bits >> 23 & 0xFF;
  if (field == 255 || (exponent == 0 && sum != 0.0f)) return sum;
  int64_t significand = (bits & 0x7FFFFF) | (field != 0 ? 0x800000 : 0);
  int unit = (field != 0 ? field : 1) - 150;
  return ufp4_f32_value(
      ufp4_f32_from_scaled(bits >> 31 != 0 ? -significand : significand, unit + exponent));
}

void gemm_store_f32(const gemm_job_t *job, int poisoned, float sum, int64_t i, int64_t j) {
  const int exponent = -(job->a->exponent + job->b->exponent);
  gemm_finish(job, poisoned ? ufp4_f32_value(UFP4_F32_NAN) : rescaled(sum, exponent), i, j);
}

void gemm_store_tile_f32(const gemm_job_t *job, const gemm_tile_t *tile, const float *sums,
                         int ld) {
  for (int r = 0; r < tile->rows; r++) {
    for (int c = 0; c < tile->cols; c++) {
      const int poisoned = tile->row_poisoned[r] | tile->col_poisoned[c];
      gemm_store_f32(job, poisoned, sums[r * ld + c], tile->row + r, tile->col + c);
    }
  }
}
