// SPDX-License-Identifier: Apache-2.0
// Tests every kernel of the backend cuda on the emulated GPU, bit for bit against the golden model.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "legal.h"
#include "ufp4.h"
#include "ufp4/format.h"
#include "ufp4/rht.h"

// --- Quantizer ----------------------------------------------------------------------------------

static int is_on_cuda(const ufp4_quantize_t *how) {
  return ufp4_combination_quantize(how, 0, "cuda", NULL) == UFP4_OK;
}

static void check_operands(int64_t index, const ufp4_operand_t *got, const ufp4_operand_t *want,
                           const char *what) {
  check_bits(index, (uint64_t)got->exponent, (uint64_t)want->exponent, "%s: tensor exponent", what);
  check_bits(index, ufp4_f32_bits(got->tensor_scale), ufp4_f32_bits(want->tensor_scale),
             "%s: tensor scale", what);
  check_bits(index, got->flags, want->flags, "%s: flags", what);
  for (int64_t i = 0; i < want->rows * want->scale_blocks; i++) {
    if (!check_bits(i, fixture_scale(got, i), fixture_scale(want, i),
                    "%s: scale of row %lld, block %lld", what, (long long)(i / want->scale_blocks),
                    (long long)(i % want->scale_blocks))) {
      return;
    }
  }
  for (int64_t i = 0; i < want->rows * want->blocks; i++) {
    uint64_t codes[2];
    memcpy(&codes[0], got->codes + 8 * i, 8);
    memcpy(&codes[1], want->codes + 8 * i, 8);
    if (!check_bits(i, codes[0], codes[1], "%s: codes of row %lld, block %lld", what,
                    (long long)(i / want->blocks), (long long)(i % want->blocks))) {
      return;
    }
  }
}

static void check_tensor(int64_t index, ufp4_device_t *device, const ufp4_matrix_t *in,
                         const ufp4_quantize_t *how) {
  ufp4_operand_t got = {0}, want = {0};
  char what[160];
  snprintf(
      what, sizeof what,
      "case %lld: %lld x %lld dtype %u, elem %u scale %u layout %u rht %u round %u up %u axis %u",
      (long long)index, (long long)in->rows, (long long)in->cols, in->dtype, how->elem, how->scale,
      how->layout, how->rht, how->round, how->scale_round, how->axis);
  check_bits(index, ufp4_quantize(in, how, &want), UFP4_OK, "%s: golden", what);
  check_bits(index, ufp4_device_quantize(device, in, how, &got), UFP4_OK, "%s: %s", what,
             ufp4_device_message(device));
  if (got.codes != NULL && want.codes != NULL) check_operands(index, &got, &want, what);
  ufp4_operand_free(&got);
  ufp4_operand_free(&want);
}

static void check_random_tensor(int64_t index, ufp4_device_t *device, check_random_t *random,
                                const ufp4_quantize_t *how, int rows, int cols) {
  const fixture_distribution_t distribution =
      (fixture_distribution_t)check_below(random, FIXTURE_DISTRIBUTIONS);
  const ufp4_dtype_t dtype = check_below(random, 3) == 0 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  fixture_tensor_t tensor = fixture_tensor(random, rows, cols, distribution, dtype, how->axis);
  check_tensor(index, device, &tensor.view, how);
  fixture_tensor_free(&tensor);
}

static const int shapes[][2] = {{1, 1},    {16, 16}, {17, 15}, {64, 64},
                                {65, 130}, {3, 200}, {190, 2}, {48, 67}};
#define SHAPES 8

// Covers every combination that the tables give this backend, on every shape; four shapes have
// blocks along rows, four along columns.
SLOW_TEST(quantize_equals_the_golden_model) {
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  int64_t index = 0;
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    ufp4_quantize_t how = legal_quantize_combination(n);
    if (!is_on_cuda(&how)) continue;
    for (int i = 0; i < SHAPES; i++) {
      how.axis = (ufp4_axis_t)(i % 2);
      check_random_tensor(index++, device, &random, &how, shapes[i][0], shapes[i][1]);
    }
  }
  ufp4_device_close(device);
}

