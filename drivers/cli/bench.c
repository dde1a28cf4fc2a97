// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_cuda.h"
#include "draw.h"
#include "peak.h"

static int run(int argc, char **argv);
const cli_command_t cli_bench = {
    .name = "bench",
    .arguments = "[options]",
    .summary =
        "Times the golden model against OpenBLAS and memcpy, and the simulated core.\n\n"
        "gemm_ stands against the sgemm of the same shape, packing included, its kernels for AVX2 against\n"
        "OpenBLAS's, two threads against one, and that gain against the gain of mere multiplication;\n"
        "quantize_ and amax_ against memcpy of the same FP32 numbers. Case and yardstick take turns, and ratio is\n"
        "the median of yardstick's time / case's time. With one thread time is CPU time.\n"
        "UFP4_KERNEL=portable, avx2 or avx512 chooses other kernels than the fastest.",
    .example = "ufp4 bench --size 1024",
    .run = run,
};

#define SIMULATED_SIZE 256

// --- Lines -------------------------------------------------------------------------------------------

static void add_line(json_out_t *json, uint64_t size, const line_t *line) {
  json_put_object(json, NULL);
  json_put_text(json, "case", line->what);
  json_put_text(json, "format", line->format);
  json_put_text(json, "data", line->data);
  json_put_integer(json, "size", (int64_t)size);
  json_put_real(json, "time_ms", 1e3 * line->seconds);
  json_put_real(json, "rate", line->rate);
  json_put_text(json, "unit", line->unit);
  json_put_text(json, "against", line->against);
  json_put_real(json, "against_rate", line->against_rate);
  json_put_real(json, "ratio", line->ratio);
  json_end_object(json);
}

void bench_print(bench_t *bench, uint64_t size, const line_t *line) {
  const int first = bench->printed++ == 0;
  if (bench->as_json) {
    add_line(&bench->json, size, line);
    return;
  }
  if (first) {
    printf("%% %-20s %-14s %-13s %5s %10s %8s %-8s %-18s %8s %6s\n", "case", "format", "data", "size", "time_ms",
           "rate", "unit", "against", "against_rate", "ratio");
  }
  printf("%-22s %-14s %-13s %5llu %10.3f %8.2f %-8s %-18s %8.2f %6.2f\n", line->what, line->format, line->data,
         (unsigned long long)size, 1e3 * line->seconds, line->rate, line->unit, line->against, line->against_rate,
         line->ratio);
  fflush(stdout);
}

int bench_wants(const bench_t *bench, const char *what) {
  return bench->only == NULL || strncmp(what, bench->only, strlen(bench->only)) == 0;
}

int bench_wants_any(const bench_t *bench, const char *group) {
  if (bench->only == NULL) return 1;
  const size_t given = strlen(bench->only), length = strlen(group);
  return strncmp(bench->only, group, given < length ? given : length) == 0;
}

// --- Timing ------------------------------------------------------------------------------------------

