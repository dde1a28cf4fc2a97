// SPDX-License-Identifier: Apache-2.0
// Tests the integer Hadamard transform (numerics.md 3).
#include <math.h>

#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/rht.h"

static void check_block(int64_t index, const uint32_t bits[16], uint16_t mask) {
  int32_t golden[16] = {0}, slow[16] = {0};
  const int got = ufp4_rht_block(bits, mask, golden), want = reference_rht_block(bits, mask, slow);
  check_bits(index, (uint64_t)got, (uint64_t)want, "exponent, first element %08x, mask %04x",
             bits[0], mask);
  for (int i = 0; i < 16 && want != 0; i++) {
    check_bits(index, (uint32_t)golden[i], (uint32_t)slow[i],
               "out %d, first element %08x, mask %04x", i, bits[0], mask);
  }
}

TEST(random_blocks) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    uint32_t bits[16];
    fixture_numbers(&random, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS), bits, 16);
    check_block(i, bits, i % 3 ? (uint16_t)check_next(&random) : UFP4_RHT_DEFAULT_MASK);
  }
}

TEST(every_mask) {
  check_random_t random = check_random();
  uint32_t bits[16];
  fixture_numbers(&random, FIXTURE_GAUSSIAN, bits, 16);
  for (int mask = 0; mask < 65536; mask += 7) check_block(mask, bits, (uint16_t)mask);
}

TEST(impulse_gives_a_column_of_the_matrix) {
  for (int j = 0; j < 16; j++) {
    uint32_t bits[16] = {0};
    int32_t out[16];
    bits[j] = 0x3F800000;
    const int exponent = ufp4_rht_block(bits, UFP4_RHT_DEFAULT_MASK, out);
    check_bits(j, (uint64_t)exponent, 127, "exponent");
    for (int i = 0; i < 16; i++) {
      const int negative = __builtin_popcount((unsigned)(i & j)) + (UFP4_RHT_DEFAULT_MASK >> j & 1);
      check_bits(j, (uint32_t)out[i], (uint32_t)(negative % 2 ? -0x800000 : 0x800000), "out %d", i);
    }
  }
}

TEST(largest_results_fit) {
  for (int j = 0; j < 16; j++) {
    uint32_t bits[16];
    int32_t out[16];
    for (int i = 0; i < 16; i++)
      bits[i] = 0x7F7FFFFF | (uint32_t)__builtin_parity((unsigned)(i & j)) << 31;
    check_bits(j, (uint64_t)ufp4_rht_block(bits, 0, out), 254, "exponent");
    for (int i = 0; i < 16; i++)
      check_bits(j, (uint32_t)out[i], i == j ? 0x0FFFFFF0 : 0, "out %d", i);
  }
}

TEST(alignment_truncates_magnitudes) {
  uint32_t bits[16] = {0x3F800000, 0xB47FFFFF};  // 1 and -1.99 units of 2^-23, which is cut to one
                                                 // unit
  int32_t out[16];
  ufp4_rht_block(bits, 0, out);
  check_bits(0, (uint32_t)out[0], 0x7FFFFF, "sum");
  check_bits(1, (uint32_t)out[1], 0x800001, "difference");
  bits[1] = 0xB3FFFFFF;  // just under a unit is cut to zero
  ufp4_rht_block(bits, 0, out);
  check_bits(2, (uint32_t)out[0], 0x800000, "sum without the small one");
}

TEST(subnormals_have_no_hidden_bit) {
  uint32_t bits[16] = {1, 0x00800000, 0x007FFFFF};
  int32_t out[16];
  check_bits(0, (uint64_t)ufp4_rht_block(bits, 0, out), 1, "exponent");
  check_bits(1, (uint32_t)out[0], 1 + 0x800000 + 0x7FFFFF, "sum");
}

TEST(zero_block_is_zero) {
  uint32_t bits[16] = {0, 0x80000000};
  int32_t out[16] = {1};
  check_bits(0, (uint64_t)ufp4_rht_block(bits, UFP4_RHT_DEFAULT_MASK, out), 1, "exponent");
  for (int i = 0; i < 16; i++) check_bits(i, (uint32_t)out[i], 0, "out");
}

