// SPDX-License-Identifier: Apache-2.0
// The few calls of the CUDA runtime that library.cu makes. A CPU build has them in
// tests/cuda/emulated_runtime.h.
#ifndef UFP4_CUDA_RUNTIME_CUH
#define UFP4_CUDA_RUNTIME_CUH

#ifndef __CUDACC__
#include "emulated_runtime.h"
#else

#include <cuda_runtime.h>

/** Queues a kernel; its errors come with the next gpu_launched(). */
#define GPU_LAUNCH(kernel, grid, threads, shared_bytes, ...) \
  kernel<<<(grid), (threads), (shared_bytes)>>>(__VA_ARGS__)

/** More shared memory a block than the 48 KiB that every kernel may have. */
#define GPU_ALLOW_SHARED(kernel, bytes) \
  cudaFuncSetAttribute((kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes))

#endif

#endif
