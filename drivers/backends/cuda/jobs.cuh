// SPDX-License-Identifier: Apache-2.0
// Kernels are given these jobs: those of the calls (ufp4_cuda.h) with everything looked up.
#ifndef UFP4_CUDA_JOBS_CUH
#define UFP4_CUDA_JOBS_CUH

#include "table.h"

/** Block b of row r of an operand is entry r / 16 * group + b * block + r % 16 * row. An entry has
 * 8 bytes of codes and one scale, which both entries of a block of 32 have. So panel-major memory
 * and row-major operands are the same to the kernels. */
typedef struct {
  int64_t group, block, row;
} ufp4_cuda_place_t;

/** A tensor exponent: *slot in device memory, or where that is NULL, value. NVFP4 has in its place
 * minus the FP32 pattern of the largest magnitude. */
typedef struct {
  const int32_t *slot;
  int32_t value;
} ufp4_cuda_exponent_t;

/** The random bytes and the signs of a copy are made of these. */
typedef struct {
  uint64_t seed, tensor_id;
  uint32_t mask;
} ufp4_cuda_draw_t;

/** One copy that QUANT makes; codes and scales in device memory. */
typedef struct {
  int enabled;
  ufp4_rht_t rht;
  ufp4_cuda_draw_t draw;
  const ufp4_cuda_draw_t *drawn;  ///< in device memory, in place of draw; or NULL
  ufp4_cuda_exponent_t exponent;
  uint64_t *codes;  ///< 16 codes an entry
  void *scales;     ///< bytes, or FP32
  ufp4_cuda_place_t place;
  int pads_groups;      ///< rows up to the next multiple of 16 are written too, as zeros
  int32_t *largest;     ///< AMAX: the smallest exponent of all blocks, INT32_MAX before the first
  float *tensor_scale;  ///< NVFP4: where Sd is written; or NULL
} ufp4_cuda_copy_t;

/** QUANT and AMAX: the row copy and the column copy of one tensor from one read. */
typedef struct {
  const void *source;
  ufp4_dtype_t dtype;  ///< F32 or BF16
  int64_t rows, cols, ld;
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  ufp4_layout_t layout;
  ufp4_round_t round;
  ufp4_scale_round_t scale_round;
  uint32_t *flags;  ///< UFP4_FLAG_* are ORed in, in device memory
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
  const float *tensor_scale[2];  ///< NVFP4: of A and B; else NULL
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
