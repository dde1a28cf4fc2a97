// SPDX-License-Identifier: Apache-2.0
// A view of a plain row-major matrix in host memory.
#ifndef UFP4_MATRIX_H
#define UFP4_MATRIX_H

#include <stdint.h>

#include "ufp4/spec.h"

/** Element (r, c) is data[r * ld + c], of type float (UFP4_DTYPE_F32), uint16_t (UFP4_DTYPE_BF16) or int64_t
 *  (UFP4_DTYPE_I64). ld >= cols, in elements. */
typedef struct {
  ufp4_dtype_t dtype;
  int64_t rows;
  int64_t cols;
  int64_t ld;
  const void *data;
} ufp4_matrix_t;

#endif