// Covers each distribution with enough blocks for rare cases.
SLOW_TEST(quantize_of_many_blocks) {
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  for (int d = 0; d < FIXTURE_DISTRIBUTIONS; d++) {
    for (int n = 0; n < 12; n++) {
      const ufp4_quantize_t how = {
          .elem = (ufp4_elem_t)(n % 3),
          .axis = (ufp4_axis_t)(n / 3 % 2),
          .rht = n / 6 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
          .rht_mask = UFP4_RHT_DEFAULT_MASK,
          .round = d % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
          .scale_round = n % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE,
          .seed = 5,
          .tensor_id = 7};
      fixture_tensor_t tensor =
          fixture_tensor(&random, 300, 500, (fixture_distribution_t)d, UFP4_DTYPE_F32, how.axis);
      check_tensor(12 * d + n, device, &tensor.view, &how);
      fixture_tensor_free(&tensor);
    }
  }
  ufp4_device_close(device);
}

// These formats have kernels of their own: NVFP4, E8M0, the transform in BF16.
SLOW_TEST(quantize_of_many_blocks_with_other_scales) {
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  int64_t index = 0;
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    ufp4_quantize_t how = legal_quantize_combination(n);
    const int own =
        how.scale == UFP4_SCALE_NVFP4 || how.scale == UFP4_SCALE_E8M0 || how.rht == UFP4_RHT_BF16;
    if (!own || !is_on_cuda(&how)) continue;
    // There are 48 cases, each with four of the ten distributions.
    for (int i = 0; i < 4; i++, index++) {
      const fixture_distribution_t distribution =
          (fixture_distribution_t)((index * 3 + i) % FIXTURE_DISTRIBUTIONS);
      how.axis = (ufp4_axis_t)(i % 2);
      fixture_tensor_t tensor =
          fixture_tensor(&random, 170, 300, distribution, UFP4_DTYPE_F32, how.axis);
      check_tensor(index, device, &tensor.view, &how);
      fixture_tensor_free(&tensor);
    }
  }
  check_that(0, index == 4 * 48, "%lld tensors", (long long)index);
  ufp4_device_close(device);
}

// Returns one of few mantissas and exponents, so that numbers cancel and sums are ties, in blocks
// of any width.
static uint32_t cancelling_number(check_random_t *random, const int exponents[4]) {
  const uint32_t mantissa = 0x80 + (uint32_t)check_below(random, 3);
  const uint32_t exponent = (uint32_t)exponents[check_below(random, 4)];
  return (uint32_t)check_below(random, 2) << 31 | exponent << 23 | (mantissa & 0x7F) << 16;
}

// Tests the function itself, because 4-bit codes would hide most of its last places.
TEST(transform_in_bf16_equals_the_golden_model) {
  static const int exponents[][4] = {{150, 142, 141, 100}, {150, 142, 141, 140}, {20, 12, 11, 1},
                                     {254, 253, 246, 245}, {254, 253, 246, 1},   {9, 2, 1, 0}};
  check_random_t random = check_random();
  int poisoned = 0;
  for (int i = 0; i < 20000; i++) {
    const fixture_distribution_t distribution = (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS);
    const uint16_t mask = (uint16_t)check_next(&random);
    uint32_t bits[16], want[16];
    for (int e = 0; e < 16; e++) {
      bits[e] = i % 2 ? fixture_number(&random, distribution)
                      : cancelling_number(&random, exponents[i / 2 % 6]);
    }
    const int clean = ufp4_rht_block_bf16(bits, mask, want);
    poisoned += !clean;
    transform_bf16(bits, mask);
    int special = 0;  // one is enough
    for (int e = 0; e < 16; e++) special |= (bits[e] >> 23 & 0xFF) == 0xFF;
    check_bits(i, (uint64_t)special, (uint64_t)!clean, "NaN or Inf in block %d", i);
    for (int e = 0; e < 16 && clean; e++)
      check_bits(16 * i + e, bits[e], want[e], "element %d of block %d", e, i);
  }
  check_that(0, poisoned > 100, "%d blocks with NaN or Inf", poisoned);
}

#define TILE (16 * 16)

// Interpolates between two tiles with the same largest number.
static ufp4_matrix_t tile_between(const float *from, const float *target, double share,
                                  float *out) {
  for (int i = 0; i < TILE; i++) out[i] = (float)(from[i] + share * ((double)target[i] - from[i]));
  return (ufp4_matrix_t){UFP4_DTYPE_F32, 16, 16, 16, out};
}