double bench_seconds(int threads) {
  struct timespec t;
  const clockid_t cpu_time = threads == 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
  clock_gettime(threads < 2 ? cpu_time : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_reals(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, uint64_t count) {
  qsort(values, (size_t)count, sizeof *values, compare_reals);
  return values[count / 2];
}

ufp4_status_t bench_take_turns(bench_t *bench, int threads, bench_run_t run_case, bench_run_t run_yard,
                               const void *argument, timing_t *out) {
  double seconds[BENCH_MAX_REPEATS], yard[BENCH_MAX_REPEATS], ratio[BENCH_MAX_REPEATS];
  for (uint64_t i = 0; i < BENCH_UNCOUNTED + bench->repeats; i++) {
    double start = bench_seconds(threads);
    ufp4_status_t status = run_case(bench, argument);
    double between = bench_seconds(threads);
    if (status == UFP4_OK) status = run_yard(bench, argument);
    double end = bench_seconds(threads);
    if (status != UFP4_OK) return status;
    if (i < BENCH_UNCOUNTED) continue;
    const uint64_t at = i - BENCH_UNCOUNTED;
    seconds[at] = between - start;
    yard[at] = end - between;
    ratio[at] = yard[at] / seconds[at];
  }
  const uint64_t count = bench->repeats;
  *out = (timing_t){bench_median(seconds, count), bench_median(yard, count), bench_median(ratio, count)};
  return UFP4_OK;
}

// --- Data --------------------------------------------------------------------------------------------

// The draw's numbers are multiples of 2^-10. FP32 numbers of a computation have 24 bits: what is added fills the rest.
void bench_fill(bench_t *bench, data_t data, uint64_t operand) {
  const uint64_t n = bench->size;
  const uint64_t columns = UINT64_C(1) << 50, rest = UINT64_C(1) << 51;
  ufp4_draw_t draw = ufp4_draw_start(bench->seed, UFP4_DRAW_DATA);
  draw.counter = operand << 52;
  for (uint64_t i = 0; i < n * n; i++) {
    bench->from[i] = ufp4_draw_normal(&draw) + 0x1p-74f * (float)ufp4_draw_at(&draw, (operand << 52) + rest + i);
  }
  for (uint64_t c = 0; c < n && data == DATA_OUTLIERS; c++) {
    if (ufp4_draw_at(&draw, (operand << 52) + columns + c) % 50 != 0) continue;
    for (uint64_t r = 0; r < n; r++) bench->from[r * n + c] *= 16;
  }
}

ufp4_matrix_t bench_matrix(const bench_t *bench) {
  const int64_t n = (int64_t)bench->size;
  return (ufp4_matrix_t){UFP4_DTYPE_F32, n, n, n, bench->from};
}

const char *bench_elem_name(ufp4_elem_t elem) {
  static const char *const names[UFP4_ELEM_COUNT] = {
      [UFP4_ELEM_E2M1] = "e2m1", [UFP4_ELEM_E1M2] = "e1m2", [UFP4_ELEM_INT4] = "int4"};
  return names[elem];
}

// --- Quantizer ---------------------------------------------------------------------------------------

static ufp4_status_t run_memcpy(bench_t *bench, const void *argument) {
  (void)argument;
  memcpy(bench->to, bench->from, (size_t)(bench->size * bench->size) * sizeof(float));
  return UFP4_OK;
}

static ufp4_status_t run_quantize(bench_t *bench, const void *argument) {
  const ufp4_matrix_t matrix = bench_matrix(bench);
  ufp4_operand_t out = {0};
  ufp4_status_t status = ufp4_quantize(&matrix, argument, &out);
  ufp4_operand_free(&out);
  return status;
}

static ufp4_status_t run_amax(bench_t *bench, const void *argument) {
  const ufp4_matrix_t matrix = bench_matrix(bench);
  int exponent;
  return ufp4_tensor_exponent(&matrix, argument, &exponent);
}

static ufp4_status_t bench_blocks(bench_t *bench, const char *what, bench_run_t run_case, const ufp4_quantize_t *how) {
  timing_t timing;
  const double elements = 1e-9 * (double)bench->size * (double)bench->size;
  if (!bench_wants(bench, what)) return UFP4_OK;
  ufp4_status_t status = bench_take_turns(bench, (int)bench->threads, run_case, run_memcpy, how, &timing);
  if (status != UFP4_OK) return status;
  const line_t line = {what,           bench_elem_name(how->elem),     "gaussian",
                       timing.seconds, elements / timing.seconds,      "Gelem/s",
                       "memcpy",       elements / timing.yard_seconds, timing.ratio};
  bench_print(bench, bench->size, &line);
  return UFP4_OK;
}

// Plain, RHT, RHT and SR; with the tensor exponent given, as QUANT has it from AMAX.
static ufp4_status_t bench_axis(bench_t *bench, ufp4_elem_t elem, ufp4_axis_t axis) {
  static const char *const kinds[] = {"plain", "rht", "rht_sr"};
  const char *axis_name = axis == UFP4_AXIS_COL ? "cols" : "rows";
  for (int kind = 0; kind < 3; kind++) {
    char what[32];
    ufp4_quantize_t how = {.elem = elem,
                           .scale = UFP4_SCALE_E4M3,
                           .axis = axis,
                           .rht = kind > 0,
                           .rht_mask = UFP4_RHT_DEFAULT_MASK,
                           .round = kind == 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
                           .seed = bench->seed,
                           .exponent_given = 1,
                           .exponent = 6,
                           .kernel = cli_kernel()};
    snprintf(what, sizeof what, "quantize_%s_%s", kinds[kind], axis_name);
    ufp4_status_t status = bench_blocks(bench, what, run_quantize, &how);
    snprintf(what, sizeof what, "amax_%s_%s", kinds[kind], axis_name);
    if (status == UFP4_OK && kind < 2) status = bench_blocks(bench, what, run_amax, &how);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

static ufp4_status_t bench_quantizer(bench_t *bench) {
  if (!bench_wants_any(bench, "quantize") && !bench_wants_any(bench, "amax")) return UFP4_OK;
  bench_fill(bench, DATA_GAUSSIAN, 1);
  ufp4_status_t status = bench_axis(bench, UFP4_ELEM_E1M2, UFP4_AXIS_ROW);
  if (status == UFP4_OK) status = bench_axis(bench, UFP4_ELEM_E1M2, UFP4_AXIS_COL);
  if (status == UFP4_OK) status = bench_axis(bench, UFP4_ELEM_E2M1, UFP4_AXIS_ROW);
  return status;
}

// --- Machine and simulator -----------------------------------------------------------------------------

static void bench_peak(bench_t *bench) {
  peak_t peaks[2];
  int count = peak_measure(peaks);
  for (int i = 0; i < count; i++) {
    const line_t line = {"peak", peaks[i].name, "-", 0, 1e-9 * peaks[i].macs_per_second, "GMAC/s", "-", NAN, NAN};
    bench_print(bench, 0, &line);
  }
}

// What two threads do against what one does, of the multiplication alone: no GEMM can do better.
static ufp4_status_t run_two_peaks(bench_t *bench, const void *argument) {
  (void)bench;
  (void)argument;
  return peak_run(2, 1) > 0 ? UFP4_OK : UFP4_ERROR_UNSUPPORTED;
}

static ufp4_status_t run_peak_twice(bench_t *bench, const void *argument) {
  (void)bench;
  (void)argument;
  return peak_run(1, 2) > 0 ? UFP4_OK : UFP4_ERROR_UNSUPPORTED;
}

static ufp4_status_t bench_two_peaks(bench_t *bench) {
  peak_t peaks[2];
  timing_t timing;
  const double gmacs = 1e-9 * peak_run(1, 2);
  if (gmacs <= 0 || sysconf(_SC_NPROCESSORS_ONLN) < 2) return UFP4_OK;
  ufp4_status_t status = bench_take_turns(bench, 2, run_two_peaks, run_peak_twice, NULL, &timing);
  if (status != UFP4_OK || peak_measure(peaks) == 0) return status;
  const line_t line = {"peak_2_threads",
                       peaks[0].name,
                       "-",
                       timing.seconds,
                       gmacs / timing.seconds,
                       "GMAC/s",
                       "1_thread",
                       gmacs / timing.yard_seconds,
                       timing.ratio};
  bench_print(bench, 0, &line);
  return UFP4_OK;
}

static ufp4_status_t simulate(ufp4_linear_t *linear, const float *x, float *y, double *seconds) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, SIMULATED_SIZE, SIMULATED_SIZE, SIMULATED_SIZE, x};
  ufp4_status_t status = ufp4_linear_load(linear, UFP4_ROLE_X, &in, 0);
  if (status == UFP4_OK) status = ufp4_linear_load(linear, UFP4_ROLE_W, &in, 0);
  double start = bench_seconds(0);
  if (status == UFP4_OK) status = ufp4_linear_run(linear, UFP4_PASS_FPROP, y, SIMULATED_SIZE, NULL);
  *seconds = bench_seconds(0) - start;
  return status;
}

static ufp4_status_t bench_device(bench_t *bench, ufp4_device_t *device) {
  static const double gmacs = 1e-9 * SIMULATED_SIZE * SIMULATED_SIZE * SIMULATED_SIZE;
  const ufp4_linear_shape_t shape = {
      .tokens = SIMULATED_SIZE, .cin = SIMULATED_SIZE, .cout = SIMULATED_SIZE, .passes = 1u << UFP4_PASS_FPROP};
  ufp4_recipe_t recipe;
  ufp4_linear_t *linear = NULL;
  double seconds;
  ufp4_status_t status = ufp4_recipe_named("ufp4", &recipe);
  if (status == UFP4_OK) status = ufp4_linear_create(device, &shape, &recipe, &linear);
  if (status == UFP4_OK) status = simulate(linear, bench->from, bench->to, &seconds);
  ufp4_linear_free(linear);
  if (status != UFP4_OK) return status;
  const line_t line = {"simulate_rtl", "e1m2", "gaussian", seconds, gmacs / seconds, "GMAC/s", "-", NAN, NAN};
  bench_print(bench, SIMULATED_SIZE, &line);
  return UFP4_OK;
}

// A build without the simulated core has no line for it.
static ufp4_status_t bench_simulator(bench_t *bench) {
  const ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device;
  if (ufp4_device_open("rtl", &options, &device) != UFP4_OK) return UFP4_OK;
  ufp4_draw_t draw = ufp4_draw_start(bench->seed, UFP4_DRAW_DATA);
  for (int i = 0; i < SIMULATED_SIZE * SIMULATED_SIZE; i++) bench->from[i] = ufp4_draw_normal(&draw);
  ufp4_status_t status = bench_device(bench, device);
  ufp4_device_close(device);
  return status;
}

// --- Command -----------------------------------------------------------------------------------------

static ufp4_status_t bench_all(bench_t *bench) {
  if (bench->as_json) {
    json_begin(&bench->json, 6);
    json_put_list(&bench->json, NULL);
  }
  if (bench_wants(bench, "peak")) bench_peak(bench);
  ufp4_status_t status = bench_wants(bench, "peak_2_threads") ? bench_two_peaks(bench) : UFP4_OK;
  if (status == UFP4_OK) status = bench_gemms(bench);
  if (status == UFP4_OK) status = bench_quantizer(bench);
  if (status == UFP4_OK) status = bench_wants(bench, "simulate_rtl") ? bench_simulator(bench) : UFP4_OK;
  if (bench->as_json) json_end_list(&bench->json);
  return status;
}

// What was measured, printed where it is JSON; where nothing was, no case has such a name.
static int finish(bench_t *bench, ufp4_status_t status) {
  int end = status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_bench, status, "");
  if (end == CLI_GO_ON && bench->printed == 0) {
    end =
        cli_fail(&cli_bench, CLI_USAGE, "--case %s: no case that can run here has a name that begins so", bench->only);
  }
  if (end == CLI_GO_ON && bench->as_json) end = cli_json_print(&cli_bench, &bench->json);
  json_free(&bench->json);
  return end == CLI_GO_ON ? CLI_OK : end;
}

static int allocate(bench_t *bench) {
  const uint64_t least = bench->size > SIMULATED_SIZE ? bench->size : SIMULATED_SIZE;
  const uint64_t side = (least + 15) / 16 * 16;  // whole cache lines
  float **all[] = {&bench->from, &bench->to, &bench->yard[0], &bench->yard[1], &bench->yard[2]};
  int whole = 1;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    *all[i] = aligned_alloc(64, ufp4_matrix_bytes((int64_t)side, (int64_t)side, sizeof(float)));
    whole &= *all[i] != NULL;
    if (*all[i] != NULL) memset(*all[i], 0, (size_t)(side * side) * sizeof(float));
  }
  return whole;
}

