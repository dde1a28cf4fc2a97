// SPDX-License-Identifier: Apache-2.0
// ufp4 bias: what four-bit rounding does to values, per format and with and without the Hadamard transform.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bias_measure.h"
#include "cli.h"
#include "plot.h"

static int run(int argc, char **argv);
const cli_command_t cli_bias = {
    .name = "bias",
    .arguments = "[TENSOR] [options]",
    .summary = "Shrinkage, kept signal, SQNR and use of the codes per format and RHT, of TENSOR or of synthetic data.",
    .example = "ufp4 bias --plot bias.svg",
    .run = run,
};

static const char *const elem_names[] = UFP4_ELEM_NAMES;
static const char *const scale_names[] = UFP4_SCALE_NAMES;
enum { ELEMS = 3, MAX_DATA = 2, MAX_LINES = MAX_DATA * 2 * ELEMS * 2, SCALE_BOTH = 2, SAMPLES = 1 << 14 };

typedef struct {
  const char *data;
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  int rht;
  bias_measure_t measure;
  double gain_db;  // SQNR with RHT over that without; NaN on the line without
} line_t;

typedef struct {
  const char *tensor, *plot;
  int axis, bf16, scale, scale_round, round, json;
  uint64_t rows, cols, seed, rht_mask;
  line_t lines[MAX_LINES];
  int count;
} bias_t;

// --- Data --------------------------------------------------------------------------------------------------

static double unit(uint32_t word) {
  return ((double)word + 0.5) / 4294967296.0;
}

// Box-Muller, four numbers a draw: element i is the same whatever the shape.
static void fill_gaussian(float *data, int64_t count, uint64_t seed) {
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
  for (int64_t i = 0; i < count; i += 4) {
    uint32_t words[4], counter[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32), 0, 0x62696173};
    ufp4_threefry4x32(20, key, counter, words);
    for (int j = 0; j < 4 && i + j < count; j++) {
      double radius = sqrt(-2 * log(unit(words[j & 2]))), turn = 2 * acos(-1) * unit(words[(j & 2) + 1]);
      data[i + j] = (float)(radius * (j & 1 ? sin(turn) : cos(turn)));
    }
  }
}

// Channels are 16 times as large with probability 2 %.
static void add_outliers(float *data, int64_t rows, int64_t cols, uint64_t seed) {
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 1, 0};
  for (int64_t c = 0; c < cols; c++) {
    uint32_t words[4], counter[4] = {(uint32_t)c, 0, 0, 0};
    ufp4_threefry4x32(20, key, counter, words);
    if (unit(words[0]) >= 0.02) continue;
    for (int64_t r = 0; r < rows; r++) data[r * cols + c] *= 16;
  }
}

static ufp4_status_t transpose(ufp4_tensor_t *tensor) {
  int64_t rows = tensor->view.rows, cols = tensor->view.cols;
  size_t size = tensor->view.dtype == UFP4_DTYPE_BF16 ? 2 : 4;
  uint8_t *data = malloc(ufp4_matrix_bytes(rows, cols, size));
  if (data == NULL) return UFP4_ERROR_MEMORY;
  for (int64_t i = 0; i < rows * cols; i++) {
    memcpy(data + (size_t)(i % cols * rows + i / cols) * size, (const uint8_t *)tensor->data + (size_t)i * size, size);
  }
  free(tensor->data);
  tensor->data = data;
  tensor->view = (ufp4_matrix_t){tensor->view.dtype, cols, rows, rows, data};
  return UFP4_OK;
}

// --- Measuring ---------------------------------------------------------------------------------------------

