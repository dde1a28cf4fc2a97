// SPDX-License-Identifier: Apache-2.0
// A descriptor, and what the core finds wrong with it: mirrors ufp4_check and ufp4_regions.
#ifndef UFP4_TIMING_DESCRIPTOR_H
#define UFP4_TIMING_DESCRIPTOR_H

#include <cstdint>
#include <functional>

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
/** Whether @p of is true of one of its regions, by address and bytes, of whole lines. */
bool any_region(const Descriptor &descriptor,
                const std::function<bool(uint64_t address, uint64_t bytes)> &of);
/** Cycles that its regions take. */
uint32_t region_cycles(const Descriptor &descriptor);

}  // namespace ufp4::timing

#endif
