// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include <algorithm>
#include <cstring>

namespace ufp4 {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint8_t kIncr = 1;
constexpr uint8_t kAllOn = 0xFF;
// Limits of writes that have begun whose data are incomplete, and of those whose data precede their
// address.
constexpr size_t kMaxBegun = 18;
constexpr size_t kMaxEarly = 2;

}  // namespace

void Verdict::fail(const char *channel, const char *rule) {
  if (message_.empty())
    message_ = std::string("the core broke a rule of AXI4 on channel ") + channel + ": " + rule;
}

// --- The memory bus -----------------------------------------------------------------------------

void Checker::address_channel(const char *channel, Address &held,
                              const std::array<IdLimits, kIds> &limits, bool valid, bool ready,
                              uint64_t address, uint8_t id, uint8_t len, uint8_t size,
                              uint8_t burst) {
  if (held.stalled) {
    if (!valid) fail(channel, "valid fell before ready");
    if (address != held.address || id != held.id || len != held.len)
      fail(channel, "the payload changed before ready");
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
  const IdLimits &limit = limits[id % kIds];
  if (limit.bursts == 0) fail(channel, "the core has no such ID");
  if (bytes > std::max(limit.bytes, bus_bytes_))
    fail(channel, "the burst is longer than those of its ID are");
}

void Checker::begin(const char *channel, const std::array<IdLimits, kIds> &limits, Count &in_flight,
                    unsigned id) {
  if (++in_flight[id % kIds] > limits[id % kIds].bursts)
    fail(channel, "more bursts of an ID are in flight than may be");
}

void Checker::read_channels() {
  const auto &axi = pins_.axi;
  if (*axi.rvalid && *axi.rready && *axi.rlast) end(reading_, *axi.rid);
  address_channel("AR", read_, limits_.reads, *axi.arvalid, *axi.arready, *axi.araddr, *axi.arid,
                  *axi.arlen, *axi.arsize, *axi.arburst);
  if (*axi.arvalid && *axi.arready) begin("AR", limits_.reads, reading_, *axi.arid);
}

void Checker::write_channels() {
  const auto &axi = pins_.axi;
  if (*axi.bvalid && *axi.bready) end(writing_, *axi.bid);
  data_channel();
  address_channel("AW", write_, limits_.writes, *axi.awvalid, *axi.awready, *axi.awaddr, *axi.awid,
                  *axi.awlen, *axi.awsize, *axi.awburst);
  if (*axi.awvalid && *axi.awready) {
    begin("AW", limits_.writes, writing_, *axi.awid);
    bursts_.push_back({*axi.awid % kIds, *axi.awlen + 1u});
  }
  match();
}

void Checker::data_channel() {
  const auto &axi = pins_.axi;
  const bool valid = *axi.wvalid;
  if (data_stalled_) {
    if (!valid) fail("W", "valid fell before ready");
    if (std::memcmp(data_.data(), axi.wdata, bus_bytes_) ||
        std::memcmp(strobes_.data(), axi.wstrb, bus_bytes_ / 8) || data_last_ != *axi.wlast) {
      fail("W", "the payload changed before ready");
    }
  }
  data_stalled_ = valid && !*axi.wready;
  if (data_stalled_) {
    std::memcpy(data_.data(), axi.wdata, bus_bytes_);
    std::memcpy(strobes_.data(), axi.wstrb, bus_bytes_ / 8);
    data_last_ = *axi.wlast;
  } else if (valid) {
    beat();
  }
}

void Checker::beat() {
  if (bursts_data_.empty() || bursts_data_.back().last) bursts_data_.emplace_back();
  Data &data = bursts_data_.back();
  strobes(data);
  data.beats++;
  data.last = *pins_.axi.wlast;
}

void Checker::strobes(Data &data) const {
  const uint8_t *bytes = pins_.axi.wstrb;
  data.empty |= std::all_of(bytes, bytes + bus_bytes_ / 8, [](uint8_t byte) { return byte == 0; });
  for (unsigned i = 0; i < bus_bytes_; i++) {
    if (i % 8 == 0 && bytes[i / 8] == (data.on ? kAllOn : 0)) {
      i += 7;  // no strobe of these eight differs
      continue;
    }
    const bool on = bytes[i / 8] >> i % 8 & 1;
    if (on == data.on) continue;
    data.gap |= on && data.begun;
    data.begun |= on;
    data.places |= i;
    data.on = on;
  }
}

// Compares data with the address of their burst, as far as both have been accepted.
void Checker::match() {
  while (!bursts_.empty() && !bursts_data_.empty()) {
    const Burst &burst = bursts_.front();
    const Data &data = bursts_data_.front();
    if (data.beats > burst.beats || data.last != (data.beats == burst.beats)) {
      fail("W", "wlast is not where the burst ends");
    }
    if (!data.last) break;
    whole(burst, data);
    bursts_.pop_front();
    bursts_data_.pop_front();
  }
  if (bursts_.size() > kMaxBegun)
    fail("AW", "more bursts have begun whose data are missing than may be");
  if (bursts_.empty() && bursts_data_.size() > kMaxEarly)
    fail("W", "data of too many bursts come before their address");
}

void Checker::whole(const Burst &burst, const Data &data) {
  const IdLimits &of = limits_.writes[burst.id];
  if (of.grain == 0) return;
  if (data.gap) fail("W", "the strobes of a burst have a gap");
  if (data.places % of.grain) fail("W", "the strobes of a burst begin or end inside an element");
  if (data.empty && !of.empty && !soft_reset_) fail("W", "no strobe of a beat is on");
}

// Forgets bursts that were in flight.
void Checker::in_reset() {
  const auto &axi = pins_.axi;
  if (was_in_reset_ && *axi.arvalid) fail("AR", "valid is high in reset");
  if (was_in_reset_ && *axi.awvalid) fail("AW", "valid is high in reset");
  if (was_in_reset_ && *axi.wvalid) fail("W", "valid is high in reset");
  read_.stalled = write_.stalled = data_stalled_ = soft_reset_ = false;
  reading_ = writing_ = {};
  bursts_.clear();
  bursts_data_.clear();
}

void Checker::sample() {
  if (!*pins_.rst_n) in_reset();
  was_in_reset_ = !*pins_.rst_n;
  if (was_in_reset_) return;
  read_channels();
  write_channels();
}

// --- The register port --------------------------------------------------------------------------

// Responses come from registers, so never in the cycle in which the access is accepted.
void PortChecker::reads() {
  const auto &axil = pins_.axil;
  if (read_stalled_ && !*axil.rvalid) fail("R of the registers", "valid fell before ready");
  if (read_stalled_ && *axil.rdata != read_data_)
    fail("R of the registers", "the payload changed before ready");
  if (*axil.rvalid && read_addresses_ == 0)
    fail("R of the registers", "an answer that nothing was asked for");
  read_stalled_ = *axil.rvalid && !*axil.rready;
  read_data_ = *axil.rdata;
  if (*axil.rvalid && *axil.rready && read_addresses_ > 0) read_addresses_--;
  if (*axil.arvalid && *axil.arready) read_addresses_++;
  if (read_addresses_ > 1) fail("AR of the registers", "a second read is taken");
}

void PortChecker::writes() {
  const auto &axil = pins_.axil;
  if (write_stalled_ && !*axil.bvalid) fail("B of the registers", "valid fell before ready");
  const bool due = write_addresses_ > 0 && write_data_ > 0;
  if (*axil.bvalid && !due) fail("B of the registers", "an answer that nothing was asked for");
  write_stalled_ = *axil.bvalid && !*axil.bready;
  if (*axil.bvalid && *axil.bready && due) write_addresses_--, write_data_--;
  if (*axil.awvalid && *axil.awready) write_addresses_++;
  if (*axil.wvalid && *axil.wready) write_data_++;
  if (write_addresses_ > 2) fail("AW of the registers", "a third write is taken");
  if (write_data_ > 2) fail("W of the registers", "a third write is taken");
}

void PortChecker::in_reset() {
  const auto &axil = pins_.axil;
  if (was_in_reset_ && *axil.rvalid) fail("R of the registers", "valid is high in reset");
  if (was_in_reset_ && *axil.bvalid) fail("B of the registers", "valid is high in reset");
  read_stalled_ = write_stalled_ = false;
  read_addresses_ = write_addresses_ = write_data_ = 0;
}

void PortChecker::sample() {
  if (!*pins_.rst_n) in_reset();
  was_in_reset_ = !*pins_.rst_n;
  if (was_in_reset_) return;
  reads();
  writes();
}

}  // namespace ufp4
