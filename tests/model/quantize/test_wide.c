// SPDX-License-Identifier: Apache-2.0
// Tests blocks of 32, 64 and 128 with E4M3 scales, transforms of 32 and 64 points, and their
// products against the reference model (numerics.md 2, 3 and 5).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "ufp4/array.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"
#include "ufp4/recipe.h"
#include "ufp4/rht.h"

static const int blocks[] = {16, 32, 64, 128}, points[] = {0, 16, 32, 64};

/** Returns case n of 3 x 4 x 4 x 2 x 2 x 2: element, block, points, rounding, scale rounding, axis;
 * the mask has one bit per point. */
static ufp4_quantize_t options(check_random_t *random, int n) {
  const int size = points[n / 12 % 4];
  const ufp4_quantize_t how = {
      .elem = (ufp4_elem_t)(n % 3),
      .block = blocks[n / 3 % 4],
      .rht = size != 0 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
      .rht_size = size,
      .rht_mask = check_next(random) >> (size != 0 ? 64 - size : 0),
      .round = (ufp4_round_t)(n / 48 % 2),
      .scale_round = n / 96 % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE,
      .axis = (ufp4_axis_t)(n / 192 % 2),
      .seed = check_next(random),
      .tensor_id = check_next(random)};
  return how;
}
#define OPTIONS 384

/** Draws a length that a transform of @p size points accepts; any length without a larger
 * transform. */
static int length_of(check_random_t *random, int size) {
  const int length = 1 + (int)check_below(random, 300);
  return size > 16 ? (length + size - 1) / size * size : length;
}

static void sweep(ufp4_dtype_t dtype, int times) {
  check_random_t random = check_random();
  for (int i = 0; i < times * OPTIONS; i++) {
    const ufp4_quantize_t how = options(&random, i % OPTIONS);
    int rows = 1 + (int)check_below(&random, 20), cols = length_of(&random, how.rht_size);
    if (how.axis == UFP4_AXIS_COL) {
      const int turned = rows;
      rows = cols;
      cols = turned;
    }
    const fixture_distribution_t distribution =
        (fixture_distribution_t)check_below(&random, FIXTURE_DISTRIBUTIONS);
    fixture_tensor_t in = fixture_tensor(&random, rows, cols, distribution, dtype, how.axis);
    fixture_check_tensor(i, &in, &how);
    fixture_tensor_free(&in);
  }
}

TEST(equals_the_second_model_in_f32) {
  sweep(UFP4_DTYPE_F32, 2);
}
TEST(equals_the_second_model_in_bf16) {
  sweep(UFP4_DTYPE_BF16, 1);
}

TEST(exponents_given) {
  static const int exponents[] = {-32768, -200, 0, 8, 100, 32767};
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS; i++) {
    ufp4_quantize_t how = options(&random, i);
    how.axis = UFP4_AXIS_ROW;
    how.exponent_given = 1;
    how.exponent = exponents[i % 6];
    fixture_tensor_t in =
        fixture_tensor(&random, 3, 192, FIXTURE_OUTLIERS, UFP4_DTYPE_F32, how.axis);
    fixture_check_tensor(i, &in, &how);
    fixture_tensor_free(&in);
  }
}

static ufp4_operand_t quantized(const fixture_tensor_t *in, const ufp4_quantize_t *how) {
  ufp4_operand_t out;
  if (ufp4_quantize(&in->view, how, &out) != UFP4_OK) abort();
  return out;
}

// The number of threads and the kernel do not change the bits.
TEST(threads_and_kernels_do_not_show) {
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS; i += 7) {
    ufp4_quantize_t how = options(&random, i);
    fixture_tensor_t in =
        fixture_tensor(&random, 640, 320, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, how.axis);
    ufp4_operand_t want = quantized(&in, &how);
    reference_operand_t slow = fixture_slow_operand(&want);
    how.threads = 3;
    for (int kernel = 0; kernel < UFP4_KERNEL_COUNT; kernel++) {
      how.kernel = (ufp4_kernel_t)kernel;
      if (!ufp4_kernel_available(how.kernel)) continue;
      ufp4_operand_t got = quantized(&in, &how);
      slow.flags = want.flags & UFP4_FLAG_NAN ? REFERENCE_FLAG_NAN : 0;
      fixture_check_operand(&got, &slow, "threads");
      ufp4_operand_free(&got);
    }
    reference_operand_free(&slow);
    ufp4_operand_free(&want);
    fixture_tensor_free(&in);
  }
}

