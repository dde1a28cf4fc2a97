// SPDX-License-Identifier: Apache-2.0
// The folder of an experiment that has not ended: its settings, the rows of each run that has
// ended, a checkpoint of each that has not. Every file is whole or absent, so that a crash at any
// moment leaves what can be resumed.
#ifndef UFP4_TRAIN_RUNS_H
#define UFP4_TRAIN_RUNS_H

#include "run.h"
#include "ufp4/status.h"

#define UFP4_RUNS_PATH 4096

/** Makes @p folder (the one above it exists) for an experiment of @p settings, the text of a flat
 * JSON object, which becomes settings.json; with @p resume, goes on in one whose settings are equal
 * as JSON. Where only "program" differs, it goes on with a line in @p message, which is else
 * unchanged.
 *  @return UFP4_ERROR_ARGUMENT, with a line that says what is there and what would be right: an
 * unfinished experiment is there and @p resume is 0; it is of other settings (the first that
 * differs is named); @p resume, and there is none; @p settings is no JSON object. */
ufp4_status_t ufp4_runs_open(const char *folder, const char *settings, int resume,
                             ufp4_message_t *message);
/** Removes settings.json, the rows, the checkpoints and what killed processes left half written,
 * then the folder, which stays where something else is in it. settings.json goes last: until then
 * it is an experiment that can be resumed. A folder that is not there is none to remove. */
ufp4_status_t ufp4_runs_remove(const char *folder, ufp4_message_t *message);

// --- One run ------------------------------------------------------------------------------------

// An id is a file's name without its ending: letters, digits and ._+-, the first no '.'; any other
// is UFP4_ERROR_ARGUMENT. Runs with different ids may be written at the same time.

/** Writes the rows of a run that has ended to ID.csv. @param steps losses that it has */
ufp4_status_t ufp4_runs_write(const char *folder, const char *id, const ufp4_run_t *run,
                              int64_t steps, ufp4_message_t *message);
/** Reads them back, the same bits. @param[in,out] run its loss has room for @p steps; only changed
 * where the rows are there and right.
 *  @param[out] found 0: the run has not ended, and there are no rows
 *  @return UFP4_ERROR_FORMAT, with a line: damaged, or not of @p steps steps. */
ufp4_status_t ufp4_runs_read(const char *folder, const char *id, ufp4_run_t *run, int64_t steps,
                             int *found, ufp4_message_t *message);
/** Where the run's checkpoint goes: ID.safetensors. */
ufp4_status_t ufp4_runs_checkpoint(const char *folder, const char *id, char path[UFP4_RUNS_PATH],
                                   ufp4_message_t *message);
/** Removes the run's checkpoint, which need not be there. */
ufp4_status_t ufp4_runs_remove_checkpoint(const char *folder, const char *id,
                                          ufp4_message_t *message);

#endif
