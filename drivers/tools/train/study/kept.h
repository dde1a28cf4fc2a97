// SPDX-License-Identifier: Apache-2.0
// The folder of unfinished work: its settings, a file for each finished run or case, and a
// checkpoint for each unfinished run. Every file is complete or absent, so that work can be resumed
// after a crash at any moment.
#ifndef UFP4_TRAIN_KEPT_H
#define UFP4_TRAIN_KEPT_H

#include <stdio.h>

#include "ufp4/status.h"

#define UFP4_KEPT_PATH 4096
#define UFP4_KEPT_CHECKPOINT ".safetensors"

/** Creates @p folder, whose parent must exist, for an experiment with @p settings, the text of a
 * flat JSON object, which becomes settings.json. With @p resume, continues an experiment whose
 * settings are equal as JSON; if only "program" differs, it continues with a note in @p message,
 * which is otherwise unchanged. @return UFP4_ERROR_ARGUMENT, with a message: there is an unfinished
 * experiment and @p resume is 0; it has other settings (the first that differs is named); @p resume
 * is set and there is none; @p settings is not a JSON object. */
ufp4_status_t ufp4_kept_open(const char *folder, const char *settings, int resume,
                             ufp4_message_t *message);
/** Removes settings.json, the files, the checkpoints and what killed processes left half written,
 * then the folder, which stays where something else is in it. settings.json goes last: until then
 * it is an experiment that can be resumed. A folder that is not there is none to remove. */
ufp4_status_t ufp4_kept_remove(const char *folder, ufp4_message_t *message);

// --- One run or case ----------------------------------------------------------------------------

// The id of a file is its name without the ending: letters, digits and ._+-=, not beginning with
// '.'; any other is UFP4_ERROR_ARGUMENT. Files with different ids may be written at the same time.

/** Converts the name of a recipe to a part of an id or a folder's name, with '-' for the '/' of
 * its suffix. */
void ufp4_kept_name(char *name);
/** A function that writes the lines of a file. */
typedef void (*ufp4_kept_put_t)(const void *context, FILE *out);
/** Writes ID.csv: the lines of @p put, and a line with their checksum. */
ufp4_status_t ufp4_kept_write(const char *folder, const char *id, ufp4_kept_put_t put,
                              const void *context, ufp4_message_t *message);
/** Reads those lines back.
 *  @param[out] text malloc'ed; NULL: there is no such file
 *  @return UFP4_ERROR_FORMAT, with a message: damaged. */
ufp4_status_t ufp4_kept_read(const char *folder, const char *id, char **text,
                             ufp4_message_t *message);
/** Makes the name of a file beside it: ID and @p suffix, such as UFP4_KEPT_CHECKPOINT. */
ufp4_status_t ufp4_kept_path(const char *folder, const char *id, const char *suffix,
                             char path[UFP4_KEPT_PATH], ufp4_message_t *message);
/** Removes a checkpoint if it exists. */
ufp4_status_t ufp4_kept_remove_checkpoint(const char *folder, const char *id,
                                          ufp4_message_t *message);

#endif
