// SPDX-License-Identifier: Apache-2.0
#include "run/quantize_fit.h"

#include <inttypes.h>
#include <stdio.h>

// The scale of a block of zeros is 0, and no other one is.
void quantize_print_fit(const ufp4_operand_t *q) {
  enum { LARGEST = 0x7E };
  const uint8_t magnitude = q->elem == UFP4_ELEM_INT4 ? 0xFF : 0x77;
  const int64_t count = q->rows * q->scale_blocks, bytes = q->rows * q->blocks * 8;
  int64_t largest = 0, numbers = 0, first = 0;
  for (int64_t i = 0; i < count; i++) {
    const int scale = q->scales[i] & 0x7F;
    largest += scale == LARGEST;
    numbers |= scale > 0 && scale <= LARGEST;
  }
  while (first < bytes && (q->codes[first] & magnitude) == 0) first++;
  if (q->flags & UFP4_FLAG_ROW_SATURATED)
    fprintf(stderr,
            "ufp4 quantize: --tensor-exponent %d is too large: %" PRId64 " of %" PRId64
            " scales are 448, which is the largest\n",
            q->exponent, largest, count);
  if (numbers && first == bytes)
    fprintf(stderr, "ufp4 quantize: --tensor-exponent %d is too small: every code is 0\n",
            q->exponent);
}
