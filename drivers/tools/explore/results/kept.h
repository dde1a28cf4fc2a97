// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: the finished cases, in DIR/cases.
#ifndef UFP4_CLI_EXPLORE_KEPT_H
#define UFP4_CLI_EXPLORE_KEPT_H

#include "explore/results/rows.h"

/** Sets the plan's mark, which the files of its cases contain. @return CLI_GO_ON or the exit
 * status, like all functions below. */
int explore_kept_mark(explore_plan_t *plan);
/** Creates DIR/cases, or continues with it if its settings are the same. @return CLI_GO_ON or the
 * exit status. */
int explore_kept_open(const explore_plan_t *plan, int resume);
int explore_kept_write(const explore_plan_t *plan, int index, const explore_row_t *rows, int count);
/** Adds the rows of a case, and sets its reason.
 *  @param[out] found 0: it has not finished, or only with other settings */
int explore_kept_read(const explore_plan_t *plan, int index, explore_rows_t *rows, int *found);
int explore_kept_remove(const explore_plan_t *plan);

#endif
