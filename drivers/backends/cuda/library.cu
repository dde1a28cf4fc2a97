// SPDX-License-Identifier: Apache-2.0
// libufp4_cuda.so on the CUDA runtime: the calls of ufp4_cuda.h, and at its end the table.
#include <cstdlib>

#include "checks.cuh"
#include "library.cuh"
#include "multiply.cuh"
#include "quantize_launch.cuh"
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

/** Dense BF16 MACs a cycle and multiprocessor: of the data-center GPUs, from NVIDIA's architecture
 * white papers. */
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

cudaError_t preload_quantizer();

ufp4_status_t open_device(int device, ufp4_message_t *message, ufp4_cuda_t **out) {
  ufp4_cuda_t *cuda = (ufp4_cuda_t *)calloc(1, sizeof *cuda);
  if (cuda == nullptr) return fail(message, UFP4_ERROR_MEMORY, "cuda: the host is out of memory");
  cuda->device = device;
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
                "cuda: GPUs are numbered from 0, and -1 is the thread's; %d is neither", device);
  }
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess && device < 0) error = cudaGetDevice(&device);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return fail(message, UFP4_ERROR_DEVICE, "cuda: no GPU that can be used: %s",
                cudaGetErrorString(error));
  }
  if (device >= count) {
    return fail(message, UFP4_ERROR_DEVICE, "cuda: there is no GPU %d; there are %d", device,
                count);
  }
  const on_device_t on(device);
  const ufp4_status_t status = check(message, on.error, "device");
  return status != UFP4_OK ? status : open_device(device, message, out);
}

UFP4_EXPORT void ufp4_cuda_close(ufp4_cuda_t *cuda) {
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
  } structs[] = {STRUCT(ufp4_cuda_operand_t), STRUCT(ufp4_cuda_call_t), STRUCT(ufp4_matrix_t),
                 STRUCT(ufp4_quantize_t), STRUCT(ufp4_gemm_t)};
  for (const auto &one : structs) {
    if (name != nullptr && strcmp(name, one.name) == 0) return one.bytes;
  }
  return 0;
}

namespace {

// --- QUANT and AMAX -----------------------------------------------------------------------------

template <bool BF16>
void launch_amax(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  const quantize_part_t whole = {{0, 0}, quantize_grid(job.rows, job.cols)};
  if (wants_scales_kernel(job)) {
    GPU_LAUNCH(queue.stream, (amax_kernel<BF16, true>), whole.grid, QUANTIZE_THREADS, 0, job,
               whole.origin);
  } else {
    launch_quick_amax<BF16>(queue, job);
  }
}

void launch_amax_of(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  if (job.dtype == UFP4_DTYPE_BF16) {
    launch_amax<true>(queue, job);
  } else {
    launch_amax<false>(queue, job);
  }
}

template <int ELEM, bool SR, bool BF16>
void launch_quantize_from(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  if (wants_scales_kernel(job)) {
    GPU_LAUNCH(queue.stream, (quantize_scales_kernel<ELEM, SR, BF16>),
               quantize_grid(job.rows, job.cols), QUANTIZE_THREADS, 0, job);
  } else {
    launch_quick<ELEM, SR, BF16>(queue, job);
  }
}

template <int ELEM, bool SR>
void launch_quantize_of(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  if (job.dtype == UFP4_DTYPE_BF16) {
    launch_quantize_from<ELEM, SR, true>(queue, job);
  } else {
    launch_quantize_from<ELEM, SR, false>(queue, job);
  }
}

template <int ELEM>
void launch_quantize(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  if (job.round == UFP4_ROUND_SR) {
    launch_quantize_of<ELEM, true>(queue, job);
  } else {
    launch_quantize_of<ELEM, false>(queue, job);
  }
}

void launch_quantize_any(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  switch (job.elem) {
    case UFP4_ELEM_E2M1:
      launch_quantize<UFP4_ELEM_E2M1>(queue, job);
      break;
    case UFP4_ELEM_E1M2:
      launch_quantize<UFP4_ELEM_E1M2>(queue, job);
      break;
    default:
      launch_quantize<UFP4_ELEM_INT4>(queue, job);
      break;
  }
}

/** At the start of the workspace. */
typedef struct {
  int32_t largest[2], found[2];
  uint32_t flags;
} quantize_words_t;

/** What every call writes, whatever the data: exponents and tensor scales of formats that have none
 * are 0 and 1. NULL: not written. */
typedef struct {
  uint32_t *flags;
  int32_t *exponents[2], values[2];
  float *tensor_scales[2];
} quantize_begin_t;

GPU_KERNEL void begin_kernel(quantize_words_t *words, quantize_begin_t begin) {
  if (threadIdx.x != 0) return;
  words->largest[0] = words->largest[1] = INT32_MAX;
  *begin.flags = 0;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (begin.exponents[i] != nullptr) *begin.exponents[i] = begin.values[i];
    if (begin.tensor_scales[i] != nullptr) *begin.tensor_scales[i] = 1.0f;
  }
}

