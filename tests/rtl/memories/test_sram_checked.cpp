// SPDX-License-Identifier: Apache-2.0
// A memory with parity returns the written data, and reports exactly the words in which one bit has
// changed.
#include <array>
#include <deque>

#include "Vsram_checked.h"
#include "verilated.h"

extern "C" {
#include "check.h"
}

namespace {

constexpr unsigned kMemories = 12, kDepth = 8, kErrorCycles = 3;

/** A word in pieces of 32 bits, and the number of wrong bits in it and its parity. */
struct Word {
  std::array<uint32_t, 3> bits;
  unsigned wrong;
};

class Memory {
 public:
  explicit Memory(unsigned which) : random_(check_random()), which_(which) {
    m.which_i = static_cast<uint8_t>(which);
    m.eval();
    width_ = m.width_o;
    for (unsigned i = 0; i < 4; i++) tick();
    settled_ = true;
    for (unsigned i = 0; i < kDepth; i++) {
      write(i);
      tick();
    }
  }
  ~Memory() {
    m.final();
  }

  unsigned width() const {
    return width_;
  }
  unsigned below(unsigned n) {
    return static_cast<unsigned>(check_below(&random_, n));
  }
  /** Writes random bits at the next tick. */
  void write(unsigned index) {
    Word word = {};
    for (unsigned bit = 0; bit < width_; bit++) word.bits[bit / 32] |= below(2) << bit % 32;
    m.we_i = 1;
    m.waddr_i = static_cast<uint8_t>(index);
    for (unsigned i = 0; i < 3; i++) m.wdata_i[i] = word.bits[i];
    words_[index] = word;
  }
  /** Reads at the next tick, which compares the word; the second tick after that compares the
   * error. */
  void read(unsigned index) {
    m.re_i = 1;
    m.raddr_i = static_cast<uint8_t>(index);
    reads_.push_back({cycle_, index, words_[index]});
  }
  /** Flips one bit of a word, or its parity if the bit is the width; nothing is under way then. */
  void flip(unsigned index, unsigned bit) {
    settle();
    m.flip_i = 1;
    m.flip_addr_i = static_cast<uint8_t>(index);
    m.flip_bit_i = static_cast<uint8_t>(bit);
    if (bit < width_) words_[index].bits[bit / 32] ^= 1u << bit % 32;
    words_[index].wrong ^= 1;
    tick();
  }
  void settle() {
    for (unsigned i = 0; i <= kErrorCycles; i++) tick();
  }

  void tick() {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
    m.we_i = m.re_i = m.flip_i = 0;
    cycle_++;
    bool error = false;
    for (const Read &each : reads_) {
      for (unsigned i = 0; i < 3 && each.cycle + 1 == cycle_; i++) {
        check_bits(each.index, m.rdata_o[i], each.word.bits[i], "bits %u.. of memory %u", 32 * i,
                   which_);
      }
      if (each.cycle + kErrorCycles == cycle_) error = each.word.wrong != 0;
    }
    if (settled_) check_bits(cycle_, m.error_o, error, "error of memory %u", which_);
    while (!reads_.empty() && reads_.front().cycle + kErrorCycles <= cycle_) reads_.pop_front();
  }

 private:
  struct Read {
    int64_t cycle;
    unsigned index;
    Word word;
  };
  Vsram_checked m;
  check_random_t random_;
  unsigned which_, width_ = 0;
  bool settled_ = false;  // what powers up has gone
  int64_t cycle_ = 0;
  std::array<Word, kDepth> words_ = {};
  std::deque<Read> reads_;
};

/** Each bit of a word and of its parity flips; the other words are read before and after it. */
TEST(each_flipped_bit_is_seen) {
  for (unsigned which = 0; which < kMemories; which++) {
    Memory memory(which);
    for (unsigned bit = 0; bit <= memory.width(); bit++) {
      for (unsigned index = 0; index < kDepth; index++) {
        memory.flip(index, bit);
        for (unsigned i = 0; i < kDepth; i++) {
          memory.read(i);
          memory.tick();
        }
        memory.settle();
        memory.write(index);
        memory.tick();
      }
    }
  }
}

/** Writes and reads at the same time, of different words or of the word that was just written. */
TEST(words_are_kept) {
  for (unsigned which = 0; which < kMemories; which++) {
    Memory memory(which);
    for (unsigned i = 0; i < 20000; i++) {
      const unsigned written = memory.below(2) ? memory.below(kDepth) : kDepth;
      const unsigned looked_at = memory.below(4) ? memory.below(kDepth) : kDepth;
      if (looked_at != kDepth && looked_at != written) memory.read(looked_at);
      if (written != kDepth) memory.write(written);
      memory.tick();
      if (memory.below(200) == 0)
        memory.flip(memory.below(kDepth), memory.below(memory.width() + 1));
    }
  }
}

}  // namespace
