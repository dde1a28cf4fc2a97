// SPDX-License-Identifier: Apache-2.0
// Compares the measures of a rounding with the same measures computed from decoded values, and with
// results worked out by hand.
#include <math.h>
#include <string.h>

#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/rounding.h"

enum { ROWS = 18, COLS = 40, GROUP = 16, MOST = 48 * 48 };

// Loads a group of 16 as it enters the rounding, after the transform.
static void load(const float x[GROUP], ufp4_rht_t rht, double y[GROUP]) {
  const reference_quantize_t how = {.rht = (reference_rht_t)rht, .mask = UFP4_RHT_DEFAULT_MASK};
  uint32_t bits[GROUP];
  for (int i = 0; i < GROUP; i++) bits[i] = ufp4_f32_bits(x[i]);
  const reference_block_t block = reference_block_load(bits, &how);
  for (int i = 0; i < GROUP; i++) {
    const double size = ldexp((double)block.x[i].magnitude, block.x[i].exponent);
    y[i] = block.x[i].negative ? -size : size;
  }
}

// Copies the tensor, transposed for the column axis, in whole groups, and transforms it if the
// operand is transformed. @return its number of columns.
static int64_t prepare(const float *x, const ufp4_quantize_t *how, double *a) {
  int by_columns = how->axis == UFP4_AXIS_COL;
  int64_t rows = by_columns ? COLS : ROWS, k = by_columns ? ROWS : COLS;
  int64_t cols = (k + GROUP - 1) / GROUP * GROUP;
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t g = 0; g < cols; g += GROUP) {
      float in[GROUP];
      for (int64_t c = g; c < g + GROUP; c++)
        in[c - g] = c >= k ? 0 : by_columns ? x[c * COLS + r] : x[r * COLS + c];
      load(in, how->rht, a + r * cols + g);
    }
  }
  return cols;
}

static double entropy_ratio(const ufp4_operand_t *q, int64_t cols) {
  double count[16] = {0}, total = (double)(q->rows * cols), sum = 0;
  for (int64_t r = 0; r < q->rows; r++) {
    for (int64_t c = 0; c < cols; c++) {
      unsigned code = q->codes[(r * q->blocks * GROUP + c) / 2] >> (4 * (c % 2)) & 15;
      count[code == 8 && ufp4_elem_value(q->elem, code) == 0 ? 0 : code]++;
    }
  }
  for (int i = 0; i < 16; i++) {
    if (count[i] > 0) sum -= count[i] / total * log(count[i] / total);
  }
  return exp(sum) / 15;
}

static void check_near(double got, double want, double tolerance, const char *what,
                       const ufp4_quantize_t *how) {
  check_that(0, fabs(got - want) <= tolerance,
             "%s of element %d, scale %d, axis %d, RHT %d: got %.12g, want %.12g", what, how->elem,
             how->scale, how->axis, how->rht, got, want);
}

static void check_mixed(const ufp4_operand_t *q, const ufp4_rounding_t *got,
                        const ufp4_quantize_t *how) {
  double uniform = 0;
  for (int64_t i = 0; i < q->rows * q->blocks; i++) uniform += q->scales[i] >> 7;
  check_near(got->uniform, uniform / (double)(q->rows * q->blocks), 1e-15, "uniform", how);
  check_that(0, uniform > 0 && got->uniform < 1, "blocks are all on one grid: %g", got->uniform);
  check_that(1, isnan(got->bucket_ratio), "bucket ratio %g of two grids", got->bucket_ratio);
}

static void check_way(const float *x, const ufp4_quantize_t *how) {
  static double a[MOST];
  static float decoded[MOST];
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, COLS, COLS, x};
  ufp4_operand_t q;
  ufp4_rounding_t got;
  double dot = 0, signal = 0, noise = 0, shrink = 0, size = 0;
  int64_t ld = prepare(x, how, a);
  check_bits(0, ufp4_quantize(&in, how, &q), UFP4_OK, "quantize");
  int64_t cols = how->rht != UFP4_RHT_NONE ? ld : q.cols;
  check_bits(1, ufp4_dequantize(&q, cols, decoded, ld), UFP4_OK, "dequantize");
  for (int64_t i = 0; i < q.rows * ld; i++) {
    if (i % ld >= cols) continue;
    double v = (double)decoded[i];
    dot += v * a[i], signal += a[i] * a[i], noise += (v - a[i]) * (v - a[i]);
    shrink += fabs(v) - fabs(a[i]), size += fabs(a[i]);
  }
  check_bits(2, ufp4_rounding_measure(&in, how, &got), UFP4_OK, "measure");
  // The tolerances cover the rounding of decoded values to FP32, 6e-8 of each.
  check_near(got.kept, dot / signal, 1e-7, "kept signal", how);
  check_near(got.sqnr_db, 10 * log10(signal / noise), 1e-5, "SQNR", how);
  check_near(got.bias_percent, 100 * shrink / size, 1e-5, "bias", how);
  if (how->elem == UFP4_ELEM_MIXED) {
    check_mixed(&q, &got, how);
  } else {
    check_near(got.bucket_ratio, entropy_ratio(&q, cols), 1e-12, "bucket ratio", how);
    check_that(0, isnan(got.uniform), "a share of uniform blocks: %g", got.uniform);
  }
  check_near((double)got.blocks, (double)(q.rows * q.blocks), 0, "groups", how);
  ufp4_operand_free(&q);
}

