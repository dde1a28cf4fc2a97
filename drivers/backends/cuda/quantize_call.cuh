// SPDX-License-Identifier: Apache-2.0
// QUANT and AMAX of ufp4_cuda.h: the launches of a call, in order.
#ifndef UFP4_CUDA_QUANTIZE_CALL_CUH
#define UFP4_CUDA_QUANTIZE_CALL_CUH

#include "checks.cuh"
#include "quantize_launch.cuh"

namespace {

// --- Launches by the job ------------------------------------------------------------------------

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

template <bool SR>
void launch_mixed_of(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  const dim3 grid = quantize_grid(job.rows, job.cols);
  if (job.dtype == UFP4_DTYPE_BF16) {
    GPU_LAUNCH(queue.stream, (quantize_mixed_kernel<SR, true>), grid, QUANTIZE_THREADS, 0, job);
  } else {
    GPU_LAUNCH(queue.stream, (quantize_mixed_kernel<SR, false>), grid, QUANTIZE_THREADS, 0, job);
  }
}

void launch_mixed(const queue_t &queue, const ufp4_cuda_quantize_t &job) {
  if (job.round == UFP4_ROUND_SR) {
    launch_mixed_of<true>(queue, job);
  } else {
    launch_mixed_of<false>(queue, job);
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
    case UFP4_ELEM_INT4:
      launch_quantize<UFP4_ELEM_INT4>(queue, job);
      break;
    case UFP4_ELEM_MIXED:
      launch_mixed(queue, job);
      break;
  }
}

/** This is the beginning of the workspace. */
typedef struct {
  ufp4_cuda_draw_t drawn[2];
  int32_t largest[2], found[2];
  uint32_t flags;
} quantize_words_t;

/** Every call writes these, whatever the data: exponents and tensor scales of formats without them
 * are 0 and 1. NULL pointers are skipped. */
typedef struct {
  uint32_t *flags;
  int32_t *exponents[2], values[2];
  float *tensor_scales[2];
  ufp4_cuda_draw_t draws[2];
  const ufp4_cuda_random_t *random;
  int draws_signs;
} quantize_begin_t;

/** Prepares a copy's random numbers from device memory; if it draws signs, they are those of
 * ufp4_recipe_mask. */
GPU ufp4_cuda_draw_t drawn_now(const ufp4_cuda_random_t &random, const ufp4_cuda_draw_t &given,
                               bool draws_signs) {
  ufp4_cuda_draw_t out = {random.seed, given.tensor_id + random.tensor_id, given.mask};
  if (!draws_signs) return out;
  uint32_t words[4];
  random_words(random.seed, 0, random.step, words, 1);
  out.mask = words[0] & 0xFFFFu;
  return out;
}

GPU_KERNEL void begin_kernel(quantize_words_t *words, quantize_begin_t begin) {
  if (threadIdx.x != 0) return;
  words->largest[0] = words->largest[1] = INT32_MAX;
  *begin.flags = 0;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (begin.exponents[i] != nullptr) *begin.exponents[i] = begin.values[i];
    if (begin.tensor_scales[i] != nullptr) *begin.tensor_scales[i] = 1.0f;
    if (begin.random != nullptr)
      words->drawn[i] = drawn_now(*begin.random, begin.draws[i], begin.draws_signs != 0);
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

/** The resolved arguments of either call. */
typedef struct {
  const ufp4_matrix_t *in;
  const ufp4_quantize_t *how;
  const ufp4_cuda_operand_t *out;
  uint32_t *flags;
  quantize_words_t *words;
  const ufp4_cuda_call_t *call;
} quantize_run_t;

ufp4_cuda_draw_t draw_of(const ufp4_quantize_t &how) {
  const ufp4_cuda_draw_t draw = {how.seed, how.tensor_id, (uint32_t)how.rht_mask & 0xFFFFu};
  return draw;
}

quantize_begin_t quantize_begin(const quantize_run_t &run, int copies, bool amax) {
  const ufp4_quantize_t *how = run.how;
  const ufp4_cuda_operand_t *out = run.out;
  quantize_begin_t begin = {};
  begin.flags = run.flags;
  begin.random = run.call->random;
  begin.draws_signs = run.call->signs == UFP4_SIGNS_STEP;
  for (int i = 0; i < copies; i++) begin.draws[i] = draw_of(how[i]);
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

/** Returns the address of the copy's exponent. */
int32_t *exponent_place(const ufp4_cuda_operand_t &out, int i, quantize_words_t *words) {
  return out.exponent != nullptr ? out.exponent : &words->found[i];
}

/** Makes copies @p first to @p last, which share the job's common settings. */
ufp4_cuda_quantize_t quantize_job(const quantize_run_t &run, int first, int last) {
  const ufp4_matrix_t &in = *run.in;
  const ufp4_quantize_t *how = run.how;
  const ufp4_cuda_operand_t *out = run.out;
  quantize_words_t *words = run.words;
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
  job.flags = run.flags;
  for (int i = first; i <= last; i++) {
    ufp4_cuda_copy_t &copy = job.copies[how[i].axis];
    copy.enabled = 1;
    copy.rht = how[i].rht;
    copy.draw = draw_of(how[i]);
    if (run.call->random != nullptr) copy.drawn = &words->drawn[i];
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

/** Returns whether one read of the tensor makes both copies. */
bool is_one_job(const ufp4_quantize_t &a, const ufp4_quantize_t &b) {
  return a.axis != b.axis && a.elem == b.elem && a.scale == b.scale && a.layout == b.layout &&
         a.round == b.round && a.scale_round == b.scale_round;
}

void find_exponents(const queue_t &queue, const quantize_run_t &run, int first, int last,
                    bool all) {
  const ufp4_quantize_t *how = run.how;
  ufp4_cuda_quantize_t job = quantize_job(run, first, last);
  int enabled = 0;
  for (int i = first; i <= last; i++) {
    job.copies[how[i].axis].enabled = all || finds_exponent(how[i]);
    enabled += job.copies[how[i].axis].enabled;
  }
  if (enabled == 0) return;
  launch_amax_of(queue, job);
  for (int i = first; i <= last; i++) {
    if (!job.copies[how[i].axis].enabled) continue;
    GPU_LAUNCH(queue.stream, settle_kernel, dim3(1), 32, 0, (const int32_t *)&run.words->largest[i],
               exponent_place(run.out[i], i, run.words));
  }
}

size_t quantize_bytes() {
  workspace_t counted = {nullptr, 0};
  (void)take(&counted, sizeof(quantize_words_t));
  return workspace_bytes(counted);
}

/** Runs AMAX alone, or both. */
ufp4_status_t quantize(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                       const ufp4_cuda_operand_t *out, int copies, uint32_t *flags,
                       const ufp4_cuda_call_t *call, bool amax) {
  ufp4_status_t status =
      check_quantize(cuda, in, how, out, copies, flags, call, quantize_bytes(), amax);
  if (status != UFP4_OK) return status;
  const on_device_t on(cuda->context);
  status = check(call->message, on.error, "device");
  if (status != UFP4_OK) return status;
  const queue_t queue = {cuda, call->stream, call->message};
  workspace_t workspace = workspace_of(call);
  quantize_words_t *words = (quantize_words_t *)take(&workspace, sizeof *words);
  const quantize_run_t run = {in, how, out, flags != nullptr ? flags : &words->flags, words, call};
  GPU_LAUNCH(queue.stream, begin_kernel, dim3(1), 32, 0, words, quantize_begin(run, copies, amax));
  const int jobs = copies == 2 && is_one_job(how[0], how[1]) ? 1 : copies;
  for (int n = 0; n < jobs; n++) {
    const int first = n, last = jobs == copies ? n : 1;
    find_exponents(queue, run, first, last, amax);
    if (!amax) launch_quantize_any(queue, quantize_job(run, first, last));
  }
  return launched(queue, amax ? "amax" : "quantize");
}

}  // namespace

#endif
