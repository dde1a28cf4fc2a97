// SPDX-License-Identifier: Apache-2.0
// Tests that functions over whole tensors give the bits of those over single elements or blocks,
// and the checks that a binding makes first.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ufp4/array.h"
#include "ufp4/format.h"
#include "ufp4/quantize.h"
#include "ufp4/recipe.h"
#include "ufp4/rht.h"
#include "ufp4/version.h"

enum { ROWS = 3, COLS = 37, LD = 40, PADDED = 48 };
static float plain[ROWS * LD];
static uint16_t halves[ROWS * LD];
static const ufp4_matrix_t f32 = {UFP4_DTYPE_F32, ROWS, COLS, LD, plain};
static const ufp4_matrix_t bf16 = {UFP4_DTYPE_BF16, ROWS, COLS, LD, halves};

static void fill(void) {
  check_random_t random = check_random();
  for (int i = 0; i < ROWS * LD; i++) {
    plain[i] = ((float)check_below(&random, 2000) - 1000) / 77;
    halves[i] = ufp4_bf16_cast(plain[i]);
  }
}

TEST(cast_is_that_of_each_element) {
  uint8_t codes[ROWS * COLS];
  fill();
  for (unsigned to = 0; to < UFP4_CAST_COUNT; to++) {
    for (int half = 0; half < 2; half++) {
      check_bits(to, ufp4_cast(half ? &bf16 : &f32, (ufp4_cast_t)to, codes), UFP4_OK, "status");
      for (int i = 0; i < ROWS * COLS; i++) {
        const int at = i / COLS * LD + i % COLS;
        const float value = half ? ufp4_bf16_value(halves[at]) : plain[at];
        const uint8_t want = to < UFP4_CAST_E4M3 ? ufp4_elem_cast((ufp4_elem_t)to, value)
                             : to == UFP4_CAST_E4M3
                                 ? ufp4_e4m3_cast(value)
                                 : ufp4_e8m0_cast(value, to == UFP4_CAST_E8M0_UP);
        check_bits(i, codes[i], want, "cast %u of %g", to, (double)value);
      }
    }
  }
}

// Compares one block of the padded tensor with the function for one block.
static void check_block(int row, int block, const double *got) {
  uint32_t bits[16] = {0};
  int32_t sums[16];
  for (int i = 0; i < 16 && block * 16 + i < COLS; i++)
    bits[i] = ufp4_f32_bits(plain[row * LD + block * 16 + i]);
  const int exponent = ufp4_rht_block(bits, 0xD7E8, sums);
  for (int i = 0; i < 16; i++) {
    // The power of two is exact, because the exponents here are far from both ends.
    const double want = (double)sums[i] * (double)ufp4_f32_value((uint32_t)(exponent - 25) << 23);
    check_that(i, exponent > 0 ? got[i] == want : got[i] != got[i], "row %d, block %d: %g, want %g",
               row, block, got[i], want);
  }
}

TEST(rht_is_that_of_each_block) {
  double out[ROWS * PADDED];
  fill();
  plain[LD] = ufp4_f32_value(0x7F800000u);
  check_bits(0, ufp4_rht(&f32, UFP4_RHT_INTEGER, 0xD7E8, out), UFP4_OK, "status");
  for (int at = 0; at < ROWS * PADDED / 16; at++) check_block(at / 3, at % 3, out + at * 16);
  check_bits(1, ufp4_rht(&bf16, UFP4_RHT_BF16, 0xD7E8, out), UFP4_OK, "status");
  for (int i = 0; i < ROWS * PADDED; i++)
    check_that(i, (double)ufp4_bf16_value(ufp4_bf16_cast((float)out[i])) == out[i], "no BF16");
}

TEST(undoing_all_is_undoing_each) {
  float all[3 * 16], each[3 * 16];
  fill();
  memcpy(all, plain, sizeof all);
  memcpy(each, plain, sizeof each);
  ufp4_rht_undo_all(all, 3, 16, 0x1234);
  for (int i = 0; i < 3; i++) ufp4_rht_undo(each + 16 * i, 0x1234);
  for (int i = 0; i < 3 * 16; i++)
    check_bits(i, ufp4_f32_bits(all[i]), ufp4_f32_bits(each[i]), "element");
}

TEST(rejects_what_is_no_tensor) {
  ufp4_matrix_t bad[5] = {f32, f32, f32, f32, f32};
  uint8_t codes[ROWS * COLS];
  double out[ROWS * PADDED];
  bad[0].data = NULL;
  bad[1].rows = 0;
  bad[2].cols = -1;
  bad[3].ld = COLS - 1;
  bad[4].dtype = UFP4_DTYPE_I64;
  for (int i = 0; i < 5; i++) {
    check_bits(i, ufp4_cast(&bad[i], UFP4_CAST_E2M1, codes), UFP4_ERROR_ARGUMENT, "cast");
    check_bits(i, ufp4_rht(&bad[i], UFP4_RHT_BF16, 0, out), UFP4_ERROR_ARGUMENT, "rht");
  }
  check_bits(5, ufp4_cast(&f32, UFP4_CAST_COUNT, codes), UFP4_ERROR_ARGUMENT, "cast to nothing");
  check_bits(6, ufp4_cast(&f32, UFP4_CAST_E2M1, NULL), UFP4_ERROR_ARGUMENT, "no codes");
  check_bits(7, ufp4_rht(&f32, UFP4_RHT_NONE, 0, out), UFP4_ERROR_ARGUMENT, "no transform");
}

TEST(quantize_says_what_is_wrong) {
  ufp4_matrix_t in = f32;
  ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1};
  ufp4_message_t message;
  check_bits(0, ufp4_quantize_check(&in, &how, &message), UFP4_OK, "a good one");
  in.cols = UFP4_MAX_DIM + 1;
  check_bits(1, ufp4_quantize_check(&in, &how, &message), UFP4_ERROR_ARGUMENT, "too wide");
  check_that(1, strstr(message.text, "3 x 1048577; rows and columns must be from 1") != NULL,
             "'%s'", message.text);
  how.exponent_given = 1;
  how.exponent = 40000;
  check_bits(2, ufp4_quantize_check(&f32, &how, &message), UFP4_ERROR_ARGUMENT, "exponent");
  check_that(2, strstr(message.text, "tensor exponent is 40000; it must be from") != NULL, "'%s'",
             message.text);
  how = (ufp4_quantize_t){.scale = UFP4_SCALE_E8M0};
  check_bits(3, ufp4_quantize_check(&f32, &how, &message), UFP4_ERROR_ARGUMENT, "rounding");
  check_that(3, strstr(message.text, "scale rounding rne does not work with") != NULL, "'%s'",
             message.text);
  check_bits(4, ufp4_quantize_check(NULL, &how, NULL), UFP4_ERROR_ARGUMENT, "no message");
}

TEST(library_knows_its_version_and_structures) {
  check_bits(0, ufp4_version(),
             UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH, "version");
  check_bits(1, ufp4_struct_bytes("ufp4_recipe_t"), sizeof(ufp4_recipe_t), "a recipe");
  check_bits(2, ufp4_struct_bytes("ufp4_operand_t"), sizeof(ufp4_operand_t), "an operand");
  check_bits(3, ufp4_struct_bytes("ufp4_nothing_t"), 0, "none");
  check_bits(4, ufp4_struct_bytes(NULL), 0, "no name");
}
