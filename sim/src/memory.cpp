// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace ufp4 {
namespace {

// A deep memory controller: enough for 64 bytes a cycle over some hundred cycles of latency. One
// that is deeper than the core ever needs shows how many bursts the core itself begins.
constexpr size_t kDeep = 64, kEndless = 2048;
constexpr uint64_t kEndlessSeeds = 2;
// With back-pressure the data of one burst in this many come before its address.
constexpr uint64_t kDataFirst = 8;
constexpr uint8_t kOkay = 0, kSlverr = 2, kDecerr = 3;
// What a read outside memory brings, so that it shows when somebody uses it.
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

bool Gate::open(uint64_t random) {
  if (span_ == 0) {
    static constexpr unsigned kThresholds[4] = {0, 64, 128, 230};
    span_ = 16 + static_cast<unsigned>(random >> 8 & 0x1FF);
    threshold_ = kThresholds[random >> 20 & 3];
  }
  span_--;
  return (random & 0xFF) >= threshold_;
}

bool Memory::Credit::spend(unsigned bytes) {
  if (available < bytes) return false;
  available -= bytes;
  return true;
}

Memory::Memory(const Pins &pins, unsigned bus_bytes, const MemoryOptions &options)
    : pins_(pins),
      bus_bytes_(bus_bytes),
      options_(options),
      rate_(options.bandwidth ? std::min(options.bandwidth, bus_bytes) : bus_bytes),
      latency_(options.latency ? options.latency - 1 : 0),
      bursts_(options.bursts                 ? options.bursts
              : options.seed & kEndlessSeeds ? kEndless
                                             : kDeep),
      random_state_(options.seed) {
  // Pages that nobody touches cost nothing.
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

// splitmix64.
uint64_t Memory::random() {
  uint64_t z = random_state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

uint8_t Memory::response(uint64_t address, unsigned beats) const {
  return at(address, uint64_t{beats} * bus_bytes_) ? kOkay : kDecerr;
}

// To be asked once for each beat or answer of the fault's kind.
bool Memory::fails(ufp4_sim_fault_t fault) {
  if (fault_ != fault || --fault_in_ != 0) return false;
  fault_ = UFP4_SIM_FAULT_NONE;
  return true;
}

void Memory::forget() {
  reads_.clear();
  writes_.clear();
  answers_.clear();
  early_.clear();
  next_ = {};
}

bool Memory::sample(uint64_t cycle) {
  moved_ = false;
  lost_ = {};
  if (options_.silent_cycle != 0 && cycle >= options_.silent_cycle) {
    sample_silence();
    return moved_;
  }
  read_credit_.available = std::min(read_credit_.available + rate_, bus_bytes_ + rate_);
  write_credit_.available = std::min(write_credit_.available + rate_, bus_bytes_ + rate_);
  sample_read_address(cycle);
  sample_read_data(cycle);
  sample_write_data(cycle);
  sample_write_address(cycle);
  sample_answer(cycle);
  return moved_;
}

// What is on the bus may still be taken; nothing follows it.
void Memory::sample_silence() {
  const auto &axi = pins_.axi;
  next_.arready = next_.awready = next_.wready = next_.rnew = next_.bnew = false;
  next_.rvalid = *axi.rvalid && !*axi.rready;
  next_.bvalid = *axi.bvalid && !*axi.bready;
}

void Memory::sample_read_address(uint64_t cycle) {
  const auto &axi = pins_.axi;
  if (*axi.arvalid && *axi.arready) {
    moved_ = true;
    const unsigned beats = *axi.arlen + 1u;
    reads_.push_back(
        {*axi.araddr, cycle + latency_, beats, *axi.arid, response(*axi.araddr, beats)});
  }
  next_.arready = reads_.size() < bursts_ && (!options_.seed || ar_gate_.open(random()));
}

// The burst or answer to serve: the oldest, or with back-pressure the oldest of a random ID;
// queue.size() if none is due.
template <typename T>
size_t Memory::choose(const std::deque<T> &queue, uint64_t cycle) {
  if (queue.empty()) return 0;
  size_t chosen = 0;
  if (options_.seed) {
    const uint8_t id = queue[random() % queue.size()].id;
    while (queue[chosen].id != id) chosen++;
  }
  return queue[chosen].due <= cycle ? chosen : queue.size();
}

void Memory::sample_read_data(uint64_t cycle) {
  const auto &axi = pins_.axi;
  next_.rnew = false;
  if (*axi.rvalid && *axi.rready) {
    moved_ = true;
    next_.rvalid = false;
  }
  if (next_.rvalid || reads_.empty()) return;
  if (options_.seed && !r_gate_.open(random())) return;
  const size_t index = choose(reads_, cycle);
  if (index == reads_.size() || !read_credit_.spend(bus_bytes_)) return;
  offer_beat(index);
}

void Memory::offer_beat(size_t index) {
  Burst &burst = reads_[index];
  if (fails(UFP4_SIM_FAULT_READ_LOST)) {
    lost_ = {true, false, burst.id};
    reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(index));
    return;
  }
  next_.rvalid = next_.rnew = true;
  next_.rid = burst.id;
  next_.rresp = fails(UFP4_SIM_FAULT_READ_SLVERR)   ? kSlverr
                : fails(UFP4_SIM_FAULT_READ_DECERR) ? kDecerr
                                                    : burst.resp;
  next_.rdata = burst.resp == kOkay ? at(burst.address, bus_bytes_) : poison();
  burst.address += bus_bytes_;
  next_.rlast = --burst.beats == 0;
  if (next_.rlast) reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Memory::sample_write_address(uint64_t cycle) {
  const auto &axi = pins_.axi;
  if (*axi.awvalid && *axi.awready) {
    moved_ = true;
    const unsigned beats = *axi.awlen + 1u;
    writes_.push_back({*axi.awaddr, 0, beats, *axi.awid, response(*axi.awaddr, beats)});
    data_first_ = options_.seed && random() % kDataFirst == 0;
    for (; !early_.empty() && !writes_.empty(); early_.pop_front()) {
      store_beat(cycle, early_.front().data.data(), early_.front().strobes.data());
    }
  }
  next_.awready =
      writes_.size() + answers_.size() < bursts_ && (!options_.seed || aw_gate_.open(random()));
  // AXI lets a memory wait for data before it takes the address, with half of the seeds until they
  // are offered; or until their first beat has been taken.
  if (early_.empty() && (data_first_ || (options_.seed & 1 && !*axi.wvalid))) next_.awready = false;
  next_.wready = (!writes_.empty() || data_first_) && (!options_.seed || w_gate_.open(random())) &&
                 write_credit_.spend(bus_bytes_);
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

// A beat of the oldest burst.
void Memory::store_beat(uint64_t cycle, const uint8_t *data, const uint8_t *strobes) {
  Burst &burst = writes_.front();
  if (burst.resp == kOkay) store_bytes(at(burst.address, bus_bytes_), data, strobes);
  burst.address += bus_bytes_;
  if (--burst.beats == 0) {
    answers_.push_back({cycle + latency_, burst.id, burst.resp});
    writes_.pop_front();
  }
}

void Memory::keep_beat(const uint8_t *data, const uint8_t *strobes) {
  Beat beat;
  std::memcpy(beat.data.data(), data, bus_bytes_);
  std::memcpy(beat.strobes.data(), strobes, bus_bytes_ / 8);
  early_.push_back(beat);
}

void Memory::sample_write_data(uint64_t cycle) {
  const auto &axi = pins_.axi;
  if (!*axi.wready) return;
  if (!*axi.wvalid) {
    write_credit_.available += bus_bytes_;  // the offer was not taken up
    return;
  }
  moved_ = true;
  if (writes_.empty()) {
    keep_beat(axi.wdata, axi.wstrb);
  } else {
    store_beat(cycle, axi.wdata, axi.wstrb);
  }
}

void Memory::sample_answer(uint64_t cycle) {
  const auto &axi = pins_.axi;
  next_.bnew = false;
  if (*axi.bvalid && *axi.bready) {
    moved_ = true;
    next_.bvalid = false;
  }
  if (next_.bvalid || answers_.empty()) return;
  if (options_.seed && !b_gate_.open(random())) return;
  const size_t index = choose(answers_, cycle);
  if (index == answers_.size()) return;
  next_.bvalid = next_.bnew = !fails(UFP4_SIM_FAULT_WRITE_LOST);
  if (!next_.bvalid) lost_ = {false, true, answers_[index].id};
  next_.bid = answers_[index].id;
  next_.bresp = fails(UFP4_SIM_FAULT_WRITE_SLVERR)   ? kSlverr
                : fails(UFP4_SIM_FAULT_WRITE_DECERR) ? kDecerr
                                                     : answers_[index].resp;
  answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Memory::drive() {
  const auto &axi = pins_.axi;
  *axi.arready = next_.arready;
  *axi.awready = next_.awready;
  *axi.wready = next_.wready;
  *axi.rvalid = next_.rvalid;
  *axi.bvalid = next_.bvalid;
  if (next_.rnew) {
    *axi.rid = next_.rid;
    *axi.rresp = next_.rresp;
    *axi.rlast = next_.rlast;
    std::memcpy(axi.rdata, next_.rdata, bus_bytes_);
  }
  if (next_.bnew) {
    *axi.bid = next_.bid;
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
         channel("B", *axi.bvalid, *axi.bready) + "; in flight: " + std::to_string(reads_.size()) +
         " reads, " + std::to_string(writes_.size()) + " writes, " +
         std::to_string(answers_.size()) + " answers";
}

}  // namespace ufp4
