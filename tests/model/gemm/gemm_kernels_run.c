// SPDX-License-Identifier: Apache-2.0
// gemm_kernels_run KERNEL PROGRAM [ARGUMENTS]: runs the program with that GEMM kernel, or says why
// the test is skipped.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ufp4/kernel.h"

int main(int argc, char **argv) {
  ufp4_kernel_t kernel;
  if (argc < 3 || ufp4_kernel_named(argv[1], &kernel) != UFP4_OK) {
    fprintf(stderr, "usage: %s KERNEL PROGRAM [ARGUMENTS]\n", argv[0]);
    return 2;
  }
  if (!ufp4_kernel_available(kernel)) {
    printf("skipped: this processor has no %s\n", argv[1]);
    return 0;
  }
  setenv("UFP4_KERNEL", argv[1], 1);
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 1;
}
