// SPDX-License-Identifier: Apache-2.0
// Tests the quantization of one block (numerics.md 3 and 4): scale, codes and flags for every
// combination of options.
#include <stdio.h>

#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

#define OPTIONS 24
#define NAN_FLAG UFP4_FLAG_NAN
#define SATURATED UFP4_FLAG_ROW_SATURATED

/** Returns option set @p n of element x RHT x rounding x scale rounding. */
static ufp4_quantize_t options(int n) {
  static const ufp4_elem_t elems[] = {UFP4_ELEM_E2M1, UFP4_ELEM_E1M2, UFP4_ELEM_INT4};
  const ufp4_quantize_t how = {
      .elem = elems[n % 3],
      .rht = n / 3 % 2,
      .rht_mask = UFP4_RHT_DEFAULT_MASK,
      .round = n / 6 % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
      .scale_round = n / 12 % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE};
  return how;
}

static unsigned flags_of(unsigned slow) {
  return (slow & REFERENCE_FLAG_NAN ? NAN_FLAG : 0u) |
         (slow & REFERENCE_FLAG_SATURATED ? SATURATED : 0u);
}

/** Compares both models on one block. */
static void check_block(int64_t index, const uint32_t bits[16], const ufp4_quantize_t *how, int t,
                        const uint8_t random[16]) {
  static const char *const names[] = UFP4_ELEM_NAMES;
  const reference_quantize_t reference_how = fixture_slow_options(how);
  uint8_t got[16], want[16], got_scale = 0xAA;
  uint32_t want_scale;
  char what[64];
  snprintf(what, sizeof what, "%s%s%s%s, t %d", names[how->elem], how->rht ? " rht" : "",
           how->round == UFP4_ROUND_SR ? " sr" : "",
           how->scale_round == UFP4_SCALE_ROUND_UP ? " up" : "", t);
  const unsigned got_flags = ufp4_quantize_block(bits, how, t, random, got, &got_scale);
  const unsigned want_flags =
      flags_of(reference_quantize_block(bits, &reference_how, t, random, want, &want_scale));
  check_bits(index, got_scale, want_scale, "%s: scale, x0 %08x", what, bits[0]);
  check_bits(index, got_flags, want_flags, "%s: flags, x0 %08x", what, bits[0]);
  for (int i = 0; i < 16; i++) {
    check_bits(index, got[i], want[i], "%s: code %d of %08x, r %02x, scale %02x", what, i, bits[i],
               random[i], want_scale);
  }
}

/** Returns the tensor exponent of the block alone. */
static int own_exponent(const uint32_t bits[16], const ufp4_quantize_t *how) {
  const reference_quantize_t reference_how = fixture_slow_options(how);
  return reference_tensor_exponent(bits, 1, 16, &reference_how);
}

static void random_bytes(check_random_t *random, uint8_t bytes[16]) {
  for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)check_next(random);
}

/** Quantizes @p count blocks of a distribution with every option set and exponents near the block's
 * own. */
static void sweep(fixture_distribution_t distribution, int count) {
  check_random_t random = check_random();
  for (int i = 0; i < count * OPTIONS; i++) {
    const ufp4_quantize_t how = options(i % OPTIONS);
    uint32_t bits[16];
    uint8_t bytes[16];
    fixture_numbers(&random, distribution, bits, 16);
    random_bytes(&random, bytes);
    check_block(i, bits, &how, own_exponent(bits, &how) + (int)check_below(&random, 20) - 16,
                bytes);
  }
}

TEST(every_distribution) {
  for (int d = 0; d < FIXTURE_DISTRIBUTIONS; d++) sweep((fixture_distribution_t)d, 300);
}

SLOW_TEST(every_distribution_at_length) {
  for (int d = 0; d < FIXTURE_DISTRIBUTIONS; d++) sweep((fixture_distribution_t)d, 2500);
}

/** Returns units * 2^exponent as FP32, which is exact for the arguments used here. */
static uint32_t exact(int64_t units, int exponent) {
  return reference_f32_round(0, (uint64_t)units, exponent);
}

