// SPDX-License-Identifier: Apache-2.0
// Tests scales and codes at and beside each boundary for every scale format but E4M3 (numerics.md
// 4), which test_block.c covers.
#include <stdlib.h>

#include "fixture.h"
#include "ufp4/format.h"

#define WIDTH 32

/** Rows of 32 numbers under construction. */
typedef struct {
  uint32_t *bits;
  int64_t rows, room;
} rows_t;

static rows_t rows_of(int64_t room) {
  const rows_t rows = {calloc((size_t)room * WIDTH, sizeof(uint32_t)), 0, room};
  if (!rows.bits) abort();
  return rows;
}

static uint32_t *next_row(rows_t *rows) {
  if (rows->rows == rows->room) abort();
  return rows->bits + WIDTH * rows->rows++;
}

/** Compares both models on all rows and frees them. */
static void check_rows(int64_t index, rows_t *rows, const ufp4_quantize_t *how) {
  fixture_tensor_t in = fixture_tensor_of(rows->bits, rows->rows, WIDTH);
  fixture_check_tensor(index, &in, how);
  fixture_tensor_free(&in);
  free(rows->bits);
}

/** Returns the FP32 number @p steps after the one nearest to units * 2^exponent, with a sign; the
 * largest finite number is the limit. */
static uint32_t beside(uint64_t units, int exponent, int steps, int negative) {
  const uint32_t bits = reference_f32_round(0, units, exponent) + (uint32_t)steps;
  const uint32_t kept = bits > 0x80000000u ? 0 : bits > 0x7F7FFFFFu ? 0x7F7FFFFFu : bits;
  return kept | (uint32_t)negative << 31;
}

/** Returns option set n of element and rounding with a scale. */
static ufp4_quantize_t options(int n, ufp4_scale_t scale, ufp4_scale_round_t scale_round) {
  const ufp4_quantize_t how = {.elem = (ufp4_elem_t)(n % 3),
                               .scale = scale,
                               .round = (ufp4_round_t)(n / 3 % 2),
                               .scale_round = scale_round,
                               .seed = 99,
                               .tensor_id = (uint64_t)n};
  return how;
}

static reference_elem_t reference_elem(const ufp4_quantize_t *how) {
  return fixture_slow_options(how).elem;
}

/** Returns a rounding boundary of element j of a row, in quanta / 1024: half-way between two
 * magnitudes, or, with SR, the point that the element's random byte determines. */
static uint64_t boundary(const ufp4_quantize_t *how, int64_t row, int j) {
  const reference_elem_t elem = reference_elem(how);
  const int k = j % 7, low = reference_elem_magnitude(elem, k),
            size = reference_elem_magnitude(elem, k + 1) - low;
  uint8_t random[16];
  if (how->round == UFP4_ROUND_RNE) return (uint64_t)(1024 * low + 512 * size);
  reference_random_block(how->seed, how->tensor_id, (uint64_t)(row * (WIDTH / 16) + j / 16),
                         random);
  return (uint64_t)(1024 * low + 2 * size * (2 * random[j % 16] + 1));
}

/** Appends a row whose scale is units * 2^exponent: element 0 of each block is qmax times that, and
 * the others are at boundaries and up to two steps beside them. */
static void boundary_row(rows_t *rows, const ufp4_quantize_t *how, uint64_t units, int exponent,
                         int steps) {
  const int frac = reference_elem_frac(reference_elem(how));
  const int64_t row = rows->rows;
  uint32_t *x = next_row(rows);
  for (int j = 0; j < WIDTH; j++) {
    const uint64_t at = j % 16 == 0 ? 7 * 1024 : boundary(how, row, j);
    const uint64_t top = (uint64_t)reference_elem_magnitude(reference_elem(how), 7) * 1024;
    x[j] = beside(units * (j % 16 == 0 ? top : at), exponent - frac - 10, j % 16 == 0 ? 0 : steps,
                  j % 3 == 2);
  }
}

TEST(e8m0_scales_around_every_boundary) {
  // amax is at and beside each power of two and each qmax * 2^k.
  for (int n = 0; n < 3 * 2; n++) {
    const ufp4_quantize_t how =
        options(n % 3, UFP4_SCALE_E8M0, n / 3 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN);
    rows_t rows = rows_of(280 * 6);
    for (int i = 0; i < 280 * 6; i++) {
      const int k = i / 6 - 150, half = i / 3 % 2;
      const uint64_t units = half ? (uint64_t)reference_elem_magnitude(reference_elem(&how), 7) : 1;
      uint32_t *x = next_row(&rows);
      x[0] = 0x80000000u;
      x[5] = beside(units, k - (half ? reference_elem_frac(reference_elem(&how)) : 0), i % 3 - 1,
                    i % 2);
      x[31] = x[5] > 0x00800000u ? (x[5] & 0x7FFFFFFFu) / 2 : 0;
    }
    check_rows(n, &rows, &how);
  }
}

