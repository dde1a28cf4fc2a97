// SPDX-License-Identifier: Apache-2.0
#include "timing/masters.h"

namespace ufp4::timing {

BurstCutter::BurstCutter(uint32_t clients, uint32_t bus_bytes, bool ranked)
    : clients_(clients), bus_log2_(0), ranked_(ranked) {
  while (bus_bytes >> bus_log2_ > 1) bus_log2_++;
}

int BurstCutter::choose(const bool *valid, bool ready) const {
  if (busy_ && !(ready && beats_ <= to_boundary())) return -1;
  int first = -1;
  for (uint32_t i = 0; i < clients_; i++) {
    if (!valid[i]) continue;
    if (ranked_ || i > last_) return static_cast<int>(i);
    if (first < 0) first = static_cast<int>(i);
  }
  return first;
}

void BurstCutter::step(const Request &request, int taken, bool ready) {
  if (taken >= 0) {
    busy_ = true;
    id_ = last_ = static_cast<uint8_t>(taken);
    page_ = request.page;
    beats_ = request.beats;
  } else if (busy_ && ready) {
    const uint32_t out = piece();
    busy_ = beats_ > out;
    page_ = (page_ + (out << bus_log2_)) % kPage;
    beats_ -= out;
  }
}

void ReadMaster::drive(MemoryMaster &pins) const {
  pins.arvalid = ar_.main_valid;
  pins.arid = ar_.main.id;
  pins.arbeats = ar_.main.beats;
  pins.rready = r_.in_ready();
}

void ReadMaster::step(const Request &request, bool take, const MemorySlave &pins) {
  const bool go = cutter_.busy() && may_begin_, taken = ar_.in_ready();
  const Burst burst = cutter_.burst();
  const int client = beat();
  const bool drop = r_.main_valid && client < 0;
  if (client >= 0 && take && r_.main.last) count_[client]--;
  if (go && taken) count_[burst.id]++;
  cutter_.step(request, taken_, taken && may_begin_);
  ar_.step(go, burst, pins.arready);
  r_.step(pins.rvalid, {pins.rid, pins.rlast}, take || drop);
}

void WriteMaster::drive(MemoryMaster &pins) const {
  pins.awvalid = aw_.main_valid;
  pins.awid = aw_.main.id;
  pins.awbeats = aw_.main.beats;
  pins.wvalid = w_.main_valid;
  pins.bready = true;
}

void WriteMaster::step(const Request &request, const bool *dat_valid, const MemorySlave &pins) {
  const bool fire = cutter_.busy() && burst_ready_;
  const Burst burst = cutter_.burst();
  const bool w_valid = !order_.empty() && dat_valid[order_.front().id], w_ready = w_.in_ready();
  if (b_valid_ && count_[b_id_] != 0) count_[b_id_]--;
  if (fire) count_[burst.id]++;
  w_.step(w_valid, true, pins.wready);
  if (w_valid && w_ready) {
    if (++beat_ == order_.front().beats) {
      beat_ = 0;
      order_.pop();
    }
  }
  if (fire) order_.push({burst.id, burst.beats});
  cutter_.step(request, taken_, burst_ready_);
  aw_.step(fire, burst, pins.awready);
  b_valid_ = pins.bvalid;
  b_id_ = pins.bid;
}

}  // namespace ufp4::timing
