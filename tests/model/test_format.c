// SPDX-License-Identifier: Apache-2.0
// Tests elements, scales, BF16 and the one rounding to FP32 (numerics.md 1, 2, 5): the golden model
// against the reference model and against values written out here.
#include "fixture.h"
#include "ufp4/format.h"

static const ufp4_elem_t elems[] = {UFP4_ELEM_E2M1, UFP4_ELEM_E1M2, UFP4_ELEM_INT4};

static reference_elem_t reference_of(ufp4_elem_t elem) {
  const ufp4_quantize_t how = {.elem = elem};
  return fixture_slow_options(&how).elem;
}

TEST(elem_quanta_of_every_code) {
  for (int e = 0; e < 3; e++) {
    for (unsigned code = 0; code < 64; code++) {
      check_bits(code, (uint64_t)ufp4_elem_quanta(elems[e], code),
                 (uint64_t)reference_elem_quanta(reference_of(elems[e]), code), "elem %d", e);
    }
  }
}

TEST(elem_quanta_worked) {
  static const int e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (unsigned code = 0; code < 16; code++) {
    const int uniform = code < 8 ? (int)code : 8 - (int)code;
    check_bits(code, (uint64_t)ufp4_elem_quanta(UFP4_ELEM_E2M1, code), (uint64_t)e2m1[code],
               "e2m1");
    check_bits(code, (uint64_t)ufp4_elem_quanta(UFP4_ELEM_E1M2, code), (uint64_t)uniform, "e1m2");
    check_bits(code, (uint64_t)ufp4_elem_quanta(UFP4_ELEM_INT4, code),
               (uint64_t)((int)(code ^ 8) - 8), "int4");
  }
}

TEST(elem_frac_and_largest) {
  static const int frac[3] = {1, 2, 0}, largest[3] = {12, 7, 7}, any[3] = {12, 7, 8};
  static const int odd[3] = UFP4_ELEM_QMAX_ODD, exponent[3] = UFP4_ELEM_QMAX_EXPONENT,
                   generated[3] = UFP4_ELEM_LARGEST;
  for (int e = 0; e < 3; e++) {
    check_bits(e, (uint64_t)ufp4_elem_frac(elems[e]), (uint64_t)frac[e], "fraction bits");
    check_bits(e, (uint64_t)ufp4_elem_qmax_quanta(elems[e]), (uint64_t)largest[e], "qmax");
    check_bits(e, (uint64_t)(odd[e] << (exponent[e] + frac[e])), (uint64_t)largest[e],
               "qmax in two parts");
    check_bits(e, (uint64_t)odd[e] & 1, 1, "odd");
    check_bits(e, (uint64_t)generated[e], (uint64_t)any[e], "largest of any code");
  }
}

TEST(elem_value_of_every_code) {
  for (int e = 0; e < 3; e++) {
    for (unsigned code = 0; code < 16; code++) {
      check_bits(code, ufp4_f32_bits(ufp4_elem_value(elems[e], code)),
                 reference_elem_value(reference_of(elems[e]), code), "elem %d", e);
    }
  }
}

TEST(elem_cast_inverts_value) {
  for (int e = 0; e < 3; e++) {
    for (unsigned code = 0; code < 16; code++) {
      if (elems[e] == UFP4_ELEM_INT4 && code == 8)
        continue;  // -8 is never emitted: it saturates to -7
      check_bits(code, ufp4_elem_cast(elems[e], ufp4_elem_value(elems[e], code)), code, "elem %d",
                 e);
    }
  }
}

TEST(elem_cast_of_every_bf16) {
  for (int e = 0; e < 3; e++) {
    for (uint32_t i = 0; i < 65536; i++) {
      const uint32_t bits = i << 16;
      check_bits(i, ufp4_elem_cast(elems[e], ufp4_f32_value(bits)),
                 reference_elem_cast(reference_of(elems[e]), bits), "elem %d %08x", e, bits);
    }
  }
}

