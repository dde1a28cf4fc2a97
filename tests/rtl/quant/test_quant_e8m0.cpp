// SPDX-License-Identifier: Apache-2.0
// The block pipeline with E8M0 scales, two halves for each block of 32, against the golden model,
// bit for bit.
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "Vquant_units.h"
#include "verilated.h"

extern "C" {
#include "fixture.h"
#include "ufp4/format.h"
}

namespace {

using Block = std::array<uint32_t, 32>;

constexpr int kOptions = 12;
const char *const kElemNames[] = UFP4_ELEM_NAMES;

/** Option set @p n of element x rounding x scale rounding. */
ufp4_quantize_t options(int n) {
  ufp4_quantize_t how = {};
  how.elem = static_cast<ufp4_elem_t>(n % 3);
  how.scale = UFP4_SCALE_E8M0;
  how.round = n / 3 % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE;
  how.scale_round = n / 6 % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN;
  how.seed = 0x0123456789ABCDEFu;
  how.tensor_id = 0xFEDCBA9876543210u;
  return how;
}

/** The pipeline and its clock; a cycle is idle at one of its ends with chance n/8. */
class Pipe {
 public:
  Pipe() : random_(check_random()) {
    m_.rst_ni = 0;
    m_.clk_i = 0;
    m_.amax_i = 0;
    m_.rht_i = 0;
    m_.e8m0_i = 1;
    m_.in_valid_i = 0;
    tick();
    tick();
    m_.rst_ni = 1;
  }
  ~Pipe() {
    m_.final();
  }

  /** All blocks, one after the other, with one option set. */
  void run(const std::vector<Block> &blocks, const ufp4_quantize_t &how, unsigned in_idle = 0,
           unsigned out_idle = 0);

 private:
  void tick() {
    m_.clk_i = 1;
    m_.eval();
    m_.clk_i = 0;
    m_.eval();
  }
  void configure(const ufp4_quantize_t &how);
  void compare(size_t half, const std::vector<Block> &blocks, const ufp4_operand_t &want,
               const ufp4_quantize_t &how);

  Vquant_units m_;
  check_random_t random_;
};

void Pipe::configure(const ufp4_quantize_t &how) {
  m_.elem_i = static_cast<uint8_t>(how.elem);
  m_.sr_i = how.round == UFP4_ROUND_SR;
  m_.scale_up_i = how.scale_round == UFP4_SCALE_ROUND_UP;
  m_.exponent_i = 0;
  m_.seed_i = how.seed;
  m_.tensor_id_i = how.tensor_id;
}

void Pipe::compare(size_t half, const std::vector<Block> &blocks, const ufp4_operand_t &want,
                   const ufp4_quantize_t &how) {
  const Block &block = blocks[half / 2];
  const int64_t index = static_cast<int64_t>(half);
  uint64_t codes;
  std::memcpy(&codes, want.codes + 8 * half, 8);
  const char *round = how.round == UFP4_ROUND_SR ? " sr" : "";
  const char *up = how.scale_round == UFP4_SCALE_ROUND_UP ? " up" : "";
  check_bits(index, m_.out_scale_o, want.scales[half / 2], "%s%s%s: scale, x0 %08x",
             kElemNames[how.elem], round, up, block[0]);
  check_bits(index, m_.out_nan_o, want.scales[half / 2] == 0xFF, "%s: nan, x0 %08x",
             kElemNames[how.elem], block[0]);
  check_bits(index, m_.out_saturated_o, 0, "saturated");
  for (unsigned i = 0; i < 16; i++) {
    check_bits(index, m_.out_codes_o >> 4 * i & 15, codes >> 4 * i & 15,
               "%s%s%s: code %u of %08x, scale %02x", kElemNames[how.elem], round, up, i,
               block[16 * (half % 2) + i], want.scales[half / 2]);
  }
}

void Pipe::run(const std::vector<Block> &blocks, const ufp4_quantize_t &how, unsigned in_idle,
               unsigned out_idle) {
  const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, static_cast<int64_t>(blocks.size()), 32, 32,
                                blocks.data()};
  const size_t halves = 2 * blocks.size();
  ufp4_operand_t want;
  if (!check_that(0, ufp4_quantize(&matrix, &how, &want) == UFP4_OK, "the golden model takes it"))
    return;
  configure(how);
  size_t in = 0, out = 0;
  uint64_t drawn = 0;
  for (uint64_t cycle = 0; out < halves; cycle++) {
    if (!check_that(static_cast<int64_t>(out), cycle < 64 * halves + 64,
                    "the pipe has stopped at %zu", out))
      break;
    m_.in_valid_i = in < halves && check_below(&random_, 8) >= in_idle;
    m_.out_ready_i = check_below(&random_, 8) >= out_idle;
    if (in < halves) std::memcpy(m_.in_words_i.data(), &blocks[in / 2][16 * (in % 2)], 64);
    m_.group_i = drawn;
    m_.eval();
    if (m_.out_valid_o && m_.out_ready_i) compare(out++, blocks, want, how);
    in += m_.in_valid_i && m_.in_ready_o;
    drawn += m_.group_take_o;
    tick();
  }
  m_.in_valid_i = 0;
  ufp4_operand_free(&want);
}