static ufp4_status_t measure_line(bias_t *bias, const ufp4_matrix_t *in, const line_t *what) {
  line_t *line = &bias->lines[bias->count];
  *line = *what;
  line->gain_db = NAN;
  const ufp4_quantize_t how = {
      .elem = line->elem,
      .scale = line->scale,
      .rht = line->rht ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
      .rht_mask = (uint16_t)bias->rht_mask,
      .round = (ufp4_round_t)bias->round,
      .scale_round = line->scale == UFP4_SCALE_E4M3 ? (ufp4_scale_round_t)bias->scale_round : UFP4_SCALE_ROUND_RNE,
      .seed = bias->seed,
  };
  ufp4_status_t status = bias_measure(in, &how, &line->measure);
  if (line->rht) line->gain_db = line->measure.sqnr_db - line[-1].measure.sqnr_db;
  if (status == UFP4_OK) bias->count++;
  return status;
}

static ufp4_status_t measure_data(bias_t *bias, const char *name, const ufp4_matrix_t *in) {
  static const ufp4_scale_t scales[] = {UFP4_SCALE_FP32, UFP4_SCALE_E4M3};
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < 2 * ELEMS * 2 && status == UFP4_OK; i++) {
    int scale = i / (2 * ELEMS);
    if (bias->scale != SCALE_BOTH && bias->scale != scale) continue;
    line_t what = {.data = name, .elem = (ufp4_elem_t)(i / 2 % ELEMS), .scale = scales[scale], .rht = i % 2};
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
  ufp4_status_t status = end == CLI_GO_ON && bias->axis == UFP4_AXIS_COL ? transpose(&tensor) : UFP4_OK;
  if (end == CLI_GO_ON && status == UFP4_OK) status = measure_data(bias, "tensor", &tensor.view);
  ufp4_tensor_free(&tensor);
  if (end != CLI_GO_ON) return end;
  if (status != UFP4_OK) return cli_fail_status(&cli_bias, status, NULL);
  const bias_measure_t *first = &bias->lines[0].measure;
  if (first->blocks_out > 0) {
    fprintf(stderr, "ufp4 bias: %" PRId64 " of %" PRId64 " blocks hold NaN or Inf and are left out\n",
            first->blocks_out, first->blocks_out + first->blocks);
  }
  return CLI_GO_ON;
}

// --- Printing ----------------------------------------------------------------------------------------------

static int has_cell(ufp4_elem_t elem, unsigned code) {
  return code >= 1 && code < 7 && ufp4_elem_quanta(elem, code) > 0;
}

static void print_text(const bias_t *bias) {
  printf("%% format value bias_eq2 bias_measured\n");
  for (int e = 0; e < ELEMS; e++) {
    for (unsigned code = 1; has_cell((ufp4_elem_t)e, code); code++) {
      printf("  %-6s %5g %8.4f %13.4f\n", elem_names[e], (double)ufp4_elem_value((ufp4_elem_t)e, code),
             bias_of_cell((ufp4_elem_t)e, code), bias_of_cell_measured((ufp4_elem_t)e, code, SAMPLES));
    }
  }
  printf("%% data format scale rht bias_percent kept sqnr_db rht_gain_db bucket_ratio\n");
  for (int i = 0; i < bias->count; i++) {
    const line_t *l = &bias->lines[i];
    printf("  %-8s %-6s %-5s %-3s %12.3f %6.4f %7.2f %11.2f %12.3f\n", l->data, elem_names[l->elem],
           scale_names[l->scale], l->rht ? "on" : "off", l->measure.bias_percent, l->measure.kept, l->measure.sqnr_db,
           l->gain_db, l->measure.bucket_ratio);
  }
}

static void add_cell(json_out_t *json, ufp4_elem_t elem, unsigned code) {
  json_put_object(json, NULL);
  json_put_text(json, "format", elem_names[elem]);
  json_put_real(json, "value", (double)ufp4_elem_value(elem, code));
  json_put_real(json, "bias_eq2", bias_of_cell(elem, code));
  json_put_real(json, "bias_measured", bias_of_cell_measured(elem, code, SAMPLES));
  json_end_object(json);
}

