// SPDX-License-Identifier: Apache-2.0
// The arithmetic units of the contract fp32, bit for bit: sums against exact integers rounded by the golden model.
#include <cstdlib>
#include <vector>

#include "Vfp32_units.h"
#include "verilated.h"

extern "C" {
#include "check.h"
#include "ufp4/format.h"
}

namespace {

constexpr int kUnit = -258;  ///< exponent of a block whose two exponents are 0
constexpr uint32_t kInfinity = 0x7F800000u;

/** RNE32(acc + n * 2^e), zeros as +0, from integers: the upper one 38 bits up, of the lower one what is below that in
 *  its last bit. */
uint32_t reference(uint32_t acc, int64_t n, int e) {
  if ((acc & kInfinity) == kInfinity) return acc;
  const uint32_t field = acc >> 23 & 255;
  int64_t m = (acc & 0x7FFFFF) | (field ? 0x800000 : 0);
  if (acc >> 31) m = -m;
  const int acc_e = (field ? static_cast<int>(field) : 1) - 150;
  if (n == 0) return m == 0 ? 0 : acc;
  const bool block_above = e > acc_e;
  const int distance = std::abs(e - acc_e);
  const int64_t high = block_above ? n : m, low = block_above ? m : n;
  const int shift = distance > 38 ? 38 : distance, lost = distance - shift > 62 ? 62 : distance - shift;
  const int64_t magnitude = std::abs(low) >> lost | (std::abs(low) & ((int64_t{1} << lost) - 1) ? 1 : 0);
  const int64_t sum = high * (int64_t{1} << shift) + (low < 0 ? -magnitude : magnitude);
  const uint32_t f32 = ufp4_f32_from_scaled(sum, (block_above ? e : acc_e) - shift);
  return f32 << 1 == 0 ? 0 : f32;
}

struct Block {
  int dot;
  unsigned a_sig, b_sig, a_exp, b_exp;
  bool join;  ///< with the block before this one
};

class Units {
 public:
  Units() {
    m.clk_i = 0;
    m.eval();
  }
  ~Units() {
    m.final();
  }

  void tick() {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
  }

  /** Sends one block a cycle to acc, from memory, and compares the sum of the one that entered two edges before. */
  void add(uint32_t acc, const Block &block) {
    Sent now = {acc, block, block.dot};
    now.block.join = block.join && count_ > 0;
    if (now.block.join) now.dot += sent_[(count_ + 2) % 3].block.dot;
    sent_[count_ % 3] = now;
    enter(block);
    m.join_i = sent_[(count_ + 2) % 3].block.join;
    const Sent &then = sent_[(count_ + 1) % 3];
    m.hold_i = 0;
    m.keep_i = 0;
    m.load_i = 1;
    m.loaded_i = then.acc;
    m.eval();
    if (count_++ >= 2) compare(then, then.acc, m.sum_o);
    tick();
  }

  /** A sum of blocks in the running register, from zero. Pairs: every other one is held for the next. */
  void chain(const std::vector<Block> &blocks, bool pairs) {
    const size_t size = blocks.size();
    uint32_t acc = 0;
    for (size_t i = 0; i < size + 2; i++) {
      enter(blocks[i < size ? i : 0]);
      m.join_i = pairs && i % 2 == 0;  // of block i - 1
      const bool hold = pairs && i % 2 == 0;
      m.hold_i = i < 2 || hold;
      m.load_i = 0;
      m.keep_i = i > (pairs ? 3 : 2);
      m.eval();
      if (!m.hold_i) {
        const Block &block = blocks[i - 2];
        const Sent sent = {acc, block, block.dot + (pairs ? blocks[i - 3].dot : 0)};
        acc = compare(sent, acc, m.sum_o);
      }
      tick();
    }
  }

  /** Sends one number a cycle through the rounding at the drain. */
  void scale(uint32_t number, int exponent) {
    m.exponent_i = static_cast<uint32_t>(exponent) & 0x3FFFFu;
    m.number_i = number;
    tick();
    tick();
    const uint32_t field = number >> 23 & 255;
    const int64_t magnitude = (number & 0x7FFFFF) | (field ? 0x800000 : 0);
    const int unit = (field ? static_cast<int>(field) : 1) - 150 + exponent;
    uint32_t want = ufp4_f32_from_scaled(number >> 31 ? -magnitude : magnitude, unit);
    if (field == 255) want = number & 0x7FFFFF ? UFP4_F32_NAN : number;
    check_bits(scaled_++, m.f32_o, want, "%08x times 2^%d", number, exponent);
  }

