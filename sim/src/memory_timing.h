// SPDX-License-Identifier: Apache-2.0
// The timing of an AXI4 memory: configurable latency and bandwidth, banks and rows behind them
// (dram.h), and seeded random back-pressure on every channel. The same rules serve the harness's
// memory (memory.h), which moves data, and the timed model (timing/core.h), which has none.
//
// sample() is called before each clock edge with the master's signals; slave() has the memory's
// signals after that edge. Data are transferred with their beats.
//
// Without back-pressure responses come in the order of the requests. With it, beats of different
// IDs interleave, responses overtake each other where AXI allows it, and data of some writes are
// accepted before their address. With a quarter of the seeds no read proceeds while a write's data
// are incomplete; with another quarter no write proceeds while a read is open.
#ifndef UFP4_SIM_MEMORY_TIMING_H
#define UFP4_SIM_MEMORY_TIMING_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "dram.h"

namespace ufp4 {

/** The random readiness of a channel: free, occasionally busy, or mostly busy, for random numbers
 * of cycles. */
class Gate {
 public:
  /** Draws the next cycle. @p random: 64 fresh random bits. @return whether the channel may
   * transfer in that cycle. */
  bool open(uint64_t random) {
    if (span_ == 0) {
      static constexpr unsigned kThresholds[4] = {0, 64, 128, 230};
      span_ = 16 + static_cast<unsigned>(random >> 8 & 0x1FF);
      threshold_ = kThresholds[random >> 20 & 3];
    }
    span_--;
    return (random & 0xFF) >= threshold_;
  }

 private:
  unsigned span_ = 0, threshold_ = 0;
};

struct MemoryRules {
  unsigned bus_bytes = 0;
  unsigned latency = 0;    // from an accepted address to its first beat, and from the last beat to
                           // the response
  unsigned bandwidth = 0;  // bytes per cycle in each direction; 0: the bus width
  uint64_t seed = 0;       // seed of the back-pressure; 0: none
  unsigned bursts = 0;  // reads and writes in flight; 0: a typical number, or with some seeds any
  // The memory with banks behind the latency; none if it has no channels.
  ufp4_dram_t dram = {};
  bool outside = false;             // timed model: the caller decides when bursts are answered
  uint64_t cycle_fs = kNanosecond;  // cycle time for the memory with banks
};

struct MemoryBurst {
  uint64_t start, address, due;
  unsigned beats;
  uint8_t id, resp;
};

struct MemoryAnswer {
  uint64_t due;
  uint8_t id, resp;
};

/** The signals of the master. */
struct MemoryMaster {
  bool arvalid, rready, awvalid, wvalid, bready;
  uint8_t arid, awid;
  unsigned arbeats, awbeats;
  uint64_t araddr, awaddr;
};

/** The signals of the memory. */
struct MemorySlave {
  bool arready, rvalid, rlast, awready, wready, bvalid;
  bool rerr, berr;  // SLVERR or DECERR, if the data's burst or response says so
  uint8_t rid, bid;
};

/**
 * The class @p Data derives from this one and moves the data:
 *   uint8_t begin_read(address, beats), begin_write(address, beats)
 *                                    return the response of a burst that begins
 *   bool read_beat(MemoryBurst &)    returns whether the beat is delivered; may change its response
 *   void write_beat(const MemoryBurst &, bool early)
 *                                    takes the beat on the pins, or the oldest one kept
 *   void keep_beat()                 keeps a beat that precedes its address
 *   bool write_answer(MemoryAnswer &)
 *                                    returns whether the response is delivered; may change it
 *   due(const MemoryBurst & or MemoryAnswer &, cycle)
 *                                    if overridden, determines the time in place of the latency
 */
template <typename Data>
class MemoryTiming {
 public:
  explicit MemoryTiming(const MemoryRules &rules)
      : rules_(rules),
        rate_(rules.bandwidth ? std::min(rules.bandwidth, rules.bus_bytes) : rules.bus_bytes),
        dram_(rules.dram),
        bursts_(rules.bursts                 ? rules.bursts
                : rules.seed & kEndlessSeeds ? kEndless
                                             : kDeep),
        turns_(static_cast<unsigned>(rules.seed >> 2 & 3)),
        random_state_(rules.seed) {}

  const MemorySlave &slave() const {
    return slave_;
  }

  /** Forgets everything in flight on the bus. */
  void forget() {
    reads_.clear();
    writes_.clear();
    answers_.clear();
    early_ = 0;
    slave_ = {};
  }

  /** Sets the cycle at which the time of the memory with banks begins, modulo 2^64. */
  void set_ahead(uint64_t ahead) {
    ahead_ = ahead;
  }

  /** Simulates a clock edge. @return whether anything was transferred on the bus. */
  bool sample(uint64_t cycle, const MemoryMaster &master) {
    moved_ = false;
    read_credit_.fill(rate_, rules_.bus_bytes);
    write_credit_.fill(rate_, rules_.bus_bytes);
    if (idle(master)) {
      slave_.arready = slave_.awready = true;
      return false;
    }
    sample_read_address(cycle, master);
    sample_read_data(cycle, master);
    sample_write_data(cycle, master);
    sample_write_address(cycle, master);
    sample_answer(cycle, master);
    return moved_;
  }

