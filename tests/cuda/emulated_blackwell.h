// SPDX-License-Identifier: Apache-2.0
// blackwell.cuh for the emulated GPU.
#ifndef UFP4_TESTS_CUDA_EMULATED_BLACKWELL_H
#define UFP4_TESTS_CUDA_EMULATED_BLACKWELL_H

#include "emulated.h"

#define GPU_HAS_BLOCK_SCALES 1

namespace emulated {

void mma_nvfp4(float d[4], const uint32_t a[4], const uint32_t b[2], uint32_t scales_a,
               uint32_t scales_b);

}  // namespace emulated

GPU void gpu_mma_nvfp4(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                       uint32_t scales_a, uint32_t scales_b) {
  emulated::mma_nvfp4(d, a, b, scales_a, scales_b);
}

#endif
