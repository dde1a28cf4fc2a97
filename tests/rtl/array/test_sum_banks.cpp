// SPDX-License-Identifier: Apache-2.0
// The memories of a PE: reads return the written data, and a bit that flips in them, or flipped in
// a sum that was continued, is detected by the parity of that drained sum, and of no other.
#include <algorithm>
#include <array>
#include <deque>

#include "Vsum_banks.h"
#include "verilated.h"

extern "C" {
#include "check.h"
}

namespace {

constexpr unsigned kPes = 4, kBanks = 2, kDepth = 16, kWidth = 64;

/** A sum in a memory; wrong: its parity must be wrong. */
struct Sum {
  bool written, wrong;
  uint64_t value;
};

/** A sum that will be written in a given cycle. */
struct Write {
  int64_t cycle;
  unsigned bank, index, mark;
  bool wrong;
};

class Banks {
 public:
  explicit Banks(unsigned pe) : random_(check_random()) {
    m.pe_i = static_cast<uint8_t>(pe);
    m.eval();
    lag_ = m.lag_o;
    turns_ = m.turns_o;
    marks_ = m.marks_o;
    reset();
  }
  ~Banks() {
    m.final();
  }

  /** Holds the reset for the minimum time of rst_ni (docs/ip/interfaces.md). */
  void reset() {
    writes_.clear();
    ends_ = {};
    m.rst_ni = 0;
    for (int i = 0; i < 8; i++) tick();
    m.rst_ni = 1;
  }

  /** The blocks of a chunk for one sub-tile: the sum is loaded, or new, and written to a bank.
   * Returns at the last block, or at the first if the blocks of the next sub-tile come in between.
   * */
  void chunk(bool load, unsigned index, unsigned bank, unsigned blocks) {
    const unsigned mark = below(marks_);
    while (end_of(mark) > cycle_ || (marks_ > 1 && (end_of(1 - mark) - cycle_) % lag_ == 0)) tick();
    m.load_i = load;
    m.load_index_i = static_cast<uint8_t>(load ? index : below(kDepth));
    m.load_mark_i = static_cast<uint8_t>(mark);
    // With marks the blocks take as many cycles as a sum takes to return. Two sums are never
    // written in the same cycle.
    const int64_t apart = marks_ > 1 ? lag_ : turns_, end = cycle_ + (blocks - 1) * apart;
    const Write write = {end + lag_, bank, index, mark, load && sums_[0][index].wrong};
    writes_.insert(
        std::upper_bound(writes_.begin(), writes_.end(), write,
                         [](const Write &a, const Write &b) { return a.cycle < b.cycle; }),
        write);
    end_of(mark) = marks_ > 1 ? end + apart : end + 1;
    tick();
    while (turns_ * marks_ == 1 && cycle_ <= end) tick();
  }

  /** Flips a bit of a sum, or its parity bit. */
  void flip(unsigned bank, unsigned index, unsigned bit, bool parity) {
    (parity ? m.flip_parity_i : m.flip_i) = static_cast<uint8_t>(1u << bank);
    m.flip_index_i = static_cast<uint8_t>(index);
    m.flip_bit_i = static_cast<uint8_t>(bit);
    sums_[bank][index].wrong = !sums_[bank][index].wrong;
    if (!parity) sums_[bank][index].value ^= uint64_t{1} << bit;
    tick();
  }

  /** Reads a sum at the next tick, which compares the sum; the tick after that compares its parity.
   * */
  void drain(unsigned bank, unsigned index) {
    m.drain_i = static_cast<uint8_t>(1u << bank);
    m.drain_index_i = static_cast<uint8_t>(index);
    reads_.push_back({cycle_, bank, sums_[bank][index]});
  }

  void tick() {
    m.write_i = 0;
    m.write_index_i = static_cast<uint8_t>(below(kDepth));
    m.sum_i = check_next(&random_);
    if (!writes_.empty() && writes_.front().cycle == cycle_) {
      const Write write = writes_.front();
      m.write_i = static_cast<uint8_t>(1u << write.bank);
      m.write_index_i = static_cast<uint8_t>(write.index);
      m.write_mark_i = static_cast<uint8_t>(write.mark);
      sums_[write.bank][write.index] = {true, write.wrong, m.sum_i};
      last_ = write;
      writes_.pop_front();
    }
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
    cycle_++;
    m.load_i = m.drain_i = m.flip_i = m.flip_parity_i = 0;
    for (const Read &read : reads_) {
      const uint64_t data = read.bank ? m.data1_o : m.data0_o;
      if (read.cycle + 1 == cycle_)
        check_bits(cycle_, data, read.sum.value, "bank %u of lag %u", read.bank, lag_);
      if (read.cycle + 2 != cycle_) continue;
      const unsigned wrong = (m.parity_o >> read.bank & 1u) ^
                             static_cast<unsigned>(__builtin_parityll(read.sum.value));
      check_bits(cycle_, wrong, read.sum.wrong, "parity of %016llx, bank %u of lag %u",
                 static_cast<unsigned long long>(read.sum.value), read.bank, lag_);
    }
    while (!reads_.empty() && reads_.front().cycle + 2 <= cycle_) reads_.pop_front();
  }