static void check_scale(ufp4_elem_t elem, ufp4_scale_t scale, ufp4_rht_t rht) {
  check_random_t random = check_random();
  float x[ROWS * COLS];
  uint32_t bits[ROWS * COLS];
  fixture_numbers(&random, FIXTURE_GAUSSIAN, bits, ROWS * COLS);
  memcpy(x, bits, sizeof bits);
  for (int i = 0; i < ROWS * COLS; i += 23) x[i] *= 9;
  for (int i = 0; i < 4; i++) {
    ufp4_quantize_t how = {
        .elem = elem,
        .scale = scale,
        .axis = i & 1 ? UFP4_AXIS_COL : UFP4_AXIS_ROW,
        .rht = i & 2 ? rht : UFP4_RHT_NONE,
        .rht_mask = UFP4_RHT_DEFAULT_MASK,
        .scale_round = scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE};
    check_way(x, &how);
  }
}

TEST(e4m3_scales) {
  check_scale(UFP4_ELEM_E2M1, UFP4_SCALE_E4M3, UFP4_RHT_INTEGER);
  check_scale(UFP4_ELEM_E1M2, UFP4_SCALE_E4M3, UFP4_RHT_INTEGER);
  check_scale(UFP4_ELEM_MIXED, UFP4_SCALE_E4M3, UFP4_RHT_INTEGER);
}
TEST(fp32_scales) {
  check_scale(UFP4_ELEM_E1M2, UFP4_SCALE_FP32, UFP4_RHT_INTEGER);
}
TEST(nvfp4_scales) {
  check_scale(UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4, UFP4_RHT_BF16);
}
TEST(e8m0_scales) {
  check_scale(UFP4_ELEM_E2M1, UFP4_SCALE_E8M0, UFP4_RHT_NONE);
}

// One block has scale 1 and a largest value of 7: the tie 0.5 goes to 0, the tie 1.5 to 2, and 3.25
// to 3; ten zeros remain.
TEST(by_hand) {
  const float x[GROUP] = {7, 0.5f, 1.5f, -3.25f, -1, 2};
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, GROUP, GROUP, x};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_INT4, .scale = UFP4_SCALE_FP32};
  ufp4_rounding_t got;
  check_bits(0, ufp4_rounding_measure(&in, &how, &got), UFP4_OK, "measure");
  double signal = 49 + .25 + 2.25 + 10.5625 + 1 + 4, dot = 49 + 0 + 3 + 9.75 + 1 + 4;
  double noise = .25 + .25 + .0625;
  // Codes: 11 times 0, twice 2, once 7, -3 and -1.
  double h = -(11. / 16 * log(11. / 16) + 2. / 16 * log(2. / 16) + 3 * (1. / 16) * log(1. / 16));
  check_near(got.kept, dot / signal, 1e-15, "kept signal", &how);
  check_near(got.sqnr_db, 10 * log10(signal / noise), 1e-12, "SQNR", &how);
  check_near(got.bias_percent, 100 * (-.5 + .5 - .25) / 15.25, 1e-12, "bias", &how);
  check_near(got.bucket_ratio, exp(h) / 15, 1e-15, "bucket ratio", &how);
}

static void check_exact(const float x[GROUP], ufp4_scale_t scale, ufp4_rht_t rht) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, GROUP, GROUP, x};
  const ufp4_quantize_t how = {
      .elem = UFP4_ELEM_E2M1,
      .scale = scale,
      .rht = rht,
      .scale_round = scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE};
  ufp4_rounding_t got;
  check_bits(0, ufp4_rounding_measure(&in, &how, &got), UFP4_OK, "measure");
  check_near(got.bias_percent, 0, 0, "bias", &how);
  check_near(got.kept, 1, 0, "kept signal", &how);
  check_that(0, isinf(got.sqnr_db) && got.sqnr_db > 0, "SQNR %g", got.sqnr_db);
}

