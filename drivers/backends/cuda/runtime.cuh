// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA runtime that library.cu uses. A CPU build has them in
// tests/cuda/emulated_runtime.h.
#ifndef UFP4_CUDA_RUNTIME_CUH
#define UFP4_CUDA_RUNTIME_CUH

#ifndef __CUDACC__
#include "emulated_runtime.h"
#else

#include <cuda.h>
#include <cuda_runtime.h>

/** Describes a matrix to the copy engine. */
typedef decltype(&cuTensorMapEncodeTiled) gpu_encode_t;

/** Returns a function of the driver, found at run time to avoid linking with it. */
inline void *gpu_find(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (error == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  (void)cudaGetLastError();
  return nullptr;
}

inline gpu_encode_t gpu_find_encode() {
  return (gpu_encode_t)gpu_find("cuTensorMapEncodeTiled");
}

/** The context that all users of the CUDA runtime share on a GPU. The driver makes it current,
 * because cudaSetDevice would create a context on the GPU that the thread returns to, if it has
 * none. */
typedef CUcontext gpu_context_t;

inline cudaError_t gpu_context_open(int device, gpu_context_t *out) {
  const auto find = (decltype(&cuDeviceGet))gpu_find("cuDeviceGet");
  const auto retain = (decltype(&cuDevicePrimaryCtxRetain))gpu_find("cuDevicePrimaryCtxRetain");
  CUdevice number;
  if (find == nullptr || retain == nullptr) return cudaErrorInitializationError;
  if (find(&number, device) != CUDA_SUCCESS) return cudaErrorInvalidDevice;
  return retain(out, number) == CUDA_SUCCESS ? cudaSuccess : cudaErrorDevicesUnavailable;
}

inline void gpu_context_close(int device) {
  const auto find = (decltype(&cuDeviceGet))gpu_find("cuDeviceGet");
  const auto release = (decltype(&cuDevicePrimaryCtxRelease))gpu_find("cuDevicePrimaryCtxRelease");
  CUdevice number;
  if (find != nullptr && release != nullptr && find(&number, device) == CUDA_SUCCESS)
    (void)release(number);
}

inline cudaError_t gpu_context_current(gpu_context_t *out) {
  static const auto get = (decltype(&cuCtxGetCurrent))gpu_find("cuCtxGetCurrent");
  return get != nullptr && get(out) == CUDA_SUCCESS ? cudaSuccess : cudaErrorDeviceUninitialized;
}

inline cudaError_t gpu_context_set(gpu_context_t context) {
  static const auto set = (decltype(&cuCtxSetCurrent))gpu_find("cuCtxSetCurrent");
  return set != nullptr && set(context) == CUDA_SUCCESS ? cudaSuccess
                                                        : cudaErrorDeviceUninitialized;
}

/** Queues a kernel on a stream; the next cudaGetLastError() returns its errors. */
#define GPU_LAUNCH(stream, kernel, grid, threads, shared_bytes, ...) \
  kernel<<<(grid), (threads), (shared_bytes), (stream)>>>(__VA_ARGS__)

/** Loads the kernel into the GPU's memory, which otherwise happens at its first launch and is not
 * allowed while a stream is captured. */
template <typename KERNEL>
cudaError_t gpu_preload(KERNEL *kernel) {
  cudaFuncAttributes ignored;
  return cudaFuncGetAttributes(&ignored, kernel);
}

/** Allows more shared memory per block than the default 48 KiB. */
#define GPU_ALLOW_SHARED(kernel, bytes) \
  cudaFuncSetAttribute((kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes))

#endif

#endif
