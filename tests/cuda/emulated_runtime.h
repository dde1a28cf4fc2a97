// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime of the emulated GPU: memory is the host's, nothing is ever under way, and
// everything takes a millisecond.
#ifndef UFP4_TESTS_CUDA_EMULATED_RUNTIME_H
#define UFP4_TESTS_CUDA_EMULATED_RUNTIME_H

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulated.h"
#include "emulated_hopper.h"

#define GPU_LAUNCH(kernel, grid, threads, shared_bytes, ...) \
  emulated::launch((grid), (threads), (shared_bytes), [&] { (kernel)(__VA_ARGS__); })
#define GPU_ALLOW_SHARED(kernel, bytes) ((void)(kernel), cudaSuccess)

typedef decltype(&emulated::encode_matrix) gpu_encode_t;
GPU gpu_encode_t gpu_find_encode() {
  return emulated::encode_matrix;
}

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorNoDevice = 100 };
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
GPU cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}
GPU cudaError_t cudaSetDevice(int) {
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
  *out = calloc((bytes + 127) / 128, 128);
  return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
GPU cudaError_t cudaFree(void *memory) {
  free(memory);
  return cudaSuccess;
}
GPU cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
  memset(memory, value, bytes);
  return cudaSuccess;
}
GPU cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
  memcpy(to, from, bytes);
  return cudaSuccess;
}
GPU cudaError_t cudaDeviceSynchronize() {
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
  return cudaSuccess;
}
GPU cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}

#endif