// The rounding inside the transform does not count as error: BF16 rounds 1 + 2^-8 to 1, and the
// alignment of significands loses 2^-30 beside 1.
TEST(the_transform_costs_nothing) {
  const float rounded[GROUP] = {0x1.01p0f}, aligned[GROUP] = {1, 0x1p-30f};
  check_exact(rounded, UFP4_SCALE_NVFP4, UFP4_RHT_BF16);
  check_exact(aligned, UFP4_SCALE_E8M0, UFP4_RHT_INTEGER);
}

// A transform of 64 points makes 7 or 1 of either sign from two numbers in each of its four groups,
// all exact with scale 1. The numbers or signs of another group would show as an error.
TEST(a_transform_over_four_groups) {
  float x[64] = {0};
  x[0] = 32, x[41] = 24;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 64, 64, x};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_INT4,
                               .exponent_given = 1,  // 0, so that 7 has scale 1
                               .rht = UFP4_RHT_INTEGER,
                               .rht_mask = UFP4_RHT_DEFAULT_MASK,
                               .rht_size = 64};
  ufp4_rounding_t got;
  check_bits(0, ufp4_rounding_measure(&in, &how, &got), UFP4_OK, "measure");
  check_that(0, isinf(got.sqnr_db) && got.sqnr_db > 0, "SQNR %g", got.sqnr_db);
  check_near(got.kept, 1, 0, "kept signal", &how);
  check_near((double)got.blocks, 4, 0, "groups", &how);
  check_near(got.share[0] + got.share[6] + got.share[8] + got.share[14], 1, 0, "7 and 1", &how);
}

// A group with a NaN is counted apart and adds no error; the other group is measured as if it stood
// alone.
TEST(a_group_with_a_nan_is_counted_apart) {
  uint16_t x[2 * GROUP] = {0x7FC0};
  x[GROUP] = 0x40E0, x[GROUP + 1] = 0x3F00;  // 7 and 0.5 in BF16
  const ufp4_matrix_t in = {UFP4_DTYPE_BF16, 1, 2 * GROUP, 2 * GROUP, x};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_INT4, .scale = UFP4_SCALE_FP32};
  ufp4_rounding_t got;
  check_bits(0, ufp4_rounding_measure(&in, &how, &got), UFP4_OK, "measure");
  check_near((double)got.blocks, 1, 0, "groups", &how);
  check_near((double)got.blocks_out, 1, 0, "groups with a NaN", &how);
  check_near(got.kept, 49 / 49.25, 1e-15, "kept signal", &how);
}

// With such a low exponent all codes are zero and the scale exceeds the range of double.
TEST(an_exponent_far_too_low_loses_everything) {
  const float x[GROUP] = {1, -3};
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, GROUP, GROUP, x};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1, .exponent_given = 1, .exponent = -32768};
  ufp4_rounding_t got;
  check_bits(0, ufp4_rounding_measure(&in, &how, &got), UFP4_OK, "measure");
  check_near(got.bias_percent, -100, 0, "bias", &how);
  check_near(got.kept, 0, 0, "kept signal", &how);
  check_near(got.sqnr_db, 0, 0, "SQNR", &how);
}

TEST(cells_err_as_equation_2_says) {
  static const double e2m1[] = {0, 0, 0, 0, -0.125, 0, -0.25};
  for (unsigned elem = 0; elem < UFP4_ELEM_COUNT; elem++) {
    for (unsigned code = 1; code < 7; code++) {
      const double want = elem == UFP4_ELEM_E2M1 ? e2m1[code] : 0;
      const double got = ufp4_cell_bias((ufp4_elem_t)elem, code);
      const double measured = ufp4_cell_bias_measured((ufp4_elem_t)elem, code, 1 << 12);
      check_that(code, got == want, "element %u: %g, want %g", elem, got, want);
      check_that(code, fabs(measured - want) < 1e-3, "element %u: %g, want %g", elem, measured,
                 want);
    }
  }
}

TEST(rejects_what_cannot_be_quantized) {
  const float x[GROUP] = {1};
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 0, GROUP, x};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1};
  ufp4_rounding_t got;
  check_bits(0, ufp4_rounding_measure(&in, &how, &got), UFP4_ERROR_ARGUMENT, "no columns");
}
