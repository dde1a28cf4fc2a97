// SPDX-License-Identifier: Apache-2.0
// Whole files: read into memory; written beside the target and renamed.
#ifndef UFP4_FILE_H
#define UFP4_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/status.h"

typedef struct {
  uint8_t *data;
  size_t size;
} file_bytes_t;

/** Reads all of @p path; free out->data with free. */
ufp4_status_t file_read(const char *path, file_bytes_t *out, ufp4_message_t *message);

/** One part of what is to be written. */
typedef struct {
  const void *data;
  size_t size;
} file_part_t;

/** Writes the parts one after the other to a new file beside @p path and renames it: the target is whole, or as it was.
 * Signals wait until the new file is renamed or removed, so that none is left behind. */
ufp4_status_t file_write(const char *path, const file_part_t *parts, int count, ufp4_message_t *message);

#endif
