// SPDX-License-Identifier: Apache-2.0
#include "ufp4/gemm.h"

#include <stddef.h>

#include "internal.h"
#include "ufp4/format.h"

static int block_dot(const ufp4_operand_t *a, int64_t ga, const ufp4_operand_t *b, int64_t gb) {
  int dot = 0;
  for (unsigned k = 0; k < BLOCK; k++) {
    unsigned ca = a->codes[ga * 8 + k / 2] >> 4 * (k % 2);
    unsigned cb = b->codes[gb * 8 + k / 2] >> 4 * (k % 2);
    dot += ufp4_elem_quanta(a->elem, ca) * ufp4_elem_quanta(b->elem, cb);
  }
  return dot;
}

static int64_t exact_sum(const ufp4_operand_t *a, int64_t i, const ufp4_operand_t *b, int64_t j) {
  int64_t sum = 0;
  for (int64_t k = 0; k < a->blocks; k++) {
    int sa, ea, sb, eb;
    if (!ufp4_e4m3_decode(a->scales[i * a->blocks + k], &sa, &ea)) return UFP4_I64_NAN;
    if (!ufp4_e4m3_decode(b->scales[j * b->blocks + k], &sb, &eb)) return UFP4_I64_NAN;
    int64_t dot = block_dot(a, i * a->blocks + k, b, j * b->blocks + k);
    sum += dot * sa * sb * (INT64_C(1) << (ea + eb));
  }
  return sum;
}

static int64_t accumulate(int64_t sum, int64_t other) {
  if (sum == UFP4_I64_NAN || other == UFP4_I64_NAN) return UFP4_I64_NAN;
  return (int64_t)((uint64_t)sum + (uint64_t)other);
}

static float canonical(float value) {
  return value != value ? ufp4_f32_value(UFP4_F32_NAN) : value;
}

// Each line is one operation, rounded once; alpha and C enter only where present.
static float finish(int64_t sum, int exponent, const ufp4_gemm_t *how, int64_t i, int64_t j) {
  if (sum == UFP4_I64_NAN) return ufp4_f32_value(UFP4_F32_NAN);
  float value = ufp4_f32_value(ufp4_f32_from_scaled(sum, exponent));
  if (how->alpha != 1.0f) value = value * how->alpha;
  if (how->c != NULL) value = value + how->c[i * how->c_ld + j];
  return canonical(value);
}

static int operand_ok(const ufp4_operand_t *x) {
  return x != NULL && x->codes != NULL && x->scales != NULL && (unsigned)x->elem < UFP4_ELEM_COUNT &&
         (unsigned)x->scale < UFP4_SCALE_COUNT && x->rows >= 1 && x->rows <= UFP4_MAX_DIM && x->cols >= 1 &&
         x->cols <= UFP4_MAX_DIM && x->blocks == (x->cols + BLOCK - 1) / BLOCK && x->exponent >= INT16_MIN &&
         x->exponent <= INT16_MAX;
}

static int how_ok(const ufp4_gemm_t *how, int64_t n) {
  if (how == NULL || (unsigned)how->contract >= UFP4_CONTRACT_COUNT || (unsigned)how->d_dtype >= UFP4_DTYPE_COUNT)
    return 0;
  if (how->threads < 0 || (how->c != NULL && how->c_ld < n)) return 0;
  if (how->accumulate != NULL && how->accumulate_ld < n) return 0;
  return how->d_dtype != UFP4_DTYPE_I64 || (how->c == NULL && how->alpha == 1.0f);
}

ufp4_status_t ufp4_gemm(const ufp4_operand_t *a, const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                        int64_t d_ld) {
  if (!operand_ok(a) || !operand_ok(b) || a->cols != b->cols || d == NULL) return UFP4_ERROR_ARGUMENT;
  if (!how_ok(how, b->rows) || d_ld < b->rows) return UFP4_ERROR_ARGUMENT;
  int exponent = -(18 + ufp4_elem_frac(a->elem) + ufp4_elem_frac(b->elem) + a->exponent + b->exponent);
  for (int64_t i = 0; i < a->rows; i++) {
    for (int64_t j = 0; j < b->rows; j++) {
      int64_t sum = exact_sum(a, i, b, j);
      if (how->accumulate != NULL) sum = accumulate(sum, how->accumulate[i * how->accumulate_ld + j]);
      if (how->d_dtype == UFP4_DTYPE_I64) {
        ((int64_t *)d)[i * d_ld + j] = sum;
      } else if (how->d_dtype == UFP4_DTYPE_F32) {
        ((float *)d)[i * d_ld + j] = finish(sum, exponent, how, i, j);
      } else {
        ((uint16_t *)d)[i * d_ld + j] = ufp4_bf16_cast(finish(sum, exponent, how, i, j));
      }
    }
  }
  return UFP4_OK;
}
