// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/names.h"
#include "frame/cli.h"
#include "ufp4/array.h"

static int run(int argc, char **argv);
const cli_command_t cli_cast = {
    .name = "cast",
    .arguments = "IN -o OUT.npy --to FORMAT [options]",
    .summary = "Casts each element by itself, without scaling; writes uint8 codes.",
    .example = "ufp4 cast X.npy -o codes.npy --to e2m1",
    .run = run,
};

enum { TO_E8M0 = UFP4_CAST_E8M0_DOWN };  // earlier formats have the order of ufp4_cast_t
enum { ROUND_RNE, ROUND_UP, ROUND_DOWN };

static ufp4_status_t cast_tensor(const ufp4_matrix_t *in, int to, int round, const char *path,
                                 ufp4_message_t *message) {
  int64_t count = in->rows * in->cols;
  uint8_t *codes = malloc(ufp4_matrix_bytes(count, 1, 1));
  if (codes == NULL) return UFP4_ERROR_MEMORY;
  const ufp4_cast_t cast = to == TO_E8M0 && round == ROUND_UP ? UFP4_CAST_E8M0_UP : (ufp4_cast_t)to;
  ufp4_status_t status = ufp4_cast(in, cast, codes);
  if (status == UFP4_OK) status = ufp4_tensor_write_u8(path, codes, in->rows, in->cols, message);
  free(codes);
  return status;
}

static int run(int argc, char **argv) {
  const char *output = NULL;
  int to = -1, round = -1, bf16 = 0;
  cli_options_t options = {0};
  char **inputs;
  cli_option_add(&options, "o", CLI_TEXT, &output, "OUT.npy", "the codes");
  cli_option_add(&options, "to", CLI_CHOICE, &to, ELEM_TABLE_WORDS "|e4m3|e8m0", "the format");
  cli_option_add(&options, "round", CLI_CHOICE, &round, "rne|up|down",
                 "e8m0: down (default) or up; all others: rne");
  cli_option_add(&options, "bf16", CLI_FLAG, &bf16, NULL,
                 "uint16 elements of IN are BF16 patterns");
  int end = cli_parse(&cli_cast, &options, argc, argv, 1, 1, &inputs, NULL);
  if (end != CLI_GO_ON) return end;
  if (output == NULL || to < 0)
    return cli_fail(&cli_cast, CLI_USAGE, "-o OUT.npy and --to FORMAT are needed");
  if (round < 0) round = to == TO_E8M0 ? ROUND_DOWN : ROUND_RNE;
  if ((to == TO_E8M0) == (round == ROUND_RNE)) {
    return cli_fail(&cli_cast, CLI_USAGE,
                    "--round must be up or down with --to e8m0, and rne with all other formats");
  }
  end = cli_output_file(&cli_cast, output, CLI_NPY, (const char *const *)inputs, 1);
  if (end != CLI_GO_ON) return end;
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  end = cli_tensor_read(&cli_cast, inputs[0], bf16, &tensor);
  if (end != CLI_GO_ON) return end;
  ufp4_status_t status = cast_tensor(&tensor.view, to, round, output, &message);
  ufp4_tensor_free(&tensor);
  return status == UFP4_OK ? CLI_OK : cli_fail_status(&cli_cast, status, message.text);
}