static uint8_t tile_scale(const ufp4_matrix_t *tile, const ufp4_quantize_t *how) {
  ufp4_operand_t x;
  check_bits(0, ufp4_quantize(tile, how, &x), UFP4_OK, "golden");
  const uint8_t scale = x.scales[0];
  ufp4_operand_free(&x);
  return scale;
}

// Scale rounding 46 in tiles, just before and after the point where the choice changes: there every
// rounding of the error sums, and their order, affects the result.
TEST(quantize_of_tiles_at_the_turn_of_the_choice) {
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  int turns = 0;
  for (int i = 0; i < 200; i++) {
    const ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1,
                                 .scale = UFP4_SCALE_NVFP4,
                                 .layout = UFP4_LAYOUT_2D,
                                 .round = (ufp4_round_t)(i % 2),
                                 .scale_round = UFP4_SCALE_ROUND_46,
                                 .seed = (uint64_t)i};
    // One end has numbers near 3 of at most 4, the other numbers near 4 of at most 6.
    float ends[2][TILE], between[TILE];
    for (int e = 0; e < 2 * TILE; e++) {
      const float noise = (float)check_below(&random, 1 << 20) / (1 << 22);
      ends[e / TILE][e % TILE] = (e < TILE ? 3.7f : 3.3f) + noise;
    }
    ends[0][37] = ends[1][37] = 5.1f;
    ufp4_matrix_t tile = tile_between(ends[0], ends[1], 0, between);
    const uint8_t first = tile_scale(&tile, &how);
    double low = 0, high = 1;
    tile = tile_between(ends[0], ends[1], high, between);
    if (tile_scale(&tile, &how) == first) continue;
    for (int step = 0; step < 40; step++) {
      const double middle = (low + high) / 2;
      tile = tile_between(ends[0], ends[1], middle, between);
      *(tile_scale(&tile, &how) == first ? &low : &high) = middle;
    }
    for (int side = 0; side < 2; side++) {
      tile = tile_between(ends[0], ends[1], side ? high : low, between);
      check_tensor(2 * i + side, device, &tile, &how);
    }
    turns++;
  }
  check_that(0, turns >= 20, "%d turns", turns);
  ufp4_device_close(device);
}

// With given exponents scales saturate or are the smallest, and shifts exceed every limit.
TEST(quantize_with_given_exponents) {
  static const int exponents[] = {0, 6, -7, 40, -40, 162, -121, 300, -300, 32767, -32768};
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  for (int i = 0; i < 11 * 24; i++) {
    const ufp4_quantize_t how = {.elem = (ufp4_elem_t)(i / 11 % 3),
                                 .rht = i / 33 % 2 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
                                 .rht_mask = 0x1234,
                                 .round = (ufp4_round_t)(i / 66 % 2),
                                 .scale_round = (ufp4_scale_round_t)(i / 132 % 2),
                                 .axis = (ufp4_axis_t)(i % 2),
                                 .seed = 77,
                                 .exponent_given = 1,
                                 .exponent = exponents[i % 11]};
    check_random_tensor(i, device, &random, &how, 20, 40);
  }
  ufp4_device_close(device);
}

// --- GEMM ---------------------------------------------------------------------------------------

// test_nv.c tests contract nv, which only other GPUs have.
static int gemm_is_on_cuda(const legal_gemm_t *what) {
  if (what->contract == UFP4_CONTRACT_NV) return 0;
  return ufp4_combination_gemm(what->a, what->b, what->scale, what->contract, "cuda", NULL) ==
         UFP4_OK;
}

static const int gemm_shapes[][3] = {
    {1, 1, 1}, {17, 9, 40}, {130, 40, 70}, {64, 65, 260}, {5, 150, 16}};
#define GEMM_SHAPES 5

// Covers every combination of the tables and every kind of scales, in every weather.
SLOW_TEST(gemm_equals_the_golden_model) {
  check_random_t random = check_random();
  int64_t index = 0;
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_device_t *device = open_device(&weathers[w]);
    for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
      const legal_gemm_t what = legal_gemm_combination(n);
      if (!gemm_is_on_cuda(&what)) continue;
      const int i = (n + w) % GEMM_SHAPES;
      pair_t p =
          pair_random(&random, n, gemm_shapes[i], (fixture_scales_t)(index % FIXTURE_SCALES_COUNT));
      pair_set_level(&p, (int)check_below(&random, 60) - 30, (int)check_below(&random, 60) - 30);
      const ufp4_gemm_t how = pair_plain(&p, index % 3 == 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32);
      check_pair(index++, device, &p, &how);
      pair_free(&p);
    }
    ufp4_device_close(device);
  }
}

