// SPDX-License-Identifier: Apache-2.0
// A whole text file in memory, plain or gzip.
#ifndef UFP4_TEXT_FILE_H
#define UFP4_TEXT_FILE_H

#include "ufp4.h"

#define TEXT_MAX_BYTES ((int64_t)1 << 32)

/** The caller frees data, also after a failure. */
typedef struct {
  uint8_t *data;
  int64_t count, capacity;
} text_bytes_t;

/** Reads and decompresses the file. @return UFP4_ERROR_IO, UFP4_ERROR_FORMAT (damaged gzip data,
 * or over 4 GiB), each with a message; UFP4_ERROR_MEMORY. */
ufp4_status_t text_file_read(const char *path, text_bytes_t *bytes, ufp4_message_t *message);

#endif
