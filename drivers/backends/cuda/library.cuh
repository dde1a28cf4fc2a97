// SPDX-License-Identifier: Apache-2.0
// What the files of libufp4_cuda.so share: an open GPU, and how a failed call is reported.
#ifndef UFP4_CUDA_LIBRARY_CUH
#define UFP4_CUDA_LIBRARY_CUH

#include <cstdarg>
#include <cstdio>

#include "runtime.cuh"
#include "table.h"
#include "vendor.h"

/** Device memory that grows and is kept. */
typedef struct {
  void *memory;
  size_t bytes;
} scratch_t;

enum { SIDES = 2 };

struct ufp4_cuda {
  ufp4_message_t *message;
  ufp4_cuda_description_t description;
  cudaEvent_t start, stop;
  int has_warpgroups;   ///< the GPU has wgmma, and this library code for it
  gpu_encode_t encode;  ///< describes a matrix to the copy engine; where has_warpgroups
  scratch_t elements[SIDES], weights[SIDES], rows[SIDES], totals;
  vendor_t *vendor;
};

namespace {

ufp4_status_t fail(ufp4_message_t *message, ufp4_status_t status, const char *format, ...) {
  if (message == nullptr) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message->text, sizeof message->text, format, arguments);
  va_end(arguments);
  return status;
}

/** A failed call: out of memory leaves the GPU as it was, anything else is its end. */
ufp4_status_t check(ufp4_cuda_t *cuda, cudaError_t error, const char *what) {
  if (error == cudaSuccess) return UFP4_OK;
  const ufp4_status_t status =
      error == cudaErrorMemoryAllocation ? UFP4_ERROR_MEMORY : UFP4_ERROR_DEVICE;
  if (status == UFP4_ERROR_MEMORY) (void)cudaGetLastError();
  return fail(cuda->message, status, "cuda: %s: %s", what, cudaGetErrorString(error));
}

ufp4_status_t launched(ufp4_cuda_t *cuda, const char *what) {
  return check(cuda, cudaGetLastError(), what);
}

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

ufp4_status_t clear(ufp4_cuda_t *cuda, void *memory, size_t bytes) {
  return check(cuda, cudaMemset(memory, 0, bytes), "clearing memory");
}

ufp4_status_t grow(ufp4_cuda_t *cuda, scratch_t *scratch, size_t bytes) {
  if (scratch->bytes >= bytes) return UFP4_OK;
  (void)cudaFree(scratch->memory);
  *scratch = scratch_t();
  cudaError_t error = cudaMalloc(&scratch->memory, bytes);
  if (error == cudaSuccess) scratch->bytes = bytes;
  return check(cuda, error, "memory for unpacked operands");
}

}  // namespace

#endif
