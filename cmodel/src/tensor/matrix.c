// SPDX-License-Identifier: Apache-2.0
#include "ufp4/matrix.h"

size_t ufp4_matrix_bytes(int64_t rows, int64_t cols, size_t element_bytes) {
  int64_t bytes;
  if (rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)element_bytes, &bytes) || bytes > PTRDIFF_MAX) {
    return UFP4_TOO_MANY_BYTES;
  }
  return (size_t)bytes;
}
