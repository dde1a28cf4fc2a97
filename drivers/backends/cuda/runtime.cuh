// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime as library.cu uses it. A CPU build has them in
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

/** The driver's, found at run time, so that nothing is linked with it. */
inline gpu_encode_t gpu_find_encode() {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (error == cudaSuccess && found == cudaDriverEntryPointSuccess) return (gpu_encode_t)function;
  (void)cudaGetLastError();
  return nullptr;
}

/** Queues a kernel on a stream; its errors come with the next cudaGetLastError(). */
#define GPU_LAUNCH(stream, kernel, grid, threads, shared_bytes, ...) \
  kernel<<<(grid), (threads), (shared_bytes), (stream)>>>(__VA_ARGS__)

/** Has the kernel in the GPU's memory, where its first launch would otherwise put it: not while a
 * stream is captured. */
template <typename KERNEL>
cudaError_t gpu_preload(KERNEL *kernel) {
  cudaFuncAttributes ignored;
  return cudaFuncGetAttributes(&ignored, kernel);
}

/** More shared memory a block than the 48 KiB that every kernel may have. */
#define GPU_ALLOW_SHARED(kernel, bytes) \
  cudaFuncSetAttribute((kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes))

#endif

#endif
