// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ufp4/matrix.h"

static ufp4_status_t fail_errno(ufp4_message_t *message, const char *path, const char *doing) {
  ufp4_message_set(message, "%s: cannot %s: %s", path, doing, strerror(errno));
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

// A file that is not regular, of which only reading tells how long it is.
static ufp4_status_t read_all(FILE *file, const char *path, file_bytes_t *out, ufp4_message_t *message) {
  size_t capacity = 0;
  while (grow(out, &capacity)) {
    size_t got = fread(out->data + out->size, 1, capacity - out->size, file);
    out->size += got;
    if (got == 0) return ferror(file) ? fail_errno(message, path, "read") : UFP4_OK;
  }
  ufp4_message_set(message, "%s: does not fit in memory", path);
  return UFP4_ERROR_MEMORY;
}

ufp4_status_t file_ranges_open(const char *path, file_ranges_t *out, ufp4_message_t *message) {
  struct stat about;
  *out = (file_ranges_t){.path = path, .stream = fopen(path, "rb")};
  if (out->stream == NULL) return fail_errno(message, path, "open");
  ufp4_status_t status = UFP4_OK;
  if (fstat(fileno(out->stream), &about) != 0) {
    status = fail_errno(message, path, "read");
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

ufp4_status_t file_range_read(const file_ranges_t *file, uint64_t at, uint64_t bytes, void *to,
                              ufp4_message_t *message) {
  if (bytes == 0) return UFP4_OK;
  if (file->stream == NULL) {
    memcpy(to, file->bytes.data + at, (size_t)bytes);
    return UFP4_OK;
  }
  if (fseeko(file->stream, (off_t)at, SEEK_SET) != 0) return fail_errno(message, file->path, "read");
  if (fread(to, 1, (size_t)bytes, file->stream) == bytes) return UFP4_OK;
  if (ferror(file->stream)) return fail_errno(message, file->path, "read");
  ufp4_message_set(message, "%s: truncated while it was read", file->path);
  return UFP4_ERROR_IO;
}

static int write_parts(int descriptor, const file_part_t *parts, int count) {
  FILE *file = fdopen(descriptor, "wb");
  if (file == NULL) {
    close(descriptor);
    return 0;
  }
  int good = 1;
  for (int i = 0; i < count && good; i++) {
    good = parts[i].size == 0 || fwrite(parts[i].data, 1, parts[i].size, file) == parts[i].size;
  }
  if (fclose(file) != 0) good = 0;
  return good;
}

// A new file whose name nobody uses; -1 if there can be none.
static int create_beside(const char *path, char *beside, size_t size) {
  int descriptor = -1;
  for (int i = 0; i < 100 && descriptor < 0; i++) {
    snprintf(beside, size, "%s.%ld-%d.tmp", path, (long)getpid(), i);
    descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) return -1;
  }
  return descriptor;
}

static ufp4_status_t write_beside(const char *path, char *beside, size_t size, const file_part_t *parts, int count,
                                  ufp4_message_t *message) {
  int descriptor = create_beside(path, beside, size);
  if (descriptor < 0) return fail_errno(message, path, "create");
  if (write_parts(descriptor, parts, count) && rename(beside, path) == 0) return UFP4_OK;
  ufp4_status_t status = fail_errno(message, path, "write");
  unlink(beside);
  return status;
}

ufp4_status_t file_write(const char *path, const file_part_t *parts, int count, ufp4_message_t *message) {
  struct stat about;
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
    ufp4_message_set(message, "%s: cannot write: it is there already, and is no regular file", path);
    return UFP4_ERROR_IO;
  }
  size_t size = strlen(path) + 40;
  char *beside = malloc(size);
  if (beside == NULL) {
    ufp4_message_set(message, "%s: the host is out of memory", path);
    return UFP4_ERROR_MEMORY;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  ufp4_status_t status = write_beside(path, beside, size, parts, count, message);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  free(beside);
  return status;
}
