// SPDX-License-Identifier: Apache-2.0
#include "ufp4/rht.h"

#include "internal.h"

INLINE lanes_t largest_exponent(const ulanes_t bits[BLOCK]) {
  lanes_t largest = exponent_lanes(bits[0]);
  for (unsigned i = 1; i < BLOCK; i++) largest = max_lanes(largest, exponent_lanes(bits[i]));
  return largest;
}

// Significands of element i, aligned to the block's largest exponent and truncated, with the sign that the mask leaves.
INLINE void align(ulanes_t bits, lanes_t largest, uint32_t flip, lanes_t *out) {
  lanes_t shift = min_lanes(largest - exponent_lanes(bits), all_lanes(31));
  lanes_t negative = (lanes_t)(bits ^ flip) >> 31;
  *out = ((significand_lanes(bits) >> shift) ^ negative) - negative;
}

INLINE void butterfly(lanes_t *a, lanes_t *b) {
  lanes_t sum = *a + *b;
  *b = *a - *b;
  *a = sum;
}

HOT void ufp4_rht_tile(const ulanes_t bits[BLOCK], uint16_t mask, lanes_t out[BLOCK], lanes_t *exponent) {
  lanes_t largest = largest_exponent(bits);
  for (unsigned i = 0; i < BLOCK; i++) align(bits[i], largest, (uint32_t)(mask >> i & 1) << 31, &out[i]);
  for (unsigned half = 1; half < BLOCK; half *= 2) {
    for (unsigned i = 0; i < BLOCK; i++) {
      if ((i & half) == 0) butterfly(&out[i], &out[i + half]);
    }
  }
  *exponent = largest & (largest != 255);
}

int ufp4_rht_block(const uint32_t bits[16], uint16_t mask, int32_t out[16]) {
  ulanes_t tile[BLOCK] = {{0}};
  lanes_t transformed[BLOCK];
  lanes_t exponent;
  for (unsigned i = 0; i < BLOCK; i++) tile[i][0] = bits[i];
  ufp4_rht_tile(tile, mask, transformed, &exponent);
  if (exponent[0] == 0) return 0;
  for (unsigned i = 0; i < BLOCK; i++) out[i] = transformed[i][0];
  return exponent[0];
}
