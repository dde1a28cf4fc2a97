// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "train/model/weights.h"

#define PATH_SIZE 1024

static const char *const tensors[] = {"X", "W", "dY"};

// The folder of the tensors until all have been written.
#define UNTIL_WHOLE "/.ufp4-capture"

// Makes the path of a captured tensor. @return 0 if it is too long.
static int name_file(const char *folder, const char *below, int64_t layer, const char *tensor,
                     char path[PATH_SIZE]) {
  int length = snprintf(path, PATH_SIZE, "%s%s/layer%lld.%s.%s.npy", folder, below,
                        (long long)(layer / UFP4_MATRIX_COUNT),
                        ufp4_matrix_name((unsigned)layer % UFP4_MATRIX_COUNT), tensor);
  return length > 0 && length < PATH_SIZE;
}

static ufp4_status_t fail_name(ufp4_message_t *message) {
  ufp4_message_set(message, "the name of the folder for tensors is too long");
  return UFP4_ERROR_ARGUMENT;
}

// The folders are made when there is something to write.
static ufp4_status_t save(ufp4_capture_t *capture, unsigned layer, const char *name,
                          const ufp4_matrix_t *tensor) {
  char path[PATH_SIZE];
  if (!name_file(capture->folder, UNTIL_WHOLE, layer, name, path))
    return fail_name(&capture->message);
  char *slash = strrchr(path, '/');
  *slash = '\0';
  (void)mkdir(capture->folder, 0777);
  (void)mkdir(path, 0777);
  *slash = '/';
  return ufp4_tensor_write(path, tensor, &capture->message);
}

// DGRAD has W and dY, WGRAD has X, so each tensor is written once.
static ufp4_status_t on_gemm(void *context, const ufp4_layer_event_t *event) {
  ufp4_capture_t *capture = context;
  if (event->pass == UFP4_PASS_WGRAD) return save(capture, event->layer, tensors[0], &event->x);
  if (event->pass != UFP4_PASS_DGRAD) return UFP4_OK;
  ufp4_status_t status = save(capture, event->layer, tensors[1], &event->w);
  return status ? status : save(capture, event->layer, tensors[2], &event->dy);
}

ufp4_layer_hook_t ufp4_capture_hook(ufp4_capture_t *capture) {
  return (ufp4_layer_hook_t){on_gemm, capture};
}

// Returns whether name_file could have made a file's name, for a block from @p first on.
static int is_capture(const char *name, int64_t first) {
  char matrix[8], tensor[4], path[PATH_SIZE];
  long long block;
  if (sscanf(name, "layer%lld.%7[a-z0-9].%3[XWdY].npy", &block, matrix, tensor) != 3 ||
      block < first)
    return 0;
  snprintf(path, sizeof path, "layer%lld.%s.%s.npy", block, matrix, tensor);
  int known = 0;
  for (unsigned i = 0; i < UFP4_MATRIX_COUNT; i++)
    known |= strcmp(matrix, ufp4_matrix_name(i)) == 0;
  return known && strcmp(path, name) == 0;
}

void ufp4_capture_clean(const char *folder, int64_t blocks) {
  DIR *directory = opendir(folder);
  if (directory == NULL) return;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (is_capture(entry->d_name, blocks)) unlinkat(dirfd(directory), entry->d_name, 0);
  }
  closedir(directory);
}

static void remove_folders(const char *folder) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s" UNTIL_WHOLE, folder);
  rmdir(path);
  rmdir(folder);  // only if it is empty
}

ufp4_status_t ufp4_capture_check(const char *folder, int64_t blocks, ufp4_message_t *message) {
  char path[PATH_SIZE], *target;
  for (int64_t i = 0; i < blocks * UFP4_MATRIX_COUNT * 3; i++) {
    if (!name_file(folder, "", i / 3, tensors[i % 3], path)) return fail_name(message);
    if (access(folder, F_OK) != 0) return UFP4_OK;
    ufp4_status_t status = file_target(path, &target, message);
    if (status != UFP4_OK) return status;
    free(target);
  }
  return UFP4_OK;
}

// Moves one tensor to its final name.
static ufp4_status_t commit(const char *folder, int64_t layer, const char *tensor,
                            ufp4_message_t *message) {
  char from[PATH_SIZE], to[PATH_SIZE], *target;
  if (!name_file(folder, UNTIL_WHOLE, layer, tensor, from) ||
      !name_file(folder, "", layer, tensor, to)) {
    return fail_name(message);
  }
  ufp4_status_t status = file_target(to, &target, message);
  if (status != UFP4_OK) return status;
  if (rename(from, target) != 0) status = file_fail(to, "write", message);
  free(target);
  return status;
}

ufp4_status_t ufp4_capture_commit(const char *folder, int64_t blocks, ufp4_message_t *message) {
  ufp4_status_t status = ufp4_capture_check(folder, blocks, message);
  for (int64_t i = 0; i < blocks * UFP4_MATRIX_COUNT * 3 && status == UFP4_OK; i++) {
    status = commit(folder, i / 3, tensors[i % 3], message);
  }
  if (status == UFP4_OK) remove_folders(folder);
  return status;
}

void ufp4_capture_discard(const char *folder, int64_t blocks) {
  char path[PATH_SIZE];
  for (int64_t i = 0; i < blocks * UFP4_MATRIX_COUNT * 3; i++) {
    if (name_file(folder, UNTIL_WHOLE, i / 3, tensors[i % 3], path)) unlink(path);
  }
  remove_folders(folder);
}
