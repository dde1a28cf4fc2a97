// SPDX-License-Identifier: Apache-2.0
// How several cores share a GEMM.
#ifndef UFP4_CLI_SPLIT_H
#define UFP4_CLI_SPLIT_H

#include "ufp4.h"

enum { SPLIT_MAX_CORES = 64 };

/** Some of the rows or columns of D. */
typedef struct {
  uint32_t first, count;
} split_part_t;

/** Parts of about the same size, for a core each, of @p all rows of D, or with @p columns of its
 * columns: whole groups of rows, as panels have them; of columns as many as have UFP4_ALIGN_BYTES,
 * where D may begin. Never along k, whose sums are one core's. @return how many */
int split_gemm(int columns, uint32_t all, ufp4_dtype_t d_dtype, int cores,
               split_part_t parts[SPLIT_MAX_CORES]);

#endif