static uint32_t nudge(uint32_t bits, int by, int negative) {
  return (bits + (uint32_t)by) | (uint32_t)negative << 31;
}

TEST(codes_around_every_nearest_boundary) {
  // Element 0 is qmax * s * 2^-t, which makes s the scale; the others are at half-way points and
  // one step beside them.
  for (int n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    const reference_elem_t elem = fixture_slow_options(&how).elem;
    if (how.rht || how.round == UFP4_ROUND_SR) continue;
    for (int i = 0; i < 0x7E * 6; i++) {
      const int t = (i % 6 - 3) * 30, low = -9 - reference_elem_frac(elem) - t,
                units = reference_e4m3_units((uint8_t)(i / 6 + 1));
      const uint8_t unused[16] = {0};
      uint32_t bits[16] = {exact((int64_t)units * reference_elem_magnitude(elem, 7), low)};
      for (int j = 1; j < 16; j++) {
        const int k = (j - 1) % 7,
                  sum = reference_elem_magnitude(elem, k) + reference_elem_magnitude(elem, k + 1);
        bits[j] = nudge(exact((int64_t)units * sum, low - 1), i % 3 - 1, j > 7);
      }
      check_block(i, bits, &how, t, unused);
    }
  }
}

TEST(codes_around_every_stochastic_boundary) {
  // Elements are at low + size * (2 r + 1) / 512, where stochastic rounding must still round down.
  check_random_t random = check_random();
  for (int n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    const reference_elem_t elem = fixture_slow_options(&how).elem;
    if (how.rht || how.round != UFP4_ROUND_SR) continue;
    for (int i = 0; i < 0x7E * 20; i++) {
      const int t = i % 40 - 20, low = -9 - reference_elem_frac(elem) - t,
                units = reference_e4m3_units((uint8_t)(i / 20 + 1));
      uint32_t bits[16] = {exact((int64_t)units * reference_elem_magnitude(elem, 7), low)};
      uint8_t bytes[16];
      random_bytes(&random, bytes);
      for (int j = 1; j < 16; j++) {
        const int k = (j - 1) % 7,
                  size = reference_elem_magnitude(elem, k + 1) - reference_elem_magnitude(elem, k);
        const int bound = 512 * reference_elem_magnitude(elem, k) + size * (2 * bytes[j] + 1);
        bits[j] = nudge(exact((int64_t)units * bound, low - 9), i % 3 - 1, j > 7);
      }
      check_block(i, bits, &how, t, bytes);
    }
  }
}

TEST(scales_around_every_boundary) {
  // amax is at every scale (i even) or half-way to the next (i odd), and one step beside; t lies
  // within its range and at both ends.
  for (int n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    const reference_elem_t elem = fixture_slow_options(&how).elem;
    if (how.rht) continue;
    for (int i = 0; i < 2 * 0x7E * 3; i++) {
      const uint8_t byte = (uint8_t)(i / 6), next = (uint8_t)(i % 2 ? byte + 1 : byte);
      const int t = i % 5 * 25 - 50,
                units = reference_e4m3_units(byte) + reference_e4m3_units(next);
      const uint32_t amax = exact((int64_t)units * reference_elem_magnitude(elem, 7),
                                  -10 - reference_elem_frac(elem) - t);
      const uint8_t bytes[16] = {0, 255, 127, 128, 1, 254};
      const uint32_t around = amax == 0 ? (uint32_t)(i / 2 % 3) : nudge(amax, i / 2 % 3 - 1, 0);
      const uint32_t bits[16] = {0x80000000, around, nudge(around, 0, 1), around / 2,
                                 around > 0x00800000 ? around - 0x00800000 : 1};
      check_block(i, bits, &how, t, bytes);
    }
  }
}

