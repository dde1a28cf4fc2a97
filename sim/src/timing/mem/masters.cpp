// SPDX-License-Identifier: Apache-2.0
#include "timing/mem/masters.h"

namespace ufp4::timing {

BurstCutter::BurstCutter(uint32_t clients, uint32_t bus_bytes, bool ranked)
    : clients_(clients), bus_log2_(0), ranked_(ranked) {
  while (bus_bytes >> bus_log2_ > 1) bus_log2_++;
}

}  // namespace ufp4::timing
