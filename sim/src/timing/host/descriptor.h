// SPDX-License-Identifier: Apache-2.0
// A descriptor, and what the core finds wrong with it: mirrors ufp4_check and ufp4_regions.
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

/** The lowest status that applies, exponent slots not looked at. */
uint16_t check_descriptor(const Descriptor &descriptor, const Shape &shape);
/** A region of a job, in whole lines. */
struct Extent {
  uint64_t address, bytes;
  bool written;
};
std::vector<Extent> extents(const Descriptor &descriptor);
/** Cycles that its regions take. */
uint32_t region_cycles(const Descriptor &descriptor);

}  // namespace ufp4::timing

#endif
