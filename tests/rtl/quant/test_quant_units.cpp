// SPDX-License-Identifier: Apache-2.0
// The block pipeline of the QUANT engine against the golden model, bit for bit: adjacent blocks,
// with and without pauses, AMAX, and E8M0 scales, whose blocks are two halves. tests/rtl/vectors
// covers its numbers with E4M3 scales, one block at a time.
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
}

namespace {

using Block = std::array<uint32_t, 16>;
using Wide = std::array<uint32_t, 32>;

constexpr int kOptions = 24;
constexpr int kE8m0Options = 12;
const char *const kElemNames[] = UFP4_ELEM_NAMES;

/** Option set @p n of element x rounding x scale rounding, and with E4M3 of the transform. */
ufp4_quantize_t options(int n, ufp4_scale_t scale) {
  ufp4_quantize_t how = {};
  const bool e8m0 = scale == UFP4_SCALE_E8M0;
  how.elem = static_cast<ufp4_elem_t>(n % 3);
  how.scale = scale;
  how.round = n / 3 % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE;
  how.scale_round = n / 6 % 2 ? UFP4_SCALE_ROUND_UP
                    : e8m0    ? UFP4_SCALE_ROUND_DOWN
                              : UFP4_SCALE_ROUND_RNE;
  how.rht = n / 12 % 2 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
  how.rht_mask = UFP4_RHT_DEFAULT_MASK;
  how.seed = 0x0123456789ABCDEFu;
  how.tensor_id = 0xFEDCBA9876543210u;
  how.exponent_given = !e8m0;
  return how;
}

/** The pipeline and its clock; with chance n/8 a cycle is idle at one end of the pipeline. */
class Pipe {
 public:
  Pipe() : random_(check_random()) {
    m.rst_ni = 0;
    m.clk_i = 0;
    m.in_valid_i = 0;
    m.out_ready_i = 1;
    tick();
    tick();
    m.rst_ni = 1;
  }
  ~Pipe() {
    m.final();
  }

  void tick() {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
  }

  void configure(const ufp4_quantize_t &how, bool amax) {
    m.amax_i = amax;
    m.e8m0_i = how.scale == UFP4_SCALE_E8M0;
    m.rht_i = static_cast<uint8_t>(how.rht);
    m.rht_mask_i = static_cast<uint16_t>(how.rht_mask);
    m.elem_i = static_cast<uint8_t>(how.elem);
    m.sr_i = how.round == UFP4_ROUND_SR;
    m.scale_up_i = how.scale_round == UFP4_SCALE_ROUND_UP;
    m.exponent_i = static_cast<uint16_t>(how.exponent);
    m.seed_i = how.seed;
    m.tensor_id_i = how.tensor_id;
  }

  void words(const uint32_t *block) {
    std::memcpy(m.in_words_i.data(), block, 64);
  }

  /** Runs all blocks except the first @p past, one after the other, with one option set. */
  template <typename AnyBlock>
  void run(const std::vector<AnyBlock> &blocks, const ufp4_quantize_t &how, unsigned in_idle = 0,
           unsigned out_idle = 0, size_t past = 0) {
    const auto width = static_cast<int64_t>(blocks[0].size());
    const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, static_cast<int64_t>(blocks.size()), width, width,
                                  blocks.data()};
    ufp4_operand_t want;
    if (check_that(0, ufp4_quantize(&matrix, &how, &want) == UFP4_OK, "the golden model takes it"))
      run(blocks[0].data(), want, how, in_idle, out_idle, past * blocks[0].size() / 16);
    ufp4_operand_free(&want);
  }

  Vquant_units m;

 private:
  void run(const uint32_t *bits, const ufp4_operand_t &want, const ufp4_quantize_t &how,
           unsigned in_idle, unsigned out_idle, size_t first);
  void compare(size_t part, const uint32_t *bits, const ufp4_operand_t &want,
               const ufp4_quantize_t &how);

  check_random_t random_;
};

/** Returns whether one block with E4M3 scales saturates; the operand has the flags of all blocks.
 * */
bool saturates(size_t block, const uint32_t *bits, const ufp4_quantize_t &how) {
  uint8_t random[16], codes[16], scale;
  ufp4_random_block(how.seed, how.tensor_id, block, random);
  return ufp4_quantize_block(bits, &how, how.exponent, random, codes, &scale) &
         UFP4_FLAG_ROW_SATURATED;
}