static void release(bench_t *bench) {
  float *all[] = {bench->from, bench->to, bench->yard[0], bench->yard[1], bench->yard[2]};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  blas_close(&bench->blas);
  blas_close(&bench->blas_avx2);
}

static int check_options(const bench_t *bench) {
  if (bench->size < 16 || bench->size > 16384) return cli_fail(&cli_bench, CLI_USAGE, "--size: 16 to 16384");
  if (bench->repeats < 1 || bench->repeats > BENCH_MAX_REPEATS) {
    return cli_fail(&cli_bench, CLI_USAGE, "--repeats: 1 to %d", BENCH_MAX_REPEATS);
  }
  if (bench->threads < 1 || bench->threads > 256) return cli_fail(&cli_bench, CLI_USAGE, "--threads: 1 to 256");
  return CLI_GO_ON;
}

// What the chosen half of the command has no use for.
static int check_backend(const cli_options_t *options, int cuda) {
  static const char *const of_cuda[] = {"clock-mhz", NULL};
  static const char *const of_model[] = {"repeats", "threads", "seed", "case", NULL};
  for (const char *const *name = cuda ? of_model : of_cuda; *name != NULL; name++) {
    if (!cli_option_given(options, *name)) continue;
    return cli_fail(&cli_bench, CLI_USAGE, "--%s does not go with --backend %s", *name, cuda ? "cuda" : "model");
  }
  return CLI_GO_ON;
}

