// SPDX-License-Identifier: Apache-2.0
// The index of the panel unit that QUANT writes: mirrors ufp4_quant_index.
#ifndef UFP4_TIMING_QUANT_INDEX_H
#define UFP4_TIMING_QUANT_INDEX_H

#include <cstdint>

#include "timing/quant/quant_walk.h"

namespace ufp4::timing {

/** The distances in memory, in units, between groups, tiles and strips of a copy. */
struct QuantSteps {
  uint32_t group, tile, strip;
};

class QuantIndex {
 public:
  /** Returns the index of the unit, counted from the first unit of the copy. */
  uint64_t unit() const {
    return strip_base_ + uint64_t{tile_} * steps_.tile + (lower_ ? steps_.group : 0) + half_;
  }
  /**
   * Starts a copy.
   *  @param tiles tiles of a strip
   *  @param halves with pairs, the two units of a group alternate
   *  @param page_mask the bits of the index that matter
   */
  void start(const QuantJob &job, uint32_t copy, uint32_t tiles, bool halves, uint32_t page_mask);
  void step();

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(tile_ | uint64_t{lower_} << 32 | uint64_t{half_} << 33);
    v.address(strip_base_, page_mask_);
  }

 private:
  bool pair_ = false, halves_ = false, lower_ = false, half_ = false;
  uint32_t tiles_ = 0, tile_ = 0, page_mask_ = 0;
  uint64_t strip_base_ = 0;
  QuantSteps steps_ = {};
};

}  // namespace ufp4::timing

#endif