TEST(elem_cast_worked) {
  static const struct {
    float value;
    uint8_t e2m1, e1m2, int4;
  } table[] = {
      {0.0f, 0, 0, 0},   {-0.0f, 8, 8, 0},   {0.25f, 0, 1, 0},     {-0.25f, 8, 9, 0},
      {0.75f, 2, 3, 1},  {1.25f, 2, 5, 1},   {-1.75f, 12, 15, 14}, {2.5f, 4, 7, 2},
      {3.5f, 6, 7, 4},   {5.0f, 6, 7, 5},    {-5.0f, 14, 15, 11},  {0.125f, 0, 0, 0},
      {0.375f, 1, 2, 0}, {0.5f, 1, 2, 0},    {-0.5f, 9, 10, 0},    {6.5f, 7, 7, 6},
      {7.5f, 7, 7, 7},   {-8.0f, 15, 15, 9}, {1e30f, 7, 7, 7},     {-1e-30f, 8, 8, 0},
  };
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    const float x = table[i].value;
    check_bits(i, ufp4_elem_cast(UFP4_ELEM_E2M1, x), table[i].e2m1, "e2m1 of %g", (double)x);
    check_bits(i, ufp4_elem_cast(UFP4_ELEM_E1M2, x), table[i].e1m2, "e1m2 of %g", (double)x);
    check_bits(i, ufp4_elem_cast(UFP4_ELEM_INT4, x), table[i].int4, "int4 of %g", (double)x);
  }
}

TEST(elem_cast_of_nan_and_inf) {
  static const uint32_t nans[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF};
  for (int e = 0; e < 3; e++) {
    for (int i = 0; i < 4; i++)
      check_bits(i, ufp4_elem_cast(elems[e], ufp4_f32_value(nans[i])), 7, "NaN %08x, elem %d",
                 nans[i], e);
    check_bits(4, ufp4_elem_cast(elems[e], ufp4_f32_value(0x7F800000)), 7, "+Inf, elem %d", e);
    check_bits(5, ufp4_elem_cast(elems[e], ufp4_f32_value(0xFF800000)),
               elems[e] == UFP4_ELEM_INT4 ? 9 : 15, "-Inf, elem %d", e);
  }
}

/** Checks the point half-way between two neighbours, its FP32 neighbours, and the same points below
 * zero. */
static void check_around(int64_t index, int e, uint32_t middle) {
  for (uint32_t i = 0; i < 6; i++) {
    const uint32_t bits = (middle + i % 3 - 1) | (i / 3) << 31;
    check_bits(index, ufp4_elem_cast(elems[e], ufp4_f32_value(bits)),
               reference_elem_cast(reference_of(elems[e]), bits), "elem %d %08x", e, bits);
  }
}

TEST(elem_cast_around_boundaries) {
  for (int e = 0; e < 3; e++) {
    for (int k = 0; k < 7; k++) {
      const int sum = reference_elem_magnitude(reference_of(elems[e]), k) +
                      reference_elem_magnitude(reference_of(elems[e]), k + 1);
      check_around(
          k, e,
          reference_f32_round(0, (uint64_t)sum, -1 - reference_elem_frac(reference_of(elems[e]))));
    }
  }
}

TEST(elem_cast_of_random_numbers) {
  check_random_t random = check_random();
  for (int i = 0; i < 200000; i++) {
    const uint32_t bits =
        fixture_number(&random, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS));
    for (int e = 0; e < 3; e++) {
      check_bits(i, ufp4_elem_cast(elems[e], ufp4_f32_value(bits)),
                 reference_elem_cast(reference_of(elems[e]), bits), "elem %d %08x", e, bits);
    }
  }
}

TEST(e4m3_decode_of_every_byte) {
  for (unsigned byte = 0; byte < 256; byte++) {
    int sig = -1, exp = -1;
    const int units = reference_e4m3_units((uint8_t)byte),
              number = ufp4_e4m3_decode((uint8_t)byte, &sig, &exp);
    check_bits(byte, (uint64_t)number, units >= 0, "is a number");
    if (units < 0) continue;
    if (!check_that(byte, sig >= 0 && sig <= 15 && exp >= 0 && exp <= 14, "sig %d, exp %d", sig,
                    exp))
      continue;
    check_bits(byte, (uint64_t)sig << exp, (uint64_t)units, "sig %d, exp %d", sig, exp);
    check_that(byte, exp == 0 || sig >= 8, "sig %d, exp %d is not normal", sig, exp);
  }
}

TEST(e4m3_value_of_every_byte) {
  for (unsigned byte = 0; byte < 256; byte++) {
    check_bits(byte, ufp4_f32_bits(ufp4_e4m3_value((uint8_t)byte)),
               reference_e4m3_value((uint8_t)byte), "byte %02x", byte);
  }
}

