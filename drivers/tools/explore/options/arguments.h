// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: its command-line options.
#ifndef UFP4_CLI_EXPLORE_ARGUMENTS_H
#define UFP4_CLI_EXPLORE_ARGUMENTS_H

#include "explore/plan.h"

typedef struct {
  const char *recipes, *configurations, *bandwidths, *latencies, *drams, *channels, *tokens,
      *folder, *timeline, *hf, *cores, *chips, *link, *ppa, *micro;
  uint64_t layers, batches, zero, interleave;
  float clock_mhz, byte_pj, bit_um2, bit_fj, link_pj, hbm_gb;
  int source, serial, json, resume, attention, host_bytes, split, recompute, sequence, reduce;
} explore_arguments_t;

void explore_options(cli_options_t *options, explore_arguments_t *a);
/** Checks each option, and their combination. @return CLI_GO_ON or the exit status. */
int explore_check_options(const explore_arguments_t *a, const cli_options_t *options);
/** Makes the plan with its cases, which the caller frees. @return CLI_GO_ON or the exit status. */
int explore_plan(const explore_arguments_t *a, const char *shapes, explore_plan_t *plan);

#endif
