// SPDX-License-Identifier: Apache-2.0
// Plain tensors in .npy files.
#include <stdlib.h>

#include "tensor/npy.h"

void ufp4_tensor_free(ufp4_tensor_t *tensor) {
  free(tensor->data);
  *tensor = (ufp4_tensor_t){0};
}

// Reads all of a .npy file. Only the beginning of any other file is read, because it may be larger
// than the memory.
static ufp4_status_t read_npy_bytes(const file_ranges_t *file, file_bytes_t *out,
                                    ufp4_message_t *message) {
  uint8_t first[NPY_MAGIC_BYTES] = {0};
  uint64_t size = file->size;
  if (file->size >= sizeof first) {
    ufp4_status_t status = file_range_read(file, 0, sizeof first, first, message);
    if (status != UFP4_OK) return status;
    if (!npy_begins(first)) size = sizeof first;
  }
  out->size = (size_t)size;
  out->data = size < SIZE_MAX ? malloc(out->size + 1) : NULL;
  if (out->data != NULL) return file_range_read(file, 0, out->size, out->data, message);
  ufp4_message_set(message, "%s: does not fit in memory", file->path);
  return UFP4_ERROR_MEMORY;
}

ufp4_status_t ufp4_tensor_read(const char *path, int uint16_is_bf16, ufp4_tensor_t *out,
                               ufp4_message_t *message) {
  *out = (ufp4_tensor_t){0};
  file_ranges_t file;
  file_bytes_t bytes = {0};
  file_tensor_t found;
  ufp4_status_t status = file_ranges_open(path, &file, message);
  if (status != UFP4_OK) return status;
  status = read_npy_bytes(&file, &bytes, message);
  file_ranges_close(&file);
  if (status == UFP4_OK) status = npy_parse(path, &bytes, uint16_is_bf16, &found, message);
  if (status == UFP4_OK) status = file_tensor_convert(&found, path, out, message);
  free(bytes.data);
  return status;
}
