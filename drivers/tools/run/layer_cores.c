// SPDX-License-Identifier: Apache-2.0
// The first core makes whole copies of a layer's tensors, because random bytes belong to positions
// in the whole tensor. Each core then multiplies a range of the rows of A or of B.
#include "layer_cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const split_names[] = {"tokens", "n"};
enum { TOKENS, N, AUTO };

// --- Options ------------------------------------------------------------------------------------

void layer_cores_add(cli_options_t *options, layer_cores_t *cores) {
  cores->asked = 1;
  cores->split = AUTO;
  cli_option_add(options, "cores", CLI_UINT, &cores->asked, "N",
                 "cores that share each GEMM, on model, rtl and tlm (default 1)");
  cli_option_range(options, "a whole number from 1 to 64");
  cli_option_add(
      options, "split", CLI_CHOICE, &cores->split, "tokens|n|auto",
      "how they share it: by rows or by columns of D, or in fewer cycles (default auto)");
}

int layer_cores_check(const cli_options_t *options, const layer_cores_t *cores,
                      const cli_device_t *device) {
  static const char *const able[] = {"model", "rtl", "tlm"};
  if (cores->asked < 1 || cores->asked > SPLIT_MAX_CORES)
    return cli_fail(&cli_layer, CLI_USAGE, "--cores: '%llu' is not a whole number from 1 to %d",
                    (unsigned long long)cores->asked, SPLIT_MAX_CORES);
  if (cores->asked == 1 && cli_option_given(options, "split"))
    return cli_fail(&cli_layer, CLI_USAGE, "--split needs --cores 2 or more");
  if (cores->asked == 1) return CLI_GO_ON;
  if (device->trace != NULL || device->timeline != NULL)
    return cli_fail(&cli_layer, CLI_USAGE, "--%s works with one core only; leave out --cores",
                    device->trace != NULL ? "trace" : "timeline");
  for (size_t i = 0; i < sizeof able / sizeof *able; i++) {
    if (strcmp(device->backend, able[i]) == 0) return CLI_GO_ON;
  }
  return cli_fail(&cli_layer, CLI_USAGE, "--cores needs backend model, rtl or tlm, not %s",
                  device->backend);
}

// --- Devices ------------------------------------------------------------------------------------

int layer_cores_open(const cli_device_t *device, layer_cores_t *cores) {
  int end = CLI_GO_ON;
  cores->count = 1;
  for (int i = 1; i < (int)cores->asked && end == CLI_GO_ON; i++) {
    end = cli_device_open(&cli_layer, device, device->backend, &cores->devices[i]);
    if (end == CLI_GO_ON) cores->count++;
  }
  return end;
}

void layer_cores_close(layer_cores_t *cores) {
  for (int i = 1; i < cores->count; i++) ufp4_device_close(cores->devices[i]);
}

const char *layer_cores_message(const layer_cores_t *cores) {
  for (int i = 0; i < cores->count; i++) {
    const char *message = ufp4_device_message(cores->devices[i]);
    if (message[0] != '\0') return message;
  }
  return "";
}

// --- A GEMM -------------------------------------------------------------------------------------

typedef struct {
  const layer_cores_t *cores;
  ufp4_operand_t a, b;
  ufp4_gemm_t how;
  float *d;
} work_t;

// Returns a range of an operand's rows, in place.
static ufp4_operand_t rows_of(const ufp4_operand_t *all, split_part_t part) {
  const int64_t scales = part.first * all->scale_blocks;
  ufp4_operand_t rows = *all;
  rows.rows = part.count;
  rows.codes += part.first * all->blocks * 8;
  if (rows.scales != NULL) rows.scales += scales;
  if (rows.scales_f32 != NULL) rows.scales_f32 += scales;
  return rows;
}

static ufp4_status_t run_split(const work_t *work, int split, layer_parts_t *parts) {
  const int64_t ld = work->b.rows;
  split_part_t shares[SPLIT_MAX_CORES];
  ufp4_status_t status = UFP4_OK;
  memset(work->d, 0xFF, ufp4_matrix_bytes(work->a.rows, ld, sizeof(float)));  // NaN
  parts->split = split_names[split];
  parts->count = split_gemm(split == N, (uint32_t)(split == N ? work->b.rows : work->a.rows),
                            work->how.d_dtype, work->cores->count, shares);
  for (int i = 0; i < parts->count && status == UFP4_OK; i++) {
    const ufp4_operand_t a = split == N ? work->a : rows_of(&work->a, shares[i]);
    const ufp4_operand_t b = split == N ? rows_of(&work->b, shares[i]) : work->b;
    float *d = work->d + (split == N ? 1 : ld) * shares[i].first;
    status = ufp4_device_gemm(work->cores->devices[i], &a, &b, &work->how, d, ld, &parts->parts[i]);
  }
  return status;
}