  /** Runs until all sums and their parity are written. */
  void settle() {
    for (unsigned i = 0; i < lag_ + 8 + 4 * (marks_ > 1 ? lag_ : turns_); i++) tick();
  }

  unsigned below(unsigned n) {
    return static_cast<unsigned>(check_below(&random_, n));
  }
  /** A sum that is in the bank with its parity and is not being replaced; kDepth if there is none.
   * */
  unsigned some(unsigned bank) {
    const unsigned start = below(kDepth);
    for (unsigned i = 0; i < kDepth; i++) {
      const unsigned index = (start + i) % kDepth;
      bool moves = last_.cycle + 1 == cycle_ && last_.bank == bank && last_.index == index;
      for (const Write &write : writes_) moves |= write.bank == bank && write.index == index;
      if (sums_[bank][index].written && !moves) return index;
    }
    return kDepth;
  }

  /** Reads all sums. */
  void drain_all() {
    settle();
    for (unsigned bank = 0; bank < kBanks; bank++) {
      for (unsigned index = 0; index < kDepth; index++) {
        if (!sums_[bank][index].written) continue;
        drain(bank, index);
        tick();
        for (unsigned gap = below(3); gap > 0; gap--) tick();
      }
    }
    settle();
  }

 private:
  struct Read {
    int64_t cycle;
    unsigned bank;
    Sum sum;
  };
  Vsum_banks m;
  int64_t &end_of(unsigned mark) {
    return ends_[marks_ > 1 ? mark : cycle_ % turns_];
  }
  unsigned lag_, turns_, marks_;
  std::array<int64_t, 4> ends_ = {};  // of the chunks in the turns, by mark or cycle modulo turns_
  int64_t cycle_ = 0;
  check_random_t random_;
  std::array<std::array<Sum, kDepth>, kBanks> sums_ = {};
  std::deque<Write> writes_;
  Write last_ = {-1, 0, 0, 0, false};
  std::deque<Read> reads_;
};

/** Chunks of one to four blocks, with or without gaps, beside drains of the other bank; flips is
 * how many of a hundred chunks have a bit flipped before them. */
void random_chunks(unsigned flips) {
  for (unsigned pe = 0; pe < kPes; pe++) {
    Banks banks(pe);
    for (int i = 0; i < 20000; i++) {
      if (banks.below(100) < flips) {
        const unsigned bank = banks.below(kBanks), index = banks.some(bank);
        if (index != kDepth) banks.flip(bank, index, banks.below(kWidth), banks.below(8) == 0);
      }
      const unsigned drained = banks.some(1);
      if (drained != kDepth && banks.below(2)) banks.drain(1, drained);
      const unsigned loaded = banks.some(0);
      const bool load = loaded != kDepth && banks.below(4);
      banks.chunk(load, load ? loaded : banks.below(kDepth), banks.below(kBanks),
                  1 + banks.below(4));
      for (unsigned gap = banks.below(4) ? 0 : banks.below(8); gap > 0; gap--) banks.tick();
      if (banks.below(100) == 0) banks.drain_all();
    }
  }
}

TEST(sums_are_kept) {
  random_chunks(0);
}

TEST(flipped_bits_are_seen) {
  random_chunks(10);
}

/** Each bit of a sum and of its parity flips, in a drained sum and in a continued one, beside
 * others that do not change. */
TEST(each_bit) {
  for (unsigned pe = 0; pe < kPes; pe++) {
    for (unsigned bit = 0; bit <= kWidth; bit++) {
      for (unsigned blocks = 1; blocks <= 4; blocks++) {
        Banks banks(pe);
        for (unsigned index = 0; index < 3; index++) banks.chunk(false, index, 0, blocks);
        banks.settle();
        banks.flip(0, 1, bit % kWidth, bit == kWidth);
        for (unsigned index = 0; index < 3; index++) banks.chunk(true, index, 1, blocks);
        banks.drain_all();
      }
    }
  }
}

/** A reset at any distance from a load forgets the loaded sum, and the next sums are right. */
TEST(reset_forgets) {
  for (unsigned pe = 0; pe < kPes; pe++) {
    for (unsigned wait = 0; wait < 8; wait++) {
      Banks banks(pe);
      banks.chunk(false, 0, 0, 1);
      banks.settle();
      banks.flip(0, 0, 5, false);
      banks.chunk(true, 0, 1, 1);
      for (unsigned i = 0; i < wait; i++) banks.tick();
      banks.reset();
      banks.chunk(false, 1, 0, 1);
      banks.drain_all();
    }
  }
}

}  // namespace
