// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // O_TMPFILE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

static ufp4_status_t fail_memory(const char *path, ufp4_message_t *message) {
  ufp4_message_set(message, "%s: the host is out of memory", path);
  return UFP4_ERROR_MEMORY;
}

// --- Where a name leads -------------------------------------------------------------------------

#define MAX_LINKS 40  // as in the Linux kernel
#define BESIDE_BYTES 48

static int is_within(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// Resolves the links of the path's folder; malloc'ed. Returns NULL and sets errno if the folder
// does not exist.
static char *with_real_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder =
      slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
  char *real = folder != NULL ? realpath(folder, NULL) : NULL;
  free(folder);
  if (real == NULL) return NULL;
  const char *name = slash == NULL ? path : slash + 1;
  size_t size = strlen(real) + strlen(name) + 2;
  char *whole = malloc(size);
  if (whole != NULL) snprintf(whole, size, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
  free(real);
  return whole;
}

// Returns the target of the link at @p path, malloc'ed. A relative target is resolved from the
// link's folder.
static char *read_link(const char *path) {
  char text[PATH_MAX];
  ssize_t length = readlink(path, text, sizeof text - 1);
  if (length < 0) return NULL;
  text[length] = '\0';
  if (text[0] == '/') return strdup(text);
  size_t folder = (size_t)(strrchr(path, '/') - path) + 1, size = folder + (size_t)length + 1;
  char *target = malloc(size);
  if (target != NULL) snprintf(target, size, "%.*s%s", (int)folder, path, text);
  return target;
}

// Recognizes devices and the open files of processes, because replacing one would destroy it for
// all.
static int is_special(const char *path) {
  return is_within(path, "/proc") || (is_within(path, "/dev") && !is_within(path, "/dev/shm"));
}

// Follows one link: *at becomes its target. @return 1 if the target may be a link, too.
static int follow(char **path, struct stat *about) {
  char *real = with_real_folder(*path);
  free(*path);
  *path = real;
  if (real == NULL || is_special(real)) return 0;
  if (lstat(real, about) != 0) about->st_mode = S_IFREG;  // the file will be created
  if (!S_ISLNK(about->st_mode)) return 0;
  *path = read_link(real);
  free(real);
  return *path != NULL;
}

ufp4_status_t file_target(const char *path, char **target, ufp4_message_t *message) {
  struct stat about = {0};
  int links = 0;
  *target = strdup(path);
  while (*target != NULL && links++ < MAX_LINKS && follow(target, &about)) continue;
  if (*target == NULL) return file_fail(path, "create", message);
  const char *fault = is_special(*target)      ? "it is, or links to, a device or stream"
                      : links > MAX_LINKS      ? "too many symbolic links"
                      : S_ISREG(about.st_mode) ? NULL
                      : links == 1             ? "it already exists and is not a regular file"
                                               : "it links to something that is not a regular file";
  if (fault == NULL) return UFP4_OK;
  ufp4_message_set(message, "%s: cannot write: %s", path, fault);
  free(*target);
  *target = NULL;
  return UFP4_ERROR_IO;
}

// --- A file without its name --------------------------------------------------------------------

// Creates a nameless file, which vanishes with the process however that ends. Returns -1 if the
// file system does not support it, or if there is no /proc, through which it is named later.
static int open_nameless(const char *target) {
  if (access("/proc/self/fd", X_OK) != 0) return -1;
  char *folder = strdup(target);
  if (folder == NULL) return -1;
  char *slash = strrchr(folder, '/');
  slash[slash == folder] = '\0';
  int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  free(folder);
  return descriptor;
}

// Makes a name in the target's folder that is within the length limit.
static void name_beside(const char *target, int attempt, char *beside) {
  const int folder = (int)(strrchr(target, '/') - target) + 1;
  snprintf(beside, (size_t)folder + BESIDE_BYTES, "%.*s.ufp4-%ld-%d.tmp", folder, target,
           (long)getpid(), attempt);
}

char *file_beside(const char *target) {
  char *beside = malloc(strlen(target) + BESIDE_BYTES);
  for (int i = 0; beside != NULL && i < 100; i++) {
    name_beside(target, i, beside);
    if (access(beside, F_OK) != 0) break;
  }
  return beside;
}

// Opens a file under an unused name. Signals are blocked until it is renamed or removed, so that no
// such file is left behind.
static int open_named(file_out_t *out) {
  sigset_t all;
  int descriptor = -1;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &out->signals);
  out->waiting = 1;
  for (int i = 0; i < 100 && descriptor < 0; i++) {
    name_beside(out->target, i, out->beside);
    descriptor = open(out->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  out->named = descriptor >= 0;
  return descriptor;
}

// Gives the file the mode of the file that it replaces, if there is one.
static void keep_mode(const file_out_t *out, int descriptor) {
  struct stat about;
  if (stat(out->target, &about) == 0) (void)fchmod(descriptor, about.st_mode & 0777);
}

static void forget(file_out_t *out) {
  if (out->waiting) pthread_sigmask(SIG_SETMASK, &out->signals, NULL);
  free(out->path);
  free(out->target);
  free(out->beside);
  *out = (file_out_t){0};
}

ufp4_status_t file_out_open(const char *path, file_out_t *out, ufp4_message_t *message) {
  *out = (file_out_t){0};
  ufp4_status_t status = file_target(path, &out->target, message);
  if (status != UFP4_OK) return status;
  out->path = strdup(path);
  out->beside = malloc(strlen(out->target) + BESIDE_BYTES);
  if (out->path == NULL || out->beside == NULL) {
    forget(out);
    return fail_memory(path, message);
  }
  int descriptor = open_nameless(out->target);
  if (descriptor < 0) descriptor = open_named(out);
  out->stream = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
  if (out->stream != NULL) {
    keep_mode(out, descriptor);
    return UFP4_OK;
  }
  status = file_fail(path, "create", message);
  if (descriptor >= 0) close(descriptor);
  if (out->named) unlink(out->beside);
  forget(out);
  return status;
}

// Gives a nameless file an unused name beside the target.
static int name_it(file_out_t *out) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(out->stream));
  for (int i = 0; i < 100 && !out->named; i++) {
    name_beside(out->target, i, out->beside);
    out->named = linkat(AT_FDCWD, self, AT_FDCWD, out->beside, AT_SYMLINK_FOLLOW) == 0;
    if (!out->named && errno != EEXIST) return 0;
  }
  return out->named;
}

