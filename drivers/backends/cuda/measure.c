// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "measure_run.h"

#define QUANTIZED_COPIES 2

// --- Quantizer ----------------------------------------------------------------------------------

// Describes copy @p i of the source, in panels, with a tensor exponent of 6.
static ufp4_cuda_operand_t copy_of(const measure_t *m, ufp4_elem_t elem, int i) {
  return (ufp4_cuda_operand_t){.elem = elem,
                               .scale = UFP4_SCALE_E4M3,
                               .rows = m->size,
                               .cols = m->size,
                               .codes = m->codes[i],
                               .scales = m->scales[i],
                               .panel_stride = m->size / 16,
                               .exponent_value = 6};
}

typedef struct {
  ufp4_elem_t elem;
  ufp4_rht_t rht;
  ufp4_round_t round;
} quantizing_t;

static ufp4_status_t quantize_or_amax(measure_t *m, const quantizing_t *what, int amax) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, m->size, m->size, m->size, m->source};
  ufp4_quantize_t how[QUANTIZED_COPIES];
  ufp4_cuda_operand_t out[QUANTIZED_COPIES];
  ufp4_cuda_call_t call;
  for (int i = 0; i < QUANTIZED_COPIES; i++) {
    how[i] = (ufp4_quantize_t){.elem = what->elem,
                               .axis = (ufp4_axis_t)i,
                               .rht = what->rht,
                               .rht_mask = UFP4_RHT_DEFAULT_MASK,
                               .round = what->round,
                               .tensor_id = (uint64_t)i,
                               .exponent_given = !amax,
                               .exponent = 6};
    out[i] = copy_of(m, what->elem, i);
    if (amax) out[i].exponent = (int32_t *)m->words + 1 + i;
  }
  ufp4_status_t status = ufp4_measure_call(m, m->table->quantize_workspace(m->cuda, &in), &call);
  if (status != UFP4_OK) return status;
  return (amax ? m->table->amax : m->table->quantize)(m->cuda, &in, how, out, QUANTIZED_COPIES,
                                                      m->words, &call);
}

static ufp4_status_t run_quantize(measure_t *m, const void *what) {
  return quantize_or_amax(m, what, 0);
}

static ufp4_status_t run_amax(measure_t *m, const void *what) {
  return quantize_or_amax(m, what, 1);
}

// The least number of bytes to move: the source once, and both copies once.
static double quantize_bytes(const measure_t *m) {
  return (double)m->size * (double)m->size * (4 + QUANTIZED_COPIES * (0.5 + 1.0 / 16));
}

// A run that alternates with another one (yard), and the bytes that each must move.
typedef struct {
  const char *name, *ratio_name, *against;
  run_t run, yard;
  const void *what, *yard_what;
  double bytes, yard_bytes;
} bandwidth_t;

// Compares with the peak and with the yardstick.
static ufp4_status_t measure_bandwidth(measure_t *m, const bandwidth_t *b) {
  double times[2];
  ufp4_status_t status = ufp4_measure_turns(m, b->run, b->what, b->yard, b->yard_what, times);
  if (status != UFP4_OK) return status;
  const double rate = 1e-6 * b->bytes / times[0];
  ufp4_measure_give(
      m, (ufp4_cuda_figure_t){b->name, m->size, m->size, 0, times[0], rate, "GB/s",
                              "peak_memory_bandwidth", 1e-9 * m->gpu.memory_bytes_per_second, 0});
  ufp4_measure_give(m,
                    (ufp4_cuda_figure_t){b->ratio_name, m->size, m->size, 0, times[0], rate, "GB/s",
                                         b->against, 1e-6 * b->yard_bytes / times[1], 0});
  return UFP4_OK;
}

static ufp4_status_t measure_quantizer(measure_t *m) {
  const double source = 4 * (double)m->size * (double)m->size, both = quantize_bytes(m);
  const quantizing_t plain = {UFP4_ELEM_E1M2, UFP4_RHT_NONE, UFP4_ROUND_RNE},
                     rht = {UFP4_ELEM_E1M2, UFP4_RHT_INTEGER, UFP4_ROUND_RNE},
                     rht_sr = {UFP4_ELEM_E1M2, UFP4_RHT_INTEGER, UFP4_ROUND_SR};
  const bandwidth_t all[] = {{"quantize_plain", "quantize_plain_to_copy", "copy", run_quantize,
                              ufp4_measure_copy, &plain, NULL, both, 2 * source},
                             {"quantize_rht", "quantize_rht_to_plain", "quantize_plain",
                              run_quantize, run_quantize, &rht, &plain, both, both},
                             {"quantize_rht_sr", "quantize_rht_sr_to_plain", "quantize_plain",
                              run_quantize, run_quantize, &rht_sr, &plain, both, both},
                             {"amax_rht", "amax_rht_to_copy", "copy", run_amax, ufp4_measure_copy,
                              &rht, NULL, source, 2 * source}};
  ufp4_status_t status = UFP4_OK;
  for (size_t i = 0; i < sizeof all / sizeof all[0] && status == UFP4_OK; i++)
    status = measure_bandwidth(m, &all[i]);
  return status;
}

