// SPDX-License-Identifier: Apache-2.0
#include "cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/measure.h"

static void add_figure(json_t *json, const ufp4_cuda_figure_t *f, const char *against,
                       double against_rate) {
  json_array_append_new(
      json, json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:s, s:s, s:o, s:o}", "case", f->name, "m",
                      (json_int_t)f->m, "n", (json_int_t)f->n, "k", (json_int_t)f->k, "time_ms",
                      json_real_or_null(f->milliseconds), "rate", json_real_or_null(f->rate),
                      "unit", f->unit, "against", against, "against_rate",
                      json_real_or_null(against_rate), "ratio", json_real_or_null(f->ratio)));
}

// The JSON output, or NULL.
static void print_line(void *argument, const ufp4_cuda_figure_t *f) {
  const char *against = f->against != NULL ? f->against : "-";
  const double against_rate = f->against != NULL && f->against_rate > 0 ? f->against_rate : NAN;
  if (argument != NULL) {
    add_figure(argument, f, against, against_rate);
    return;
  }
  printf("%-26s %6lld %6lld %6lld %10.4f %10.3f %-7s %-22s %10.3f %7.3f\n", f->name,
         (long long)f->m, (long long)f->n, (long long)f->k, f->milliseconds, f->rate, f->unit,
         against, against_rate, f->ratio);
  fflush(stdout);
}

// --- NVIDIA's own arithmetic --------------------------------------------------------------------

static void add_distance(json_t *json, const ufp4_cuda_distance_t *x, int skipped) {
  json_array_append_new(
      json, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "case", x->name, "size",
                      (json_int_t)x->size, "skipped", json_text(x->skipped), "unequal_percent",
                      json_real_or_null(skipped ? NAN : x->unequal_percent), "largest_error",
                      json_real_or_null(skipped ? NAN : x->largest), "mean_error",
                      json_real_or_null(skipped ? NAN : x->mean)));
}

static void print_distance(json_t *json, const ufp4_cuda_distance_t *x) {
  const int skipped = x->skipped[0] != '\0';
  if (json != NULL) {
    add_distance(json, x, skipped);
  } else if (skipped) {
    printf("%s: skipped: %s\n", x->name, x->skipped);
  } else {
    printf(
        "%s: of %lld x %lld outputs with k %lld, %.3f %% differ from the exact contract; largest "
        "error %.3e of the "
        "largest |D|, mean %.3e of the mean\n",
        x->name, (long long)x->size, (long long)x->size, (long long)x->size, x->unequal_percent,
        x->largest, x->mean);
  }
}

static ufp4_status_t compare_vendor(int64_t size, ufp4_message_t *message, json_t *json) {
  ufp4_cuda_distance_t distances[UFP4_CUDA_DISTANCES];
  ufp4_status_t status = ufp4_cuda_vendor_distances(size < 4096 ? size : 4096, message, distances);
  for (int i = 0; i < UFP4_CUDA_DISTANCES && status == UFP4_OK; i++)
    print_distance(json, &distances[i]);
  return status;
}

// --- Beside the simulated core ------------------------------------------------------------------

// Tokens, Cin, Cout.
static const int64_t layers[][3] = {{256, 256, 256}, {512, 64, 192}};
static const char *const pass_names[UFP4_PASS_COUNT] = {"fprop_exact", "dgrad_exact",
                                                        "wgrad_exact"};

static ufp4_status_t load_layer(ufp4_linear_t *linear, const int64_t *sizes) {
  const int64_t rows[UFP4_ROLE_COUNT] = {sizes[0], sizes[2], sizes[0]},
                cols[] = {sizes[1], sizes[1], sizes[2]};
  ufp4_status_t status = UFP4_OK;
  for (int role = 0; role < UFP4_ROLE_COUNT && status == UFP4_OK; role++) {
    const int64_t count = rows[role] * cols[role];
    float *values = malloc((size_t)count * sizeof *values);
    if (values == NULL) return UFP4_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++) values[i] = (float)(i * 37 % 101 - 50);
    const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, rows[role], cols[role], cols[role], values};
    status = ufp4_linear_load(linear, (ufp4_role_t)role, &matrix, 0);
    free(values);
  }
  return status;
}

