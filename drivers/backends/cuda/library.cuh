// SPDX-License-Identifier: Apache-2.0
// Shared by the files of libufp4_cuda.so: an open GPU, and the reporting of failed calls.
#ifndef UFP4_CUDA_LIBRARY_CUH
#define UFP4_CUDA_LIBRARY_CUH

#include <cstdarg>
#include <cstdio>

#include "runtime.cuh"
#include "table.h"
#include "vendor.h"

enum { SIDES = 2 };

/** Calls of ufp4_cuda.h take it as const, because the members that they read never change. */
struct ufp4_cuda {
  int device;  ///< number as CUDA counts
  gpu_context_t context;
  ufp4_cuda_description_t description;
  int has_warpgroups;   ///< the GPU has wgmma, and this library has code for it
  gpu_encode_t encode;  ///< describes a matrix to the copy engine; valid if has_warpgroups
  // The members below are used only by calls of the table.
  ufp4_message_t *message;
  cudaEvent_t start, stop;
  vendor_t *vendor;
};

/** The GPU and stream of a call's kernels, and the message for its failure. */
typedef struct {
  const ufp4_cuda_t *cuda;
  cudaStream_t stream;
  ufp4_message_t *message;
} queue_t;

/** Workspace that is handed out in parts; without memory, only their size is counted. */
typedef struct {
  unsigned char *memory;
  size_t used;
} workspace_t;

namespace {

ufp4_status_t fail(ufp4_message_t *message, ufp4_status_t status, const char *format, ...) {
  if (message == nullptr) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message->text, sizeof message->text, format, arguments);
  va_end(arguments);
  return status;
}

/** Reports a failed call and clears the error in the runtime, which belongs to this library, so
 * that later calls report their own errors. */
ufp4_status_t check(ufp4_message_t *message, cudaError_t error, const char *what) {
  if (error == cudaSuccess) return UFP4_OK;
  const ufp4_status_t status =
      error == cudaErrorMemoryAllocation ? UFP4_ERROR_MEMORY : UFP4_ERROR_DEVICE;
  (void)cudaGetLastError();
  return fail(message, status, "cuda: %s: %s", what, cudaGetErrorString(error));
}

ufp4_status_t launched(const queue_t &queue, const char *what) {
  return check(queue.message, cudaGetLastError(), what);
}

/** The table's calls use the default stream. */
queue_t default_queue(const ufp4_cuda_t *cuda) {
  const queue_t queue = {cuda, nullptr, cuda->message};
  return queue;
}

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/** The largest alignment that copy engines and vector loads need. */
const size_t WORKSPACE_ALIGN = 256;

void *take(workspace_t *workspace, size_t bytes) {
  const size_t at = workspace->used;
  workspace->used += (bytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
  return workspace->memory != nullptr ? workspace->memory + at : nullptr;
}

/** Returns the caller's workspace from its first aligned byte on. */
workspace_t workspace_of(const ufp4_cuda_call_t *call) {
  const uintptr_t address = (uintptr_t)call->workspace;
  const workspace_t workspace = {(unsigned char *)call->workspace + (0 - address) % WORKSPACE_ALIGN,
                                 0};
  return workspace;
}

/** Returns how many bytes the caller must provide for the counted size. */
size_t workspace_bytes(const workspace_t &counted) {
  return counted.used + WORKSPACE_ALIGN;
}

/** Makes the GPU current for the calling thread during its lifetime, and then restores the
 * previous state, even if there was none. After an error, work would go to another GPU. */
struct on_device_t {
  gpu_context_t before;
  bool moved;
  cudaError_t error;
  explicit on_device_t(gpu_context_t context)
      : before(), moved(false), error(gpu_context_current(&before)) {
    if (error != cudaSuccess || before == context) return;
    error = gpu_context_set(context);
    moved = error == cudaSuccess;
  }
  ~on_device_t() {
    if (moved) (void)gpu_context_set(before);
  }
};

/** During its lifetime the calling thread may allocate and wait even though another thread
 * captures a stream. */
struct beside_captures_t {
  cudaStreamCaptureMode mode;
  beside_captures_t() : mode(cudaStreamCaptureModeRelaxed) {
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
  }
  ~beside_captures_t() {
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
  }
};

}  // namespace

#endif