template <int ELEM, bool SR, bool BF16>
cudaError_t preload_quantize() {
  cudaError_t error = gpu_preload(quick_kernel<ELEM, SR, BF16>);
  if (error == cudaSuccess) error = gpu_preload(quantize_kernel<ELEM, SR, BF16>);
  return error == cudaSuccess ? gpu_preload(quantize_scales_kernel<ELEM, SR, BF16>) : error;
}

template <bool SR, bool BF16>
cudaError_t preload_elements() {
  cudaError_t error = preload_quantize<UFP4_ELEM_E2M1, SR, BF16>();
  if (error == cudaSuccess) error = preload_quantize<UFP4_ELEM_E1M2, SR, BF16>();
  return error == cudaSuccess ? preload_quantize<UFP4_ELEM_INT4, SR, BF16>() : error;
}

template <bool BF16>
cudaError_t preload_source() {
  cudaError_t error = gpu_preload(amax_kernel<BF16, true>);
  if (error == cudaSuccess) error = gpu_preload(amax_kernel<BF16, false>);
  if (error == cudaSuccess) error = gpu_preload(quick_amax_kernel<BF16>);
  if (error == cudaSuccess) error = preload_elements<false, BF16>();
  return error == cudaSuccess ? preload_elements<true, BF16>() : error;
}

cudaError_t preload_quantizer() {
  cudaError_t error = gpu_preload(begin_kernel);
  if (error == cudaSuccess) error = gpu_preload(settle_kernel);
  if (error == cudaSuccess) error = preload_source<false>();
  return error == cudaSuccess ? preload_source<true>() : error;
}

quantize_begin_t quantize_begin(const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out,
                                int copies, uint32_t *flags, bool amax) {
  quantize_begin_t begin = {};
  begin.flags = flags;
  for (int i = 0; i < copies && !amax; i++) {
    if (!is_stored(how[i])) begin.exponents[i] = out[i].exponent;
    if (how[i].exponent_given == 1) begin.values[i] = how[i].exponent;
    begin.tensor_scales[i] = out[i].tensor_scale;
  }
  return begin;
}

ufp4_cuda_place_t place_of(const ufp4_cuda_operand_t &x) {
  const int64_t blocks = divide_up(x.cols, 16);
  const ufp4_cuda_place_t rows = {16 * blocks, 1, blocks}, panels = {16 * x.panel_stride, 16, 1};
  return x.panel_stride != 0 ? panels : rows;
}

/** Where the copy's exponent is, or will be. */
int32_t *exponent_place(const ufp4_cuda_operand_t &out, int i, quantize_words_t *words) {
  return out.exponent != nullptr ? out.exponent : &words->found[i];
}