void Pipe::compare(size_t part, const uint32_t *bits, const ufp4_operand_t &want,
                   const ufp4_quantize_t &how) {
  const int64_t index = static_cast<int64_t>(part);
  const bool e8m0 = how.scale == UFP4_SCALE_E8M0;
  const uint8_t scale = want.scales[part / (e8m0 ? 2 : 1)];
  uint64_t codes;
  char what[96];
  std::memcpy(&codes, want.codes + 8 * part, 8);
  std::snprintf(what, sizeof what, "%s%s%s%s, t %d", kElemNames[how.elem], how.rht ? " rht" : "",
                how.round == UFP4_ROUND_SR ? " sr" : "",
                how.scale_round == UFP4_SCALE_ROUND_UP ? " up" : "", how.exponent);
  check_bits(index, m.out_scale_o, scale, "%s: scale, x0 %08x", what, bits[0]);
  check_bits(index, m.out_nan_o, scale == (e8m0 ? 0xFF : 0x7F), "%s: nan, x0 %08x", what, bits[0]);
  check_bits(index, m.out_saturated_o, !e8m0 && saturates(part, bits, how), "%s: saturated", what);
  for (unsigned i = 0; i < 16; i++) {
    check_bits(index, m.out_codes_o >> 4 * i & 15, codes >> 4 * i & 15,
               "%s: code %u of %08x, scale %02x", what, i, bits[i], scale);
  }
}

void Pipe::run(const uint32_t *bits, const ufp4_operand_t &want, const ufp4_quantize_t &how,
               unsigned in_idle, unsigned out_idle, size_t first) {
  const size_t parts = static_cast<size_t>(want.rows * want.blocks);
  configure(how, false);
  size_t in = first, out = first;
  uint64_t drawn = first;
  for (uint64_t cycle = 0; out < parts; cycle++) {
    if (!check_that(static_cast<int64_t>(out), cycle < 64 * (parts - first) + 64,
                    "the pipe has stopped: %zu of %zu came out", out - first, parts - first))
      break;
    m.in_valid_i = in < parts && check_below(&random_, 8) >= in_idle;
    m.out_ready_i = check_below(&random_, 8) >= out_idle;
    if (in < parts) words(bits + 16 * in);
    m.group_i = drawn;
    m.eval();
    if (m.out_valid_o && m.out_ready_i) {
      compare(out, bits + 16 * out, want, how);
      out++;
    }
    in += m.in_valid_i && m.in_ready_o;
    drawn += m.group_take_o;
    tick();
  }
  m.in_valid_i = 0;
  m.out_ready_i = 1;
}

uint32_t bits_of(double value) {
  return ufp4_f32_bits(static_cast<float>(value));
}

// --- Properties ---------------------------------------------------------------------------------

TEST(block_back_pressure) {
  check_random_t random = check_random();
  Pipe pipe;
  for (int n = 0; n < kOptions; n++) {
    std::vector<Block> blocks(70100);
    for (size_t i = 70000; i < blocks.size(); i++)
      fixture_numbers(&random, FIXTURE_SPECIAL, blocks[i].data(), 16);
    ufp4_quantize_t how = options(n, UFP4_SCALE_E4M3);
    how.exponent = n % 2 ? 5 : 8;  // which some scales have no room for
    // Stochastic rounding draws by group: of more than 16 bits.
    pipe.run(blocks, how, static_cast<unsigned>(n % 7), static_cast<unsigned>(n / 4), 70000);
  }
}

TEST(block_amax) {
  check_random_t random = check_random();
  Pipe pipe;
  for (int64_t i = 0; i < 4000; i++) {
    const ufp4_quantize_t how = options(static_cast<int>(i % 3 + i / 3 % 2 * 12), UFP4_SCALE_E4M3);
    std::vector<Block> blocks(1 + check_below(&random, 4));
    const auto distribution = static_cast<fixture_distribution_t>(i / 6 % FIXTURE_DISTRIBUTIONS);
    for (Block &block : blocks) fixture_numbers(&random, distribution, block.data(), 16);
    // At the limit itself and next to it: 21 and 49 times a power of two.
    if (i % 5 == 0) blocks[0].fill(0);
    if (i % 5 == 0)
      blocks[0][5] =
          bits_of((how.elem == UFP4_ELEM_E2M1 ? 21.0 : 49.0) * 4) + check_below(&random, 3) - 1;
    pipe.configure(how, true);
    pipe.m.amax_start_i = 1;
    pipe.tick();
    pipe.m.amax_start_i = 0;
    int nan = 0;
    for (size_t cycle = 0; cycle < blocks.size() + 10; cycle++) {
      pipe.m.in_valid_i = cycle < blocks.size();
      if (cycle < blocks.size()) pipe.words(blocks[cycle].data());
      pipe.m.eval();
      nan |= pipe.m.amax_valid_o && pipe.m.amax_nan_o;
      check_that(i, !pipe.m.out_valid_o, "AMAX gave a block");
      pipe.tick();
    }
    pipe.m.amax_finish_i = 1;
    pipe.tick();
    pipe.m.amax_finish_i = 0;
    const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, static_cast<int64_t>(blocks.size()), 16, 16,
                                  blocks.data()};
    int want = 0, want_nan = 0;
    ufp4_tensor_exponent(&matrix, &how, &want);
    for (const Block &block : blocks) {
      for (const uint32_t word : block) want_nan |= (word >> 23 & 255) == 255;
    }
    check_bits(i, pipe.m.amax_exponent_o, static_cast<uint16_t>(want),
               "%s%s exponent of %zu blocks, x0 %08x", kElemNames[how.elem], how.rht ? " rht" : "",
               blocks.size(), blocks[0][0]);
    check_bits(i, static_cast<uint64_t>(nan), static_cast<uint64_t>(want_nan), "nan of %zu blocks",
               blocks.size());
  }
}