  Vfp32_units m;

 private:
  struct Sent {
    uint32_t acc;
    Block block;
    int dot;  ///< of the pair
  };

  void enter(const Block &block) {
    m.dot_i = static_cast<uint32_t>(block.dot) & 0x1FFFu;
    m.a_sig_i = static_cast<uint8_t>(block.a_sig);
    m.b_sig_i = static_cast<uint8_t>(block.b_sig);
    m.a_exp_i = static_cast<uint16_t>(block.a_exp);
    m.b_exp_i = static_cast<uint16_t>(block.b_exp);
  }

  uint32_t compare(const Sent &sent, uint32_t acc, uint32_t got) {
    const Block &b = sent.block;
    const int64_t n = int64_t{sent.dot} * static_cast<int>(b.a_sig * b.b_sig);
    const uint32_t want = reference(acc, n, static_cast<int>(b.a_exp + b.b_exp) + kUnit);
    check_bits(compared_++, got, want, "%08x + %d * %u * %u * 2^(%u + %u - 258)", acc, sent.dot, b.a_sig, b.b_sig,
               b.a_exp, b.b_exp);
    return want;
  }

  int64_t count_ = 0, compared_ = 0, scaled_ = 0;
  Sent sent_[3] = {};
};

/** Exponents that put a block's last bit at 2^e, as far as there are any. */
Block at(int dot, unsigned a_sig, unsigned b_sig, int e) {
  const int sum = e - kUnit < 0 ? 0 : e - kUnit > 512 ? 512 : e - kUnit;
  return {dot, a_sig, b_sig, static_cast<unsigned>(sum / 2), static_cast<unsigned>(sum - sum / 2), false};
}

Block random_block(check_random_t *random, uint32_t acc) {
  const bool e4m3 = check_below(random, 2);
  const unsigned limit = check_below(random, 4) ? 2305 : 8;
  int dot = static_cast<int>(check_below(random, limit));
  if (check_below(random, 2)) dot = -dot;
  if (check_below(random, 8) == 0) return {dot, 1, 1, check_below(random, 257), check_below(random, 257), false};
  const int acc_e = static_cast<int>(acc >> 23 & 255) - 150;
  Block block = at(dot, e4m3 ? check_below(random, 16) : 1, e4m3 ? check_below(random, 16) : 1,
                   acc_e + static_cast<int>(check_below(random, 70)) - 40);
  block.join = !e4m3 && check_below(random, 2);
  return block;
}

/** Finite numbers and the infinities. */
uint32_t random_sum(check_random_t *random) {
  const uint32_t any = static_cast<uint32_t>(check_next(random));
  const uint32_t kind = check_below(random, 16);
  if (kind == 0) return any & 0x80000000u;
  if (kind == 1) return any & 0x807FFFFFu;
  if (kind == 2) return (any & 0x80000000u) | kInfinity;
  if (kind < 6) return any & 0xFFFF0000u & ~(1u << 30);
  return (any & kInfinity) == kInfinity ? any & 0x80FFFFFFu : any;
}

// --- Properties -------------------------------------------------------------------------------------

TEST(scale_number_exhaustive) {
  Units u;
  for (unsigned i = 0; i < 2 * UFP4_ELEM_COUNT * 256; i++) {
    const uint8_t byte = static_cast<uint8_t>(i);
    const ufp4_elem_t elem = static_cast<ufp4_elem_t>(i / 256 % UFP4_ELEM_COUNT);
    const bool e8m0 = i / 256 / UFP4_ELEM_COUNT;
    int sig = 1, exp = byte - 127;
    bool clean = byte != 0xFF;
    if (!e8m0) {
      clean = ufp4_e4m3_decode(byte, &sig, &exp);
      exp -= 9;
    }
    u.m.byte_i = byte;
    u.m.elem_i = static_cast<uint8_t>(elem);
    u.m.e8m0_i = e8m0;
    u.m.eval();
    check_bits(i, u.m.nan_o, !clean, "NaN of scale byte %02x, E8M0 %d", byte, e8m0);
    if (!clean) continue;
    check_bits(i, u.m.sig_o, static_cast<uint64_t>(sig), "significand of scale byte %02x, E8M0 %d", byte, e8m0);
    check_bits(i, u.m.exp_o, static_cast<uint64_t>(exp - ufp4_elem_frac(elem) + 129), "exponent of byte %02x, E8M0 %d",
               byte, e8m0);
  }
}

/** Sums at every boundary, and blocks at every distance: equal, cancelling, half a last place, under a subnormal. */
TEST(sum_boundaries) {
  Units u;
  const int dots[][3] = {{0, 15, 15},  {1, 1, 1},     {2, 1, 1},      {3, 1, 1},    {2304, 15, 15}, {2304, 1, 1},
                         {2303, 9, 9}, {1024, 8, 15}, {1, 15, 15},    {2047, 1, 1}, {2048, 1, 1},   {4, 8, 8}};
  const uint32_t fractions[] = {0, 1, 2, 0x3FFFFF, 0x400000, 0x555555, 0x7FFFFE, 0x7FFFFF};
  const uint32_t fields[] = {0, 1, 2, 3, 12, 20, 23, 24, 25, 126, 127, 128, 230, 252, 253, 254, 255};
  for (const uint32_t field : fields) {
    for (const uint32_t fraction : fractions) {
      const uint32_t acc = field << 23 | (field == 255 ? 0 : fraction);
      for (const auto &dot : dots) {
        for (int e = -50; e <= 32; e++) {
          const Block block = at(e % 2 ? dot[0] : -dot[0], static_cast<unsigned>(dot[1]), static_cast<unsigned>(dot[2]),
                                 static_cast<int>(field) - 150 + e);
          u.add(acc, block);
          u.add(acc | 0x80000000u, block);
        }
      }
    }
  }
}

/** Blocks at the ends of their range: far under the smallest subnormal number, far over the largest. */
TEST(sum_of_extreme_blocks) {
  Units u;
  for (const uint32_t acc : {0u, 1u, 0x80000001u, 0x00800000u, 0x807FFFFFu, 0x7F7FFFFFu, 0xFF7FFFFFu, 0x3F800000u}) {
    for (unsigned sum = 0; sum <= 512; sum++) {
      for (const int dot : {1, -1, 3, 2304, -2304, 0}) u.add(acc, {dot, 1, 1, sum / 2, sum - sum / 2, sum % 3 == 0});
    }
  }
}

TEST(sum_random) {
  Units u;
  check_random_t random = check_random();
  for (int i = 0; i < 1500000; i++) {
    const uint32_t acc = random_sum(&random);
    u.add(acc, random_block(&random, acc));
  }
}

/** Many more: what CI has a slice of. */
FULL_TEST(sum_random_many) {
  Units u;
  check_random_t random = check_random();
  for (int i = 0; i < 60000000; i++) {
    const uint32_t acc = random_sum(&random);
    u.add(acc, random_block(&random, acc));
  }
}

TEST(running_sums) {
  Units u;
  check_random_t random = check_random();
  for (int i = 0; i < 10000; i++) {
    const bool pairs = i % 2;
    std::vector<Block> blocks(2 * (1 + check_below(&random, 16)));
    for (Block &block : blocks) {
      block = random_block(&random, (check_below(&random, 20) + (pairs && i % 4 == 1 ? 1 : 120)) << 23);
      if (pairs) block.a_sig = block.b_sig = 1;
    }
    u.chain(blocks, pairs);
  }
}

TEST(drain_boundaries) {
  Units u;
  for (const uint32_t number : {0u, 1u, 2u, 3u, 0x400000u, 0x7FFFFFu, 0x800000u, 0x800001u, 0x3F800000u, 0x3FFFFFFFu,
                                0x7F7FFFFFu, 0x7F000000u, 0x7F800000u, 0x7FC00000u, 0x7F800001u}) {
    for (int exponent = -300; exponent <= 300; exponent++) {
      u.scale(number, exponent);
      u.scale(number | 0x80000000u, exponent);
    }
    for (const int exponent : {-65534, 65536, -65536}) u.scale(number, exponent);
  }
}

TEST(drain_random) {
  Units u;
  check_random_t random = check_random();
  for (int i = 0; i < 300000; i++) {
    const uint32_t number = static_cast<uint32_t>(check_next(&random));
    const int near = 1 - static_cast<int>(number >> 23 & 255) + static_cast<int>(check_below(&random, 60)) - 30;
    u.scale(number, i % 2 ? near : static_cast<int>(check_below(&random, 600)) - 300);
  }
}

}  // namespace

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(scale_number_exhaustive), CHECK_TEST(sum_boundaries),   CHECK_TEST(sum_of_extreme_blocks),
      CHECK_TEST(sum_random),              CHECK_TEST(sum_random_many),  CHECK_TEST(running_sums),
      CHECK_TEST(drain_boundaries),        CHECK_TEST(drain_random),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