// Some results overflow, others are subnormal. With -86 and 85 (contract fp32), -98 and 72 (exact)
// the power of two is about the largest and the smallest normal one.
TEST(gemm_with_extreme_exponents) {
  static const int levels[] = {-140, -86, -98, -64, 60, 85, 72, 150, 32767, -32768};
  check_random_t random = check_random();
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_device_t *device = open_device(&weathers[w]);
    for (int i = w % 3; i < 40; i += 3) {
      pair_t p = pair_random(&random, (i % 2) * 36 + i / 2 % 9, (const int[3]){7, 9 + w % 2, 48},
                             (fixture_scales_t)(i % 4));
      pair_set_level(&p, levels[i % 10], levels[i % 10] / 2);
      const ufp4_gemm_t how = pair_plain(&p, i % 3 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
      check_pair(i, device, &p, &how);
      pair_free(&p);
    }
    ufp4_device_close(device);
  }
}

// E8M0 scales lie around a power of two: sums overflow, are subnormal, or vanish with either sign.
TEST(gemm_with_e8m0_scales_at_both_ends) {
  static const int centers[][2] = {{0, 127}, {0, 100}, {15, 90},   {20, 80},   {40, 45},
                                   {0, 0},   {127, 3}, {215, 140}, {225, 155}, {130, 245}};
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  for (int i = 0; i < 60; i++) {
    pair_t p = pair_random(&random, 36 + 18 + i % 9, (const int[3]){20, 30, 32 + 32 * (i % 5)},
                           FIXTURE_SCALES_NEAR);
    ufp4_operand_t *sides[] = {&p.a, &p.b};
    for (int side = 0; side < 2; side++) {
      ufp4_operand_t *x = sides[side];
      for (int64_t at = 0; at < x->rows * x->scale_blocks; at++)
        x->scales[at] = (uint8_t)(centers[i % 10][side] + (int)check_below(&random, 10));
    }
    const ufp4_gemm_t how = pair_plain(&p, i % 4 == 3 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32);
    check_pair(i, device, &p, &how);
    pair_free(&p);
  }
  ufp4_device_close(device);
}

// Scales fold into BF16 up to limits of single scales and of sums of a scale of A and one of B;
// each is met, and exceeded by one. A block of zeros never prevents folding, whatever its scale. A
// folded tile takes 32 products of warpgroups, another one 128 of warps.
TEST(gemm_with_e8m0_scales_folds_up_to_its_bounds) {
  static const struct {
    uint8_t a[2], b[2];  // alternating between blocks
    int folds;
  } cases[] = {
      {{127, 127}, {127, 127}, 1}, {{7, 147}, {147, 147}, 1},   {{6, 148}, {148, 148}, 0},
      {{147, 147}, {7, 147}, 1},   {{148, 148}, {6, 148}, 0},   {{247, 107}, {107, 107}, 1},
      {{248, 106}, {106, 106}, 0}, {{107, 107}, {247, 107}, 1}, {{106, 106}, {248, 106}, 0},
      {{77, 90}, {77, 90}, 1},     {{77, 90}, {76, 90}, 0},     {{177, 150}, {177, 150}, 1},
      {{177, 150}, {178, 150}, 0}};
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(&weathers[0]);
  for (int n = 0; n < 2 * (int)(sizeof cases / sizeof cases[0]); n++) {
    const int i = n / 2, zeros = n % 2;
    pair_t p =
        pair_random(&random, 36 + 18 + i % 9, (const int[3]){20, 30, 96}, FIXTURE_SCALES_NEAR);
    ufp4_operand_t *sides[] = {&p.a, &p.b};
    for (int side = 0; side < 2; side++) {
      ufp4_operand_t *x = sides[side];
      const uint8_t *scales = side ? cases[i].b : cases[i].a;
      for (int64_t row = 0; row < x->rows; row++) {
        for (int block = 0; block < 2; block++) {
          x->scales[row * 3 + block] = scales[block];
          x->codes[8 * (row * x->blocks + 2 * block)] |= 3;  // at least one nonzero code
        }
        x->scales[row * 3 + 2] = zeros ? (row % 2 ? 0 : 254) : scales[0];
        if (zeros) memset(x->codes + 8 * (row * x->blocks + 4), 0, 16);
      }
    }
    const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
    (void)products_taken();
    check_pair(n, device, &p, &how);
    const uint64_t taken = products_taken();
    check_that(n, taken == (cases[i].folds ? 32u : 128u), "case %d took %llu products", i,
               (unsigned long long)taken);
    pair_free(&p);
  }
  ufp4_device_close(device);
}

