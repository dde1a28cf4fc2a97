// SPDX-License-Identifier: Apache-2.0
// The arithmetic units of the GEMM engine against the golden model's scalar functions, bit for bit.
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "Varray_units.h"
#include "verilated.h"

extern "C" {
#include "check.h"
#include "ufp4/format.h"
}

namespace {

constexpr unsigned kLanes = 16;
using Codes = std::array<uint8_t, kLanes>;

ufp4_elem_t elem_of(unsigned n) {
  return static_cast<ufp4_elem_t>(n);
}

/** Bit planes {bit 3, .. bit 0} of sixteen codes. */
uint64_t planes(const Codes &codes) {
  uint64_t out = 0;
  for (unsigned lane = 0; lane < kLanes; lane++) {
    for (unsigned bit = 0; bit < 4; bit++) out |= uint64_t{codes[lane] >> bit & 1u} << (16 * bit + lane);
  }
  return out;
}

/** Bits {3, .. 0} of one lane of four planes. */
unsigned plane_bits(uint64_t planes, unsigned lane) {
  unsigned out = 0;
  for (unsigned bit = 0; bit < 4; bit++) out |= static_cast<unsigned>(planes >> (16 * bit + lane) & 1) << bit;
  return out;
}

Codes random_codes(check_random_t *random) {
  Codes codes;
  for (uint8_t &code : codes) code = static_cast<uint8_t>(check_below(random, 16));
  return codes;
}

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

  /** Compares one dot product with the sum of products of quanta: now, and for FPGAs as it leaves the stages. */
  void dot(int64_t index, ufp4_elem_t a_elem, ufp4_elem_t b_elem, const Codes &a, const Codes &b) {
    int64_t want = 0;
    for (unsigned lane = 0; lane < kLanes; lane++)
      want += ufp4_elem_quanta(a_elem, a[lane]) * ufp4_elem_quanta(b_elem, b[lane]);
    m.a_elem_i = static_cast<uint8_t>(a_elem);
    m.b_elem_i = static_cast<uint8_t>(b_elem);
    m.a_code_i = planes(a);
    m.b_code_i = planes(b);
    m.eval();
    const uint64_t mask = (1u << 13) - 1;
    const bool e2m1 = a_elem == UFP4_ELEM_E2M1 && b_elem == UFP4_ELEM_E2M1;
    const bool e1m2 = a_elem == UFP4_ELEM_E1M2 && b_elem == UFP4_ELEM_E1M2;
    const bool uniform = a_elem != UFP4_ELEM_E2M1 && b_elem != UFP4_ELEM_E2M1;
    const unsigned fewer = e2m1 ? m.dot_e2m1_o : uniform ? m.dot_uniform_o : m.dot_o;
    const unsigned fewest = e1m2 ? m.dot_e1m2_o : fewer;
    const Dot now = {index, a_elem, b_elem, planes(a), planes(b), static_cast<uint64_t>(want) & mask};
    for (const unsigned got : {unsigned{m.dot_o}, unsigned{m.dot_planes_o}, fewer, fewest}) {
      check_bits(index, got & mask, now.want,
                 "elements %d %d, code planes %016llx %016llx; for cells %04x, planes "
                 "%04x, its formats alone %04x, %04x",
                 a_elem, b_elem, static_cast<unsigned long long>(now.a), static_cast<unsigned long long>(now.b),
                 unsigned{m.dot_o}, unsigned{m.dot_planes_o}, fewer, fewest);
    }
    check_bits(index, m.dot_words_o, static_cast<uint64_t>(want), "elements %d %d, code planes %016llx %016llx; as words",
               a_elem, b_elem, static_cast<unsigned long long>(now.a), static_cast<unsigned long long>(now.b));
    dots_[sent_ % kDotStages] = now;
    move_dots();
  }

  /** Compares the dot products that are still in the stages. */
  void last_dots() {
    for (unsigned i = 1; i < kDotStages; i++) move_dots();
  }

  /** Sends one sum a cycle through the rounding unit and compares what comes out two edges later. */
  void round(int64_t sum, int exponent) {
    m.exponent_i = static_cast<uint32_t>(exponent) & 0x3FFFFu;
    m.sum_i = static_cast<uint64_t>(sum);
    tick();
    tick();
    check_bits(rounded_++, m.f32_o, ufp4_f32_from_scaled(sum, exponent), "sum %016llx, exponent %d",
               static_cast<unsigned long long>(sum), exponent);
  }

  /** Sends one pair a cycle through the multiplier and adder, and compares what comes out three edges later. */
  void alu(bool add, uint32_t a, uint32_t b) {
    m.add_i = add;
    m.a_f32_i = a;
    m.b_f32_i = b;
    const float value = add ? ufp4_f32_value(a) + ufp4_f32_value(b) : ufp4_f32_value(a) * ufp4_f32_value(b);
    const Operation now = {add, a, b, value == value ? ufp4_f32_bits(value) : UFP4_F32_NAN};
    operations_[computed_ % 3] = now;
    tick();
    const int64_t index = computed_++ - 2;
    if (index < 0) return;
    const Operation &then = operations_[index % 3];
    check_bits(index, m.result_o, then.want, "%08x %s %08x", then.a, then.add ? "+" : "*", then.b);
  }

