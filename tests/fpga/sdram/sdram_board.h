// SPDX-License-Identifier: Apache-2.0
// The SDRAM controller, a chip that checks every command, and a master that checks all data.
#ifndef UFP4_SDRAM_BOARD_H
#define UFP4_SDRAM_BOARD_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "sdram_chip.h"

extern "C" {
#include "check.h"
}

namespace ufp4 {

constexpr unsigned kBeatBytes = 8;
constexpr uint64_t kRowBytes = 1024;
constexpr uint64_t kLimit = 4000000;

/** A burst in flight: the expected data of a read, or the data of a write. */
struct Burst {
  bool write;
  uint8_t id;
  uint64_t address;
  unsigned beats;
  std::vector<uint64_t> data;
  std::vector<uint8_t> strobes;
};

/** A board: controller, chip, and a master with its queue of bursts. */
template <typename Model>
class Board {
 public:
  explicit Board(double clock_hz, const SdramTimes &times = {})
      : random_(check_random()),
        model_(std::make_unique<Model>()),
        chip_(std::make_unique<SdramChip>(clock_hz, times)),
        want_(SdramChip::kBytes) {
    for (uint64_t a = 0; a < want_.size(); a += kRowBytes)
      std::memcpy(&want_[a], row(a), kRowBytes);
  }

  /** Makes the master pause between its offers and before it accepts. */
  bool gaps = false;
  /** The most reads, and the most writes, that the master has in flight at once. */
  unsigned in_flight = 8;

  void read(uint64_t address, unsigned beats) {
    queue_.push_back({false, id(), address, beats, {}, {}});
  }
  /** Queues a write of random data; about half of the bursts have random strobes. */
  void write(uint64_t address, unsigned beats) {
    Burst burst{true, id(), address, beats, {}, {}};
    const bool partial = check_below(&random_, 2) == 0;
    for (unsigned i = 0; i < beats; i++) {
      burst.data.push_back(check_next(&random_));
      burst.strobes.push_back(partial ? static_cast<uint8_t>(check_next(&random_)) : 0xFF);
    }
    queue_.push_back(std::move(burst));
  }

  void reset() {
    chip_->power_up();
    model_->rst_ni = 0;
    for (int i = 0; i < 3; i++) cycle();
    model_->rst_ni = 1;
  }
  /** Runs until everything is done. @return the cycles that this took. */
  uint64_t run() {
    const uint64_t start = cycle_;
    while (!done() && cycle_ - start < kLimit && chip_->message().empty()) cycle();
    return cycle_ - start;
  }
  /** Lets the last words arrive, and compares the whole chip. */
  void compare() {
    for (int i = 0; i < 60; i++) cycle();
    check_that(0, chip_->message().empty(), "%s", chip_->message().c_str());
    check_that(0, done(), "traffic has not ended after %llu cycles",
               static_cast<unsigned long long>(cycle_));
    for (uint64_t a = 0; a < want_.size(); a += kRowBytes) {
      if (!check_that(static_cast<int64_t>(a), std::memcmp(&want_[a], row(a), kRowBytes) == 0,
                      "memory is not what was written"))
        return;
    }
  }
  bool done() const {
    return queue_.empty() && reads_.empty() && writes_.empty();
  }
  void cycle() {
    offer();
    model_->eval();
    taken_ = {};
    if (model_->rst_ni && !model_->busy_o) take();
    model_->clk_i = 1;
    model_->eval();
    model_->arvalid_i &= !taken_.ar, model_->awvalid_i &= !taken_.aw, model_->wvalid_i &= !taken_.w;
    const Model &m = *model_;
    // The chip's clock is the inverse of the controller's: it rises here.
    const uint16_t dq = chip_->clock(ufp4::SdramPins::from(m.pins_o));
    model_->clk_i = 0;
    model_->dq_i = dq;
    model_->eval();
    cycle_++;
  }

  check_random_t &random() {
    return random_;
  }
  Model &model() {
    return *model_;
  }
  SdramChip &chip() {
    return *chip_;
  }
  uint64_t cycles() const {
    return cycle_;
  }

 private:
  static bool inside(uint64_t address) {
    return address < SdramChip::kBytes;
  }
  // Returns the row of an address, at the place that ufp4_sdram documents.
  uint16_t *row(uint64_t address) {
    return &chip_->word(address >> 10 & 3, static_cast<unsigned>(address >> 12), 0);
  }
  uint64_t beat(uint64_t address) {
    uint64_t value = 0;
    for (unsigned b = 0; b < kBeatBytes && inside(address); b++)
      value |= uint64_t{want_[address + b]} << 8 * b;
    return value;
  }
  uint8_t id() {
    return static_cast<uint8_t>(check_below(&random_, 8));
  }
  bool chance() {
    return !gaps || check_below(&random_, 3) != 0;
  }
  static bool meet(const Burst &a, const Burst &b) {
    return a.address < b.address + b.beats * kBeatBytes &&
           b.address < a.address + a.beats * kBeatBytes;
  }
  // A burst waits for those that it overlaps, so that the result of a read is defined.
  bool may_begin(const Burst &next) const {
    const auto meets = [&](const Burst &b) { return meet(next, b); };
    return (next.write ? writes_ : reads_).size() < in_flight &&
           std::none_of(reads_.begin(), reads_.end(), meets) &&
           std::none_of(writes_.begin(), writes_.end(), meets);
  }

