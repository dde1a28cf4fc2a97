// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "cuda.h"
#include "train/model/draw.h"

static int run(int argc, char **argv);
const cli_command_t cli_bench = {
    .name = "bench",
    .arguments = "[options]",
    .summary =
        "Times the golden model against OpenBLAS and memcpy, and the simulated cores.\n\n"
        "gemm_ is compared with sgemm of the same shape, including packing; quantize_ and amax_\n"
        "with memcpy of the same FP32 numbers; and train_, a step of the small language model in\n"
        "a recipe, with the same step with sgemm in its linear layers. simulate_ is a GEMM on the\n"
        "Verilated core, and on the timed model without data. Case and yardstick alternate, and\n"
        "ratio is the median of yardstick's time / case's time. With one thread, times are CPU\n"
        "times. UFP4_KERNEL=portable, avx2 or avx512 selects the golden model's kernels, and\n"
        "OPENBLAS_CORETYPE those of OpenBLAS.",
    .example = "ufp4 bench --size 1024",
    .run = run,
};

#define SIMULATED_SIZE 256

// --- Data ---------------------------------------------------------------------------------------

// Returns the bytes of a square FP32 matrix.
static size_t square_bytes(uint64_t size) {
  return ufp4_matrix_bytes((int64_t)size, (int64_t)size, sizeof(float));
}

// The drawn numbers are multiples of 2^-10. The added term fills the 24 bits that computed FP32
// numbers have.
static ufp4_matrix_t fill(bench_t *bench, uint64_t operand) {
  const uint64_t n = bench->size, rest = UINT64_C(1) << 51;
  ufp4_draw_t draw = ufp4_draw_start(bench->seed, UFP4_DRAW_DATA);
  draw.counter = operand << 52;
  for (uint64_t i = 0; i < n * n; i++) {
    bench->from[i] =
        ufp4_draw_normal(&draw) + 0x1p-74f * (float)ufp4_draw_at(&draw, (operand << 52) + rest + i);
  }
  return (ufp4_matrix_t){UFP4_DTYPE_F32, (int64_t)n, (int64_t)n, (int64_t)n, bench->from};
}

// --- GEMM ---------------------------------------------------------------------------------------

typedef struct {
  ufp4_contract_t contract;
  ufp4_operand_t a, b;
} job_t;

static ufp4_status_t run_gemm(bench_t *bench, const void *argument) {
  const job_t *job = argument;
  const ufp4_gemm_t how = {.contract = job->contract,
                           .d_dtype = UFP4_DTYPE_F32,
                           .alpha = 1,
                           .threads = (int)bench->threads,
                           .kernel = cli_kernel()};
  return ufp4_gemm(&job->a, &job->b, &how, bench->to, (int64_t)bench->size);
}

static ufp4_status_t run_sgemm(bench_t *bench, const void *argument) {
  (void)argument;
  blas_multiply(&bench->blas, (int)bench->size, bench->yard[0], bench->yard[1], bench->yard[2]);
  return UFP4_OK;
}

static ufp4_status_t make_operands(bench_t *bench, ufp4_elem_t elem, job_t *job) {
  const ufp4_quantize_t how = {.elem = elem, .scale = UFP4_SCALE_E4M3};
  ufp4_matrix_t matrix = fill(bench, 1);
  ufp4_status_t status = ufp4_quantize(&matrix, &how, &job->a);
  if (status != UFP4_OK) return status;
  memcpy(bench->yard[0], bench->from, square_bytes(bench->size));
  matrix = fill(bench, 2);
  memcpy(bench->yard[1], bench->from, square_bytes(bench->size));
  return ufp4_quantize(&matrix, &how, &job->b);
}

static ufp4_status_t bench_gemm(bench_t *bench, const char *what, ufp4_contract_t contract,
                                ufp4_elem_t elem) {
  const double gmacs = 1e-9 * (double)bench->size * (double)bench->size * (double)bench->size;
  job_t job = {.contract = contract};
  char against[64];
  timing_t t;
  if (!bench_is_wanted(bench, what)) return UFP4_OK;
  ufp4_status_t status = make_operands(bench, elem, &job);
  if (status == UFP4_OK) status = bench_take_turns(bench, run_gemm, run_sgemm, &job, &t);
  ufp4_operand_free(&job.a);
  ufp4_operand_free(&job.b);
  if (status != UFP4_OK) return status;
  snprintf(against, sizeof against, "sgemm_%s", bench->blas.core);
  const line_t line = {what,    elem_names[elem],       t.seconds, gmacs / t.seconds, "GMAC/s",
                       against, gmacs / t.yard_seconds, t.ratio};
  bench_print(bench, bench->size, &line);
  return UFP4_OK;
}

