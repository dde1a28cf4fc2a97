// SPDX-License-Identifier: Apache-2.0
// The memory bus of a Verilated core as TLM-2.0: each burst is one generic payload. memory_timing.h
// decides what the bus accepts and when its beats move; the target decides when a response arrives.
#ifndef UFP4_SYSTEMC_BURSTS_H
#define UFP4_SYSTEMC_BURSTS_H

#include <deque>
#include <memory>

#include "carrier.h"
#include "core.h"
#include "memory_timing.h"

namespace ufp4 {

class Bursts : private MemoryTiming<Bursts> {
 public:
  Bursts(const Pins &pins, const MemoryRules &rules, std::unique_ptr<Carrier> carrier);

  /** Called before the clock edge of @p cycle, in a thread: lets a delta cycle pass for a burst
   * that begins. @return whether anything was transferred on the bus. */
  bool sample(uint64_t cycle);
  /** Called after the clock edge. */
  void drive();
  /** Forgets everything in flight on the bus; targets may continue with what they have. */
  void forget();
  Carrier &carrier() {
    return *carrier_;
  }
  /** Returns whether nothing is in flight. */
  bool idle() const {
    return reading_.empty() && filling_.empty() && answering_.empty();
  }

 private:
  friend class MemoryTiming<Bursts>;
  // Functions that MemoryTiming calls.
  uint8_t begin_read(uint64_t address, unsigned beats);
  uint8_t begin_write(uint64_t address, unsigned beats);
  bool read_beat(const MemoryBurst &burst);
  void write_beat(const MemoryBurst &burst, bool early);
  void keep_beat() {}
  bool write_answer(const MemoryAnswer &answer);
  bool due(const MemoryBurst &, uint64_t cycle) const {
    return reading_.front()->due <= cycle;
  }
  bool due(const MemoryAnswer &, uint64_t cycle) const {
    return answering_.front()->due <= cycle;
  }

  BurstPtr make(tlm::tlm_command command, uint64_t address, unsigned beats) const;
  void launch(const BurstPtr &burst);

  const Pins &pins_;
  const unsigned bus_bytes_;
  const std::unique_ptr<Carrier> carrier_;
  uint64_t cycle_ = 0;
  std::deque<BurstPtr> reading_, filling_, answering_;

  // Results that belong to the pins of the next cycle.
  struct {
    BurstPtr read;  // burst of the beat
    size_t offset;
    uint8_t bresp;
    bool bnew;
  } next_{};
};

}  // namespace ufp4

#endif
