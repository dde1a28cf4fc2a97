// SPDX-License-Identifier: Apache-2.0
// Tests contract exact by digits on the emulated GPU: the bits equal the golden model's for any
// scales in a row, and third digits are multiplied only in the chunks that have them.
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "ufp4/format.h"

// The kinds of scales of an operand. Two digits hold 8 binades of scales.
typedef enum {
  NARROW,     // all within four
  FEW_LARGE,  // with a few blocks, only in chunks 3, 35, .., far above the others of their row
  FEW_SMALL,  // with a few blocks far below
  ANY,        // any value, so that every panel and chunk has third digits
  KINDS
} kind_t;

#define CHUNK_BLOCKS 8  // a chunk is 128 elements of k

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

// Combines all kinds of rows and all pairs of elements, over several panels and chunks, in every
// weather; D has rounded results or the sums.
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

// There are more chunks than a word has bits; those with third digits lie in two words.
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

// Some rows are all zero or have NaN; others differ in their kind.
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

// Returns the kernels of a GEMM on a GPU with so many multiprocessors, and checks its bits.
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

// If there are fewer tiles than multiprocessors, parts of k are multiplied in parallel, and one
// more kernel joins them. There are 1 and 2 x 3 tiles, and parts with and without third digits.
TEST(parts_of_k_equal_the_golden_model) {
  static const int shapes[][3] = {{60, 50, 1300}, {140, 260, 530}, {9, 12, 2300}};
  for (int64_t i = 0; i < 6; i++) {
    const int *shape = shapes[i % 3];
    const int64_t whole = works_of(i, 1, shape), parts = works_of(i, i % 2 ? 13 : 132, shape);
    check_bits(i, (uint64_t)parts, (uint64_t)whole + 1, "kernels");
  }
  // The first is too short for two parts; the second lacks one multiprocessor.
  check_bits(0, (uint64_t)works_of(0, 132, (const int[3]){60, 50, 250}),
             (uint64_t)works_of(0, 1, (const int[3]){60, 50, 250}), "two chunks");
  check_bits(1, (uint64_t)works_of(1, 11, shapes[1]), (uint64_t)works_of(1, 1, shapes[1]), "11");
}

// All digits are -128, so that 32-bit sums would reach 2^31 at k = 131,072. The slower emulation
// goes no further than the first point at which such sums are added up.
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
      // In units of the row's first block, 2^-9, this is 7 * 15 * 2^7 = 53 * 256 - 128.
      memset(x->codes + 8 * at, 0x77, 8);
      x->scales[at] = at % p.a.blocks == 0 ? 0x07 : 8 << 3 | 7;
    }
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_I64);
    check_pair(capability, device, &p, &how);
    pair_free(&p);
    ufp4_device_close(device);
  }
}

// Returns how often a GEMM of one tile multiplies one digit of A with one of B over a chunk.
static int64_t products_of(kind_t a, kind_t b, int differ) {
  check_random_t random = check_random();
  const emulated_weather_t weather = {.capability = 90};
  ufp4_device_t *device = open_device(&weather);
  pair_t p = pair_of(&random, a, b, 4, (const int[3]){100, 90, 1024});
  for (int64_t i = 0; differ && i < p.b.rows; i++) {  // so that B's third digits lie in another
                                                      // chunk than A's
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

// The operands have eight chunks.
TEST(third_digits_are_multiplied_only_where_they_are) {
  check_bits(0, (uint64_t)products_of(NARROW, NARROW, 0), 8 * 4, "two digits");
  check_bits(1, (uint64_t)products_of(FEW_LARGE, NARROW, 0), 8 * 4 + 2, "A's third, above");
  check_bits(2, (uint64_t)products_of(FEW_SMALL, NARROW, 0), 8 * 4 + 2, "A's third, below");
  check_bits(3, (uint64_t)products_of(NARROW, FEW_SMALL, 0), 8 * 4 + 2, "B's third");
  check_bits(4, (uint64_t)products_of(FEW_SMALL, FEW_LARGE, 0), 8 * 4 + 5, "both, in one chunk");
  check_bits(5, (uint64_t)products_of(FEW_SMALL, FEW_LARGE, 1), 8 * 4 + 4, "both, in two chunks");
  check_bits(6, (uint64_t)products_of(ANY, ANY, 0), 8 * 9, "all three of both");
}
