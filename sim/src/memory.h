// SPDX-License-Identifier: Apache-2.0
// An AXI4 memory: settable latency and bandwidth, seeded random back-pressure on every channel,
// DECERR outside.
//
// Each cycle: sample() before the clock edge looks at the pins and works out what the edge moves;
// drive() after it sets the pins of the next cycle. Data moves when its beat does. Without
// back-pressure answers come in the order of the requests; with it, beats of different IDs
// interleave, answers overtake each other where AXI allows it, and data of some writes are taken
// before their address.
#ifndef UFP4_SIM_MEMORY_H
#define UFP4_SIM_MEMORY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "core.h"
#include "ufp4_sim.h"

namespace ufp4 {

struct MemoryOptions {
  uint64_t base = 0, bytes = 0;
  unsigned latency = 0, bandwidth = 0;
  uint64_t seed = 0;
  uint64_t silent_cycle = 0;
  unsigned bursts = 0;  // in flight, of reads and of writes; 0: some, or with some seeds any number
};

/** Random readiness of one channel: free, now and then busy, or mostly busy, for random spans of
 * cycles. */
class Gate {
 public:
  /** @p random: 64 fresh random bits. @return whether the channel may move in the next cycle. */
  bool open(uint64_t random);

 private:
  unsigned span_ = 0, threshold_ = 0;
};

class Memory {
 public:
  Memory(const Pins &pins, unsigned bus_bytes, const MemoryOptions &options);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /** False if the host has no room for it. */
  bool ok() const {
    return data_ != nullptr;
  }
  uint8_t *at(uint64_t address, uint64_t bytes) const;

  /** The @p nth beat or answer from now fails in that way. */
  void fail(ufp4_sim_fault_t fault, uint64_t nth) {
    fault_ = fault;
    fault_in_ = nth;
  }

  /** What fail() has let go in the last cycle: the rest of a read, or the answer to a write, and
   * its ID. */
  struct Lost {
    bool read, write;
    uint8_t id;
  };
  const Lost &lost() const {
    return lost_;
  }

  /** Nothing is in flight on the bus any more. */
  void forget();
  /** @return whether anything moved on the bus. */
  bool sample(uint64_t cycle);
  void drive();

  /** What is under way, in words, for a report. */
  std::string describe() const;

 private:
  struct Burst {
    uint64_t address, due;
    unsigned beats;
    uint8_t id, resp;
  };
  /** Data that were taken before the address they are for. */
  struct Beat {
    std::array<uint8_t, 128> data;
    std::array<uint8_t, 16> strobes;
  };
  struct Answer {
    uint64_t due;
    uint8_t id, resp;
  };
  struct Credit {
    bool spend(unsigned bytes);
    unsigned available = 0;
  };

  uint64_t random();
  uint8_t response(uint64_t address, unsigned beats) const;
  bool fails(ufp4_sim_fault_t fault);
  void sample_silence();
  void sample_read_address(uint64_t cycle);
  void sample_read_data(uint64_t cycle);
  void sample_write_address(uint64_t cycle);
  void sample_write_data(uint64_t cycle);
  void sample_answer(uint64_t cycle);
  template <typename T>
  size_t choose(const std::deque<T> &queue, uint64_t cycle);
  void offer_beat(size_t index);
  void store_bytes(uint8_t *to, const uint8_t *data, const uint8_t *strobes) const;
  void keep_beat(const uint8_t *data, const uint8_t *strobes);
  void store_beat(uint64_t cycle, const uint8_t *data, const uint8_t *strobes);

  const Pins &pins_;
  const unsigned bus_bytes_;
  const MemoryOptions options_;
  const unsigned rate_;  // bytes a cycle, each way
  const unsigned
      latency_;          // cycles between taking an address and setting the pins for its first beat
  const size_t bursts_;  // in flight, of reads and of writes
  uint8_t *data_ = nullptr;
  uint64_t random_state_;
  ufp4_sim_fault_t fault_ = UFP4_SIM_FAULT_NONE;
  uint64_t fault_in_ = 0;  // beats or answers until it happens
  bool moved_ = false;
  Lost lost_{};

  std::deque<Burst> reads_, writes_;
  std::deque<Beat> early_;
  bool data_first_ = false;  // the next burst's first beat is taken before its address
  std::deque<Answer> answers_;
  Credit read_credit_, write_credit_;
  Gate ar_gate_, r_gate_, aw_gate_, w_gate_, b_gate_;

  // The pins of the next cycle.
  struct {
    bool arready, rvalid, rlast, awready, wready, bvalid;
    uint8_t rid, rresp, bid, bresp;
    const uint8_t *rdata;
    bool rnew, bnew;
  } next_{};
};

}  // namespace ufp4

#endif