TEST(e8m0_codes_around_every_boundary) {
  for (int n = 0; n < 6 * 2; n++) {
    const ufp4_quantize_t how =
        options(n % 6, UFP4_SCALE_E8M0, n / 6 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN);
    rows_t rows = rows_of(260 * 5);
    for (int i = 0; i < 260 * 5; i++) boundary_row(&rows, &how, 1, i / 5 - 132, i % 5 - 2);
    check_rows(n, &rows, &how);
  }
}

TEST(e8m0_down_clips_the_top) {
  // amax is in the upper part of its binade, where the scale is too small for it and codes
  // saturate.
  for (int n = 0; n < 6; n++) {
    const ufp4_quantize_t how = options(n, UFP4_SCALE_E8M0, UFP4_SCALE_ROUND_DOWN);
    rows_t rows = rows_of(512);
    for (int i = 0; i < 512; i++) {
      uint32_t *x = next_row(&rows);
      for (int j = 0; j < WIDTH; j++)
        x[j] = beside((uint64_t)(512 + i - (j == 0 ? 0 : j)), i % 20 - 10, 0, j % 2);
    }
    check_rows(n, &rows, &how);
  }
}

/** Returns a scale with few significant bits, whose boundaries are FP32 numbers, or with many. */
static uint64_t scale_units(check_random_t *random, int i) {
  return 1 + check_below(random, i % 2 ? 1 << 10 : (1 << 24) - 1);
}

TEST(fp32_codes_around_every_boundary) {
  check_random_t random = check_random();
  for (int n = 0; n < 6; n++) {
    const ufp4_quantize_t how = options(n, UFP4_SCALE_FP32, UFP4_SCALE_ROUND_RNE);
    rows_t rows = rows_of(3000);
    for (int i = 0; i < 3000; i++) {
      boundary_row(&rows, &how, scale_units(&random, i),
                   i % 11 == 0 ? (int)check_below(&random, 250) - 150 : -12, i % 5 - 2);
    }
    check_rows(n, &rows, &how);
  }
}

TEST(fp32_scales_of_the_smallest_and_largest) {
  // amax / qmax under half of 2^-149 still gives the scale 2^-149; other rows have subnormal
  // quotients and the largest ones.
  for (int n = 0; n < 6; n++) {
    const ufp4_quantize_t how = options(n, UFP4_SCALE_FP32, UFP4_SCALE_ROUND_RNE);
    rows_t rows = rows_of(1200);
    for (uint32_t i = 0; i < 1200; i++) {
      uint32_t *x = next_row(&rows);
      const uint32_t amax = i < 600   ? i
                            : i < 900 ? 0x00800000u + 3 * (i - 750)
                                      : 0x7F7FFFFFu - 7 * (i - 900);
      for (uint32_t j = 0; j < WIDTH; j++)
        x[j] = (uint32_t)((uint64_t)amax * (j + 1) / WIDTH) | j << 31;
    }
    check_rows(n, &rows, &how);
  }
}

TEST(fp32_scale_of_a_transform_beyond_the_largest) {
  // Sixteen of the largest number, with the signs of a Hadamard row, sum to 4 times that number:
  // only the scale is clamped.
  for (int n = 0; n < 6; n++) {
    ufp4_quantize_t how = options(n, UFP4_SCALE_FP32, UFP4_SCALE_ROUND_RNE);
    how.rht = UFP4_RHT_INTEGER;
    how.rht_mask = 0xD7E8;
    rows_t rows = rows_of(64);
    for (uint32_t i = 0; i < 64; i++) {
      uint32_t *x = next_row(&rows);
      for (uint32_t j = 0; j < WIDTH; j++) {
        const uint32_t sign = (uint32_t)__builtin_parity(i & j & 15) ^ (0xD7E8u >> (j & 15) & 1);
        x[j] = (0x7F7FFFFFu - (i / 16 << 20)) | sign << 31;
      }
    }
    check_rows(n, &rows, &how);
  }
}

// --- NVFP4: the first row holds the tensor's amax -----------------------------------------------

/** The largest magnitude of the tensor; S cannot lift the first few to 2688. */
static const uint32_t largest[] = {
    0x00000001, 0x00000003, 0x00400000, 0x00800000, 0x05280000, 0x05280001, 0x05A80000, 0x33333333,
    0x3F800000, 0x3F7FFFFF, 0x45280000, 0x40C00000, 0x42F6E979, 0x7F7FFFFF, 0x7F000000, 0x60AD78EC};
#define LARGEST ((int)(sizeof largest / sizeof largest[0]))