  Varray_units m;

 private:
  struct Operation {
    bool add;
    uint32_t a, b, want;
  };
  /** In the stages of the form for FPGAs. */
  static constexpr unsigned kDotStages = 6;
  struct Dot {
    int64_t index;
    int a_elem, b_elem;
    uint64_t a, b, want;
  };

  void move_dots() {
    tick();
    if (++sent_ < kDotStages) return;
    const Dot &then = dots_[sent_ % kDotStages];
    check_bits(then.index, m.dot_relative_o & ((1u << 13) - 1), then.want,
               "for FPGAs: elements %d %d, code planes %016llx %016llx", then.a_elem, then.b_elem,
               static_cast<unsigned long long>(then.a), static_cast<unsigned long long>(then.b));
  }

  uint64_t sent_ = 0;
  Dot dots_[kDotStages];
  int64_t rounded_ = 0, computed_ = 0;
  Operation operations_[3];
};

// --- Properties -------------------------------------------------------------------------------------

/** Every code in every lane, the other lanes random. */
TEST(element_decoder_exhaustive) {
  Units u;
  check_random_t random = check_random();
  for (unsigned i = 0; i < UFP4_ELEM_COUNT * kLanes * 16; i++) {
    const ufp4_elem_t elem = elem_of(i / 256);
    Codes codes = random_codes(&random);
    codes[i / 16 % 16] = static_cast<uint8_t>(i % 16);
    u.m.a_elem_i = static_cast<uint8_t>(elem);
    u.m.a_code_i = planes(codes);
    u.m.eval();
    for (unsigned lane = 0; lane < kLanes; lane++) {
      const unsigned shifted = plane_bits(u.m.a_mag_o, lane), binary = plane_bits(u.m.a_binary_o, lane);
      const int sign = u.m.a_sign_o >> lane & 1 ? -1 : 1;
      const int want = ufp4_elem_quanta(elem, codes[lane]);
      for (const unsigned magnitude : {(shifted & 7) << (shifted & 8 ? 2 : 0), binary}) {
        check_bits(i, static_cast<uint64_t>(sign * static_cast<int>(magnitude)), static_cast<uint64_t>(want),
                   "element %d, lane %u, code %u: magnitudes %x shifted, %x binary", elem, lane, codes[lane], shifted,
                   binary);
      }
      check_that(i, shifted < 8 || (shifted & 6) == 2, "element %d, code %u: shifted %x", elem, codes[lane], shifted);
      check_that(i, binary < 8 || binary % 4 == 0, "element %d, code %u: binary %x", elem, codes[lane], binary);
    }
  }
}

TEST(scale_decoder_exhaustive) {
  Units u;
  for (unsigned byte = 0; byte < 256; byte++) {
    int sig = 0, exp = 0;
    const int number = ufp4_e4m3_decode(static_cast<uint8_t>(byte), &sig, &exp);
    u.m.scale_i = static_cast<uint8_t>(byte);
    u.m.eval();
    check_bits(byte, u.m.scale_nan_o, number ? 0 : 1, "NaN of scale byte %02x", byte);
    if (!number) continue;
    check_bits(byte, u.m.scale_sig_o, static_cast<uint64_t>(sig), "significand of scale byte %02x", byte);
    check_bits(byte, u.m.scale_exp_o, static_cast<uint64_t>(exp), "exponent of scale byte %02x", byte);
  }
}

/** All 256 pairs of codes in each lane, for all nine pairs of formats; the other lanes zero, and random. */
TEST(dot_every_pair_of_codes) {
  Units u;
  check_random_t random = check_random();
  for (unsigned i = 0; i < 9 * kLanes * 256; i++) {
    const unsigned lane = i / 256 % kLanes;
    for (int filled = 0; filled < 2; filled++) {
      Codes a{}, b{};
      if (filled) {
        a = random_codes(&random);
        b = random_codes(&random);
      }
      a[lane] = i / 16 % 16;
      b[lane] = i % 16;
      u.dot(i, elem_of(i / 4096 % 3), elem_of(i / 4096 / 3), a, b);
    }
  }
  u.last_dots();
}

/** Every pair of codes in all lanes at once: the largest sums of both signs are among them; and lanes that cancel. */
TEST(dot_equal_and_cancelling_lanes) {
  Units u;
  for (unsigned i = 0; i < 9 * 256; i++) {
    for (int cancel = 0; cancel < 2; cancel++) {
      Codes a, b;
      a.fill(static_cast<uint8_t>(i / 16 % 16));
      b.fill(static_cast<uint8_t>(i % 16));
      for (unsigned lane = 0; cancel && lane < kLanes; lane += 2) b[lane] ^= 8;
      u.dot(i, elem_of(i / 256 % 3), elem_of(i / 256 / 3), a, b);
    }
  }
  u.last_dots();
}

