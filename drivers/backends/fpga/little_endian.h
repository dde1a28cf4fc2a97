// SPDX-License-Identifier: Apache-2.0
// Little-endian numbers in the board link's frames.
#ifndef UFP4_LITTLE_ENDIAN_H
#define UFP4_LITTLE_ENDIAN_H

#include <stdint.h>

static inline void put16(uint8_t *target, unsigned value) {
  target[0] = (uint8_t)value;
  target[1] = (uint8_t)(value >> 8);
}

static inline void put32(uint8_t *target, uint32_t value) {
  put16(target, value & 0xFFFF);
  put16(target + 2, value >> 16);
}

static inline uint32_t get16(const uint8_t *from) {
  return from[0] | (uint32_t)from[1] << 8;
}

static inline uint32_t get32(const uint8_t *from) {
  return get16(from) | get16(from + 2) << 16;
}

#endif
