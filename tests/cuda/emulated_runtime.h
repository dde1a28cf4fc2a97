// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime of the emulated GPUs, of which there are two: memory is the host's, nothing is
// ever under way, and everything takes a millisecond. A stream that is captured keeps its work,
// with its arguments as they were, for emulated_replay. All that a call on a stream must not do is
// counted.
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
  return emulated::encode_matrix;
}

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101
};
typedef struct CUstream_st *cudaStream_t;

namespace emulated {

/** What the runtime was asked for; for tests. */
extern emulated_counts_t counts;
extern std::mutex counting;
extern thread_local int device;

inline void count(uint64_t *what, uint64_t by) {
  const std::lock_guard<std::mutex> lock(counting);
  *what += by;
}

/** Kernels that are in the GPU's memory; only those may be captured. */
void load(const void *kernel);
void demand_loaded(cudaStream_t stream, const void *kernel);

/** Does the work, or keeps it where the stream is captured. */
void queue(cudaStream_t stream, const std::function<void()> &work);

template <typename... PARAMETERS, typename... ARGUMENTS>
void queue_kernel(cudaStream_t stream, dim3 grid, dim3 block, size_t shared_bytes,
                  void (*kernel)(PARAMETERS...), const ARGUMENTS &...arguments) {
  const std::tuple<ARGUMENTS...> kept(arguments...);
  demand_loaded(stream, (const void *)kernel);
  queue(stream, [=] { launch(grid, block, shared_bytes, [&] { std::apply(kernel, kept); }); });
}

}  // namespace emulated

template <typename KERNEL>
cudaError_t gpu_preload(KERNEL *kernel) {
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
  return error == cudaErrorMemoryAllocation ? "out of memory" : "no error";
}
GPU cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
GPU cudaError_t cudaPeekAtLastError() {
  return cudaSuccess;
}
GPU cudaError_t cudaGetDeviceCount(int *count) {
  *count = 2;
  return cudaSuccess;
}
GPU cudaError_t cudaGetDevice(int *out) {
  *out = emulated::device;
  return cudaSuccess;
}
GPU cudaError_t cudaSetDevice(int device) {
  if (emulated::weather.stuck) return cudaErrorInvalidDevice;
  emulated::device = device;
  return cudaSuccess;
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
  emulated::count(&emulated::counts.allocations, 1);
  *out = calloc((bytes + 127) / 128, 128);
  return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
GPU cudaError_t cudaFree(void *memory) {
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
  return cudaSuccess;
}
GPU cudaError_t cudaMemcpy(void *target, const void *from, size_t bytes, cudaMemcpyKind kind) {
  emulated::count(&emulated::counts.synchronizations, 1);
  if (kind == cudaMemcpyHostToDevice) emulated::count(&emulated::counts.bytes_to_device, bytes);
  if (kind == cudaMemcpyDeviceToHost) emulated::count(&emulated::counts.bytes_to_host, bytes);
  memcpy(target, from, bytes);
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
