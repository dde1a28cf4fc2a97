// SPDX-License-Identifier: Apache-2.0
// The contract exact by digits, on the emulated GPU: bit for bit against the golden model whatever
// the scales of a row are, and third digits are multiplied only where they are.
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "ufp4/format.h"

// The kinds of scales of an operand. Two digits hold 8 binades of scales.
typedef enum {
  NARROW,     // all within four
  FEW_LARGE,  // and a few blocks, in chunks 3, 35, .. alone, far above the others of their row
  FEW_SMALL,  // or far below
  ANY,        // of any value, so that every panel and chunk has third digits
  KINDS
} kind_t;

#define CHUNK_BLOCKS 8  // of 128 elements of k

static uint8_t scale_of(check_random_t *random, kind_t kind, int64_t row, int64_t block) {
  const uint8_t significand = (uint8_t)check_below(random, 8),
                near = (uint8_t)check_below(random, 4);
  const int is_far =
      row % 48 == 5 && block % (32 * CHUNK_BLOCKS) == 3 * CHUNK_BLOCKS + row % CHUNK_BLOCKS;
  switch (kind) {
    case NARROW:
      return (uint8_t)((6 + near) << 3 | significand);
    case FEW_LARGE:
      return (uint8_t)((is_far ? 14 : 1 + near) << 3 | significand);
    case FEW_SMALL:
      return (uint8_t)((is_far ? 1 : 12 + near) << 3 | (significand & 6));  // no NaN
    default:
      return (uint8_t)check_below(random, 0x7F);
  }
}

static ufp4_operand_t operand(check_random_t *random, ufp4_elem_t elem, kind_t kind, int64_t rows,
                              int64_t k) {
  ufp4_operand_t x = fixture_operand(random, elem, rows, k, FIXTURE_SCALES_NEAR);
  for (int64_t i = 0; i < rows * x.blocks; i++)
    x.scales[i] = scale_of(random, kind, i / x.blocks, i % x.blocks);
  return x;
}

static pair_t pair_of(check_random_t *random, kind_t a, kind_t b, int elems, const int shape[3]) {
  pair_t p = {.what = {.a = (ufp4_elem_t)(elems % 3),
                       .b = (ufp4_elem_t)(elems / 3 % 3),
                       .scale = UFP4_SCALE_E4M3,
                       .contract = UFP4_CONTRACT_EXACT}};
  p.a = operand(random, p.what.a, a, shape[0], shape[2]);
  p.b = operand(random, p.what.b, b, shape[1], shape[2]);
  return p;
}

// Each kind of rows times each, each pair of elements, over several panels and chunks, in every
// weather; sums as they are and rounded.
SLOW_TEST(equal_the_golden_model_for_all_kinds_of_rows) {
  check_random_t random = check_random();
  int64_t index = 0;
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_device_t *device = open_device(&weathers[w]);
    for (int kinds = 0; kinds < KINDS * KINDS; kinds++, index++) {
      const int shape[3] = {kinds % 3 == w % 3 ? 140 : 70, 50, 620};
      pair_t p = pair_of(&random, (kind_t)(kinds % KINDS), (kind_t)(kinds / KINDS),
                         (int)(index % 9), shape);
      pair_set_level(&p, 3, -5);
      const ufp4_gemm_t how = pair_plain(&p, index % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_I64);
      check_pair(index, device, &p, &how);
      pair_free(&p);
    }
    ufp4_device_close(device);
  }
}

// Third digits in chunks of which there are more than bits in a word.
TEST(equal_the_golden_model_for_long_rows) {
  check_random_t random = check_random();
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_device_t *device = open_device(&weathers[w]);
    pair_t p =
        pair_of(&random, w % 2 ? FEW_SMALL : FEW_LARGE, FEW_LARGE, w, (const int[3]){9, 12, 4700});
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    check_pair(w, device, &p, &how);
    pair_free(&p);
    ufp4_device_close(device);
  }
}

// Rows of which some are all zero, have NaN, or are of one kind and some of another.
TEST(equal_the_golden_model_for_mixed_rows) {
  check_random_t random = check_random();
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_device_t *device = open_device(&weathers[w]);
    pair_t p = pair_of(&random, ANY, ANY, w, (const int[3]){40, 60, 550});
    for (int64_t row = 0; row < 40; row++) {
      for (int64_t block = 0; block < p.a.blocks; block++) {
        uint8_t *scale = &p.a.scales[row * p.a.blocks + block];
        *scale = row % 5 == 4 ? 0 : scale_of(&random, (kind_t)(row % KINDS), row, block);
        if (row % 13 == 7 && block == row) *scale = 0xFF;
      }
    }
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_BF16);
    check_pair(w, device, &p, &how);
    pair_free(&p);
    ufp4_device_close(device);
  }
}

