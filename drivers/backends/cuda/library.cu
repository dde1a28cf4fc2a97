// SPDX-License-Identifier: Apache-2.0
// libufp4_cuda.so: the table of table.h on the CUDA runtime. Kernels go into the default stream, so
// they run in the order of the calls.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "gemm.cuh"
#include "narrow.cuh"
#include "quantize.cuh"
#include "runtime.cuh"
#include "table.h"
#include "vendor.h"

/** Device memory that grows and is kept. */
typedef struct {
  void *memory;
  size_t bytes;
} scratch_t;

enum { SIDES = 2 };

struct ufp4_cuda {
  ufp4_message_t *message;
  ufp4_cuda_description_t description;
  cudaEvent_t start, stop;
  scratch_t elements[SIDES], weights[SIDES], poisoned[SIDES];
  vendor_t *vendor;
};

namespace {

ufp4_status_t fail(ufp4_message_t *message, ufp4_status_t status, const char *format, ...) {
  if (message == nullptr) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message->text, sizeof message->text, format, arguments);
  va_end(arguments);
  return status;
}

/** A failed call: out of memory leaves the GPU as it was, anything else is its end. */
ufp4_status_t check(ufp4_cuda_t *cuda, cudaError_t error, const char *what) {
  if (error == cudaSuccess) return UFP4_OK;
  const ufp4_status_t status =
      error == cudaErrorMemoryAllocation ? UFP4_ERROR_MEMORY : UFP4_ERROR_DEVICE;
  if (status == UFP4_ERROR_MEMORY) (void)cudaGetLastError();
  return fail(cuda->message, status, "cuda: %s: %s", what, cudaGetErrorString(error));
}

ufp4_status_t launched(ufp4_cuda_t *cuda, const char *what) {
  return check(cuda, cudaGetLastError(), what);
}

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
    (void)cudaFree(cuda->poisoned[i].memory);
  }
  (void)cudaEventDestroy(cuda->start);
  (void)cudaEventDestroy(cuda->stop);
  vendor_close(cuda->vendor);
  free(cuda);
}

template <typename CONTRACT, int TILE>
cudaError_t allow_shared() {
  return GPU_ALLOW_SHARED((gemm_kernel<CONTRACT, TILE>),
                          (gemm_shape_t<CONTRACT, TILE>::SHARED_BYTES));
}

/** Also the first use of the device's code: a GPU for which there is none says so here. */
cudaError_t prepare_kernels() {
  cudaError_t error = allow_shared<gemm_exact_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_exact_t, 64>();
  if (error == cudaSuccess) error = allow_shared<gemm_folded_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_folded_t, 64>();
  if (error == cudaSuccess) error = allow_shared<gemm_scaled_t, 128>();
  if (error == cudaSuccess) error = allow_shared<gemm_scaled_t, 64>();
  return error;
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
  if (error == cudaSuccess) error = prepare_kernels();
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

ufp4_status_t clear(ufp4_cuda_t *cuda, void *memory, size_t bytes) {
  return check(cuda, cudaMemset(memory, 0, bytes), "clearing memory");
}

ufp4_status_t grow(ufp4_cuda_t *cuda, scratch_t *scratch, size_t bytes) {
  if (scratch->bytes >= bytes) return UFP4_OK;
  (void)cudaFree(scratch->memory);
  *scratch = scratch_t();
  cudaError_t error = cudaMalloc(&scratch->memory, bytes);
  if (error == cudaSuccess) scratch->bytes = bytes;
  return check(cuda, error, "memory for unpacked operands");
}

// --- QUANT and AMAX -----------------------------------------------------------------------------

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

dim3 quantize_grid(const ufp4_cuda_quantize_t *job) {
  return dim3((unsigned)divide_up(job->cols, QUANTIZE_SIDE),
              (unsigned)divide_up(job->rows, QUANTIZE_SIDE));
}

ufp4_status_t amax(ufp4_cuda_t *cuda, const ufp4_cuda_quantize_t *job) {
  if (job->dtype == UFP4_DTYPE_BF16) {
    GPU_LAUNCH((amax_kernel<true>), quantize_grid(job), QUANTIZE_THREADS, 0, *job);
  } else {
    GPU_LAUNCH((amax_kernel<false>), quantize_grid(job), QUANTIZE_THREADS, 0, *job);
  }
  return launched(cuda, "amax");
}

ufp4_status_t settle(ufp4_cuda_t *cuda, const int32_t *largest, int32_t *slot) {
  GPU_LAUNCH(settle_kernel, dim3(1), 32, 0, largest, slot);
  return launched(cuda, "amax");
}

template <int ELEM, bool SR>
void launch_quantize_of(const ufp4_cuda_quantize_t &job) {
  if (job.dtype == UFP4_DTYPE_BF16) {
    GPU_LAUNCH((quantize_kernel<ELEM, SR, true>), quantize_grid(&job), QUANTIZE_THREADS, 0, job);
  } else {
    GPU_LAUNCH((quantize_kernel<ELEM, SR, false>), quantize_grid(&job), QUANTIZE_THREADS, 0, job);
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

// --- GEMM ---------------------------------------------------------------------------------------

template <typename CONTRACT>
ufp4_status_t unpack(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job, int side,
                     gpu_unpacked_t *out) {
  const ufp4_cuda_operand_t &in = side == 0 ? job->a : job->b;
  const int64_t blocks = divide_up(job->k, 16);
  out->padded_rows = divide_up(in.rows, GEMM_ROWS) * GEMM_ROWS;
  out->padded_blocks = divide_up(blocks, GEMM_CHUNK) * GEMM_CHUNK;
  const int64_t units = out->padded_rows * out->padded_blocks;
  ufp4_status_t status = grow(cuda, &cuda->elements[side], (size_t)(units * CONTRACT::UNIT_BYTES));
  if (status == UFP4_OK && CONTRACT::HAS_WEIGHTS)
    status = grow(cuda, &cuda->weights[side], (size_t)(units * 4));
  if (status == UFP4_OK) status = grow(cuda, &cuda->poisoned[side], (size_t)out->padded_rows);
  if (status != UFP4_OK) return status;
  out->elements = (unsigned char *)cuda->elements[side].memory;
  out->weights = cuda->weights[side].memory;
  out->poisoned = (uint8_t *)cuda->poisoned[side].memory;
  status = clear(cuda, out->poisoned, (size_t)out->padded_rows);
  if (status != UFP4_OK) return status;
  GPU_LAUNCH((unpack_kernel<CONTRACT::KIND>), dim3((unsigned)divide_up(units, UNPACK_THREADS)),
             UNPACK_THREADS, 0, in, (int)job->scale, blocks, *out);
  return launched(cuda, "unpack");
}

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

template <typename CONTRACT>
ufp4_status_t run_gemm(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  gpu_gemm_t g = {};
  g.job = *job;
  g.unit = 1.0f;
  const int frac[UFP4_ELEM_COUNT] = UFP4_ELEM_FRAC;
  for (int i = 0; i < frac[job->a.elem] + frac[job->b.elem]; i++) g.unit /= 2;
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

ufp4_status_t gemm(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job) {
  if (job->contract == UFP4_CONTRACT_EXACT) return run_gemm<gemm_exact_t>(cuda, job);
  const bool folds = job->scale != UFP4_SCALE_FP32 && job->product != UFP4_CUDA_PRODUCT_INT8;
  return folds ? run_gemm<gemm_folded_t>(cuda, job) : run_gemm<gemm_scaled_t>(cuda, job);
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
