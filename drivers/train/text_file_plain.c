// SPDX-License-Identifier: Apache-2.0
// In place of text_file_gzip.c where the program is built without zlib.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

static ufp4_status_t check(const char *path, const text_bytes_t *bytes, int failed, ufp4_message_t *message) {
  if (failed) {
    ufp4_message_set(message, "%s: cannot be read", path);
    return UFP4_ERROR_IO;
  }
  if (bytes->count > TEXT_MAX_BYTES) {
    ufp4_message_set(message, "%s: larger than 4 GiB", path);
    return UFP4_ERROR_FORMAT;
  }
  if (bytes->count < 2 || bytes->data[0] != 0x1F || bytes->data[1] != 0x8B) return UFP4_OK;
  ufp4_message_set(message, "%s: this build reads no gzip; it was made without zlib1g-dev", path);
  return UFP4_ERROR_UNSUPPORTED;
}

static ufp4_status_t read_all(FILE *file, text_bytes_t *bytes) {
  while (!feof(file) && !ferror(file) && bytes->count <= TEXT_MAX_BYTES) {
    const int64_t capacity = 2 * bytes->capacity + (1 << 20);
    uint8_t *data = realloc(bytes->data, ufp4_matrix_bytes(capacity, 1, 1));
    if (data == NULL) return UFP4_ERROR_MEMORY;
    bytes->data = data;
    bytes->capacity = capacity;
    bytes->count += (int64_t)fread(data + bytes->count, 1, (size_t)(capacity - bytes->count), file);
  }
  return UFP4_OK;
}

ufp4_status_t text_file_read(const char *path, text_bytes_t *bytes, ufp4_message_t *message) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    ufp4_message_set(message, "%s: %s", path, strerror(errno));
    return UFP4_ERROR_IO;
  }
  ufp4_status_t status = read_all(file, bytes);
  if (status == UFP4_OK) status = check(path, bytes, ferror(file), message);
  fclose(file);
  return status;
}
