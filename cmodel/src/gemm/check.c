// SPDX-License-Identifier: Apache-2.0
// Checks whether a GEMM is legal, for the golden model, the driver, the program and the DPI-C
// library.
#include "base/names.h"
#include "tensor/operand.h"
#include "ufp4/combination.h"
#include "ufp4/gemm.h"

static ufp4_status_t check_operands(const ufp4_operand_t *a, const ufp4_operand_t *b,
                                    ufp4_message_t *message) {
  ufp4_status_t status = ufp4_operand_check(a, "A", message);
  if (status == UFP4_OK) status = ufp4_operand_check(b, "B", message);
  if (status != UFP4_OK) return status;
  if (a->cols != b->cols) {
    ufp4_message_set(message, "A has K = %lld, B has K = %lld; they must be equal",
                     (long long)a->cols, (long long)b->cols);
    return UFP4_ERROR_ARGUMENT;
  }
  if (a->scale != b->scale) {
    ufp4_message_set(message, "A has scale %s, B has scale %s; they must be equal",
                     scale_names[a->scale], scale_names[b->scale]);
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}

static ufp4_status_t check_stride(const char *what, const void *data, int64_t ld, int64_t n,
                                  ufp4_message_t *message) {
  if (data == NULL || ld >= n) return UFP4_OK;
  ufp4_message_set(message, "%s: the leading dimension is %lld; it must be at least N = %lld", what,
                   (long long)ld, (long long)n);
  return UFP4_ERROR_ARGUMENT;
}

static ufp4_status_t check_options(const ufp4_gemm_t *how, int64_t n, ufp4_message_t *message) {
  if ((unsigned)how->d_dtype >= UFP4_DTYPE_COUNT) {
    ufp4_message_set(message, "d_dtype is %u; it must be a value of ufp4_dtype_t",
                     (unsigned)how->d_dtype);
    return UFP4_ERROR_ARGUMENT;
  }
  if (how->threads < 0 || (unsigned)how->kernel >= UFP4_KERNEL_COUNT) {
    ufp4_message_set(
        message,
        "threads is %d and kernel is %u; threads must be 0 or more, and kernel less than %d",
        how->threads, (unsigned)how->kernel, UFP4_KERNEL_COUNT);
    return UFP4_ERROR_ARGUMENT;
  }
  ufp4_status_t status = check_stride("C", how->c, how->c_ld, n, message);
  return status == UFP4_OK ? check_stride("sums", how->accumulate, how->accumulate_ld, n, message)
                           : status;
}

static ufp4_status_t check_sums(const ufp4_gemm_t *how, ufp4_message_t *message) {
  const int i64 = how->d_dtype == UFP4_DTYPE_I64;
  if (how->contract != UFP4_CONTRACT_EXACT && (i64 || how->accumulate != NULL)) {
    ufp4_message_set(
        message,
        "unrounded sums (a D of type i64, or sums to accumulate onto) need contract exact");
    return UFP4_ERROR_ARGUMENT;
  }
  if (i64 && (how->c != NULL || how->alpha != 1.0f)) {
    ufp4_message_set(message,
                     "a D of type i64 holds unrounded sums: leave out C, and set alpha to 1");
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}

// Blocks and transforms larger than a core's require the contract exact, whose sums are not rounded
// and do not depend on them.
static ufp4_status_t check_wide(const ufp4_operand_t *a, const ufp4_operand_t *b,
                                const ufp4_gemm_t *how, ufp4_message_t *message) {
  if (a->half != b->half) {
    ufp4_message_set(
        message,
        "one operand has a transform of 32 points and the other does not; both must have the same");
    return UFP4_ERROR_ARGUMENT;
  }
  if (!ufp4_operand_is_wide(a) && !ufp4_operand_is_wide(b)) return UFP4_OK;
  if (how->contract == UFP4_CONTRACT_EXACT) return UFP4_OK;
  ufp4_message_set(message,
                   "blocks larger than 16 and transforms of 32 points need contract exact");
  return UFP4_ERROR_ARGUMENT;
}

// C is the initial accumulator of nv, so the result must not be scaled.
static ufp4_status_t check_nv(const ufp4_operand_t *a, const ufp4_operand_t *b,
                              const ufp4_gemm_t *how, ufp4_message_t *message) {
  const int scaled =
      a->scale == UFP4_SCALE_NVFP4 && (a->tensor_scale != 1.0f || b->tensor_scale != 1.0f);
  if (how->contract != UFP4_CONTRACT_NV || how->c == NULL) return UFP4_OK;
  if (how->alpha == 1.0f && a->exponent + b->exponent == 0 && !scaled) return UFP4_OK;
  ufp4_message_set(message,
                   "contract nv starts the sums with C: then alpha and both tensor scales must be "
                   "1, and the tensor exponents must add up to 0");
  return UFP4_ERROR_ARGUMENT;
}

ufp4_status_t ufp4_gemm_check(const ufp4_operand_t *a, const ufp4_operand_t *b,
                              const ufp4_gemm_t *how, ufp4_message_t *message) {
  ufp4_status_t status = check_operands(a, b, message);
  if (status != UFP4_OK) return status;
  if (how == NULL) {
    ufp4_message_set(message, "how is NULL");
    return UFP4_ERROR_ARGUMENT;
  }
  status = check_options(how, b->rows, message);
  if (status == UFP4_OK)
    status = ufp4_combination_gemm(a->elem, b->elem, a->scale, how->contract, NULL, message);
  if (status == UFP4_OK) status = check_wide(a, b, how, message);
  if (status == UFP4_OK) status = check_sums(how, message);
  return status == UFP4_OK ? check_nv(a, b, how, message) : status;
}
