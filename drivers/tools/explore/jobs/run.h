// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: measures the jobs of a case.
#ifndef UFP4_CLI_EXPLORE_RUN_H
#define UFP4_CLI_EXPLORE_RUN_H

#include "explore/results/rows.h"

/** Measures all jobs of a case and adds their rows and the totals, or a row with the reason if the
 * case fails. @return CLI_GO_ON or the exit status. */
int explore_run(const explore_plan_t *plan, explore_case_t *one, explore_rows_t *rows);
/** Records why a case fails. @return EXPLORE_FAILED. */
int explore_fail(explore_case_t *one, ufp4_status_t status, const char *message);

/** Returns the bytes of device memory for a step with overlapped jobs; 0 if it cannot be run at
 * all. */
uint64_t explore_overlap_bytes(const explore_plan_t *plan, explore_case_t *of);
/** Measures a case with overlapped jobs, like explore_run. @return also EXPLORE_FAILED, with
 * meaningless rows. */
int explore_run_overlap(const explore_plan_t *plan, explore_case_t *of, explore_rows_t *rows);

#endif
