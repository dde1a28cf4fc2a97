// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // O_TMPFILE
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ufp4_status_t io_error(const char *path, int error, ufp4_message_t *message) {
  snprintf(message->text, sizeof message->text, "%.400s: cannot be written: %s", path, strerror(error));
  return UFP4_ERROR_IO;
}

// A file without a name, which goes with the process however that ends; -1 where the file system has none.
static int open_nameless(const char *path) {
  char *folder = strdup(path);
  if (folder == NULL) return -1;
  char *slash = strrchr(folder, '/');
  if (slash != NULL) slash[slash == folder] = '\0';
  int descriptor = open(slash != NULL ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  free(folder);
  return descriptor;
}

// The same with a name beside the target.
static int open_named(ufp4_outfile_t *out) {
  out->named = 1;
  int descriptor = mkstemp(out->beside);
  mode_t mask = umask(0);
  umask(mask);
  if (descriptor >= 0) (void)fchmod(descriptor, 0666 & ~mask);
  return descriptor;
}

ufp4_status_t ufp4_outfile_open(const char *path, ufp4_outfile_t *out, ufp4_message_t *message) {
  *out = (ufp4_outfile_t){0};
  if (strlen(path) >= sizeof out->path) return io_error(path, ENAMETOOLONG, message);
  snprintf(out->path, sizeof out->path, "%s", path);
  snprintf(out->beside, sizeof out->beside, "%s.XXXXXX", path);
  int descriptor = open_nameless(path);
  if (descriptor < 0) descriptor = open_named(out);
  if (descriptor < 0) return io_error(path, errno, message);
  out->stream = fdopen(descriptor, "w");
  if (out->stream) return UFP4_OK;
  int error = errno;
  close(descriptor);
  if (out->named) unlink(out->beside);
  return io_error(path, error, message);
}

// Gives a nameless file its name: one that nobody has, beside the target.
static int name_it(ufp4_outfile_t *file) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(file->stream));
  for (int i = 0; i < 100; i++) {
    snprintf(file->beside, sizeof file->beside, "%s.%ld-%d.tmp", file->path, (long)getpid(), i);
    if (linkat(AT_FDCWD, self, AT_FDCWD, file->beside, AT_SYMLINK_FOLLOW) == 0) return 1;
    if (errno != EEXIST) return 0;
  }
  return 0;
}

ufp4_status_t ufp4_outfile_close(ufp4_outfile_t *file, ufp4_message_t *message) {
  int failed = fflush(file->stream) || ferror(file->stream);
  if (!failed && !file->named) {
    file->named = name_it(file);
    failed = !file->named;
  }
  int error = errno;
  if (fclose(file->stream) && !failed) {
    failed = 1;
    error = errno;
  }
  if (!failed && !rename(file->beside, file->path)) return UFP4_OK;
  if (!failed) error = errno;
  if (file->named) unlink(file->beside);
  return io_error(file->path, error, message);
}
