// SPDX-License-Identifier: Apache-2.0
// A descriptor, and the core's checks of it: mirrors ufp4_check and ufp4_regions.
#ifndef UFP4_TIMING_DESCRIPTOR_H
#define UFP4_TIMING_DESCRIPTOR_H

#include <cstdint>
#include <vector>

#include "timing/shape.h"

namespace ufp4::timing {

union Descriptor {
  uint8_t bytes[UFP4_DESCRIPTOR_BYTES];
  ufp4_header_descriptor_t header;
  ufp4_quant_descriptor_t quant;
  ufp4_gemm_descriptor_t gemm;

  bool is_gemm() const {
    return header.opcode == UFP4_OPCODE_GEMM;
  }
  bool is_quant() const {
    return header.opcode == UFP4_OPCODE_QUANT || header.opcode == UFP4_OPCODE_AMAX;
  }
};

/** Returns the lowest status that applies, without checks of exponent slots. */
uint16_t check_descriptor(const Descriptor &descriptor, const Shape &shape);
/** A region of a job, in whole lines. */
struct Extent {
  uint64_t address, bytes;
  bool written;
};
std::vector<Extent> extents(const Descriptor &descriptor);
/** Returns the cycles that the checks of its regions take. */
uint32_t region_cycles(const Descriptor &descriptor);

}  // namespace ufp4::timing

#endif