TEST(rejects_nan_and_inf_and_leaves_the_output) {
  static const uint32_t bad[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF};
  for (int i = 0; i < 16 * 5; i++) {
    uint32_t bits[16] = {0x3F800000, 0x40000000};
    int32_t out[16] = {12345};
    bits[i / 5] = bad[i % 5];
    check_bits(i, (uint64_t)ufp4_rht_block(bits, 0, out), 0, "%08x at %d", bad[i % 5], i / 5);
    check_bits(i, (uint32_t)out[0], 12345, "output after %08x at %d", bad[i % 5], i / 5);
  }
}

/** Returns the exact sum of products of integers in [-2^23, 2^23]. */
static int64_t dot(const int64_t *x, const int64_t *y) {
  int64_t sum = 0;
  for (int i = 0; i < 16; i++) sum += x[i] * y[i];
  return sum;
}

TEST(product_of_two_transforms_is_the_product) {
  // 16-bit integers lose nothing when they are aligned in 24-bit significands, so that
  // (H x)(H y) = 16 x y exactly.
  check_random_t random = check_random();
  for (int n = 0; n < 5000; n++) {
    int64_t x[2][16], y[2][16];
    int exponent[2];
    for (int side = 0; side < 2; side++) {
      uint32_t bits[16];
      int32_t out[16];
      for (int i = 0; i < 16; i++) {
        x[side][i] = (int64_t)check_below(&random, 65537) - 32768;
        bits[i] = ufp4_f32_bits((float)x[side][i]);
      }
      exponent[side] = ufp4_rht_block(bits, (uint16_t)(n * 977), out);
      for (int i = 0; i < 16; i++) y[side][i] = out[i];
    }
    // Each output is out * 2^(E - 152), so the integer product is 2^(304 - E - E') times the true
    // one.
    const int up = 304 - exponent[0] - exponent[1];
    check_bits(n, (uint64_t)dot(y[0], y[1]), (uint64_t)dot(x[0], x[1]) << up, "exponents %d, %d",
               exponent[0], exponent[1]);
  }
}

static void check_bf16_block(int64_t index, const uint32_t bits[16], uint16_t mask) {
  const reference_quantize_t how = {.rht = REFERENCE_RHT_BF16, .mask = mask};
  uint32_t got[16];
  for (int j = 0; j < 16; j++) got[j] = 0xA5A5A5A5;
  const reference_block_t want = reference_block_load(bits, &how);
  check_bits(index, (uint64_t)ufp4_rht_block_bf16(bits, mask, got), !want.poisoned,
             "clean, mask %04x", mask);
  for (int j = 0; j < 16; j++) {
    const reference_real_t x = want.x[j];
    const uint32_t number =
        want.poisoned ? 0xA5A5A5A5 : reference_f32_round(x.negative, x.magnitude, x.exponent);
    check_bits(index, got[j], number, "out %d, first element %08x, mask %04x", j, bits[0], mask);
  }
}

SLOW_TEST(bf16_variant_of_one_block) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    uint32_t bits[16];
    fixture_numbers(&random, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS), bits, 16);
    check_bf16_block(i, bits, (uint16_t)check_next(&random));
  }
}

// The exponents span exactly what floats hold, what 32-bit integers hold, and one more, at both
// ends of the range. The numbers have few bits, so that sums cancel and are ties; or all but one
// are as large as possible and of one sign, so that the smallest number decides a tie of the sum.
TEST(bf16_variant_at_every_span) {
  static const uint32_t lowest[] = {0, 1, 2, 100, 228, 236, 237, 240, 247, 250};
  check_random_t random = check_random();
  for (int i = 0; i < 10 * 22 * 24; i++) {
    const uint32_t low = lowest[i % 10], span = (uint32_t)(i / 10 % 22);
    const uint32_t kept = i / 220 % 2 ? 0x007F0000 : 0x00010000;
    uint32_t bits[16];
    for (int j = 0; j < 16; j++) {
      const uint32_t up = j < 2 ? (uint32_t)j * span : check_below(&random, span + 1);
      const uint32_t exponent = low + up < 254 ? low + up : 254;
      const uint32_t some = (uint32_t)check_next(&random);
      bits[j] = (some & (0x80000000u | kept)) | exponent << 23;
      if (low == 0 && j == 0) bits[j] |= 0x00010000;  // not zero
      if (j > 2 && some % 5 == 0) bits[j] = some & 0x80000000u;
      if (i / 440 % 2 && j > 0)
        bits[j] = (some & 0x007F0000) | (low + span < 254 ? low + span : 254) << 23;
    }
    check_bf16_block(i, bits, i / 440 % 2 ? 0 : (uint16_t)check_next(&random));
  }
}

