// SPDX-License-Identifier: Apache-2.0
// A GPU for tests, on one CPU thread: it emulates those parts of CUDA that
// drivers/backends/cuda/gpu.cuh and the kernels use. Threads of a block are fibers that run until
// they must wait for others; tensor core products follow the fragment layouts of the PTX ISA;
// asynchronous copies land as late as the ISA allows, or at once; shared memory starts as garbage.
// No part of it depends on the kernels.
#ifndef UFP4_TESTS_CUDA_EMULATED_H
#define UFP4_TESTS_CUDA_EMULATED_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "emulated_weather.h"

#define GPU_KERNEL static
#define GPU inline
#define GPU_FUNCTION inline
#define GPU_PARAMETER const
#define GPU_LAUNCH_BOUNDS(threads)
#define GPU_LAUNCH_BOUNDS_BLOCKS(threads, blocks)
// Only one block runs at a time, on one CPU thread, so that its fibers can share a static object.
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace emulated {

extern emulated_weather_t weather;
/** The number of tensor core instructions so far. */
extern uint64_t products;

extern dim3 *thread_index, block_index, block_size, grid_size;

/** Runs the kernel for each thread of each block; aborts on a deadlock between threads. */
void launch(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &kernel);
unsigned char *shared();
/** Returns the address that instructions use. */
uint32_t shared_address(const void *pointer);
/** Returns 10 major + minor. */
int capability();
void sync_block();
uint32_t shuffle_xor(uint32_t value, int by);
uint32_t warp_max(uint32_t value);
uint32_t warp_mask(bool set);
void mma_s8(int32_t d[4], const uint32_t a[2], uint32_t b);
void mma_s8_wide(int32_t d[4], const uint32_t a[4], const uint32_t b[2]);
void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]);
void ldmatrix_x4(uint32_t r[4], const void *row);
void copy_16(void *shared, const void *global);
void copy_commit();
void copy_wait(int pending);

}  // namespace emulated

#define threadIdx (*emulated::thread_index)
#define blockIdx emulated::block_index
#define blockDim emulated::block_size
#define gridDim emulated::grid_size

// --- gpu.cuh ------------------------------------------------------------------------------------

GPU unsigned char *gpu_shared() {
  return emulated::shared();
}
GPU uint32_t gpu_shared_address(const void *pointer) {
  return emulated::shared_address(pointer);
}
GPU void gpu_mma_s8(int32_t d[4], const uint32_t a[2], uint32_t b) {
  emulated::mma_s8(d, a, b);
}
GPU void gpu_mma_s8_wide(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulated::mma_s8_wide(d, a, b);
}
GPU void gpu_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  emulated::mma_bf16(d, a, b);
}
GPU void gpu_ldmatrix_x4(uint32_t r[4], const void *row) {
  emulated::ldmatrix_x4(r, row);
}
GPU void gpu_copy_16(void *shared, const void *global) {
  emulated::copy_16(shared, global);
}
GPU void gpu_copy_commit() {
  emulated::copy_commit();
}
template <int N>
GPU void gpu_copy_wait() {
  emulated::copy_wait(N);
}
GPU uint32_t gpu_warp_max(uint32_t value) {
  return emulated::warp_max(value);
}
GPU uint32_t gpu_warp_mask(bool set) {
  return emulated::warp_mask(set);
}
GPU void gpu_load_16(const void *from, uint32_t *words) {
  if ((uintptr_t)from % 16 != 0) abort();
  memcpy(words, from, 16);
}
GPU void gpu_read_8(const int32_t *from, int32_t (&words)[2]) {
  if ((uintptr_t)from % 8 != 0) abort();
  memcpy(words, from, 8);
}
GPU void gpu_store_4(uint16_t *target, uint32_t word) {
  if ((uintptr_t)target % 4 != 0) abort();
  memcpy(target, &word, 4);
}
GPU void gpu_store_16(void *target, const uint32_t (&words)[4]) {
  if ((uintptr_t)target % 16 != 0) abort();
  memcpy(target, words, 16);
}
GPU void gpu_store_8(float *target, float first, float second) {
  if ((uintptr_t)target % 8 != 0) abort();
  target[0] = first;
  target[1] = second;
}

// --- CUDA C++ -----------------------------------------------------------------------------------

using std::max;
using std::min;

GPU void __syncthreads() {
  emulated::sync_block();
}
GPU int32_t __shfl_xor_sync(unsigned, int32_t value, int by) {
  return (int32_t)emulated::shuffle_xor((uint32_t)value, by);
}
// A plain read and write is atomic, because fibers do not interrupt one another.
GPU int32_t atomicMin(int32_t *target, int32_t value) {
  int32_t old = *target;
  *target = std::min(old, value);
  return old;
}
GPU uint32_t atomicMax(uint32_t *target, uint32_t value) {
  uint32_t old = *target;
  *target = std::max(old, value);
  return old;
}
GPU uint32_t atomicOr(uint32_t *target, uint32_t value) {
  uint32_t old = *target;
  *target |= value;
  return old;
}
GPU float __int_as_float(int32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
GPU int32_t __float_as_int(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
GPU int __clz(int32_t x) {
  return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
GPU int __popc(uint32_t x) {
  return __builtin_popcount(x);
}
GPU int __ffs(int x) {
  return __builtin_ffs(x);
}
GPU int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
GPU uint32_t __funnelshift_l(uint32_t low, uint32_t high, unsigned by) {
  return (uint32_t)((((uint64_t)high << 32 | low) << (by & 31)) >> 32);
}
GPU uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = (uint64_t)y << 32 | x;
  uint32_t out = 0;
  for (int i = 0; i < 4; i++)
    out |= (uint32_t)(bytes >> (8 * (selector >> (4 * i) & 7)) & 255) << (8 * i);
  return out;
}

#include "emulated_arithmetic.h"

#endif