// --- GEMM ---------------------------------------------------------------------------------------

typedef struct {
  ufp4_cuda_operand_t sides[2];
  ufp4_contract_t contract;
  ufp4_cuda_choice_t choice;
} multiplying_t;

static ufp4_status_t run_gemm(measure_t *m, const void *argument) {
  const multiplying_t *what = argument;
  const ufp4_cuda_operand_t *a = &what->sides[0], *b = &what->sides[1];
  const ufp4_gemm_t how = {.contract = what->contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  ufp4_cuda_call_t call;
  ufp4_status_t status =
      ufp4_measure_call(m, m->table->gemm_workspace(m->cuda, &what->choice, a, b, &how), &call);
  return status == UFP4_OK
             ? m->table->gemm(m->cuda, &what->choice, a, b, &how, m->d, b->rows, &call)
             : status;
}

// The row and column copies of the source that the quantizer's measurement left.
static multiplying_t describe_gemm(const measure_t *m, ufp4_contract_t contract,
                                   ufp4_cuda_product_t product) {
  return (multiplying_t){
      {copy_of(m, UFP4_ELEM_E1M2, 0), copy_of(m, UFP4_ELEM_E1M2, 1)}, contract, {0, product}};
}

static ufp4_status_t measure_gemms(measure_t *m) {
  static const struct {
    const char *name, *against;
    ufp4_contract_t contract;
    ufp4_cuda_product_t product;
    ufp4_cuda_vendor_t vendor;
    int int8;
  } kinds[] = {{"gemm_exact", "cublas_fp64", UFP4_CONTRACT_EXACT, UFP4_CUDA_PRODUCT_AUTO,
                UFP4_CUDA_VENDOR_FP64, 1},
               {"gemm_fp32", "cublas_bf16", UFP4_CONTRACT_FP32, UFP4_CUDA_PRODUCT_BF16,
                UFP4_CUDA_VENDOR_BF16, 0},
               {"gemm_fp32_int8", "cublas_bf16", UFP4_CONTRACT_FP32, UFP4_CUDA_PRODUCT_INT8,
                UFP4_CUDA_VENDOR_BF16, 1}};
  const double macs = 1e-9 * (double)m->size * (double)m->size * (double)m->size;
  for (int i = 0; i < 3; i++) {
    const multiplying_t job = describe_gemm(m, kinds[i].contract, kinds[i].product);
    double times[2] = {0, INFINITY};
    ufp4_status_t status = ufp4_measure_fill_yard(m, kinds[i].vendor);
    if (status == UFP4_OK)
      status = ufp4_measure_turns(m, run_gemm, &job, ufp4_measure_vendor, &kinds[i].vendor, times);
    // Without cuBLAS our own time is still reported.
    if (status == UFP4_ERROR_UNSUPPORTED)
      status = ufp4_measure_turns(m, run_gemm, &job, NULL, NULL, times);
    if (status != UFP4_OK) return status;
    ufp4_measure_give(
        m, (ufp4_cuda_figure_t){kinds[i].name, m->size, m->size, m->size, times[0], macs / times[0],
                                "TMAC/s", isinf(times[1]) ? NULL : kinds[i].against,
                                macs / times[1], 0});
    const double peak = 1e-12 * m->gpu.bf16_macs_per_second * (kinds[i].int8 ? 2 : 1);
    ufp4_measure_give(
        m, (ufp4_cuda_figure_t){kinds[i].name, m->size, m->size, m->size, times[0], macs / times[0],
                                "TMAC/s", kinds[i].int8 ? "tensor_peak_int8" : "tensor_peak_bf16",
                                peak, 0});
  }
  return UFP4_OK;
}

// --- All ----------------------------------------------------------------------------------------

ufp4_status_t ufp4_cuda_measure(int64_t size, ufp4_message_t *message,
                                void (*take)(void *argument, const ufp4_cuda_figure_t *figure),
                                void *argument) {
  measure_t m = {.message = message, .size = size, .take = take, .argument = argument};
  if (size < 128 || size > 32768 || size % 128 != 0) {
    ufp4_message_set(message,
                     "cuda: the size must be a multiple of 128, up to 32768 for a measurement");
    return UFP4_ERROR_ARGUMENT;
  }
  ufp4_status_t status = ufp4_cuda_load(message, &m.table);
  if (status == UFP4_OK) status = m.table->open(message, &m.cuda);
  if (status != UFP4_OK) return status;
  m.table->describe(m.cuda, &m.gpu);
  status = ufp4_measure_allocate(&m);
  if (status == UFP4_OK) status = ufp4_measure_fill_source(&m);
  if (status == UFP4_OK) status = measure_quantizer(&m);
  if (status == UFP4_OK) status = measure_gemms(&m);
  if (status == UFP4_OK) status = ufp4_measure_calls(&m);
  ufp4_measure_release(&m);
  m.table->close(m.cuda);
  return status;
}

// --- One GEMM -----------------------------------------------------------------------------------

static ufp4_status_t time_one(measure_t *m, int64_t rows, int64_t cols, int64_t k,
                              double *milliseconds) {
  const int64_t sizes[2] = {rows, cols}, blocks = (k + 15) / 16;
  ufp4_status_t status = m->table->allocate(m->cuda, (size_t)(rows * cols) * sizeof(float), &m->d);
  for (int i = 0; i < 2 && status == UFP4_OK; i++) {
    status = m->table->allocate(m->cuda, (size_t)(sizes[i] * blocks) * 8, &m->codes[i]);
    if (status == UFP4_OK)
      status = m->table->allocate(m->cuda, (size_t)(sizes[i] * blocks), &m->scales[i]);
  }
  multiplying_t job = describe_gemm(m, UFP4_CONTRACT_EXACT, UFP4_CUDA_PRODUCT_AUTO);
  for (int i = 0; i < 2; i++) {
    job.sides[i].rows = sizes[i];
    job.sides[i].cols = k;
    job.sides[i].panel_stride = 0;
  }
  double times[2] = {0, 0};
  if (status == UFP4_OK) status = ufp4_measure_turns(m, run_gemm, &job, NULL, NULL, times);
  *milliseconds = times[0];
  return status;
}

ufp4_status_t ufp4_cuda_time_gemm(int64_t rows, int64_t cols, int64_t k, ufp4_message_t *message,
                                  double *milliseconds) {
  measure_t m = {.message = message};
  ufp4_status_t status = ufp4_cuda_load(message, &m.table);
  if (status == UFP4_OK) status = m.table->open(message, &m.cuda);
  if (status != UFP4_OK) return status;
  status = time_one(&m, rows, cols, k, milliseconds);
  ufp4_measure_release(&m);
  m.table->close(m.cuda);
  return status;
}

// --- NVIDIA's narrow arithmetic -----------------------------------------------------------------

/** The compared configurations. Both formats have a scale for each block; FP8 takes scales that
 * are powers of two, multiplied into its elements. Scales of 1 would show no difference, because
 * sums of so few bits are exact in either setting. */
static const struct {
  const char *name;
  ufp4_cuda_narrow_t kind;
  int fast;
} distances[UFP4_CUDA_DISTANCES] = {{"vendor_fp8", UFP4_CUDA_NARROW_FP8, 0},
                                    {"vendor_fp8_fast", UFP4_CUDA_NARROW_FP8, 1},
                                    {"vendor_fp4", UFP4_CUDA_NARROW_FP4, 0}};

// Makes E4M3 bytes of 2^-4 to 2^4 at random.
static void fill_powers(uint8_t *scales, size_t count, uint64_t state) {
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    scales[i] = (uint8_t)((3 + (state >> 32) % 9) << 3);
  }
}