static ufp4_quantize_t nvfp4(int n) {
  ufp4_quantize_t how = options(3 * (n % 2), UFP4_SCALE_NVFP4, UFP4_SCALE_ROUND_RNE);
  how.tensor_id = (uint64_t)n;
  return how;
}

/** Returns the FP32 number nearest to units * 2^exponent * amax. */
static uint32_t share(uint32_t amax, uint64_t units, int exponent, int steps) {
  const reference_real_t x = reference_f32_real(amax);
  const uint32_t bits =
      reference_f32_quotient(0, x.magnitude * units, x.exponent + exponent, 2688) + (uint32_t)steps;
  return bits > 0x80000000u ? 0 : bits > amax ? amax : bits;
}

SLOW_TEST(nvfp4_scales_around_every_boundary) {
  // amax_b / amax is at each E4M3 number and half-way to the next, times 6 / 2688, and up to three
  // steps beside.
  for (int n = 0; n < LARGEST * 2; n++) {
    const ufp4_quantize_t how = nvfp4(n);
    const uint32_t amax = largest[n / 2];
    rows_t rows = rows_of(1 + 0x7E * 14);
    next_row(&rows)[7] = amax;
    for (int i = 0; i < 0x7E * 14; i++) {
      const uint8_t byte = (uint8_t)(i / 14), next = (uint8_t)(byte + i / 7 % 2);
      uint32_t *x = next_row(&rows);
      const uint64_t units =
          6 * (uint64_t)(reference_e4m3_units(byte) + reference_e4m3_units(next));
      x[3] = share(amax, units, -10, i % 7 - 3) | (uint32_t)i << 31;
      x[4] = (x[3] & 0x7FFFFFFFu) / 2;
      x[20] = share(amax, units, -10, 3 - i % 7);
    }
    check_rows(n, &rows, &how);
  }
}

SLOW_TEST(nvfp4_codes_around_every_boundary) {
  for (int n = 0; n < LARGEST * 2; n++) {
    const ufp4_quantize_t how = nvfp4(n);
    const uint32_t amax = largest[n / 2];
    rows_t rows = rows_of(1 + 0x7E * 7);
    next_row(&rows)[7] = amax;
    for (int i = 0; i < 0x7E * 7; i++) {
      const uint64_t scale = (uint64_t)reference_e4m3_units((uint8_t)(i / 7 + 1));
      uint32_t *x = next_row(&rows);
      for (int j = 0; j < WIDTH; j++) {
        const uint64_t at = j % 16 == 0 ? 12 * 1024 : boundary(&how, rows.rows - 1, j);
        x[j] = share(amax, scale * at, -9 - 1 - 10, j % 16 == 0 ? 0 : i % 7 - 3) |
               (uint32_t)(j % 3 == 1) << 31;
      }
    }
    check_rows(n, &rows, &how);
  }
}

TEST(nvfp4_blocks_that_underflow) {
  // Under half of 2^-9 the scale is 0, so the reciprocal is the largest number and all but the
  // smallest codes are +-6.
  const ufp4_quantize_t how = nvfp4(0);
  rows_t rows = rows_of(2);
  next_row(&rows)[0] = 0x3F800000;
  uint32_t *x = next_row(&rows);
  x[0] = 0x30000000;
  x[1] = 0xB0000001;
  x[2] = 0x80000000;
  fixture_tensor_t in = fixture_tensor_of(rows.bits, rows.rows, WIDTH);
  ufp4_operand_t out;
  if (ufp4_quantize(&in.view, &how, &out) != UFP4_OK) abort();
  check_bits(0, out.scales[2], 0, "scale");
  check_bits(1, fixture_code(&out, 1, 0), 7, "code");
  check_bits(2, fixture_code(&out, 1, 1), 15, "code");
  check_bits(3, fixture_code(&out, 1, 2), 8, "code of -0");
  check_bits(4, fixture_code(&out, 1, 3), 0, "code of 0");
  ufp4_operand_free(&out);
  fixture_tensor_free(&in);
  check_rows(0, &rows, &how);
}

TEST(nvfp4_worked) {
  // amax 3: S = 896, Sd = 1/896, s = E4M3(3 * (896 / 6)) = 448; e = 1/(448/896) = 2: codes of 2 x.
  // Block of amax 1: s = E4M3(149.3) = 144, e = 896/144 = 6.2222.
  static const float x[WIDTH] = {3, -1.5f, 1, 0.24f, -0.26f, 0, 0, 0,     0,    0,
                                 0, 0,     0, 0,     0,      0, 1, -0.5f, 0.2f, 0.1f};
  static const uint8_t want[WIDTH] = {7, 13, 4, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 13, 2, 1};
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, WIDTH, WIDTH, x};
  const ufp4_quantize_t how = nvfp4(0);
  ufp4_operand_t out;
  if (ufp4_quantize(&in, &how, &out) != UFP4_OK) abort();
  check_bits(0, ufp4_f32_bits(out.tensor_scale), ufp4_f32_bits(1.0f / 896), "Sd");
  check_bits(1, out.scales[0], 0x7E, "448");
  check_bits(2, out.scales[1], 0x71, "144");
  for (int j = 0; j < WIDTH; j++)
    check_bits(j, fixture_code(&out, 0, j), want[j], "code of %g", (double)x[j]);
  ufp4_operand_free(&out);
}

