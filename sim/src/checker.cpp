// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include <cstring>

namespace ufp4 {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint8_t kIncr = 1;

}  // namespace

void Checker::fail(const char *channel, const char *rule) {
  if (message_.empty()) message_ = std::string("the core broke a rule of AXI4 on channel ") + channel + ": " + rule;
}

void Checker::address_channel(const char *channel, Address &held, bool valid, bool ready, uint64_t address, uint8_t id,
                              uint8_t len, uint8_t size, uint8_t burst) {
  if (held.stalled) {
    if (!valid) fail(channel, "valid fell before ready");
    if (address != held.address || id != held.id || len != held.len) fail(channel, "the payload changed before ready");
  }
  held.stalled = valid && !ready;
  if (!valid) return;
  held.address = address;
  held.id = id;
  held.len = len;
  const uint64_t bytes = (len + 1u) * uint64_t{bus_bytes_};
  if (1u << size != bus_bytes_) fail(channel, "the size is not a full beat");
  if (burst != kIncr) fail(channel, "the burst is not INCR");
  if (address % bus_bytes_) fail(channel, "the address is not a multiple of a beat");
  if (address / kPage != (address + bytes - 1) / kPage) fail(channel, "the burst crosses 4 KiB");
}

void Checker::data_channel() {
  const auto &axi = pins_.axi;
  const bool valid = *axi.wvalid;
  if (data_stalled_) {
    if (!valid) fail("W", "valid fell before ready");
    if (std::memcmp(data_.data(), axi.wdata, bus_bytes_) || std::memcmp(strobes_.data(), axi.wstrb, bus_bytes_ / 8) ||
        data_last_ != *axi.wlast) {
      fail("W", "the payload changed before ready");
    }
  }
  data_stalled_ = valid && !*axi.wready;
  if (data_stalled_) {
    std::memcpy(data_.data(), axi.wdata, bus_bytes_);
    std::memcpy(strobes_.data(), axi.wstrb, bus_bytes_ / 8);
    data_last_ = *axi.wlast;
  } else if (valid) {
    // The memory takes beats only of bursts it has taken the address of.
    beat_++;
    if ((beat_ == lengths_.front()) != *axi.wlast) fail("W", "wlast is not where the burst ends");
    if (beat_ != lengths_.front()) return;
    beat_ = 0;
    lengths_.pop_front();
  }
}

// What was in flight is forgotten.
void Checker::in_reset() {
  const auto &axi = pins_.axi;
  if (was_in_reset_ && *axi.arvalid) fail("AR", "valid is high in reset");
  if (was_in_reset_ && *axi.awvalid) fail("AW", "valid is high in reset");
  if (was_in_reset_ && *axi.wvalid) fail("W", "valid is high in reset");
  read_.stalled = write_.stalled = data_stalled_ = false;
  lengths_.clear();
  beat_ = 0;
}

void Checker::sample() {
  const auto &axi = pins_.axi;
  if (!*pins_.rst_n) in_reset();
  was_in_reset_ = !*pins_.rst_n;
  if (was_in_reset_) return;
  address_channel("AR", read_, *axi.arvalid, *axi.arready, *axi.araddr, *axi.arid, *axi.arlen, *axi.arsize,
                  *axi.arburst);
  data_channel();
  address_channel("AW", write_, *axi.awvalid, *axi.awready, *axi.awaddr, *axi.awid, *axi.awlen, *axi.awsize,
                  *axi.awburst);
  if (*axi.awvalid && *axi.awready) lengths_.push_back(*axi.awlen + 1u);
}

}  // namespace ufp4
