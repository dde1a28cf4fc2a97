// SPDX-License-Identifier: Apache-2.0
// The shape of a core, given by its configuration and the target of its arithmetic: the RTL's
// parameters and the constants that its modules derive. It mirrors the localparams of ufp4_gemm,
// ufp4_quant, ufp4_sequencer; ufp4_pe_pkg.
#ifndef UFP4_TIMING_SHAPE_H
#define UFP4_TIMING_SHAPE_H

#include <algorithm>
#include <cstdint>
#include <string>

#include "ufp4/spec.h"

namespace ufp4::timing {

struct Shape {
  ufp4_configuration_t configuration{};
  // These fields are as in ufp4_configuration_t.
  uint32_t rows = 0, cols = 0, chunk = 0, bus_bytes = 0, contract = 0, formats = 0, lanes = 0,
           quant = 0, mixed = 0;
  uint32_t target = 0;

  uint32_t tile_m = 0, tile_n = 0;           // a macro-tile
  uint32_t chunk_step = 0;                   // chunks begin at multiples of this many blocks
  uint32_t load_bytes = 0;                   // bytes of a beat of operands
  uint32_t drain_cols = 0, drain_bytes = 0;  // a beat of D
  uint32_t drain_log2 = 0;                   // of drain_cols
  uint32_t addend_beats = 0;                 // of each buffer
  uint32_t pe_return = 0;                    // cycles after which a sum can be loaded again
  uint32_t lane_delay = 0, sum_delay = 0;    // from a feed to the last lane; to its sum in memory
  uint32_t steps = 0;                        // steps of a block
  uint32_t turn = 0;                         // sub-tiles of a turn
  uint32_t segment_bytes = 0, segments = 0;  // QUANT: segment of a row; chunks that its buffer
                                             // holds
  uint32_t still_cycles = 0;                 // idle cycles of the bus after which no engine moves

  /** Returns the blocks of the present chunk if @p left are left of k: mirrors ufp4_chunk_walk. */
  uint32_t chunk_blocks(uint32_t left) const {
    if (left <= chunk || left >= 2 * chunk) return std::min(left, chunk);
    const uint32_t half = left / (2 * chunk_step) * chunk_step;
    return left - half <= chunk ? half : half + chunk_step;
  }
  bool exact() const {
    return contract == UFP4_CONTRACT_EXACT;
  }
  bool fp32() const {
    return contract == UFP4_CONTRACT_FP32;
  }
  bool nv() const {
    return contract == UFP4_CONTRACT_NV;
  }
};

/** Derives the shape from a name or from parameters (base/configuration.h). @return false if there
 * is no such configuration, with the reason in *message. */
bool find_shape(const char *name, Shape *shape, std::string *message);

}  // namespace ufp4::timing

#endif
