// SPDX-License-Identifier: Apache-2.0
// The one machine instruction that the kernel of contract nv needs beyond gpu.cuh: the product of
// FP4 elements with E4M3 scales, which the tensor cores of compute capability 12.x compute per
// warp. A CPU build includes tests/cuda/emulated_blackwell.h instead, which defines the same name.
#ifndef UFP4_CUDA_BLACKWELL_CUH
#define UFP4_CUDA_BLACKWELL_CUH

#include "gpu.cuh"

#ifndef __CUDACC__
#include "emulated_blackwell.h"
#else

// Only code for sm_120f (the family, 12.0 and 12.1) or sm_120a has the instruction; elsewhere the
// kernel is empty and never launched.
#if defined(__CUDA_ARCH_FEAT_SM120_ALL)
#define GPU_HAS_BLOCK_SCALES 1
#elif defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#define GPU_HAS_BLOCK_SCALES (__CUDA_ARCH_FAMILY_SPECIFIC__ / 100 == 12)
#else
#define GPU_HAS_BLOCK_SCALES 0
#endif

/** D += A B of 16 x 8 x 64 E2M1, with an E4M3 scale per 16 of k: byte i of a word is the scale of
 * k from 16 i on. Lane 4 g holds A's scales of row g and B's of column g, and lane 4 g + 1 A's of
 * row g + 8; the words of other lanes are ignored. PTX ISA, "Matrix Fragments for mma.m16n8k64" and
 * "Block Scaling for mma.sync" with all selectors 0. */
GPU void gpu_mma_nvfp4(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                       uint32_t scales_a, uint32_t scales_b) {
#if GPU_HAS_BLOCK_SCALES
  asm("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1."
      "f32.ue4m3 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {0, 0}, %11, "
      "{0, 0};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scales_a),
        "r"(scales_b));
#endif
}

#endif

#endif
