// SPDX-License-Identifier: Apache-2.0
// A view of a plain row-major matrix in host memory.
#ifndef UFP4_MATRIX_H
#define UFP4_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Element (r, c) is data[r * ld + c], of type float (UFP4_DTYPE_F32), uint16_t (UFP4_DTYPE_BF16)
 * or int64_t (UFP4_DTYPE_I64). ld >= cols, in elements. */
typedef struct {
  ufp4_dtype_t dtype;
  int64_t rows;
  int64_t cols;
  int64_t ld;
  const void *data;
} ufp4_matrix_t;

/** More bytes than any allocation can have; a few more can be added without overflow. */
#define UFP4_TOO_MANY_BYTES ((size_t)PTRDIFF_MAX + 1)

/** Returns rows * cols * element_bytes, or UFP4_TOO_MANY_BYTES if the address space cannot hold as
 * many. */
size_t ufp4_matrix_bytes(int64_t rows, int64_t cols, size_t element_bytes);

#ifdef __cplusplus
}
#endif

#endif
