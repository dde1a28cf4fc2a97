// SPDX-License-Identifier: Apache-2.0
// libufp4_cuda.so on the CUDA runtime: the calls of ufp4_cuda.h, followed by the table.
#include <cstdlib>

#include "library.cuh"
#include "multiply.cuh"
#include "quantize_call.cuh"
#include "ufp4/version.h"

#define UFP4_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// --- The device ---------------------------------------------------------------------------------

double peak_bandwidth(int device) {
  int kilohertz = 0, bits = 0;
  (void)cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device);
  (void)cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device);
  return 2.0 * 1e3 * kilohertz * bits / 8;
}

/** Returns the dense BF16 MACs per cycle and multiprocessor of data-center GPUs, from NVIDIA's
 * architecture white papers. */
double peak_macs(int device, const cudaDeviceProp &properties) {
  int kilohertz = 0;
  (void)cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device);
  const int version = 10 * properties.major + properties.minor;
  const double macs = version == 80 ? 1024 : version == 90 ? 2048 : version == 100 ? 4096 : 0;
  return macs * properties.multiProcessorCount * 1e3 * kilohertz;
}

cudaError_t fill_description(int device, ufp4_cuda_description_t *out) {
  cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess) return error;
  *out = ufp4_cuda_description_t();
  snprintf(out->name, sizeof out->name, "%s", properties.name);
  out->major = properties.major;
  out->minor = properties.minor;
  out->multiprocessors = properties.multiProcessorCount;
  out->memory_bytes = (int64_t)properties.totalGlobalMem;
  out->memory_bytes_per_second = peak_bandwidth(device);
  out->bf16_macs_per_second = peak_macs(device, properties);
  (void)cudaDriverGetVersion(&out->driver_version);
  (void)cudaRuntimeGetVersion(&out->runtime_version);
  return cudaSuccess;
}

ufp4_status_t open_device(int device, gpu_context_t context, ufp4_message_t *message,
                          ufp4_cuda_t **out) {
  ufp4_cuda_t *cuda = (ufp4_cuda_t *)calloc(1, sizeof *cuda);
  if (cuda == nullptr) return fail(message, UFP4_ERROR_MEMORY, "cuda: the host is out of memory");
  cuda->device = device;
  cuda->context = context;
  cudaError_t error = fill_description(device, &cuda->description);
  if (error == cudaSuccess) error = prepare_kernels(cuda);
  if (error == cudaSuccess) error = preload_quantizer();
  if (error == cudaSuccess) {
    *out = cuda;
    return UFP4_OK;
  }
  (void)cudaGetLastError();
  fail(message, UFP4_ERROR_DEVICE, "cuda: %s cannot be used: %s", cuda->description.name,
       cudaGetErrorString(error));
  free(cuda);
  return UFP4_ERROR_DEVICE;
}

}  // namespace

UFP4_EXPORT ufp4_status_t ufp4_cuda_open(int device, ufp4_cuda_t **out, ufp4_message_t *message) {
  if (out == nullptr) return UFP4_ERROR_ARGUMENT;
  *out = nullptr;
  if (device < -1) {
    return fail(message, UFP4_ERROR_ARGUMENT,
                "cuda: device is %d; it must be the number of a GPU, from 0, or -1 for the "
                "thread's current one",
                device);
  }
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess && device < 0) error = cudaGetDevice(&device);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return fail(message, UFP4_ERROR_DEVICE, "cuda: no usable GPU: %s", cudaGetErrorString(error));
  }
  if (device >= count) {
    return fail(message, UFP4_ERROR_DEVICE, "cuda: there is no GPU %d; the number of GPUs is %d",
                device, count);
  }
  const beside_captures_t beside;
  gpu_context_t context;
  ufp4_status_t status = check(message, gpu_context_open(device, &context), "device");
  if (status != UFP4_OK) return status;
  {
    const on_device_t on(context);
    status = check(message, on.error, "device");
    if (status == UFP4_OK) status = open_device(device, context, message, out);
  }
  if (status != UFP4_OK) gpu_context_close(device);
  return status;
}

UFP4_EXPORT void ufp4_cuda_close(ufp4_cuda_t *cuda) {
  if (cuda != nullptr) gpu_context_close(cuda->device);
  free(cuda);
}

UFP4_EXPORT uint32_t ufp4_cuda_version(void) {
  return UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
}

#define STRUCT(type) {#type, sizeof(type)}

UFP4_EXPORT size_t ufp4_cuda_struct_bytes(const char *name) {
  static const struct {
    const char *name;
    size_t bytes;
  } structs[] = {STRUCT(ufp4_cuda_operand_t), STRUCT(ufp4_cuda_call_t), STRUCT(ufp4_cuda_random_t),
                 STRUCT(ufp4_matrix_t),       STRUCT(ufp4_quantize_t),  STRUCT(ufp4_gemm_t)};
  for (const auto &one : structs) {
    if (name != nullptr && strcmp(name, one.name) == 0) return one.bytes;
  }
  return 0;
}

