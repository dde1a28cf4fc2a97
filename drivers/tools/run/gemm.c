// SPDX-License-Identifier: Apache-2.0
// ufp4 gemm: by descriptors on every backend, except for combinations that require whole operands.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/names.h"
#include "frame/cli.h"
#include "frame/compare.h"
#include "frame/report.h"

static int run(int argc, char **argv);
const cli_command_t cli_gemm = {
    .name = "gemm",
    .arguments = "A B -o D.npy [options]",
    .summary = "Computes D = alpha A B^T + C from two quantized tensors, A [M][K] and B [N][K].",
    .example = "ufp4 gemm X.safetensors W.safetensors -o Y.npy --backend rtl --check model --stats",
    .details = cli_operand_details,
    .run = run,
};

enum { NOT_GIVEN = -1 };
enum { OUT_F32, OUT_BF16, OUT_I64 };

typedef struct {
  const char *output, *c_path, *accumulate_path, *check;
  int contract, out, bf16, stats, json;
  float alpha;
  cli_device_t device;
} choices_t;

typedef struct {
  ufp4_operand_t a, b;
  ufp4_tensor_t c, accumulate;
  float *c_f32;
} inputs_t;

/** The result of one backend. */
typedef struct {
  void *d;
  size_t element_bytes;
  ufp4_gemm_stats_t stats;
  double seconds;  ///< CPU seconds of the host, including transfers
  ufp4_device_info_t info;
} result_t;

static void free_inputs(inputs_t *in) {
  ufp4_operand_free(&in->a);
  ufp4_operand_free(&in->b);
  ufp4_tensor_free(&in->c);
  ufp4_tensor_free(&in->accumulate);
  free(in->c_f32);
}

// --- Inputs -------------------------------------------------------------------------------------

static int fail_read(ufp4_status_t status, const ufp4_message_t *message) {
  return cli_fail_status(&cli_gemm, status, message->text);
}

static int read_operands(char **paths, inputs_t *in) {
  ufp4_quantize_t how_a, how_b;
  int end = cli_operand_read(&cli_gemm, paths[0], &in->a, &how_a);
  if (end == CLI_GO_ON) end = cli_operand_read(&cli_gemm, paths[1], &in->b, &how_b);
  if (end != CLI_GO_ON) return end;
  if (how_a.rht != how_b.rht ||
      (how_a.rht && (how_a.rht_mask != how_b.rht_mask || how_a.rht_size != how_b.rht_size))) {
    return cli_fail(&cli_gemm, CLI_USAGE,
                    "%s and %s have different Hadamard transforms; both must have none, or the "
                    "same size and mask",
                    paths[0], paths[1]);
  }
  return CLI_GO_ON;
}

static int check_shape(const char *path, const ufp4_matrix_t *matrix, const inputs_t *in) {
  if (matrix->rows == in->a.rows && matrix->cols == in->b.rows) return CLI_GO_ON;
  return cli_fail(&cli_gemm, CLI_USAGE,
                  "%s is %" PRId64 " x %" PRId64 "; it must have the size of D, %" PRId64
                  " x %" PRId64,
                  path, matrix->rows, matrix->cols, in->a.rows, in->b.rows);
}

static int read_c(const char *path, int bf16, inputs_t *in) {
  int end = cli_tensor_read(&cli_gemm, path, bf16, &in->c);
  if (end == CLI_GO_ON) end = check_shape(path, &in->c.view, in);
  if (end != CLI_GO_ON || in->c.view.dtype == UFP4_DTYPE_F32) return end;
  int64_t count = in->c.view.rows * in->c.view.cols;
  in->c_f32 = malloc(ufp4_matrix_bytes(count, 1, sizeof *in->c_f32));
  if (in->c_f32 == NULL) return cli_fail_status(&cli_gemm, UFP4_ERROR_MEMORY, NULL);
  for (int64_t i = 0; i < count; i++)
    in->c_f32[i] = ufp4_bf16_value(((const uint16_t *)in->c.data)[i]);
  return CLI_GO_ON;
}

static int read_accumulate(const char *path, inputs_t *in) {
  ufp4_message_t message = {0};
  ufp4_status_t status = ufp4_file_read(path, 0, &in->accumulate, &message);
  if (status != UFP4_OK) return fail_read(status, &message);
  if (in->accumulate.view.dtype != UFP4_DTYPE_I64) {
    return cli_fail(&cli_gemm, CLI_USAGE,
                    "%s: --accumulate-in needs int64 sums, as --out i64 writes them", path);
  }
  return check_shape(path, &in->accumulate.view, in);
}

