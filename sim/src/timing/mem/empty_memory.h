// SPDX-License-Identifier: Apache-2.0
// A memory without data: the timed model's own, or the bus side of an external one.
#ifndef UFP4_TIMING_EMPTY_MEMORY_H
#define UFP4_TIMING_EMPTY_MEMORY_H

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "memory_timing.h"
#include "ufp4_timed.h"

namespace ufp4::timing {

/** A burst for an external memory: of reads, or of writes with all their data. */
struct BegunBurst {
  uint64_t serial, cycle, address, bytes;
  bool write;
};

class EmptyMemory : public MemoryTiming<EmptyMemory> {
 public:
  EmptyMemory(const MemoryRules &rules, const ufp4_timed_host_t &host)
      : MemoryTiming(rules),
        outside_(rules.outside),
        bus_bytes_(rules.bus_bytes),
        missing_(host.missing),
        user_(host.user) {}

  bool sample(uint64_t cycle, const MemoryMaster &master) {
    cycle_ = cycle;
    return MemoryTiming::sample(cycle, master);
  }
  void forget() {
    MemoryTiming::forget();
    begun_.clear();
    reading_.clear();
    writing_.clear();
  }

  /** Returns whether an external memory has bursts that have begun and have not been fetched from
   * here yet. */
  bool has_begun() const {
    return !begun_.empty();
  }
  std::vector<BegunBurst> take_begun() {
    return std::exchange(begun_, {});
  }
  /** Delivers the response to a burst, from cycle @p due on. @p resp: as on the bus. */
  void answer(uint64_t serial, uint64_t due, uint8_t resp) {
    for (auto *queue : {&reading_, &writing_}) {
      for (Due &each : *queue) {
        if (each.serial == serial) each = {serial, due, resp};
      }
    }
  }
  /** Visits the state. An external memory must have answered all fetched bursts. */
  template <typename Visitor>
  void visit(Visitor &v) {
    MemoryTiming::visit(v);
    if (!outside_) return;
    for (auto *queue : {&reading_, &writing_}) {
      v.queue(*queue, [&v](Due &each) {
        v.due(each.due);
        v.exact(each.resp);
      });
    }
  }
  /** Sets whether the host is asked for each burst if there is memory. */
  void ask(bool asks) {
    asks_ = asks;
  }

 private:
  friend class MemoryTiming<EmptyMemory>;
  struct Due {
    uint64_t serial, due;
    uint8_t resp;
  };
  static constexpr uint8_t kDecerr = 3;

  void begin(std::deque<Due> &queue, bool write, uint64_t address, uint64_t bytes) {
    begun_.push_back({serial_, cycle_, address, bytes, write});
    queue.push_back({serial_++, ~uint64_t{0}, 0});
  }

  // Functions that MemoryTiming calls.
  uint8_t begin_read(uint64_t address, unsigned beats) {
    if (outside_) begin(reading_, false, address, uint64_t{beats} * bus_bytes_);
    return response(address, beats);
  }
  uint8_t begin_write(uint64_t address, unsigned beats) const {
    return response(address, beats);
  }
  uint8_t response(uint64_t address, unsigned beats) const {
    return asks_ && missing_(user_, address, uint64_t{beats} * bus_bytes_) ? kDecerr : 0;
  }
  bool read_beat(MemoryBurst &burst) {
    if (!outside_) return true;
    burst.resp = reading_.front().resp;
    if (burst.beats == 1) reading_.pop_front();
    return true;
  }
  void write_beat(const MemoryBurst &burst, bool) {
    if (!outside_ || burst.beats != 1) return;
    begin(writing_, true, burst.start, burst.address + bus_bytes_ - burst.start);
  }
  void keep_beat() const {}
  bool write_answer(MemoryAnswer &answer) {
    if (!outside_) return true;
    answer.resp = writing_.front().resp;
    writing_.pop_front();
    return true;
  }
  bool due(const MemoryBurst &burst, uint64_t cycle) const {
    return (outside_ ? reading_.front().due : burst.due) <= cycle;
  }
  bool due(const MemoryAnswer &answer, uint64_t cycle) const {
    return (outside_ ? writing_.front().due : answer.due) <= cycle;
  }

  bool outside_, asks_ = false;
  unsigned bus_bytes_;
  int (*missing_)(void *user, uint64_t address, uint64_t bytes);
  void *user_;
  uint64_t cycle_ = 0, serial_ = 0;
  std::vector<BegunBurst> begun_;
  std::deque<Due> reading_, writing_;  // in the order of their responses
};

}  // namespace ufp4::timing

#endif