// Works of a GEMM on a GPU of so many multiprocessors, whose bits are the golden model's.
static int64_t works_of(int64_t index, int multiprocessors, const int shape[3]) {
  check_random_t random = check_random();
  const emulated_weather_t weather = {
      .capability = 90, .multiprocessors = multiprocessors, .backwards = (int)(index % 2)};
  ufp4_device_t *device = open_device(&weather);
  pair_t p =
      pair_of(&random, (kind_t)(index % KINDS), (kind_t)(index / 2 % KINDS), (int)index % 9, shape);
  (void)counts_taken();
  const ufp4_gemm_t how = pair_plain(&p, index % 3 == 0   ? UFP4_DTYPE_I64
                                         : index % 3 == 1 ? UFP4_DTYPE_BF16
                                                          : UFP4_DTYPE_F32);
  check_pair(index, device, &p, &how);
  pair_free(&p);
  ufp4_device_close(device);
  return (int64_t)counts_taken().works;
}

// Where tiles are fewer than multiprocessors, parts of k are multiplied beside each other, and one
// more kernel joins them: of 1 and of 2 x 3 tiles, in parts that have and have not third digits.
TEST(parts_of_k_equal_the_golden_model) {
  static const int shapes[][3] = {{60, 50, 1300}, {140, 260, 530}, {9, 12, 2300}};
  for (int64_t i = 0; i < 6; i++) {
    const int *shape = shapes[i % 3];
    const int64_t whole = works_of(i, 1, shape), parts = works_of(i, i % 2 ? 13 : 132, shape);
    check_bits(i, (uint64_t)parts, (uint64_t)whole + 1, "kernels");
  }
  // Too short for two parts, and one multiprocessor too few.
  check_bits(0, (uint64_t)works_of(0, 132, (const int[3]){60, 50, 250}),
             (uint64_t)works_of(0, 1, (const int[3]){60, 50, 250}), "two chunks");
  check_bits(1, (uint64_t)works_of(1, 11, shapes[1]), (uint64_t)works_of(1, 1, shapes[1]), "11");
}

// Digits of -128 throughout, so that 32-bit sums would reach 2^31 at k = 131,072; of the slower
// emulation no further than where they are first taken up.
SLOW_TEST(sums_of_long_rows_do_not_overflow) {
  for (int capability = 80; capability <= 90; capability += 10) {
    const emulated_weather_t weather = {.capability = capability};
    check_random_t random = check_random();
    ufp4_device_t *device = open_device(&weather);
    pair_t p = pair_of(&random, NARROW, NARROW, 4,
                       (const int[3]){2, 3, capability == 90 ? 131400 : 33500});
    for (int64_t i = 0; i < 5 * p.a.blocks; i++) {
      ufp4_operand_t *x = i < 2 * p.a.blocks ? &p.a : &p.b;
      const int64_t at = i < 2 * p.a.blocks ? i : i - 2 * p.a.blocks;
      // 7 * 15 * 2^7 = 53 * 256 - 128 in units of the row's first block, which is 2^-9.
      memset(x->codes + 8 * at, 0x77, 8);
      x->scales[at] = at % p.a.blocks == 0 ? 0x07 : 8 << 3 | 7;
    }
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_I64);
    check_pair(capability, device, &p, &how);
    pair_free(&p);
    ufp4_device_close(device);
  }
}

// Products that a GEMM of one tile takes, in products of one digit of A with one of B over a chunk.
static int64_t products_of(kind_t a, kind_t b, int differ) {
  check_random_t random = check_random();
  const emulated_weather_t weather = {.capability = 90};
  ufp4_device_t *device = open_device(&weather);
  pair_t p = pair_of(&random, a, b, 4, (const int[3]){100, 90, 1024});
  for (int64_t i = 0; differ && i < p.b.rows; i++) {  // to another chunk
    uint8_t moved[4 * CHUNK_BLOCKS], *row = p.b.scales + i * p.b.blocks;
    memcpy(moved, row, sizeof moved);
    memcpy(row, row + sizeof moved, sizeof moved);
    memcpy(row + sizeof moved, moved, sizeof moved);
  }
  (void)products_taken();
  const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
  check_pair(0, device, &p, &how);
  pair_free(&p);
  ufp4_device_close(device);
  return (int64_t)products_taken() / (4 * 2);
}

// Eight chunks.
TEST(third_digits_are_multiplied_only_where_they_are) {
  check_bits(0, (uint64_t)products_of(NARROW, NARROW, 0), 8 * 4, "two digits");
  check_bits(1, (uint64_t)products_of(FEW_LARGE, NARROW, 0), 8 * 4 + 2, "A's third, above");
  check_bits(2, (uint64_t)products_of(FEW_SMALL, NARROW, 0), 8 * 4 + 2, "A's third, below");
  check_bits(3, (uint64_t)products_of(NARROW, FEW_SMALL, 0), 8 * 4 + 2, "B's third");
  check_bits(4, (uint64_t)products_of(FEW_SMALL, FEW_LARGE, 0), 8 * 4 + 5, "both, in one chunk");
  check_bits(5, (uint64_t)products_of(FEW_SMALL, FEW_LARGE, 1), 8 * 4 + 4, "both, in two chunks");
  check_bits(6, (uint64_t)products_of(ANY, ANY, 0), 8 * 9, "all three of both");
}
