// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "frame/cli.h"
#include "ufp4/array.h"

static int run(int argc, char **argv);
const cli_command_t cli_dequantize = {
    .name = "dequantize",
    .arguments = "Q -o OUT.npy [options]",
    .summary =
        "Writes the decoded value of every code as float32; only --unrotate undoes a Hadamard "
        "transform.",
    .example = "ufp4 dequantize X.safetensors -o X4.npy",
    .details = cli_operand_details,
    .run = run,
};

static ufp4_status_t write_decoded(const ufp4_operand_t *operand, const ufp4_quantize_t *how,
                                   int undo, const char *path, ufp4_message_t *message) {
  int64_t stored = how->rht ? operand->blocks * 16 : operand->cols;
  float *values = malloc(ufp4_matrix_bytes(operand->rows, stored, sizeof *values));
  if (values == NULL) return UFP4_ERROR_MEMORY;
  ufp4_status_t status = ufp4_dequantize(operand, stored, values, stored);
  const int points = ufp4_how_points(how);
  if (status == UFP4_OK && undo)
    ufp4_rht_undo_all(values, operand->rows * stored / points, points, how->rht_mask);
  // Without the transform, the columns beyond the last one are padding again.
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, operand->rows, undo ? operand->cols : stored, stored,
                          values};
  if (status == UFP4_OK) status = ufp4_tensor_write(path, &matrix, message);
  free(values);
  return status;
}

static int run(int argc, char **argv) {
  const char *output = NULL;
  int undo = 0;
  cli_options_t options = {0};
  char **inputs;
  cli_option_add(&options, "o", CLI_TEXT, &output, "OUT.npy", "the decoded tensor");
  cli_option_add(&options, "unrotate", CLI_FLAG, &undo, NULL,
                 "undo the transform: exact sums of 16 decoded values, each rounded once to FP32, "
                 "nearest even");
  int end = cli_parse(&cli_dequantize, &options, argc, argv, 1, 1, &inputs, NULL);
  if (end != CLI_GO_ON) return end;
  if (output == NULL) return cli_fail(&cli_dequantize, CLI_USAGE, "-o OUT.npy is missing");
  end = cli_output_file(&cli_dequantize, output, CLI_NPY, (const char *const *)inputs, 1);
  if (end != CLI_GO_ON) return end;
  ufp4_operand_t operand;
  ufp4_quantize_t how;
  ufp4_message_t message = {0};
  end = cli_operand_read(&cli_dequantize, inputs[0], &operand, &how);
  if (end != CLI_GO_ON) return end;
  ufp4_status_t status = UFP4_OK;
  if (undo && how.rht == UFP4_RHT_NONE) {
    end = cli_fail(&cli_dequantize, CLI_USAGE,
                   "%s: --unrotate: this tensor has no Hadamard transform to undo", inputs[0]);
  } else {
    status = write_decoded(&operand, &how, undo, output, &message);
  }
  ufp4_operand_free(&operand);
  if (status != UFP4_OK) return cli_fail_status(&cli_dequantize, status, message.text);
  return end == CLI_GO_ON ? CLI_OK : end;
}
