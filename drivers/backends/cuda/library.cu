// SPDX-License-Identifier: Apache-2.0
// libufp4_cuda.so: the table of table.h on the CUDA runtime. Kernels go into the default stream, so
// they run in the order of the calls.
#include <cstdlib>

#include "library.cuh"
#include "multiply.cuh"
#include "narrow.cuh"
#include "quantize_launch.cuh"

namespace {

// --- The device ---------------------------------------------------------------------------------

double peak_bandwidth() {
  int kilohertz = 0, bits = 0;
  (void)cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, 0);
  (void)cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0);
  return 2.0 * 1e3 * kilohertz * bits / 8;
}

/** Dense BF16 MACs a cycle and multiprocessor: of the data-center GPUs, from NVIDIA's architecture
 * white papers. */
double peak_macs(const cudaDeviceProp &properties) {
  int kilohertz = 0;
  (void)cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0);
  const int version = 10 * properties.major + properties.minor;
  const double macs = version == 80 ? 1024 : version == 90 ? 2048 : version == 100 ? 4096 : 0;
  return macs * properties.multiProcessorCount * 1e3 * kilohertz;
}

cudaError_t fill_description(ufp4_cuda_description_t *out) {
  cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess) return error;
  *out = ufp4_cuda_description_t();
  snprintf(out->name, sizeof out->name, "%s", properties.name);
  out->major = properties.major;
  out->minor = properties.minor;
  out->multiprocessors = properties.multiProcessorCount;
  out->memory_bytes = (int64_t)properties.totalGlobalMem;
  out->memory_bytes_per_second = peak_bandwidth();
  out->bf16_macs_per_second = peak_macs(properties);
  (void)cudaDriverGetVersion(&out->driver_version);
  (void)cudaRuntimeGetVersion(&out->runtime_version);
  return cudaSuccess;
}

void close_gpu(ufp4_cuda_t *cuda) {
  if (cuda == nullptr) return;
  for (int i = 0; i < SIDES; i++) {
    (void)cudaFree(cuda->elements[i].memory);
    (void)cudaFree(cuda->weights[i].memory);
    (void)cudaFree(cuda->rows[i].memory);
  }
  (void)cudaFree(cuda->totals.memory);
  (void)cudaEventDestroy(cuda->start);
  (void)cudaEventDestroy(cuda->stop);
  vendor_close(cuda->vendor);
  free(cuda);
}

ufp4_status_t open_gpu(ufp4_message_t *message, ufp4_cuda_t **out) {
  *out = nullptr;
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) error = cudaSetDevice(0);
  if (error != cudaSuccess) {
    return fail(message, UFP4_ERROR_DEVICE, "cuda: no GPU that can be used: %s",
                cudaGetErrorString(error));
  }
  ufp4_cuda_t *cuda = (ufp4_cuda_t *)calloc(1, sizeof *cuda);
  if (cuda == nullptr) return fail(message, UFP4_ERROR_MEMORY, "cuda: the host is out of memory");
  cuda->message = message;
  error = fill_description(&cuda->description);
  if (error == cudaSuccess) error = prepare_kernels(cuda);
  if (error == cudaSuccess) error = cudaEventCreate(&cuda->start);
  if (error == cudaSuccess) error = cudaEventCreate(&cuda->stop);
  if (error != cudaSuccess) {
    const char *name = cuda->description.name;
    fail(message, UFP4_ERROR_DEVICE, "cuda: %s cannot be used: %s", name,
         cudaGetErrorString(error));
    close_gpu(cuda);
    return UFP4_ERROR_DEVICE;
  }
  *out = cuda;
  return UFP4_OK;
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
  return check(cuda, error, "memory");
}

void release(ufp4_cuda_t *, void *memory) {
  (void)cudaFree(memory);
}

ufp4_status_t write(ufp4_cuda_t *cuda, void *to, const void *from, size_t bytes) {
  return check(cuda, cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "writing memory");
}

ufp4_status_t read(ufp4_cuda_t *cuda, void *to, const void *from, size_t bytes) {
  return check(cuda, cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "reading memory");
}

// --- QUANT and AMAX -----------------------------------------------------------------------------

template <bool BF16>
void launch_amax(const ufp4_cuda_quantize_t &job) {
  const quantize_part_t whole = {{0, 0}, quantize_grid(job.rows, job.cols)};
  if (wants_scales_kernel(job)) {
    GPU_LAUNCH((amax_kernel<BF16, true>), whole.grid, QUANTIZE_THREADS, 0, job, whole.origin);
  } else {
    launch_quick_amax<BF16>(job);
  }
}

ufp4_status_t amax(ufp4_cuda_t *cuda, const ufp4_cuda_quantize_t *job) {
  if (job->dtype == UFP4_DTYPE_BF16) {
    launch_amax<true>(*job);
  } else {
    launch_amax<false>(*job);
  }
  return launched(cuda, "amax");
}

