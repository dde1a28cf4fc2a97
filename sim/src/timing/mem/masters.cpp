// SPDX-License-Identifier: Apache-2.0
#include "timing/mem/masters.h"

namespace ufp4::timing {

BurstCutter::BurstCutter(uint32_t clients, uint32_t bus_bytes, bool ranked)
    : clients_(clients), bus_log2_(0), ranked_(ranked) {
  while (bus_bytes >> bus_log2_ > 1) bus_log2_++;
}

void WriteMaster::look(const bool *dat_valid, CoreSigns &signs) const {
  signs.order_valid = !order_.empty();
  signs.w_client = signs.order_valid ? order_.front().id : 0;
  signs.w_valid = signs.order_valid && dat_valid[signs.w_client];
  signs.w_ready = w_.in_ready();
  signs.writes_pending = false;
  for (uint32_t count : count_) signs.writes_pending = signs.writes_pending || count != 0;
}

}  // namespace ufp4::timing