static int run(int argc, char **argv) {
  enum { BACKEND_MODEL, BACKEND_CUDA };
  bench_t bench = {.size = 1024, .repeats = 11, .threads = 1};
  int backend = BACKEND_MODEL;
  uint64_t clock_mhz = 1000;
  cli_options_t options = {0};
  cli_option_add(&options, "size", CLI_UINT, &bench.size, "N", "matrices are N x N (default 1024)");
  cli_option_add(&options, "repeats", CLI_UINT, &bench.repeats, "N", "times each case takes its turn (default 11)");
  cli_option_add(&options, "threads", CLI_UINT, &bench.threads, "N", "of the GEMM and of OpenBLAS (default 1)");
  cli_option_add(&options, "seed", CLI_UINT, &bench.seed, "SEED", "of the data (default 0)");
  cli_option_add(&options, "case", CLI_TEXT, &bench.only, "TEXT", "only cases whose names begin with it");
  cli_option_add(&options, "json", CLI_FLAG, &bench.as_json, NULL, "an array of lines; null where nothing is compared");
  cli_option_add(&options, "backend", CLI_CHOICE, &backend, "model|cuda",
                 "cuda: the GPU instead, against its memory, cuBLAS and the simulated core");
  cli_option_add(&options, "clock-mhz", CLI_UINT, &clock_mhz, "MHZ",
                 "of the core beside which the GPU stands (default 1000)");
  int end = cli_parse(&cli_bench, &options, argc, argv, 0, 0, NULL, NULL);
  if (end == CLI_GO_ON) end = check_options(&bench);
  if (end == CLI_GO_ON && (clock_mhz < 1 || clock_mhz > 100000)) {
    end = cli_fail(&cli_bench, CLI_USAGE, "--clock-mhz: 1 to 100000");
  }
  if (end == CLI_GO_ON) end = check_backend(&options, backend == BACKEND_CUDA);
  if (end != CLI_GO_ON) return end;
  if (backend == BACKEND_CUDA) return bench_cuda(&cli_bench, (int64_t)bench.size, clock_mhz, bench.as_json);
  if (!blas_open(&bench.blas, (int)bench.threads)) {
    return cli_fail(&cli_bench, CLI_DEVICE, "OpenBLAS is not installed: apt-get install libopenblas0");
  }
  // Without it, as with an OpenBLAS that has no such kernel, its cases are left out.
  (void)blas_open_core(&bench.blas_avx2, "HASWELL", (int)bench.threads);
  ufp4_status_t status = allocate(&bench) ? bench_all(&bench) : UFP4_ERROR_MEMORY;
  release(&bench);
  return finish(&bench, status);
}