// Returns the cycles of the three GEMMs on the simulated core.
static ufp4_status_t simulate(ufp4_device_t *device, const int64_t *sizes,
                              ufp4_gemm_stats_t stats[UFP4_PASS_COUNT]) {
  const ufp4_linear_shape_t shape = {
      .tokens = sizes[0], .cin = sizes[1], .cout = sizes[2], .passes = UFP4_PASSES_ALL};
  ufp4_recipe_t recipe;
  ufp4_linear_t *linear = NULL;
  const int64_t largest = sizes[0] > sizes[2] ? sizes[0] : sizes[2];
  float *d = malloc((size_t)(largest * (sizes[1] > sizes[2] ? sizes[1] : sizes[2])) * sizeof *d);
  ufp4_status_t status = d != NULL ? ufp4_recipe_named("ufp4", &recipe) : UFP4_ERROR_MEMORY;
  if (status == UFP4_OK) status = ufp4_linear_create(device, &shape, &recipe, &linear);
  if (status == UFP4_OK) status = load_layer(linear, sizes);
  for (int pass = 0; pass < UFP4_PASS_COUNT && status == UFP4_OK; pass++) {
    const int64_t n = pass == UFP4_PASS_FPROP ? sizes[2] : sizes[1];
    status = ufp4_linear_run(linear, (ufp4_pass_t)pass, d, n, &stats[pass]);
  }
  ufp4_linear_free(linear);
  free(d);
  return status;
}

static ufp4_status_t compare_layer(ufp4_device_t *device, const int64_t *sizes, uint64_t clock_mhz,
                                   ufp4_message_t *message, json_t *json) {
  ufp4_gemm_stats_t stats[UFP4_PASS_COUNT];
  char against[64];
  snprintf(against, sizeof against, "simulated_core_%lluMHz", (unsigned long long)clock_mhz);
  ufp4_status_t status = simulate(device, sizes, stats);
  if (status != UFP4_OK) ufp4_message_set(message, "%s", ufp4_device_message(device));
  for (int pass = 0; pass < UFP4_PASS_COUNT && status == UFP4_OK; pass++) {
    const ufp4_gemm_stats_t *s = &stats[pass];
    const double macs = 1e-9 * (double)s->m * (double)s->n * (double)s->k;
    const double core_ms = 1e-3 * (double)s->cycles / (double)clock_mhz;
    double gpu_ms;
    status = ufp4_cuda_time_gemm(s->m, s->n, s->k, message, &gpu_ms);
    const ufp4_cuda_figure_t figure = {
        pass_names[pass], s->m,     s->n,    s->k,           gpu_ms,
        macs / gpu_ms,    "TMAC/s", against, macs / core_ms, core_ms / gpu_ms};
    if (status == UFP4_OK) print_line(json, &figure);
  }
  return status;
}

// A build without the simulated core prints no lines for it.
static ufp4_status_t compare_layers(uint64_t clock_mhz, ufp4_message_t *message, json_t *json) {
  const ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device;
  ufp4_status_t status = UFP4_OK;
  if (ufp4_device_open("rtl", &options, &device) != UFP4_OK) return UFP4_OK;
  for (size_t i = 0; i < sizeof layers / sizeof layers[0] && status == UFP4_OK; i++) {
    status = compare_layer(device, layers[i], clock_mhz, message, json);
  }
  ufp4_device_close(device);
  return status;
}

static ufp4_status_t measure(int64_t size, uint64_t clock_mhz, ufp4_message_t *message,
                             json_t *json) {
  ufp4_status_t status = ufp4_cuda_measure(size, message, print_line, json);
  if (status == UFP4_OK) status = compare_layers(clock_mhz, message, json);
  return status == UFP4_OK ? compare_vendor(size, message, json) : status;
}

int bench_cuda(const cli_command_t *command, int64_t size, uint64_t clock_mhz, int as_json) {
  ufp4_message_t message = {0};
  if (size % 128 != 0)
    return cli_fail(command, CLI_USAGE,
                    "--size is %lld; with --backend cuda it must be a multiple of 128",
                    (long long)size);
  ufp4_status_t status = ufp4_cuda_available(&message);
  if (status != UFP4_OK) return cli_fail_status(command, status, message.text);
  json_t *json = as_json ? json_array() : NULL;
  if (!as_json) {
    printf("%% %-24s %6s %6s %6s %10s %10s %-7s %-22s %10s %7s\n", "case", "m", "n", "k", "time_ms",
           "rate", "unit", "against", "against_rate", "ratio");
  }
  status = measure(size, clock_mhz, &message, json);
  int end = status == UFP4_OK ? CLI_GO_ON : cli_fail_status(command, status, message.text);
  if (as_json && end == CLI_GO_ON) {
    end = cli_json_print(command, json, 6);
  } else {
    json_decref(json);
  }
  return end == CLI_GO_ON ? CLI_OK : end;
}
