// SPDX-License-Identifier: Apache-2.0
// How several cores share a GEMM.
#ifndef UFP4_CLI_SPLIT_H
#define UFP4_CLI_SPLIT_H

#include "ufp4.h"

enum { SPLIT_MAX_CORES = 64 };

/** A range of the rows or columns of D. */
typedef struct {
  uint32_t first, count;
} split_part_t;

/** Splits @p all rows of D, or with @p columns its columns, into parts of about the same size, one
 * per core. Rows are split in whole groups, as panels have them, and columns in multiples of
 * UFP4_ALIGN_BYTES, where D may begin. k is never split, because each sum belongs to one core.
 * @return the number of parts */
int split_gemm(int columns, uint32_t all, ufp4_dtype_t d_dtype, int cores,
               split_part_t parts[SPLIT_MAX_CORES]);

#endif
