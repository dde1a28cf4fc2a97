// SPDX-License-Identifier: Apache-2.0
// The memory bus of a Verilated core as TLM-2.0: each burst is one generic payload. What the bus
// takes and when its beats move are the rules of memory_timing.h; when an answer comes is the
// target's.
#ifndef UFP4_SYSTEMC_BURSTS_H
#define UFP4_SYSTEMC_BURSTS_H

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "core.h"
#include "memory_timing.h"
#include "ufp4_systemc.h"

namespace ufp4 {

class Bursts : private MemoryTiming<Bursts> {
 public:
  /** Takes a burst to its target, from a thread, which it may let wait. */
  using Send = std::function<void(tlm::tlm_generic_payload &, sc_core::sc_time &)>;

  Bursts(const Pins &pins, const MemoryRules &rules, sc_core::sc_time period, Send send);

  /** Before the clock edge of @p cycle, in a thread: lets a delta cycle pass for a burst that
   * begins. @return whether anything moved on the bus. */
  bool sample(uint64_t cycle);
  /** After it. */
  void drive();
  /** Nothing is in flight on the bus any more; targets may go on with what they have. */
  void forget();
  /** Whether nothing is in flight. */
  bool idle() const {
    return reading_.empty() && filling_.empty() && answering_.empty();
  }

 private:
  friend class MemoryTiming<Bursts>;
  struct Burst {
    tlm::tlm_generic_payload payload;
    std::vector<uint8_t> data, enables;
    size_t filled = 0;   // bytes of a write that have come
    uint64_t began = 0;  // the cycle in which the target gets it
    uint64_t due = ~uint64_t{0};
    uint8_t response = 0;
  };
  using BurstPtr = std::shared_ptr<Burst>;
  /** A thread that takes one burst after another. */
  struct Worker {
    BurstPtr burst;
    sc_core::sc_event go;
  };

  // For MemoryTiming.
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
  void work(Worker *worker);
  void finish(Burst &burst, sc_core::sc_time took) const;

  const Pins &pins_;
  const unsigned bus_bytes_;
  const sc_core::sc_time period_;
  const Send send_;
  uint64_t cycle_ = 0;
  std::deque<BurstPtr> reading_, filling_, answering_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker *> free_;

  // What goes with the pins of the next cycle.
  struct {
    BurstPtr read;  // whose beat it is
    size_t offset;
    uint8_t bresp;
    bool bnew;
  } next_{};
};

}  // namespace ufp4

#endif
