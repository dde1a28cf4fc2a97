// SPDX-License-Identifier: Apache-2.0
// Plain tensors: FILE.npy or FILE.safetensors:NAME.
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"
#include "ufp4_file.h"

#define SUFFIX ".safetensors"

static ufp4_status_t read_safetensors(const char *path, size_t file_length, ufp4_tensor_t *out,
                                      ufp4_message_t *message) {
  char *file_path = strndup(path, file_length);
  if (file_path == NULL) {
    ufp4_message_set(message, "%s: the host is out of memory", path);
    return UFP4_ERROR_MEMORY;
  }
  const char *name = path[file_length] == ':' ? path + file_length + 1 : "";
  safetensors_t file;
  file_tensor_t found;
  ufp4_status_t status = safetensors_open(file_path, &file, message);
  if (status == UFP4_OK) {
    status = safetensors_find(&file, name, &found, message);
    if (status == UFP4_OK) status = file_tensor_convert(&found, path, out, message);
    safetensors_close(&file);
  }
  free(file_path);
  return status;
}

// Returns the length of the file name in FILE.safetensors[:NAME]; 0 for other paths.
static size_t safetensors_length(const char *path) {
  const char *found = strstr(path, SUFFIX ":");
  if (found != NULL) return (size_t)(found - path) + strlen(SUFFIX);
  size_t length = strlen(path), suffix = strlen(SUFFIX);
  return length > suffix && strcmp(path + length - suffix, SUFFIX) == 0 ? length : 0;
}

ufp4_status_t ufp4_file_read(const char *path, int uint16_is_bf16, ufp4_tensor_t *out,
                             ufp4_message_t *message) {
  *out = (ufp4_tensor_t){0};
  size_t file_length = safetensors_length(path);
  return file_length != 0 ? read_safetensors(path, file_length, out, message)
                          : ufp4_tensor_read(path, uint16_is_bf16, out, message);
}
