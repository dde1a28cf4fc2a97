// SPDX-License-Identifier: Apache-2.0
// Files: read by ranges (file.c); written without their name and then given it (file_out.c).
#ifndef UFP4_FILE_H
#define UFP4_FILE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ufp4/status.h"

typedef struct {
  uint8_t *data;
  size_t size;
} file_bytes_t;

/** A file of which ranges are read: of a regular one when they are asked for; any other lies in
 * memory. */
typedef struct {
  const char *path;
  FILE *stream;        // regular
  file_bytes_t bytes;  // any other
  uint64_t size;
} file_ranges_t;

ufp4_status_t file_ranges_open(const char *path, file_ranges_t *out, ufp4_message_t *message);
void file_ranges_close(file_ranges_t *file);
/** @p offset + @p bytes is at most file->size. */
ufp4_status_t file_range_read(const file_ranges_t *file, uint64_t offset, uint64_t bytes, void *out,
                              ufp4_message_t *message);

// --- Failures -----------------------------------------------------------------------------------

/** The status for the errno of a call on a file: UFP4_ERROR_STORAGE where the environment is at
 * fault (no room, a limit, a broken disk), UFP4_ERROR_IO where the name is. */
ufp4_status_t file_status(int error);
/** "PATH: cannot DOING: reason", by errno. */
ufp4_status_t file_fail(const char *path, const char *doing, ufp4_message_t *message);

// --- Writing ------------------------------------------------------------------------------------

/** Finds the file to which a write to @p path goes: symbolic links are followed to their end, which
 * need not be there yet. A name that leads to anything but a regular file or a free name, or into
 * /dev (but /dev/shm) or /proc, is an error.
 * @param[out] target malloc'ed. */
ufp4_status_t file_target(const char *path, char **target, ufp4_message_t *message);

/** A name in the folder of @p target, of this process, that is no longer than any may be;
 * malloc'ed, or NULL. */
char *file_beside(const char *target);

/** A file that takes its name only when it is whole. Until then it has none, where the file system
 * can do that, and goes with the process; else one in the target's folder, and the signals of this
 * thread wait. It has the mode of the file that it replaces. */
typedef struct {
  FILE *stream;
  char *path, *target;  ///< as named, and with links followed
  char *beside;         ///< its name until it is whole
  int named;            ///< it has that name
  int waiting;          ///< signals of this thread wait while it has
  sigset_t signals;     ///< and those that waited before
} file_out_t;

ufp4_status_t file_out_open(const char *path, file_out_t *out, ufp4_message_t *message);
/** Whether everything that was written has arrived, to be asked before one of several takes its
 * name. */
ufp4_status_t file_out_flush(file_out_t *out, ufp4_message_t *message);
/** Takes it back: the target is as it was. Frees @p out. */
void file_out_discard(file_out_t *out);
/** Gives it the target's name if everything that was written has arrived; after any failure the
 * target is as it was and nothing is left beside it. Frees @p out. */
ufp4_status_t file_out_close(file_out_t *out, ufp4_message_t *message);

/** A function that writes a file's contents; its failures are seen in the stream. */
typedef void (*file_put_t)(const void *context, FILE *stream);
/** Opens a file_out_t, lets @p put write its contents, and closes it. */
ufp4_status_t file_write_by(const char *path, file_put_t put, const void *context,
                            ufp4_message_t *message);

/** One part of what is to be written. */
typedef struct {
  const void *data;
  size_t size;
} file_part_t;

/** Writes the parts one after the other, as file_write_by does. */
ufp4_status_t file_write(const char *path, const file_part_t *parts, int count,
                         ufp4_message_t *message);

#endif
