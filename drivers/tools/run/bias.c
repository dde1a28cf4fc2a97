// SPDX-License-Identifier: Apache-2.0
// ufp4 bias: the effect of four-bit rounding on values, per format, with and without the Hadamard
// transform.
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "frame/cli.h"
#include "frame/maker.h"
#include "ufp4/rounding.h"

static int run(int argc, char **argv);
const cli_command_t cli_bias = {
    .name = "bias",
    .arguments = "[TENSOR] [options]",
    .summary =
        "Measures shrinkage, kept signal, SQNR and use of the codes by format and RHT, for TENSOR "
        "or synthetic data.",
    .example = "ufp4 bias --plot bias.svg",
    .run = run,
};

enum {
  CELLS = UFP4_ELEM_COUNT,  // mixed has no grid of its own, and therefore no cells
  MAX_DATA = 2,
  MAX_LINES = MAX_DATA * 2 * UFP4_ELEM_KINDS * 2,
  SCALE_FP32 = 0,
  SCALE_BOTH = 2,
  SAMPLES = 1 << 14
};

typedef struct {
  const char *data;
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  int rht;
  ufp4_rounding_t measure;
  double gain_db;  // SQNR with RHT minus that without; NaN on the line without
} line_t;

typedef struct {
  const char *tensor, *plot;
  int axis, bf16, scale, scale_round, round, json;
  uint64_t rows, cols, seed, rht_mask;
  line_t lines[MAX_LINES];
  int count;
} bias_t;

// --- Data ---------------------------------------------------------------------------------------

static double unit(uint32_t word) {
  return ((double)word + 0.5) / 4294967296.0;
}

// The Box-Muller transform, four numbers per draw: element i does not depend on the shape.
static void fill_gaussian(float *data, int64_t count, uint64_t seed) {
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
  for (int64_t i = 0; i < count; i += 4) {
    uint32_t words[4], counter[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32), 0, 0x62696173};
    ufp4_threefry4x32(20, key, counter, words);
    for (int j = 0; j < 4 && i + j < count; j++) {
      double radius = sqrt(-2 * log(unit(words[j & 2]))),
             turn = 2 * acos(-1) * unit(words[(j & 2) + 1]);
      data[i + j] = (float)(radius * (j & 1 ? sin(turn) : cos(turn)));
    }
  }
}

// With a probability of 2 % a channel is 16 times as large.
static void add_outliers(float *data, int64_t rows, int64_t cols, uint64_t seed) {
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 1, 0};
  for (int64_t c = 0; c < cols; c++) {
    uint32_t words[4], counter[4] = {(uint32_t)c, 0, 0, 0};
    ufp4_threefry4x32(20, key, counter, words);
    if (unit(words[0]) >= 0.02) continue;
    for (int64_t r = 0; r < rows; r++) data[r * cols + c] *= 16;
  }
}

// --- Measuring ----------------------------------------------------------------------------------

static ufp4_status_t measure_line(bias_t *bias, const ufp4_matrix_t *in, const line_t *what) {
  line_t *line = &bias->lines[bias->count];
  *line = *what;
  line->gain_db = NAN;
  const ufp4_quantize_t how = {
      .elem = line->elem,
      .scale = line->scale,
      .axis = (ufp4_axis_t)bias->axis,
      .rht = line->rht ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
      .rht_mask = (uint16_t)bias->rht_mask,
      .round = (ufp4_round_t)bias->round,
      .scale_round = line->scale == UFP4_SCALE_E4M3 ? (ufp4_scale_round_t)bias->scale_round
                                                    : UFP4_SCALE_ROUND_RNE,
      .seed = bias->seed,
  };
  ufp4_status_t status = ufp4_rounding_measure(in, &how, &line->measure);
  const double gain_db = line->measure.sqnr_db - (line->rht ? line[-1].measure.sqnr_db : NAN);
  if (!isnan(gain_db)) line->gain_db = gain_db;  // without errors a NaN could have a sign
  if (status == UFP4_OK) bias->count++;
  return status;
}

static ufp4_status_t measure_data(bias_t *bias, const char *name, const ufp4_matrix_t *in) {
  static const ufp4_scale_t scales[] = {UFP4_SCALE_FP32, UFP4_SCALE_E4M3};
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < 2 * UFP4_ELEM_KINDS * 2 && status == UFP4_OK; i++) {
    const int scale = i / (2 * UFP4_ELEM_KINDS);
    const line_t what = {.data = name,
                         .elem = (ufp4_elem_t)(i / 2 % UFP4_ELEM_KINDS),
                         .scale = scales[scale],
                         .rht = i % 2};
    if (bias->scale != SCALE_BOTH && bias->scale != scale) continue;
    if (what.elem == UFP4_ELEM_MIXED && what.scale == UFP4_SCALE_FP32) continue;  // has no bit 7
    status = measure_line(bias, in, &what);
  }
  return status;
}