static void add_line(json_out_t *json, const line_t *l) {
  json_put_object(json, NULL);
  json_put_text(json, "data", l->data);
  json_put_text(json, "format", elem_names[l->elem]);
  json_put_text(json, "scale", scale_names[l->scale]);
  json_put_text(json, "rht", l->rht ? "on" : "off");
  json_put_real(json, "bias_percent", l->measure.bias_percent);
  json_put_real(json, "kept", l->measure.kept);
  json_put_real(json, "sqnr_db", l->measure.sqnr_db);
  json_put_real(json, "rht_gain_db", l->gain_db);
  json_put_real(json, "bucket_ratio", l->measure.bucket_ratio);
  json_end_object(json);
}

static int print_json(const bias_t *bias) {
  json_out_t json;
  json_begin(&json, 9);
  json_put_object(&json, NULL);
  json_put_list(&json, "cells");
  for (int e = 0; e < ELEMS; e++) {
    for (unsigned code = 1; has_cell((ufp4_elem_t)e, code); code++) add_cell(&json, (ufp4_elem_t)e, code);
  }
  json_end_list(&json);
  json_put_list(&json, "tensors");
  for (int i = 0; i < bias->count; i++) add_line(&json, &bias->lines[i]);
  json_end_list(&json);
  json_end_object(&json);
  return cli_json_print(&cli_bias, &json);
}

// --- Drawing -----------------------------------------------------------------------------------------------

// Error of the cast over the values from 0 to qmax, both as fractions of qmax.
static void draw_error(FILE *script, const char *name, ufp4_elem_t elem) {
  double qmax = (double)ufp4_elem_value(elem, 7);
  fprintf(script, "$%s << EOD\n", name);
  for (int i = 0; i <= 1200; i++) {
    double x = qmax * i / 1200;
    fprintf(script, "%.5f %.5f\n", x / qmax,
            ((double)ufp4_elem_value(elem, ufp4_elem_cast(elem, (float)x)) - x) / qmax);
  }
  fprintf(script, "EOD\n$%s_mean << EOD\n", name);
  for (unsigned code = 1; has_cell(elem, code); code++) {
    fprintf(script, "%.5f %.5f\n", (double)ufp4_elem_value(elem, code) / qmax, bias_of_cell(elem, code) / qmax);
  }
  fprintf(script, "EOD\n");
}

// A bar of nothing where there is no number: no data, or no noise.
static double bar(double value) {
  return isfinite(value) ? value : 0;
}

// One group of bars per data and RHT, one bar per format.
static void draw_sqnr(FILE *script, const bias_t *bias) {
  fprintf(script, "$sqnr << EOD\n");
  for (int i = 0; i + 2 * ELEMS <= bias->count; i += 2 * ELEMS) {
    for (int rht = 0; rht < 2; rht++) {
      const line_t *l = &bias->lines[i];
      fprintf(script, "\"%s, %s%s\" %.4f %.4f\n", l->data, scale_names[l->scale], rht ? ", RHT" : "",
              bar(l[2 * UFP4_ELEM_E2M1 + rht].measure.sqnr_db), bar(l[2 * UFP4_ELEM_E1M2 + rht].measure.sqnr_db));
    }
  }
  fprintf(script, "EOD\n");
}

static int draw(const bias_t *bias) {
  plot_t plot;
  int end = plot_begin(&plot, &cli_bias, bias->plot, 1200, 480);
  if (end != CLI_GO_ON) return end;
  draw_error(plot.script, "e2m1", UFP4_ELEM_E2M1);
  draw_error(plot.script, "uniform", UFP4_ELEM_E1M2);
  draw_sqnr(plot.script, bias);
  fputs(
      "set multiplot layout 1,2\nset grid ytics\nset xlabel 'value / qmax'\nset ylabel 'rounding error / qmax'\n"
      "set title 'Rounding error, and its mean in each cell (Eq. 2)'\nset key bottom left\n"
      "plot $e2m1 with lines lc rgb '#d95f02' title 'E2M1', $uniform with lines lc rgb '#1b9e77' title 'E1M2, INT4', "
      "$e2m1_mean with points pt 7 lc rgb '#d95f02' title 'mean, E2M1', "
      "$uniform_mean with points pt 7 lc rgb '#1b9e77' title 'mean, uniform'\n"
      "set style data histogram\nset style fill solid\nset boxwidth 0.9\nset yrange [0:*]\nunset xlabel\n"
      "set ylabel 'SQNR, dB'\nset xtics rotate by -35\nset title 'Signal to quantization noise'\nset key top left\n"
      "plot $sqnr using 2:xtic(1) lc rgb '#d95f02' title 'E2M1', '' using 3 lc rgb '#1b9e77' title 'E1M2, INT4'\n"
      "unset multiplot\n",
      plot.script);
  return plot_end(&plot);
}