  // Sets the pins that the master shows in the next cycle; an offer stays until it is taken.
  void offer() {
    Model &m = *model_;
    if (!m.arvalid_i && !m.awvalid_i && !queue_.empty() && may_begin(queue_.front()) && chance()) {
      const Burst &next = queue_.front();
      if (next.write) {
        m.awvalid_i = 1, m.awid_i = next.id, m.awaddr_i = next.address,
        m.awlen_i = static_cast<uint8_t>(next.beats - 1);
      } else {
        m.arvalid_i = 1, m.arid_i = next.id, m.araddr_i = next.address,
        m.arlen_i = static_cast<uint8_t>(next.beats - 1);
      }
    }
    if (!m.wvalid_i && !sending_.empty() && chance()) {
      const Burst &burst = sending_.front();
      m.wvalid_i = 1, m.wdata_i = burst.data[sent_], m.wstrb_i = burst.strobes[sent_];
      m.wlast_i = sent_ + 1 == burst.beats;
    }
    m.rready_i = chance();
    m.bready_i = chance();
  }

  void take() {
    Model &m = *model_;
    if (m.rvalid_o && m.rready_i) take_read();
    if (m.bvalid_o && m.bready_i) take_answer();
    if (m.wvalid_i && m.wready_o) {
      taken_.w = true;
      if (++sent_ == sending_.front().beats) {
        sent_ = 0;
        sending_.pop_front();
      }
    }
    if (m.awvalid_i && m.awready_o) {
      taken_.aw = true;
      writes_.push_back(queue_.front());
      sending_.push_back(queue_.front());
      queue_.pop_front();
      apply(writes_.back());
    }
    if (m.arvalid_i && m.arready_o) {
      taken_.ar = true;
      Burst &burst = queue_.front();
      for (unsigned i = 0; i < burst.beats; i++)
        burst.data.push_back(beat(burst.address + i * kBeatBytes));
      reads_.push_back(burst);
      queue_.pop_front();
    }
  }

  void apply(const Burst &burst) {
    if (!inside(burst.address)) return;
    for (unsigned i = 0; i < burst.beats; i++) {
      for (unsigned b = 0; b < kBeatBytes; b++)
        if (burst.strobes[i] >> b & 1)
          want_[burst.address + i * kBeatBytes + b] = static_cast<uint8_t>(burst.data[i] >> 8 * b);
    }
  }

  void take_read() {
    Model &m = *model_;
    const int64_t at = static_cast<int64_t>(cycle_);
    if (!check_that(at, !reads_.empty(), "a beat that nobody asked for")) return;
    const Burst &burst = reads_.front();
    const uint64_t address = burst.address + got_ * kBeatBytes;
    check_bits(at, m.rid_o, burst.id, "ID of the beat at 0x%llx",
               static_cast<unsigned long long>(address));
    check_bits(at, m.rresp_o, inside(burst.address) ? 0 : 3, "response at 0x%llx",
               static_cast<unsigned long long>(address));
    check_bits(at, m.rlast_o, got_ + 1 == burst.beats, "last of the beat at 0x%llx",
               static_cast<unsigned long long>(address));
    if (inside(burst.address))
      check_bits(at, m.rdata_o, burst.data[got_], "read at 0x%llx",
                 static_cast<unsigned long long>(address));
    if (++got_ == burst.beats) {
      got_ = 0;
      reads_.pop_front();
    }
  }

  void take_answer() {
    Model &m = *model_;
    const int64_t at = static_cast<int64_t>(cycle_);
    if (!check_that(at, !writes_.empty(), "an answer that nobody waits for")) return;
    check_bits(at, m.bid_o, writes_.front().id, "ID of an answer");
    check_bits(at, m.bresp_o, inside(writes_.front().address) ? 0 : 3,
               "answer to the write at 0x%llx",
               static_cast<unsigned long long>(writes_.front().address));
    writes_.pop_front();
  }

  check_random_t random_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<SdramChip> chip_;
  struct {
    bool ar, aw, w;
  } taken_{};
  std::vector<uint8_t> want_;
  std::deque<Burst> queue_, reads_, writes_, sending_;
  unsigned got_ = 0, sent_ = 0;
  uint64_t cycle_ = 0;
};

}  // namespace ufp4

#endif