/** Copies from @p first to @p last, which share what the job has once. */
ufp4_cuda_quantize_t quantize_job(const ufp4_matrix_t &in, const ufp4_quantize_t *how,
                                  const ufp4_cuda_operand_t *out, int first, int last,
                                  uint32_t *flags, quantize_words_t *words) {
  ufp4_cuda_quantize_t job = {};
  job.source = in.data;
  job.dtype = in.dtype;
  job.rows = in.rows;
  job.cols = in.cols;
  job.ld = in.ld;
  job.elem = how[first].elem;
  job.scale = how[first].scale;
  job.layout = how[first].layout;
  job.round = how[first].round;
  job.scale_round = how[first].scale_round;
  job.seed = how[first].seed;
  job.flags = flags;
  for (int i = first; i <= last; i++) {
    ufp4_cuda_copy_t &copy = job.copies[how[i].axis];
    copy.enabled = 1;
    copy.rht = how[i].rht;
    if (how[i].rht != UFP4_RHT_NONE) job.rht_mask = (uint16_t)how[i].rht_mask;
    copy.tensor_id = how[i].tensor_id;
    if (how[i].exponent_given == 1) {
      copy.exponent.value = how[i].exponent;
    } else {
      copy.exponent.slot = exponent_place(out[i], i, words);
    }
    copy.codes = (uint64_t *)(void *)out[i].codes;
    copy.scales = out[i].scales;
    copy.place = place_of(out[i]);
    copy.pads_groups = out[i].panel_stride != 0;
    copy.largest = &words->largest[i];
    copy.tensor_scale = out[i].tensor_scale;
  }
  return job;
}

/** Whether one read of the tensor makes both copies. */
bool is_one_job(const ufp4_quantize_t &a, const ufp4_quantize_t &b) {
  const bool masks = a.rht == UFP4_RHT_NONE || b.rht == UFP4_RHT_NONE || a.rht_mask == b.rht_mask;
  return masks && a.axis != b.axis && a.elem == b.elem && a.scale == b.scale &&
         a.layout == b.layout && a.round == b.round && a.scale_round == b.scale_round &&
         a.seed == b.seed;
}

void find_exponents(const queue_t &queue, const ufp4_matrix_t &in, const ufp4_quantize_t *how,
                    const ufp4_cuda_operand_t *out, int first, int last, uint32_t *flags,
                    quantize_words_t *words, bool all) {
  ufp4_cuda_quantize_t job = quantize_job(in, how, out, first, last, flags, words);
  int enabled = 0;
  for (int i = first; i <= last; i++) {
    job.copies[how[i].axis].enabled = all || finds_exponent(how[i]);
    enabled += job.copies[how[i].axis].enabled;
  }
  if (enabled == 0) return;
  launch_amax_of(queue, job);
  for (int i = first; i <= last; i++) {
    if (!job.copies[how[i].axis].enabled) continue;
    GPU_LAUNCH(queue.stream, settle_kernel, dim3(1), 32, 0, (const int32_t *)&words->largest[i],
               exponent_place(out[i], i, words));
  }
}

size_t quantize_bytes() {
  workspace_t counted = {nullptr, 0};
  (void)take(&counted, sizeof(quantize_words_t));
  return workspace_bytes(counted);
}

/** AMAX alone, or both. */
ufp4_status_t quantize(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                       const ufp4_cuda_operand_t *out, int copies, uint32_t *flags,
                       const ufp4_cuda_call_t *call, bool amax) {
  ufp4_status_t status =
      check_quantize(cuda, in, how, out, copies, flags, call, quantize_bytes(), amax);
  if (status != UFP4_OK) return status;
  const on_device_t on(cuda->device);
  status = check(call->message, on.error, "device");
  if (status != UFP4_OK) return status;
  const queue_t queue = {cuda, call->stream, call->message};
  workspace_t workspace = workspace_of(call);
  quantize_words_t *words = (quantize_words_t *)take(&workspace, sizeof *words);
  if (flags == nullptr) flags = &words->flags;
  GPU_LAUNCH(queue.stream, begin_kernel, dim3(1), 32, 0, words,
             quantize_begin(how, out, copies, flags, amax));
  const int jobs = copies == 2 && is_one_job(how[0], how[1]) ? 1 : copies;
  for (int n = 0; n < jobs; n++) {
    const int first = n, last = jobs == copies ? n : 1;
    find_exponents(queue, *in, how, out, first, last, flags, words, amax);
    if (!amax) launch_quantize_any(queue, quantize_job(*in, how, out, first, last, flags, words));
  }
  return launched(queue, amax ? "amax" : "quantize");
}

}  // namespace

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
  if (cuda == nullptr || check_sizes(nullptr, a, b, how) != UFP4_OK) return 0;
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
  const on_device_t on(cuda->device);
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
