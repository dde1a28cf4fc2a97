// SPDX-License-Identifier: Apache-2.0
// hopper.cuh for the emulated GPU, and the matrix descriptors of its copy engine, under the names
// of cuda.h.
#ifndef UFP4_TESTS_CUDA_EMULATED_HOPPER_H
#define UFP4_TESTS_CUDA_EMULATED_HOPPER_H

#include "emulated.h"

#define GPU_HAS_WARPGROUPS 1

typedef uint64_t cuuint64_t;
typedef uint32_t cuuint32_t;
enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 };
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B };
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_256B };
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE };

/** A matrix and the box that a copy takes from it; sizes along k are in bytes. */
struct alignas(64) CUtensorMap {
  const unsigned char *matrix;
  int64_t row_bytes, rows, pitch_bytes;
  uint32_t element_bytes, box_bytes, box_rows;
};

namespace emulated {

/** Stands for the driver's cuTensorMapEncodeTiled in two dimensions, and refuses the same
 * arguments. */
CUresult encode_matrix(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *matrix,
                       const cuuint64_t *sizes, const cuuint64_t *pitches, const cuuint32_t *box,
                       const cuuint32_t *steps, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill);

void barrier_init(uint32_t barrier, int count);
void barrier_fence();
void barrier_arrive(uint32_t barrier, int bytes);
void barrier_wait(uint32_t barrier, int parity);
void copy_box(uint32_t target, const CUtensorMap *map, int x, int y, uint32_t barrier);
void wgmma_begin();
void wgmma_bf16(float *d, uint64_t a, uint64_t b, bool adds);
void wgmma_s8(int32_t *d, uint64_t a, uint64_t b);
void wgmma_commit();
void wgmma_wait(unsigned pending);

}  // namespace emulated

GPU void gpu_barrier_init(uint32_t barrier, int count) {
  emulated::barrier_init(barrier, count);
}
GPU void gpu_barrier_fence() {
  emulated::barrier_fence();
}
GPU void gpu_barrier_arrive(uint32_t barrier) {
  emulated::barrier_arrive(barrier, 0);
}
GPU void gpu_barrier_expect(uint32_t barrier, int bytes) {
  emulated::barrier_arrive(barrier, bytes);
}
GPU void gpu_barrier_wait(uint32_t barrier, int parity) {
  emulated::barrier_wait(barrier, parity);
}
GPU void gpu_copy_box(uint32_t target, const CUtensorMap *map, int x, int y, uint32_t barrier) {
  emulated::copy_box(target, map, x, y, barrier);
}
GPU void gpu_wgmma_begin() {
  emulated::wgmma_begin();
}
template <bool ADDS>
GPU void gpu_wgmma_bf16(float (&d)[32], uint64_t a, uint64_t b) {
  emulated::wgmma_bf16(d, a, b, ADDS);
}
GPU void gpu_wgmma_s8(int32_t (&d)[64], uint64_t a, uint64_t b) {
  emulated::wgmma_s8(d, a, b);
}
GPU void gpu_wgmma_commit() {
  emulated::wgmma_commit();
}
template <int N>
GPU void gpu_wgmma_wait() {
  emulated::wgmma_wait(N);
}
// It may stay empty: the compiler must assume that an opaque call changes the products.
template <typename T, int N>
GPU void gpu_keep(T (&)[N]) {}
template <int N>
GPU void gpu_registers_up() {}
template <int N>
GPU void gpu_registers_down() {}
GPU int gpu_uniform(int value) {
  return value;
}

#endif