static ufp4_status_t bench_gemms(bench_t *bench) {
  static const struct {
    const char *what;
    ufp4_contract_t contract;
    ufp4_elem_t elem;
  } cases[] = {{"gemm_exact", UFP4_CONTRACT_EXACT, UFP4_ELEM_E1M2},
               {"gemm_exact", UFP4_CONTRACT_EXACT, UFP4_ELEM_E2M1},
               {"gemm_fp32", UFP4_CONTRACT_FP32, UFP4_ELEM_E1M2},
               {"gemm_fp32", UFP4_CONTRACT_FP32, UFP4_ELEM_E2M1},
               {"gemm_nv", UFP4_CONTRACT_NV, UFP4_ELEM_E2M1}};
  ufp4_status_t status = UFP4_OK;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0] && status == UFP4_OK; i++) {
    status = bench_gemm(bench, cases[i].what, cases[i].contract, cases[i].elem);
  }
  return status;
}

// --- Quantizer ----------------------------------------------------------------------------------

static ufp4_status_t run_memcpy(bench_t *bench, const void *argument) {
  (void)argument;
  memcpy(bench->to, bench->from, square_bytes(bench->size));
  return UFP4_OK;
}

static ufp4_matrix_t matrix_of(const bench_t *bench) {
  const int64_t n = (int64_t)bench->size;
  return (ufp4_matrix_t){UFP4_DTYPE_F32, n, n, n, bench->from};
}

static ufp4_status_t run_quantize(bench_t *bench, const void *argument) {
  const ufp4_matrix_t matrix = matrix_of(bench);
  ufp4_operand_t out = {0};
  ufp4_status_t status = ufp4_quantize(&matrix, argument, &out);
  ufp4_operand_free(&out);
  return status;
}

static ufp4_status_t run_amax(bench_t *bench, const void *argument) {
  const ufp4_matrix_t matrix = matrix_of(bench);
  int exponent;
  return ufp4_tensor_exponent(&matrix, argument, &exponent);
}

static ufp4_status_t bench_blocks(bench_t *bench, const char *what, bench_run_t run_case,
                                  const ufp4_quantize_t *how) {
  const double elements = 1e-9 * (double)bench->size * (double)bench->size;
  timing_t t;
  if (!bench_is_wanted(bench, what)) return UFP4_OK;
  fill(bench, 1);
  ufp4_status_t status = bench_take_turns(bench, run_case, run_memcpy, how, &t);
  if (status != UFP4_OK) return status;
  const line_t line = {
      what,     elem_names[how->elem],     t.seconds, elements / t.seconds, "Gelem/s",
      "memcpy", elements / t.yard_seconds, t.ratio};
  bench_print(bench, bench->size, &line);
  return UFP4_OK;
}

// The cases: plain, RHT, RHT and SR; with a given tensor exponent, as QUANT gets it from AMAX.
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
  ufp4_status_t status = bench_axis(bench, UFP4_ELEM_E1M2, UFP4_AXIS_ROW);
  if (status == UFP4_OK) status = bench_axis(bench, UFP4_ELEM_E1M2, UFP4_AXIS_COL);
  if (status == UFP4_OK) status = bench_axis(bench, UFP4_ELEM_E2M1, UFP4_AXIS_ROW);
  return status == UFP4_OK ? bench_axis(bench, UFP4_ELEM_MIXED, UFP4_AXIS_ROW) : status;
}

// --- Simulator ----------------------------------------------------------------------------------

