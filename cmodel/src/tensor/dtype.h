// SPDX-License-Identifier: Apache-2.0
// Element types of files, which are little-endian.
#ifndef UFP4_FILE_DTYPE_H
#define UFP4_FILE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

/** Element types of files. */
typedef enum { FILE_F32, FILE_F64, FILE_F16, FILE_BF16, FILE_I64 } file_dtype_t;
size_t file_dtype_bytes(file_dtype_t dtype);

/** Computes the bytes of a row-major tensor of rows x cols. @return 0, and *bytes unchanged, if it
 * is empty or has more bytes than any tensor can have (2^46). */
int file_tensor_bytes(file_dtype_t dtype, int64_t rows, int64_t cols, uint64_t *bytes);

/** Converts an element between the little-endian order of files and the host's, in either
 * direction; uses @p swapped if they differ. */
#define HOST_IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
const uint8_t *file_host_order(const uint8_t *place, size_t size, uint8_t swapped[8]);

#endif
