// SPDX-License-Identifier: Apache-2.0
#include "outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ufp4_status_t io_error(const char *path, int error, ufp4_message_t *message) {
  snprintf(message->text, sizeof message->text, "%.400s: cannot be written: %s", path, strerror(error));
  return UFP4_ERROR_IO;
}

ufp4_status_t ufp4_outfile_open(const char *path, ufp4_outfile_t *out, ufp4_message_t *message) {
  *out = (ufp4_outfile_t){0};
  if (strlen(path) >= sizeof out->path) return io_error(path, ENAMETOOLONG, message);
  snprintf(out->path, sizeof out->path, "%s", path);
  snprintf(out->beside, sizeof out->beside, "%s.XXXXXX", path);
  int descriptor = mkstemp(out->beside);
  if (descriptor < 0) return io_error(path, errno, message);
  mode_t mask = umask(0);
  umask(mask);
  out->stream = fchmod(descriptor, 0666 & ~mask) ? NULL : fdopen(descriptor, "w");
  if (out->stream) return UFP4_OK;
  int error = errno;
  close(descriptor);
  unlink(out->beside);
  return io_error(path, error, message);
}

ufp4_status_t ufp4_outfile_close(ufp4_outfile_t *file, ufp4_message_t *message) {
  int failed = fflush(file->stream) || ferror(file->stream);
  int error = errno;
  if (fclose(file->stream) && !failed) {
    failed = 1;
    error = errno;
  }
  if (!failed && !rename(file->beside, file->path)) return UFP4_OK;
  if (!failed) error = errno;
  unlink(file->beside);
  return io_error(file->path, error, message);
}
