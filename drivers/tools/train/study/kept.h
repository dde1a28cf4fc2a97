// SPDX-License-Identifier: Apache-2.0
// The folder of work that has not ended: its settings, a file of each run or case that has ended, a
// checkpoint of each run that has not. Every file is whole or absent, so that a crash at any moment
// leaves what can be resumed.
#ifndef UFP4_TRAIN_KEPT_H
#define UFP4_TRAIN_KEPT_H

#include <stdio.h>

#include "ufp4/status.h"

#define UFP4_KEPT_PATH 4096
#define UFP4_KEPT_CHECKPOINT ".safetensors"

/** Makes @p folder (the one above it exists) for an experiment of @p settings, the text of a flat
 * JSON object, which becomes settings.json; with @p resume, goes on in one whose settings are equal
 * as JSON. Where only "program" differs, it goes on with a line in @p message, which is else
 * unchanged.
 *  @return UFP4_ERROR_ARGUMENT, with a line that says what is there and what would be right: an
 * unfinished experiment is there and @p resume is 0; it is of other settings (the first that
 * differs is named); @p resume, and there is none; @p settings is no JSON object. */
ufp4_status_t ufp4_kept_open(const char *folder, const char *settings, int resume,
                             ufp4_message_t *message);
/** Removes settings.json, the files, the checkpoints and what killed processes left half written,
 * then the folder, which stays where something else is in it. settings.json goes last: until then
 * it is an experiment that can be resumed. A folder that is not there is none to remove. */
ufp4_status_t ufp4_kept_remove(const char *folder, ufp4_message_t *message);

// --- One run or case ----------------------------------------------------------------------------

// An id is a file's name without its ending: letters, digits and ._+-=, the first no '.'; any other
// is UFP4_ERROR_ARGUMENT. Files with different ids may be written at the same time.

/** The name of a recipe as part of an id, or as a folder's: '-' for the '/' of its suffix. */
void ufp4_kept_name(char *name);
/** A function that writes the lines of a file. */
typedef void (*ufp4_kept_put_t)(const void *context, FILE *out);
/** Writes ID.csv: the lines of @p put, and one with their checksum. */
ufp4_status_t ufp4_kept_write(const char *folder, const char *id, ufp4_kept_put_t put,
                              const void *context, ufp4_message_t *message);
/** Reads those lines back. @param[out] text malloc'ed; NULL: there are none
 *  @return UFP4_ERROR_FORMAT, with a line: damaged. */
ufp4_status_t ufp4_kept_read(const char *folder, const char *id, char **text,
                             ufp4_message_t *message);
/** The name of a file beside it: ID and @p suffix, as UFP4_KEPT_CHECKPOINT. */
ufp4_status_t ufp4_kept_path(const char *folder, const char *id, const char *suffix,
                             char path[UFP4_KEPT_PATH], ufp4_message_t *message);
/** Removes a checkpoint, which need not be there. */
ufp4_status_t ufp4_kept_remove_checkpoint(const char *folder, const char *id,
                                          ufp4_message_t *message);

#endif
