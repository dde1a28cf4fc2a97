// SPDX-License-Identifier: Apache-2.0
// What a GEMM does with its sums: one rounding, and then what the job asks for.
#ifndef UFP4_CUDA_RESULT_CUH
#define UFP4_CUDA_RESULT_CUH

#include "jobs.cuh"
#include "number.cuh"
#include "unpack.cuh"

/** Everything a GEMM kernel needs. */
typedef struct {
  ufp4_cuda_gemm_t job;
  gpu_unpacked_t a, b;
  float unit;  ///< of products of quanta
} gpu_gemm_t;

/** Tiles go down in bands of rows of tiles, so that those that are at work at a time share their
 * operands. */
GPU void gemm_place(unsigned index, unsigned band, unsigned rows, unsigned cols, int64_t *row,
                    int64_t *col) {
  const unsigned first = index / (band * cols) * band;
  const unsigned height = rows - first < band ? rows - first : band, in_band = index - first * cols;
  *row = first + in_band % height;
  *col = in_band / height;
}

GPU int32_t gemm_exponent(const ufp4_cuda_exponent_t &exponent) {
  return exponent.slot != nullptr ? *exponent.slot : exponent.value;
}

/** RNE32(sum * 2^exponent); a zero is +0, Inf and NaN stay. */
GPU float rescaled(float sum, int exponent) {
  const uint32_t bits = (uint32_t)__float_as_int(sum);
  if ((bits & GPU_F32_INF) == GPU_F32_INF || (exponent == 0 && sum != 0.0f)) return sum;
  const int64_t significand = f32_significand(bits);
  const int unit = f32_exponent(bits) - 150;
  return __int_as_float(
      (int)f32_from_scaled(bits >> 31 != 0 ? -significand : significand, unit + exponent));
}

/** A power of two that is a normal number makes it one multiplication, rounded once; the sum is
 * never -0. With FP32 scales it may be NaN. */
GPU float gemm_round(const ufp4_cuda_gemm_t &, float sum, int t) {
  if (sum != sum) return __int_as_float((int)GPU_F32_NAN);
  return t >= -126 && t <= 126 ? sum * f32_power(-t) : rescaled(sum, -t);
}

GPU float gemm_round(const ufp4_cuda_gemm_t &job, int64_t sum, int t) {
  const int unit = 18 + elem_frac(job.a.elem) + elem_frac(job.b.elem) + t;
  // No result is subnormal, so only the conversion rounds.
  if (unit >= -127 && unit <= 126) return (float)sum * f32_power(-unit);
  return __int_as_float((int)f32_from_scaled(sum, -unit));
}

GPU int64_t gemm_accumulated(const ufp4_cuda_gemm_t &job, int64_t sum, bool poisoned, int64_t i,
                             int64_t j) {
  const int64_t earlier = job.accumulate != nullptr ? job.accumulate[i * job.accumulate_ld + j] : 0;
  if (poisoned || earlier == INT64_MIN) return INT64_MIN;
  return (int64_t)((uint64_t)sum + (uint64_t)earlier);
}

/** The accumulated sum and whether it stands for NaN; the contract fp32 has none. */
GPU bool gemm_whole(const ufp4_cuda_gemm_t &job, int64_t *sum, bool poisoned, int64_t i,
                    int64_t j) {
  *sum = gemm_accumulated(job, *sum, poisoned, i, j);
  if (job.d_dtype == UFP4_DTYPE_I64) ((int64_t *)job.d)[i * job.d_ld + j] = *sum;
  return *sum == INT64_MIN;
}

GPU bool gemm_whole(const ufp4_cuda_gemm_t &, float *, bool poisoned, int64_t, int64_t) {
  return poisoned;
}

/** One output. Each line is one operation, rounded once; a factor and C enter only where present.
 */
template <typename SUM>
GPU void gemm_store(const gpu_gemm_t &g, SUM sum, int t, int64_t i, int64_t j) {
  const ufp4_cuda_gemm_t &job = g.job;
  if (i >= job.a.rows || j >= job.b.rows) return;
  const bool nan = gemm_whole(job, &sum, (g.a.poisoned[i] | g.b.poisoned[j]) != 0, i, j);
  if (job.d_dtype == UFP4_DTYPE_I64) return;
  float value = nan ? __int_as_float((int)GPU_F32_NAN) : gemm_round(job, sum, t);
  if (job.tensor_scale[0] != nullptr) value = value * (*job.tensor_scale[0] * *job.tensor_scale[1]);
  if (job.alpha != 1.0f) value = value * job.alpha;
  if (job.c != nullptr) value = value + job.c[i * job.c_ld + j];
  if (value != value) value = __int_as_float((int)GPU_F32_NAN);
  if (job.d_dtype == UFP4_DTYPE_BF16) {
    ((uint16_t *)job.d)[i * job.d_ld + j] = bf16_from_f32(value);
  } else {
    ((float *)job.d)[i * job.d_ld + j] = value;
  }
}

/** The same out of line, for what has many outputs and seldom gets here. */
template <typename SUM>
GPU_FUNCTION void gemm_store_slowly(const gpu_gemm_t &g, SUM sum, int t, int64_t i, int64_t j) {
  gemm_store(g, sum, t, i, j);
}

/** Nothing but one rounding to FP32, and two outputs fit in one store. */
GPU bool gemm_is_plain(const ufp4_cuda_gemm_t &job) {
  return job.d_dtype == UFP4_DTYPE_F32 && job.tensor_scale[0] == nullptr && job.alpha == 1.0f &&
         job.c == nullptr && job.accumulate == nullptr && job.d_ld % 2 == 0 &&
         (uintptr_t)job.d % 8 == 0;
}

/** Outputs j, which is even, and j + 1. @p plain: gemm_is_plain() */
template <typename SUM>
GPU void gemm_store_pair(const gpu_gemm_t &g, bool plain, SUM first, SUM second, int t, int64_t i,
                         int64_t j) {
  const ufp4_cuda_gemm_t &job = g.job;
  if (!plain || j + 1 >= job.b.rows) {
    gemm_store_slowly(g, first, t, i, j);
    gemm_store_slowly(g, second, t, i, j + 1);
    return;
  }
  if (i >= job.a.rows) return;
  const bool nan = g.a.poisoned[i] != 0;
  const float nothing = __int_as_float((int)GPU_F32_NAN);
  gpu_store_8((float *)job.d + i * job.d_ld + j,
              nan || g.b.poisoned[j] ? nothing : gemm_round(job, first, t),
              nan || g.b.poisoned[j + 1] ? nothing : gemm_round(job, second, t));
}

#endif
