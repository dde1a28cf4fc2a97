// SPDX-License-Identifier: Apache-2.0
// The arithmetic units of the QUANT engine against the golden model, bit for bit.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "Vquant_units.h"
#include "verilated.h"

extern "C" {
#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/random.h"
#include "ufp4/rht.h"
}

namespace {

using Block = std::array<uint32_t, 16>;

constexpr int kOptions = 24;
constexpr uint64_t kSeed = 0x0123456789ABCDEFu;
constexpr uint64_t kTensorId = 0xFEDCBA9876543210u;
const char *const kElemNames[] = UFP4_ELEM_NAMES;

/** Option set @p n of element x RHT x rounding x scale rounding. */
ufp4_quantize_t options(int n) {
  ufp4_quantize_t how = {};
  how.elem = static_cast<ufp4_elem_t>(n % 3);
  how.rht = n / 3 % 2 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
  how.rht_mask = UFP4_RHT_DEFAULT_MASK;
  how.round = n / 6 % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE;
  how.scale_round = n / 12 % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE;
  how.seed = kSeed;
  how.tensor_id = kTensorId;
  how.exponent_given = 1;
  return how;
}

/** The Verilated units and their clock. */
class Units {
 public:
  Units() {
    m.rst_ni = 0;
    m.clk_i = 0;
    m.out_ready_i = 1;
    tick();
    tick();
    m.rst_ni = 1;
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

  void configure(const ufp4_quantize_t &how, int t) {
    m.amax_i = 0;
    m.e8m0_i = 0;
    m.rht_i = static_cast<uint8_t>(how.rht);
    m.rht_mask_i = how.rht_mask;
    m.elem_i = static_cast<uint8_t>(how.elem);
    m.sr_i = how.round == UFP4_ROUND_SR;
    m.scale_up_i = how.scale_round == UFP4_SCALE_ROUND_UP;
    m.exponent_i = static_cast<uint16_t>(t);
    m.seed_i = how.seed;
    m.tensor_id_i = how.tensor_id;
  }

  void words(const Block &block) {
    std::memcpy(m.in_words_i.data(), block.data(), sizeof block);
  }

  Vquant_units m;
};

/** How busy both sides of the pipe are: a cycle is idle with chance n/8. */
struct Pressure {
  unsigned in_idle, out_idle;
};

void check_result(int64_t index, Units &u, const Block &bits, const ufp4_quantize_t &how, int t, uint64_t group) {
  uint8_t random[16], want[16], scale;
  char what[96];
  ufp4_random_block(how.seed, how.tensor_id, group, random);
  const unsigned flags = ufp4_quantize_block(bits.data(), &how, t, random, want, &scale);
  std::snprintf(what, sizeof what, "%s%s%s%s, t %d", kElemNames[how.elem], how.rht ? " rht" : "",
                how.round == UFP4_ROUND_SR ? " sr" : "", how.scale_round == UFP4_SCALE_ROUND_UP ? " up" : "", t);
  check_bits(index, u.m.out_scale_o, scale, "%s: scale, x0 %08x", what, bits[0]);
  check_bits(index, u.m.out_nan_o, (flags & UFP4_FLAG_NAN) != 0, "%s: nan, x0 %08x", what, bits[0]);
  check_bits(index, u.m.out_saturated_o, (flags & UFP4_FLAG_ROW_SATURATED) != 0, "%s: saturated, x0 %08x", what,
             bits[0]);
  for (unsigned i = 0; i < 16; i++) {
    check_bits(index, u.m.out_codes_o >> 4 * i & 15, want[i], "%s: code %u of %08x, r %02x, scale %02x", what, i,
               bits[i], random[i], scale);
  }
}

/** Blocks through the pipe with one option set and exponent; block i draws the random bytes of group @p group + i. */
void run_blocks(Units &u, const std::vector<Block> &blocks, const ufp4_quantize_t &how, int t, uint64_t group,
                Pressure pressure = {0, 0}) {
  check_random_t random = check_random();
  u.configure(how, t);
  size_t in = 0, out = 0;
  uint64_t drawn = 0;
  for (uint64_t cycle = 0; out < blocks.size(); cycle++) {
    if (cycle > 64 * blocks.size() + 64) {
      check_that(static_cast<int64_t>(out), 0, "the pipe has stopped: %zu of %zu blocks came out", out, blocks.size());
      return;
    }
    u.m.in_valid_i = in < blocks.size() && check_below(&random, 8) >= pressure.in_idle;
    u.m.out_ready_i = check_below(&random, 8) >= pressure.out_idle;
    if (in < blocks.size()) u.words(blocks[in]);
    u.m.group_i = group + drawn;
    u.m.eval();
    if (u.m.out_valid_o && u.m.out_ready_i) {
      check_result(static_cast<int64_t>(out), u, blocks[out], how, t, group + out);
      out++;
    }
    in += u.m.in_valid_i && u.m.in_ready_o;
    drawn += u.m.group_take_o;
    u.tick();
  }
  u.m.in_valid_i = 0;
  u.m.out_ready_i = 1;
}

/** Through every option set with exponent @p t. */
void run_all(Units &u, const std::vector<Block> &blocks, int t) {
  for (int n = 0; n < kOptions; n++) run_blocks(u, blocks, options(n), t, 0);
}

uint32_t bits_of(double value) {
  return ufp4_f32_bits(static_cast<float>(value));
}

// --- Threefry ---------------------------------------------------------------------------------------

void check_random_words(Units &u, int64_t index, uint64_t seed, uint64_t id, uint64_t group, const uint32_t want[4]) {
  u.m.seed_i = seed;
  u.m.tensor_id_i = id;
  u.m.group_i = group;
  for (int i = 0; i < 7; i++) u.tick();
  for (unsigned w = 0; w < 4; w++) {
    check_bits(index, u.m.random_words_o[w], want[w], "word %u, seed %llx, id %llx, group %llx", w,
               static_cast<unsigned long long>(seed), static_cast<unsigned long long>(id),
               static_cast<unsigned long long>(group));
  }
}

TEST(threefry_known_answer) {
  static const uint32_t want[4] = {0xa97328cd, 0xa9a95582, 0x2e34d974, 0xfe50811e};
  Units u;
  check_random_words(u, 0, 0, 0, 0, want);
}

TEST(threefry_random_counters) {
  check_random_t random = check_random();
  Units u;
  for (int64_t i = 0; i < 3000; i++) {
    const uint64_t seed = check_next(&random), id = check_next(&random);
    const uint64_t group = check_next(&random) >> check_below(&random, 64);
    uint8_t bytes[16];
    uint32_t want[4];
    ufp4_random_block(seed, id, group, bytes);
    std::memcpy(want, bytes, sizeof want);
    check_random_words(u, i, seed, id, group, want);
  }
}

// --- RHT --------------------------------------------------------------------------------------------

void check_transform(Units &u, int64_t index, const Block &bits, uint16_t mask) {
  int32_t want[16];
  const int exponent = ufp4_rht_block(bits.data(), mask, want);
  if (exponent == 0) return;
  u.words(bits);
  u.m.rht_mask_i = mask;
  u.m.rht_exponent_i = static_cast<uint8_t>(exponent);
  for (int i = 0; i < 4; i++) u.tick();
  for (unsigned i = 0; i < 16; i++) {
    const uint32_t magnitude = static_cast<uint32_t>(want[i] < 0 ? -want[i] : want[i]);
    check_bits(index, u.m.rht_words_o[i], magnitude | (want[i] < 0 ? 0x80000000u : 0u),
               "element %u, mask %04x, x0 %08x", i, mask, bits[0]);
  }
}

TEST(rht_boundary) {
  static const uint32_t table[] = {0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000,
                                   0xBFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x33800000, 0x34000000, 0x4B7FFFFF};
  Units u;
  int64_t index = 0;
  for (const uint32_t a : table) {
    for (const uint32_t b : table) {
      for (unsigned i = 0; i < 16; i++) {
        Block one, all;
        one.fill(b);
        one[i] = a;
        for (unsigned j = 0; j < 16; j++) all[j] = (j & i) ? a : b;
        check_transform(u, index++, one, 0);
        check_transform(u, index++, all, static_cast<uint16_t>(0xFFFF >> i));
      }
    }
  }
}

TEST(rht_random) {
  check_random_t random = check_random();
  Units u;
  for (int64_t i = 0; i < 20000; i++) {
    Block bits;
    fixture_numbers(&random, static_cast<fixture_distribution_t>(i % FIXTURE_DISTRIBUTIONS), bits.data(), 16);
    check_transform(u, i, bits, static_cast<uint16_t>(check_next(&random)));
  }
}

// --- Blocks -----------------------------------------------------------------------------------------

/** Blocks whose scale is exactly sig * 2^(exp - 9) at t = 0 and whose elements are at the cells' ends and midpoints,
 * and one unit in the last place to both sides: every decision of the divider. */
std::vector<Block> tie_blocks(ufp4_elem_t elem) {
  std::vector<Block> blocks;
  const double step = std::ldexp(1.0, -ufp4_elem_frac(elem));
  for (unsigned byte = 1; byte <= 0x7E; byte++) {
    const double unit = ufp4_e4m3_value(static_cast<uint8_t>(byte)) * step;
    for (int nudge = -1; nudge <= 1; nudge++) {
      for (int half = 0; half < 2 * ufp4_elem_qmax_quanta(elem); half += 15) {
        Block block;
        block[0] = bits_of(unit * ufp4_elem_qmax_quanta(elem));
        for (int i = 1; i < 16; i++) {
          const int at = half + i - 1;
          const double value = at <= 2 * ufp4_elem_qmax_quanta(elem) ? unit * at / 2 : 0.0;
          block[static_cast<size_t>(i)] =
              bits_of(i & 1 ? -value : value) + static_cast<uint32_t>(value != 0 ? nudge : 0);
        }
        blocks.push_back(block);
      }
    }
  }
  return blocks;
}

TEST(block_ties) {
  Units u;
  for (int n = 0; n < kOptions; n++) {
    const ufp4_quantize_t how = options(n);
    run_blocks(u, tie_blocks(how.elem), how, 0, 0);
  }
}

TEST(block_stochastic_ties) {
  // Element i is exactly (r + 1/2)/256 into its cell, for the r that position draws, or next to it.
  Units u;
  check_random_t random = check_random();
  for (int n = 0; n < kOptions; n++) {
    ufp4_quantize_t how = options(n);
    if (how.round != UFP4_ROUND_SR || how.rht) continue;
    static const int e2m1_ends[] = {0, 1, 2, 3, 4, 6, 8, 12};
    std::vector<Block> blocks;
    for (uint64_t g = 0; g < 6000; g++) {
      uint8_t r[16];
      ufp4_random_block(how.seed, how.tensor_id, g, r);
      const uint8_t byte = static_cast<uint8_t>(1 + check_below(&random, 0x7E));
      const double unit = ufp4_e4m3_value(byte) * std::ldexp(1.0, -ufp4_elem_frac(how.elem));
      Block block;
      block[0] = bits_of(unit * ufp4_elem_qmax_quanta(how.elem));
      for (unsigned i = 1; i < 16; i++) {
        const unsigned cell = check_below(&random, 7);
        const int low = how.elem == UFP4_ELEM_E2M1 ? e2m1_ends[cell] : static_cast<int>(cell);
        const int high = how.elem == UFP4_ELEM_E2M1 ? e2m1_ends[cell + 1] : static_cast<int>(cell) + 1;
        const double value = unit * (low + (high - low) * (r[i] + 0.5) / 256);
        block[i] = (bits_of(value) + check_below(&random, 3) - 1) ^ (check_below(&random, 2) << 31);
      }
      blocks.push_back(block);
    }
    run_blocks(u, blocks, how, 0, 0);
  }
}

TEST(block_special_values) {
  static const uint32_t table[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000,
                                   0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F800001};
  std::vector<Block> blocks;
  for (const uint32_t a : table) {
    for (const uint32_t b : table) {
      for (unsigned place : {0u, 7u, 15u}) {
        Block block;
        block.fill(b);
        block[place] = a;
        blocks.push_back(block);
      }
    }
  }
  Units u;
  for (const int t : {0, 1, -121, 162, 140, -100, -32768, 32767}) run_all(u, blocks, t);
}

TEST(block_transformed_sums) {
  // The transform's first sum is lead * 2^20 and one unit to both sides: the last bit of the largest magnitude decides
  // the scale where lead is a multiple of qmax; with a huge t a sum of exactly 2^27 has one bit alone over the range.
  Units u;
  std::vector<Block> blocks;
  for (uint32_t lead = 128; lead < 256; lead++) {
    for (int nudge = -1; nudge <= 1; nudge++) {
      Block block;
      for (unsigned i = 0; i < 16; i++) {
        const uint32_t significand = (lead << 16) + static_cast<uint32_t>(i == 3 && lead > 128 ? nudge : 0);
        block[i] = 127u << 23 | (significand & 0x7FFFFF) | static_cast<uint32_t>(UFP4_RHT_DEFAULT_MASK >> i & 1) << 31;
      }
      blocks.push_back(block);
    }
  }
  for (const int t : {0, 3, -9, 40, 1000}) run_all(u, blocks, t);
}

TEST(block_exponent_extremes) {
  // Around every place where the scale enters and leaves the range of E4M3, subnormals included.
  check_random_t random = check_random();
  Units u;
  std::vector<Block> blocks;
  for (int i = 0; i < 60; i++) {
    Block block;
    fixture_numbers(&random, i % 3 ? FIXTURE_NEAR : FIXTURE_GAUSSIAN, block.data(), 16);
    blocks.push_back(block);
  }
  for (int t = -24; t <= 24; t++) run_all(u, blocks, t);
}

TEST(block_saturation) {
  // Quotients on both sides of 448 and of the least scale, in steps of the last place.
  Units u;
  for (int n = 0; n < kOptions; n++) {
    const ufp4_quantize_t how = options(n);
    const double qmax = ufp4_elem_qmax_quanta(how.elem) * std::ldexp(1.0, -ufp4_elem_frac(how.elem));
    std::vector<Block> blocks;
    for (const double scale : {448.0, 464.0, 480.0, 432.0, 0x1p-9, 0x1p-10, 0x1.8p-9, 0x1p-6, 0x1.Ep-7, 15.5, 31.0}) {
      for (int nudge = -2; nudge <= 2; nudge++) {
        Block block = {};
        // With RHT one number x gives 16 times x/4.
        block[3] = bits_of(scale * qmax * (how.rht ? 4 : 1)) + static_cast<uint32_t>(nudge);
        blocks.push_back(block);
        block[9] = bits_of(scale * qmax / 3);
        blocks.push_back(block);
      }
    }
    run_blocks(u, blocks, how, 0, 7);
  }
}

/** @p count blocks of each distribution and option set, with exponents around the block's own. */
void random_blocks(int count) {
  check_random_t random = check_random();
  Units u;
  for (int distribution = 0; distribution < FIXTURE_DISTRIBUTIONS; distribution++) {
    for (int n = 0; n < kOptions; n++) {
      ufp4_quantize_t how = options(n);
      how.rht_mask = static_cast<uint16_t>(check_next(&random));
      for (int part = 0; part < 4; part++) {
        std::vector<Block> blocks(static_cast<size_t>(count / 4));
        for (Block &block : blocks)
          fixture_numbers(&random, static_cast<fixture_distribution_t>(distribution), block.data(), 16);
        const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, static_cast<int64_t>(blocks.size()), 16, 16, blocks.data()};
        int t = 0;
        ufp4_tensor_exponent(&matrix, &how, &t);
        t += part == 0 ? 0 : static_cast<int>(check_below(&random, 25)) - 12;
        run_blocks(u, blocks, how, t, check_next(&random));
      }
    }
  }
}

TEST(block_random) {
  random_blocks(200);
}
SLOW_TEST(block_random_many) {
  random_blocks(4000);
}

TEST(block_back_pressure) {
  check_random_t random = check_random();
  Units u;
  for (int n = 0; n < kOptions; n++) {
    std::vector<Block> blocks(100);
    for (Block &block : blocks) fixture_numbers(&random, FIXTURE_SPECIAL, block.data(), 16);
    run_blocks(u, blocks, options(n), 5, 1000, {static_cast<unsigned>(n % 7), static_cast<unsigned>(n / 4)});
  }
}

TEST(block_amax) {
  check_random_t random = check_random();
  Units u;
  for (int64_t i = 0; i < 4000; i++) {
    const ufp4_quantize_t how = options(static_cast<int>(i % 6));
    std::vector<Block> blocks(1 + check_below(&random, 4));
    const auto distribution = static_cast<fixture_distribution_t>(i / 6 % FIXTURE_DISTRIBUTIONS);
    for (Block &block : blocks) fixture_numbers(&random, distribution, block.data(), 16);
    // At and next to the limit itself: 21 and 49 times a power of two.
    if (i % 5 == 0) blocks[0].fill(0);
    if (i % 5 == 0)
      blocks[0][5] = bits_of((how.elem == UFP4_ELEM_E2M1 ? 21.0 : 49.0) * 4) + check_below(&random, 3) - 1;
    u.configure(how, 0);
    u.m.amax_i = 1;
    u.m.amax_start_i = 1;
    u.tick();
    u.m.amax_start_i = 0;
    int nan = 0;
    for (size_t cycle = 0; cycle < blocks.size() + 10; cycle++) {
      u.m.in_valid_i = cycle < blocks.size();
      if (cycle < blocks.size()) u.words(blocks[cycle]);
      u.m.eval();
      nan |= u.m.amax_valid_o && u.m.amax_nan_o;
      check_that(i, !u.m.out_valid_o, "AMAX gave a block");
      u.tick();
    }
    u.m.amax_finish_i = 1;
    u.tick();
    u.m.amax_finish_i = 0;
    const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, static_cast<int64_t>(blocks.size()), 16, 16, blocks.data()};
    int want = 0, want_nan = 0;
    ufp4_tensor_exponent(&matrix, &how, &want);
    for (const Block &block : blocks) {
      for (const uint32_t word : block) want_nan |= (word >> 23 & 255) == 255;
    }
    check_bits(i, u.m.amax_exponent_o, static_cast<uint16_t>(want), "%s%s exponent of %zu blocks, x0 %08x",
               kElemNames[how.elem], how.rht ? " rht" : "", blocks.size(), blocks[0][0]);
    check_bits(i, static_cast<uint64_t>(nan), static_cast<uint64_t>(want_nan), "nan of %zu blocks", blocks.size());
  }
}

}  // namespace

double sc_time_stamp() {
  return 0;
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(threefry_known_answer),
      CHECK_TEST(threefry_random_counters),
      CHECK_TEST(rht_boundary),
      CHECK_TEST(rht_random),
      CHECK_TEST(block_ties),
      CHECK_TEST(block_stochastic_ties),
      CHECK_TEST(block_special_values),
      CHECK_TEST(block_transformed_sums),
      CHECK_TEST(block_exponent_extremes),
      CHECK_TEST(block_saturation),
      CHECK_TEST(block_random),
      CHECK_TEST(block_random_many),
      CHECK_TEST(block_back_pressure),
      CHECK_TEST(block_amax),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