TEST(nvfp4_poisoned_tiles_are_left_out_of_amax) {
  for (int n = 0; n < 2 * LARGEST; n++) {
    ufp4_quantize_t how = nvfp4(n / 2);
    how.layout = (ufp4_layout_t)(n % 2);
    rows_t rows = rows_of(40);
    for (int i = 0; i < 40; i++) {
      uint32_t *x = next_row(&rows);
      for (int j = 0; j < WIDTH; j++)
        x[j] = share(largest[n / 2], (uint64_t)(i * j * 7 % 2688), 0, 0) | (uint32_t)j << 31;
    }
    rows.bits[20 * WIDTH + 20] = largest[n / 2];
    rows.bits[22 * WIDTH + 21] =
        n % 3 ? 0x7F800000 : 0x7FC00000;  // in the tile of the largest number in 2-D, in another
                                          // block in 1-D
    check_rows(n, &rows, &how);
  }
}

TEST(nvfp4_copies_have_their_own_amax_after_the_transform) {
  // In a row of ones the transform along the row makes 4 of each 16 ones; along the columns it
  // spreads each one.
  static float x[16 * 16];
  for (int j = 0; j < 16; j++) x[j] = 1;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 16, 16, 16, x};
  ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1, .scale = UFP4_SCALE_NVFP4, .rht = UFP4_RHT_BF16};
  static const float amax[2] = {4, 0.25f};
  for (int axis = 0; axis < 2; axis++) {
    ufp4_operand_t out;
    how.axis = (ufp4_axis_t)axis;
    if (ufp4_quantize(&in, &how, &out) != UFP4_OK) abort();
    check_bits(axis, ufp4_f32_bits(out.tensor_scale), ufp4_f32_bits(1.0f / (2688.0f / amax[axis])),
               "Sd");
    ufp4_operand_free(&out);
  }
}

SLOW_TEST(bf16_transform_at_the_ends_of_the_range) {
  // Covers inputs that round to Inf, sums that overflow, sums under the smallest BF16 number, and
  // ties of BF16.
  static const uint32_t table[] = {0x7F7FFFFF, 0x7F7F7FFF, 0x7F7F8000, 0x7F000000, 0x7E800000,
                                   0x00000001, 0x00008000, 0x00010000, 0x80018000, 0x3F808000,
                                   0xBF818000, 0x3B800000, 0x7F800000, 0x00000000};
  check_random_t random = check_random();
  for (int n = 0; n < 4 * 3; n++) {
    ufp4_quantize_t how =
        n % 2 ? nvfp4(n / 2) : options(n, UFP4_SCALE_E4M3, (ufp4_scale_round_t)(n / 2 % 2));
    how.rht = UFP4_RHT_BF16;
    how.rht_mask = n % 4 ? 0xD7E8 : 0;
    rows_t rows = rows_of(400);
    for (int i = 0; i < 400; i++) {
      uint32_t *x = next_row(&rows);
      const uint32_t some = 1 + check_below(&random, 12), first = check_below(&random, 14);
      for (int j = 0; j < WIDTH; j++)
        x[j] = table[(first + check_below(&random, some) / 4) % 14] ^ (uint32_t)check_next(&random)
                                                                          << 31;
    }
    check_rows(n, &rows, &how);
  }
}

TEST(bf16_transform_of_large_numbers_that_cancel) {
  // Two large numbers of opposite sign cancel, which leaves a few units of the smallest BF16
  // number.
  check_random_t random = check_random();
  ufp4_quantize_t how = options(0, UFP4_SCALE_E4M3, UFP4_SCALE_ROUND_RNE);
  how.rht = UFP4_RHT_BF16;
  rows_t rows = rows_of(400);
  for (int i = 0; i < 400; i++) {
    uint32_t *x = next_row(&rows);
    for (int j = 0; j < WIDTH; j++) x[j] = (uint32_t)check_next(&random) & 0x80030000u;
    const uint32_t large = 0x19000000u + ((uint32_t)i << 22);
    x[check_below(&random, 8)] = large;
    x[8 + check_below(&random, 8)] = large | 0x80000000u;
  }
  check_rows(0, &rows, &how);
}
