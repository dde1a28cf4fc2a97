// SPDX-License-Identifier: Apache-2.0
// gemm_kernels_run KERNEL PROGRAM [ARGUMENTS]: runs the program with that GEMM kernel, or says why it is skipped.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gemm_kernel.h"

int main(int argc, char **argv) {
  uint8_t codes[8] = {0}, scale = 0;
  const ufp4_operand_t one = {.rows = 1, .cols = 1, .blocks = 1, .codes = codes, .scales = &scale};
  const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_EXACT, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  float d;
  if (argc < 3) {
    fprintf(stderr, "usage: %s KERNEL PROGRAM [ARGUMENTS]\n", argv[0]);
    return 2;
  }
  if (gemm_with(argv[1], &one, &one, &how, &d, 1) == UFP4_ERROR_UNSUPPORTED) {
    printf("skipped: this processor has no %s\n", argv[1]);
    return 0;
  }
  setenv("UFP4_KERNEL", argv[1], 1);
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 1;
}
