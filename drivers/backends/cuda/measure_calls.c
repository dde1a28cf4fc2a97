// SPDX-License-Identifier: Apache-2.0
// Measures calls as applications, ufp4.torch among them, make them: with derived exponents, panels
// and rows, BF16 results, and the other formats. Each alternates with a copy, or with cuBLAS for
// results of the same type.
#include <math.h>
#include <time.h>

#include "measure_run.h"

typedef struct {
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  int in_rows;  ///< row-major; otherwise in panels
} format_t;

static const format_t panels = {UFP4_ELEM_E1M2, UFP4_SCALE_E4M3, 0},
                      rows = {UFP4_ELEM_E1M2, UFP4_SCALE_E4M3, 1},
                      nvfp4 = {UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, 0},
                      mxfp4 = {UFP4_ELEM_E2M1, UFP4_SCALE_E8M0, 0};

// Exponents and tensor scales at the addresses where the quantizer writes them.
static ufp4_cuda_operand_t place(const measure_t *m, const format_t *format, int i) {
  int32_t *words = m->words;
  return (ufp4_cuda_operand_t){.elem = format->elem,
                               .scale = format->scale,
                               .rows = m->size,
                               .cols = m->size,
                               .codes = m->codes[i],
                               .scales = m->scales[i],
                               .panel_stride = format->in_rows ? 0 : m->size / 16,
                               .exponent = words + 1 + i,
                               .tensor_scale = (float *)(void *)(words + 3 + i)};
}

// --- Quantizer ----------------------------------------------------------------------------------

typedef struct {
  const char *name;
  const format_t *format;
  int given;  ///< the exponent is given; otherwise AMAX derives it
} quantizer_t;

static const quantizer_t quantizers[] = {{"quantize_rows", &rows, 1},
                                         {"quantize_derived", &panels, 0},
                                         {"quantize_derived_rows", &rows, 0},
                                         {"quantize_nvfp4", &nvfp4, 0},
                                         {"quantize_mxfp4", &mxfp4, 0}};

static ufp4_status_t run_quantizer(measure_t *m, const void *argument) {
  const quantizer_t *what = argument;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, m->size, m->size, m->size, m->source};
  ufp4_quantize_t how[2];
  ufp4_cuda_operand_t out[2];
  ufp4_cuda_call_t call;
  for (int i = 0; i < 2; i++) {
    how[i] = (ufp4_quantize_t){.elem = what->format->elem,
                               .scale = what->format->scale,
                               .axis = (ufp4_axis_t)i,
                               .scale_round = what->format->scale == UFP4_SCALE_E8M0
                                                  ? UFP4_SCALE_ROUND_DOWN
                                                  : UFP4_SCALE_ROUND_RNE,
                               .exponent_given = what->given,
                               .exponent = what->given ? 6 : 0};
    out[i] = place(m, what->format, i);
  }
  const ufp4_status_t status =
      ufp4_measure_call(m, m->table->quantize_workspace(m->cuda, &in), &call);
  return status == UFP4_OK ? m->table->quantize(m->cuda, &in, how, out, 2, m->words, &call)
                           : status;
}

// The least number of bytes to move, regardless of repeated reads: the source, and both copies.
static ufp4_status_t measure_quantizers(measure_t *m) {
  const double source = 4 * (double)m->size * (double)m->size, both = source * (1 + 9.0 / 32);
  for (size_t i = 0; i < sizeof quantizers / sizeof quantizers[0]; i++) {
    double times[2];
    const ufp4_status_t status =
        ufp4_measure_turns(m, run_quantizer, &quantizers[i], ufp4_measure_copy, NULL, times);
    if (status != UFP4_OK) return status;
    ufp4_measure_give(m, (ufp4_cuda_figure_t){quantizers[i].name, m->size, m->size, 0, times[0],
                                              1e-6 * both / times[0], "GB/s", "copy",
                                              2e-6 * source / times[1], 0});
  }
  return UFP4_OK;
}

// --- GEMM ---------------------------------------------------------------------------------------

typedef struct {
  const char *name;
  const format_t *format;
  ufp4_contract_t contract;
  ufp4_dtype_t d;
} product_t;

