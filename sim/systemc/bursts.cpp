// SPDX-License-Identifier: Apache-2.0
#include "bursts.h"

#include <cstring>
#include <utility>

namespace ufp4 {
namespace {

constexpr uint8_t kOkay = 0;

}  // namespace

Bursts::Bursts(const Pins &pins, const MemoryRules &rules, std::unique_ptr<Carrier> carrier)
    : MemoryTiming(rules), pins_(pins), bus_bytes_(rules.bus_bytes), carrier_(std::move(carrier)) {}

bool Bursts::sample(uint64_t cycle) {
  const auto &axi = pins_.axi;
  cycle_ = cycle;
  next_ = {};
  return MemoryTiming::sample(cycle, {*axi.arvalid != 0, *axi.rready != 0, *axi.awvalid != 0,
                                      *axi.wvalid != 0, *axi.bready != 0, *axi.arid, *axi.awid,
                                      *axi.arlen + 1u, *axi.awlen + 1u, *axi.araddr, *axi.awaddr});
}

void Bursts::drive() {
  const auto &axi = pins_.axi;
  const MemorySlave &now = slave();
  *axi.arready = now.arready;
  *axi.awready = now.awready;
  *axi.wready = now.wready;
  *axi.rvalid = now.rvalid;
  *axi.bvalid = now.bvalid;
  if (next_.read) {
    *axi.rid = now.rid;
    *axi.rresp = next_.read->response;
    *axi.rlast = now.rlast;
    std::memcpy(axi.rdata, next_.read->data.data() + next_.offset, bus_bytes_);
  }
  if (next_.bnew) {
    *axi.bid = now.bid;
    *axi.bresp = next_.bresp;
  }
}

void Bursts::forget() {
  MemoryTiming::forget();
  reading_.clear();
  filling_.clear();
  answering_.clear();
  next_ = {};
}

// --- Beats --------------------------------------------------------------------------------------

BurstPtr Bursts::make(tlm::tlm_command command, uint64_t address, unsigned beats) const {
  auto burst = std::make_shared<Burst>();
  burst->data.resize(size_t{beats} * bus_bytes_);
  burst->payload.set_command(command);
  burst->payload.set_address(address);
  burst->payload.set_data_ptr(burst->data.data());
  burst->payload.set_data_length(static_cast<unsigned>(burst->data.size()));
  burst->payload.set_streaming_width(static_cast<unsigned>(burst->data.size()));
  burst->payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  return burst;
}

// Sends a read to the target. Its response is known only when the target has answered.
uint8_t Bursts::begin_read(uint64_t address, unsigned beats) {
  reading_.push_back(make(tlm::TLM_READ_COMMAND, address, beats));
  launch(reading_.back());
  return kOkay;
}

uint8_t Bursts::begin_write(uint64_t address, unsigned beats) {
  filling_.push_back(make(tlm::TLM_WRITE_COMMAND, address, beats));
  return kOkay;
}

bool Bursts::read_beat(const MemoryBurst &burst) {
  next_.read = reading_.front();
  next_.offset = next_.read->data.size() - size_t{burst.beats} * bus_bytes_;
  if (burst.beats == 1) reading_.pop_front();
  return true;
}

void Bursts::write_beat(const MemoryBurst &burst, bool) {
  Burst &to = *filling_.front();
  std::memcpy(to.data.data() + to.filled, pins_.axi.wdata, bus_bytes_);
  for (unsigned i = 0; i < bus_bytes_ / 8; i++) {
    const uint8_t strobes = pins_.axi.wstrb[i];
    if (strobes == 0xFF) continue;
    if (to.enables.empty()) to.enables.assign(to.data.size(), TLM_BYTE_ENABLED);
    for (unsigned j = 0; j < 8; j++) {
      if (!(strobes >> j & 1)) to.enables[to.filled + 8 * i + j] = TLM_BYTE_DISABLED;
    }
  }
  to.filled += bus_bytes_;
  if (burst.beats != 1) return;
  if (!to.enables.empty()) {
    to.payload.set_byte_enable_ptr(to.enables.data());
    to.payload.set_byte_enable_length(static_cast<unsigned>(to.enables.size()));
  }
  answering_.push_back(filling_.front());
  filling_.pop_front();
  launch(answering_.back());
}

bool Bursts::write_answer(const MemoryAnswer &) {
  next_.bnew = true;
  next_.bresp = answering_.front()->response;
  answering_.pop_front();
  return true;
}

void Bursts::launch(const BurstPtr &burst) {
  burst->began = cycle_;
  burst->start = sc_core::sc_time_stamp();
  carrier_->launch(burst);
}

}  // namespace ufp4
