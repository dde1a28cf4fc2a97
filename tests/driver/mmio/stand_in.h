// SPDX-License-Identifier: Apache-2.0
// The protocol between the stand-in for a mapped core and the trap in the program.
#ifndef UFP4_TEST_STAND_IN_H
#define UFP4_TEST_STAND_IN_H

#include <stdint.h>

#define STAND_IN_REGISTERS 0xA0000000ull
#define STAND_IN_MEMORY 0x70000000ull
#define STAND_IN_BYTES (64ull << 20)

typedef struct {
  uint32_t writes, offset, value;  // the answer to a read is the same with its value
} stand_in_access_t;

#endif
