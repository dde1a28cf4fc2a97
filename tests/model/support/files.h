// SPDX-License-Identifier: Apache-2.0
// Files that a test writes and reads, and the check of the messages about refused files.
#ifndef UFP4_FILES_H
#define UFP4_FILES_H

#include "check.h"
#include "ufp4/status.h"

/** Returns a path in the working folder that is unique to this process; the text is valid until the
 * next call. */
const char *files_path(const char *name);
/** Writes the bytes to files_path(name) and returns that path. */
const char *files_write(const char *name, const void *bytes, size_t size);
/** Removes files_path(name). */
void files_remove(const char *name);
/** Checks the status, and that a failure comes with one line that names the file. */
void files_check_status(int64_t index, ufp4_status_t got, ufp4_status_t want,
                        const ufp4_message_t *message);

#endif
