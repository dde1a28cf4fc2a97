// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: the cases that have ended, in DIR/cases.
#ifndef UFP4_CLI_EXPLORE_KEPT_H
#define UFP4_CLI_EXPLORE_KEPT_H

#include "explore/results/rows.h"

/** Gives the plan its mark, which the files of its cases have. @return CLI_GO_ON or
 * the exit status, as all of these. */
int explore_kept_mark(explore_plan_t *plan);
/** Makes DIR/cases, or goes on with it, if it is of the same settings. @return CLI_GO_ON or the
 * exit status. */
int explore_kept_open(const explore_plan_t *plan, int resume);
int explore_kept_write(const explore_plan_t *plan, int index, const explore_row_t *rows, int count);
/** Adds the rows, and gives the case its reason. @param[out] found 0: it has not ended, or under
 * other settings */
int explore_kept_read(const explore_plan_t *plan, int index, explore_rows_t *rows, int *found);
int explore_kept_remove(const explore_plan_t *plan);

#endif
