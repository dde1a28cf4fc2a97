// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ufp4/matrix.h"

ufp4_status_t file_fail(const char *path, const char *doing, ufp4_message_t *message) {
  int error = errno;
  ufp4_message_set(message, "%s: cannot %s: %s", path, doing, strerror(error));
  return file_status(error);
}

ufp4_status_t file_status(int error) {
  static const int environment[] = {ENOSPC, EDQUOT, EFBIG, EIO, ENFILE, EMFILE};
  if (error == ENOMEM) return UFP4_ERROR_MEMORY;
  for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
    if (error == environment[i]) return UFP4_ERROR_STORAGE;
  }
  return UFP4_ERROR_IO;
}

// Makes room for at least one more byte.
static int grow(file_bytes_t *bytes, size_t *capacity) {
  if (bytes->size < *capacity) return 1;
  if (*capacity >= UFP4_TOO_MANY_BYTES / 2) return 0;
  size_t more = *capacity == 0 ? 1 << 16 : 2 * *capacity;
  uint8_t *grown = realloc(bytes->data, more);
  if (grown == NULL) return 0;
  bytes->data = grown;
  *capacity = more;
  return 1;
}

// Reads a file that is not regular, whose length is known only at its end.
static ufp4_status_t read_all(FILE *file, const char *path, file_bytes_t *out,
                              ufp4_message_t *message) {
  size_t capacity = 0;
  while (grow(out, &capacity)) {
    size_t got = fread(out->data + out->size, 1, capacity - out->size, file);
    out->size += got;
    if (got == 0) return ferror(file) ? file_fail(path, "read", message) : UFP4_OK;
  }
  ufp4_message_set(message, "%s: does not fit in memory", path);
  return UFP4_ERROR_MEMORY;
}

ufp4_status_t file_ranges_open(const char *path, file_ranges_t *out, ufp4_message_t *message) {
  struct stat about;
  *out = (file_ranges_t){.path = path, .stream = fopen(path, "rb")};
  if (out->stream == NULL) return file_fail(path, "open", message);
  ufp4_status_t status = UFP4_OK;
  if (fstat(fileno(out->stream), &about) != 0) {
    status = file_fail(path, "read", message);
  } else if (S_ISREG(about.st_mode)) {
    out->size = (uint64_t)about.st_size;
    return UFP4_OK;
  } else {
    status = read_all(out->stream, path, &out->bytes, message);
  }
  fclose(out->stream);
  out->stream = NULL;
  out->size = out->bytes.size;
  if (status != UFP4_OK) file_ranges_close(out);
  return status;
}

void file_ranges_close(file_ranges_t *file) {
  if (file->stream != NULL) fclose(file->stream);
  free(file->bytes.data);
  *file = (file_ranges_t){0};
}

ufp4_status_t file_range_read(const file_ranges_t *file, uint64_t offset, uint64_t bytes, void *out,
                              ufp4_message_t *message) {
  if (bytes == 0) return UFP4_OK;
  if (file->stream == NULL) {
    memcpy(out, file->bytes.data + offset, (size_t)bytes);
    return UFP4_OK;
  }
  if (fseeko(file->stream, (off_t)offset, SEEK_SET) != 0)
    return file_fail(file->path, "read", message);
  if (fread(out, 1, (size_t)bytes, file->stream) == bytes) return UFP4_OK;
  if (ferror(file->stream)) return file_fail(file->path, "read", message);
  ufp4_message_set(message, "%s: truncated while it was read", file->path);
  return UFP4_ERROR_IO;
}