TEST(e4m3_cast_inverts_value) {
  for (unsigned byte = 0; byte < 256; byte++) {
    check_bits(byte, ufp4_e4m3_cast(ufp4_e4m3_value((uint8_t)byte)), byte == 0xFF ? 0x7F : byte,
               "byte %02x", byte);
  }
}

TEST(e4m3_cast_of_every_bf16) {
  for (uint32_t i = 0; i < 65536; i++) {
    check_bits(i, ufp4_e4m3_cast(ufp4_f32_value(i << 16)), reference_e4m3_cast(i << 16), "%08x",
               i << 16);
  }
}

TEST(e4m3_cast_worked) {
  static const struct {
    float value;
    uint8_t byte;
  } table[] = {{0.0f, 0},         {-0.0f, 0x80},      {1.0f, 0x38},       {448.0f, 0x7E},
               {449.0f, 0x7E},    {464.0f, 0x7E},     {480.0f, 0x7E},     {-1e38f, 0xFE},
               {0.001953125f, 1}, {0.0009765625f, 0}, {0.0029296875f, 2}, {-0.0009765625f, 0x80},
               {0.015625f, 0x08}, {1.0625f, 0x38},    {1.1875f, 0x3A},    {432.0f, 0x7E},
               {416.0f, 0x7D},    {-240.0f, 0xF7}};
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    check_bits(i, ufp4_e4m3_cast(table[i].value), table[i].byte, "%g", (double)table[i].value);
  }
  check_bits(100, ufp4_e4m3_cast(ufp4_f32_value(0xFFC00000)), 0x7F, "NaN");
  check_bits(101, ufp4_e4m3_cast(ufp4_f32_value(0x7F800000)), 0x7E, "Inf");
  check_bits(102, ufp4_e4m3_cast(ufp4_f32_value(0xFF800000)), 0xFE, "-Inf");
}

TEST(e4m3_cast_around_boundaries) {
  for (uint8_t byte = 0; byte < 0x7E; byte++) {
    const int sum = reference_e4m3_units(byte) + reference_e4m3_units((uint8_t)(byte + 1));
    const uint32_t middle = reference_f32_round(0, (uint64_t)sum, -10);
    for (uint32_t i = 0; i < 6; i++) {
      const uint32_t bits = (middle + i % 3 - 1) | (i / 3) << 31;
      check_bits(byte, ufp4_e4m3_cast(ufp4_f32_value(bits)), reference_e4m3_cast(bits), "%08x",
                 bits);
    }
  }
}

TEST(e4m3_cast_of_random_numbers) {
  check_random_t random = check_random();
  for (int i = 0; i < 100000; i++) {
    const uint32_t bits =
        fixture_number(&random, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS));
    check_bits(i, ufp4_e4m3_cast(ufp4_f32_value(bits)), reference_e4m3_cast(bits), "%08x", bits);
  }
}

TEST(e8m0_value_of_every_byte) {
  for (unsigned byte = 0; byte < 256; byte++) {
    check_bits(byte, ufp4_f32_bits(ufp4_e8m0_value((uint8_t)byte)),
               reference_e8m0_value((uint8_t)byte), "byte %02x", byte);
  }
}

static void check_e8m0(int64_t index, uint32_t bits) {
  check_bits(index, ufp4_e8m0_cast(ufp4_f32_value(bits), 0), reference_e8m0_cast(bits, 0),
             "%08x down", bits);
  check_bits(index, ufp4_e8m0_cast(ufp4_f32_value(bits), 1), reference_e8m0_cast(bits, 1),
             "%08x up", bits);
}

TEST(e8m0_cast_of_every_bf16) {
  for (uint32_t i = 0; i < 65536; i++) check_e8m0(i, i << 16);
}

TEST(e8m0_cast_around_powers) {
  for (unsigned byte = 0; byte < 255; byte++) {
    const uint32_t power = reference_e8m0_value((uint8_t)byte);
    for (uint32_t i = 0; i < 6; i++) check_e8m0(byte, (power + i % 3 - 1) | (i / 3) << 31);
  }
}

