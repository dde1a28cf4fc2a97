// SPDX-License-Identifier: Apache-2.0
// The arguments of kernels: the calls of ufp4_cuda.h with everything resolved.
#ifndef UFP4_CUDA_JOBS_CUH
#define UFP4_CUDA_JOBS_CUH

#include "table.h"

/** The entries of an operand: block b of row r is entry r / 16 * group + b * block + r % 16 * row,
 * so that kernels handle panel-major and row-major operands alike. An entry has 8 bytes of codes
 * and one scale; both entries of a block of 32 have the same. */
typedef struct {
  int64_t group, block, row;
} ufp4_cuda_place_t;

/** A tensor exponent: *slot in device memory, or if that is NULL, value. For NVFP4 it is minus the
 * FP32 pattern of the largest magnitude instead. */
typedef struct {
  const int32_t *slot;
  int32_t value;
} ufp4_cuda_exponent_t;

/** The numbers from which the random bytes and the signs of a copy are drawn. */
typedef struct {
  uint64_t seed, tensor_id;
  uint32_t mask;
} ufp4_cuda_draw_t;

/** A copy that QUANT makes; codes and scales are in device memory. */
typedef struct {
  int enabled;
  ufp4_rht_t rht;
  ufp4_cuda_draw_t draw;
  const ufp4_cuda_draw_t *drawn;  ///< in device memory, replaces draw; or NULL
  ufp4_cuda_exponent_t exponent;
  uint64_t *codes;  ///< 16 codes per entry
  void *scales;     ///< bytes, or FP32
  ufp4_cuda_place_t place;
  int pads_groups;      ///< rows up to the next multiple of 16 are written as zeros
  int32_t *largest;     ///< AMAX: the smallest exponent of all blocks, initially INT32_MAX
  float *tensor_scale;  ///< NVFP4: receives Sd; or NULL
} ufp4_cuda_copy_t;

/** QUANT and AMAX: the row copy and the column copy of a tensor from one read. */
typedef struct {
  const void *source;
  ufp4_dtype_t dtype;  ///< F32 or BF16
  int64_t rows, cols, ld;
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  ufp4_layout_t layout;
  ufp4_round_t round;
  ufp4_scale_round_t scale_round;
  uint32_t *flags;  ///< in device memory; UFP4_FLAG_* are ORed in
  ufp4_cuda_copy_t copies[2];
} ufp4_cuda_quantize_t;

/** An operand of a GEMM in device memory. */
typedef struct {
  ufp4_elem_t elem;
  int64_t rows;
  const uint64_t *codes;
  const void *scales;
  ufp4_cuda_place_t place;
  ufp4_cuda_exponent_t exponent;
} gpu_operand_t;

typedef struct {
  ufp4_contract_t contract;
  ufp4_scale_t scale;
  int64_t k;
  gpu_operand_t a, b;
  const float *tensor_scale[2];  ///< NVFP4: of A and B; otherwise NULL
  float alpha;
  const float *c;
  int64_t c_ld;
  const int64_t *accumulate;
  int64_t accumulate_ld;
  void *d;
  ufp4_dtype_t d_dtype;
  int64_t d_ld;
  ufp4_cuda_choice_t choice;
} ufp4_cuda_gemm_t;

#endif
