// SPDX-License-Identifier: Apache-2.0
// The table of table.h, the last part of library.cu.
#ifndef UFP4_CUDA_TABLE_CUH
#define UFP4_CUDA_TABLE_CUH

#include "narrow.cuh"

// --- The table: opening -------------------------------------------------------------------------

namespace {

void close_gpu(ufp4_cuda_t *cuda) {
  if (cuda == nullptr) return;
  (void)cudaEventDestroy(cuda->start);
  (void)cudaEventDestroy(cuda->stop);
  vendor_close(cuda->vendor);
  ufp4_cuda_close(cuda);
}

ufp4_status_t open_gpu(ufp4_message_t *message, ufp4_cuda_t **out) {
  ufp4_status_t status = ufp4_cuda_open(0, out, message);
  if (status != UFP4_OK) return status;
  (*out)->message = message;
  cudaError_t error = cudaSetDevice(0);
  if (error == cudaSuccess) error = cudaEventCreate(&(*out)->start);
  if (error == cudaSuccess) error = cudaEventCreate(&(*out)->stop);
  status = check(message, error, "timer");
  if (status == UFP4_OK) return status;
  close_gpu(*out);
  *out = nullptr;
  return status;
}

void describe(const ufp4_cuda_t *cuda, ufp4_cuda_description_t *out) {
  *out = cuda->description;
}

// --- Memory -------------------------------------------------------------------------------------

ufp4_status_t allocate(ufp4_cuda_t *cuda, size_t bytes, void **out) {
  *out = nullptr;
  cudaError_t error = cudaMalloc(out, bytes);
  if (error == cudaSuccess) error = cudaMemset(*out, 0, bytes);
  if (error == cudaSuccess) return UFP4_OK;
  (void)cudaFree(*out);
  *out = nullptr;
  return check(cuda->message, error, "memory");
}

void release(ufp4_cuda_t *, void *memory) {
  if (memory != nullptr) (void)cudaFree(memory);
}

ufp4_status_t write(ufp4_cuda_t *cuda, void *target, const void *from, size_t bytes) {
  return check(cuda->message, cudaMemcpy(target, from, bytes, cudaMemcpyHostToDevice),
               "writing memory");
}

ufp4_status_t read(ufp4_cuda_t *cuda, void *target, const void *from, size_t bytes) {
  return check(cuda->message, cudaMemcpy(target, from, bytes, cudaMemcpyDeviceToHost),
               "reading memory");
}

ufp4_status_t clear(ufp4_cuda_t *cuda, void *memory, size_t bytes) {
  return check(cuda->message, cudaMemset(memory, 0, bytes), "clearing memory");
}

// --- Time, and NVIDIA's library -----------------------------------------------------------------

ufp4_status_t synchronize(ufp4_cuda_t *cuda) {
  return check(cuda->message, cudaDeviceSynchronize(), "running");
}

ufp4_status_t timer_start(ufp4_cuda_t *cuda) {
  return check(cuda->message, cudaEventRecord(cuda->start), "timer");
}

ufp4_status_t timer_stop(ufp4_cuda_t *cuda, double *milliseconds) {
  float elapsed = 0;
  cudaError_t error = cudaEventRecord(cuda->stop);
  if (error == cudaSuccess) error = cudaEventSynchronize(cuda->stop);
  if (error == cudaSuccess) error = cudaEventElapsedTime(&elapsed, cuda->start, cuda->stop);
  *milliseconds = elapsed;
  return check(cuda->message, error, "timer");
}

ufp4_status_t vendor(ufp4_cuda_t *cuda, ufp4_cuda_vendor_t what, int64_t m, int64_t n, int64_t k,
                     const void *a, const void *b, void *d) {
  if (what == UFP4_CUDA_VENDOR_COPY) {
    return check(cuda->message, cudaMemcpy(d, a, (size_t)(m * n) * 4, cudaMemcpyDeviceToDevice),
                 "copying");
  }
  if (cuda->vendor == nullptr) cuda->vendor = vendor_open(cuda->message);
  if (cuda->vendor == nullptr) return UFP4_ERROR_UNSUPPORTED;
  return vendor_gemm(cuda->vendor, what, m, n, k, a, b, d, cuda->message);
}

ufp4_status_t narrow(ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *x, int64_t k,
                     ufp4_cuda_narrow_t kind, void *elements, void *scales) {
  const gpu_operand_t in = operand_of(*x);
  const int64_t blocks = divide_up(k, 16);
  const dim3 grid((unsigned)divide_up(in.rows * blocks, NARROW_THREADS));
  if (kind == UFP4_CUDA_NARROW_FP4) {
    GPU_LAUNCH(nullptr, (narrow_kernel<true>), grid, NARROW_THREADS, 0, in, blocks, elements,
               (uint8_t *)scales);
  } else {
    GPU_LAUNCH(nullptr, (narrow_kernel<false>), grid, NARROW_THREADS, 0, in, blocks, elements,
               (uint8_t *)scales);
  }
  return launched(default_queue(cuda), "narrow");
}

ufp4_status_t vendor_narrow(ufp4_cuda_t *cuda, const ufp4_cuda_narrow_gemm_t *job) {
  const int have = 10 * cuda->description.major + cuda->description.minor;
  const int need = job->kind == UFP4_CUDA_NARROW_FP4 ? 100 : 89;
  if (have < need) {
    return fail(cuda->message, UFP4_ERROR_UNSUPPORTED,
                "compute capability %d.%d does not have this arithmetic; %d.%d does", have / 10,
                have % 10, need / 10, need % 10);
  }
  if (cuda->vendor == nullptr) cuda->vendor = vendor_open(cuda->message);
  return cuda->vendor != nullptr ? vendor_gemm_narrow(cuda->vendor, job, cuda->message)
                                 : UFP4_ERROR_UNSUPPORTED;
}

const ufp4_cuda_table_t table = {
    UFP4_CUDA_TABLE_VERSION,
    open_gpu,
    close_gpu,
    describe,
    allocate,
    release,
    write,
    read,
    clear,
    ufp4_cuda_quantize,
    ufp4_cuda_amax,
    ufp4_cuda_quantize_workspace,
    gemm,
    gemm_bytes,
    synchronize,
    timer_start,
    timer_stop,
    vendor,
    narrow,
    vendor_narrow,
};

}  // namespace

UFP4_EXPORT const ufp4_cuda_table_t *ufp4_cuda_table(void) {
  return &table;
}

#endif
