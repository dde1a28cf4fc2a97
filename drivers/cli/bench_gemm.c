// SPDX-License-Identifier: Apache-2.0
// The cases of the GEMM: the contracts against the sgemm of the same shape, and two threads against one.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "draw.h"
#include "peak.h"

typedef enum { AGAINST_SGEMM, AGAINST_SGEMM_AVX2, AGAINST_ONE_THREAD } against_t;

typedef struct {
  const char *what;
  ufp4_contract_t contract;
  ufp4_scale_t scale;
  ufp4_kernel_t kernel;
  against_t against;
  int threads;
} kind_t;

typedef struct {
  const char *name;
  data_t a, b;
} gemm_data_t;

static const gemm_data_t gaussian = {"gaussian", DATA_GAUSSIAN, DATA_GAUSSIAN};
static const gemm_data_t outliers_a = {"outliers_a", DATA_OUTLIERS, DATA_GAUSSIAN};
static const gemm_data_t outliers_both = {"outliers_both", DATA_OUTLIERS, DATA_OUTLIERS};
static const gemm_data_t any_scales = {"any_scales", DATA_ANY, DATA_ANY};

typedef struct {
  const kind_t *kind;
  ufp4_operand_t a, b;
} job_t;

// --- Operands ----------------------------------------------------------------------------------------

static ufp4_status_t any_operand(const bench_t *bench, ufp4_elem_t elem, uint64_t operand, ufp4_operand_t *out) {
  const ufp4_draw_t draw = ufp4_draw_start(bench->seed, UFP4_DRAW_DATA);
  const int64_t n = (int64_t)bench->size;
  ufp4_status_t status = ufp4_operand_create(elem, n, n, out);
  if (status != UFP4_OK) return status;
  for (int64_t i = 0; i < n * out->blocks; i++) {
    uint64_t codes = ufp4_draw_at(&draw, (operand << 52) + (uint64_t)i);
    memcpy(out->codes + 8 * i, &codes, 8);
    out->scales[i] = (uint8_t)(ufp4_draw_at(&draw, (operand << 52) + (UINT64_C(1) << 51) + (uint64_t)i) % 0x7F);
  }
  return UFP4_OK;
}

static ufp4_status_t make_operand(bench_t *bench, const kind_t *kind, ufp4_elem_t elem, data_t data, uint64_t operand,
                                  ufp4_operand_t *out) {
  if (data == DATA_ANY) return any_operand(bench, elem, operand, out);
  const ufp4_quantize_t how = {
      .elem = elem,
      .scale = kind->scale,
      .axis = UFP4_AXIS_ROW,
      .scale_round = kind->scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE};
  bench_fill(bench, data, operand);
  const ufp4_matrix_t matrix = bench_matrix(bench);
  return ufp4_quantize(&matrix, &how, out);
}

// --- Cases -------------------------------------------------------------------------------------------

static ufp4_status_t run_gemm(bench_t *bench, const job_t *job, int threads) {
  const ufp4_gemm_t how = {.contract = job->kind->contract,
                           .d_dtype = UFP4_DTYPE_F32,
                           .alpha = 1,
                           .threads = threads,
                           .kernel = job->kind->kernel};
  return ufp4_gemm(&job->a, &job->b, &how, bench->to, (int64_t)bench->size);
}

static ufp4_status_t run_case(bench_t *bench, const void *argument) {
  const job_t *job = argument;
  return run_gemm(bench, job, job->kind->threads);
}

static ufp4_status_t run_yard(bench_t *bench, const void *argument) {
  const job_t *job = argument;
  if (job->kind->against == AGAINST_ONE_THREAD) return run_gemm(bench, job, 1);
  const blas_t *blas = job->kind->against == AGAINST_SGEMM ? &bench->blas : &bench->blas_avx2;
  blas_multiply(blas, (int)bench->size, bench->yard[0], bench->yard[1], bench->yard[2]);
  return UFP4_OK;
}

static void print_case(bench_t *bench, const kind_t *kind, ufp4_elem_t elem, const char *data, const char *against,
                       const timing_t *timing) {
  static const char *const scales[UFP4_SCALE_COUNT] = {
      [UFP4_SCALE_E4M3] = "", [UFP4_SCALE_NVFP4] = "/nvfp4", [UFP4_SCALE_E8M0] = "/e8m0", [UFP4_SCALE_FP32] = "/fp32"};
  const double gmacs = 1e-9 * (double)bench->size * (double)bench->size * (double)bench->size;
  char format[32];
  snprintf(format, sizeof format, "%s%s", bench_elem_name(elem), scales[kind->scale]);
  const line_t line = {.what = kind->what,
                       .format = format,
                       .data = data,
                       .seconds = timing->seconds,
                       .rate = gmacs / timing->seconds,
                       .unit = "GMAC/s",
                       .against = against,
                       .against_rate = gmacs / timing->yard_seconds,
                       .ratio = timing->ratio};
  bench_print(bench, bench->size, &line);
}