// Runs only FPROP, with its operands in the device's memory; a device without data has none.
static ufp4_status_t simulate(bench_t *bench, ufp4_linear_t *linear, int64_t size,
                              double *seconds) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, size, size, size, bench->from};
  ufp4_status_t status = ufp4_linear_load(linear, UFP4_ROLE_X, &in, 0);
  if (status == UFP4_OK) status = ufp4_linear_load(linear, UFP4_ROLE_W, &in, 0);
  double start = bench_seconds(0);
  if (status == UFP4_OK) status = ufp4_linear_run(linear, UFP4_PASS_FPROP, bench->to, size, NULL);
  *seconds = bench_seconds(0) - start;
  return status;
}

static ufp4_status_t bench_device(bench_t *bench, ufp4_device_t *device, int64_t size,
                                  double *seconds) {
  const ufp4_linear_shape_t shape = {
      .tokens = size, .cin = size, .cout = size, .passes = 1u << UFP4_PASS_FPROP};
  ufp4_recipe_t recipe;
  ufp4_linear_t *linear = NULL;
  ufp4_status_t status = ufp4_recipe_named("ufp4", &recipe);
  if (status == UFP4_OK) status = ufp4_linear_create(device, &shape, &recipe, &linear);
  if (status == UFP4_OK) status = simulate(bench, linear, size, seconds);
  ufp4_linear_free(linear);
  return status;
}

// Adds the line of a simulated core, and keeps its seconds; @p yard: the seconds of its yardstick,
// or NaN. A build without that backend prints no line.
static ufp4_status_t bench_backend(bench_t *bench, const char *backend, int64_t size, double yard,
                                   double *seconds) {
  const double gmacs = 1e-9 * (double)size * (double)size * (double)size;
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device;
  char what[32];
  options.timing_only = strcmp(backend, "tlm") == 0;
  snprintf(what, sizeof what, "simulate_%s", backend);
  *seconds = NAN;
  if (ufp4_device_open(backend, &options, &device) != UFP4_OK) return UFP4_OK;
  ufp4_status_t status = bench_device(bench, device, size, seconds);
  ufp4_device_close(device);
  if (status != UFP4_OK) return status;
  const line_t line = {what,         "e1m2",
                       *seconds,     gmacs / *seconds,
                       "GMAC/s",     isnan(yard) ? "-" : "simulate_rtl",
                       gmacs / yard, yard / *seconds};
  bench_print(bench, (uint64_t)size, &line);
  return UFP4_OK;
}

static ufp4_status_t bench_simulators(bench_t *bench) {
  ufp4_draw_t draw = ufp4_draw_start(bench->seed, UFP4_DRAW_DATA);
  ufp4_status_t status = UFP4_OK;
  double rtl = NAN, timed;
  for (int i = 0; i < SIMULATED_SIZE * SIMULATED_SIZE; i++)
    bench->from[i] = ufp4_draw_normal(&draw);
  if (bench_is_wanted(bench, "simulate_rtl"))
    status = bench_backend(bench, "rtl", SIMULATED_SIZE, NAN, &rtl);
  if (!bench_is_wanted(bench, "simulate_tlm")) return status;
  if (status == UFP4_OK) status = bench_backend(bench, "tlm", SIMULATED_SIZE, rtl, &timed);
  if (status == UFP4_OK) status = bench_backend(bench, "tlm", (int64_t)bench->size, NAN, &timed);
  return status;
}

// --- Command ------------------------------------------------------------------------------------

static ufp4_status_t bench_all(bench_t *bench) {
  ufp4_status_t status = bench_gemms(bench);
  if (status == UFP4_OK) status = bench_quantizer(bench);
  if (status == UFP4_OK) status = bench_train(bench);
  return status == UFP4_OK ? bench_simulators(bench) : status;
}

// Prints the measurements if they are JSON. If nothing was measured, --case matches no name.
static int finish(bench_t *bench, ufp4_status_t status) {
  int end = status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_bench, status, "");
  if (end == CLI_GO_ON && bench->printed == 0) {
    end = cli_fail(&cli_bench, CLI_USAGE,
                   "--case %s: no case that can run here has a name that begins with this",
                   bench->only);
  }
  if (end == CLI_GO_ON && bench->as_json) return cli_json_print(&cli_bench, bench->lines, 6);
  json_decref(bench->lines);
  return end;
}