// --- QUANT and AMAX -----------------------------------------------------------------------------

UFP4_EXPORT size_t ufp4_cuda_quantize_workspace(const ufp4_cuda_t *, const ufp4_matrix_t *) {
  return quantize_bytes();
}

UFP4_EXPORT ufp4_status_t ufp4_cuda_quantize(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                                             const ufp4_quantize_t *how,
                                             const ufp4_cuda_operand_t *out, int copies,
                                             uint32_t *flags, const ufp4_cuda_call_t *call) {
  return quantize(cuda, in, how, out, copies, flags, call, false);
}

UFP4_EXPORT ufp4_status_t ufp4_cuda_amax(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out,
                                         int copies, uint32_t *flags,
                                         const ufp4_cuda_call_t *call) {
  return quantize(cuda, in, how, out, copies, flags, call, true);
}

// --- GEMM ---------------------------------------------------------------------------------------

namespace {

const ufp4_cuda_choice_t no_choice = {0, UFP4_CUDA_PRODUCT_AUTO};

gpu_operand_t operand_of(const ufp4_cuda_operand_t &x) {
  gpu_operand_t out = {};
  out.elem = x.elem;
  out.rows = x.rows;
  out.codes = (const uint64_t *)(const void *)x.codes;
  out.scales = x.scales;
  out.place = place_of(x);
  if (x.scale != UFP4_SCALE_E4M3) return out;
  out.exponent.slot = x.exponent;
  out.exponent.value = x.exponent_value;
  return out;
}

ufp4_cuda_gemm_t gemm_job(const ufp4_cuda_choice_t &choice, const ufp4_cuda_operand_t &a,
                          const ufp4_cuda_operand_t &b, const ufp4_gemm_t &how, void *d,
                          int64_t d_ld) {
  ufp4_cuda_gemm_t job = {};
  job.contract = how.contract;
  job.scale = a.scale;
  job.k = a.cols;
  job.a = operand_of(a);
  job.b = operand_of(b);
  if (a.scale == UFP4_SCALE_NVFP4) {
    job.tensor_scale[0] = a.tensor_scale;
    job.tensor_scale[1] = b.tensor_scale;
  }
  job.alpha = how.alpha;
  job.c = how.c;
  job.c_ld = how.c_ld;
  job.accumulate = how.accumulate;
  job.accumulate_ld = how.accumulate_ld;
  job.d = d;
  job.d_dtype = how.d_dtype;
  job.d_ld = d_ld;
  job.choice = choice;
  return job;
}

size_t gemm_bytes(const ufp4_cuda_t *cuda, const ufp4_cuda_choice_t *choice,
                  const ufp4_cuda_operand_t *a, const ufp4_cuda_operand_t *b,
                  const ufp4_gemm_t *how) {
  if (cuda == nullptr || check_sizes(cuda, nullptr, a, b, how) != UFP4_OK) return 0;
  const ufp4_cuda_gemm_t job = gemm_job(*choice, *a, *b, *how, nullptr, 0);
  return multiply_workspace(cuda, &job);
}

ufp4_status_t gemm(const ufp4_cuda_t *cuda, const ufp4_cuda_choice_t *choice,
                   const ufp4_cuda_operand_t *a, const ufp4_cuda_operand_t *b,
                   const ufp4_gemm_t *how, void *d, int64_t d_ld, const ufp4_cuda_call_t *call) {
  ufp4_status_t status = check_gemm(cuda, a, b, how, d, d_ld, call);
  if (status != UFP4_OK) return status;
  const ufp4_cuda_gemm_t job = gemm_job(*choice, *a, *b, *how, d, d_ld);
  status = check_workspace(call, multiply_workspace(cuda, &job));
  if (status != UFP4_OK) return status;
  const on_device_t on(cuda->context);
  status = check(call->message, on.error, "device");
  if (status != UFP4_OK) return status;
  const queue_t queue = {cuda, call->stream, call->message};
  return multiply(queue, &job, workspace_of(call));
}

}  // namespace

UFP4_EXPORT size_t ufp4_cuda_gemm_workspace(const ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *a,
                                            const ufp4_cuda_operand_t *b, const ufp4_gemm_t *how) {
  return gemm_bytes(cuda, &no_choice, a, b, how);
}

UFP4_EXPORT ufp4_status_t ufp4_cuda_gemm(const ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *a,
                                         const ufp4_cuda_operand_t *b, const ufp4_gemm_t *how,
                                         void *d, int64_t d_ld, const ufp4_cuda_call_t *call) {
  return gemm(cuda, &no_choice, a, b, how, d, d_ld, call);
}

#include "table.cuh"