uint32_t bits_of(double value) {
  return ufp4_f32_bits(static_cast<float>(value));
}

// --- Properties ---------------------------------------------------------------------------------

TEST(every_power_and_its_neighbours) {
  // The largest number at each power of two, at each qmax times one, and two units to both sides;
  // in either half.
  Pipe pipe;
  for (int n = 0; n < kOptions; n++) {
    std::vector<Block> blocks;
    for (int power = -149; power <= 127; power++) {
      for (const double times : {1.0, 1.5, 1.75}) {
        for (int nudge = -2; nudge <= 2; nudge++) {
          const uint32_t top = bits_of(std::ldexp(times, power)) + static_cast<uint32_t>(nudge);
          if (top > 0x7F7FFFFF) continue;
          Block block = {};
          block[static_cast<size_t>(nudge + 2 + 16 * (power & 1))] = top;
          for (size_t i = 8; i < 32; i += 8)
            block[i] = bits_of(std::ldexp(times, power - static_cast<int>(i) / 8));
          blocks.push_back(block);
        }
      }
    }
    pipe.run(blocks, options(n));
  }
}

TEST(ties) {
  // Elements at the cells' ends and midpoints, and a unit in the last place to both sides, for
  // every scale.
  Pipe pipe;
  for (int n = 0; n < kOptions; n++) {
    const ufp4_quantize_t how = options(n);
    const int top = ufp4_elem_qmax_quanta(how.elem);
    std::vector<Block> blocks;
    for (int power = -127; power <= 120; power++) {
      const double quantum = std::ldexp(1.0, power - ufp4_elem_frac(how.elem));
      for (int nudge = -1; nudge <= 1; nudge++) {
        Block block;
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

TEST(special_values) {
  static const uint32_t table[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF,
                                   0x00800000, 0x3F800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                                   0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F800001};
  std::vector<Block> blocks;
  for (const uint32_t a : table) {
    for (const uint32_t b : table) {
      for (const size_t place : {0u, 15u, 16u, 31u}) {
        Block block;
        block.fill(b);
        block[place] = a;
        blocks.push_back(block);
        // One half of zeros with signs.
        for (size_t i = 0; i < 16; i++) block[i ^ (place & 16)] = i % 2 ? 0x80000000 : 0;
        blocks.push_back(block);
      }
    }
  }
  Pipe pipe;
  for (int n = 0; n < kOptions; n++) pipe.run(blocks, options(n));
}

TEST(halves_that_come_late) {
  check_random_t random = check_random();
  Pipe pipe;
  for (int n = 0; n < 4 * kOptions; n++) {
    std::vector<Block> blocks(40);
    for (Block &block : blocks) fixture_numbers(&random, FIXTURE_SPECIAL, block.data(), 32);
    pipe.run(blocks, options(n % kOptions), static_cast<unsigned>(n % 7),
             static_cast<unsigned>(n / 7 % 7));
  }
}

/** @p count blocks of each distribution and option set. */
void random_blocks(int count) {
  check_random_t random = check_random();
  Pipe pipe;
  for (int distribution = 0; distribution < FIXTURE_DISTRIBUTIONS; distribution++) {
    for (int n = 0; n < kOptions; n++) {
      std::vector<Block> blocks(static_cast<size_t>(count));
      for (Block &block : blocks)
        fixture_numbers(&random, static_cast<fixture_distribution_t>(distribution), block.data(),
                        32);
      ufp4_quantize_t how = options(n);
      how.seed = check_next(&random);
      pipe.run(blocks, how);
    }
  }
}

TEST(random) {
  random_blocks(200);
}
SLOW_TEST(random_many) {
  random_blocks(3000);
}
/** More than a million blocks. */
FULL_TEST(random_million) {
  random_blocks(1000000 / (kOptions * FIXTURE_DISTRIBUTIONS) + 1);
}

}  // namespace

double sc_time_stamp() {
  return 0;
}