// With decoded codes of one scale the sums are exact, and the transform and its inverse give the
// numbers back but for the rounding of the integers, which small numbers do not need.
TEST(undo_gives_back_what_was_transformed) {
  check_random_t random = check_random();
  for (int i = 0; i < 1000; i++) {
    uint32_t bits[16];
    float block[16], want[16];
    int32_t out[16];
    const uint16_t mask = (uint16_t)check_next(&random);
    for (int k = 0; k < 16; k++) {
      want[k] = (float)((int)(check_next(&random) % 15) - 7) * 0x1p-3f;
      bits[k] = ufp4_f32_bits(want[k]);
    }
    const int exponent = ufp4_rht_block(bits, mask, out);
    for (int k = 0; k < 16; k++)
      block[k] = (float)out[k] * ufp4_f32_value((uint32_t)(exponent - 152 + 127) << 23);
    ufp4_rht_undo(block, mask);
    for (int k = 0; k < 16; k++)
      check_bits(i, ufp4_f32_bits(block[k] + 0), ufp4_f32_bits(want[k] + 0), "element %d", k);
  }
}

TEST(undo_rounds_once) {
  float block[16] = {0x1.000002p0f, 0x1p-24f};  // half of the last place of the first: a tie
  ufp4_rht_undo(block, 0);
  check_bits(0, ufp4_f32_bits(block[0]), ufp4_f32_bits(0x1.000004p-2f), "nearest even, up");
  check_bits(1, ufp4_f32_bits(block[1]), ufp4_f32_bits(0x1p-2f), "nearest even, down");
}

static void check_undo(int64_t index, const uint32_t bits[16], uint16_t mask) {
  float block[16];
  uint32_t want[16];
  for (int k = 0; k < 16; k++) block[k] = ufp4_f32_value(bits[k]);
  reference_rht_undo(bits, 16, mask, want);
  ufp4_rht_undo(block, mask);
  for (int k = 0; k < 16; k++) {
    check_bits(index, ufp4_f32_bits(block[k]), want[k], "element %d, first %08x, mask %04x", k,
               bits[0], mask);
  }
}

// The numbers are codes under scales from the smallest to the largest: zeros of both signs,
// subnormals, Inf.
TEST(undo_is_that_of_the_reference) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    const reference_elem_t elem = (reference_elem_t)(i % REFERENCE_ELEM_COUNT);
    const uint64_t significand = 0x800000 + check_below(&random, 0x800000);
    const int exponent = i % 4 ? (int)check_below(&random, 282) - 176 : 105 - i / 4 % 6;
    uint32_t bits[16];
    for (int k = 0; k < 16; k++) {
      const unsigned code = check_below(&random, i / 12 % 3 ? 16 : 2) * (i / 12 % 3 ? 1 : 9);
      const int quanta = reference_elem_quanta(elem, code);
      const uint64_t size = (uint64_t)(quanta < 0 ? -quanta : quanta);
      const int negative = quanta < 0 || (elem != REFERENCE_INT4 && code >= 8);
      bits[k] = reference_f32_round(negative, size * significand, exponent);
    }
    check_undo(i, bits, (uint16_t)check_next(&random));
  }
}

// Other blocks have NaN of any sign and payload, and Inf of both signs, which makes NaN.
TEST(undo_gives_one_nan) {
  static const uint32_t bad[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF};
  for (int i = 0; i < 16 * 4; i++) {
    uint32_t bits[16] = {0x3F800000, 0x7F800000};
    bits[i / 4] = bad[i % 4];
    check_undo(i, bits, (uint16_t)(i * 977));
  }
  for (int i = 0; i < 256; i++) {
    uint32_t bits[16] = {0x40000000};
    bits[i / 16] = 0x7F800000;
    bits[i % 16] = i % 3 ? 0xFF800000 : 0x7F800000;
    check_undo(i, bits, (uint16_t)(i * 977));
  }
}

// A sum of zero is +0 before the mask applies its sign.
TEST(undo_gives_minus_zero_where_the_mask_negates) {
  float block[16] = {0};
  block[3] = -0.0f;
  ufp4_rht_undo(block, UFP4_RHT_DEFAULT_MASK);
  for (int k = 0; k < 16; k++) {
    const uint32_t want = UFP4_RHT_DEFAULT_MASK >> k & 1 ? 0x80000000u : 0;
    check_bits(k, ufp4_f32_bits(block[k]), want, "element %d", k);
  }
}