static ufp4_status_t measure_synthetic(bias_t *bias) {
  int64_t rows = (int64_t)bias->rows, cols = (int64_t)bias->cols;
  float *data = malloc(ufp4_matrix_bytes(rows, cols, sizeof *data));
  if (data == NULL) return UFP4_ERROR_MEMORY;
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, rows, cols, cols, data};
  fill_gaussian(data, rows * cols, bias->seed);
  ufp4_status_t status = measure_data(bias, "gaussian", &matrix);
  add_outliers(data, rows, cols, bias->seed);
  if (status == UFP4_OK) status = measure_data(bias, "outliers", &matrix);
  free(data);
  return status;
}

static int measure_tensor(bias_t *bias) {
  ufp4_tensor_t tensor;
  int end = cli_tensor_read(&cli_bias, bias->tensor, bias->bf16, &tensor);
  if (end != CLI_GO_ON) return end;
  end = cli_tensor_sides(&cli_bias, bias->tensor, &tensor);
  ufp4_status_t status = UFP4_OK;
  if (end == CLI_GO_ON) status = measure_data(bias, "tensor", &tensor.view);
  ufp4_tensor_free(&tensor);
  if (end != CLI_GO_ON) return end;
  if (status != UFP4_OK) return cli_fail_status(&cli_bias, status, NULL);
  const ufp4_rounding_t *first = &bias->lines[0].measure;
  if (first->blocks_out > 0) {
    fprintf(stderr,
            "ufp4 bias: %" PRId64 " of %" PRId64 " blocks hold NaN or Inf and are left out\n",
            first->blocks_out, first->blocks_out + first->blocks);
  }
  return CLI_GO_ON;
}

// --- Printing -----------------------------------------------------------------------------------

static int has_cell(ufp4_elem_t elem, unsigned code) {
  return code >= 1 && code < 7 && ufp4_elem_quanta(elem, code) > 0;
}

static void print_text(const bias_t *bias) {
  printf("%% format value bias_eq2 bias_measured\n");
  for (int e = 0; e < CELLS; e++) {
    for (unsigned code = 1; has_cell((ufp4_elem_t)e, code); code++) {
      printf("  %-6s %5g %8.4f %13.4f\n", elem_names[e],
             (double)ufp4_elem_value((ufp4_elem_t)e, code), ufp4_cell_bias((ufp4_elem_t)e, code),
             ufp4_cell_bias_measured((ufp4_elem_t)e, code, SAMPLES));
    }
  }
  printf("%% data format scale rht bias_percent kept sqnr_db rht_gain_db bucket_ratio uniform\n");
  for (int i = 0; i < bias->count; i++) {
    const line_t *l = &bias->lines[i];
    printf("  %-8s %-6s %-5s %-3s %12.3f %6.4f %7.2f %11.2f %12.3f %7.3f\n", l->data,
           elem_names[l->elem], scale_names[l->scale], l->rht ? "on" : "off",
           l->measure.bias_percent, l->measure.kept, l->measure.sqnr_db, l->gain_db,
           l->measure.bucket_ratio, l->measure.uniform);
  }
}

static json_t *cell_object(ufp4_elem_t elem, unsigned code) {
  return json_pack("{s:s, s:f, s:f, s:f}", "format", elem_names[elem], "value",
                   (double)ufp4_elem_value(elem, code), "bias_eq2", ufp4_cell_bias(elem, code),
                   "bias_measured", ufp4_cell_bias_measured(elem, code, SAMPLES));
}

static json_t *line_object(const line_t *l) {
  return json_pack(
      "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "data", l->data, "format",
      elem_names[l->elem], "scale", scale_names[l->scale], "rht", l->rht ? "on" : "off",
      "bias_percent", json_real_or_null(l->measure.bias_percent), "kept",
      json_real_or_null(l->measure.kept), "sqnr_db", json_real_or_null(l->measure.sqnr_db),
      "rht_gain_db", json_real_or_null(l->gain_db), "bucket_ratio",
      json_real_or_null(l->measure.bucket_ratio), "uniform", json_real_or_null(l->measure.uniform));
}

static json_t *tables(const bias_t *bias) {
  json_t *cells = json_array(), *tensors = json_array();
  for (int e = 0; e < CELLS; e++) {
    const ufp4_elem_t elem = (ufp4_elem_t)e;
    for (unsigned code = 1; has_cell(elem, code); code++)
      json_array_append_new(cells, cell_object(elem, code));
  }
  for (int i = 0; i < bias->count; i++)
    json_array_append_new(tensors, line_object(&bias->lines[i]));
  return json_pack("{s:o, s:o}", "cells", cells, "tensors", tensors);
}

// --- Drawing ------------------------------------------------------------------------------------

static int draw(const bias_t *bias) {
  char option[PATH_MAX + sizeof "--plot="];  // a single word, because the path may begin like an
                                             // option
  snprintf(option, sizeof option, "--plot=%s", bias->plot);
  return maker_run(&cli_bias, tables(bias), (const char *const[]){option, NULL});
}