static double seconds_of_gemm(bench_t *bench, const job_t *job, int threads, ufp4_status_t *status) {
  const double start = bench_seconds(2);
  if (*status == UFP4_OK) *status = run_gemm(bench, job, threads);
  return bench_seconds(2) - start;
}

static double seconds_of_peak(int threads, int times) {
  const double start = bench_seconds(2);
  peak_run(threads, times);
  return bench_seconds(2) - start;
}

// What two threads gain, against what they gain where they do nothing but multiply, about as much and at the same time:
// a machine that has no two free processors cannot give more.
static ufp4_status_t bench_gain(bench_t *bench, const job_t *job, ufp4_elem_t elem, const char *data) {
  double gains[BENCH_MAX_REPEATS], peaks[BENCH_MAX_REPEATS], fractions[BENCH_MAX_REPEATS], seconds[BENCH_MAX_REPEATS];
  const double share = peak_run(1, 1), macs = (double)bench->size * (double)bench->size * (double)bench->size;
  ufp4_status_t status = UFP4_OK;
  if (share <= 0) return UFP4_OK;
  const int times = 1 + (int)(macs / 2 / share);
  for (uint64_t i = 0; i < BENCH_UNCOUNTED + bench->repeats && status == UFP4_OK; i++) {
    const uint64_t at = i < BENCH_UNCOUNTED ? 0 : i - BENCH_UNCOUNTED;
    const double peak = seconds_of_peak(2, times);
    seconds[at] = seconds_of_gemm(bench, job, 2, &status);
    gains[at] = seconds_of_gemm(bench, job, 1, &status) / seconds[at];
    peaks[at] = seconds_of_peak(1, 2 * times) / peak;
    fractions[at] = gains[at] / peaks[at];
  }
  if (status != UFP4_OK) return status;
  const line_t line = {.what = job->kind->what,
                       .format = bench_elem_name(elem),
                       .data = data,
                       .seconds = bench_median(seconds, bench->repeats),
                       .rate = bench_median(gains, bench->repeats),
                       .unit = "times",
                       .against = "peak_2_threads",
                       .against_rate = bench_median(peaks, bench->repeats),
                       .ratio = bench_median(fractions, bench->repeats)};
  bench_print(bench, bench->size, &line);
  return UFP4_OK;
}

// In time, which two free processors would halve; in CPU time, which should stay the same; and against the peak's gain.
static ufp4_status_t bench_two_threads(bench_t *bench, const job_t *job, ufp4_elem_t elem, const char *data) {
  timing_t timing;
  ufp4_status_t status = bench_take_turns(bench, 2, run_case, run_yard, job, &timing);
  if (status != UFP4_OK) return status;
  print_case(bench, job->kind, elem, data, "1_thread", &timing);
  status = bench_take_turns(bench, 0, run_case, run_yard, job, &timing);
  if (status != UFP4_OK) return status;
  print_case(bench, job->kind, elem, data, "1_thread_cpu", &timing);
  return bench_gain(bench, job, elem, data);
}

static ufp4_status_t bench_gemm(bench_t *bench, const kind_t *kind, ufp4_elem_t elem, const gemm_data_t *data) {
  job_t job = {.kind = kind};
  timing_t timing;
  char against[64];
  if (!bench_wants(bench, kind->what)) return UFP4_OK;
  ufp4_status_t status = make_operand(bench, kind, elem, data->a, 1, &job.a);
  if (status == UFP4_OK) status = make_operand(bench, kind, elem, data->b, 2, &job.b);
  if (status == UFP4_OK && kind->against == AGAINST_ONE_THREAD) {
    status = bench_two_threads(bench, &job, elem, data->name);
  } else if (status == UFP4_OK) {
    const blas_t *blas = kind->against == AGAINST_SGEMM ? &bench->blas : &bench->blas_avx2;
    snprintf(against, sizeof against, "sgemm_%s", blas->core);
    status = bench_take_turns(bench, kind->threads, run_case, run_yard, &job, &timing);
    if (status == UFP4_OK) print_case(bench, kind, elem, data->name, against, &timing);
  }
  ufp4_operand_free(&job.a);
  ufp4_operand_free(&job.b);
  return status;
}