// --- E8M0: two halves for each block of 32 ------------------------------------------------------

TEST(e8m0_every_power_and_its_neighbours) {
  // The largest number at each power of two, at each qmax times a power of two, and two units to
  // both sides, in either half.
  Pipe pipe;
  for (int n = 0; n < kE8m0Options; n++) {
    std::vector<Wide> blocks;
    for (int power = -149; power <= 127; power++) {
      for (const double times : {1.0, 1.5, 1.75}) {
        for (int nudge = -2; nudge <= 2; nudge++) {
          const uint32_t top = bits_of(std::ldexp(times, power)) + static_cast<uint32_t>(nudge);
          if (top > 0x7F7FFFFF) continue;
          Wide block = {};
          block[static_cast<size_t>(nudge + 2 + 16 * (power & 1))] = top;
          for (size_t i = 8; i < 32; i += 8)
            block[i] = bits_of(std::ldexp(times, power - static_cast<int>(i) / 8));
          blocks.push_back(block);
        }
      }
    }
    pipe.run(blocks, options(n, UFP4_SCALE_E8M0));
  }
}

TEST(e8m0_ties) {
  // Elements at the ends and midpoints of cells, and one unit in the last place to both sides, for
  // every scale.
  Pipe pipe;
  for (int n = 0; n < kE8m0Options; n++) {
    const ufp4_quantize_t how = options(n, UFP4_SCALE_E8M0);
    const int top = ufp4_elem_qmax_quanta(how.elem);
    std::vector<Wide> blocks;
    for (int power = -127; power <= 120; power++) {
      const double quantum = std::ldexp(1.0, power - ufp4_elem_frac(how.elem));
      for (int nudge = -1; nudge <= 1; nudge++) {
        Wide block;
        block[31] = bits_of(quantum * top);
        for (size_t i = 0; i < 31; i++) {
          const double value =
              i <= static_cast<size_t>(2 * top) ? quantum * static_cast<double>(i) / 2 : 0.0;
          block[i] =
              bits_of(i & 1 ? -value : value) + static_cast<uint32_t>(value != 0 ? nudge : 0);
        }
        blocks.push_back(block);
      }
    }
    pipe.run(blocks, how);
  }
}

TEST(e8m0_special_values) {
  static const uint32_t table[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF,
                                   0x00800000, 0x3F800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                                   0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F800001};
  std::vector<Wide> blocks;
  for (const uint32_t a : table) {
    for (const uint32_t b : table) {
      for (const size_t place : {0u, 15u, 16u, 31u}) {
        Wide block;
        block.fill(b);
        block[place] = a;
        blocks.push_back(block);
        // One half has only zeros, with signs.
        for (size_t i = 0; i < 16; i++) block[i ^ (place & 16)] = i % 2 ? 0x80000000 : 0;
        blocks.push_back(block);
      }
    }
  }
  Pipe pipe;
  for (int n = 0; n < kE8m0Options; n++) pipe.run(blocks, options(n, UFP4_SCALE_E8M0));
}

TEST(e8m0_halves_that_come_late) {
  check_random_t random = check_random();
  Pipe pipe;
  for (int n = 0; n < 4 * kE8m0Options; n++) {
    std::vector<Wide> blocks(40);
    for (Wide &block : blocks) fixture_numbers(&random, FIXTURE_SPECIAL, block.data(), 32);
    pipe.run(blocks, options(n % kE8m0Options, UFP4_SCALE_E8M0), static_cast<unsigned>(n % 7),
             static_cast<unsigned>(n / 7 % 7));
  }
}

/** @p count blocks of each distribution and option set. */
void random_blocks(int count) {
  check_random_t random = check_random();
  Pipe pipe;
  for (int distribution = 0; distribution < FIXTURE_DISTRIBUTIONS; distribution++) {
    for (int n = 0; n < kE8m0Options; n++) {
      std::vector<Wide> blocks(static_cast<size_t>(count));
      for (Wide &block : blocks)
        fixture_numbers(&random, static_cast<fixture_distribution_t>(distribution), block.data(),
                        32);
      ufp4_quantize_t how = options(n, UFP4_SCALE_E8M0);
      how.seed = check_next(&random);
      pipe.run(blocks, how);
    }
  }
}

TEST(e8m0_random) {
  random_blocks(200);
}
SLOW_TEST(e8m0_random_many) {
  random_blocks(3000);
}
/** More than a million blocks. */
FULL_TEST(e8m0_random_million) {
  random_blocks(1000000 / (kE8m0Options * FIXTURE_DISTRIBUTIONS) + 1);
}

}  // namespace
