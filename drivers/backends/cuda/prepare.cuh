// SPDX-License-Identifier: Apache-2.0
// This prepares a device for the GEMM kernels before the first job: it allows them shared memory
// beyond what all kernels have, loads their code, and asks whether that has warpgroups.
#ifndef UFP4_CUDA_PREPARE_CUH
#define UFP4_CUDA_PREPARE_CUH

#include "gemm.cuh"
#include "gemm_digits.cuh"
#include "gemm_e8m0.cuh"
#include "gemm_exact.cuh"
#include "gemm_fp32.cuh"
#include "library.cuh"

namespace {

template <typename CONTRACT, int TILE>
cudaError_t allow_shared() {
  const cudaError_t error =
      GPU_ALLOW_SHARED((gemm_kernel<CONTRACT, TILE>), (gemm_shape_t<CONTRACT, TILE>::SHARED_BYTES));
  return error == cudaSuccess ? gpu_preload(gemm_kernel<CONTRACT, TILE>) : error;
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
  return error == cudaSuccess ? gpu_preload(digits_kernel) : error;
}

/** Those that need no more shared memory than all have. */
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

/** Those of warpgroups. */
cudaError_t allow_warpgroups() {
  cudaError_t error = allow_fp32<2, 1>();
  if (error == cudaSuccess) error = allow_fp32<3, 1>();
  if (error == cudaSuccess) error = allow_fp32<2, 2>();
  if (error == cudaSuccess) error = allow_fp32<3, 2>();
  if (error == cudaSuccess) error = GPU_ALLOW_SHARED(exact_kernel, exact_ring_t::SHARED_BYTES);
  if (error == cudaSuccess) error = gpu_preload(exact_join_kernel);
  return error == cudaSuccess ? gpu_preload(exact_kernel) : error;
}

/** This says whether the code that runs on this GPU was compiled for one with warpgroups. */
GPU_KERNEL void code_kernel(int32_t *has_warpgroups) {
  if (threadIdx.x == 0) *has_warpgroups = GPU_HAS_WARPGROUPS;
}

/** On a stream of its own: the default one takes no work while another is captured. */
cudaError_t ask_code(int32_t *has_warpgroups) {
  void *answer = nullptr;
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaMalloc(&answer, sizeof *has_warpgroups);
  if (error != cudaSuccess) return error;
  error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) {
    GPU_LAUNCH(stream, code_kernel, dim3(1), 32, 0, (int32_t *)answer);
    error = cudaGetLastError();
    if (error == cudaSuccess)
      error = cudaMemcpyAsync(has_warpgroups, answer, sizeof *has_warpgroups,
                              cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
  }
  (void)cudaFree(answer);
  return error;
}

/** In words, where kernels are the slower ones of compute capability 9.0. */
void say_kernels(ufp4_cuda_t *cuda, const char *why) {
  snprintf(cuda->description.kernels, sizeof cuda->description.kernels, "%s", why);
}

/** wgmma is compute capability 9.0's alone, and in this library only where it was built for sm_90a.
 */
cudaError_t prepare_kernels(ufp4_cuda_t *cuda) {
  int32_t code = 0;
  cudaError_t error = allow_all_shared();
  say_kernels(cuda, "warps");
  if (error == cudaSuccess) error = preload_gemm();
  if (error != cudaSuccess || cuda->description.major != 9 || cuda->description.minor != 0)
    return error;
  error = ask_code(&code);
  if (error != cudaSuccess) return error;
  if (!code) {
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

}  // namespace

#endif
