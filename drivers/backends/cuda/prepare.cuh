// SPDX-License-Identifier: Apache-2.0
// Prepares a device for the GEMM kernels before the first job: allows them more shared memory than
// the default, loads their code, and queries for which GPUs that code was compiled.
#ifndef UFP4_CUDA_PREPARE_CUH
#define UFP4_CUDA_PREPARE_CUH

#include "gemm.cuh"
#include "gemm_digits.cuh"
#include "gemm_e8m0.cuh"
#include "gemm_exact.cuh"
#include "gemm_fp32.cuh"
#include "gemm_nv.cuh"
#include "library.cuh"

namespace {

template <typename CONTRACT, int TILE>
cudaError_t allow_shared() {
  const cudaError_t error =
      GPU_ALLOW_SHARED((gemm_kernel<CONTRACT, TILE>), (gemm_shape_t<CONTRACT, TILE>::SHARED_BYTES));
  return error == cudaSuccess ? gpu_preload(gemm_kernel<CONTRACT, TILE>) : error;
}

/** This is also the first use of the device's code, so an unsupported GPU is detected here. */
cudaError_t allow_all_shared() {
  cudaError_t error = allow_shared<gemm_exact_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_exact_t, 64>();
  if (error == cudaSuccess) error = allow_shared<gemm_folded_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_folded_t, 64>();
  if (error == cudaSuccess) error = allow_shared<gemm_scaled_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_scaled_t, 64>();
  if (error == cudaSuccess) error = GPU_ALLOW_SHARED(digits_kernel, DIGITS_SHARED_BYTES);
  return error == cudaSuccess ? gpu_preload(digits_kernel) : error;
}

/** The kernels that need only the default shared memory. */
cudaError_t preload_gemm() {
  cudaError_t error = gpu_preload(unpack_bf16_kernel<UFP4_SCALE_E4M3>);
  if (error == cudaSuccess) error = gpu_preload(unpack_bf16_kernel<UFP4_SCALE_E8M0>);
  if (error == cudaSuccess) error = gpu_preload(unpack_bytes_kernel<true>);
  if (error == cudaSuccess) error = gpu_preload(unpack_bytes_kernel<false>);
  if (error == cudaSuccess) error = gpu_preload(digits_units_kernel);
  if (error == cudaSuccess) error = gpu_preload(unpack_digits_kernel);
  return error == cudaSuccess ? gpu_preload(e8m0_kernel) : error;
}

template <int USERS, int LENGTH>
cudaError_t allow_fp32() {
  const cudaError_t error =
      GPU_ALLOW_SHARED((fp32_kernel<USERS, LENGTH>), (fp32_shape_t<USERS>::ring::SHARED_BYTES));
  return error == cudaSuccess ? gpu_preload(fp32_kernel<USERS, LENGTH>) : error;
}

/** The kernels for warpgroups. */
cudaError_t allow_warpgroups() {
  cudaError_t error = allow_fp32<2, 1>();
  if (error == cudaSuccess) error = allow_fp32<3, 1>();
  if (error == cudaSuccess) error = allow_fp32<2, 2>();
  if (error == cudaSuccess) error = allow_fp32<3, 2>();
  if (error == cudaSuccess) error = GPU_ALLOW_SHARED(exact_kernel, exact_ring_t::SHARED_BYTES);
  if (error == cudaSuccess) error = gpu_preload(exact_join_kernel);
  return error == cudaSuccess ? gpu_preload(exact_kernel) : error;
}

template <int TILE>
cudaError_t allow_nv_tiles() {
  const cudaError_t error = GPU_ALLOW_SHARED((nv_kernel<TILE>), (nv_shape_t<TILE>::SHARED_BYTES));
  return error == cudaSuccess ? gpu_preload(nv_kernel<TILE>) : error;
}

/** The kernel for contract nv. */
cudaError_t allow_nv() {
  cudaError_t error = allow_nv_tiles<128>();
  if (error == cudaSuccess) error = allow_nv_tiles<64>();
  return error == cudaSuccess ? gpu_preload(unpack_nv_kernel) : error;
}

enum { CODE_WARPGROUPS = 1, CODE_BLOCK_SCALES = 2 };

/** Returns for which GPUs the code that runs on this one was compiled. */
GPU_KERNEL void code_kernel(int32_t *code) {
  if (threadIdx.x == 0)
    *code = GPU_HAS_WARPGROUPS * CODE_WARPGROUPS | GPU_HAS_BLOCK_SCALES * CODE_BLOCK_SCALES;
}

/** Uses its own stream, because the default stream accepts no work while another is captured. */
cudaError_t ask_code(int32_t *code) {
  void *answer = nullptr;
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaMalloc(&answer, sizeof *code);
  if (error != cudaSuccess) return error;
  error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) {
    GPU_LAUNCH(stream, code_kernel, dim3(1), 32, 0, (int32_t *)answer);
    error = cudaGetLastError();
    if (error == cudaSuccess)
      error = cudaMemcpyAsync(code, answer, sizeof *code, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
  }
  (void)cudaFree(answer);
  return error;
}

/** Sets which kernels are used, with the reason if the GPU could use better ones. */
void say_kernels(ufp4_cuda_t *cuda, const char *why) {
  snprintf(cuda->description.kernels, sizeof cuda->description.kernels, "%s", why);
}

/** Explains why contract nv is refused. */
void refuse_nv(ufp4_cuda_t *cuda, const char *why) {
  snprintf(cuda->description.no_nv, sizeof cuda->description.no_nv, "%s", why);
}

/** wgmma exists only on compute capability 9.0, and in this library only if it was built for
 * sm_90a. */
cudaError_t prepare_warpgroups(ufp4_cuda_t *cuda, int32_t code) {
  if (!(code & CODE_WARPGROUPS)) {
    say_kernels(cuda, "warps, which are slower: the library has no code for 90a");
    return cudaSuccess;
  }
  cuda->encode = gpu_find_encode();
  if (cuda->encode == nullptr) {
    say_kernels(cuda, "warps, which are slower: the driver has no cuTensorMapEncodeTiled");
    return cudaSuccess;
  }
  cuda->has_warpgroups = 1;
  say_kernels(cuda, "warpgroups");
  return allow_warpgroups();
}

/** FP4 products of a warp exist only on compute capability 12.x, and in code for sm_120f. */
cudaError_t prepare_nv(ufp4_cuda_t *cuda, int32_t code) {
  if (!(code & CODE_BLOCK_SCALES)) {
    say_kernels(cuda, "warps, without the contract nv: the library has no code for 120f");
    refuse_nv(cuda, "the library has no code for 120f");
    return cudaSuccess;
  }
  say_kernels(cuda, "warps, the contract nv too");
  refuse_nv(cuda, "");
  return allow_nv();
}

cudaError_t prepare_kernels(ufp4_cuda_t *cuda) {
  const int major = cuda->description.major, minor = cuda->description.minor;
  int32_t code = 0;
  char why[sizeof cuda->description.no_nv];
  cudaError_t error = allow_all_shared();
  say_kernels(cuda, "warps");
  snprintf(why, sizeof why, "it needs compute capability 12.0 or 12.1, and this GPU has %d.%d",
           major, minor);
  refuse_nv(cuda, why);
  if (error == cudaSuccess) error = preload_gemm();
  const bool is_hopper = major == 9 && minor == 0;
  if (error != cudaSuccess || (!is_hopper && major != 12)) return error;
  error = ask_code(&code);
  if (error != cudaSuccess) return error;
  return is_hopper ? prepare_warpgroups(cuda, code) : prepare_nv(cuda, code);
}

}  // namespace

#endif
