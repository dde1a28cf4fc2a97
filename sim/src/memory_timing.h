// SPDX-License-Identifier: Apache-2.0
// When an AXI4 memory takes and answers: settable latency and bandwidth, banks and rows behind them
// (dram.h), seeded random back-pressure on every channel. One set of rules for the harness's memory
// (memory.h), which moves data with it, and for the timed model (timing/core.h), which has none.
//
// sample() is called before each clock edge with what the master drives; slave() is what the memory
// drives, from that edge on. Data moves when its beat does. Without back-pressure answers come in
// the order of the requests; with it, beats of different IDs interleave, answers overtake each
// other where AXI allows it, and data of some writes are taken before their address; with a quarter
// of the seeds no read goes on while a write's data are not all there, with another quarter no
// write goes on while a read is open.
#ifndef UFP4_SIM_MEMORY_TIMING_H
#define UFP4_SIM_MEMORY_TIMING_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "dram.h"

namespace ufp4 {

/** Random readiness of one channel: free, now and then busy, or mostly busy, for random spans of
 * cycles. */
class Gate {
 public:
  /** @p random: 64 fresh random bits. @return whether the channel may move in the next cycle. */
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
                           // the answer
  unsigned bandwidth = 0;  // bytes a cycle, each way; 0: as wide as the bus
  uint64_t seed = 0;       // of the back-pressure; 0: none
  unsigned bursts = 0;  // in flight, of reads and of writes; 0: some, or with some seeds any number
  // The memory with banks behind the latency; without channels there is none.
  ufp4_dram_t dram = {};
  bool outside = false;  // of the timed model: when bursts are answered is somebody else's to say
  uint64_t cycle_fs = kNanosecond;  // the length of a cycle for the memory with banks
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

/** The signals that the master drives. */
struct MemoryMaster {
  bool arvalid, rready, awvalid, wvalid, bready;
  uint8_t arid, awid;
  unsigned arbeats, awbeats;
  uint64_t araddr, awaddr;
};

/** The signals that the memory drives. */
struct MemorySlave {
  bool arready, rvalid, rlast, awready, wready, bvalid;
  bool rerr, berr;  // SLVERR or DECERR, where the data say so in the burst or answer
  uint8_t rid, bid;
};

/**
 * @p Data has the data, and is derived from this:
 * uint8_t begin_read(address, beats) and begin_write, the response of a burst that begins;
 * bool read_beat(MemoryBurst &), whether the beat comes at all; void write_beat(const
 * MemoryBurst &, bool early), of the beat that the master drives, or of the oldest that was kept;
 * void keep_beat(), the one driven comes before its address; bool write_answer(MemoryAnswer &),
 * whether it comes at all; both may change the response. It may have its own due(const MemoryBurst
 * & or MemoryAnswer &, cycle), where it is not the latency that decides.
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

  /** Nothing is in flight on the bus any more. */
  void forget() {
    reads_.clear();
    writes_.clear();
    answers_.clear();
    early_ = 0;
    slave_ = {};
  }

  /** The memory with banks has its time from cycle @p ahead on, modulo 2^64. */
  void set_ahead(uint64_t ahead) {
    ahead_ = ahead;
  }

  /** @return whether anything moved on the bus. */
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

  /** All state that later cycles depend on (timing/visit.h). */
  template <typename Visitor>
  void visit(Visitor &v) {
    v.queue(reads_, [&v](MemoryBurst &burst) {
      v.due(burst.due);
      v.exact(burst.beats);
      v.exact(burst.id | burst.resp << 8);
    });
    v.queue(writes_, [&](MemoryBurst &burst) {
      v.exact(burst.beats);
      if (rules_.outside) v.exact(burst.address - burst.start);  // how long it takes is all of it
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

  // Beats and answers that are on the bus may still be taken; nothing follows them.
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
  // A deep memory controller: enough for 64 bytes a cycle over some hundred cycles of latency. One
  // that is deeper than the core ever needs shows how many bursts the core itself begins.
  static constexpr size_t kDeep = 64, kEndless = 2048;
  static constexpr uint64_t kEndlessSeeds = 2;
  // With back-pressure the data of one burst in this many come before its address.
  static constexpr uint64_t kDataFirst = 8;
  // Who waits for whom, by bits 3:2 of the seed.
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

  /** Nothing is under way, and nothing comes. */
  bool idle(const MemoryMaster &master) const {
    return !rules_.seed && reads_.empty() && writes_.empty() && answers_.empty() &&
           !master.arvalid && !master.awvalid && !slave_.rvalid && !slave_.wready && !slave_.bvalid;
  }

  Data &data() {
    return static_cast<Data &>(*this);
  }

  // splitmix64.
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

  // The burst or answer of several to serve: the oldest, or with back-pressure the oldest of a
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

  // The cycle in which the pins are set for the first beat of a read, or the answer to a write,
  // that the memory has got in @p cycle. Where the bus says that there is no memory no bank is
  // asked.
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
    // AXI lets a memory wait for data before it takes the address, with half of the seeds until
    // they are offered; or until their first beat has been taken.
    if (early_ == 0 && (data_first_ || (rules_.seed & 1 && !master.wvalid))) {
      slave_.awready = false;
    }
    slave_.wready = (!writes_.empty() || data_first_) && open(w_gate_) && !writes_wait() &&
                    write_credit_.spend(rules_.bus_bytes);
  }

  // A beat of the oldest burst.
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
      write_credit_.available += rules_.bus_bytes;  // the offer was not taken up
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
  unsigned rate_;  // bytes a cycle, each way
  Dram dram_;
  uint64_t ahead_ = 0;
  size_t bursts_;  // in flight, of reads and of writes
  unsigned turns_;
  uint64_t random_state_;
  bool moved_ = false;
  std::deque<MemoryBurst> reads_, writes_;
  size_t early_ = 0;         // beats that were taken before the address they are for
  bool data_first_ = false;  // the next burst's first beat is taken before its address
  std::deque<MemoryAnswer> answers_;
  Credit read_credit_, write_credit_;
  Gate ar_gate_, r_gate_, aw_gate_, w_gate_, b_gate_;
  MemorySlave slave_{};
};

}  // namespace ufp4

#endif