TEST(e8m0_cast_worked) {
  static const struct {
    uint32_t bits;
    uint8_t down, up;
  } table[] = {{0x00000000, 0, 0},     {0x00000001, 0, 0},     {0x00400000, 0, 0},
               {0x00400001, 0, 1},     {0x00800000, 1, 1},     {0x3F800000, 127, 127},
               {0xBF800001, 127, 128}, {0x7F000000, 254, 254}, {0x7F000001, 254, 254},
               {0x7F7FFFFF, 254, 254}, {0xFF800000, 254, 254}, {0xFFC00000, 255, 255}};
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    check_bits(i, ufp4_e8m0_cast(ufp4_f32_value(table[i].bits), 0), table[i].down, "%08x down",
               table[i].bits);
    check_bits(i, ufp4_e8m0_cast(ufp4_f32_value(table[i].bits), 1), table[i].up, "%08x up",
               table[i].bits);
  }
}

TEST(bf16_cast_inverts_value) {
  for (uint32_t i = 0; i < 65536; i++) {
#ifdef __i386__  // returns floats in a register of the x87, which makes signaling NaNs quiet
    const uint32_t quiet = reference_f32_is_nan(i << 16) ? 0x00400000 : 0;
#else
    const uint32_t quiet = 0;
#endif
    const uint32_t bits = ufp4_f32_bits(ufp4_bf16_value((uint16_t)i));
    check_bits(i, bits | quiet, i << 16 | quiet, "value of %04x", i);
    check_bits(i, ufp4_bf16_cast(ufp4_f32_value(i << 16)),
               reference_f32_is_nan(i << 16) ? 0x7FC0 : i, "cast of %08x", i << 16);
  }
}

TEST(bf16_cast_around_every_boundary) {
  static const uint32_t low[] = {0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  for (uint32_t i = 0; i < 65536 * 5; i++) {
    const uint32_t bits = (i / 5) << 16 | low[i % 5];
    check_bits(i, ufp4_bf16_cast(ufp4_f32_value(bits)), reference_bf16_cast(bits), "%08x", bits);
  }
}

static void check_rounding(int64_t index, int64_t sum, int exponent) {
  const uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
  check_bits(index, ufp4_f32_from_scaled(sum, exponent),
             reference_f32_round(sum < 0, magnitude, exponent), "%lld * 2^%d", (long long)sum,
             exponent);
}

TEST(f32_from_scaled_worked) {
  static const struct {
    int64_t sum;
    int exponent;
    uint32_t bits;
  } table[] = {
      {0, 0, 0},
      {0, 100000, 0},
      {1, 0, 0x3F800000},
      {-1, 0, 0xBF800000},
      {16777217, 0, 0x4B800000},  // 2^24 + 1: a tie, to even
      {16777219, 0, 0x4B800002},
      {1, -149, 1},
      {1, -150, 0},  // a tie with zero
      {3, -151, 1},
      {-1, -151, 0x80000000},  // underflow keeps its sign
      {-1, -100000, 0x80000000},
      {1, 128, 0x7F800000},
      {-1, 100000, 0xFF800000},
      {33554431, 103, 0x7F800000},  // 2^128 - 2^103: half-way to 2^128
      {67108861, 102, 0x7F7FFFFF},  // just below
      {INT64_MAX, 0, 0x5F000000},
      {INT64_MIN, 0, 0xDF000000},
      {8388607, -149, 0x007FFFFF},
      {16777215, -150, 0x00800000},  // rounds up into the normal numbers
  };
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    check_bits(i, ufp4_f32_from_scaled(table[i].sum, table[i].exponent), table[i].bits,
               "%lld * 2^%d", (long long)table[i].sum, table[i].exponent);
  }
}

TEST(f32_from_scaled_around_ties) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    const int shift = (int)check_below(&random, 38);
    const int64_t top =
        (int64_t)(check_next(&random) >> 39 | 1 << 24);  // 25 bits, of which the last is the half
    const int64_t sum = (top << shift) + (int64_t)check_below(&random, 3) - 1;
    check_rounding(i, i % 2 ? -sum : sum, (int)check_below(&random, 60) - 30);
  }
}

TEST(f32_from_scaled_at_the_ends_of_the_range) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    const int64_t sum = (int64_t)(check_next(&random) >> check_below(&random, 63));
    const int width = 64 - (sum == 0 ? 64 : __builtin_clzll((uint64_t)sum));
    check_rounding(i, sum, -width - 150 + (int)check_below(&random, 30));
    check_rounding(i, -(sum >> 1), -width + 127 + (int)check_below(&random, 4));
    check_rounding(i, sum, (int)check_below(&random, 131072) - 65536);
  }
}
