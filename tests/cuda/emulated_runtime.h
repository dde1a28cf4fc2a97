// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime of the two emulated GPUs: memory is the host's, all work is done at once, and
// everything takes a millisecond. A captured stream keeps its work, with its arguments as they
// were, for emulated_replay. The runtime counts everything that a call on a stream must not do.
#ifndef UFP4_TESTS_CUDA_EMULATED_RUNTIME_H
#define UFP4_TESTS_CUDA_EMULATED_RUNTIME_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <tuple>

#include "emulated.h"
#include "emulated_hopper.h"

#define GPU_LAUNCH(stream, kernel, grid, threads, shared_bytes, ...) \
  emulated::queue_kernel((stream), (grid), (threads), (shared_bytes), (kernel), __VA_ARGS__)
#define GPU_ALLOW_SHARED(kernel, bytes) ((void)(kernel), (void)(bytes), cudaSuccess)

typedef decltype(&emulated::encode_matrix) gpu_encode_t;
GPU gpu_encode_t gpu_find_encode() {
  return emulated::weather.no_copy_engine ? nullptr : emulated::encode_matrix;
}

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorLaunchFailure = 719
};
typedef struct CUstream_st *cudaStream_t;

namespace emulated {

/** Counts of the calls of the runtime, for tests. */
extern emulated_counts_t counts;
extern std::mutex counting;
/** device: the GPU that the thread has set. context: the GPU of its context, or NO_CONTEXT. */
enum { NO_CONTEXT = -1 };
extern thread_local int device, context;
/** The error of a failed launch, until the program asks for it. */
extern thread_local cudaError_t failed;
extern thread_local bool relaxed;
/** Counts a call that waits or allocates as an error if a stream is being captured and the thread
 * is not relaxed. */
void demand_no_capture();

/** Returns the thread's GPU and, as CUDA's runtime does, makes a context if the thread has none. */
inline int gpu() {
  if (context == NO_CONTEXT) context = device;
  return context;
}

inline void count(uint64_t *what, uint64_t by) {
  const std::lock_guard<std::mutex> lock(counting);
  *what += by;
}

/** load puts a kernel in the GPU's memory; only such a kernel may be captured. */
void load(const void *kernel);
void demand_loaded(cudaStream_t stream, const void *kernel);

/** Does the work, or keeps it if the stream is being captured. */
void queue(cudaStream_t stream, const std::function<void()> &work);

template <typename... PARAMETERS, typename... ARGUMENTS>
void queue_kernel(cudaStream_t stream, dim3 grid, dim3 block, size_t shared_bytes,
                  void (*kernel)(PARAMETERS...), const ARGUMENTS &...arguments) {
  const std::tuple<ARGUMENTS...> kept(arguments...);
  demand_loaded(stream, (const void *)kernel);
  queue(stream, [=] { launch(grid, block, shared_bytes, [&] { std::apply(kernel, kept); }); });
}

}  // namespace emulated

typedef int gpu_context_t;
cudaError_t gpu_context_open(int device, gpu_context_t *out);
GPU void gpu_context_close(int) {}
GPU cudaError_t gpu_context_current(gpu_context_t *out) {
  *out = emulated::context;
  return cudaSuccess;
}
GPU cudaError_t gpu_context_set(gpu_context_t context) {
  if (emulated::weather.stuck) return cudaErrorInvalidDevice;
  emulated::context = context;
  return cudaSuccess;
}

enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed = 2 };
GPU cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
  const bool before = emulated::relaxed;
  emulated::relaxed = *mode == cudaStreamCaptureModeRelaxed;
  *mode = before ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
  return cudaSuccess;
}

template <typename KERNEL>
cudaError_t gpu_preload(KERNEL *kernel) {
  emulated::demand_no_capture();
  emulated::load((const void *)kernel);
  return cudaSuccess;
}

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr {
  cudaDevAttrClockRate,
  cudaDevAttrMemoryClockRate,
  cudaDevAttrGlobalMemoryBusWidth
};
typedef int cudaEvent_t;

struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount;
  size_t totalGlobalMem;
};

GPU const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorLaunchFailure  ? "unspecified launch failure"
                                            : "no error";
}
GPU cudaError_t cudaGetLastError() {
  const cudaError_t error = emulated::failed;
  emulated::failed = cudaSuccess;
  return error;
}
GPU cudaError_t cudaGetDeviceCount(int *count) {
  *count = 2;
  return cudaSuccess;
}
GPU cudaError_t cudaGetDevice(int *out) {
  *out = emulated::context != emulated::NO_CONTEXT ? emulated::context : emulated::device;
  return cudaSuccess;
}
GPU cudaError_t cudaSetDevice(int device) {
  if (emulated::weather.stuck) return cudaErrorInvalidDevice;
  emulated::device = device;
  return gpu_context_open(device, &emulated::context);
}
GPU cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int) {
  *out = cudaDeviceProp();
  snprintf(out->name, sizeof out->name, "emulated GPU");
  out->multiProcessorCount =
      emulated::weather.multiprocessors != 0 ? emulated::weather.multiprocessors : 1;
  out->major = emulated::capability() / 10;
  out->minor = emulated::capability() % 10;
  out->totalGlobalMem = (size_t)1 << 32;
  return cudaSuccess;
}
GPU cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = 0;
  return cudaSuccess;
}
GPU cudaError_t cudaDriverGetVersion(int *version) {
  *version = 0;
  return cudaSuccess;
}
GPU cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 0;
  return cudaSuccess;
}
GPU cudaError_t cudaMalloc(void **out, size_t bytes) {
  emulated::demand_no_capture();
  emulated::count(&emulated::counts.allocations, 1);
  *out = calloc((bytes + 127) / 128, 128);
  return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
GPU cudaError_t cudaFree(void *memory) {
  emulated::demand_no_capture();
  emulated::count(&emulated::counts.allocations, 1);
  free(memory);
  return cudaSuccess;
}
GPU cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
  emulated::count(&emulated::counts.synchronizations, 1);
  memset(memory, value, bytes);
  return cudaSuccess;
}
GPU cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  emulated::queue(stream, [=] { memset(memory, value, bytes); });
  return cudaGetLastError();
}
GPU cudaError_t cudaMemcpy(void *target, const void *from, size_t bytes, cudaMemcpyKind kind) {
  emulated::demand_no_capture();
  emulated::count(&emulated::counts.synchronizations, 1);
  if (kind == cudaMemcpyHostToDevice) emulated::count(&emulated::counts.bytes_to_device, bytes);
  if (kind == cudaMemcpyDeviceToHost) emulated::count(&emulated::counts.bytes_to_host, bytes);
  memcpy(target, from, bytes);
  return cudaSuccess;
}
GPU cudaError_t cudaMemcpyAsync(void *target, const void *from, size_t bytes, cudaMemcpyKind kind,
                                cudaStream_t) {
  return cudaMemcpy(target, from, bytes, kind);
}
enum { cudaStreamNonBlocking = 1 };
GPU cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned) {
  emulated::demand_no_capture();
  *out = (cudaStream_t)malloc(1);
  return cudaSuccess;
}
GPU cudaError_t cudaStreamSynchronize(cudaStream_t) {
  emulated::demand_no_capture();
  emulated::count(&emulated::counts.synchronizations, 1);
  return cudaSuccess;
}
GPU cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}
GPU cudaError_t cudaDeviceSynchronize() {
  emulated::count(&emulated::counts.synchronizations, 1);
  return cudaSuccess;
}
GPU cudaError_t cudaEventCreate(cudaEvent_t *event) {
  *event = 0;
  return cudaSuccess;
}
GPU cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
GPU cudaError_t cudaEventRecord(cudaEvent_t) {
  return cudaSuccess;
}
GPU cudaError_t cudaEventSynchronize(cudaEvent_t) {
  emulated::count(&emulated::counts.synchronizations, 1);
  return cudaSuccess;
}
GPU cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}

#endif
