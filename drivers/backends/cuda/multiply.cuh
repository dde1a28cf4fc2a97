// SPDX-License-Identifier: Apache-2.0
// The table's gemm: which kernels take a job, what they need of the device, and their launches.
#ifndef UFP4_CUDA_MULTIPLY_CUH
#define UFP4_CUDA_MULTIPLY_CUH

#include "gemm.cuh"
#include "gemm_digits.cuh"
#include "gemm_e8m0.cuh"
#include "gemm_exact.cuh"
#include "gemm_fp32.cuh"
#include "library.cuh"

namespace {

// --- The device's code --------------------------------------------------------------------------

template <typename CONTRACT, int TILE>
cudaError_t allow_shared() {
  return GPU_ALLOW_SHARED((gemm_kernel<CONTRACT, TILE>),
                          (gemm_shape_t<CONTRACT, TILE>::SHARED_BYTES));
}

/** Also the first use of the device's code: a GPU for which there is none says so here. */
cudaError_t allow_all_shared() {
  cudaError_t error = allow_shared<gemm_exact_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_exact_t, 64>();
  if (error == cudaSuccess) error = allow_shared<gemm_folded_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_folded_t, 64>();
  if (error == cudaSuccess) error = allow_shared<gemm_scaled_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_scaled_t, 64>();
  if (error == cudaSuccess) error = GPU_ALLOW_SHARED(digits_kernel, DIGITS_SHARED_BYTES);
  return error;
}

/** What the code that runs on this GPU was compiled for. */
GPU_KERNEL void code_kernel(int32_t *has_warpgroups) {
  if (threadIdx.x == 0) *has_warpgroups = GPU_HAS_WARPGROUPS;
}

cudaError_t ask_code(int32_t *has_warpgroups) {
  void *answer = nullptr;
  cudaError_t error = cudaMalloc(&answer, sizeof *has_warpgroups);
  if (error != cudaSuccess) return error;
  GPU_LAUNCH(code_kernel, dim3(1), 32, 0, (int32_t *)answer);
  error = cudaGetLastError();
  if (error == cudaSuccess)
    error = cudaMemcpy(has_warpgroups, answer, sizeof *has_warpgroups, cudaMemcpyDeviceToHost);
  (void)cudaFree(answer);
  return error;
}

/** wgmma is compute capability 9.0's alone, and in this library only where it was built for sm_90a.
 */
cudaError_t prepare_kernels(ufp4_cuda_t *cuda) {
  int32_t code = 0;
  cudaError_t error = allow_all_shared();
  if (error != cudaSuccess || cuda->description.major != 9 || cuda->description.minor != 0)
    return error;
  error = ask_code(&code);
  if (error != cudaSuccess || !code) return error;
  cuda->encode = gpu_find_encode();
  if (cuda->encode == nullptr) return cudaSuccess;
  cuda->has_warpgroups = 1;
  error = GPU_ALLOW_SHARED(fp32_kernel, fp32_ring_t::SHARED_BYTES);
  return error == cudaSuccess ? GPU_ALLOW_SHARED(exact_kernel, exact_ring_t::SHARED_BYTES) : error;
}

// --- Unpacking ----------------------------------------------------------------------------------

/** Memory for an operand: for each block of a row, and for its weights; of what there is for each
 * row and panel, all is zero. */
ufp4_status_t allocate_unpacked(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job, int side,
                                int64_t chunk, size_t unit_bytes, size_t weight_bytes,
                                gpu_unpacked_t *out) {
  const ufp4_cuda_operand_t &in = side == 0 ? job->a : job->b;
  const bool digits = chunk == DIGITS_CHUNK;
  *out = gpu_unpacked_t();
  out->padded_rows = divide_up(in.rows, GEMM_ROWS) * GEMM_ROWS;
  out->padded_blocks = divide_up(divide_up(job->k, 16), chunk) * chunk;
  out->words = (int)divide_up(out->padded_blocks, 32 * DIGITS_CHUNK);
  const size_t units = (size_t)(out->padded_rows * out->padded_blocks),
               rows = (size_t)out->padded_rows, panels = rows / GEMM_ROWS;
  const size_t bytes = rows + (digits ? rows + panels + 1 + panels * (size_t)out->words : 0) * 4;
  ufp4_status_t status = grow(cuda, &cuda->elements[side], units * unit_bytes);
  if (status == UFP4_OK) status = grow(cuda, &cuda->weights[side], units * weight_bytes);
  if (status == UFP4_OK) status = grow(cuda, &cuda->rows[side], bytes);
  if (status != UFP4_OK) return status;
  out->elements = (unsigned char *)cuda->elements[side].memory;
  out->weights = cuda->weights[side].memory;
  out->poisoned = (uint8_t *)cuda->rows[side].memory;
  if (digits) {
    out->units = (int32_t *)(out->poisoned + rows);
    out->wide = (uint32_t *)(out->units + rows);
    out->thirds = out->wide + panels + 1;
  }
  return clear(cuda, out->poisoned, bytes);
}

/** Thread blocks of kernels that unpack 16 x 16 entries each. */
dim3 turned_grid(const gpu_unpacked_t &out) {
  return dim3(
      (unsigned)(divide_up(out.padded_blocks, UNPACK_SIDE) * out.padded_rows / UNPACK_SIDE));
}

/** BF16 where the scales go into the elements; else bytes, and the scales beside them. */
template <typename CONTRACT>
ufp4_status_t unpack(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job, int side,
                     gpu_unpacked_t *out) {
  const ufp4_cuda_operand_t &in = side == 0 ? job->a : job->b;
  const int64_t blocks = divide_up(job->k, 16);
  ufp4_status_t status = allocate_unpacked(cuda, job, side, GEMM_CHUNK, CONTRACT::UNIT_BYTES,
                                           CONTRACT::HAS_WEIGHTS ? 4 : 0, out);
  if (status != UFP4_OK) return status;
  if constexpr (CONTRACT::HAS_WEIGHTS) {
    GPU_LAUNCH((unpack_bytes_kernel<CONTRACT::INTEGER>),
               dim3((unsigned)divide_up(out->padded_rows * out->padded_blocks, UNPACK_THREADS)),
               UNPACK_THREADS, 0, in, (int)job->scale, blocks, *out, *out);
  } else {
    GPU_LAUNCH(unpack_bf16_kernel, turned_grid(*out), UNPACK_THREADS, 0, in, blocks, *out);
  }
  return launched(cuda, "unpack");
}

/** Digits. @p bytes: memory for bytes and weights too, behind the digits (bytes_of_digits) */
ufp4_status_t unpack_digits(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job, int side, bool bytes,
                            gpu_unpacked_t *out) {
  const ufp4_cuda_operand_t &in = side == 0 ? job->a : job->b;
  const int64_t blocks = divide_up(job->k, 16);
  ufp4_status_t status = allocate_unpacked(
      cuda, job, side, DIGITS_CHUNK, (DIGITS_SLICES + (bytes ? 1 : 0)) * 16, bytes ? 4 : 0, out);
  if (status != UFP4_OK) return status;
  GPU_LAUNCH(digits_units_kernel, dim3((unsigned)(out->padded_rows / (UNPACK_THREADS / 32))),
             UNPACK_THREADS, 0, in, blocks, *out);
  GPU_LAUNCH(unpack_digits_kernel, turned_grid(*out), UNPACK_THREADS, 0, in, blocks, *out);
  return launched(cuda, "unpack");
}

/** The same operand as bytes with weights. */
gpu_unpacked_t bytes_of_digits(const gpu_unpacked_t &digits) {
  gpu_unpacked_t bytes = digits;
  bytes.elements += DIGITS_SLICES * 16 * digits.padded_rows * digits.padded_blocks;
  return bytes;
}

// --- By warps -----------------------------------------------------------------------------------

template <typename CONTRACT, int TILE>
void launch_gemm(const gpu_gemm_t &g) {
  typedef gemm_shape_t<CONTRACT, TILE> shape;
  const int64_t tiles = divide_up(g.job.a.rows, TILE) * divide_up(g.job.b.rows, TILE);
  GPU_LAUNCH((gemm_kernel<CONTRACT, TILE>), dim3((unsigned)tiles), (unsigned)shape::THREADS,
             (size_t)shape::SHARED_BYTES, g);
}

/** Large tiles where there are enough of them for all multiprocessors. */
bool wants_large(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (job->tile != 0) return job->tile == 128;
  return divide_up(job->a.rows, 128) * divide_up(job->b.rows, 128) >=
         cuda->description.multiprocessors;
}

gpu_gemm_t start_gemm(const ufp4_cuda_gemm_t *job) {
  gpu_gemm_t g = {};
  g.job = *job;
  g.unit = 1.0f;
  const int frac[UFP4_ELEM_COUNT] = UFP4_ELEM_FRAC;
  for (int i = 0; i < frac[job->a.elem] + frac[job->b.elem]; i++) g.unit /= 2;
  return g;
}

template <typename CONTRACT>
ufp4_status_t run_gemm(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  gpu_gemm_t g = start_gemm(job);
  ufp4_status_t status = unpack<CONTRACT>(cuda, job, 0, &g.a);
  if (status == UFP4_OK) status = unpack<CONTRACT>(cuda, job, 1, &g.b);
  if (status != UFP4_OK) return status;
  if (wants_large(cuda, job)) {
    launch_gemm<CONTRACT, 128>(g);
  } else {
    launch_gemm<CONTRACT, 64>(g);
  }
  return launched(cuda, "gemm");
}

/** A block of E8M0 scales is as long as an INT8 product. */
ufp4_status_t run_e8m0(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  gpu_gemm_t g = start_gemm(job);
  ufp4_status_t status = unpack<gemm_scaled_t>(cuda, job, 0, &g.a);
  if (status == UFP4_OK) status = unpack<gemm_scaled_t>(cuda, job, 1, &g.b);
  if (status != UFP4_OK) return status;
  const int64_t tiles = divide_up(job->a.rows, E8M0_SIDE) * divide_up(job->b.rows, E8M0_SIDE);
  GPU_LAUNCH(e8m0_kernel, dim3((unsigned)tiles), (unsigned)E8M0_THREADS, 0, g);
  return launched(cuda, "gemm");
}

void launch_unpack_bytes(const ufp4_cuda_gemm_t *job, const ufp4_cuda_operand_t &in,
                         const gpu_unpacked_t &out, const gpu_unpacked_t &other) {
  GPU_LAUNCH((unpack_bytes_kernel<true>),
             dim3((unsigned)divide_up(out.padded_rows * out.padded_blocks, UNPACK_THREADS)),
             UNPACK_THREADS, 0, in, (int)job->scale, divide_up(job->k, 16), out, other);
}

/** Contract exact by digits, and in tiles where they do not pay by blocks: the device chooses. */
ufp4_status_t run_digits(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  gpu_gemm_t g = start_gemm(job);
  ufp4_status_t status = unpack_digits(cuda, job, 0, true, &g.a);
  if (status == UFP4_OK) status = unpack_digits(cuda, job, 1, true, &g.b);
  if (status != UFP4_OK) return status;
  const int64_t tiles = divide_up(job->a.rows, DIGITS_ROWS) * divide_up(job->b.rows, DIGITS_COLS);
  GPU_LAUNCH(digits_kernel, dim3((unsigned)tiles), DIGITS_THREADS, (size_t)DIGITS_SHARED_BYTES, g);
  g.a = bytes_of_digits(g.a);
  g.b = bytes_of_digits(g.b);
  launch_unpack_bytes(job, job->a, g.a, g.b);
  launch_unpack_bytes(job, job->b, g.b, g.a);
  launch_gemm<gemm_exact_t, 128>(g);
  return launched(cuda, "gemm");
}

// --- By warpgroups ------------------------------------------------------------------------------

/** Tells the copy engine of an operand, @p slices of [padded rows][k] elements; boxes have 128
 * bytes of k. */
ufp4_status_t describe_unpacked(ufp4_cuda_t *cuda, const gpu_unpacked_t &in, int64_t k, int slices,
                                CUtensorMapDataType type, unsigned box_rows, CUtensorMap *out) {
  const unsigned bytes = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ? 2 : 1;
  const cuuint64_t sizes[2] = {(cuuint64_t)(divide_up(k, 16) * 16),
                               (cuuint64_t)(slices * in.padded_rows)},
                   pitches[1] = {(cuuint64_t)in.padded_blocks * 16 * bytes};
  const cuuint32_t box[2] = {128 / bytes, box_rows}, steps[2] = {1, 1};
  const CUresult error =
      cuda->encode(out, type, 2, in.elements, sizes, pitches, box, steps,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error == CUDA_SUCCESS) return UFP4_OK;
  return fail(cuda->message, UFP4_ERROR_DEVICE, "cuda: the copy engine takes no %lld x %lld matrix",
              (long long)in.padded_rows, (long long)k);
}

/** Blocks of threads that stay. */
dim3 staying_grid(const ufp4_cuda_t *cuda, int64_t tiles) {
  const int64_t most = cuda->description.multiprocessors;
  return dim3((unsigned)(tiles < most ? tiles : most));
}

int64_t fp32_tiles(const ufp4_cuda_gemm_t *job) {
  return divide_up(job->a.rows, FP32_ROWS) * divide_up(job->b.rows, FP32_COLS);
}

/** With fewer tiles, small ones of the other kernel keep more multiprocessors at work. */
bool fp32_wants_warpgroups(const ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (!cuda->has_warpgroups || job->tile == 64) return false;
  return job->tile == 128 || 3 * fp32_tiles(job) >= cuda->description.multiprocessors;
}

ufp4_status_t run_fp32(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  CUtensorMap a, b;
  gpu_gemm_t g = start_gemm(job);
  ufp4_status_t status = unpack<gemm_folded_t>(cuda, job, 0, &g.a);
  if (status == UFP4_OK) status = unpack<gemm_folded_t>(cuda, job, 1, &g.b);
  if (status == UFP4_OK) status = describe_unpacked(cuda, g.a, job->k, 1, type, FP32_ROWS, &a);
  if (status == UFP4_OK) status = describe_unpacked(cuda, g.b, job->k, 1, type, FP32_COLS, &b);
  if (status != UFP4_OK) return status;
  GPU_LAUNCH(fp32_kernel, staying_grid(cuda, fp32_tiles(job)), FP32_THREADS,
             (size_t)fp32_ring_t::SHARED_BYTES, a, b, g);
  return launched(cuda, "gemm");
}

ufp4_status_t run_exact(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  const int64_t tiles = divide_up(job->a.rows, EXACT_SIDE) * divide_up(job->b.rows, EXACT_SIDE);
  const dim3 grid = staying_grid(cuda, tiles);
  CUtensorMap a, b;
  gpu_gemm_t g = start_gemm(job);
  ufp4_status_t status = unpack_digits(cuda, job, 0, false, &g.a);
  if (status == UFP4_OK) status = unpack_digits(cuda, job, 1, false, &g.b);
  if (status == UFP4_OK)
    status = describe_unpacked(cuda, g.a, job->k, DIGITS_SLICES, type, EXACT_SIDE, &a);
  if (status == UFP4_OK)
    status = describe_unpacked(cuda, g.b, job->k, DIGITS_SLICES, type, EXACT_SIDE, &b);
  if (status == UFP4_OK) {
    status = grow(cuda, &cuda->totals, (size_t)grid.x * EXACT_SIDE * EXACT_SIDE * sizeof(int64_t));
  }
  if (status != UFP4_OK) return status;
  GPU_LAUNCH(exact_kernel, grid, EXACT_THREADS, (size_t)exact_ring_t::SHARED_BYTES, a, b, g,
             (int64_t *)cuda->totals.memory);
  return launched(cuda, "gemm");
}

/** Products of warps in bytes are fast enough for four of digits in place of one: twice those of
 * its consumer relatives, by NVIDIA's figures. */
bool has_fast_bytes(const ufp4_cuda_t *cuda) {
  return cuda->description.major == 8 && cuda->description.minor == 0;
}

// --- All ----------------------------------------------------------------------------------------

ufp4_status_t gemm(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (job->contract == UFP4_CONTRACT_EXACT) {
    if (cuda->has_warpgroups && job->tile != 64) return run_exact(cuda, job);
    return has_fast_bytes(cuda) && wants_large(cuda, job) ? run_digits(cuda, job)
                                                          : run_gemm<gemm_exact_t>(cuda, job);
  }
  if (job->scale == UFP4_SCALE_E8M0) return run_e8m0(cuda, job);
  if (job->scale == UFP4_SCALE_FP32 || job->product == UFP4_CUDA_PRODUCT_INT8)
    return run_gemm<gemm_scaled_t>(cuda, job);
  return fp32_wants_warpgroups(cuda, job) ? run_fp32(cuda, job)
                                          : run_gemm<gemm_folded_t>(cuda, job);
}

}  // namespace

#endif
