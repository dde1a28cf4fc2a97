// SPDX-License-Identifier: Apache-2.0
// Plain tensors in .npy files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_file.h"

void ufp4_tensor_free(ufp4_tensor_t *tensor) {
  free(tensor->data);
  *tensor = (ufp4_tensor_t){0};
}

// --- Reading -------------------------------------------------------------------------------------------

// All of the file, but of one that is no .npy, which may be larger than the memory, its beginning only.
static ufp4_status_t read_npy_bytes(const file_ranges_t *file, file_bytes_t *out, ufp4_message_t *message) {
  uint8_t first[NPY_MAGIC_BYTES] = {0};
  out->size = ufp4_matrix_bytes((int64_t)file->size, 1, 1);
  if (file->size >= sizeof first) {
    ufp4_status_t status = file_range_read(file, 0, sizeof first, first, message);
    if (status != UFP4_OK) return status;
    if (!npy_begins(first)) out->size = sizeof first;
  }
  out->data = malloc(out->size + 1);
  if (out->data != NULL) return file_range_read(file, 0, out->size, out->data, message);
  ufp4_message_set(message, "%s: does not fit in memory", file->path);
  return UFP4_ERROR_MEMORY;
}

ufp4_status_t ufp4_tensor_read(const char *path, int uint16_is_bf16, ufp4_tensor_t *out, ufp4_message_t *message) {
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

// --- Writing -------------------------------------------------------------------------------------------

// The version 1.0 header, padded so that the data starts on a multiple of 64.
static size_t npy_header(const char *descr, int64_t rows, int64_t cols, char out[192]) {
  static const size_t fixed = 10;
  int length = snprintf(out + fixed, 192 - fixed, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }",
                        descr, (long long)rows, (long long)cols);
  size_t total = (fixed + (size_t)length + 1 + 63) / 64 * 64;
  memset(out + fixed + length, ' ', total - fixed - (size_t)length);
  out[total - 1] = '\n';
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)((total - fixed) & 255);
  out[9] = (char)((total - fixed) >> 8);
  return total;
}

// Little-endian, whatever the host is.
static void put_elements(const uint8_t *from, size_t element, int64_t count, FILE *stream) {
  if (HOST_IS_LITTLE) {
    fwrite(from, element, (size_t)count, stream);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    uint8_t swapped[8];
    fwrite(file_host_order(from + (size_t)i * element, element, swapped), element, 1, stream);
  }
}

void tensor_put(const ufp4_matrix_t *matrix, FILE *stream) {
  static const struct {
    const char *descr;
    size_t bytes;
  } types[] = {[UFP4_DTYPE_F32] = {"<f4", 4}, [UFP4_DTYPE_BF16] = {"<u2", 2}, [UFP4_DTYPE_I64] = {"<i8", 8}};
  const size_t element = types[matrix->dtype].bytes;
  char header[192];
  fwrite(header, 1, npy_header(types[matrix->dtype].descr, matrix->rows, matrix->cols, header), stream);
  for (int64_t r = 0; r < matrix->rows && !ferror(stream); r++) {
    put_elements((const uint8_t *)matrix->data + (size_t)(r * matrix->ld) * element, element, matrix->cols, stream);
  }
}

static void put_matrix(const void *matrix, FILE *stream) {
  tensor_put(matrix, stream);
}

ufp4_status_t ufp4_tensor_write(const char *path, const ufp4_matrix_t *matrix, ufp4_message_t *message) {
  return file_write_by(path, put_matrix, matrix, message);
}

ufp4_status_t ufp4_tensor_write_u8(const char *path, const uint8_t *data, int64_t rows, int64_t cols,
                                   ufp4_message_t *message) {
  char header[192];
  const file_part_t parts[2] = {{header, npy_header("|u1", rows, cols, header)}, {data, (size_t)(rows * cols)}};
  return file_write(path, parts, 2, message);
}