static ufp4_status_t bench_fastest(bench_t *bench) {
  const gemm_data_t *const exact_data[] = {&gaussian, &outliers_a, &outliers_both, &any_scales};
  kind_t exact = {.what = "gemm_exact", .contract = UFP4_CONTRACT_EXACT, .scale = UFP4_SCALE_E4M3};
  kind_t fp32 = {.what = "gemm_fp32", .contract = UFP4_CONTRACT_FP32, .scale = UFP4_SCALE_E4M3};
  ufp4_status_t status = UFP4_OK;
  exact.threads = fp32.threads = (int)bench->threads;
  exact.kernel = fp32.kernel = cli_kernel();
  for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++) {
    for (int i = 0; i < 4 && status == UFP4_OK; i++) {
      status = bench_gemm(bench, &exact, (ufp4_elem_t)elem, exact_data[i]);
    }
  }
  for (int elem = 0; elem < UFP4_ELEM_COUNT && status == UFP4_OK; elem++) {
    status = bench_gemm(bench, &fp32, (ufp4_elem_t)elem, &gaussian);
    if (status == UFP4_OK) status = bench_gemm(bench, &fp32, (ufp4_elem_t)elem, &outliers_both);
  }
  fp32.scale = UFP4_SCALE_E8M0;
  if (status == UFP4_OK) status = bench_gemm(bench, &fp32, UFP4_ELEM_E2M1, &gaussian);
  fp32.scale = UFP4_SCALE_FP32;
  if (status == UFP4_OK) status = bench_gemm(bench, &fp32, UFP4_ELEM_E1M2, &gaussian);
  kind_t nv = {.what = "gemm_nv", .contract = UFP4_CONTRACT_NV, .threads = exact.threads, .kernel = exact.kernel};
  return status == UFP4_OK ? bench_gemm(bench, &nv, UFP4_ELEM_E2M1, &gaussian) : status;
}

// The kernels for AVX2, whatever the processor has besides, against OpenBLAS's for AVX2.
static ufp4_status_t bench_avx2(bench_t *bench) {
  kind_t exact = {.what = "gemm_exact_avx2", .contract = UFP4_CONTRACT_EXACT, .kernel = UFP4_KERNEL_AVX2};
  kind_t fp32 = {.what = "gemm_fp32_avx2", .contract = UFP4_CONTRACT_FP32, .kernel = UFP4_KERNEL_AVX2};
  ufp4_status_t status = UFP4_OK;
  exact.against = fp32.against = AGAINST_SGEMM_AVX2;
  exact.threads = fp32.threads = (int)bench->threads;
  if (!ufp4_kernel_available(UFP4_KERNEL_AVX2) || bench->blas_avx2.library == NULL) return UFP4_OK;
  for (int elem = 0; elem < UFP4_ELEM_INT4 && status == UFP4_OK; elem++) {
    status = bench_gemm(bench, &exact, (ufp4_elem_t)elem, &gaussian);
    if (status == UFP4_OK) status = bench_gemm(bench, &fp32, (ufp4_elem_t)elem, &gaussian);
  }
  return status;
}

// As long as the machine has two processors, and nothing else to do with them.
static ufp4_status_t bench_threads(bench_t *bench) {
  kind_t exact = {.what = "gemm_exact_2_threads", .contract = UFP4_CONTRACT_EXACT};
  kind_t fp32 = {.what = "gemm_fp32_2_threads", .contract = UFP4_CONTRACT_FP32};
  exact.against = fp32.against = AGAINST_ONE_THREAD;
  exact.threads = fp32.threads = 2;
  exact.kernel = fp32.kernel = cli_kernel();
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return UFP4_OK;
  ufp4_status_t status = bench_gemm(bench, &exact, UFP4_ELEM_E1M2, &gaussian);
  return status == UFP4_OK ? bench_gemm(bench, &fp32, UFP4_ELEM_E1M2, &gaussian) : status;
}

ufp4_status_t bench_gemms(bench_t *bench) {
  const uint64_t n = bench->size;
  if (!bench_wants_any(bench, "gemm")) return UFP4_OK;
  ufp4_draw_t draw = ufp4_draw_start(bench->seed, UFP4_DRAW_DATA);
  for (uint64_t i = 0; i < n * n; i++) bench->yard[0][i] = ufp4_draw_normal(&draw);
  for (uint64_t i = 0; i < n * n; i++) bench->yard[1][i] = ufp4_draw_normal(&draw);
  ufp4_status_t status = bench_fastest(bench);
  if (status == UFP4_OK) status = bench_avx2(bench);
  return status == UFP4_OK ? bench_threads(bench) : status;
}
