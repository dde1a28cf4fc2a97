// SPDX-License-Identifier: Apache-2.0
// Access to single codes and scales of an operand.
#ifndef UFP4_TEST_ELEMENT_H
#define UFP4_TEST_ELEMENT_H

#include <string.h>

#include "ufp4/quantize.h"

/** Returns code k of a row of a packed operand. */
static inline uint8_t fixture_code(const ufp4_operand_t *operand, int64_t row, int64_t k) {
  const uint8_t byte = operand->codes[row * operand->blocks * 8 + k / 2];
  return k % 2 == 0 ? byte & 15 : byte >> 4;
}

/** Returns scale i of an operand, a byte or an FP32 pattern. */
static inline uint32_t fixture_scale(const ufp4_operand_t *operand, int64_t i) {
  uint32_t bits;
  if (operand->scale != UFP4_SCALE_FP32) return operand->scales[i];
  memcpy(&bits, &operand->scales_f32[i], sizeof bits);
  return bits;
}

static inline void fixture_set_scale(ufp4_operand_t *operand, int64_t i, uint32_t bits) {
  if (operand->scale == UFP4_SCALE_FP32) {
    memcpy(&operand->scales_f32[i], &bits, sizeof bits);
  } else {
    operand->scales[i] = (uint8_t)bits;
  }
}

#endif