// Makes quantized Gaussian-like data in E2M1.
static ufp4_status_t make_operands(measure_t *m, ufp4_cuda_narrow_t kind) {
  const size_t count = (size_t)(m->size * m->size / 16);
  const quantizing_t job = {UFP4_ELEM_E2M1, UFP4_RHT_NONE, UFP4_ROUND_RNE};
  ufp4_status_t status = run_quantize(m, &job);
  if (kind == UFP4_CUDA_NARROW_FP4) return status;
  uint8_t *scales = malloc(count);
  if (scales == NULL) return UFP4_ERROR_MEMORY;
  for (int i = 0; i < 2 && status == UFP4_OK; i++) {
    fill_powers(scales, count, (uint64_t)i);
    status = m->table->write(m->cuda, m->scales[i], scales, count);
  }
  free(scales);
  return status;
}

// Runs contract exact into half of d, and the GPU's own arithmetic into the other half.
static ufp4_status_t run_both(measure_t *m, ufp4_cuda_narrow_t kind, int fast) {
  const size_t elements = (size_t)(m->size * m->size);
  multiplying_t exact = {.contract = UFP4_CONTRACT_EXACT};
  uint8_t *scales[2];
  for (int i = 0; i < 2; i++) {
    exact.sides[i] = copy_of(m, UFP4_ELEM_E2M1, i);
    exact.sides[i].exponent_value = 0;
  }
  ufp4_status_t status = run_gemm(m, &exact);
  for (int i = 0; i < 2 && status == UFP4_OK; i++) {
    scales[i] = (uint8_t *)m->yard[i] + elements;  // behind the elements
    status = m->table->narrow(m->cuda, &exact.sides[i], m->size, kind, m->yard[i], scales[i]);
  }
  if (status != UFP4_OK) return status;
  const ufp4_cuda_narrow_gemm_t own = {.kind = kind,
                                       .m = m->size,
                                       .n = m->size,
                                       .k = m->size,
                                       .a = m->yard[0],
                                       .b = m->yard[1],
                                       .a_scales = scales[0],
                                       .b_scales = scales[1],
                                       .fast = fast,
                                       .d = (float *)m->d + elements};
  return m->table->vendor_narrow(m->cuda, &own);
}