static int allocate(bench_t *bench) {
  const uint64_t least = bench->size > SIMULATED_SIZE ? bench->size : SIMULATED_SIZE;
  const size_t bytes = square_bytes((least + 15) / 16 * 16);  // whole cache lines
  float **all[] = {&bench->from, &bench->to, &bench->yard[0], &bench->yard[1], &bench->yard[2]};
  int whole = 1;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    *all[i] = aligned_alloc(64, bytes);
    whole &= *all[i] != NULL;
    if (*all[i] != NULL) memset(*all[i], 0, bytes);
  }
  return whole;
}

static void release(bench_t *bench) {
  float *all[] = {bench->from, bench->to, bench->yard[0], bench->yard[1], bench->yard[2]};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  blas_close(&bench->blas);
}

static int check_options(const bench_t *bench) {
  if (bench->size < 16 || bench->size > 16384)
    return cli_fail(&cli_bench, CLI_USAGE, "--size: '%llu' is not a whole number from 16 to 16384",
                    (unsigned long long)bench->size);
  if (bench->repeats < 1 || bench->repeats > BENCH_MAX_REPEATS) {
    return cli_fail(&cli_bench, CLI_USAGE, "--repeats: '%llu' is not a whole number from 1 to %d",
                    (unsigned long long)bench->repeats, BENCH_MAX_REPEATS);
  }
  if (bench->threads < 1 || bench->threads > 256)
    return cli_fail(&cli_bench, CLI_USAGE, "--threads: '%llu' is not a whole number from 1 to 256",
                    (unsigned long long)bench->threads);
  return CLI_GO_ON;
}

// Refuses options that do not apply to the chosen half of the command.
static int check_backend(const cli_options_t *options, int cuda) {
  static const char *const of_cuda[] = {"clock-mhz", NULL};
  static const char *const of_model[] = {"repeats", "threads", "seed", "case", NULL};
  for (const char *const *name = cuda ? of_model : of_cuda; *name != NULL; name++) {
    if (!cli_option_given(options, *name)) continue;
    return cli_fail(&cli_bench, CLI_USAGE, "--%s has no effect with --backend %s; leave it out",
                    *name, cuda ? "cuda" : "model");
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
  cli_option_add(&options, "repeats", CLI_UINT, &bench.repeats, "N",
                 "runs of each case (default 11)");
  cli_option_add(&options, "threads", CLI_UINT, &bench.threads, "N",
                 "threads of the GEMM and of OpenBLAS (default 1)");
  cli_option_add(&options, "seed", CLI_UINT, &bench.seed, "SEED", "seed of the data (default 0)");
  cli_option_add(&options, "case", CLI_TEXT, &bench.only, "TEXT",
                 "only cases whose names begin with TEXT");
  cli_option_add(&options, "json", CLI_FLAG, &bench.as_json, NULL,
                 "print an array of lines; null if nothing is compared");
  cli_option_add(&options, "backend", CLI_CHOICE, &backend, "model|cuda",
                 "cuda: measure the GPU against its memory, cuBLAS and the simulated core");
  cli_option_add(&options, "clock-mhz", CLI_UINT, &clock_mhz, "MHZ",
                 "clock of the core with which the GPU is compared (default 1000)");
  int end = cli_parse(&cli_bench, &options, argc, argv, 0, 0, NULL, NULL);
  if (end == CLI_GO_ON) end = check_options(&bench);
  if (end == CLI_GO_ON && (clock_mhz < 1 || clock_mhz > 100000)) {
    end = cli_fail(&cli_bench, CLI_USAGE,
                   "--clock-mhz: '%llu' is not a whole number from 1 to 100000",
                   (unsigned long long)clock_mhz);
  }
  if (end == CLI_GO_ON) end = check_backend(&options, backend == BACKEND_CUDA);
  if (end != CLI_GO_ON) return end;
  if (backend == BACKEND_CUDA)
    return bench_cuda(&cli_bench, (int64_t)bench.size, clock_mhz, bench.as_json);
  if (!blas_open(&bench.blas, (int)bench.threads)) {
    return cli_fail(&cli_bench, CLI_DEVICE,
                    "OpenBLAS is not installed: apt-get install libopenblas0");
  }
  bench.lines = json_array();
  ufp4_status_t status = allocate(&bench) ? bench_all(&bench) : UFP4_ERROR_MEMORY;
  release(&bench);
  end = finish(&bench, status);
  return end == CLI_GO_ON ? CLI_OK : end;
}
