// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *files_path(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "files-%ld-%s", (long)getpid(), name);
  return path;
}

const char *files_write(const char *name, const void *bytes, size_t size) {
  const char *path = files_path(name);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) abort();
  return path;
}

void files_remove(const char *name) {
  unlink(files_path(name));
}

void files_check_status(int64_t index, ufp4_status_t got, ufp4_status_t want,
                        const ufp4_message_t *message) {
  check_bits(index, got, want, "status (%s)", message->text);
  if (want == UFP4_OK) return;
  check_that(index,
             strncmp(message->text, "files-", 6) == 0 || strstr(message->text, "files-") != NULL,
             "message '%s' does not name the file", message->text);
  check_that(index, strchr(message->text, '\n') == NULL, "message '%s' is not one line",
             message->text);
}
