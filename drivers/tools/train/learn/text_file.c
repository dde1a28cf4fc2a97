// SPDX-License-Identifier: Apache-2.0
#include "text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define READ_BYTES (1 << 20)

static int reserve(text_bytes_t *bytes) {
  if (bytes->count + READ_BYTES <= bytes->capacity) return 1;
  int64_t capacity = 2 * bytes->capacity + READ_BYTES;
  uint8_t *data = realloc(bytes->data, ufp4_matrix_bytes(capacity, 1, 1));
  if (!data) return 0;
  bytes->data = data;
  bytes->capacity = capacity;
  return 1;
}

// zlib also reads plain files, so one path serves both.
static ufp4_status_t read_all(gzFile file, text_bytes_t *bytes) {
  int got;
  do {
    if (!reserve(bytes)) return UFP4_ERROR_MEMORY;
    got = gzread(file, bytes->data + bytes->count, READ_BYTES);
    if (got < 0) return UFP4_ERROR_FORMAT;
    bytes->count += got;
    if (bytes->count > TEXT_MAX_BYTES) return UFP4_ERROR_FORMAT;
  } while (got > 0);
  int status;
  gzerror(file, &status);
  return status == Z_OK || status == Z_STREAM_END ? UFP4_OK : UFP4_ERROR_FORMAT;
}

ufp4_status_t text_file_read(const char *path, text_bytes_t *bytes, ufp4_message_t *message) {
  errno = 0;
  gzFile file = gzopen(path, "rb");
  if (!file) {
    snprintf(message->text, sizeof message->text, "%s: %s", path,
             errno ? strerror(errno) : "out of memory");
    return errno ? UFP4_ERROR_IO : UFP4_ERROR_MEMORY;
  }
  ufp4_status_t status = read_all(file, bytes);
  if (status == UFP4_ERROR_FORMAT) {
    int code;
    const char *why = bytes->count > TEXT_MAX_BYTES ? "larger than 4 GiB" : gzerror(file, &code);
    snprintf(message->text, sizeof message->text, "%s: cannot be read as text or as gzip: %s", path,
             why);
  }
  gzclose(file);
  return status;
}
