// SPDX-License-Identifier: Apache-2.0
// Files: read by ranges; written beside the target and renamed.
#ifndef UFP4_FILE_H
#define UFP4_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ufp4/status.h"

typedef struct {
  uint8_t *data;
  size_t size;
} file_bytes_t;

/** A file of which ranges are read: of a regular one when they are asked for; any other lies in memory. */
typedef struct {
  const char *path;
  FILE *stream;        // regular
  file_bytes_t bytes;  // any other
  uint64_t size;
} file_ranges_t;

ufp4_status_t file_ranges_open(const char *path, file_ranges_t *out, ufp4_message_t *message);
void file_ranges_close(file_ranges_t *file);
/** @p at + @p bytes is at most file->size. */
ufp4_status_t file_range_read(const file_ranges_t *file, uint64_t at, uint64_t bytes, void *to,
                              ufp4_message_t *message);

/** One part of what is to be written. */
typedef struct {
  const void *data;
  size_t size;
} file_part_t;

/** Writes the parts one after the other to a new file beside @p path and renames it: the target is whole, or as it was.
 * Signals wait until the new file is renamed or removed, so that none is left behind. */
ufp4_status_t file_write(const char *path, const file_part_t *parts, int count, ufp4_message_t *message);

#endif
