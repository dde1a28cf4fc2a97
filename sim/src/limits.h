// SPDX-License-Identifier: Apache-2.0
// The limits that the core promises for each ID on the memory bus (docs/ip/interfaces.md, "How much
// is in flight").
#ifndef UFP4_SIM_LIMITS_H
#define UFP4_SIM_LIMITS_H

#include <array>

#include "ufp4/spec.h"

namespace ufp4 {

struct IdLimits {
  unsigned bursts = 0;  // in flight at once; 0: the core does not use this ID
  unsigned bytes = 0;   // of the longest burst, rounded up to a beat
  unsigned grain =
      0;  // strobes of a burst are one run of bytes between multiples of this; 0: they may be any
  bool empty = false;  // some of its beats may have no strobe on
};

/** By ID. */
struct Limits {
  std::array<IdLimits, 4> reads, writes;
};

Limits limits_of(const ufp4_configuration_t &configuration);

}  // namespace ufp4

#endif
