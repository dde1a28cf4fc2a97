// SPDX-License-Identifier: Apache-2.0
// The last step of GEMM: rounds each sum once and applies the job's options to it.
#ifndef UFP4_CUDA_RESULT_CUH
#define UFP4_CUDA_RESULT_CUH

#include "jobs.cuh"
#include "number.cuh"
#include "unpack.cuh"

/** The arguments of a GEMM kernel. */
typedef struct {
  ufp4_cuda_gemm_t job;
  gpu_unpacked_t a, b;
  float unit;  ///< unit of products of quanta
} gpu_gemm_t;

/** Orders tiles down in bands of rows of tiles, so that tiles computed at the same time share
 * their operands. */
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

/** A sum of contract nv, which has another NaN and starts from C. */
struct nv_sum_t {
  float value;
  GPU operator float() const {
    return value;
  }
};

/** Properties of a kind of sum: the pattern of NaN results, and whether C is added at the end. */
template <typename SUM>
struct sum_traits_t {
  static constexpr uint32_t NOT_A_NUMBER = GPU_F32_NAN;
  static constexpr bool ADDS_C = true;
};
template <>
struct sum_traits_t<nv_sum_t> {
  static constexpr uint32_t NOT_A_NUMBER = GPU_F32_NAN_NV;
  static constexpr bool ADDS_C = false;
};

/** Returns RNE32(sum * 2^exponent); a zero is +0, and Inf and NaN are kept. */
GPU float rescaled(float sum, int exponent) {
  const uint32_t bits = (uint32_t)__float_as_int(sum);
  if ((bits & GPU_F32_INF) == GPU_F32_INF || (exponent == 0 && sum != 0.0f)) return sum;
  const int64_t significand = f32_significand(bits);
  const int unit = f32_exponent(bits) - 150;
  return __int_as_float(
      (int)f32_from_scaled(bits >> 31 != 0 ? -significand : significand, unit + exponent));
}

/** A sum represents sum * 2^-unit. */
GPU int gemm_unit(const ufp4_cuda_gemm_t &job, float) {
  return gemm_exponent(job.a.exponent) + gemm_exponent(job.b.exponent);
}
GPU int gemm_unit(const ufp4_cuda_gemm_t &job, nv_sum_t) {
  return gemm_unit(job, 0.0f);
}
GPU int gemm_unit(const ufp4_cuda_gemm_t &job, int64_t) {
  return 18 + elem_frac(job.a.elem) + elem_frac(job.b.elem) + gemm_unit(job, 0.0f);
}

/** 2^-unit is a normal number. With integers no result is subnormal, and only the conversion
 * rounds; with floats, which are never -0, only the multiplication rounds. */
GPU bool gemm_is_normal(int unit) {
  return unit >= -127 && unit <= 126;
}

/** With FP32 scales the sum may be NaN. */
GPU float gemm_round(float sum, int unit) {
  if (sum != sum) return __int_as_float((int)GPU_F32_NAN);
  return gemm_is_normal(unit) ? sum * f32_power(-unit) : rescaled(sum, -unit);
}

GPU float gemm_round(nv_sum_t sum, int unit) {
  return gemm_round(sum.value, unit);
}

GPU float gemm_round(int64_t sum, int unit) {
  if (gemm_is_normal(unit)) return (float)sum * f32_power(-unit);
  return __int_as_float((int)f32_from_scaled(sum, -unit));
}

GPU int64_t gemm_accumulated(const ufp4_cuda_gemm_t &job, int64_t sum, bool poisoned, int64_t i,
                             int64_t j) {
  const int64_t earlier = job.accumulate != nullptr ? job.accumulate[i * job.accumulate_ld + j] : 0;
  if (poisoned || earlier == INT64_MIN) return INT64_MIN;
  return (int64_t)((uint64_t)sum + (uint64_t)earlier);
}

/** Adds the accumulated sum, and returns whether it represents NaN; only contract exact
 * accumulates. */
GPU bool gemm_whole(const ufp4_cuda_gemm_t &job, int64_t *sum, bool poisoned, int64_t i,
                    int64_t j) {
  *sum = gemm_accumulated(job, *sum, poisoned, i, j);
  if (job.d_dtype == UFP4_DTYPE_I64) ((int64_t *)job.d)[i * job.d_ld + j] = *sum;
  return *sum == INT64_MIN;
}

template <typename SUM>
GPU bool gemm_whole(const ufp4_cuda_gemm_t &, SUM *, bool poisoned, int64_t, int64_t) {
  return poisoned;
}

/** Stores one output with all options of the job; out of line because of its size. Each line is
 * one operation, rounded once; the factor and C apply only if present. */
template <typename SUM>
GPU_FUNCTION void gemm_store(const gpu_gemm_t &g, SUM sum, int row, int col) {
  const ufp4_cuda_gemm_t &job = g.job;
  const int64_t i = row, j = col;
  if (i >= job.a.rows || j >= job.b.rows) return;
  const bool nan = gemm_whole(job, &sum, (g.a.poisoned[i] | g.b.poisoned[j]) != 0, i, j);
  if (job.d_dtype == UFP4_DTYPE_I64) return;
  const uint32_t not_a_number = sum_traits_t<SUM>::NOT_A_NUMBER;
  float value = nan ? __int_as_float((int)not_a_number) : gemm_round(sum, gemm_unit(job, sum));
  if (job.tensor_scale[0] != nullptr) value = value * (*job.tensor_scale[0] * *job.tensor_scale[1]);
  if (job.alpha != 1.0f) value = value * job.alpha;
  if (job.c != nullptr && sum_traits_t<SUM>::ADDS_C) value = value + job.c[i * job.c_ld + j];
  const bool is_nan = value != value;
  if (is_nan) value = __int_as_float((int)not_a_number);
  if (job.d_dtype == UFP4_DTYPE_BF16) {
    ((uint16_t *)job.d)[i * job.d_ld + j] =
        is_nan ? (uint16_t)(not_a_number >> 16) : bf16_from_f32(value);
  } else {
    ((float *)job.d)[i * job.d_ld + j] = value;
  }
}

