// SPDX-License-Identifier: Apache-2.0
#include "operand_shared.h"

int operand_signs_clear(ufp4_operand_t *operand) {
  if (operand->elem == UFP4_ELEM_MIXED) return 1;  // they are grids
  for (int64_t i = 0; i < operand->rows * operand->scale_blocks; i++) {
    const uint8_t magnitude = operand->scales[i] & 0x7F;
    if (operand->scales[i] != magnitude && magnitude != 0 && magnitude != 0x7F) return 0;
    operand->scales[i] = magnitude;
  }
  return 1;
}

void operand_not_created(const char *path, int64_t rows, int64_t cols, ufp4_status_t status,
                         ufp4_message_t *message) {
  const int64_t side = rows > UFP4_MAX_DIM ? rows : cols;
  if (side > UFP4_MAX_DIM) {
    ufp4_message_set(message, "%s: it has %lld %s; at most %d are possible", path, (long long)side,
                     side == rows ? "rows" : "columns", UFP4_MAX_DIM);
  } else {
    ufp4_message_set(message, "%s: %lld x %lld: %s", path, (long long)rows, (long long)cols,
                     ufp4_status_string(status));
  }
}