  /** Visits all state on which later cycles depend (timing/visit.h). */
  template <typename Visitor>
  void visit(Visitor &v) {
    v.queue(reads_, [&v](MemoryBurst &burst) {
      v.due(burst.due);
      v.exact(burst.beats);
      v.exact(burst.id | burst.resp << 8);
    });
    v.queue(writes_, [&](MemoryBurst &burst) {
      v.exact(burst.beats);
      if (rules_.outside) v.exact(burst.address - burst.start);  // the whole length will matter
      v.exact(burst.id | burst.resp << 8);
    });
    v.queue(answers_, [&v](MemoryAnswer &answer) {
      v.due(answer.due);
      v.exact(answer.id | answer.resp << 8);
    });
    v.exact(read_credit_.available);
    v.exact(write_credit_.available);
    v.exact(slave_.arready | slave_.rvalid << 1 | slave_.rlast << 2 | slave_.awready << 3 |
            slave_.wready << 4 | slave_.bvalid << 5 | slave_.rid << 6 | slave_.bid << 8 |
            slave_.rerr << 10 | slave_.berr << 11);
  }

 protected:
  template <typename T>
  static bool due(const T &of, uint64_t cycle) {
    return of.due <= cycle;
  }

  // Beats and responses on the bus may still be accepted, but nothing follows them.
  void silence(const MemoryMaster &master) {
    slave_.arready = slave_.awready = slave_.wready = false;
    slave_.rvalid = slave_.rvalid && !master.rready;
    slave_.bvalid = slave_.bvalid && !master.bready;
  }

  const std::deque<MemoryBurst> &reads() const {
    return reads_;
  }
  const std::deque<MemoryBurst> &writes() const {
    return writes_;
  }
  const std::deque<MemoryAnswer> &answers() const {
    return answers_;
  }

 private:
  // Bursts of a deep memory controller: enough for 64 bytes per cycle over some hundred cycles of
  // latency. A memory deeper than the core needs shows how many bursts the core itself begins.
  static constexpr size_t kDeep = 64, kEndless = 2048;
  static constexpr uint64_t kEndlessSeeds = 2;
  // With back-pressure one in this many bursts has its data before its address.
  static constexpr uint64_t kDataFirst = 8;
  // Which direction waits for the other, by bits 3:2 of the seed.
  enum Turns : unsigned { kBothWays, kReadsWait, kWritesWait };

  struct Credit {
    void fill(unsigned rate, unsigned bus_bytes) {
      available = std::min(available + rate, bus_bytes + rate);
    }
    bool spend(unsigned bytes) {
      if (available < bytes) return false;
      available -= bytes;
      return true;
    }
    unsigned available = 0;
  };

  /** Returns whether nothing is under way or will arrive. */
  bool idle(const MemoryMaster &master) const {
    return !rules_.seed && reads_.empty() && writes_.empty() && answers_.empty() &&
           !master.arvalid && !master.awvalid && !slave_.rvalid && !slave_.wready && !slave_.bvalid;
  }

  Data &data() {
    return static_cast<Data &>(*this);
  }