static uint64_t longest(const layer_parts_t *parts) {
  uint64_t cycles = 0;
  for (int i = 0; i < parts->count; i++) {
    if (parts->parts[i].cycles > cycles) cycles = parts->parts[i].cycles;
  }
  return cycles;
}

// D is the result of the reported split. Without cycles no split is better than another.
static ufp4_status_t run_best(const work_t *work, layer_parts_t *parts) {
  const size_t bytes = ufp4_matrix_bytes(work->a.rows, work->b.rows, sizeof(float));
  layer_parts_t other = {.count = 0};
  work_t by_n = *work;
  ufp4_status_t status = run_split(work, TOKENS, parts);
  if (status != UFP4_OK || longest(parts) == 0) return status;
  by_n.d = malloc(bytes);
  if (by_n.d == NULL) return UFP4_ERROR_MEMORY;
  status = run_split(&by_n, N, &other);
  if (status == UFP4_OK && longest(&other) < longest(parts)) {
    *parts = other;
    memcpy(work->d, by_n.d, bytes);
  }
  free(by_n.d);
  return status;
}

static void sum_up(const work_t *work, const layer_parts_t *parts, ufp4_gemm_stats_t *stats) {
  *stats = (ufp4_gemm_stats_t){.m = work->a.rows, .n = work->b.rows, .k = work->a.cols};
  stats->cycles = longest(parts);
  for (int i = 0; i < parts->count; i++) {
    for (int c = 0; c < UFP4_COUNTER_COUNT; c++) stats->counters[c] += parts->parts[i].counters[c];
  }
}

ufp4_status_t layer_cores_run(const layer_cores_t *cores, ufp4_linear_t *linear,
                              const ufp4_recipe_t *recipe, ufp4_pass_t pass, float *d,
                              layer_parts_t *parts, ufp4_gemm_stats_t *stats) {
  work_t work = {.cores = cores,
                 .how = {.contract = recipe->contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1.0f},
                 .d = d};
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  ufp4_status_t status = ufp4_linear_operand(linear, roles[0], axes[0], &work.a);
  if (status == UFP4_OK) status = ufp4_linear_operand(linear, roles[1], axes[1], &work.b);
  if (status == UFP4_OK)
    status = cores->split == AUTO ? run_best(&work, parts) : run_split(&work, cores->split, parts);
  if (status == UFP4_OK) sum_up(&work, parts, stats);
  ufp4_operand_free(&work.a);
  ufp4_operand_free(&work.b);
  return status;
}

// --- Report -------------------------------------------------------------------------------------

// Computes the upper limit of each core's utilization from the time of the busiest core, and the
// part that limits it.
static void bound(const layer_parts_t *parts, const cli_device_t *device,
                  const ufp4_device_info_t *info, int cores, report_case_t *line) {
  const bounds_gemm_t how = {.d_bytes = sizeof(float)};
  double most = 0;
  for (int i = 0; i < parts->count; i++) {
    const ufp4_gemm_stats_t *part = &parts->parts[i];
    const report_case_t own =
        report_case_make(line->pass, line->format, part, &how, info, cli_device_memory(device));
    const double needs = (double)part->m * (double)part->n * (double)part->k / own.bound_percent;
    if (!(needs > most)) continue;
    most = needs;
    line->bound_by = own.bound_by;
  }
  line->bound_percent = (double)line->m * (double)line->n * (double)line->k / (cores * most);
}

void layer_cores_report(const layer_cores_t *cores, const layer_parts_t *parts,
                        const cli_device_t *device, report_case_t *line) {
  line->cores = cores->count;
  line->split = parts->split;
  for (int i = 0; i < parts->count; i++) line->core_cycles[i] = parts->parts[i].cycles;
  if (isnan(line->cycles)) return;
  ufp4_device_info_t info;
  ufp4_device_info(cores->devices[0], &info);
  line->util_percent /= cores->count;
  line->stall_percent /= cores->count;
  bound(parts, device, &info, cores->count, line);
}
