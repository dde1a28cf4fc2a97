// SPDX-License-Identifier: Apache-2.0
// The block pipeline of the QUANT engine against the golden model, bit for bit: blocks that follow
// each other, with and without pauses, and AMAX. tests/rtl/vectors has its numbers, one block at a
// time.
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "Vquant_units.h"
#include "verilated.h"

extern "C" {
#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/random.h"
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
    m.rht_mask_i = static_cast<uint16_t>(how.rht_mask);
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

void check_result(int64_t index, Units &u, const Block &bits, const ufp4_quantize_t &how, int t,
                  uint64_t group) {
  uint8_t random[16], want[16], scale;
  char what[96];
  ufp4_random_block(how.seed, how.tensor_id, group, random);
  const unsigned flags = ufp4_quantize_block(bits.data(), &how, t, random, want, &scale);
  std::snprintf(what, sizeof what, "%s%s%s%s, t %d", kElemNames[how.elem], how.rht ? " rht" : "",
                how.round == UFP4_ROUND_SR ? " sr" : "",
                how.scale_round == UFP4_SCALE_ROUND_UP ? " up" : "", t);
  check_bits(index, u.m.out_scale_o, scale, "%s: scale, x0 %08x", what, bits[0]);
  check_bits(index, u.m.out_nan_o, (flags & UFP4_FLAG_NAN) != 0, "%s: nan, x0 %08x", what, bits[0]);
  check_bits(index, u.m.out_saturated_o, (flags & UFP4_FLAG_ROW_SATURATED) != 0,
             "%s: saturated, x0 %08x", what, bits[0]);
  for (unsigned i = 0; i < 16; i++) {
    check_bits(index, u.m.out_codes_o >> 4 * i & 15, want[i],
               "%s: code %u of %08x, r %02x, scale %02x", what, i, bits[i], random[i], scale);
  }
}

/** Blocks through the pipe with one option set and exponent; block i draws the random bytes of
 * group @p group + i. */
void run_blocks(Units &u, const std::vector<Block> &blocks, const ufp4_quantize_t &how, int t,
                uint64_t group, Pressure pressure = {0, 0}) {
  check_random_t random = check_random();
  u.configure(how, t);
  size_t in = 0, out = 0;
  uint64_t drawn = 0;
  for (uint64_t cycle = 0; out < blocks.size(); cycle++) {
    if (cycle > 64 * blocks.size() + 64) {
      check_that(static_cast<int64_t>(out), 0, "the pipe has stopped: %zu of %zu blocks came out",
                 out, blocks.size());
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

uint32_t bits_of(double value) {
  return ufp4_f32_bits(static_cast<float>(value));
}

// --- Properties ---------------------------------------------------------------------------------

TEST(block_back_pressure) {
  check_random_t random = check_random();
  Units u;
  for (int n = 0; n < kOptions; n++) {
    std::vector<Block> blocks(100);
    for (Block &block : blocks) fixture_numbers(&random, FIXTURE_SPECIAL, block.data(), 16);
    run_blocks(u, blocks, options(n), 5, 1000,
               {static_cast<unsigned>(n % 7), static_cast<unsigned>(n / 4)});
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
      blocks[0][5] =
          bits_of((how.elem == UFP4_ELEM_E2M1 ? 21.0 : 49.0) * 4) + check_below(&random, 3) - 1;
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
    const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, static_cast<int64_t>(blocks.size()), 16, 16,
                                  blocks.data()};
    int want = 0, want_nan = 0;
    ufp4_tensor_exponent(&matrix, &how, &want);
    for (const Block &block : blocks) {
      for (const uint32_t word : block) want_nan |= (word >> 23 & 255) == 255;
    }
    check_bits(i, u.m.amax_exponent_o, static_cast<uint16_t>(want),
               "%s%s exponent of %zu blocks, x0 %08x", kElemNames[how.elem], how.rht ? " rht" : "",
               blocks.size(), blocks[0][0]);
    check_bits(i, static_cast<uint64_t>(nan), static_cast<uint64_t>(want_nan), "nan of %zu blocks",
               blocks.size());
  }
}

}  // namespace

double sc_time_stamp() {
  return 0;
}
