// SPDX-License-Identifier: Apache-2.0
// Machine instructions that the kernels for compute capability 9.0 need beyond gpu.cuh: barriers in
// shared memory, copies of boxes of a matrix by the copy engine, and products of a warpgroup (four
// warps), each as a small function. A CPU build includes tests/cuda/emulated_hopper.h instead,
// which defines the same names.
#ifndef UFP4_CUDA_HOPPER_CUH
#define UFP4_CUDA_HOPPER_CUH

#include "gpu.cuh"

#ifndef __CUDACC__
#include "emulated_hopper.h"
#else

#include <cuda.h>

// Only code for sm_90a has these instructions; elsewhere the kernels are empty and never launched.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define GPU_HAS_WARPGROUPS 1
#else
#define GPU_HAS_WARPGROUPS 0
#endif

// --- Barriers -----------------------------------------------------------------------------------

/** Initializes a barrier, whose phase ends after @p count arrivals and when all announced bytes
 * have arrived. PTX ISA, "mbarrier". */
GPU void gpu_barrier_init(uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

/** Makes this thread's initializations visible to the copy engine. */
GPU void gpu_barrier_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

GPU void gpu_barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/** Arrives, and announces bytes. */
GPU void gpu_barrier_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/** Waits until the phase of this parity has ended; before the first phase, parity 1 has. */
GPU void gpu_barrier_wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// --- The copy engine ----------------------------------------------------------------------------

/** Copies a box of a matrix, whose first element is (x, y), to shared memory; its bytes count at
 * the barrier, including those outside the matrix, which are zeros. PTX ISA,
 * "cp.async.bulk.tensor". */
GPU void gpu_copy_box(uint32_t target, const CUtensorMap *matrix, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4}], [%2];" ::"r"(target),
      "l"(matrix), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

// --- Products of a warpgroup --------------------------------------------------------------------

/** Orders earlier accesses to the registers of products before the products. */
GPU void gpu_wgmma_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

GPU void gpu_wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/** Waits until at most N groups are under way. */
template <int N>
GPU void gpu_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/** Prevents the compiler from moving computations of x across this point. */
template <int N>
GPU void gpu_keep(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(x[i])::"memory");
}
template <int N>
GPU void gpu_keep(int32_t (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+r"(x[i])::"memory");
}

#define GPU_EIGHT(constraint, d, i)                                                           \
  constraint(d[(i)]), constraint(d[(i) + 1]), constraint(d[(i) + 2]), constraint(d[(i) + 3]), \
      constraint(d[(i) + 4]), constraint(d[(i) + 5]), constraint(d[(i) + 6]),                 \
      constraint(d[(i) + 7])
#define GPU_32_NAMES                                                                      \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define GPU_64_NAMES                                                                        \
  GPU_32_NAMES                                                                              \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, " \
  "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

/** D [64][64] = A [64][16] B [64][16]^T in BF16, with FP32 sums from zero, or D += if ADDS; a and
 * b describe the operands in shared memory (gpu_wgmma_operand). Element i of a thread's D is in row
 * 16 (warp) + lane / 4, + 8 if i & 2, and column i / 4 * 8 + lane % 4 * 2 + i % 2. PTX ISA,
 * "wgmma.mma_async". */
template <bool ADDS>
GPU void gpu_wgmma_bf16(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GPU_32_NAMES
      "}, %32, %33, p, 1, 1, 0, 0;\n}"
      : GPU_EIGHT("+f", d, 0), GPU_EIGHT("+f", d, 8), GPU_EIGHT("+f", d, 16), GPU_EIGHT("+f", d, 24)
      : "l"(a), "l"(b), "n"((int)ADDS));
}

/** D [64][128] += A [64][32] B [128][32]^T of signed bytes; D as above. */
GPU void gpu_wgmma_s8(int32_t (&d)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" GPU_64_NAMES "}, %64, %65, p;\n}"
      : GPU_EIGHT("+r", d, 0), GPU_EIGHT("+r", d, 8), GPU_EIGHT("+r", d, 16),
        GPU_EIGHT("+r", d, 24), GPU_EIGHT("+r", d, 32), GPU_EIGHT("+r", d, 40),
        GPU_EIGHT("+r", d, 48), GPU_EIGHT("+r", d, 56)
      : "l"(a), "l"(b));
}

/** Makes a warpgroup take, or release, registers of its thread block. */
template <int N>
GPU void gpu_registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
GPU void gpu_registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

/** Tells the compiler that a value is the same in all lanes of a warp. */
GPU int gpu_uniform(int value) {
  return __shfl_sync(0xFFFFFFFFu, value, 0);
}

#endif

/** Describes an operand of products in shared memory: rows of 128 bytes along k, in the copy
 * engine's 128-byte swizzle, with groups of eight rows 1024 bytes apart. Adding 2 advances by 32
 * bytes of k. PTX ISA, "Matrix Descriptor Format". */
GPU uint64_t gpu_wgmma_operand(uint32_t address) {
  return (uint64_t)((address & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 |
         (uint64_t)1 << 62;
}

#endif
