// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#define MAX_TENSOR_BYTES ((uint64_t)1 << 46)

size_t file_dtype_bytes(file_dtype_t dtype) {
  static const uint8_t bytes[] = {
      [FILE_F32] = 4, [FILE_F64] = 8, [FILE_F16] = 2, [FILE_BF16] = 2, [FILE_I64] = 8};
  return bytes[dtype];
}

int file_tensor_bytes(file_dtype_t dtype, int64_t rows, int64_t cols, uint64_t *bytes) {
  if (rows < 1 || cols < 1) return 0;
  uint64_t limit = MAX_TENSOR_BYTES / file_dtype_bytes(dtype);
  if ((uint64_t)rows > limit || (uint64_t)cols > limit / (uint64_t)rows) return 0;
  *bytes = (uint64_t)rows * (uint64_t)cols * file_dtype_bytes(dtype);
  return 1;
}

const uint8_t *file_host_order(const uint8_t *place, size_t size, uint8_t swapped[8]) {
  if (HOST_IS_LITTLE) return place;
  for (size_t i = 0; i < size; i++) swapped[i] = place[size - 1 - i];
  return swapped;
}
