// SPDX-License-Identifier: Apache-2.0
// The golden model for the Python witnesses: numbers in on stdin, bits out on stdout,
// little-endian, options as numbers.
//   pipe quantize ELEM SCALE LAYOUT AXIS RHT SCALE_ROUND ROWS COLS
//     in: FP32 [rows][cols]
//     out: codes U8 [r][16 groups], scales U32 [r][scale_blocks], tensor scale U32, exponent I32
//   pipe gemm ELEM_A ELEM_B SCALE CONTRACT M N K
//     in: A, then B, as above
//     out: D U32 [m][n]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static int put(const void *data, size_t size, size_t count) {
  return fwrite(data, size, count, stdout) == count;
}

static int get(void *data, size_t size, size_t count) {
  return fread(data, size, count, stdin) == count;
}

/** Writes an operand. @return whether all writes succeeded. */
static int put_operand(const ufp4_operand_t *operand) {
  reference_operand_t flat = fixture_slow_operand(operand);
  const int32_t exponent = flat.t;
  const int ok = put(flat.codes, 1, (size_t)(flat.rows * flat.groups * 16)) &&
                 put(flat.scales, 4, (size_t)(flat.rows * flat.scale_blocks)) &&
                 put(&flat.tensor_scale, 4, 1) && put(&exponent, 4, 1);
  reference_operand_free(&flat);
  return ok;
}

/** Reads an operand whose arrays are allocated. */
static int get_operand(ufp4_operand_t *operand) {
  int ok = 1;
  for (int64_t i = 0; ok && i < operand->rows * operand->blocks * 8; i++) {
    uint8_t codes[2] = {0};
    ok = get(codes, 1, 2);
    operand->codes[i] = (uint8_t)(codes[0] | codes[1] << 4);
  }
  for (int64_t i = 0; ok && i < operand->rows * operand->scale_blocks; i++) {
    uint32_t bits = 0;
    ok = get(&bits, 4, 1);
    fixture_set_scale(operand, i, bits);
  }
  int32_t exponent = 0;
  ok = ok && get(&operand->tensor_scale, 4, 1) && get(&exponent, 4, 1);
  operand->exponent = exponent;
  return ok;
}

static int quantize(const int *option) {
  const ufp4_quantize_t how = {.elem = (ufp4_elem_t)option[0],
                               .scale = (ufp4_scale_t)option[1],
                               .layout = (ufp4_layout_t)option[2],
                               .axis = (ufp4_axis_t)option[3],
                               .rht = (ufp4_rht_t)option[4],
                               .rht_mask = UFP4_RHT_DEFAULT_MASK,
                               .scale_round = (ufp4_scale_round_t)option[5]};
  const int64_t rows = option[6], cols = option[7];
  ufp4_operand_t out;
  float *data = calloc((size_t)(rows * cols), sizeof *data);
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, rows, cols, cols, data};
  int ok = data && get(data, sizeof *data, (size_t)(rows * cols)) &&
           ufp4_quantize(&in, &how, &out) == UFP4_OK;
  free(data);
  if (!ok) return 0;
  ok = put_operand(&out);
  ufp4_operand_free(&out);
  return ok;
}

static int gemm(const int *option) {
  const ufp4_scale_t scale = (ufp4_scale_t)option[2];
  const ufp4_gemm_t how = {
      .contract = (ufp4_contract_t)option[3], .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  const int64_t m = option[4], n = option[5], k = option[6];
  ufp4_operand_t a = {0}, b = {0};
  float *d = calloc((size_t)(m * n), sizeof *d);
  const int ok = d &&
                 ufp4_operand_create_scaled((ufp4_elem_t)option[0], scale, m, k, &a) == UFP4_OK &&
                 ufp4_operand_create_scaled((ufp4_elem_t)option[1], scale, n, k, &b) == UFP4_OK &&
                 get_operand(&a) && get_operand(&b) && ufp4_gemm(&a, &b, &how, d, n) == UFP4_OK &&
                 put(d, sizeof *d, (size_t)(m * n));
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  free(d);
  return ok;
}

int main(int argc, char **argv) {
  int option[8] = {0}, ok = 0;
  for (int i = 0; i < 8 && i + 2 < argc; i++) option[i] = (int)strtol(argv[i + 2], NULL, 10);
  if (argc == 10 && strcmp(argv[1], "quantize") == 0) ok = quantize(option);
  if (argc == 9 && strcmp(argv[1], "gemm") == 0) ok = gemm(option);
  if (!ok) fprintf(stderr, "pipe: bad arguments or too little input\n");
  return !ok || fflush(stdout) != 0;
}