// --- Products -----------------------------------------------------------------------------------

/** Checks D and the sums of two operands with every kernel. */
static void check_products(int64_t index, const ufp4_operand_t *a, const ufp4_operand_t *b) {
  reference_operand_t slow_a = fixture_slow_operand(a), slow_b = fixture_slow_operand(b);
  int64_t sums[16 * 16];
  float d[16 * 16];
  for (int kernel = 0; kernel < UFP4_KERNEL_COUNT; kernel++) {
    ufp4_gemm_t how = {.alpha = 1, .kernel = (ufp4_kernel_t)kernel};
    if (!ufp4_kernel_available(how.kernel)) continue;
    check_bits(index, (uint64_t)ufp4_gemm(a, b, &how, d, b->rows), UFP4_OK, "D");
    how.d_dtype = UFP4_DTYPE_I64;
    check_bits(index, (uint64_t)ufp4_gemm(a, b, &how, sums, b->rows), UFP4_OK, "sums");
    for (int64_t i = 0; i < a->rows * b->rows; i++) {
      const int64_t want = reference_gemm_sum(&slow_a, i / b->rows, &slow_b, i % b->rows, 0);
      check_bits(index, (uint64_t)sums[i], (uint64_t)want, "sum %lld, kernel %d", (long long)i,
                 kernel);
      check_bits(index, ufp4_f32_bits(d[i]),
                 reference_gemm_round(&slow_a, &slow_b, want, NULL, NULL), "D %lld, kernel %d",
                 (long long)i, kernel);
    }
  }
  reference_operand_free(&slow_a);
  reference_operand_free(&slow_b);
}

TEST(products_equal_the_second_model) {
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS; i++) {
    ufp4_quantize_t how = options(&random, i);
    const int cols = length_of(&random, how.rht_size);
    ufp4_operand_t operands[2];
    for (int n = 0; n < 2; n++) {
      how.axis = UFP4_AXIS_ROW;
      how.elem = (ufp4_elem_t)check_below(&random, 3);
      how.block = n ? blocks[check_below(&random, 4)] : how.block;  // the blocks of the operands
                                                                    // may differ
      fixture_tensor_t in =
          fixture_tensor(&random, 1 + (int)check_below(&random, 16), cols,
                         i % 5 ? FIXTURE_OUTLIERS : FIXTURE_SPECIAL, UFP4_DTYPE_F32, how.axis);
      operands[n] = quantized(&in, &how);
      fixture_tensor_free(&in);
    }
    check_products(i, &operands[0], &operands[1]);
    ufp4_operand_free(&operands[0]);
    ufp4_operand_free(&operands[1]);
  }
}

