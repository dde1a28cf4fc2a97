// SPDX-License-Identifier: Apache-2.0
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

// Read access suffices for a lock, so a file that another user created can be used. The second open
// uses O_CREAT with O_EXCL, because kernels refuse O_CREAT for another user's file in a sticky
// folder such as /tmp.
static int open_lock(const char *path) {
  for (;;) {
    const int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int file = open(path, O_RDONLY | flags);
    if (file >= 0 || errno != ENOENT) return file;
    file = open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0644);
    if (file >= 0) (void)fchmod(file, 0644);  // regardless of the umask
    if (file >= 0 || errno != EEXIST) return file;
  }
}

ufp4_status_t lock_core(uint64_t address, ufp4_message_t *message, int *file) {
  static const char *const folders[] = {"/run/lock", "/tmp"};
  char path[64];
  *file = -1;
  for (int i = 0; i < 2 && *file < 0; i++) {
    snprintf(path, sizeof path, "%s/ufp4-%llx.lock", folders[i], (unsigned long long)address);
    *file = open_lock(path);
    if (*file < 0 && errno != ENOENT) break;
  }
  if (*file < 0) {
    ufp4_message_set(message,
                     "mmio: cannot open %s, which keeps a second program off the core: %s "
                     "(docs/howto/mmio.md, \"One program at a time\")",
                     path, strerror(errno));
    return UFP4_ERROR_DEVICE;
  }
  if (flock(*file, LOCK_EX | LOCK_NB) == 0) return UFP4_OK;
  ufp4_message_set(message,
                   "mmio: the core at 0x%llx is in use by another program: %s is locked%s%s",
                   (unsigned long long)address, path, errno == EWOULDBLOCK ? "" : ": ",
                   errno == EWOULDBLOCK ? "" : strerror(errno));
  return UFP4_ERROR_DEVICE;
}
