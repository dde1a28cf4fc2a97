// SPDX-License-Identifier: Apache-2.0
// The guaranteed limits of each ID on the memory bus (docs/ip/interfaces.md, "How much is in
// flight").
#ifndef UFP4_SIM_LIMITS_H
#define UFP4_SIM_LIMITS_H

#include <array>

#include "ufp4/spec.h"

namespace ufp4 {

struct IdLimits {
  unsigned bursts = 0;  // most bursts in flight; 0: the core does not use this ID
  unsigned bytes = 0;   // longest burst, rounded up to a beat
  unsigned grain =
      0;  // strobes of a burst are one run of bytes between multiples of this; 0: any strobes
  bool empty = false;  // beats may have all strobes off
};

/** The limits of each ID. */
struct Limits {
  std::array<IdLimits, 4> reads, writes;
};

Limits limits_of(const ufp4_configuration_t &configuration);

}  // namespace ufp4

#endif