TEST(exponents_at_their_ends) {
  static const int exponents[] = {-32768, -32767, -1000, -300, -150,  150,
                                  162,    163,    300,   1000, 32766, 32767};
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS * 12 * FIXTURE_DISTRIBUTIONS; i++) {
    const ufp4_quantize_t how = options(i % OPTIONS);
    uint32_t bits[16];
    uint8_t bytes[16];
    fixture_numbers(&random, (fixture_distribution_t)(i / OPTIONS / 12), bits, 16);
    random_bytes(&random, bytes);
    check_block(i, bits, &how, exponents[i / OPTIONS % 12], bytes);
  }
}

TEST(scale_saturates_at_448_and_says_so) {
  static const struct {
    float quotient;
    uint8_t rne, up;
    unsigned flags;
  } table[] = {{416, 0x7D, 0x7D, 0},         {417, 0x7D, 0x7E, 0},
               {432, 0x7E, 0x7E, 0},         {448, 0x7E, 0x7E, 0},
               {450, 0x7E, 0x7E, SATURATED}, {463, 0x7E, 0x7E, SATURATED},
               {464, 0x7E, 0x7E, SATURATED}, {1e6f, 0x7E, 0x7E, SATURATED}};
  for (int i = 0; i < 16; i++) {
    const ufp4_quantize_t how = options(i % 2 ? 12 : 0);
    const uint8_t unused[16] = {0};
    const uint32_t bits[16] = {ufp4_f32_bits(6 * table[i / 2].quotient)};
    uint8_t codes[16], scale;
    const unsigned flags = ufp4_quantize_block(bits, &how, 0, unused, codes, &scale);
    check_bits(i, scale, i % 2 ? table[i / 2].up : table[i / 2].rne, "scale of %g",
               (double)table[i / 2].quotient);
    check_bits(i, flags, table[i / 2].flags, "flags of %g", (double)table[i / 2].quotient);
    check_bits(i, codes[0], 7, "code of %g", (double)table[i / 2].quotient);
  }
}

TEST(scale_is_at_least_the_smallest) {
  for (int n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    const uint8_t bytes[16] = {0};
    const uint32_t bits[16] = {1};
    uint8_t codes[16], scale;
    ufp4_quantize_block(bits, &how, 0, bytes, codes, &scale);
    check_bits(n, scale, 1, "scale of a block of 2^-149 with t 0");
    for (int i = 0; i < 16; i++) check_bits(n, codes[i] & 7, 0, "code %d", i);
  }
}

TEST(zero_block_has_zero_scale_and_codes) {
  for (int i = 0; i < OPTIONS * 17; i++) {
    const ufp4_quantize_t how = options(i % OPTIONS);
    uint32_t bits[16];
    const uint8_t bytes[16] = {0};
    uint8_t codes[16], scale;
    for (int j = 0; j < 16; j++) bits[j] = j < i / OPTIONS ? 0x80000000 : 0;
    check_bits(i, ufp4_quantize_block(bits, &how, 100, bytes, codes, &scale), 0, "flags");
    check_bits(i, scale, 0, "scale");
    for (int j = 0; j < 16; j++) check_bits(i, codes[j], 0, "code %d", j);
  }
}

TEST(minus_zero_keeps_its_sign_without_rht) {
  static const uint8_t want[3] = {8, 8, 0};
  for (int n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    const uint32_t bits[16] = {0x3F800000, 0x80000000, 0x80000001};
    const uint8_t bytes[16] = {255, 255, 255};
    uint8_t codes[16], scale;
    if (how.rht) continue;
    ufp4_quantize_block(bits, &how, 0, bytes, codes, &scale);
    check_bits(n, codes[1], want[how.elem], "-0, elem %u", how.elem);
    check_bits(n, codes[2], want[how.elem], "-2^-149, elem %u", how.elem);
  }
}

