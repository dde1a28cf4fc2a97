// SPDX-License-Identifier: Apache-2.0
// The readers and the writer of quantized operands share this.
#ifndef UFP4_OPERAND_SHARED_H
#define UFP4_OPERAND_SHARED_H

#include "ufp4/quantize.h"

/** Columns that a file holds: with RHT the padding is real data. */
static inline int64_t operand_stored_cols(int64_t cols, int rht) {
  return rht ? (cols + 15) / 16 * 16 : cols;
}

/** Scales of others in E4M3 with a sign: NaN and -0 lose it. @return 0 if any other is negative. */
int operand_signs_clear(ufp4_operand_t *operand);
/** Says why ufp4_operand_create_scaled refused @p rows x @p cols. */
void operand_not_created(const char *path, int64_t rows, int64_t cols, ufp4_status_t status,
                         ufp4_message_t *message);

#endif
