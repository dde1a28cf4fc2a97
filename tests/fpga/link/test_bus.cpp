// SPDX-License-Identifier: Apache-2.0
// Tests the board's bus with block memory behind it: random bursts like the core's and single beats
// of the link, with stalls of every channel; and the core is disconnected and reset amid its
// bursts.

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>

#include "Vbus.h"
#include "frame.h"

extern "C" {
#include "check.h"
}

namespace {

using link_test::Bytes;

constexpr uint32_t kMemory = 16384, kBus = 8, kMostBeats = 16;
constexpr uint64_t kOutside = 0x8000000000;
constexpr unsigned kLimit = 200000;

struct Burst {
  uint64_t address;
  unsigned beats, id;
};
struct Beat {
  uint64_t data;
  uint8_t strobes;
};

/** One master: its pending requests and the answers that are due. The core is 0, the link 1. */
struct Master {
  std::deque<Burst> reads, writes;  // the first is at the port
  std::deque<Beat> beats;           // of writes
  std::deque<Burst> reads_due;      // accepted, in order; `come` beats of the first have arrived
  std::deque<Burst> writes_due;     // accepted, not answered
  unsigned come = 0;
  bool ar = false, aw = false, w = false;  // offered

  bool done() const {
    return reads.empty() && writes.empty() && beats.empty() && reads_due.empty() &&
           writes_due.empty();
  }
};

class Traffic {
 public:
  explicit Traffic(unsigned stall) : stall_(stall), random_(check_random()) {
    model_->eval();
    for (int i = 0; i < 2; i++) cycle();
    model_->rst_ni = 1;
    for (int i = 0; i < 20; i++) cycle();
  }
  ~Traffic() {
    model_->final();
  }

  /** Queues a write of random bytes by a master, with random strobes or all. */
  void write(unsigned who, const Burst &burst, bool whole = false) {
    masters_[who].writes.push_back(burst);
    for (unsigned i = 0; i < burst.beats; i++) {
      const Beat beat{check_next(&random_),
                      static_cast<uint8_t>(whole || below(2) ? 0xFF : check_next(&random_))};
      masters_[who].beats.push_back(beat);
      for (unsigned b = 0; b < kBus; b++)
        if (beat.strobes >> b & 1 && burst.address + kBus <= kMemory)
          want[burst.address + i * kBus + b] = static_cast<uint8_t>(beat.data >> 8 * b);
    }
  }
  void read(unsigned who, const Burst &burst) {
    masters_[who].reads.push_back(burst);
  }
  /** Queues random bursts of both masters: writes in one half of each one's memory, reads in the
   * other. */
  void add(unsigned count, unsigned half, bool core_writes = true) {
    for (unsigned n = 0; n < count; n++) {
      for (unsigned who = 0; who < 2; who++) {
        if (who == 1 || core_writes) write(who, burst(who, half));
        read(who, burst(who, 1 - half));
      }
    }
  }
  Burst burst(unsigned who, unsigned half) {
    const unsigned beats = who == 0 ? 1 + below(kMostBeats) : 1;
    const uint32_t base = who * kMemory / 2 + half * kMemory / 4;
    const uint64_t address = base + kBus * below(kMemory / 4 / kBus - beats);
    return {who == 0 && below(16) == 0 ? address + kOutside : address, beats,
            who == 0 ? below(4) : 0};
  }
  bool done(unsigned who) const {
    return masters_[who].done();
  }
  bool run() {
    unsigned cycles = 0;
    while (!(done(0) && done(1)) && cycles++ < kLimit) cycle();
    return check_that(now_, cycles < kLimit, "traffic has not ended");
  }
  void fill() {
    for (uint32_t address = 0; address < kMemory; address += kMostBeats * kBus)
      write(0, {address, kMostBeats, 1}, true);
    run();
  }

  uint32_t below(uint32_t bound) {
    return check_below(&random_, bound);
  }
  void cycle();
  /** Disconnects the core; if it @p hangs, it sends no write data and accepts no answers. */
  void reset_core(bool hangs);
  unsigned hold();

  Bytes want = Bytes(kMemory);
  bool hold_now = false;
  bool beats_wait = false;  // the core's write beats wait for all of its reads
  unsigned reads_checked = 0, errors = 0;

 private:
  bool goes() {
    return stall_ == 0 || below(stall_) != 0;
  }
  void offer(unsigned who);
  void drive();
  void take_reads(unsigned who, bool valid, bool ready);
  void take_answers(unsigned who, bool valid, bool ready);

