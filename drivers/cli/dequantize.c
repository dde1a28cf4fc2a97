// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "cli.h"

static int run(int argc, char **argv);
const cli_command_t cli_dequantize = {
    .name = "dequantize",
    .arguments = "Q.safetensors -o OUT.npy",
    .summary = "Writes the decoded value of every code as float32; a Hadamard transform stays in.",
    .example = "ufp4 dequantize X.safetensors -o X4.npy",
    .run = run,
};

static ufp4_status_t write_decoded(const ufp4_operand_t *operand, int rht, const char *path, ufp4_message_t *message) {
  int64_t cols = rht ? operand->blocks * 16 : operand->cols;
  float *values = malloc(ufp4_matrix_bytes(operand->rows, cols, sizeof *values));
  if (values == NULL) return UFP4_ERROR_MEMORY;
  ufp4_status_t status = ufp4_dequantize(operand, cols, values, cols);
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, operand->rows, cols, cols, values};
  if (status == UFP4_OK) status = ufp4_tensor_write(path, &matrix, message);
  free(values);
  return status;
}

static int run(int argc, char **argv) {
  const char *output = NULL;
  cli_options_t options = {0};
  char **inputs;
  cli_option_add(&options, "o", CLI_TEXT, &output, "OUT.npy", "the decoded tensor");
  int end = cli_parse(&cli_dequantize, &options, argc, argv, 1, 1, &inputs, NULL);
  if (end != CLI_GO_ON) return end;
  if (output == NULL) return cli_fail(&cli_dequantize, CLI_USAGE, "-o OUT.npy is missing");
  end = cli_output_file(&cli_dequantize, output, CLI_NPY, (const char *const *)inputs, 1);
  if (end != CLI_GO_ON) return end;
  ufp4_operand_t operand;
  ufp4_quantize_t how;
  ufp4_message_t message = {0};
  ufp4_status_t status = ufp4_operand_read(inputs[0], &operand, &how, &message);
  if (status == UFP4_OK) status = write_decoded(&operand, how.rht, output, &message);
  ufp4_operand_free(&operand);
  return status == UFP4_OK ? CLI_OK : cli_fail_status(&cli_dequantize, status, message.text);
}
