// SPDX-License-Identifier: Apache-2.0
// Tests D = alpha A B^T + C with the exact contract (numerics.md 5).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "ufp4/format.h"

static const ufp4_elem_t elems[] = {UFP4_ELEM_E2M1, UFP4_ELEM_E1M2, UFP4_ELEM_INT4};

/** M, N and K are at and beside every size at which a blocked implementation changes its path. */
static const int shapes[][3] = {{1, 1, 1},    {1, 1, 16},   {2, 3, 17},    {16, 16, 16},
                                {17, 15, 33}, {5, 64, 47},  {64, 5, 129},  {33, 47, 130},
                                {1, 100, 31}, {100, 1, 31}, {31, 33, 256}, {65, 63, 65},
                                {3, 5, 1040}, {8, 4, 15},   {4, 16, 48},   {129, 20, 8}};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

/** Returns options without alpha, C and sums. */
static ufp4_gemm_t plain(ufp4_dtype_t dtype) {
  return (ufp4_gemm_t){
      .contract = UFP4_CONTRACT_EXACT, .d_dtype = dtype, .alpha = 1, .kernel = fixture_kernel()};
}

static void sweep(ufp4_dtype_t dtype, fixture_scales_t scales) {
  check_random_t random = check_random();
  for (int i = 0; i < 9 * SHAPES; i++) {
    pair_t p = pair_random(&random, i % 9, shapes[i / 9], scales);
    pair_set_level(&p, (int)check_below(&random, 40) - 20, (int)check_below(&random, 40) - 20);
    const ufp4_gemm_t how = plain(dtype);
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

TEST(every_pair_of_formats) {
  for (int dtype = 0; dtype < UFP4_DTYPE_COUNT; dtype++) {
    sweep((ufp4_dtype_t)dtype, FIXTURE_SCALES_ANY);
    sweep((ufp4_dtype_t)dtype, FIXTURE_SCALES_MAX);
    sweep((ufp4_dtype_t)dtype, FIXTURE_SCALES_NAN);
  }
}

TEST(one_block_worked) {
  // E2M1 1.5 x 3 and -6 x 0.5 with scales 2 and 0.25, t 1 and 2: (4.5 - 3) * 0.5 / 8 = 0.09375.
  uint8_t codes_a[8] = {0xF3}, codes_b[8] = {0x15}, scale_a = 0x40, scale_b = 0x28;
  const ufp4_operand_t a = {.elem = UFP4_ELEM_E2M1,
                            .rows = 1,
                            .cols = 2,
                            .blocks = 1,
                            .block = 16,
                            .scale_blocks = 1,
                            .codes = codes_a,
                            .scales = &scale_a,
                            .exponent = 1};
  const ufp4_operand_t b = {.elem = UFP4_ELEM_E2M1,
                            .rows = 1,
                            .cols = 2,
                            .blocks = 1,
                            .block = 16,
                            .scale_blocks = 1,
                            .codes = codes_b,
                            .scales = &scale_b,
                            .exponent = 2};
  ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
  uint32_t d = 0;
  int64_t sum = 0;
  ufp4_gemm(&a, &b, &how, &d, 1);
  check_bits(0, d, 0x3DC00000, "0.09375");
  how.d_dtype = UFP4_DTYPE_I64;
  ufp4_gemm(&a, &b, &how, &sum, 1);
  check_bits(1, (uint64_t)sum, 6ull * 1024 * 128, "(3*6 - 12*1) quanta, scales 2^10 and 2^7 units");
}

static int64_t quanta(ufp4_elem_t elem, unsigned code) {
  const ufp4_quantize_t how = {.elem = elem};
  return reference_elem_quanta(fixture_slow_options(&how).elem, code);
}

TEST(every_product_of_codes) {
  // Each output is one product of two elements: row i of A holds code i, row j of B code j.
  for (int formats = 0; formats < 9; formats++) {
    check_random_t random = check_random();
    pair_t p = pair_random(&random, formats, (const int[3]){16, 16, 1}, FIXTURE_SCALES_ANY);
    for (int i = 0; i < 16; i++) {
      memset(p.a.codes + 8 * i, 0, 8);
      memset(p.b.codes + 8 * i, 0, 8);
      p.a.codes[8 * i] = p.b.codes[8 * i] = (uint8_t)i;
      p.a.scales[i] = p.b.scales[i] = 1;
    }
    int64_t d[256];
    const ufp4_gemm_t how = plain(UFP4_DTYPE_I64);
    ufp4_gemm(&p.a, &p.b, &how, d, 16);
    for (int i = 0; i < 256; i++) {
      const int64_t want = quanta(p.a.elem, (unsigned)i / 16) * quanta(p.b.elem, (unsigned)i % 16);
      check_bits(i, (uint64_t)d[i], (uint64_t)want, "formats %d, codes %x and %x", formats, i / 16,
                 i % 16);
    }
    pair_free(&p);
  }
}

TEST(every_product_of_scales) {
  check_random_t random = check_random();
  pair_t p = pair_random(&random, 0, (const int[3]){256, 256, 1}, FIXTURE_SCALES_ANY);
  memset(p.a.codes, 0, 256 * 8);
  memset(p.b.codes, 0, 256 * 8);
  for (int i = 0; i < 256; i++) {
    p.a.codes[8 * i] = p.b.codes[8 * i] = 1;
    p.a.scales[i] = p.b.scales[i] = (uint8_t)i;
  }
  static int64_t d[256 * 256];
  const ufp4_gemm_t how = plain(UFP4_DTYPE_I64);
  ufp4_gemm(&p.a, &p.b, &how, d, 256);
  for (int i = 0; i < 256 * 256; i++) {
    const int64_t x = reference_e4m3_units((uint8_t)(i / 256)),
                  y = reference_e4m3_units((uint8_t)(i % 256));
    check_bits(i, (uint64_t)d[i], (uint64_t)(x < 0 || y < 0 ? INT64_MIN : x * y),
               "scales %02x and %02x", i / 256, i % 256);
  }
  pair_free(&p);
}

/** The second half of A is the negative of its first half and meets the same B, so every sum is
 * zero. */
TEST(cancelling_sums_are_plus_zero) {
  check_random_t random = check_random();
  for (int i = 0; i < 60; i++) {
    const int blocks = 1 + i % 20;
    pair_t p = pair_random(&random, i % 2 * 4, (const int[3]){9, 7, 32 * blocks},
                           FIXTURE_SCALES_ANY);  // sign-magnitude formats
    for (int64_t r = 0; r < 9; r++) {
      uint8_t *codes = p.a.codes + r * 16 * blocks, *scales = p.a.scales + r * 2 * blocks;
      for (int j = 0; j < 8 * blocks; j++) codes[8 * blocks + j] = codes[j] ^ 0x88;
      memcpy(scales + blocks, scales, (size_t)blocks);
    }
    for (int64_t r = 0; r < 7; r++) {
      uint8_t *codes = p.b.codes + r * 16 * blocks, *scales = p.b.scales + r * 2 * blocks;
      memcpy(codes + 8 * blocks, codes, (size_t)(8 * blocks));
      memcpy(scales + blocks, scales, (size_t)blocks);
    }
    uint32_t d[63];
    const ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
    check_bits(i, (uint64_t)ufp4_gemm(&p.a, &p.b, &how, d, 7), UFP4_OK, "status");
    for (int j = 0; j < 63; j++) check_bits(j, d[j], 0, "%d blocks", 2 * blocks);
    pair_free(&p);
  }
}

TEST(c_that_cancels_is_plus_zero) {
  check_random_t random = check_random();
  for (int i = 0; i < 9; i++) {
    pair_t p = pair_random(&random, i, (const int[3]){5, 5, 20}, FIXTURE_SCALES_ANY);
    pair_set_level(&p, 3, 4);
    uint32_t first[25], second[25];
    float c[25];
    ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
    ufp4_gemm(&p.a, &p.b, &how, first, 5);
    for (int j = 0; j < 25; j++) c[j] = ufp4_f32_value(first[j] ^ 0x80000000);
    how.c = c, how.c_ld = 5;
    ufp4_gemm(&p.a, &p.b, &how, second, 5);
    for (int j = 0; j < 25; j++) check_bits(j, second[j], 0, "%08x minus itself", first[j]);
    pair_free(&p);
  }
}

TEST(accumulate_adds_before_rounding) {
  check_random_t random = check_random();
  for (int i = 0; i < 9 * 12; i++) {
    pair_t p = pair_random(&random, i % 9, (const int[3]){7, 9, 35},
                           i % 5 ? FIXTURE_SCALES_ANY : FIXTURE_SCALES_NAN);
    int64_t start[7 * 10];
    for (int j = 0; j < 70; j++) {
      start[j] = check_below(&random, 9) == 0
                     ? UFP4_I64_NAN
                     : (int64_t)(check_next(&random) >> check_below(&random, 63) >> 2);
    }
    ufp4_gemm_t how = plain((ufp4_dtype_t)(i / 9 % 3));
    how.accumulate = start;
    how.accumulate_ld = 10;
    pair_set_level(&p, i % 11, -i % 7);
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

/** Returns a sum half-way between two neighbours of FP32 or BF16, or one unit beside that. */
static int64_t sum_near_tie(check_random_t *random, int bits) {
  const int64_t odd = (int64_t)(check_next(random) >> (64 - bits)) | 1 | 1 << (bits - 1);
  const int64_t sum =
      (odd << check_below(random, (uint32_t)(63 - bits))) + (int64_t)check_below(random, 3) - 1;
  return check_below(random, 2) ? -sum : sum;
}

TEST(sums_around_ties_are_rounded_once) {
  // The operands are zero, so D is the incoming sum, rounded. BF16 is rounded from FP32, which
  // loses the unit beside a tie.
  check_random_t random = check_random();
  for (int i = 0; i < 9 * 60; i++) {
    pair_t p = pair_random(&random, i % 9, (const int[3]){9, 40, 16}, FIXTURE_SCALES_ANY);
    memset(p.a.codes, 0, 9 * 8);
    const int t = i % 4 == 0 ? (int)check_below(&random, 400) - 200 : (int)check_below(&random, 40);
    pair_set_level(&p, t / 2, t - t / 2);
    static int64_t sums[9 * 40];
    for (int j = 0; j < 9 * 40; j++) sums[j] = sum_near_tie(&random, j % 2 ? 25 : 9);
    ufp4_gemm_t how = plain(i % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
    how.accumulate = sums;
    how.accumulate_ld = 40;
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

/** Copies blocks [first, first + count) of an operand; free it with ufp4_operand_free. */
static ufp4_operand_t slice(const ufp4_operand_t *in, int64_t first, int64_t count) {
  ufp4_operand_t out;
  if (ufp4_operand_create(in->elem, in->rows, 16 * count, &out) != UFP4_OK) abort();
  out.exponent = in->exponent;
  for (int64_t r = 0; r < in->rows; r++) {
    memcpy(out.codes + r * count * 8, in->codes + (r * in->blocks + first) * 8,
           (size_t)(count * 8));
    memcpy(out.scales + r * count, in->scales + r * in->blocks + first, (size_t)count);
  }
  return out;
}

#define SPLIT_M 21
#define SPLIT_N 18

/** Adds the sums of blocks [first, first + count) to @p in. */
static void accumulate_part(const pair_t *p, int64_t first, int64_t count, ufp4_dtype_t dtype,
                            const int64_t *in, void *out) {
  ufp4_operand_t a = slice(&p->a, first, count), b = slice(&p->b, first, count);
  ufp4_gemm_t how = plain(dtype);
  how.accumulate = in;
  how.accumulate_ld = SPLIT_N;
  if (ufp4_gemm(&a, &b, &how, out, SPLIT_N) != UFP4_OK) abort();
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(any_split_of_k_gives_the_same_bits) {
  check_random_t random = check_random();
  for (int i = 0; i < 60; i++) {
    const int blocks = 2 + (int)check_below(&random, 30);
    pair_t p = pair_random(&random, i % 9, (const int[3]){SPLIT_M, SPLIT_N, 16 * blocks},
                           i % 4 ? FIXTURE_SCALES_ANY : FIXTURE_SCALES_NAN);
    pair_set_level(&p, 5, 9);
    uint32_t whole[SPLIT_M * SPLIT_N], split[SPLIT_M * SPLIT_N];
    int64_t sums[SPLIT_M * SPLIT_N] = {0};
    const ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
    if (ufp4_gemm(&p.a, &p.b, &how, whole, SPLIT_N) != UFP4_OK) abort();
    int64_t last = blocks;
    while (last > 1) {  // parts of random length, from the end; the first part rounds
      const int64_t count = 1 + check_below(&random, (uint32_t)(last - 1));
      int64_t next[SPLIT_M * SPLIT_N];
      last -= count;
      accumulate_part(&p, last, count, UFP4_DTYPE_I64, sums, next);
      memcpy(sums, next, sizeof sums);
    }
    accumulate_part(&p, 0, last, UFP4_DTYPE_F32, sums, split);
    for (int j = 0; j < SPLIT_M * SPLIT_N; j++)
      check_bits(j, split[j], whole[j], "case %d, %d blocks", i, blocks);
    pair_free(&p);
  }
}

TEST(nan_poisons_a_row_or_a_column) {
  check_random_t random = check_random();
  pair_t p = pair_random(&random, 3, (const int[3]){20, 20, 64}, FIXTURE_SCALES_ANY);
  p.a.scales[7 * 4 + 2] = 0x7F;
  p.b.scales[11 * 4 + 3] = 0xFF;
  memset(p.a.codes + (7 * 4 + 2) * 8, 0, 8);  // 0 times a NaN scale is NaN
  uint32_t d[400];
  const ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
  ufp4_gemm(&p.a, &p.b, &how, d, 20);
  for (int i = 0; i < 400; i++) {
    const int poisoned = i / 20 == 7 || i % 20 == 11;
    check_that(i, poisoned == (d[i] == 0x7FC00000), "D[%d][%d] is %08x", i / 20, i % 20, d[i]);
  }
  pair_free(&p);
}

TEST(sign_of_a_scale_byte_is_ignored) {
  check_random_t random = check_random();
  pair_t p = pair_random(&random, 5, (const int[3]){12, 12, 50}, FIXTURE_SCALES_ANY);
  uint32_t d[144], e[144];
  const ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
  ufp4_gemm(&p.a, &p.b, &how, d, 12);
  for (int i = 0; i < 12 * 4; i++) p.a.scales[i] ^= 0x80, p.b.scales[i] &= 0x7F;
  ufp4_gemm(&p.a, &p.b, &how, e, 12);
  for (int i = 0; i < 144; i++) check_bits(i, e[i], d[i], "D");
  pair_free(&p);
}

SLOW_TEST(largest_k_of_largest_operands) {
  // 2^20 products of 36 * 448^2 in units of 2^-20 are 2^16 blocks of 2304 * (448 * 2^9)^2, that is
  // 2^62.8, which still fits.
  const int shape[3] = {2, 3, UFP4_MAX_DIM};
  check_random_t random = check_random();
  for (int formats = 0; formats < 9; formats += 4) {
    pair_t p = pair_random(&random, formats, shape, FIXTURE_SCALES_MAX);
    const ufp4_gemm_t i64 = plain(UFP4_DTYPE_I64), f32 = plain(UFP4_DTYPE_F32);
    pair_check(formats, &p, &i64);
    pair_check(formats, &p, &f32);
    for (int64_t i = 0; i < p.a.blocks * 16; i++)
      p.a.codes[i] ^= formats == 8 ? 0xFF : 0x88;  // -8 becomes 7; other formats change sign
    pair_check(formats, &p, &i64);
    pair_free(&p);
  }
}

SLOW_TEST(large_shapes) {
  static const int large[][3] = {{300, 257, 520}, {64, 700, 1000}, {513, 9, 2050}};
  check_random_t random = check_random();
  for (int i = 0; i < 9; i++) {
    pair_t p = pair_random(&random, i, large[i % 3], FIXTURE_SCALES_ANY);
    ufp4_gemm_t how = plain(UFP4_DTYPE_F32);
    how.threads = i % 4;
    pair_check(i, &p, &how);
    pair_free(&p);
  }
}

TEST(uniform_formats_give_the_same_product) {
  // E1M2 and INT4 from the same data have the same scale bytes and a t that differs by 2, and so
  // the same D.
  check_random_t random = check_random();
  for (int i = 0; i < 16; i++) {
    uint32_t x[20 * 50], w[30 * 50], d[2][600];
    fixture_numbers(&random, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS), x, 20 * 50);
    fixture_numbers(&random, FIXTURE_GAUSSIAN, w, 30 * 50);
    const ufp4_matrix_t mx = {UFP4_DTYPE_F32, 20, 50, 50, x}, mw = {UFP4_DTYPE_F32, 30, 50, 50, w};
    ufp4_operand_t q[2][2];
    for (int f = 0; f < 2; f++) {
      const ufp4_quantize_t how = {.elem = elems[1 + f],
                                   .rht = i % 2,
                                   .rht_mask = 0xD7E8,
                                   .round = (ufp4_round_t)(i / 2 % 2),
                                   .scale_round = (ufp4_scale_round_t)(i / 4 % 2),
                                   .seed = 5};
      if (ufp4_quantize(&mx, &how, &q[f][0]) != UFP4_OK ||
          ufp4_quantize(&mw, &how, &q[f][1]) != UFP4_OK)
        abort();
      const ufp4_gemm_t gemm = plain(UFP4_DTYPE_F32);
      ufp4_gemm(&q[f][0], &q[f][1], &gemm, d[f], 30);
    }
    check_bits(i, (uint64_t)q[1][1].exponent, (uint64_t)(q[0][1].exponent + 2), "t of W");
    for (int j = 0; j < 30 * 4; j++)
      check_bits(j, q[1][1].scales[j], q[0][1].scales[j], "scale of W");
    for (int j = 0; j < 600; j++) check_bits(j, d[1][j], d[0][j], "D, case %d", i);
    for (int f = 0; f < 4; f++) ufp4_operand_free(&q[f / 2][f % 2]);
  }
}

TEST(rht_on_both_operands_keeps_the_product) {
  // Rows that are multiples of a Hadamard row transform to a single element, and a multiple of qmax
  // makes scale and code exact. Quantization therefore loses nothing, and D is the product of the
  // original tensors: -2 * 16 * size^2 where i = j, else 0.
  static const float size[3] = {3, 7, 7};
  static float x[16 * 16], w[16 * 16];
  for (int f = 0; f < 3; f++) {
    for (int i = 0; i < 256; i++) {
      const int negative =
          __builtin_parity((unsigned)(i / 16) & (unsigned)(i % 16)) ^ (0xD7E8 >> (i % 16) & 1);
      x[i] = negative ? -size[f] : size[f];
      w[i] = -2 * x[i];
    }
    const ufp4_matrix_t mx = {UFP4_DTYPE_F32, 16, 16, 16, x}, mw = {UFP4_DTYPE_F32, 16, 16, 16, w};
    const ufp4_quantize_t how = {.elem = elems[f], .rht = 1, .rht_mask = 0xD7E8};
    ufp4_operand_t qx, qw;
    if (ufp4_quantize(&mx, &how, &qx) != UFP4_OK || ufp4_quantize(&mw, &how, &qw) != UFP4_OK)
      abort();
    uint32_t d[256];
    const ufp4_gemm_t gemm = plain(UFP4_DTYPE_F32);
    ufp4_gemm(&qx, &qw, &gemm, d, 16);
    for (int i = 0; i < 256; i++) {
      check_bits(i, d[i], i / 16 == i % 16 ? ufp4_f32_bits(-32 * size[f] * size[f]) : 0, "elem %d",
                 f);
    }
    ufp4_operand_free(&qx);
    ufp4_operand_free(&qw);
  }
}