static int read_inputs(char **paths, const choices_t *choices, inputs_t *in) {
  int end = read_operands(paths, in);
  if (end == CLI_GO_ON && choices->c_path != NULL) end = read_c(choices->c_path, choices->bf16, in);
  if (end == CLI_GO_ON && choices->accumulate_path != NULL)
    end = read_accumulate(choices->accumulate_path, in);
  return end;
}

// --- On a device --------------------------------------------------------------------------------

static const ufp4_dtype_t dtypes[] = {
    [OUT_F32] = UFP4_DTYPE_F32, [OUT_BF16] = UFP4_DTYPE_BF16, [OUT_I64] = UFP4_DTYPE_I64};

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ufp4_gemm_t how_of(const choices_t *choices, const inputs_t *in) {
  return (ufp4_gemm_t){.contract = (ufp4_contract_t)choices->contract,
                       .d_dtype = dtypes[choices->out],
                       .alpha = choices->alpha,
                       .c = in->c_f32 != NULL ? in->c_f32 : in->c.data,
                       .c_ld = in->b.rows,
                       .accumulate = in->accumulate.data,
                       .accumulate_ld = in->b.rows};
}

static int run_on_backend(const choices_t *choices, const char *backend, const inputs_t *in,
                          result_t *result) {
  const ufp4_gemm_t how = how_of(choices, in);
  ufp4_device_t *device;
  int end = cli_device_open(&cli_gemm, &choices->device, backend, &device);
  if (end != CLI_GO_ON) return end;
  ufp4_device_info(device, &result->info);
  result->seconds = -cpu_seconds();
  ufp4_status_t status =
      ufp4_device_gemm(device, &in->a, &in->b, &how, result->d, in->b.rows, &result->stats);
  result->seconds += cpu_seconds();
  if (status != UFP4_OK) end = cli_fail_status(&cli_gemm, status, ufp4_device_message(device));
  const int closed = cli_device_close(&cli_gemm, device);
  return end != CLI_GO_ON ? end : closed;
}

// --- Results ------------------------------------------------------------------------------------

static int64_t count_mismatches(const result_t *got, const result_t *want, int64_t count) {
  compare_t compare = {.got_name = got->info.backend, .want_name = want->info.backend};
  compare_elements(&compare, "D", got->d, want->d, got->element_bytes, count);
  return compare.mismatches;
}

// Describes the job as far as its bounds depend on it.
static bounds_gemm_t bounds_how(const choices_t *choices, const inputs_t *in, unsigned d_bytes) {
  const int has_c = choices->c_path != NULL;
  return (bounds_gemm_t){
      .d_bytes = d_bytes,
      .operations = (in->a.scale == UFP4_SCALE_NVFP4) + (choices->alpha != 1.0f) + has_c,
      .has_sums = choices->accumulate_path != NULL,
      .has_c = has_c};
}

static int print_stats(const choices_t *choices, const inputs_t *in, const result_t *got,
                       const result_t *want, int64_t mismatches) {
  char format[16];
  int same = in->a.elem == in->b.elem;
  snprintf(format, sizeof format, "%s%s%s", elem_names[in->a.elem], same ? "" : "/",
           same ? "" : elem_names[in->b.elem]);
  const result_t *timed = !got->info.has_cycles && want->d != NULL ? want : got;
  ufp4_gemm_stats_t stats = timed->stats;
  stats.m = in->a.rows;
  stats.n = in->b.rows;
  stats.k = in->a.cols;
  const bounds_gemm_t how = bounds_how(choices, in, (unsigned)got->element_bytes);
  report_case_t line = report_case_make("gemm", format, &stats, &how, &timed->info,
                                        cli_device_memory(&choices->device));
  line.mismatches = mismatches;
  json_t *to = choices->json ? json_object() : NULL;
  report_begin(to, 1);
  report_case(to, &line);
  if (choices->stats && timed->info.has_cycles) report_counters(to, &stats, timed->seconds);
  if (to == NULL) return CLI_GO_ON;
  json_object_set_new(to, "verdict", json_string(report_verdict(mismatches)));
  return cli_json_print(&cli_gemm, to, 6);
}

