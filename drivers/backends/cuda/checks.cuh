// SPDX-License-Identifier: Apache-2.0
// The argument checks of ufp4_cuda.h's calls, which precede all queueing.
#ifndef UFP4_CUDA_CHECKS_CUH
#define UFP4_CUDA_CHECKS_CUH

#include "library.cuh"
#include "ufp4/combination.h"

namespace {

const size_t OPERAND_ALIGN = 16;

ufp4_status_t refuse(ufp4_message_t *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

ufp4_status_t refuse(ufp4_message_t *message, const char *format, ...) {
  ufp4_message_t text;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text.text, sizeof text.text, format, arguments);
  va_end(arguments);
  return fail(message, UFP4_ERROR_ARGUMENT, "cuda: %s", text.text);
}

ufp4_message_t *message_of(const ufp4_cuda_call_t *call) {
  return call != nullptr ? call->message : nullptr;
}

/** Check device memory: check_pointer refuses NULL, check_optional accepts it. */
ufp4_status_t check_pointer(ufp4_message_t *message, const char *what, const void *pointer,
                            size_t align) {
  if (pointer == nullptr) return refuse(message, "%s is NULL", what);
  if ((uintptr_t)pointer % align == 0) return UFP4_OK;
  return refuse(message, "%s is at address %p, which must be a multiple of %d", what, pointer,
                (int)align);
}

ufp4_status_t check_optional(ufp4_message_t *message, const char *what, const void *pointer,
                             size_t align) {
  return pointer == nullptr ? UFP4_OK : check_pointer(message, what, pointer, align);
}

size_t dtype_align(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

bool size_is_bad(int64_t size) {
  return size < 1 || size > UFP4_MAX_DIM;
}

ufp4_status_t check_call(const ufp4_cuda_t *cuda, const ufp4_cuda_call_t *call) {
  if (cuda == nullptr || call == nullptr)
    return refuse(message_of(call), "%s is NULL", cuda == nullptr ? "cuda" : "call");
  // Clears earlier errors, so that an error after the launch is the launch's own.
  (void)cudaGetLastError();
  return UFP4_OK;
}

ufp4_status_t check_workspace(const ufp4_cuda_call_t *call, size_t bytes) {
  if (call->workspace == nullptr) return refuse(call->message, "workspace is NULL");
  if (call->workspace_bytes >= bytes) return UFP4_OK;
  return refuse(call->message, "the workspace has %zu bytes; %zu are needed", call->workspace_bytes,
                bytes);
}

// --- Quantizing ---------------------------------------------------------------------------------

ufp4_status_t check_source(ufp4_message_t *message, const ufp4_matrix_t *in) {
  if (in == nullptr) return refuse(message, "in is NULL");
  if (size_is_bad(in->rows) || size_is_bad(in->cols)) {
    return refuse(message, "the tensor is %lld x %lld; rows and columns must be from 1 to %d",
                  (long long)in->rows, (long long)in->cols, UFP4_MAX_DIM);
  }
  if (in->ld < in->cols) {
    return refuse(message, "in->ld is %lld; it must be at least the tensor's %lld columns",
                  (long long)in->ld, (long long)in->cols);
  }
  if (in->dtype != UFP4_DTYPE_F32 && in->dtype != UFP4_DTYPE_BF16)
    return refuse(message, "in->dtype must be FP32 or BF16");
  return check_pointer(message, "tensor", in->data, dtype_align(in->dtype));
}

bool is_stored(const ufp4_quantize_t &how) {
  return how.exponent_given == UFP4_CUDA_EXPONENT_STORED;
}

/** Returns whether the copy needs AMAX. */
bool finds_exponent(const ufp4_quantize_t &how) {
  if (how.scale == UFP4_SCALE_NVFP4) return !is_stored(how);
  return how.scale == UFP4_SCALE_E4M3 && how.exponent_given == 0;
}

ufp4_status_t check_how(ufp4_message_t *message, const ufp4_quantize_t &how) {
  if ((unsigned)how.axis > UFP4_AXIS_COL || (unsigned)how.round >= UFP4_ROUND_COUNT) {
    return refuse(message,
                  "axis is %u and round is %u; at least one of them is not a value of its enum",
                  (unsigned)how.axis, (unsigned)how.round);
  }
  if ((unsigned)how.exponent_given > UFP4_CUDA_EXPONENT_STORED)
    return refuse(message, "exponent_given is %d; it must be 0, 1 or 2", how.exponent_given);
  if (how.exponent_given == 1 && (how.exponent < INT16_MIN || how.exponent > INT16_MAX)) {
    return refuse(message, "the tensor exponent is %d; it must be from %d to %d", how.exponent,
                  INT16_MIN, INT16_MAX);
  }
  ufp4_quantize_t asked = how;
  ufp4_message_t why;
  if (is_stored(how)) asked.exponent_given = 0;
  const ufp4_status_t status = ufp4_combination_quantize(&asked, 0, "cuda", &why);
  return status == UFP4_OK ? status : fail(message, status, "cuda: %s", why.text);
}

ufp4_status_t check_memory_of(ufp4_message_t *message, const ufp4_cuda_operand_t &x) {
  const int64_t blocks = divide_up(x.cols, 16);
  if (x.panel_stride != 0 && x.panel_stride < blocks) {
    return refuse(message,
                  "panel_stride is %lld blocks; it must be 0, or at least the operand's %lld",
                  (long long)x.panel_stride, (long long)blocks);
  }
  ufp4_status_t status = check_pointer(message, "codes", x.codes, OPERAND_ALIGN);
  return status == UFP4_OK ? check_pointer(message, "scales", x.scales, OPERAND_ALIGN) : status;
}

/** AMAX writes no codes, but exponents, even for NVFP4. */
ufp4_status_t check_out(ufp4_message_t *message, const ufp4_matrix_t &in,
                        const ufp4_quantize_t &how, const ufp4_cuda_operand_t &out, bool amax) {
  const bool turned = how.axis == UFP4_AXIS_COL, nvfp4 = how.scale == UFP4_SCALE_NVFP4;
  const int64_t rows = turned ? in.cols : in.rows, cols = turned ? in.rows : in.cols;
  if (out.elem != how.elem || out.scale != how.scale)
    return refuse(message, "out has another element or scale format than how");
  if (out.rows != rows || out.cols != cols) {
    return refuse(message, "out is %lld x %lld; it must be %lld x %lld", (long long)out.rows,
                  (long long)out.cols, (long long)rows, (long long)cols);
  }
  if (amax && how.scale != UFP4_SCALE_E4M3 && !nvfp4)
    return refuse(message, "AMAX needs scale e4m3 or nvfp4");
  const bool needs = amax || is_stored(how) || (finds_exponent(how) && !nvfp4);
  ufp4_status_t status = amax ? UFP4_OK : check_memory_of(message, out);
  if (status == UFP4_OK && needs) status = check_pointer(message, "exponent", out.exponent, 4);
  if (status == UFP4_OK) status = check_optional(message, "exponent", out.exponent, 4);
  if (status == UFP4_OK && nvfp4 && !amax)
    status = check_pointer(message, "tensor scale", out.tensor_scale, 4);
  return status;
}

ufp4_status_t check_random(const ufp4_cuda_call_t *call) {
  if ((unsigned)call->signs > UFP4_SIGNS_STEP)
    return refuse(call->message, "signs is %u; it must be UFP4_SIGNS_FIXED or UFP4_SIGNS_STEP",
                  (unsigned)call->signs);
  if (call->signs == UFP4_SIGNS_STEP && call->random == nullptr)
    return refuse(call->message,
                  "signs of a step need random, which holds the seed and the step; it is NULL");
  return check_optional(call->message, "random", call->random, 8);
}

ufp4_status_t check_quantize(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                             const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out, int copies,
                             const uint32_t *flags, const ufp4_cuda_call_t *call, size_t bytes,
                             bool amax) {
  ufp4_status_t status = check_call(cuda, call);
  if (status != UFP4_OK) return status;
  ufp4_message_t *message = call->message;
  status = check_source(message, in);
  if (status != UFP4_OK) return status;
  if (how == nullptr || out == nullptr) return refuse(message, "how or out is NULL");
  if (copies < 1 || copies > 2) return refuse(message, "copies is %d; it must be 1 or 2", copies);
  for (int i = 0; i < copies && status == UFP4_OK; i++) {
    status = check_how(message, how[i]);
    if (status == UFP4_OK) status = check_out(message, *in, how[i], out[i], amax);
  }
  if (status == UFP4_OK) status = check_optional(message, "flags", flags, 4);
  if (status == UFP4_OK) status = check_random(call);
  return status == UFP4_OK ? check_workspace(call, bytes) : status;
}

// --- Multiplying --------------------------------------------------------------------------------

/** Checks the arguments that determine the size of the workspace. */
ufp4_status_t check_sizes(const ufp4_cuda_t *cuda, ufp4_message_t *message,
                          const ufp4_cuda_operand_t *a, const ufp4_cuda_operand_t *b,
                          const ufp4_gemm_t *how) {
  if (a == nullptr || b == nullptr || how == nullptr) return refuse(message, "a, b or how is NULL");
  if (size_is_bad(a->rows) || size_is_bad(b->rows) || size_is_bad(a->cols)) {
    return refuse(message,
                  "the product has M = %lld, N = %lld and K = %lld; each must be from 1 to %d",
                  (long long)a->rows, (long long)b->rows, (long long)a->cols, UFP4_MAX_DIM);
  }
  if (a->cols != b->cols) {
    return refuse(message, "A has K = %lld, B has K = %lld; they must be equal", (long long)a->cols,
                  (long long)b->cols);
  }
  if (a->scale != b->scale)
    return refuse(message, "A and B have different scale formats; they must be equal");
  ufp4_message_t why;
  const ufp4_status_t status =
      ufp4_combination_gemm(a->elem, b->elem, a->scale, how->contract, "cuda", &why);
  if (status != UFP4_OK) return fail(message, status, "cuda: %s", why.text);
  if (how->contract != UFP4_CONTRACT_NV || cuda->description.no_nv[0] == '\0') return UFP4_OK;
  return fail(message, UFP4_ERROR_UNSUPPORTED, "cuda: contract nv: %s", cuda->description.no_nv);
}

ufp4_status_t check_stride(ufp4_message_t *message, const char *what, const void *data, int64_t ld,
                           int64_t n) {
  if (data == nullptr || ld >= n) return UFP4_OK;
  return refuse(message, "%s: the leading dimension is %lld; it must be at least N = %lld", what,
                (long long)ld, (long long)n);
}

ufp4_status_t check_result(ufp4_message_t *message, const ufp4_gemm_t &how, int64_t n,
                           const void *d, int64_t d_ld) {
  const bool i64 = how.d_dtype == UFP4_DTYPE_I64;
  if ((unsigned)how.d_dtype >= UFP4_DTYPE_COUNT)
    return refuse(message, "d_dtype is %u; it must be a value of ufp4_dtype_t",
                  (unsigned)how.d_dtype);
  if (how.contract != UFP4_CONTRACT_EXACT && (i64 || how.accumulate != nullptr))
    return refuse(
        message,
        "unrounded sums (a D of type i64, or sums to accumulate onto) need contract exact");
  if (i64 && (how.c != nullptr || how.alpha != 1.0f))
    return refuse(message, "a D of type i64 holds unrounded sums: leave out C, and set alpha to 1");
  if (how.contract == UFP4_CONTRACT_NV && how.c != nullptr && how.alpha != 1.0f)
    return refuse(message, "contract nv starts the sums with C: then alpha must be 1");
  ufp4_status_t status = check_pointer(message, "D", d, dtype_align(how.d_dtype));
  if (status == UFP4_OK) status = check_optional(message, "C", how.c, 4);
  if (status == UFP4_OK) status = check_optional(message, "sums", how.accumulate, 8);
  if (status == UFP4_OK) status = check_stride(message, "D", d, d_ld, n);
  if (status == UFP4_OK) status = check_stride(message, "C", how.c, how.c_ld, n);
  return status == UFP4_OK ? check_stride(message, "sums", how.accumulate, how.accumulate_ld, n)
                           : status;
}

ufp4_status_t check_operand(ufp4_message_t *message, const ufp4_cuda_operand_t &x) {
  ufp4_status_t status = check_memory_of(message, x);
  if (status == UFP4_OK && x.scale == UFP4_SCALE_E4M3)
    status = check_optional(message, "exponent", x.exponent, 4);
  if (status == UFP4_OK && x.scale == UFP4_SCALE_NVFP4)
    status = check_pointer(message, "tensor scale", x.tensor_scale, 4);
  return status;
}

ufp4_status_t check_gemm(const ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *a,
                         const ufp4_cuda_operand_t *b, const ufp4_gemm_t *how, const void *d,
                         int64_t d_ld, const ufp4_cuda_call_t *call) {
  ufp4_status_t status = check_call(cuda, call);
  if (status == UFP4_OK) status = check_sizes(cuda, call->message, a, b, how);
  if (status == UFP4_OK) status = check_operand(call->message, *a);
  if (status == UFP4_OK) status = check_operand(call->message, *b);
  return status == UFP4_OK ? check_result(call->message, *how, b->rows, d, d_ld) : status;
}

}  // namespace

#endif