  // Draws by splitmix64.
  uint64_t random() {
    uint64_t z = random_state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

  bool open(Gate &gate) {
    return !rules_.seed || gate.open(random());
  }

  bool reads_wait() const {
    return turns_ == kReadsWait && !writes_.empty();
  }
  bool writes_wait() const {
    return turns_ == kWritesWait && (!reads_.empty() || slave_.rvalid);
  }

  // Chooses the burst or response to serve: the oldest, or with back-pressure the oldest of a
  // random ID; queue.size() if none is due.
  template <typename T>
  size_t choose(const std::deque<T> &queue, uint64_t cycle) {
    if (!rules_.seed) return data().due(queue.front(), cycle) ? 0 : queue.size();
    size_t chosen = 0;
    const uint8_t id = queue[random() % queue.size()].id;
    while (queue[chosen].id != id) chosen++;
    return data().due(queue[chosen], cycle) ? chosen : queue.size();
  }

  template <typename T>
  static void remove(std::deque<T> &queue, size_t index) {
    if (index == 0) {
      queue.pop_front();
    } else {
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }

  // Returns the cycle in which the pins are set for the first beat of a read, or the response to a
  // write, that the memory received in @p cycle. Requests outside memory do not access banks.
  uint64_t answer_due(uint64_t cycle, bool write, uint64_t address, uint64_t bytes, uint8_t resp) {
    uint64_t took = rules_.latency;
    if (rules_.dram.channels != 0 && resp == 0) {
      const uint64_t now = (cycle - ahead_ + 1) * rules_.cycle_fs;
      const uint64_t end = dram_.serve(now, write, address, bytes);
      took += (end - now + rules_.cycle_fs - 1) / rules_.cycle_fs;
    }
    return cycle + std::max<uint64_t>(took, 1) - 1;
  }

  void sample_read_address(uint64_t cycle, const MemoryMaster &master) {
    if (master.arvalid && slave_.arready) {
      moved_ = true;
      const uint8_t resp = data().begin_read(master.araddr, master.arbeats);
      const uint64_t bytes = uint64_t{master.arbeats} * rules_.bus_bytes;
      reads_.push_back({master.araddr, master.araddr,
                        answer_due(cycle, false, master.araddr, bytes, resp), master.arbeats,
                        master.arid, resp});
    }
    slave_.arready = reads_.size() < bursts_ && open(ar_gate_) && !reads_wait();
  }

  void sample_read_data(uint64_t cycle, const MemoryMaster &master) {
    if (slave_.rvalid && master.rready) {
      moved_ = true;
      slave_.rvalid = false;
    }
    if (slave_.rvalid || reads_.empty() || !open(r_gate_) || reads_wait()) return;
    const size_t index = choose(reads_, cycle);
    if (index == reads_.size() || !read_credit_.spend(rules_.bus_bytes)) return;
    offer_beat(index);
  }

  void offer_beat(size_t index) {
    MemoryBurst &burst = index == 0 ? reads_.front() : reads_[index];
    if (!data().read_beat(burst)) {
      remove(reads_, index);
      return;
    }
    slave_.rvalid = true;
    slave_.rerr = burst.resp >> 1;
    slave_.rid = burst.id;
    burst.address += rules_.bus_bytes;
    slave_.rlast = --burst.beats == 0;
    if (slave_.rlast) remove(reads_, index);
  }

  void sample_write_address(uint64_t cycle, const MemoryMaster &master) {
    if (master.awvalid && slave_.awready) {
      moved_ = true;
      writes_.push_back({master.awaddr, master.awaddr, 0, master.awbeats, master.awid,
                         data().begin_write(master.awaddr, master.awbeats)});
      data_first_ = rules_.seed && random() % kDataFirst == 0;
      for (; early_ != 0 && !writes_.empty(); early_--) store_beat(cycle, true);
    }
    slave_.awready = writes_.size() + answers_.size() < bursts_ && open(aw_gate_) && !writes_wait();
    // AXI allows a memory to wait for data before it accepts the address: with half of the seeds
    // until they are offered, and for some bursts (data_first_) until their first beat has been
    // accepted.
    if (early_ == 0 && (data_first_ || (rules_.seed & 1 && !master.wvalid))) {
      slave_.awready = false;
    }
    slave_.wready = (!writes_.empty() || data_first_) && open(w_gate_) && !writes_wait() &&
                    write_credit_.spend(rules_.bus_bytes);
  }

  // Accepts a beat of the oldest burst.
  void store_beat(uint64_t cycle, bool early) {
    MemoryBurst &burst = writes_.front();
    data().write_beat(burst, early);
    burst.address += rules_.bus_bytes;
    if (--burst.beats == 0) {
      const uint64_t bytes = burst.address - burst.start;
      answers_.push_back(
          {answer_due(cycle, true, burst.start, bytes, burst.resp), burst.id, burst.resp});
      writes_.pop_front();
    }
  }

  void sample_write_data(uint64_t cycle, const MemoryMaster &master) {
    if (!slave_.wready) return;
    if (!master.wvalid) {
      write_credit_.available += rules_.bus_bytes;  // the offer was not accepted
      return;
    }
    moved_ = true;
    if (writes_.empty()) {
      data().keep_beat();
      early_++;
    } else {
      store_beat(cycle, false);
    }
  }

  void sample_answer(uint64_t cycle, const MemoryMaster &master) {
    if (slave_.bvalid && master.bready) {
      moved_ = true;
      slave_.bvalid = false;
    }
    if (slave_.bvalid || answers_.empty() || !open(b_gate_)) return;
    const size_t index = choose(answers_, cycle);
    if (index == answers_.size()) return;
    slave_.bvalid = data().write_answer(answers_[index]);
    slave_.bid = answers_[index].id;
    slave_.berr = answers_[index].resp >> 1;
    remove(answers_, index);
  }

  MemoryRules rules_;
  unsigned rate_;  // bytes per cycle in each direction
  Dram dram_;
  uint64_t ahead_ = 0;
  size_t bursts_;  // limit of reads and of writes in flight
  unsigned turns_;
  uint64_t random_state_;
  bool moved_ = false;
  std::deque<MemoryBurst> reads_, writes_;
  size_t early_ = 0;         // beats accepted before their address
  bool data_first_ = false;  // the next burst's first beat is accepted before its address
  std::deque<MemoryAnswer> answers_;
  Credit read_credit_, write_credit_;
  Gate ar_gate_, r_gate_, aw_gate_, w_gate_, b_gate_;
  MemorySlave slave_{};
};

}  // namespace ufp4

#endif
