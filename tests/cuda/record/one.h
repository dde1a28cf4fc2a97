// SPDX-License-Identifier: Apache-2.0
// One job of a quantizer or a GEMM: its inputs, which are the same on every machine, and a hash of
// every bit of the result.
#ifndef UFP4_TESTS_CUDA_ONE_H
#define UFP4_TESTS_CUDA_ONE_H

#include "cases.h"

/** The numbers of a tensor: nearly Gaussian; the same over 40 binades; any finite pattern; small
 * integers, which make ties; and nearly Gaussian with a NaN and an Inf somewhere. */
enum { DATA_NORMAL, DATA_WIDE, DATA_ANY, DATA_INTEGERS, DATA_NAN, DATA_COUNT };

typedef struct {
  ufp4_quantize_t how;
  ufp4_dtype_t dtype;
  int64_t rows, cols;
  int data;
  uint64_t id;  ///< draws the numbers
} quantize_case_t;

/** Operands are quantized data, or any codes with scales other than NaN: any scales; scales within
 * 8 binades; these for A and any for B; and scales within 4 binades, but for a few that are far
 * larger in A and far smaller in B. */
enum {
  SCALES_QUANTIZED,
  SCALES_ANY,
  SCALES_NEAR,
  SCALES_NEAR_AND_ANY,
  SCALES_FEW_FAR,
  SCALES_COUNT
};

/** Results are plain FP32; BF16; either with alpha and C; and unrounded sums, added to others. */
enum { D_F32, D_BF16, D_F32_ALPHA_C, D_BF16_ALPHA_C, D_I64, D_COUNT };

typedef struct {
  ufp4_contract_t contract;
  ufp4_scale_t scale;
  ufp4_elem_t a, b;
  int scales;
  int64_t m, n, k;
  int d;
} gemm_case_t;

/** Numbers that draw A, B, and C or other sums. */
typedef struct {
  uint64_t a, b, added;
} gemm_ids_t;

/** @p name: at most 63 characters. */
ufp4_status_t one_quantize(const quantize_case_t *c, const engine_t *engine, char name[64],
                           uint64_t *hash);
ufp4_status_t one_gemm(const gemm_case_t *c, const gemm_ids_t *ids,
                       const ufp4_cuda_choice_t *choice, const engine_t *engine, char name[64],
                       uint64_t *hash);

#endif