static void check_alpha_c_and_sums(const emulated_weather_t *weather) {
  check_random_t random = check_random();
  ufp4_device_t *device = open_device(weather);
  float c[20 * 31];
  int64_t sums[20 * 31];
  for (int i = 0; i < 20 * 31; i++) {
    c[i] = ufp4_f32_value(fixture_number(&random, i % 2 ? FIXTURE_SPECIAL : FIXTURE_WILD));
    sums[i] = i % 50 == 0 ? UFP4_I64_NAN : (int64_t)check_next(&random) >> 18;
  }
  for (int i = 0; i < 24; i++) {
    // The first are E4M3 with exact and fp32, the others E8M0 with fp32.
    const int n = i < 16 ? (i & 1) * 36 + i / 2 : 36 + 18 + i % 9;
    pair_t p = pair_random(&random, n, (const int[3]){20, 30, 50}, FIXTURE_SCALES_NAN);
    const int exact = p.what.contract == UFP4_CONTRACT_EXACT;
    ufp4_gemm_t how = pair_plain(&p, i & 8 && exact ? UFP4_DTYPE_I64 : UFP4_DTYPE_F32);
    how.c_ld = how.accumulate_ld = 31;
    if (how.d_dtype != UFP4_DTYPE_I64 && i & 2) how.c = c;
    if (how.d_dtype != UFP4_DTYPE_I64 && i & 4) how.alpha = -0.3f;
    if (exact && i & 6) how.accumulate = sums;
    check_pair(i, device, &p, &how);
    pair_free(&p);
  }
  ufp4_device_close(device);
}

// Covers alpha, C, and unrounded sums in and out.
TEST(gemm_with_alpha_c_and_sums) {
  for (int w = 0; w < WEATHERS; w++) check_alpha_c_and_sums(&weathers[w]);
}

// With many blocks of k the pipeline stages wrap around several times.
SLOW_TEST(gemm_of_long_rows) {
  check_random_t random = check_random();
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_device_t *device = open_device(&weathers[w]);
    static const int firsts[] = {0, 36, 36 + 18};  // E4M3, exact and fp32; E8M0, fp32
    for (int n = 0; n < 3; n++) {
      pair_t p = pair_random(&random, firsts[n] + w, (const int[3]){20, 24, 2000 + 3 * w},
                             n == 2 ? FIXTURE_SCALES_NEAR : FIXTURE_SCALES_ANY);
      const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
      check_pair(3 * w + n, device, &p, &how);
      pair_free(&p);
    }
    ufp4_device_close(device);
  }
}

// --- Tests of the tests -------------------------------------------------------------------------

// Each fault is an easy mistake in a layout, and the comparison must find it.
TEST(rejects_wrong_layouts) {
  check_random_t random = check_random();
  for (int fault = 1; fault < EMULATED_FAULTS; fault++) {
    const int hopper = fault > EMULATED_FAULT_LDMATRIX;
    const emulated_weather_t weather = {
        .capability = hopper ? 90 : 80,
        .multiprocessors = fault == EMULATED_FAULT_S8 ? 1000 : 0,  // small tiles have no digits
        .fault = fault};
    ufp4_device_t *device = open_device(&weather);
    int64_t differ = 0;
    for (int n = 0; n < 2; n++) {
      pair_t p = pair_random(&random, 36 * n, (const int[3]){33, 20, 40}, FIXTURE_SCALES_NEAR);
      const ufp4_gemm_t how = pair_plain(&p, UFP4_DTYPE_F32);
      differ += differences(device, &p, &how);
      pair_free(&p);
    }
    check_that(fault, differ > 100, "fault %d changed %lld outputs only", fault, (long long)differ);
    ufp4_device_close(device);
  }
}
