// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <sys/mman.h>

#include <cstring>

namespace ufp4 {
namespace {

constexpr uint8_t kOkay = 0, kSlverr = 2, kDecerr = 3;
// Data of a read outside memory, recognizable if it is used.
constexpr uint8_t kPoison = 0xDE;
constexpr unsigned kMaxBusBytes = 128;

const uint8_t *poison() {
  static const auto beat = [] {
    struct {
      uint8_t bytes[kMaxBusBytes];
    } b;
    std::memset(b.bytes, kPoison, sizeof b.bytes);
    return b;
  }();
  return beat.bytes;
}

}  // namespace

Memory::Memory(const Pins &pins, unsigned bus_bytes, const MemoryOptions &options)
    : MemoryTiming({bus_bytes, options.latency, options.bandwidth, options.seed, options.bursts,
                    options.dram, false, options.cycle_fs}),
      pins_(pins),
      bus_bytes_(bus_bytes),
      options_(options) {
  // Untouched pages take no memory.
  void *data = mmap(nullptr, options.bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data != MAP_FAILED) data_ = static_cast<uint8_t *>(data);
}

Memory::~Memory() {
  if (data_) munmap(data_, options_.bytes);
}

uint8_t *Memory::at(uint64_t address, uint64_t bytes) const {
  if (address < options_.base) return nullptr;
  const uint64_t offset = address - options_.base;
  if (offset > options_.bytes || bytes > options_.bytes - offset) return nullptr;
  return data_ + offset;
}

uint8_t Memory::response(uint64_t address, unsigned beats) const {
  return at(address, uint64_t{beats} * bus_bytes_) ? kOkay : kDecerr;
}

// Returns whether the present beat or response fails. Must be called once for each beat or response
// of the fault's kind.
bool Memory::fails(ufp4_sim_fault_t fault) {
  if (fault_ != fault || --fault_in_ != 0) return false;
  fault_ = UFP4_SIM_FAULT_NONE;
  return true;
}

void Memory::forget() {
  MemoryTiming::forget();
  early_.clear();
  next_ = {};
}

MemoryMaster Memory::master() const {
  const auto &axi = pins_.axi;
  return {*axi.arvalid != 0, *axi.rready != 0, *axi.awvalid != 0, *axi.wvalid != 0,
          *axi.bready != 0,  *axi.arid,        *axi.awid,         *axi.arlen + 1u,
          *axi.awlen + 1u,   *axi.araddr,      *axi.awaddr};
}

bool Memory::sample(uint64_t cycle) {
  lost_ = {};
  next_.rnew = next_.bnew = false;
  if (options_.silent_cycle != 0 && cycle >= options_.silent_cycle) {
    silence(master());
    return false;
  }
  return MemoryTiming::sample(cycle, master());
}

bool Memory::read_beat(const MemoryBurst &burst) {
  if (fails(UFP4_SIM_FAULT_READ_LOST)) {
    lost_.read = true;
    lost_.id = burst.id;
    return false;
  }
  next_.rnew = true;
  next_.rresp = fails(UFP4_SIM_FAULT_READ_SLVERR)   ? kSlverr
                : fails(UFP4_SIM_FAULT_READ_DECERR) ? kDecerr
                                                    : burst.resp;
  next_.rdata = burst.resp == kOkay ? at(burst.address, bus_bytes_) : poison();
  return true;
}

void Memory::store_bytes(uint8_t *to, const uint8_t *data, const uint8_t *strobes) const {
  for (unsigned i = 0; i < bus_bytes_; i += 8) {
    if (strobes[i / 8] == 0xFF) {
      std::memcpy(to + i, data + i, 8);
      continue;
    }
    for (unsigned j = 0; j < 8; j++) {
      if (strobes[i / 8] >> j & 1) to[i + j] = data[i + j];
    }
  }
}

void Memory::write_beat(const MemoryBurst &burst, bool early) {
  const uint8_t *data = early ? early_.front().data.data() : pins_.axi.wdata;
  const uint8_t *strobes = early ? early_.front().strobes.data() : pins_.axi.wstrb;
  if (burst.resp == kOkay) store_bytes(at(burst.address, bus_bytes_), data, strobes);
  if (early) early_.pop_front();
}

void Memory::keep_beat() {
  Beat beat;
  std::memcpy(beat.data.data(), pins_.axi.wdata, bus_bytes_);
  std::memcpy(beat.strobes.data(), pins_.axi.wstrb, bus_bytes_ / 8);
  early_.push_back(beat);
}

bool Memory::write_answer(const MemoryAnswer &answer) {
  next_.bnew = !fails(UFP4_SIM_FAULT_WRITE_LOST);
  if (!next_.bnew) {
    lost_.write = true;
    lost_.id = answer.id;
  }
  next_.bresp = fails(UFP4_SIM_FAULT_WRITE_SLVERR)   ? kSlverr
                : fails(UFP4_SIM_FAULT_WRITE_DECERR) ? kDecerr
                                                     : answer.resp;
  return next_.bnew;
}

void Memory::drive() {
  const auto &axi = pins_.axi;
  const MemorySlave &now = slave();
  *axi.arready = now.arready;
  *axi.awready = now.awready;
  *axi.wready = now.wready;
  *axi.rvalid = now.rvalid;
  *axi.bvalid = now.bvalid;
  if (next_.rnew) {
    *axi.rid = now.rid;
    *axi.rresp = next_.rresp;
    *axi.rlast = now.rlast;
    std::memcpy(axi.rdata, next_.rdata, bus_bytes_);
  }
  if (next_.bnew) {
    *axi.bid = now.bid;
    *axi.bresp = next_.bresp;
  }
}

std::string Memory::describe() const {
  const auto &axi = pins_.axi;
  const auto channel = [](const char *name, uint8_t valid, uint8_t ready) {
    return std::string(" ") + name +
           (valid ? (ready ? " moving" : " waiting for ready") : " quiet");
  };
  return "bus:" + channel("AR", *axi.arvalid, *axi.arready) + "," +
         channel("R", *axi.rvalid, *axi.rready) + "," + channel("AW", *axi.awvalid, *axi.awready) +
         "," + channel("W", *axi.wvalid, *axi.wready) + "," +
         channel("B", *axi.bvalid, *axi.bready) + "; in flight: " + std::to_string(reads().size()) +
         " reads, " + std::to_string(writes().size()) + " writes, " +
         std::to_string(answers().size()) + " answers";
}

}  // namespace ufp4
