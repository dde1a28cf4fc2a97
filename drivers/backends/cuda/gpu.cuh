// SPDX-License-Identifier: Apache-2.0
// Machine instructions that the kernels need beyond CUDA C++: tensor core products, matrix loads
// and asynchronous copies, each as a small function. A CPU build includes tests/cuda/emulated.h
// instead, which defines the same names.
#ifndef UFP4_CUDA_GPU_CUH
#define UFP4_CUDA_GPU_CUH

#include <stdint.h>

#ifndef __CUDACC__
#include "emulated.h"
#else

#include <cuda_runtime.h>

#define GPU_KERNEL __global__
#define GPU __device__ __forceinline__
#define GPU_FUNCTION __device__ __noinline__
/** Declares a kernel parameter that functions and the copy engine can address. */
#define GPU_PARAMETER const __grid_constant__
#define GPU_LAUNCH_BOUNDS(threads) __launch_bounds__(threads)
/** Also sets the minimum number of thread blocks per multiprocessor. */
#define GPU_LAUNCH_BOUNDS_BLOCKS(threads, blocks) __launch_bounds__(threads, blocks)

extern __shared__ __align__(128) unsigned char gpu_shared_memory[];

/** The dynamic shared memory of the launch. */
GPU unsigned char *gpu_shared() {
  return gpu_shared_memory;
}

GPU uint32_t gpu_shared_address(const void *pointer) {
  return (uint32_t)__cvta_generic_to_shared(pointer);
}

/** D = A B of 16 x 8 x 16 signed bytes. PTX ISA, "Matrix Fragments for mma.m16n8k16 with integer
 * type". */
GPU void gpu_mma_s8(int32_t d[4], const uint32_t a[2], uint32_t b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, "
      "%7, %7};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b), "r"(0));
}

/** D += A B of 16 x 8 x 32 signed bytes. PTX ISA, "Matrix Fragments for mma.m16n8k32". */
GPU void gpu_mma_s8_wide(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** D = A B of 16 x 8 x 16 BF16, FP32 sums from zero. PTX ISA, "Matrix Fragments for mma.m16n8k16
 * with floating point type". */
GPU void gpu_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

/** Loads four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l /
 * 8. PTX ISA, "ldmatrix". */
GPU void gpu_ldmatrix_x4(uint32_t r[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(gpu_shared_address(row))
               : "memory");
}

/** Copies 16 bytes from global to shared memory; they have arrived when the group's wait returns.
 * PTX ISA, "cp.async". */
GPU void gpu_copy_16(void *shared, const void *global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(gpu_shared_address(shared)),
               "l"(global)
               : "memory");
}

GPU void gpu_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/** Waits until at most N groups of this thread are under way. */
template <int N>
GPU void gpu_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/** Returns the larger, or NaN if either is. */
GPU float gpu_max_nan(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}

/** Returns 1 / x for normal numbers, accurate to one last place of FP32 or better. */
GPU float gpu_reciprocal(float x) {
  float near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(x));
  return near;
}

/** Returns whether gpu_e4m3() is an instruction; otherwise it may not be called. */
GPU constexpr bool gpu_has_e4m3() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  return true;
#else
  return false;
#endif
}

/** Rounds a positive number to E4M3, nearest, ties to even, at most 448. */
GPU uint32_t gpu_e4m3(float x) {
  uint16_t pair = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
#endif
  return pair;
}

/** Computes x * y + z on the multiplier, even if y is a known constant. */
GPU uint32_t gpu_multiply_add(uint32_t x, uint32_t y, uint32_t z) {
  uint32_t sum;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(z));
  return sum;
}

/** Computes a +- b +- c as one addition, even if b and c are used elsewhere. */
template <int MINUS_B, int MINUS_C>
GPU uint32_t gpu_add_3(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t sum;
  if (MINUS_B && MINUS_C) {
    asm("{\n.reg .u32 x;\nsub.u32 x, %1, %2;\nsub.u32 %0, x, %3;\n}"
        : "=r"(sum)
        : "r"(a), "r"(b), "r"(c));
  } else if (MINUS_B) {
    asm("{\n.reg .u32 x;\nsub.u32 x, %1, %2;\nadd.u32 %0, x, %3;\n}"
        : "=r"(sum)
        : "r"(a), "r"(b), "r"(c));
  } else if (MINUS_C) {
    asm("{\n.reg .u32 x;\nadd.u32 x, %1, %2;\nsub.u32 %0, x, %3;\n}"
        : "=r"(sum)
        : "r"(a), "r"(b), "r"(c));
  } else {
    asm("{\n.reg .u32 x;\nadd.u32 x, %1, %2;\nadd.u32 %0, x, %3;\n}"
        : "=r"(sum)
        : "r"(a), "r"(b), "r"(c));
  }
  return sum;
}

/** Rotates x left by a constant on the multiplier: adds both halves of x * 2^by. */
GPU uint32_t gpu_turned(uint32_t x, int by) {
  uint64_t wide;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(x), "r"(1u << by));
  return (uint32_t)wide | (uint32_t)(wide >> 32);
}

/** Selects four of the eight bytes of x and y by the nibbles of the selector; bit 3 of a nibble
 * replicates the sign of the byte. PTX ISA, "prmt". */
GPU uint32_t gpu_permute(uint32_t x, uint32_t y, uint32_t selector) {
  uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(x), "r"(y), "r"(selector));
  return bytes;
}

/** Returns the largest number of a warp to all its lanes. */
GPU uint32_t gpu_warp_max(uint32_t value) {
  return __reduce_max_sync(0xFFFFFFFFu, value);
}

/** Returns a word whose bit i is lane i's predicate. */
GPU uint32_t gpu_warp_mask(bool set) {
  return __ballot_sync(0xFFFFFFFFu, set);
}

/** Rounds both to BF16, nearest, ties to even, low in the lower half; NaN gives any NaN. */
GPU uint32_t gpu_bf16_pair(float low, float high) {
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

/** Loads 16 bytes at once. */
GPU void gpu_load_16(const void *from, uint32_t *words) {
  const uint4 four = *(const uint4 *)from;
  words[0] = four.x;
  words[1] = four.y;
  words[2] = four.z;
  words[3] = four.w;
}

/** Loads 8 bytes at once; the kernel must not write them. */
GPU void gpu_read_8(const int32_t *from, int32_t (&words)[2]) {
  const int2 two = __ldg((const int2 *)from);
  words[0] = two.x;
  words[1] = two.y;
}

/** Store 16, 4 and 8 bytes at once. */
GPU void gpu_store_16(void *target, const uint32_t (&words)[4]) {
  *(uint4 *)target = make_uint4(words[0], words[1], words[2], words[3]);
}
GPU void gpu_store_4(uint16_t *target, uint32_t word) {
  *(uint32_t *)(void *)target = word;
}
GPU void gpu_store_8(float *target, float first, float second) {
  *(float2 *)target = make_float2(first, second);
}

#endif

#endif
