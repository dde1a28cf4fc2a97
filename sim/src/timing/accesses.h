// SPDX-License-Identifier: Apache-2.0
// How often the memories inside the core are read and written, by kind: an access is a word of one
// memory. What a unit counts is what its RTL's enables do, of words without their parity.
#ifndef UFP4_TIMING_ACCESSES_H
#define UFP4_TIMING_ACCESSES_H

#include <cstdint>

#include "ufp4/spec.h"

namespace ufp4::timing {

struct Accesses {
  uint64_t reads[UFP4_SRAM_COUNT] = {}, writes[UFP4_SRAM_COUNT] = {};
};

}  // namespace ufp4::timing

#endif
