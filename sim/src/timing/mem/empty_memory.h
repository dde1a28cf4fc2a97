// SPDX-License-Identifier: Apache-2.0
// A memory that has no data: the timed model's own, or one outside, of which only the bus is here.
#ifndef UFP4_TIMING_EMPTY_MEMORY_H
#define UFP4_TIMING_EMPTY_MEMORY_H

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "memory_timing.h"

namespace ufp4::timing {

/** A burst for a memory outside: one of reads, or one of writes with all its data. */
struct BegunBurst {
  uint64_t serial, cycle, address, bytes;
  bool write;
};

class EmptyMemory : public MemoryTiming<EmptyMemory> {
 public:
  explicit EmptyMemory(const MemoryRules &rules)
      : MemoryTiming(rules), outside_(rules.outside), bus_bytes_(rules.bus_bytes) {}

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

  /** Of a memory outside: what has begun and was not taken from here yet. */
  bool has_begun() const {
    return !begun_.empty();
  }
  std::vector<BegunBurst> take_begun() {
    return std::exchange(begun_, {});
  }
  /** The bus has the answer from cycle @p due on. */
  void answer(uint64_t serial, uint64_t due) {
    for (auto *queue : {&reading_, &writing_}) {
      for (Due &each : *queue) {
        if (each.serial == serial) each.due = due;
      }
    }
  }

 private:
  friend class MemoryTiming<EmptyMemory>;
  struct Due {
    uint64_t serial, due;
  };

  void begin(std::deque<Due> &queue, bool write, uint64_t address, uint64_t bytes) {
    begun_.push_back({serial_, cycle_, address, bytes, write});
    queue.push_back({serial_++, ~uint64_t{0}});
  }

  // For MemoryTiming.
  uint8_t begin_read(uint64_t address, unsigned beats) {
    if (outside_) begin(reading_, false, address, uint64_t{beats} * bus_bytes_);
    return 0;
  }
  uint8_t begin_write(uint64_t, unsigned) const {
    return 0;
  }
  bool read_beat(const MemoryBurst &burst) {
    if (outside_ && burst.beats == 1) reading_.pop_front();
    return true;
  }
  void write_beat(const MemoryBurst &burst, bool) {
    if (!outside_ || burst.beats != 1) return;
    begin(writing_, true, burst.start, burst.address + bus_bytes_ - burst.start);
  }
  void keep_beat() const {}
  bool write_answer(const MemoryAnswer &) {
    if (outside_) writing_.pop_front();
    return true;
  }
  bool due(const MemoryBurst &burst, uint64_t cycle) const {
    return (outside_ ? reading_.front().due : burst.due) <= cycle;
  }
  bool due(const MemoryAnswer &answer, uint64_t cycle) const {
    return (outside_ ? writing_.front().due : answer.due) <= cycle;
  }

  bool outside_;
  unsigned bus_bytes_;
  uint64_t cycle_ = 0, serial_ = 0;
  std::vector<BegunBurst> begun_;
  std::deque<Due> reading_, writing_;  // in the order of their answers
};

}  // namespace ufp4::timing

#endif
