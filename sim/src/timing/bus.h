// SPDX-License-Identifier: Apache-2.0
// A memory that several timed cores share: bursts are granted in turn, and the data of all cores
// share its width, or its banks (dram.h). The order is that of Ufp4Arbiter (ufp4_arbiter.h), and
// the time that of a bus behind it: of the bursts that begin in a cycle, one of each core is
// granted, starting behind the core that was served last, until none is left. Reads and writes each
// have their own width, and a response comes the latency after the burst's turn on that width. With
// banks the time is that of Ufp4Memory with a period of one cycle and a time resolution of a
// picosecond; no cycle is then skipped. All cores on the bus are stepped together, or skip cycles
// together (skip.h).
#ifndef UFP4_TIMING_BUS_H
#define UFP4_TIMING_BUS_H

#include <cstdint>
#include <vector>

#include "timing/core.h"

namespace ufp4::timing {

class Bus {
 public:
  /**
   *  @param bytes bytes per cycle in each direction, of a memory without banks
   *  @param dram the memory's banks, if it has channels
   *  @param cycle_fs the cycle time for the banks, in femtoseconds
   */
  Bus(unsigned latency, unsigned bytes, const ufp4_dram_t &dram, uint64_t cycle_fs)
      : latency_(latency),
        bytes_(bytes),
        banks_(dram.channels != 0),
        dram_(dram),
        cycle_fs_(cycle_fs) {}

  /** Adds a core. @p every_cycle: no cycle is skipped while it is on the bus. */
  void join(Core *core, bool every_cycle);
  void leave(const Core *core);
  bool empty() const {
    return cores_.empty();
  }
  /** Simulates one clock cycle of all cores. @return false if message() of one of them has an
   * error. */
  bool step();
  /** Calls step(), and then advances over more cycles if they have been seen before, at most @p
   * most in total. */
  bool leap(uint64_t most);

 private:
  /** The bursts that a core has begun in this cycle, and how many of them have been granted. */
  struct Begun {
    std::vector<BegunBurst> bursts;
    size_t served = 0;
  };
  void serve(Core *core, const BegunBurst &burst);
  uint64_t took(const BegunBurst &burst);
  bool may_skip();
  template <typename Visitor>
  void visit(Visitor &v);

  unsigned latency_, bytes_;
  bool banks_;
  Dram dram_;
  uint64_t cycle_fs_;
  uint64_t now_ = 0, free_[2] = {};      // free_: for reads and for writes
  size_t last_ = 0;                      // the core that was served last
  std::vector<Core *> cores_, stepped_;  // stepped_: those with which no cycle is skipped
  std::vector<Begun> begun_;
  Skip skip_;
};

}  // namespace ufp4::timing

#endif
