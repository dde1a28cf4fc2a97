// SPDX-License-Identifier: Apache-2.0
// ufp4 layer on several cores, each a device with its own memory.
#ifndef UFP4_LAYER_CORES_H
#define UFP4_LAYER_CORES_H

#include "frame/cli.h"
#include "frame/report.h"
#include "frame/split.h"

/** --cores and --split, and the devices. */
typedef struct {
  uint64_t asked;
  int split;                                ///< index among the words of --split
  ufp4_device_t *devices[SPLIT_MAX_CORES];  ///< the first one makes all copies
  int count;
} layer_cores_t;

/** A GEMM in parts. */
typedef struct {
  const char *split;  ///< "tokens" or "n"; NULL: the host computed all of it
  int count;
  ufp4_gemm_stats_t parts[SPLIT_MAX_CORES];
} layer_parts_t;

void layer_cores_add(cli_options_t *options, layer_cores_t *cores);
/** Checks that @p device can have several instances. @return CLI_GO_ON or the exit status. */
int layer_cores_check(const cli_options_t *options, const layer_cores_t *cores,
                      const cli_device_t *device);
/** Opens the devices behind the first. They must be closed whatever this returns. @return
 * CLI_GO_ON or the exit status. */
int layer_cores_open(const cli_device_t *device, layer_cores_t *cores);
/** Closes all but the first. */
void layer_cores_close(layer_cores_t *cores);
/** Returns why the last failed call failed. */
const char *layer_cores_message(const layer_cores_t *cores);

/** Runs a pass as ufp4_linear_run does, on all cores, with the operands loaded on the first; @p
 * stats gets the longest part's cycles and the sums of all counters. */
ufp4_status_t layer_cores_run(const layer_cores_t *cores, ufp4_linear_t *linear,
                              const ufp4_recipe_t *recipe, ufp4_pass_t pass, float *d,
                              layer_parts_t *parts, ufp4_gemm_stats_t *stats);
/** Changes @p line to describe all cores. It describes one core, with the stats of
 * layer_cores_run. */
void layer_cores_report(const layer_cores_t *cores, const layer_parts_t *parts,
                        const cli_device_t *device, report_case_t *line);

#endif