// The errno of an earlier failed write is lost.
static int flush(FILE *stream) {
  if (!ferror(stream)) return fflush(stream) == 0;
  if (file_status(errno) != UFP4_ERROR_STORAGE) errno = EIO;
  return 0;
}

ufp4_status_t file_out_flush(file_out_t *out, ufp4_message_t *message) {
  return flush(out->stream) ? UFP4_OK : file_fail(out->path, "write", message);
}

void file_out_discard(file_out_t *out) {
  if (out->stream == NULL) return;
  fclose(out->stream);
  if (out->named) unlink(out->beside);
  forget(out);
}

ufp4_status_t file_out_close(file_out_t *out, ufp4_message_t *message) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int good = flush(out->stream) && name_it(out), error = errno;
  if (fclose(out->stream) != 0 && good) {
    good = 0;
    error = errno;
  }
  if (good && rename(out->beside, out->target) != 0) {
    good = 0;
    error = errno;
  }
  if (!good && out->named) unlink(out->beside);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  ufp4_status_t status = good ? UFP4_OK : file_fail(out->path, "write", message);
  forget(out);
  return status;
}

ufp4_status_t file_write_by(const char *path, file_put_t put, const void *context,
                            ufp4_message_t *message) {
  file_out_t out;
  ufp4_status_t status = file_out_open(path, &out, message);
  if (status != UFP4_OK) return status;
  errno = 0;
  put(context, out.stream);
  return file_out_close(&out, message);
}

typedef struct {
  const file_part_t *parts;
  int count;
} parts_t;

static void put_parts(const void *context, FILE *stream) {
  const parts_t *all = context;
  for (int i = 0; i < all->count && !ferror(stream); i++)
    fwrite(all->parts[i].data, 1, all->parts[i].size, stream);
}

ufp4_status_t file_write(const char *path, const file_part_t *parts, int count,
                         ufp4_message_t *message) {
  return file_write_by(path, put_parts, &(parts_t){parts, count}, message);
}
