// SPDX-License-Identifier: Apache-2.0
// The self-test of a device: its memory, and known answers of QUANT and GEMM.
#ifndef UFP4_SELFTEST_H
#define UFP4_SELFTEST_H

#include "frame/cli.h"

/** Runs the tests on a freshly opened device, and prints a line for each, or adds them to @p json
 * as "selftest". @return CLI_GO_ON, CLI_MISMATCH, or the exit status of a failure. */
int selftest_run(const cli_command_t *command, ufp4_device_t *device, json_t *json);

#endif