ufp4_status_t settle(ufp4_cuda_t *cuda, const int32_t *largest, int32_t *slot) {
  GPU_LAUNCH(settle_kernel, dim3(1), 32, 0, largest, slot);
  return launched(cuda, "amax");
}

template <int ELEM, bool SR, bool BF16>
void launch_quantize_from(const ufp4_cuda_quantize_t &job) {
  if (wants_scales_kernel(job)) {
    GPU_LAUNCH((quantize_scales_kernel<ELEM, SR, BF16>), quantize_grid(job.rows, job.cols),
               QUANTIZE_THREADS, 0, job);
  } else {
    launch_quick<ELEM, SR, BF16>(job);
  }
}

template <int ELEM, bool SR>
void launch_quantize_of(const ufp4_cuda_quantize_t &job) {
  if (job.dtype == UFP4_DTYPE_BF16) {
    launch_quantize_from<ELEM, SR, true>(job);
  } else {
    launch_quantize_from<ELEM, SR, false>(job);
  }
}

template <int ELEM>
void launch_quantize(const ufp4_cuda_quantize_t &job) {
  if (job.round == UFP4_ROUND_SR) {
    launch_quantize_of<ELEM, true>(job);
  } else {
    launch_quantize_of<ELEM, false>(job);
  }
}

ufp4_status_t quantize(ufp4_cuda_t *cuda, const ufp4_cuda_quantize_t *job) {
  switch (job->elem) {
    case UFP4_ELEM_E2M1:
      launch_quantize<UFP4_ELEM_E2M1>(*job);
      break;
    case UFP4_ELEM_E1M2:
      launch_quantize<UFP4_ELEM_E1M2>(*job);
      break;
    default:
      launch_quantize<UFP4_ELEM_INT4>(*job);
      break;
  }
  return launched(cuda, "quantize");
}

// --- Time, and NVIDIA's library -----------------------------------------------------------------

ufp4_status_t synchronize(ufp4_cuda_t *cuda) {
  return check(cuda, cudaDeviceSynchronize(), "running");
}

ufp4_status_t timer_start(ufp4_cuda_t *cuda) {
  return check(cuda, cudaEventRecord(cuda->start), "timer");
}

ufp4_status_t timer_stop(ufp4_cuda_t *cuda, double *milliseconds) {
  float elapsed = 0;
  cudaError_t error = cudaEventRecord(cuda->stop);
  if (error == cudaSuccess) error = cudaEventSynchronize(cuda->stop);
  if (error == cudaSuccess) error = cudaEventElapsedTime(&elapsed, cuda->start, cuda->stop);
  *milliseconds = elapsed;
  return check(cuda, error, "timer");
}

ufp4_status_t vendor(ufp4_cuda_t *cuda, ufp4_cuda_vendor_t what, int64_t m, int64_t n, int64_t k,
                     const void *a, const void *b, void *d) {
  if (what == UFP4_CUDA_VENDOR_COPY)
    return check(cuda, cudaMemcpy(d, a, (size_t)(m * n) * 4, cudaMemcpyDeviceToDevice), "copying");
  if (cuda->vendor == nullptr) cuda->vendor = vendor_open(cuda->message);
  if (cuda->vendor == nullptr) return UFP4_ERROR_UNSUPPORTED;
  return vendor_gemm(cuda->vendor, what, m, n, k, a, b, d, cuda->message);
}

ufp4_status_t narrow(ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *in, int64_t k,
                     ufp4_cuda_narrow_t kind, void *elements, void *scales) {
  const int64_t blocks = divide_up(k, 16);
  const dim3 grid((unsigned)divide_up(in->rows * blocks, NARROW_THREADS));
  if (kind == UFP4_CUDA_NARROW_FP4) {
    GPU_LAUNCH((narrow_kernel<true>), grid, NARROW_THREADS, 0, *in, blocks, elements,
               (uint8_t *)scales);
  } else {
    GPU_LAUNCH((narrow_kernel<false>), grid, NARROW_THREADS, 0, *in, blocks, elements,
               (uint8_t *)scales);
  }
  return launched(cuda, "narrow");
}

ufp4_status_t vendor_narrow(ufp4_cuda_t *cuda, const ufp4_cuda_narrow_gemm_t *job) {
  const int have = 10 * cuda->description.major + cuda->description.minor;
  const int need = job->kind == UFP4_CUDA_NARROW_FP4 ? 100 : 89;
  if (have < need) {
    return fail(cuda->message, UFP4_ERROR_UNSUPPORTED,
                "compute capability %d.%d has no such arithmetic; %d.%d has", have / 10, have % 10,
                need / 10, need % 10);
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
    amax,
    settle,
    quantize,
    gemm,
    synchronize,
    timer_start,
    timer_stop,
    vendor,
    narrow,
    vendor_narrow,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ufp4_cuda_table_t *ufp4_cuda_table(void) {
  return &table;
}
