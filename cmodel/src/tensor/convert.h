// SPDX-License-Identifier: Apache-2.0
// Converts the elements of a tensor that a reader has located in a file.
#ifndef UFP4_TENSOR_CONVERT_H
#define UFP4_TENSOR_CONVERT_H

#include "tensor/dtype.h"
#include "ufp4/tensor.h"

/** A 2-D tensor within the bytes of a file: element (r, c) is element r * row_step + c * col_step,
 * unaligned. */
typedef struct {
  file_dtype_t dtype;
  int64_t rows, cols;
  int64_t row_step, col_step;
  const uint8_t *data;
} file_tensor_t;

/** Makes a tensor of F32, BF16 or I64 with the elements of @p in; messages name @p path. */
ufp4_status_t file_tensor_convert(const file_tensor_t *in, const char *path, ufp4_tensor_t *out,
                                  ufp4_message_t *message);

#endif