// The transform cancels: where codes hold the numbers exactly, the product of codes is near that of
// the numbers at every size, and not twice or half of it.
TEST(the_transform_cancels_in_the_product) {
  check_random_t random = check_random();
  for (int i = 0; i < 4 * 4 * 3; i++) {
    ufp4_quantize_t how = options(&random, 3 * (i % 16));
    how.elem = (ufp4_elem_t)(i / 16);
    fixture_tensor_t in =
        fixture_tensor(&random, 1, 512, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    double want = 0;
    for (int k = 0; k < 512; k++)
      want += (double)ufp4_f32_value(in.blocked[k]) * (double)ufp4_f32_value(in.blocked[k]);
    ufp4_operand_t x = quantized(&in, &how);
    const ufp4_gemm_t gemm = {.alpha = 1};
    float d = 0;
    check_bits(i, (uint64_t)ufp4_gemm(&x, &x, &gemm, &d, 1), UFP4_OK, "gemm");
    check_that(i, fabs((double)d / want - 1) < 0.05, "block %d, points %d: %g, want %g", how.block,
               how.rht_size, (double)d, want);
    // Undoing the transform returns the numbers.
    static float back[512];
    check_bits(i, (uint64_t)ufp4_dequantize(&x, 512, back, 512), UFP4_OK, "dequantize");
    const int size = ufp4_how_points(&how);
    double error = 0;
    if (how.rht != UFP4_RHT_NONE) ufp4_rht_undo_all(back, 512 / size, size, how.rht_mask);
    for (int k = 0; k < 512; k++)
      error += pow((double)back[k] - (double)ufp4_f32_value(in.blocked[k]), 2);
    check_that(i, error < 0.03 * want, "block %d, points %d: error %g of %g", how.block, size,
               error, want);
    ufp4_operand_free(&x);
    fixture_tensor_free(&in);
  }
}

TEST(undoing_equals_the_second_model) {
  check_random_t random = check_random();
  for (int i = 0; i < 400; i++) {
    const int size = i % 2 ? 64 : 32;
    const uint64_t mask = check_next(&random) >> (64 - size);
    ufp4_quantize_t how = options(&random, i);
    how.axis = UFP4_AXIS_ROW;
    fixture_tensor_t in = fixture_tensor(
        &random, 1, 64, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS), UFP4_DTYPE_F32, 0);
    ufp4_operand_t x = quantized(&in, &how);
    float values[64];
    uint32_t bits[64], want[64];
    check_bits(i, (uint64_t)ufp4_dequantize(&x, 64, values, 64), UFP4_OK, "dequantize");
    memcpy(bits, values, sizeof bits);
    reference_rht_undo(bits, size, mask, want);
    ufp4_rht_undo_points(values, size, mask);
    for (int k = 0; k < size; k++)
      check_bits(i, ufp4_f32_bits(values[k]), want[k], "points %d, element %d", size, k);
    ufp4_operand_free(&x);
    fixture_tensor_free(&in);
  }
}

// --- What is refused ----------------------------------------------------------------------------

static const float ordinary[128] = {1};

TEST(rejects_what_has_no_larger_blocks) {
  for (int i = 0; i < 4 * 3 * 3; i++) {
    ufp4_quantize_t how = {.scale = (ufp4_scale_t)(i % 4), .rht = (ufp4_rht_t)(i / 4 % 3)};
    if (how.scale == UFP4_SCALE_E8M0) how.scale_round = UFP4_SCALE_ROUND_UP;
    how.block = i / 12 == 0 ? 64 : 0;
    how.rht_size = i / 12 == 1 ? 32 : 0;
    how.layout = i / 12 == 2 ? UFP4_LAYOUT_2D : UFP4_LAYOUT_1D;
    if (i / 12 == 2) how.block = 32;
    const int transformed = how.rht_size == 32 && how.rht != UFP4_RHT_NONE;
    const int legal = how.scale == UFP4_SCALE_E4M3 && how.layout == UFP4_LAYOUT_1D &&
                      (how.rht != UFP4_RHT_BF16 || (!transformed && how.block == 0));
    ufp4_message_t message = {""};
    const ufp4_status_t status = ufp4_combination_quantize(&how, 0, NULL, &message);
    if (!transformed && how.block == 0) continue;  // legal without these options
    check_bits(i, status, legal ? UFP4_OK : UFP4_ERROR_ARGUMENT, "'%s'", message.text);
    check_bits(i, ufp4_combination_quantize(&how, 0, "model", NULL), status, "model");
    static const char *const others[] = {"rtl", "tlm", "systemc", "fpga:/dev/null", "cuda"};
    for (int b = 0; b < 5; b++) {
      check_bits(i, ufp4_combination_quantize(&how, 0, others[b], &message),
                 legal ? UFP4_ERROR_UNSUPPORTED : UFP4_ERROR_ARGUMENT, "%s", others[b]);
      check_that(i, !legal || strstr(message.text, "; model does") != NULL, "'%s'", message.text);
    }
  }
}

TEST(rejects_sizes_that_are_none) {
  static const int bad[] = {-16, 1, 8, 24, 48, 96, 256};
  for (int i = 0; i < 7; i++) {
    const ufp4_quantize_t block = {.block = bad[i]};
    const ufp4_quantize_t size = {.rht = UFP4_RHT_INTEGER, .rht_size = bad[i]};
    check_bits(i, ufp4_combination_quantize(&block, 0, NULL, NULL), UFP4_ERROR_ARGUMENT, "block");
    check_bits(i, ufp4_combination_quantize(&size, 0, NULL, NULL), UFP4_ERROR_ARGUMENT, "points");
    ufp4_operand_t out;
    check_bits(i, ufp4_operand_create_blocks(UFP4_ELEM_E1M2, UFP4_SCALE_E4M3, bad[i], 1, 128, &out),
               UFP4_ERROR_ARGUMENT, "operand");
  }
}