static int check_plot(const char *path, const char *tensor) {
  size_t length = strlen(path);
  if (length <= 4 || strcmp(path + length - 4, ".svg") != 0)
    return cli_fail(&cli_bias, CLI_USAGE, "--plot: '%s' does not end in .svg", path);
  const int end = cli_output_file(&cli_bias, path, CLI_ANY_FILE, &tensor, 1);
  if (end != CLI_GO_ON) return end;
  if (maker_is_there()) return maker_check(&cli_bias);
  return cli_fail(&cli_bias, CLI_DEVICE,
                  "--plot: UFP4_PYTHON must name a Python that has ufp4[report], to draw with");
}

// --- The command --------------------------------------------------------------------------------

static int check(const bias_t *bias, int explicit_data) {
  if (bias->tensor == NULL && (bias->axis != 0 || bias->bf16)) {
    return cli_fail(&cli_bias, CLI_USAGE, "--axis and --bf16 need a TENSOR");
  }
  if (bias->tensor != NULL && explicit_data) {
    return cli_fail(
        &cli_bias, CLI_USAGE,
        "--rows and --cols set the size of the synthetic data; leave them out with a TENSOR");
  }
  if (bias->scale == SCALE_FP32 && bias->scale_round != 0) {
    return cli_fail(&cli_bias, CLI_USAGE,
                    "--scale-round needs E4M3 scales; with --scale fp32 alone leave it out");
  }
  if (bias->rht_mask > UINT16_MAX)
    return cli_fail(&cli_bias, CLI_USAGE, "--rht-mask: 0x%" PRIx64 " has more than 16 bits",
                    bias->rht_mask);
  if (bias->rows < 1 || bias->cols < 1 || bias->rows > UFP4_MAX_DIM || bias->cols > UFP4_MAX_DIM ||
      bias->rows * bias->cols > UINT64_C(1) << 28) {
    return cli_fail(&cli_bias, CLI_USAGE,
                    "--rows and --cols must be from 1 to %d each, and at most 2^28 elements in all",
                    UFP4_MAX_DIM);
  }
  return bias->plot == NULL ? CLI_GO_ON : check_plot(bias->plot, bias->tensor);
}

static int measure(bias_t *bias) {
  if (bias->tensor != NULL) return measure_tensor(bias);
  ufp4_status_t status = measure_synthetic(bias);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_bias, status, NULL);
}

static void add_options(cli_options_t *options, bias_t *bias) {
  cli_option_add(options, "axis", CLI_CHOICE, &bias->axis, AXIS_WORDS,
                 "blocks along the rows (default) or the columns");
  cli_option_add(options, "bf16", CLI_FLAG, &bias->bf16, NULL,
                 "uint16 elements of TENSOR are BF16 patterns");
  cli_option_add(options, "scale", CLI_CHOICE, &bias->scale, "fp32|e4m3|both",
                 "block scales (default both)");
  cli_option_add(options, "scale-round", CLI_CHOICE, &bias->scale_round, "rne|up",
                 "rounding of E4M3 scales");
  cli_option_add(options, "round", CLI_CHOICE, &bias->round, ROUND_WORDS, "rounding of elements");
  cli_option_add(options, "rht-mask", CLI_UINT, &bias->rht_mask, "MASK",
                 "signs of the transform (default 0xD7E8)");
  cli_option_range(options, "a number of 16 bits, such as 0xD7E8");
  cli_option_add(options, "rows", CLI_UINT, &bias->rows, "N", "synthetic data: rows (default 512)");
  cli_option_add(options, "cols", CLI_UINT, &bias->cols, "N",
                 "synthetic data: columns (default 4096)");
  cli_option_add(options, "seed", CLI_UINT, &bias->seed, "N",
                 "seed of the synthetic data and of --round sr (default 0)");
  cli_option_add(options, "plot", CLI_TEXT, &bias->plot, "FILE.svg", "draw the results");
  cli_option_need(options, CLI_NEEDS_DRAWING);
  cli_option_add(options, "json", CLI_FLAG, &bias->json, NULL, "print the tables as JSON");
}

static int run(int argc, char **argv) {
  bias_t bias = {.scale = SCALE_BOTH, .rht_mask = UFP4_RHT_DEFAULT_MASK, .rows = 512, .cols = 4096};
  cli_options_t options = {0};
  char **inputs;
  int count;
  add_options(&options, &bias);
  int end = cli_parse(&cli_bias, &options, argc, argv, 0, 1, &inputs, &count);
  if (end != CLI_GO_ON) return end;
  int explicit_data = cli_option_given(&options, "rows") || cli_option_given(&options, "cols");
  if (count == 1) bias.tensor = inputs[0];
  end = check(&bias, explicit_data);
  if (end == CLI_GO_ON) end = measure(&bias);
  if (end != CLI_GO_ON) return end;
  if (bias.json) end = cli_json_print(&cli_bias, tables(&bias), 9);
  if (end != CLI_GO_ON) return end;
  if (!bias.json) print_text(&bias);
  if (bias.plot != NULL) end = cli_printed();
  if (end == CLI_GO_ON && bias.plot != NULL) end = draw(&bias);
  return end == CLI_GO_ON ? CLI_OK : end;
}