TEST(dot_random) {
  Units u;
  check_random_t random = check_random();
  for (int i = 0; i < 1000000; i++) {
    u.dot(i, elem_of(check_below(&random, 3)), elem_of(check_below(&random, 3)), random_codes(&random),
          random_codes(&random));
  }
  u.last_dots();
}

/** Powers of two and their neighbours, and values around halves of the last kept bit, across every range of exponents.
 */
TEST(round_boundaries) {
  Units u;
  for (int exponent : {-131, -101, 100, 65559, -65559, -170, -190, 64, 80, 103, 104, 105, 127, 128, 1, 0}) {
    for (int top = 0; top < 63; top++) {
      const int64_t one = int64_t{1} << top;
      const int64_t half = top >= 24 ? int64_t{1} << (top - 24) : 0;
      for (int64_t delta = -2; delta <= 2; delta++) {
        for (const int64_t sum :
             {one + delta, one + half + delta, one + 3 * half + delta, one / 2 * 3 + half + delta}) {
          u.round(sum, exponent);
          u.round(-sum, exponent);
        }
      }
    }
  }
  u.round(INT64_MAX, -18);
  u.round(-INT64_MAX, -18);
}

/** Results that are subnormal or underflow: every exponent from the smallest normal to below half of the smallest
 * subnormal. */
TEST(round_subnormals) {
  Units u;
  check_random_t random = check_random();
  for (int top = 0; top < 63; top++) {
    for (int power = -120; power >= -156; power--) {
      const int64_t one = int64_t{1} << top;
      u.round(one, power - top);
      u.round(-one, power - top);
      for (int draw = 0; draw < 8; draw++) {
        const int64_t sum = one | static_cast<int64_t>(check_next(&random) & static_cast<uint64_t>(one - 1));
        u.round(draw % 2 ? sum : -sum, power - top);
      }
    }
  }
}

TEST(round_random) {
  Units u;
  check_random_t random = check_random();
  for (int i = 0; i < 500000; i++) {
    const int64_t sum = static_cast<int64_t>(check_next(&random)) >> check_below(&random, 64);
    const int exponent = i % 4 ? static_cast<int>(check_below(&random, 300)) - 200
                               : static_cast<int>(check_below(&random, 131000)) - 65560;
    u.round(sum, exponent);
  }
}

/** FP32 numbers at every boundary: zero, subnormal, normal and largest, powers of two and their neighbours, and
 * significands that tie. */
std::vector<uint32_t> boundary_numbers() {
  std::vector<uint32_t> numbers;
  const uint32_t fractions[] = {0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x400001, 0x555555, 0x7FFFFE, 0x7FFFFF};
  const uint32_t fields[] = {0, 1, 2, 3, 23, 24, 25, 26, 27, 62, 63, 64, 101, 102, 103, 104, 125, 126, 127, 128, 129,
                             149, 150, 151, 152, 153, 190, 191, 192, 227, 228, 229, 230, 231, 252, 253, 254, 255};
  for (const uint32_t field : fields) {
    for (const uint32_t fraction : fractions) {
      numbers.push_back(field << 23 | fraction);
      numbers.push_back(1u << 31 | field << 23 | fraction);
    }
  }
  return numbers;
}

TEST(alu_boundaries) {
  Units u;
  const std::vector<uint32_t> numbers = boundary_numbers();
  for (const uint32_t a : numbers) {
    for (const uint32_t b : numbers) {
      u.alu(false, a, b);
      u.alu(true, a, b);
    }
  }
}

/** Products around the smallest normal and the smallest subnormal number, sums of numbers with exponents close to each
 * other, and any bits. */
TEST(alu_random) {
  Units u;
  check_random_t random = check_random();
  for (int i = 0; i < 1500000; i++) {
    const uint64_t bits = check_next(&random);
    uint32_t a = static_cast<uint32_t>(bits), b = static_cast<uint32_t>(bits >> 32);
    const bool add = check_below(&random, 2);
    if (check_below(&random, 4)) {
      const uint32_t field = a >> 23 & 255;
      const uint32_t near = add ? field + check_below(&random, 56) - 28 : 127 - field + check_below(&random, 60) - 30;
      b = (b & 0x807FFFFFu) | (near & 255) << 23;
    }
    u.alu(add, a, b);
  }
}

}  // namespace

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(element_decoder_exhaustive),
      CHECK_TEST(scale_decoder_exhaustive),
      CHECK_TEST(dot_every_pair_of_codes),
      CHECK_TEST(dot_equal_and_cancelling_lanes),
      CHECK_TEST(dot_random),
      CHECK_TEST(round_boundaries),
      CHECK_TEST(round_subnormals),
      CHECK_TEST(round_random),
      CHECK_TEST(alu_boundaries),
      CHECK_TEST(alu_random),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