static int write_result(const choices_t *choices, const inputs_t *in, const result_t *result) {
  ufp4_matrix_t matrix = {dtypes[choices->out], in->a.rows, in->b.rows, in->b.rows, result->d};
  ufp4_message_t message = {0};
  ufp4_status_t status = ufp4_tensor_write(choices->output, &matrix, &message);
  if (status != UFP4_OK) return fail_read(status, &message);
  if (choices->out == OUT_I64) {
    int fraction = 18 + ufp4_elem_frac(in->a.elem) + ufp4_elem_frac(in->b.elem);
    fprintf(stderr,
            "ufp4 gemm: sums in units of 2^-%d; tensor exponents %d and %d are not applied\n",
            fraction, in->a.exponent, in->b.exponent);
  }
  return CLI_GO_ON;
}

// Opens the second backend before the first one's work, to see whether it exists.
static int try_check(const choices_t *choices) {
  ufp4_device_t *device;
  int end = cli_device_open(&cli_gemm, &choices->device, choices->check, &device);
  ufp4_device_close(device);
  return end;
}

static int compute(const choices_t *choices, const inputs_t *in, result_t *got, result_t *want) {
  int end = want->d != NULL ? try_check(choices) : CLI_GO_ON;
  if (end == CLI_GO_ON) end = run_on_backend(choices, choices->device.backend, in, got);
  if (end == CLI_GO_ON && want->d != NULL) end = run_on_backend(choices, choices->check, in, want);
  return end;
}

static int make_results(const choices_t *choices, const inputs_t *in, result_t *got,
                        result_t *want) {
  static const size_t bytes[] = {[OUT_F32] = 4, [OUT_BF16] = 2, [OUT_I64] = 8};
  *got = (result_t){.element_bytes = bytes[choices->out], .info = {.backend = "model"}};
  *want = *got;
  size_t count = ufp4_matrix_bytes(in->a.rows, in->b.rows, 1);
  got->d = calloc(count, got->element_bytes);
  if (choices->check != NULL) want->d = calloc(count, got->element_bytes);
  int good = got->d != NULL && (choices->check == NULL || want->d != NULL);
  return good ? CLI_GO_ON : cli_fail_status(&cli_gemm, UFP4_ERROR_MEMORY, NULL);
}

static int multiply(choices_t *choices, const inputs_t *in) {
  result_t got, want;
  int64_t m = in->a.rows, n = in->b.rows, mismatches = -1;
  int64_t padded = (in->a.cols + 127) / 128 * 128;
  const uint64_t outputs = (uint64_t)m * (uint64_t)(n + 32);
  uint64_t plain = choices->out == OUT_I64 ? 8 : 4;
  if (choices->c_path != NULL) plain += 4;
  if (choices->accumulate_path != NULL) plain += 8;
  cli_device_demand(&choices->device, (uint64_t)(m + n + 32) * (uint64_t)padded + outputs * plain);
  int end = make_results(choices, in, &got, &want);
  if (end == CLI_GO_ON) end = compute(choices, in, &got, &want);
  if (end == CLI_GO_ON && want.d != NULL) mismatches = count_mismatches(&got, &want, m * n);
  if (end == CLI_GO_ON && (choices->stats || choices->json || choices->device.timing_only))
    end = print_stats(choices, in, &got, &want, mismatches);
  if (end == CLI_GO_ON) end = cli_printed();
  if (end == CLI_GO_ON && choices->output != NULL) end = write_result(choices, in, &got);
  free(got.d);
  free(want.d);
  if (end != CLI_GO_ON || mismatches < 0) return end == CLI_GO_ON ? CLI_OK : end;
  if (mismatches == 0) {
    fprintf(stderr, "ufp4 gemm: compared: %" PRId64 " output%s, equal\n", m * n,
            m * n == 1 ? "" : "s");
    return CLI_OK;
  }
  return cli_fail(&cli_gemm, CLI_MISMATCH,
                  "%" PRId64 " of %" PRId64 " outputs differ between %s and %s", mismatches, m * n,
                  choices->device.backend, choices->check);
}

