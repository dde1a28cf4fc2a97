// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: the jobs of a case are measured.
#ifndef UFP4_CLI_EXPLORE_RUN_H
#define UFP4_CLI_EXPLORE_RUN_H

#include "explore/results/rows.h"

/** Measures all jobs of a case, adds their rows and the totals; or where that does not go a row
 * with the reason. @return CLI_GO_ON or the exit status. */
int explore_run(const explore_plan_t *plan, explore_case_t *one, explore_rows_t *rows);
/** Writes down why a case does not go. @return EXPLORE_FAILED. */
int explore_fail(explore_case_t *one, ufp4_status_t status, const char *message);

/** Bytes of device memory for a step with AMAX and QUANT beside the GEMMs; 0 where it cannot be run
 * at all. */
uint64_t explore_overlap_bytes(const explore_plan_t *plan, explore_case_t *of);
/** Does the same as explore_run. @return also EXPLORE_FAILED, with rows that mean nothing. */
int explore_run_overlap(const explore_plan_t *plan, explore_case_t *of, explore_rows_t *rows);

#endif
