// SPDX-License-Identifier: Apache-2.0
// Rows of finished training runs, in the folder of kept.h.
#ifndef UFP4_TRAIN_RUNS_H
#define UFP4_TRAIN_RUNS_H

#include "run.h"
#include "ufp4/status.h"

/** Writes the rows of a finished run to ID.csv.
 *  @param steps number of its losses */
ufp4_status_t ufp4_runs_write(const char *folder, const char *id, const ufp4_run_t *run,
                              int64_t steps, ufp4_message_t *message);
/** Reads them back, with the same bits.
 *  @param[in,out] run its loss has room for @p steps; changed only if the rows exist and are valid.
 *  @param[out] found 0: the run has not ended, and there are no rows
 *  @return UFP4_ERROR_FORMAT, with a message: damaged, or not of @p steps steps. */
ufp4_status_t ufp4_runs_read(const char *folder, const char *id, ufp4_run_t *run, int64_t steps,
                             int *found, ufp4_message_t *message);

#endif
