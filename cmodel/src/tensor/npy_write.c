// SPDX-License-Identifier: Apache-2.0
// Writing a .npy.
#include <stdio.h>
#include <string.h>

#include "tensor/npy.h"

// Makes the version 1.0 header, padded so that the data starts at a multiple of 64.
static size_t npy_header(const char *descr, int64_t rows, int64_t cols, char out[192]) {
  static const size_t fixed = 10;
  int length = snprintf(out + fixed, 192 - fixed,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }", descr,
                        (long long)rows, (long long)cols);
  size_t total = (fixed + (size_t)length + 1 + 63) / 64 * 64;
  memset(out + fixed + length, ' ', total - fixed - (size_t)length);
  out[total - 1] = '\n';
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)((total - fixed) & 255);
  out[9] = (char)((total - fixed) >> 8);
  return total;
}

// Files are little-endian on every host.
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
  } types[] = {
      [UFP4_DTYPE_F32] = {"<f4", 4}, [UFP4_DTYPE_BF16] = {"<u2", 2}, [UFP4_DTYPE_I64] = {"<i8", 8}};
  const size_t element = types[matrix->dtype].bytes;
  char header[192];
  fwrite(header, 1, npy_header(types[matrix->dtype].descr, matrix->rows, matrix->cols, header),
         stream);
  for (int64_t r = 0; r < matrix->rows && !ferror(stream); r++) {
    put_elements((const uint8_t *)matrix->data + (size_t)(r * matrix->ld) * element, element,
                 matrix->cols, stream);
  }
}

static void put_matrix(const void *matrix, FILE *stream) {
  tensor_put(matrix, stream);
}

ufp4_status_t ufp4_tensor_write(const char *path, const ufp4_matrix_t *matrix,
                                ufp4_message_t *message) {
  return file_write_by(path, put_matrix, matrix, message);
}

ufp4_status_t ufp4_tensor_write_u8(const char *path, const uint8_t *data, int64_t rows,
                                   int64_t cols, ufp4_message_t *message) {
  char header[192];
  const file_part_t parts[2] = {{header, npy_header("|u1", rows, cols, header)},
                                {data, (size_t)(rows * cols)}};
  return file_write(path, parts, 2, message);
}
