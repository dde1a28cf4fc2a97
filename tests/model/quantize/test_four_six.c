// SPDX-License-Identifier: Apache-2.0
// Tests scale rounding 46 (numerics.md 2), which gives each block a scale for a largest code of 6
// or of 4, whichever errs less.
#include <stdlib.h>

#include "fixture.h"
#include "ufp4/format.h"

static ufp4_operand_t quantized(const fixture_tensor_t *in, const ufp4_quantize_t *how) {
  ufp4_operand_t out;
  if (ufp4_quantize(&in->view, how, &out) != UFP4_OK) abort();
  return out;
}

static ufp4_quantize_t four_six(ufp4_layout_t layout, ufp4_round_t round) {
  return (ufp4_quantize_t){.elem = UFP4_ELEM_E2M1,
                           .scale = UFP4_SCALE_NVFP4,
                           .scale_round = UFP4_SCALE_ROUND_46,
                           .layout = layout,
                           .round = round,
                           .seed = 7};
}

// The blocks have known results; the largest number of the first one makes S 1.
TEST(blocks_take_the_better_of_four_and_six) {
  static const struct {
    float x[4];
    uint8_t scale, codes[4];
  } blocks[] = {
      {{1536}, 0x78, {7}},                     // 6 x 256 and 4 x 384 are both exact: a tie takes 6
      {{8, 6, 4, -2}, 0x40, {6, 5, 4, 10}},    // scaled by 2 exactly 4, 3, 2, -1
      {{12, 8, 6, -4}, 0x40, {7, 6, 5, 12}},   // scaled by 2 exactly 6, 4, 3, -2
      {{12, 10, 10, 10}, 0x44, {6, 5, 5, 5}},  // 10 is nearer to 9 than to 8 or 12
      {{12, 10, 0, 0}, 0x44, {6, 5}},          // 1 against 4
      {{0.001f, -0.001f}, 0x00, {7, 15}},      // both scales underflow: both lose everything
      {{0.0045f}, 0x01, {4}},                  // only the scale for 6 underflows
  };
  enum { BLOCKS = sizeof blocks / sizeof blocks[0] };
  uint32_t bits[16 * BLOCKS] = {0};
  for (int i = 0; i < BLOCKS; i++)
    for (int k = 0; k < 4; k++) bits[16 * i + k] = ufp4_f32_bits(blocks[i].x[k]);
  fixture_tensor_t in = fixture_tensor_of(bits, 1, 16 * BLOCKS);
  const ufp4_quantize_t how = four_six(UFP4_LAYOUT_1D, UFP4_ROUND_RNE);
  ufp4_operand_t got = quantized(&in, &how);
  check_bits(0, ufp4_f32_bits(got.tensor_scale), 0x3F800000, "tensor scale");
  for (int i = 0; i < BLOCKS; i++) {
    check_bits(i, got.scales[i], blocks[i].scale, "scale");
    for (int k = 0; k < 4; k++)
      check_bits(i, fixture_code(&got, 0, 16 * i + k), blocks[i].codes[k], "code %d", k);
  }
  ufp4_operand_free(&got);
  fixture_check_tensor(0, &in, &how);
  fixture_tensor_free(&in);
}

// The numbers lie on and beside both grids, so that the two errors are equal or nearly so.
TEST(blocks_whose_errors_are_near) {
  static const float grid[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 8, 12, 10, 5, 7, 9, 16.0f / 3, 1.25f};
  check_random_t random = check_random();
  for (int i = 0; i < 60; i++) {
    enum { ROWS = 17, COLS = 50 };
    uint32_t bits[ROWS * COLS] = {0};
    const uint32_t some = 1 + check_below(&random, 16);
    for (int k = 0; k < ROWS * COLS; k++) {
      const float scale = ufp4_f32_value((127 + (uint32_t)(k / 16 % 5) - (uint32_t)(i % 7)) << 23);
      if (check_below(&random, 16) >= some) continue;
      bits[k] = ufp4_f32_bits(grid[check_below(&random, 16)] * scale);
      if (bits[k] != 0 && i % 3 == 0) bits[k] += check_below(&random, 3) - 1;
      bits[k] |= check_below(&random, 2) << 31;
    }
    if (i % 2) bits[check_below(&random, ROWS * COLS)] = ufp4_f32_bits(1536.0f);
    fixture_tensor_t in = fixture_tensor_of(bits, ROWS, COLS);
    for (int n = 0; n < 4; n++) {
      const ufp4_quantize_t how = four_six((ufp4_layout_t)(n % 2), (ufp4_round_t)(n / 2));
      fixture_check_tensor(4 * i + n, &in, &how);
    }
    fixture_tensor_free(&in);
  }
}

static double squared_error(const fixture_tensor_t *in, const ufp4_quantize_t *how) {
  static float decoded[64 * 64];
  ufp4_operand_t q = quantized(in, how);
  ufp4_dequantize(&q, in->cols, decoded, in->cols);
  ufp4_operand_free(&q);
  double sum = 0;
  for (int64_t i = 0; i < in->rows * in->cols; i++) {
    const double off = (double)decoded[i] - (double)ufp4_f32_value(in->blocked[i]);
    sum += off * off;
  }
  return sum;
}

// The choice reduces the error of Gaussian numbers by about a fifth.
TEST(errs_less_than_scales_for_six) {
  check_random_t random = check_random();
  for (int i = 0; i < 20; i++) {
    fixture_tensor_t in =
        fixture_tensor(&random, 64, 64, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    ufp4_quantize_t how = four_six(UFP4_LAYOUT_1D, UFP4_ROUND_RNE);
    const double better = squared_error(&in, &how);
    how.scale_round = UFP4_SCALE_ROUND_RNE;
    const double six = squared_error(&in, &how);
    check_that(i, better < 0.9 * six, "squared error %g with 4/6, %g without", better, six);
    fixture_tensor_free(&in);
  }
}