TEST(zero_after_rht_is_plus_zero) {
  // Two equal elements cancel in half of the outputs.
  for (int n = 0; n < OPTIONS; n++) {
    const ufp4_quantize_t how = options(n);
    const uint32_t bits[16] = {0xBF800000, 0xBF800000};
    const uint8_t bytes[16] = {0};
    uint8_t codes[16], scale;
    int zeros = 0;
    if (!how.rht) continue;
    ufp4_quantize_block(bits, &how, 0, bytes, codes, &scale);
    for (int i = 0; i < 16; i++) zeros += codes[i] == 0;
    check_bits(n, (uint64_t)zeros, 8, "codes that are +0");
  }
}

TEST(rejects_nan_and_inf_as_a_poisoned_block) {
  static const uint32_t bad[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000};
  for (int i = 0; i < OPTIONS * 16 * 5; i++) {
    const ufp4_quantize_t how = options(i % OPTIONS);
    const uint8_t bytes[16] = {0};
    uint32_t bits[16];
    uint8_t codes[16], scale;
    for (int j = 0; j < 16; j++)
      bits[j] = j == i / OPTIONS % 16 ? bad[i / OPTIONS / 16] : 0xC7000000;
    check_bits(i, ufp4_quantize_block(bits, &how, 50, bytes, codes, &scale), NAN_FLAG, "flags");
    check_bits(i, scale, 0x7F, "scale");
    for (int j = 0; j < 16; j++) check_bits(i, codes[j], 0, "code %d", j);
  }
}

TEST(largest_numbers_everywhere) {
  for (int i = 0; i < OPTIONS * 16; i++) {
    const ufp4_quantize_t how = options(i % OPTIONS);
    const uint8_t bytes[16] = {0, 255, 128};
    uint32_t bits[16];
    for (int j = 0; j < 16; j++)
      bits[j] = 0x7F7FFFFF | (uint32_t)__builtin_parity((unsigned)(j & (i / OPTIONS))) << 31;
    check_block(i, bits, &how, own_exponent(bits, &how), bytes);
    check_block(i, bits, &how, -122, bytes);
  }
}

TEST(random_bytes_unread_by_nearest) {
  check_random_t random = check_random();
  for (int i = 0; i < 6 * 100; i++) {
    const ufp4_quantize_t how = options(i % 6);
    uint32_t bits[16];
    uint8_t bytes[16], codes[2][16], scale[2];
    fixture_numbers(&random, FIXTURE_GAUSSIAN, bits, 16);
    random_bytes(&random, bytes);
    const int t = own_exponent(bits, &how);
    ufp4_quantize_block(bits, &how, t, bytes, codes[0], &scale[0]);
    ufp4_quantize_block(bits, &how, t, NULL, codes[1], &scale[1]);
    check_bits(i, scale[1], scale[0], "scale");
    for (int j = 0; j < 16; j++) check_bits(i, codes[1][j], codes[0][j], "code %d", j);
  }
}

TEST(stochastic_rounding_saturates_at_the_largest) {
  for (int r = 0; r < 256; r++) {
    for (int n = 6; n < 9; n++) {
      const ufp4_quantize_t how = options(n);
      const uint32_t bits[16] = {0x7F7FFFFF, 0xFF7FFFFF, 0x7F000000};
      uint8_t bytes[16], codes[16], scale;
      for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)r;
      ufp4_quantize_block(bits, &how, 0, bytes, codes, &scale);
      check_bits(r, codes[0], 7, "elem %u", how.elem);
      check_bits(r, codes[1], how.elem == UFP4_ELEM_INT4 ? 9 : 15, "elem %u", how.elem);
      check_bits(r, codes[3], 0, "zero, elem %u", how.elem);
    }
  }
}

SLOW_TEST(transform_in_bf16) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    ufp4_quantize_t how = options(i % OPTIONS);
    uint32_t bits[16];
    uint8_t bytes[16];
    how.rht = UFP4_RHT_BF16;
    how.rht_mask = (uint16_t)check_next(&random);
    fixture_numbers(&random, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS), bits, 16);
    for (int j = 0; j < 16; j++) bytes[j] = (uint8_t)check_next(&random);
    check_block(i, bits, &how, (int)check_below(&random, 24) - 8, bytes);
  }
}
