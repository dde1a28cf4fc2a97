// SPDX-License-Identifier: Apache-2.0
// Files that a test makes and reads, and what is said of those that are refused.
#ifndef UFP4_FILES_H
#define UFP4_FILES_H

#include "check.h"
#include "ufp4/status.h"

/** A path of this process in the working folder; the text lives until the next call. */
const char *files_path(const char *name);
/** Writes those bytes to files_path(name) and returns it. */
const char *files_write(const char *name, const void *bytes, size_t size);
/** Removes files_path(name). */
void files_remove(const char *name);
/** Checks the status, and that a failure came with one line that names the file. */
void files_check_status(int64_t index, ufp4_status_t got, ufp4_status_t want,
                        const ufp4_message_t *message);

#endif