  const unsigned stall_;
  check_random_t random_;
  std::unique_ptr<Vbus> model_ = std::make_unique<Vbus>();
  std::array<Master, 2> masters_;
  bool hung_ = false;
  int64_t now_ = 0;
};

// An offer stays until it is taken.
void Traffic::offer(unsigned who) {
  Master &m = masters_[who];
  if (!m.reads.empty()) m.ar = m.ar || goes();
  if (!m.writes.empty()) m.aw = m.aw || goes();
  const bool may = !beats_wait || (m.reads.empty() && m.reads_due.empty());
  if (!m.beats.empty() && !(who == 0 && (hung_ || !may))) m.w = m.w || goes();
}

void Traffic::drive() {
  Vbus &m = *model_;
  const Master &core = masters_[0], &link = masters_[1];
  m.core_arvalid_i = core.ar, m.core_awvalid_i = core.aw, m.core_wvalid_i = core.w;
  m.link_arvalid_i = link.ar, m.link_awvalid_i = link.aw, m.link_wvalid_i = link.w;
  if (core.ar) {
    const Burst &burst = core.reads.front();
    m.core_araddr_i = burst.address, m.core_arlen_i = burst.beats - 1, m.core_arid_i = burst.id;
  }
  if (core.aw) {
    const Burst &burst = core.writes.front();
    m.core_awaddr_i = burst.address, m.core_awlen_i = burst.beats - 1, m.core_awid_i = burst.id;
  }
  if (core.w) m.core_wdata_i = core.beats.front().data, m.core_wstrb_i = core.beats.front().strobes;
  if (link.ar) m.link_araddr_i = link.reads.front().address;
  if (link.aw) m.link_awaddr_i = link.writes.front().address;
  if (link.w) m.link_wdata_i = link.beats.front().data, m.link_wstrb_i = link.beats.front().strobes;
  m.core_rready_i = !hung_ && goes(), m.core_bready_i = !hung_ && goes();
  m.link_rready_i = goes(), m.link_bready_i = goes();
  m.stall_i = 0;
  for (unsigned i = 0; i < 5; i++) m.stall_i |= !goes() << i;
  m.hold_i = hold_now;
}

void Traffic::take_reads(unsigned who, bool valid, bool ready) {
  if (!valid || !ready) return;
  const Vbus &m = *model_;
  Master &master = masters_[who];
  if (!check_that(now_, !master.reads_due.empty(), "a beat that is not due")) return;
  const Burst &burst = master.reads_due.front();
  const uint64_t address = burst.address + master.come * kBus;
  const bool outside = address >= kMemory;
  uint64_t data = 0;
  if (!outside) std::memcpy(&data, &want[address], kBus);
  check_bits(now_, m.rid_o, burst.id | who << 2, "ID of a read");
  check_bits(now_, m.rresp_o, outside ? 3 : 0, "response to a read at %llx",
             static_cast<unsigned long long>(address));
  if (!outside)
    check_bits(now_, m.rdata_o, data, "data at %llx", static_cast<unsigned long long>(address));
  master.come++;
  check_bits(now_, m.rlast_o, master.come == burst.beats, "last of %u beats", burst.beats);
  reads_checked++;
  errors += outside;
  if (master.come == burst.beats) {
    master.reads_due.pop_front();
    master.come = 0;
  }
}

void Traffic::take_answers(unsigned who, bool valid, bool ready) {
  if (!valid || !ready) return;
  Master &master = masters_[who];
  if (!check_that(now_, !master.writes_due.empty(), "an answer that is not due")) return;
  const Burst &burst = master.writes_due.front();
  check_bits(now_, model_->bid_o, burst.id | who << 2, "ID of an answer");
  check_bits(now_, model_->bresp_o, burst.address >= kMemory ? 3 : 0, "response to a write");
  errors += burst.address >= kMemory;
  master.writes_due.pop_front();
}

void Traffic::cycle() {
  Vbus &m = *model_;
  for (unsigned who = 0; who < 2; who++) offer(who);
  drive();
  m.eval();
  const bool ready[2][3] = {{m.core_arready_o != 0, m.core_awready_o != 0, m.core_wready_o != 0},
                            {m.link_arready_o != 0, m.link_awready_o != 0, m.link_wready_o != 0}};
  if (m.rst_ni) {
    take_reads(0, m.core_rvalid_o, m.core_rready_i);
    take_reads(1, m.link_rvalid_o, m.link_rready_i);
    take_answers(0, m.core_bvalid_o, m.core_bready_i);
    take_answers(1, m.link_bvalid_o, m.link_bready_i);
  }
  for (unsigned who = 0; who < 2; who++) {
    Master &master = masters_[who];
    if (master.ar && ready[who][0]) {
      master.reads_due.push_back(master.reads.front());
      master.reads.pop_front();
      master.ar = false;
    }
    if (master.aw && ready[who][1]) {
      master.writes_due.push_back(master.writes.front());
      master.writes.pop_front();
      master.aw = false;
    }
    if (master.w && ready[who][2]) {
      master.beats.pop_front();
      master.w = false;
    }
  }
  m.clk_i = 1;
  m.eval();
  m.clk_i = 0;
  m.eval();
  now_++;
}

void Traffic::reset_core(bool hangs) {
  Vbus &m = *model_;
  hung_ = hangs;
  m.core_reset_i = 1;
  unsigned low = 0;
  for (unsigned cycles = 0; cycles < 5000 && !m.core_reset_done_o; cycles++) {
    cycle();
    if (!m.core_rst_no) {
      masters_[0] = {};
      low++;
    }
  }
  check_bits(now_, low, 16, "cycles of the core's reset");
  cycle();
  m.core_reset_i = 0;
  hung_ = false;
  check_that(now_, m.core_rst_no, "the core is still in reset");
}

unsigned Traffic::hold() {
  hold_now = true;
  unsigned cycles = 0;
  do cycle();
  while (!model_->held_o && ++cycles < 5000);
  check_that(now_, model_->held_o, "not held");
  for (int i = 0; i < 50; i++) {
    cycle();
    check_that(now_, model_->held_o, "held no more");
  }
  hold_now = false;
  return cycles;
}

TEST(bursts_of_both_masters) {
  for (unsigned stall : {0u, 8u, 2u}) {
    Traffic traffic(stall);
    traffic.fill();
    for (unsigned round = 0; round < 20; round++) {
      traffic.add(40, round % 2);
      if (!traffic.run()) return;
    }
    check_that(stall, traffic.reads_checked > 7000, "%u beats read", traffic.reads_checked);
    check_that(stall, traffic.errors > 100, "%u errors", traffic.errors);
  }
}

// A master gets through although the other one has many bursts left.
TEST(neither_master_starves) {
  for (unsigned who = 0; who < 2; who++) {
    Traffic traffic(0);
    traffic.fill();
    for (unsigned n = 0; n < 2000; n++) {
      traffic.write(who, traffic.burst(who, 0));
      traffic.read(who, traffic.burst(who, 1));
    }
    for (int i = 0; i < 100; i++) traffic.cycle();
    const unsigned before = traffic.reads_checked;
    traffic.read(1 - who, {(1 - who) * kMemory / 2, 1, 0});
    traffic.write(1 - who, {(1 - who) * kMemory / 2 + kMemory / 4, 1, 0});
    for (int i = 0; i < 200; i++) traffic.cycle();
    check_that(who, traffic.reads_checked > before + 100 / (who + 1), "reads go on");
    check_that(who, traffic.done(1 - who) && !traffic.done(who), "the other master starves");
    traffic.run();
  }
}

// The core may have any bursts under way and may hang. Its own writes may or may not arrive; all
// else must be right, the link's bursts included.
TEST(core_is_taken_off) {
  for (unsigned stall : {0u, 3u}) {
    Traffic traffic(stall);
    traffic.fill();
    for (unsigned round = 0; round < 200; round++) {
      // The core writes the place of one burst over and over, and reads elsewhere.
      traffic.add(20, 0, false);
      for (unsigned n = 0; n < 20; n++) traffic.write(0, {0, 1 + traffic.below(kMostBeats), n % 4});
      for (unsigned i = traffic.below(120); i > 0; i--) traffic.cycle();
      traffic.reset_core(round % 2);
      if (!traffic.run()) return;
      traffic.write(0, {0, kMostBeats, 0}, true);
      if (!traffic.run()) return;
      for (uint32_t at = 0; at < kMemory / 2 && round % 10 == 0; at += kMostBeats * kBus)
        traffic.read(0, {at, kMostBeats, 0});
      if (!traffic.run()) return;
    }
  }
}

TEST(nothing_moves_while_held) {
  Traffic traffic(4);
  traffic.fill();
  unsigned waited = 0;
  for (unsigned round = 0; round < 100; round++) {
    traffic.beats_wait = round % 2;
    traffic.add(10, round / 2 % 2);
    for (unsigned i = traffic.below(60); i > 0; i--) traffic.cycle();
    waited += traffic.hold();
    if (!traffic.run()) return;
  }
  check_that(0, waited > 50, "%u cycles until all was held", waited);
}

// The core reads a beat per cycle, without gaps between bursts.
TEST(memory_is_as_fast_as_the_bus) {
  Traffic traffic(0);
  traffic.fill();
  const unsigned before = traffic.reads_checked;
  for (unsigned n = 0; n < 100; n++) traffic.read(0, {n * 64, 8, n % 4});
  for (int i = 0; i < 400; i++) traffic.cycle();
  check_that(0, traffic.reads_checked - before >= 395, "%u beats in 400 cycles",
             traffic.reads_checked - before);
  traffic.run();
}

}  // namespace
