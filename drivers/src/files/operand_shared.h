// SPDX-License-Identifier: Apache-2.0
// Functions shared by the readers and the writer of quantized operands.
#ifndef UFP4_OPERAND_SHARED_H
#define UFP4_OPERAND_SHARED_H

#include "ufp4/quantize.h"

/** Returns the columns stored in a file; after RHT these include the padding, which holds data. */
static inline int64_t operand_stored_cols(int64_t cols, int rht) {
  return rht ? (cols + 15) / 16 * 16 : cols;
}

/** Clears the sign of NaN and -0 in another producer's E4M3 scales. @return 0 if any other scale
 * is negative. */
int operand_signs_clear(ufp4_operand_t *operand);
/** Reports why ufp4_operand_create_scaled refused @p rows x @p cols. */
void operand_not_created(const char *path, int64_t rows, int64_t cols, ufp4_status_t status,
                         ufp4_message_t *message);

#endif