// --- The command -------------------------------------------------------------------------------------------

static int check(const bias_t *bias, int explicit_data) {
  if (bias->tensor == NULL && (bias->axis != 0 || bias->bf16)) {
    return cli_fail(&cli_bias, CLI_USAGE, "--axis and --bf16 go with a TENSOR");
  }
  if (bias->tensor != NULL && explicit_data) {
    return cli_fail(&cli_bias, CLI_USAGE, "--rows and --cols are of the synthetic data: none of them with a TENSOR");
  }
  if (bias->rht_mask > UINT16_MAX) return cli_fail(&cli_bias, CLI_USAGE, "--rht-mask has 16 bits");
  if (bias->rows < 1 || bias->cols < 1 || bias->rows > UFP4_MAX_DIM || bias->cols > UFP4_MAX_DIM ||
      bias->rows * bias->cols > UINT64_C(1) << 28) {
    return cli_fail(&cli_bias, CLI_USAGE, "--rows and --cols: 1 to %d each, at most 2^28 elements", UFP4_MAX_DIM);
  }
  return bias->plot == NULL ? CLI_GO_ON : plot_check(&cli_bias, bias->plot);
}

static int measure(bias_t *bias) {
  if (bias->tensor != NULL) return measure_tensor(bias);
  ufp4_status_t status = measure_synthetic(bias);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_bias, status, NULL);
}

static void add_options(cli_options_t *options, bias_t *bias) {
  cli_option_add(options, "axis", CLI_CHOICE, &bias->axis, "row|col", "blocks along the rows (default) or the columns");
  cli_option_add(options, "bf16", CLI_FLAG, &bias->bf16, NULL, "uint16 elements of TENSOR are BF16 patterns");
  cli_option_add(options, "scale", CLI_CHOICE, &bias->scale, "fp32|e4m3|both", "block scales (default both)");
  cli_option_add(options, "scale-round", CLI_CHOICE, &bias->scale_round, "rne|up", "rounding of E4M3 scales");
  cli_option_add(options, "round", CLI_CHOICE, &bias->round, "rne|sr", "rounding of elements");
  cli_option_add(options, "rht-mask", CLI_UINT, &bias->rht_mask, "MASK", "signs of the transform (default 0xD7E8)");
  cli_option_add(options, "rows", CLI_UINT, &bias->rows, "N", "synthetic data: rows (default 512)");
  cli_option_add(options, "cols", CLI_UINT, &bias->cols, "N", "synthetic data: columns (default 4096)");
  cli_option_add(options, "seed", CLI_UINT, &bias->seed, "N", "of the synthetic data and of --round sr (default 0)");
  cli_option_add(options, "plot", CLI_TEXT, &bias->plot, "FILE", "draw it: FILE.svg or FILE.png (needs gnuplot)");
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
  if (bias.json) end = print_json(&bias);
  if (end != CLI_GO_ON) return end;
  if (!bias.json) print_text(&bias);
  if (bias.plot != NULL) end = cli_printed();
  if (end == CLI_GO_ON && bias.plot != NULL) end = draw(&bias);
  return end == CLI_GO_ON ? CLI_OK : end;
}