static void add_options(cli_options_t *options, choices_t *c) {
  cli_option_add(options, "o", CLI_TEXT, &c->output, "D.npy", "the result");
  cli_option_add(options, "c", CLI_TEXT, &c->c_path, "C.npy", "C, which is added at the end");
  cli_option_add(options, "bf16", CLI_FLAG, &c->bf16, NULL,
                 "uint16 elements of C are BF16 patterns");
  cli_option_add(options, "alpha", CLI_REAL, &c->alpha, "A",
                 "factor of the product, any FP32 value (default 1)");
  cli_option_add(options, "accumulate", CLI_CHOICE, &c->contract, CONTRACT_WORDS,
                 "contract (default: exact if the scales allow it, otherwise fp32)");
  cli_option_add(options, "out", CLI_CHOICE, &c->out, DTYPE_WORDS,
                 "type of D; bf16: patterns in uint16; i64: the unrounded sums");
  cli_option_add(options, "accumulate-in", CLI_TEXT, &c->accumulate_path, "S.npy",
                 "unrounded sums, which are added first");
  cli_option_add(options, "check", CLI_TEXT, &c->check, "BACKEND",
                 "compare every bit with this backend's");
  cli_option_need(options, CLI_NEEDS_BACKEND);
  cli_option_add(options, "stats", CLI_FLAG, &c->stats, NULL,
                 "print cycles, utilization, stalls, counters, simulation speed");
  cli_option_add(options, "json", CLI_FLAG, &c->json, NULL, "print the statistics as JSON");
  cli_device_add_timing(options, &c->device);
  cli_device_add(options, &c->device);
}

static int check_choices(const choices_t *c) {
  if (c->output == NULL && !c->device.timing_only)
    return cli_fail(&cli_gemm, CLI_USAGE, "-o D.npy is missing");
  if (c->output != NULL && c->device.timing_only)
    return cli_fail(&cli_gemm, CLI_USAGE, "--timing-only computes no D; leave out -o");
  if (c->bf16 && c->c_path == NULL)
    return cli_fail(&cli_gemm, CLI_USAGE, "--bf16 describes C; it needs --c");
  return CLI_GO_ON;
}

// The combination is known only with the operands. Both backends are asked before the first one's
// work.
static int check_gemm(choices_t *c, const inputs_t *in) {
  const char *backends[2] = {c->device.backend, c->check};
  ufp4_message_t message = {0};
  if (c->contract == NOT_GIVEN) c->contract = (int)ufp4_gemm_default_contract(in->a.scale);
  const ufp4_gemm_t how = how_of(c, in);
  ufp4_status_t status = ufp4_gemm_check(&in->a, &in->b, &how, &message);
  for (int i = 0; i < 2 && backends[i] != NULL && status == UFP4_OK; i++) {
    status = ufp4_combination_gemm(in->a.elem, in->b.elem, in->a.scale, how.contract, backends[i],
                                   &message);
  }
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_gemm, status, message.text);
}

static int check_two_names(const choices_t *c, const char *path, const char *option) {
  if (path == NULL || c->output == NULL || strcmp(path, c->output) != 0) return CLI_GO_ON;
  return cli_fail(&cli_gemm, CLI_USAGE, "%s: -o and --%s name the same file; name two", path,
                  option);
}

static int run(int argc, char **argv) {
  choices_t choices = {.alpha = 1.0f, .contract = NOT_GIVEN};
  cli_options_t options = {0};
  inputs_t in = {0};
  char **paths;
  cli_device_init(&choices.device);
  add_options(&options, &choices);
  int end = cli_parse(&cli_gemm, &options, argc, argv, 2, 2, &paths, NULL);
  if (end == CLI_GO_ON) end = check_choices(&choices);
  if (end == CLI_GO_ON) end = cli_device_check(&cli_gemm, &options, &choices.device, choices.check);
  if (end != CLI_GO_ON) return end;
  const char *const read[] = {paths[0], paths[1], choices.c_path, choices.accumulate_path};
  if (choices.output != NULL) end = cli_output_file(&cli_gemm, choices.output, CLI_NPY, read, 4);
  if (end == CLI_GO_ON) end = cli_device_check_trace(&cli_gemm, &choices.device, read, 4);
  if (end == CLI_GO_ON) end = check_two_names(&choices, choices.device.trace, "trace");
  if (end == CLI_GO_ON) end = check_two_names(&choices, choices.device.timeline, "timeline");
  if (end != CLI_GO_ON) return end;
  end = read_inputs(paths, &choices, &in);
  if (end == CLI_GO_ON) end = check_gemm(&choices, &in);
  if (end == CLI_GO_ON) end = multiply(&choices, &in);
  free_inputs(&in);
  return end;
}