static void compare_outputs(const float *exact, const float *own, size_t count,
                            ufp4_cuda_distance_t *out) {
  double unequal = 0, largest = 0, sum = 0, largest_d = 0, sum_d = 0;
  for (size_t i = 0; i < count; i++) {
    const double error = fabs((double)own[i] - (double)exact[i]), value = fabs((double)exact[i]);
    unequal += error != 0;
    largest = error > largest ? error : largest;
    largest_d = value > largest_d ? value : largest_d;
    sum += error;
    sum_d += value;
  }
  out->unequal_percent = 100 * unequal / (double)count;
  out->largest = largest / largest_d;
  out->mean = sum / sum_d;
}

static ufp4_status_t measure_distance(measure_t *m, int which, ufp4_cuda_distance_t *out) {
  const ufp4_cuda_narrow_t kind = distances[which].kind;
  const size_t elements = (size_t)(m->size * m->size);
  *out = (ufp4_cuda_distance_t){.name = distances[which].name, .size = m->size};
  ufp4_status_t status = make_operands(m, kind);
  if (status == UFP4_OK) status = run_both(m, kind, distances[which].fast);
  if (status == UFP4_ERROR_UNSUPPORTED) {
    memcpy(out->skipped, m->message->text, sizeof out->skipped - 1);
    return UFP4_OK;
  }
  float *d = status == UFP4_OK ? malloc(2 * elements * sizeof *d) : NULL;
  if (status == UFP4_OK && d == NULL) status = UFP4_ERROR_MEMORY;
  if (status == UFP4_OK) status = m->table->read(m->cuda, d, m->d, 2 * elements * sizeof *d);
  if (status == UFP4_OK) compare_outputs(d, d + elements, elements, out);
  free(d);
  return status;
}

ufp4_status_t ufp4_cuda_vendor_distances(int64_t size, ufp4_message_t *message,
                                         ufp4_cuda_distance_t out[UFP4_CUDA_DISTANCES]) {
  measure_t m = {.message = message, .size = size};
  if (size < 128 || size > 8192 || size % 128 != 0) {
    ufp4_message_set(message,
                     "cuda: the size must be a multiple of 128, up to 8192 for a comparison");
    return UFP4_ERROR_ARGUMENT;
  }
  ufp4_status_t status = ufp4_cuda_load(message, &m.table);
  if (status == UFP4_OK) status = m.table->open(message, &m.cuda);
  if (status != UFP4_OK) return status;
  status = ufp4_measure_allocate(&m);
  if (status == UFP4_OK) status = ufp4_measure_fill_source(&m);
  for (int i = 0; i < UFP4_CUDA_DISTANCES && status == UFP4_OK; i++) {
    status = measure_distance(&m, i, &out[i]);
  }
  ufp4_measure_release(&m);
  m.table->close(m.cuda);
  return status;
}