TEST(rejects_lengths_that_the_transform_does_not_take) {
  for (int i = 0; i < 2 * 128; i++) {
    const ufp4_quantize_t how = {.rht = UFP4_RHT_INTEGER, .rht_size = i % 2 ? 64 : 32};
    const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, i / 2 + 1, i / 2 + 1, ordinary};
    ufp4_message_t message = {""};
    const int legal = (i / 2 + 1) % how.rht_size == 0;
    check_bits(i, ufp4_quantize_check(&in, &how, &message), legal ? UFP4_OK : UFP4_ERROR_ARGUMENT,
               "%d numbers", i / 2 + 1);
    check_that(i, legal || strstr(message.text, "must be a multiple") != NULL, "'%s'",
               message.text);
  }
}

TEST(rejects_other_contracts_and_other_transforms) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 128, 128, ordinary};
  ufp4_operand_t x[4];
  const ufp4_quantize_t how[4] = {{.block = 64},
                                  {.rht = UFP4_RHT_INTEGER, .rht_size = 32},
                                  {.rht = UFP4_RHT_INTEGER, .rht_size = 64},
                                  {.block = 16}};
  for (int i = 0; i < 4; i++) {
    if (ufp4_quantize(&in, &how[i], &x[i]) != UFP4_OK) abort();
    for (int contract = 0; contract < UFP4_CONTRACT_COUNT; contract++) {
      const ufp4_gemm_t gemm = {.alpha = 1, .contract = (ufp4_contract_t)contract};
      // An operand transformed by 64 points carries no mark (half is set for 32 points only), so
      // that no contract can refuse it.
      const int legal = contract == UFP4_CONTRACT_EXACT || i > 1;
      check_bits(i, ufp4_gemm_check(&x[i], &x[i], &gemm, NULL),
                 legal ? UFP4_OK : UFP4_ERROR_ARGUMENT, "contract %d", contract);
    }
  }
  const ufp4_gemm_t gemm = {.alpha = 1};
  check_bits(4, ufp4_gemm_check(&x[1], &x[3], &gemm, NULL), UFP4_ERROR_ARGUMENT, "32 and none");
  for (int i = 0; i < 4; i++) ufp4_operand_free(&x[i]);
}

TEST(rejects_recipes_with_other_contracts_and_backends) {
  ufp4_recipe_t recipe;
  if (ufp4_recipe_named("ufp4", &recipe) != UFP4_OK) abort();
  recipe.block = 64;
  ufp4_message_t message = {""};
  check_bits(0, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, "model", &message), UFP4_OK, "'%s'",
             message.text);
  check_bits(1, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, "rtl", &message),
             UFP4_ERROR_UNSUPPORTED, "rtl");
  check_that(1, strstr(message.text, "block 64") != NULL, "'%s'", message.text);
  recipe.contract = UFP4_CONTRACT_FP32;
  check_bits(2, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, "model", NULL), UFP4_ERROR_ARGUMENT,
             "fp32");
}

TEST(masks_have_a_bit_for_each_point) {
  ufp4_recipe_t recipe;
  if (ufp4_recipe_named("ufp4", &recipe) != UFP4_OK) abort();
  check_bits(0, ufp4_default_mask(16), 0xD7E8, "16");
  check_bits(1, ufp4_default_mask(32), 0xD7E8D7E8, "32");
  check_bits(2, ufp4_default_mask(64), 0xD7E8D7E8D7E8D7E8u, "64");
  recipe.signs = UFP4_SIGNS_STEP;
  const uint64_t narrow = ufp4_recipe_mask(&recipe, 5, 9);
  recipe.rht_size = 64;
  const uint64_t wide = ufp4_recipe_mask(&recipe, 5, 9);
  recipe.rht_size = 32;
  check_bits(3, ufp4_recipe_mask(&recipe, 5, 9), wide & UINT32_MAX, "32 points");
  check_bits(4, narrow, wide & 0xFFFF, "16 points");
  check_that(5, wide >> 32 != 0, "64 points");
}
