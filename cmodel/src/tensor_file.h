// SPDX-License-Identifier: Apache-2.0
// What the readers of tensor files share.
#ifndef UFP4_TENSOR_FILE_H
#define UFP4_TENSOR_FILE_H

#include "file.h"
#include "ufp4/tensor.h"

/** Element types of files. */
typedef enum { FILE_F32, FILE_F64, FILE_F16, FILE_BF16, FILE_I64 } file_dtype_t;
size_t file_dtype_bytes(file_dtype_t dtype);

/** A 2-D tensor inside a file that was read: element (r, c) is element r * row_step + c * col_step, unaligned. */
typedef struct {
  file_dtype_t dtype;
  int64_t rows, cols;
  int64_t row_step, col_step;
  const uint8_t *data;
} file_tensor_t;

/** A row-major tensor of rows x cols; 0 if that is empty or has more bytes than there could be. */
int file_tensor_bytes(file_dtype_t dtype, int64_t rows, int64_t cols, uint64_t *bytes);

/** Files are little-endian: an element of one as the host has it, or the other way round; in @p swapped where that
 *  differs. */
#define HOST_IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
const uint8_t *file_host_order(const uint8_t *at, size_t size, uint8_t swapped[8]);

/** A new tensor of F32, BF16 or I64 with the elements of @p in; messages name @p path. */
ufp4_status_t file_tensor_convert(const file_tensor_t *in, const char *path, ufp4_tensor_t *out,
                                  ufp4_message_t *message);

/** Writes a .npy: float32, uint16 (BF16) or int64. */
void tensor_put(const ufp4_matrix_t *matrix, FILE *stream);

/** Whether these are the first bytes of a .npy. */
#define NPY_MAGIC_BYTES 6
int npy_begins(const uint8_t first[NPY_MAGIC_BYTES]);
/** Finds the tensor in the bytes of a .npy. */
ufp4_status_t npy_parse(const char *path, const file_bytes_t *file, int uint16_is_bf16, file_tensor_t *out,
                        ufp4_message_t *message);

#endif
