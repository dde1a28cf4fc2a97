// SPDX-License-Identifier: Apache-2.0
#include "timing/timed.h"

#include <algorithm>

namespace ufp4::timing {
namespace {

constexpr uint64_t kStuckCycles = 1000000;  // as in the harness (simulator.cpp)

}  // namespace

Timed::Timed(const Shape &shape, const MemoryRules &rules, const ufp4_timed_host_t &host,
             bool every_cycle, const ufp4_timeline_sink_t *sink)
    : core_(shape, rules, host, sink),
      ready_state_(rules.seed),
      every_cycle_(every_cycle || rules.seed != 0),
      skips_(rules.dram.channels == 0 && !rules.outside) {
  core_.reset();
}

// Draws by xorshift64.
bool Timed::ready() {
  ready_state_ ^= ready_state_ << 13;
  ready_state_ ^= ready_state_ >> 7;
  ready_state_ ^= ready_state_ << 17;
  return ready_state_ == 0 || ready_state_ % 4 != 0;
}

ufp4_timed_status_t Timed::reset() {
  core_.fail({});
  core_.reset();
  return UFP4_TIMED_OK;
}

ufp4_timed_status_t Timed::read(uint32_t offset, uint32_t *value) {
  HostPort &port = core_.port();
  const Registers &registers = core_.registers();
  port.araddr = offset;
  port.arvalid = true;
  for (bool answered = false; !answered;) {
    port.rready = ready();
    const bool taken = port.arvalid && registers.arready();
    answered = registers.rvalid() && port.rready;
    if (answered) *value = registers.rdata();
    if (!step_access()) return UFP4_TIMED_FAILED;
    if (taken) port.arvalid = false;
  }
  return UFP4_TIMED_OK;
}

ufp4_timed_status_t Timed::write(uint32_t offset, uint32_t value) {
  HostPort &port = core_.port();
  const Registers &registers = core_.registers();
  port.awaddr = offset;
  port.wdata = value;
  port.awvalid = port.wvalid = true;
  for (bool answered = false; !answered;) {
    port.bready = ready();
    const bool address = port.awvalid && registers.awready();
    const bool data = port.wvalid && registers.wready();
    answered = registers.bvalid() && port.bready;
    if (!step_access()) return UFP4_TIMED_FAILED;
    if (address) port.awvalid = false;
    if (data) port.wvalid = false;
  }
  return UFP4_TIMED_OK;
}

bool Timed::advance(uint64_t end) {
  if (bus_ != nullptr) return bus_->leap(end - core_.cycle());
  return every_cycle_ || core_.has_timeline() ? step() : core_.leap(end, skips_);
}

// Returns the cycle that many from now, or the last one representable.
uint64_t Timed::after(uint64_t cycles) const {
  return cycles > ~core_.cycle() ? ~uint64_t{0} : core_.cycle() + cycles;
}

ufp4_timed_status_t Timed::run(uint64_t cycles) {
  for (const uint64_t end = after(cycles); core_.cycle() < end;) {
    if (!advance(end)) return UFP4_TIMED_FAILED;
  }
  return UFP4_TIMED_OK;
}

ufp4_timed_status_t Timed::wait_interrupt(uint64_t limit) {
  const uint64_t began = core_.cycle(), end = after(limit);
  while (core_.cycle() < end) {
    if (core_.registers().irq()) return UFP4_TIMED_OK;
    const uint64_t stuck = std::max(began, core_.last_moved()) + kStuckCycles;
    if (!advance(core_.working() ? std::min(end, stuck) : end)) return UFP4_TIMED_FAILED;
    if (core_.working() && core_.cycle() >= std::max(began, core_.last_moved()) + kStuckCycles) {
      core_.fail(
          "nothing has moved on the bus for a million cycles; use backend rtl to look into a core "
          "that hangs");
      return UFP4_TIMED_FAILED;
    }
  }
  if (core_.registers().irq()) return UFP4_TIMED_OK;
  message_ = "no interrupt within " + std::to_string(limit) + " cycles";
  return UFP4_TIMED_LIMIT;
}

}  // namespace ufp4::timing
