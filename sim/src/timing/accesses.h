// SPDX-License-Identifier: Apache-2.0
// Counts of reads and writes of the memories inside the core, by kind: an access is a word of one
// memory. Each unit counts what its RTL enables, without parity memories.
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
