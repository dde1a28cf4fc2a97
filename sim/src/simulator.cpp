// SPDX-License-Identifier: Apache-2.0
#include "simulator.h"

#include <cstdio>
#include <utility>

#include "timing/pipeline.h"
#include "ufp4/spec.h"
#include "waveforms.h"

namespace ufp4 {
namespace {

// The registers respond within a few cycles whatever the core does.
constexpr unsigned kRegisterCycles = 1000;
// Limit of cycles without a beat, longer than any computation between two beats; latency is added.
constexpr uint64_t kStuckCycles = 1000000;
// How often this is checked, because the check is too expensive for each cycle.
constexpr uint64_t kSlice = 4096;
constexpr uint32_t kRunning = 1;
constexpr uint32_t kSoftReset = 4;
const char *const kCounterNames[] = UFP4_COUNTER_NAMES;

}  // namespace

Simulator::Simulator(std::unique_ptr<Core> core, const MemoryOptions &options, const Limits &limits,
                     const ufp4_timeline_sink_t *sink)
    : core_(std::move(core)),
      pins_(core_->pins),
      memory_(pins_, core_->bus_bytes, options),
      checker_(pins_, core_->bus_bytes, limits),
      port_checker_(pins_),
      timeline_(sink),
      ready_state_(options.seed),
      stuck_cycles_(kStuckCycles + 2 * uint64_t{options.latency}) {}

bool Simulator::good() const {
  return checker_.message().empty() && port_checker_.message().empty() && !core_->failed();
}

bool Simulator::has_timeline() const {
  CoreSigns signs;
  return core_->look(signs);
}

// Before a reset the registers are undefined, and during it nothing happens.
void Simulator::sample_timeline() {
  CoreSigns signs;
  if (*pins_.rst_n && core_->look(signs)) timeline_.sample(cycle_, signs);
}

bool Simulator::step() {
  if (timeline_.on()) sample_timeline();
  checker_.sample();
  port_checker_.sample();
  if (memory_.sample(cycle_)) last_moved_ = cycle_;
  if (memory_.lost().read) checker_.lost_read(memory_.lost().id);
  if (memory_.lost().write) checker_.lost_write(memory_.lost().id);
  *pins_.clk = 1;
  core_->eval();
  core_->trace_dump(2 * cycle_);
  memory_.drive();
  *pins_.clk = 0;
  core_->eval();
  core_->trace_dump(2 * cycle_ + 1);
  cycle_++;
  return good();
}

static void remove_waveforms(const std::string &path) {
  std::remove(path.c_str());
  std::remove((path + ".hier").c_str());
}

bool Simulator::trace_open(const char *path) {
  trace_path_ = path;
  if (core_->trace_open(path)) return true;
  remove_waveforms(path);
  return false;
}

ufp4_sim_status_t Simulator::trace_end() {
  if (trace_path_.empty()) return UFP4_SIM_OK;
  waveforms_failed = 0;
  core_->trace_close();
  const std::string path = std::exchange(trace_path_, {});
  if (waveforms_failed == 0) return UFP4_SIM_OK;
  remove_waveforms(path);
  message_ =
      "the waveforms could not be written completely: no space there, or in the folder for "
      "temporary files";
  return UFP4_SIM_FAILED;
}

// Pins start at random, like the registers.
ufp4_sim_status_t Simulator::reset() {
  const auto &axil = pins_.axil;
  timeline_.cut(cycle_);
  *pins_.rst_n = *pins_.clk = 0;
  *axil.awvalid = *axil.wvalid = *axil.bready = *axil.arvalid = *axil.rready = 0;
  memory_.forget();
  memory_.drive();
  core_->eval();
  for (unsigned i = 0; i < timing::kResetCycles; i++) step();
  *pins_.rst_n = 1;
  *axil.bready = *axil.rready = 1;
  last_moved_ = cycle_;
  return good() ? UFP4_SIM_OK : broken();
}

ufp4_sim_status_t Simulator::broken() {
  const std::string &rule =
      checker_.message().empty() ? port_checker_.message() : checker_.message();
  message_ = (core_->failed() ? "an assertion in the RTL failed" : rule) + " (cycle " +
             std::to_string(cycle_) + "; " + memory_.describe() + ")";
  return UFP4_SIM_FAILED;
}

// Draws by xorshift64.
uint8_t Simulator::ready() {
  ready_state_ ^= ready_state_ << 13;
  ready_state_ ^= ready_state_ >> 7;
  ready_state_ ^= ready_state_ << 17;
  return ready_state_ == 0 || ready_state_ % 4 != 0;
}

bool Simulator::register_read(uint32_t offset, uint32_t *value) {
  const auto &axil = pins_.axil;
  *axil.araddr = static_cast<uint16_t>(offset);
  *axil.arvalid = 1;
  for (unsigned i = 0; i < kRegisterCycles; i++) {
    *axil.rready = ready();
    const bool taken = *axil.arvalid && *axil.arready, answered = *axil.rvalid && *axil.rready;
    if (answered) *value = *axil.rdata;
    step();
    if (taken) *axil.arvalid = 0;
    if (answered) return true;
  }
  return false;
}

ufp4_sim_status_t Simulator::read(uint32_t offset, uint32_t *value) {
  if (!register_read(offset, value)) {
    message_ = "the core does not respond to a register read";
    return UFP4_SIM_FAILED;
  }
  return good() ? UFP4_SIM_OK : broken();
}

ufp4_sim_status_t Simulator::write(uint32_t offset, uint32_t value, unsigned strobes) {
  const auto &axil = pins_.axil;
  *axil.awaddr = static_cast<uint16_t>(offset);
  *axil.wdata = value;
  *axil.wstrb = static_cast<uint8_t>(strobes & 0xF);
  *axil.awvalid = *axil.wvalid = 1;
  if (offset == UFP4_REG_CONTROL && strobes & 1 && value & kSoftReset) checker_.soft_reset();
  for (unsigned i = 0; i < kRegisterCycles; i++) {
    *axil.bready = ready();
    const bool address = *axil.awvalid && *axil.awready, data = *axil.wvalid && *axil.wready;
    const bool answered = *axil.bvalid && *axil.bready;
    step();
    if (address) *axil.awvalid = 0;
    if (data) *axil.wvalid = 0;
    if (answered) return good() ? UFP4_SIM_OK : broken();
  }
  message_ = "the core does not respond to a register write";
  return UFP4_SIM_FAILED;
}

ufp4_sim_status_t Simulator::run(uint64_t cycles) {
  for (uint64_t i = 0; i < cycles; i++) {
    if (!step()) return broken();
  }
  return UFP4_SIM_OK;
}

ufp4_sim_status_t Simulator::wait_interrupt(uint64_t limit) {
  for (uint64_t left = limit; left > 0;) {
    const uint64_t slice = left < kSlice ? left : kSlice;
    for (uint64_t i = 0; i < slice; i++) {
      if (*pins_.irq) return UFP4_SIM_OK;
      if (!step()) return broken();
    }
    left -= slice;
    const ufp4_sim_status_t status = check_progress();
    if (status != UFP4_SIM_OK) return status;
  }
  if (*pins_.irq) return UFP4_SIM_OK;
  message_ = "no interrupt within " + std::to_string(limit) + " cycles: " + describe();
  return UFP4_SIM_LIMIT;
}

// An idle core does not move either, and may stay idle for as long as its host likes.
ufp4_sim_status_t Simulator::check_progress() {
  if (cycle_ - last_moved_ < stuck_cycles_) return UFP4_SIM_OK;
  uint32_t status = 0;
  if (!register_read(UFP4_REG_STATUS, &status) || !(status & kRunning)) return UFP4_SIM_OK;
  message_ = "the core hangs, nothing moved on its bus for " +
             std::to_string(cycle_ - last_moved_) + " cycles: " + describe();
  return UFP4_SIM_FAILED;
}

std::string Simulator::describe() {
  uint32_t head = 0, tail = 0, status = 0;
  register_read(UFP4_REG_RING_HEAD, &head);
  register_read(UFP4_REG_RING_TAIL, &tail);
  register_read(UFP4_REG_STATUS, &status);
  write(UFP4_REG_CONTROL, 1);
  std::string text = "cycle " + std::to_string(cycle_) + "; ring head " + std::to_string(head) +
                     ", tail " + std::to_string(tail) +
                     (status & kRunning ? ", a job runs; " : ", no job runs; ") +
                     memory_.describe() + "; counters:";
  for (unsigned i = 0; i < UFP4_COUNTER_COUNT; i++) {
    uint32_t low = 0, high = 0;
    register_read(UFP4_REG_COUNTER_BASE + 8 * i, &low);
    register_read(UFP4_REG_COUNTER_BASE + 8 * i + 4, &high);
    text += std::string(" ") + kCounterNames[i] + " " + std::to_string(uint64_t{high} << 32 | low);
  }
  return text;
}

}  // namespace ufp4
