// SPDX-License-Identifier: Apache-2.0
// Files: ranges are read from them (file.c); new ones are written without a name, and named when
// complete (file_out.c).
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

/** A file from which ranges are read. A regular file is read on demand; any other is read into
 * memory when it is opened. */
typedef struct {
  const char *path;
  FILE *stream;        // of a regular file
  file_bytes_t bytes;  // of any other file
  uint64_t size;
} file_ranges_t;

ufp4_status_t file_ranges_open(const char *path, file_ranges_t *out, ufp4_message_t *message);
void file_ranges_close(file_ranges_t *file);
/** Reads a range; @p offset + @p bytes is at most file->size. */
ufp4_status_t file_range_read(const file_ranges_t *file, uint64_t offset, uint64_t bytes, void *out,
                              ufp4_message_t *message);

// --- Failures -----------------------------------------------------------------------------------

/** Returns the status for the errno of a file operation: UFP4_ERROR_STORAGE if the environment is
 * at fault (no room, a limit, an I/O error), UFP4_ERROR_IO if the name is. */
ufp4_status_t file_status(int error);
/** Formats "PATH: cannot DOING: reason" from errno. */
ufp4_status_t file_fail(const char *path, const char *doing, ufp4_message_t *message);

// --- Writing ------------------------------------------------------------------------------------

/** Finds the file to which a write to @p path goes. Symbolic links are followed to their end,
 * which need not exist yet. It is an error if the name leads to something other than a regular file
 * or a free name, or into /dev (except /dev/shm) or /proc.
 *  @param[out] target malloc'ed. */
ufp4_status_t file_target(const char *path, char **target, ufp4_message_t *message);

/** Makes a file name in the folder of @p target that is unique to this process and within the
 * length limit; malloc'ed, or NULL. */
char *file_beside(const char *target);

/** A file that gets its name only when it is complete. If the file system supports nameless files,
 * it has no name until then, and vanishes if the process ends; otherwise it has another name in the
 * target's folder, and this thread's signals are blocked meanwhile. It gets the mode of the file
 * that it replaces. */
typedef struct {
  FILE *stream;
  char *path, *target;  ///< as given, and with links followed
  char *beside;         ///< the temporary name
  int named;            ///< the file has the temporary name
  int waiting;          ///< signals are blocked
  sigset_t signals;     ///< the signal mask before that
} file_out_t;

ufp4_status_t file_out_open(const char *path, file_out_t *out, ufp4_message_t *message);
/** Checks that everything has been written, so that a caller with several files can do this before
 * naming the first. */
ufp4_status_t file_out_flush(file_out_t *out, ufp4_message_t *message);
/** Drops the file; the target is unchanged. Frees @p out. */
void file_out_discard(file_out_t *out);
/** Gives the file its target's name if everything was written; after a failure the target is
 * unchanged and no temporary file remains. Frees @p out. */
ufp4_status_t file_out_close(file_out_t *out, ufp4_message_t *message);

/** A function that writes a file's contents; errors are detected from the stream. */
typedef void (*file_put_t)(const void *context, FILE *stream);
/** Opens a file_out_t, lets @p put write its contents, and closes it. */
ufp4_status_t file_write_by(const char *path, file_put_t put, const void *context,
                            ufp4_message_t *message);

/** A part of the contents. */
typedef struct {
  const void *data;
  size_t size;
} file_part_t;

/** Writes a file from parts in their order, as file_write_by does. */
ufp4_status_t file_write(const char *path, const file_part_t *parts, int count,
                         ufp4_message_t *message);

#endif
