// SPDX-License-Identifier: Apache-2.0
// ufp4 bench --backend cuda.
#ifndef UFP4_BENCH_CUDA_H
#define UFP4_BENCH_CUDA_H

#include "frame/cli.h"

/** Measures every kernel on size x size, and the training GEMMs of a few layers next to the
 * simulated core at @p clock_mhz. @return the exit status. */
int bench_cuda(const cli_command_t *command, int64_t size, uint64_t clock_mhz, int as_json);

#endif