// --- Outputs of a thread ------------------------------------------------------------------------
// In all kernels a thread has pairs of outputs side by side, the first at an even column, eight
// columns apart, in rows of its own: the fragments of tensor core products.

/** Values that all outputs of a job share, which are read once per tile. A factor that the job
 * does not have is 1, which changes no bit, so every output is multiplied by all factors. */
typedef struct {
  int bytes;      ///< of an output; 0: outputs use gemm_store
  bool in_pairs;  ///< two outputs are stored together
  float power;    ///< factor that converts a sum to a number
  float scale, alpha;
} gemm_factors_t;

template <typename SUM>
GPU gemm_factors_t gemm_factors(const ufp4_cuda_gemm_t &job) {
  const int unit = gemm_unit(job, SUM());
  gemm_factors_t f = {job.d_dtype == UFP4_DTYPE_BF16 ? 2 : 4, false, 1.0f, 1.0f, job.alpha};
  f.in_pairs = job.d_ld % 2 == 0 && (uintptr_t)job.d % (2 * (unsigned)f.bytes) == 0;
  if (gemm_is_normal(unit)) f.power = f32_power(-unit);
  if (job.tensor_scale[0] != nullptr) f.scale = *job.tensor_scale[0] * *job.tensor_scale[1];
  if (!gemm_is_normal(unit) || job.d_dtype == UFP4_DTYPE_I64 ||
      (job.c != nullptr && sum_traits_t<SUM>::ADDS_C) || job.accumulate != nullptr)
    f.bytes = 0;
  return f;
}

/** Returns a mask for 4 * GROUPS pairs: bit 2 p + e: some scale of column @p first + 8 p + lane %
 * 4 * 2 + e is NaN. @p first must be the same in all lanes of a warp. */
template <int GROUPS>
GPU uint32_t gemm_poisoned_columns(const gpu_gemm_t &g, int64_t first) {
  const int lane = (int)threadIdx.x % 32;
  uint32_t flags = 0;
#pragma unroll
  for (int i = 0; i < GROUPS; i++) {
    const uint32_t all = gpu_warp_mask(g.b.poisoned[first + 32 * i + lane] != 0);
    // Two bits of each byte belong to this lane; the product puts them side by side in its upper
    // byte.
    flags |= (all >> (lane % 4 * 2) & 0x03030303u) * 0x01041040u >> 24 << (8 * i);
  }
  return flags;
}

/** A row of a thread's pairs. */
typedef struct {
  unsigned char *d;   ///< address of its first output
  int i, j;           ///< its position; j is behind all columns if i is outside D
  uint32_t poisoned;  ///< from gemm_poisoned_columns
} gemm_row_t;

GPU gemm_row_t gemm_row(const gpu_gemm_t &g, const gemm_factors_t &f, int i, int j,
                        uint32_t poisoned_columns) {
  const ufp4_cuda_gemm_t &job = g.job;
  gemm_row_t row = {(unsigned char *)job.d + (i * job.d_ld + j) * f.bytes, i, j, poisoned_columns};
  if (i >= job.a.rows) {
    row.j = UFP4_MAX_DIM;
  } else if (g.a.poisoned[i] != 0) {
    row.poisoned = ~0u;
  }
  return row;
}

GPU void gemm_put(float *d, float x, float y, int columns, bool in_pairs) {
  if (in_pairs && columns >= 2) {
    gpu_store_8(d, x, y);
    return;
  }
  if (columns >= 1) d[0] = x;
  if (columns >= 2) d[1] = y;
}

GPU void gemm_put(uint16_t *d, uint32_t both, int columns, bool in_pairs) {
  if (in_pairs && columns >= 2) {
    gpu_store_4(d, both);
    return;
  }
  if (columns >= 1) d[0] = (uint16_t)both;
  if (columns >= 2) d[1] = (uint16_t)(both >> 16);
}

/** Pair @p p of a row. */
template <typename SUM>
GPU void gemm_store_pair(const gpu_gemm_t &g, const gemm_factors_t &f, const gemm_row_t &row, int p,
                         SUM first, SUM second) {
  if (f.bytes == 0) {
    gemm_store(g, first, row.i, row.j + 8 * p);
    gemm_store(g, second, row.i, row.j + 8 * p + 1);
    return;
  }
  const uint32_t not_a_number = sum_traits_t<SUM>::NOT_A_NUMBER, narrow = not_a_number >> 16;
  const float nothing = __int_as_float((int)not_a_number);
  const float x = (float)first * f.power * f.scale * f.alpha,
              y = (float)second * f.power * f.scale * f.alpha;
  const bool nan_x = (row.poisoned >> (2 * p) & 1) != 0 || x != x,
             nan_y = (row.poisoned >> (2 * p) & 2) != 0 || y != y;
  const int columns = (int)g.job.b.rows - (row.j + 8 * p);
  if (f.bytes == 4) {
    gemm_put((float *)(void *)row.d + 8 * p, nan_x ? nothing : x, nan_y ? nothing : y, columns,
             f.in_pairs);
  } else {
    uint32_t both = gpu_bf16_pair(x, y);
    if (nan_x) both = (both & 0xFFFF0000u) | narrow;
    if (nan_y) both = (both & 0xFFFFu) | narrow << 16;
    gemm_put((uint16_t *)(void *)row.d + 8 * p, both, columns, f.in_pairs);
  }
}

#endif