#define FP32 UFP4_CONTRACT_FP32
#define EXACT UFP4_CONTRACT_EXACT
// Consecutive entries with the same format share the operands quantized for the first.
static const product_t products[] = {{"gemm_fp32_panels_f32", &panels, FP32, UFP4_DTYPE_F32},
                                     {"gemm_fp32_panels_bf16", &panels, FP32, UFP4_DTYPE_BF16},
                                     {"gemm_exact_panels_f32", &panels, EXACT, UFP4_DTYPE_F32},
                                     {"gemm_exact_panels_bf16", &panels, EXACT, UFP4_DTYPE_BF16},
                                     {"gemm_fp32_rows_f32", &rows, FP32, UFP4_DTYPE_F32},
                                     {"gemm_fp32_rows_bf16", &rows, FP32, UFP4_DTYPE_BF16},
                                     {"gemm_exact_rows_f32", &rows, EXACT, UFP4_DTYPE_F32},
                                     {"gemm_exact_rows_bf16", &rows, EXACT, UFP4_DTYPE_BF16},
                                     {"gemm_nvfp4_fp32_f32", &nvfp4, FP32, UFP4_DTYPE_F32},
                                     {"gemm_nvfp4_fp32_bf16", &nvfp4, FP32, UFP4_DTYPE_BF16},
                                     {"gemm_nvfp4_exact_f32", &nvfp4, EXACT, UFP4_DTYPE_F32},
                                     {"gemm_nvfp4_exact_bf16", &nvfp4, EXACT, UFP4_DTYPE_BF16},
                                     {"gemm_mxfp4_f32", &mxfp4, FP32, UFP4_DTYPE_F32},
                                     {"gemm_mxfp4_bf16", &mxfp4, FP32, UFP4_DTYPE_BF16}};

static ufp4_status_t run_product(measure_t *m, const void *argument) {
  static const ufp4_cuda_choice_t choice = {0, UFP4_CUDA_PRODUCT_AUTO};
  const product_t *what = argument;
  const ufp4_cuda_operand_t a = place(m, what->format, 0), b = place(m, what->format, 1);
  const ufp4_gemm_t how = {.contract = what->contract, .d_dtype = what->d, .alpha = 1};
  ufp4_cuda_call_t call;
  const ufp4_status_t status =
      ufp4_measure_call(m, m->table->gemm_workspace(m->cuda, &choice, &a, &b, &how), &call);
  return status == UFP4_OK ? m->table->gemm(m->cuda, &choice, &a, &b, &how, m->d, m->size, &call)
                           : status;
}

static ufp4_status_t measure_product(measure_t *m, const product_t *what) {
  const int bf16 = what->d == UFP4_DTYPE_BF16;
  const ufp4_cuda_vendor_t vendor = bf16 ? UFP4_CUDA_VENDOR_BF16_ALL : UFP4_CUDA_VENDOR_BF16;
  const double macs = 1e-9 * (double)m->size * (double)m->size * (double)m->size;
  double times[2] = {0, INFINITY};
  ufp4_status_t status =
      ufp4_measure_turns(m, run_product, what, ufp4_measure_vendor, &vendor, times);
  if (status == UFP4_ERROR_UNSUPPORTED)  // no cuBLAS
    status = ufp4_measure_turns(m, run_product, what, NULL, NULL, times);
  if (status != UFP4_OK) return status;
  const char *against = bf16 ? "cublas_bf16_to_bf16" : "cublas_bf16";
  ufp4_measure_give(
      m, (ufp4_cuda_figure_t){what->name, m->size, m->size, m->size, times[0], macs / times[0],
                              "TMAC/s", isinf(times[1]) ? NULL : against, macs / times[1], 0});
  return UFP4_OK;
}

// --- Host time ----------------------------------------------------------------------------------

#define QUEUED 64  // calls; far fewer launches than a stream takes before it blocks the host

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

// Measures the time until a call returns while the GPU works on queued launches.
static ufp4_status_t measure_host(measure_t *m, const char *name, run_t run, const void *what) {
  double elapsed, host = 0;
  ufp4_status_t status = m->table->timer_start(m->cuda);
  for (int i = -1; i < QUEUED && status == UFP4_OK; i++) {
    const double begin = now_ms();
    status = run(m, what);
    if (i >= 0) host += now_ms() - begin;
  }
  if (status == UFP4_OK) status = m->table->timer_stop(m->cuda, &elapsed);
  if (status != UFP4_OK) return status;
  ufp4_measure_give(m, (ufp4_cuda_figure_t){.name = name,
                                            .m = m->size,
                                            .n = m->size,
                                            .milliseconds = host / QUEUED,
                                            .rate = 1e3 * host / QUEUED,
                                            .unit = "us"});
  return UFP4_OK;
}

ufp4_status_t ufp4_measure_calls(measure_t *m) {
  ufp4_status_t status = measure_quantizers(m);
  if (status == UFP4_OK) status = measure_host(m, "host_quantize", run_quantizer, &quantizers[1]);
  if (status == UFP4_OK) status = ufp4_measure_fill_yard(m, UFP4_CUDA_VENDOR_BF16);
  for (size_t i = 0; i < sizeof products / sizeof products[0] && status == UFP4_OK; i++) {
    const quantizer_t filling = {"", products[i].format, 0};
    if (i == 0 || products[i].format != products[i - 1].format) status = run_quantizer(m, &filling);
    if (status == UFP4_OK) status = measure_product(m, &products[i]);
    if (status == UFP4_OK && i < 3 && i != 1)
      status =
          measure_host(m, i == 0 ? "host_gemm_fp32" : "host_gemm_exact", run_product, &products[i]);
  }
  return status;
}
