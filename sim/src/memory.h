// SPDX-License-Identifier: Apache-2.0
// An AXI4 memory: the rules of memory_timing.h on the pins of a core, with data, faults, and DECERR
// outside. In each cycle sample() reads the pins before the clock edge and computes what the edge
// transfers; drive() sets the pins of the next cycle after it.
#ifndef UFP4_SIM_MEMORY_H
#define UFP4_SIM_MEMORY_H

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "core.h"
#include "memory_timing.h"
#include "ufp4_sim.h"

namespace ufp4 {

struct MemoryOptions {
  uint64_t base = 0, bytes = 0;
  unsigned latency = 0, bandwidth = 0;
  uint64_t seed = 0;
  uint64_t silent_cycle = 0;
  unsigned bursts = 0;  // reads and writes in flight; 0: a typical number, or with some seeds any
  ufp4_dram_t dram = {};
  uint64_t cycle_fs = kNanosecond;  // cycle time for it
};

class Memory : private MemoryTiming<Memory> {
 public:
  Memory(const Pins &pins, unsigned bus_bytes, const MemoryOptions &options);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /** Returns whether the constructor got its memory from the host. */
  bool ok() const {
    return data_ != nullptr;
  }
  uint8_t *at(uint64_t address, uint64_t bytes) const;

  /** Makes the @p nth beat or response from now fail in that way. */
  void fail(ufp4_sim_fault_t fault, uint64_t nth) {
    fault_ = fault;
    fault_in_ = nth;
  }

  /** The rest of a read, or the response to a write, that fail() has dropped in the last cycle,
   * and its ID. */
  struct Lost {
    bool read, write;
    uint8_t id;
  };
  const Lost &lost() const {
    return lost_;
  }

  /** Forgets everything in flight on the bus. */
  void forget();
  /** Simulates a clock edge. @return whether anything was transferred on the bus. */
  bool sample(uint64_t cycle);
  void drive();

  /** Describes the transfers under way, for a report. */
  std::string describe() const;

 private:
  friend class MemoryTiming<Memory>;
  /** Data that were accepted before their address. */
  struct Beat {
    std::array<uint8_t, 128> data;
    std::array<uint8_t, 16> strobes;
  };

  // Functions that MemoryTiming calls.
  uint8_t response(uint64_t address, unsigned beats) const;
  uint8_t begin_read(uint64_t address, unsigned beats) const {
    return response(address, beats);
  }
  uint8_t begin_write(uint64_t address, unsigned beats) const {
    return response(address, beats);
  }
  bool read_beat(const MemoryBurst &burst);
  void write_beat(const MemoryBurst &burst, bool early);
  void keep_beat();
  bool write_answer(const MemoryAnswer &answer);

  MemoryMaster master() const;
  bool fails(ufp4_sim_fault_t fault);
  void store_bytes(uint8_t *to, const uint8_t *data, const uint8_t *strobes) const;

  const Pins &pins_;
  const unsigned bus_bytes_;
  const MemoryOptions options_;
  uint8_t *data_ = nullptr;
  ufp4_sim_fault_t fault_ = UFP4_SIM_FAULT_NONE;
  uint64_t fault_in_ = 0;  // beats or responses until it happens
  Lost lost_{};
  std::deque<Beat> early_;

  // Results that belong to the pins of the next cycle.
  struct {
    uint8_t rresp, bresp;
    const uint8_t *rdata;
    bool rnew, bnew;
  } next_{};
};

}  // namespace ufp4

#endif
