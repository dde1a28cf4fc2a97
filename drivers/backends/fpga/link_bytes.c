// SPDX-License-Identifier: Apache-2.0
#include "link_bytes.h"

#include <string.h>

#include "little_endian.h"

size_t link_escape(uint8_t *to, const uint8_t *from, size_t bytes) {
  const uint8_t *const begin = to;
  for (size_t i = 0; i < bytes; i++) {
    if (from[i] == END || from[i] == ESC) {
      *to++ = ESC;
      *to++ = from[i] == END ? ESC_END : ESC_ESC;
    } else {
      *to++ = from[i];
    }
  }
  return (size_t)(to - begin);
}

unsigned link_read_identity(const uint8_t from[LINK_IDENTITY_BYTES], link_identity_t *identity) {
  const unsigned flags = get16(from + 6);
  *identity = (link_identity_t){.window = get16(from + 2),
                                .data_bytes = get16(from + 4) & ~7u,
                                .has_march = flags & 1,
                                .is_sdram = flags >> 1 & 1,
                                .memory_base = get32(from + 8),
                                .memory_bytes = get32(from + 12),
                                .clock_hz = get32(from + 16),
                                .baud = get32(from + 20)};
  memcpy(identity->board, from + 24, 16);
  return get16(from);
}
