// SPDX-License-Identifier: Apache-2.0
// Tests mixed elements (numerics.md 1 and 4): each block is E2M1 or uniform, as bit 7 of its scale
// byte says.
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"

static const ufp4_kernel_t kernels[] = {UFP4_KERNEL_PORTABLE, UFP4_KERNEL_AVX2, UFP4_KERNEL_AVX512};
#define KERNELS ((int)(sizeof kernels / sizeof kernels[0]))

static ufp4_operand_t quantized(const fixture_tensor_t *in, const ufp4_quantize_t *how) {
  ufp4_operand_t out;
  if (ufp4_quantize(&in->view, how, &out) != UFP4_OK) abort();
  return out;
}

// --- Decoding -----------------------------------------------------------------------------------

// Bit 7 of a scale byte selects the grid from which each code takes its value.
TEST(every_code_with_every_scale_byte) {
  ufp4_operand_t x;
  float values[256 * 16];
  if (ufp4_operand_create(UFP4_ELEM_MIXED, 256, 16, &x) != UFP4_OK) abort();
  for (int i = 0; i < 256 * 8; i++) {
    x.scales[i / 8] = (uint8_t)(i / 8);
    x.codes[i] = (uint8_t)(0x10 + 0x22 * (i % 8));  // codes 0 to 15
  }
  x.exponent = 3;
  if (ufp4_dequantize(&x, 16, values, 16) != UFP4_OK) abort();
  for (int i = 0; i < 256 * 16; i++) {
    static const float e2m1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const int byte = i / 16, code = i % 16;
    const float scale = ufp4_e4m3_value((uint8_t)(byte & 0x7F)) / 8;
    float want = (byte & 0x80 ? (float)(code & 7) / 2 : e2m1[code & 7]) * scale;
    if (code & 8) want = -want;
    const uint32_t bits = (byte & 0x7F) == 0x7F ? UFP4_F32_NAN : ufp4_f32_bits(want);
    check_bits(i, ufp4_f32_bits(values[i]), bits, "scale %02x, code %d", (unsigned)byte, code);
  }
  ufp4_operand_free(&x);
}

// Operands of other elements ignore bit 7 of a scale byte.
TEST(bit_7_of_other_elements_is_ignored) {
  check_random_t random = check_random();
  for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++) {
    ufp4_operand_t x = fixture_operand(&random, (ufp4_elem_t)elem, 16, 64, FIXTURE_SCALES_NAN);
    float with[16 * 64], without[16 * 64];
    ufp4_dequantize(&x, 64, with, 64);
    for (int i = 0; i < 64; i++) x.scales[i] ^= 0x80;
    ufp4_dequantize(&x, 64, without, 64);
    for (int i = 0; i < 16 * 64; i++)
      check_bits(i, ufp4_f32_bits(with[i]), ufp4_f32_bits(without[i]), "element %d", elem);
    ufp4_operand_free(&x);
  }
}

// --- The choice ---------------------------------------------------------------------------------

// 42 is 6 x 7 and 3.5 x 12, both exact, so the second number alone makes the errors. The comments
// give both errors in 512ths of a quantum times the scale.
TEST(blocks_whose_errors_are_near) {
  static const struct {
    float x;
    uint8_t scale, code;
  } blocks[] = {
      {0, 0x4E, 0},        // 0 and 0
      {18, 0xD4, 3},       // 3073 and 0
      {21, 0x4E, 5},       // 0 and 3072
      {39.375f, 0x4E, 7},  // 2688 and 2688: E2M1
      {0.25f, 0x4E, 0},    // 252 and 252
      {0.625f, 0xD4, 0},   // 637 and 636
      {39, 0xD4, 6},       // 3073 and 3072
      {40, 0x4E, 7},       // 2051 and 2052
      {-40, 0x4E, 15},
  };
  enum { BLOCKS = sizeof blocks / sizeof blocks[0] };
  uint32_t bits[16 * BLOCKS] = {0};
  for (int i = 0; i < BLOCKS; i++) {
    bits[16 * i] = ufp4_f32_bits(42);
    bits[16 * i + 1] = ufp4_f32_bits(blocks[i].x);
  }
  fixture_tensor_t in = fixture_tensor_of(bits, 1, 16 * BLOCKS);
  for (int n = 0; n < 2 * KERNELS; n++) {
    // The tensor exponent, given or not, changes the scales by a power of two and no codes.
    ufp4_quantize_t how = {
        .elem = UFP4_ELEM_MIXED, .kernel = kernels[n / 2], .exponent_given = n % 2};
    if (!ufp4_kernel_available(how.kernel)) continue;
    ufp4_operand_t got = quantized(&in, &how);
    check_bits(n, (uint64_t)got.exponent, n % 2 ? 0 : 5, "tensor exponent");
    for (int i = 0; i < BLOCKS; i++) {
      check_bits(i, got.scales[i], blocks[i].scale + (n % 2 ? 0u : 5u * 8), "scale");
      check_bits(i, fixture_code(&got, 0, 16 * i + 1), blocks[i].code, "code");
    }
    ufp4_operand_free(&got);
  }
  fixture_tensor_free(&in);
}

TEST(zero_and_poisoned_blocks_have_no_grid) {
  uint32_t bits[4 * 16] = {0};
  bits[3] = 0x80000000u;
  bits[16] = 0x7FC00000;
  bits[32] = 0xFF800000;
  bits[48] = ufp4_f32_bits(42);
  fixture_tensor_t in = fixture_tensor_of(bits, 4, 16);
  for (int k = 0; k < KERNELS; k++) {
    const ufp4_quantize_t how = {.elem = UFP4_ELEM_MIXED, .kernel = kernels[k]};
    if (!ufp4_kernel_available(how.kernel)) continue;
    ufp4_operand_t got = quantized(&in, &how);
    check_bits(k, got.scales[0], 0x00, "zero");
    check_bits(k, got.scales[1], 0x7F, "NaN");
    check_bits(k, got.scales[2], 0x7F, "Inf");
    check_bits(k, got.scales[3] >> 7, 0, "one number is exact on both grids");
    check_bits(k, got.flags, UFP4_FLAG_NAN, "flags");
    ufp4_operand_free(&got);
  }
  fixture_tensor_free(&in);
}

/** Returns option set n: layout, transform, rounding, scale rounding, and NVFP4 scales where the
 * scale rounding allows them. */
static ufp4_quantize_t options(check_random_t *random, int n) {
  ufp4_quantize_t how = {.elem = UFP4_ELEM_MIXED,
                         .layout = (ufp4_layout_t)(n % 2),
                         .rht = (ufp4_rht_t)(n / 2 % 3),
                         .rht_mask = n % 5 ? UFP4_RHT_DEFAULT_MASK : 0x1234,
                         .round = (ufp4_round_t)(n / 6 % 2),
                         .scale_round = (ufp4_scale_round_t)(n / 12 % 2),
                         .axis = (ufp4_axis_t)check_below(random, 2),
                         .seed = check_next(random),
                         .tensor_id = check_next(random)};
  if (n >= 24) {
    how.scale = UFP4_SCALE_NVFP4;
    how.scale_round = UFP4_SCALE_ROUND_RNE;
    if (how.rht == UFP4_RHT_INTEGER) how.rht = UFP4_RHT_BF16;
  }
  return how;
}
#define OPTIONS 36

// Compares both models for every legal combination and every distribution.
SLOW_TEST(as_the_second_model) {
  static const int shapes[][2] = {{1, 1}, {5, 17}, {17, 33}, {33, 49}, {2, 130}, {20, 60}};
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS * check_draws(2, 40); i++) {
    ufp4_quantize_t how = options(&random, i % OPTIONS);
    const int *shape = shapes[check_below(&random, 6)];
    fixture_tensor_t in =
        fixture_tensor(&random, shape[0], shape[1],
                       (fixture_distribution_t)check_below(&random, FIXTURE_DISTRIBUTIONS),
                       check_below(&random, 2) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16, how.axis);
    if (how.scale == UFP4_SCALE_E4M3 && check_below(&random, 4) == 0) {
      static const int given[] = {-32768, -200, -3, 0, 5, 9, 100, 32767};
      how.exponent_given = 1;
      how.exponent = given[check_below(&random, 8)];
    }
    fixture_check_tensor(i, &in, &how);
    fixture_tensor_free(&in);
  }
}

// The numbers lie on and beside points of both grids, so that the errors of rows and tiles are
// equal or nearly so.
TEST(near_errors_as_the_second_model) {
  check_random_t random = check_random();
  for (int i = 0; i < 9; i++) {
    enum { ROWS = 17, COLS = 50 };
    uint32_t bits[ROWS * COLS] = {0};
    const uint32_t some = 1 + check_below(&random, 8);
    for (int k = 0; k < ROWS * COLS; k++) {
      if (check_below(&random, 16) >= some) continue;
      bits[k] = ufp4_f32_bits((float)check_below(&random, 43 * 8) / 8);
      if (bits[k] != 0 && i % 3 == 0) bits[k] += check_below(&random, 3) - 1;
    }
    for (int k = 0; k < ROWS * COLS; k += 16) bits[k] = ufp4_f32_bits(42);
    fixture_tensor_t in = fixture_tensor_of(bits, ROWS, COLS);
    for (int n = 0; n < 8; n++) {
      ufp4_quantize_t how = options(&random, n % 2 + (n / 4 ? 24 : 0));
      how.axis = UFP4_AXIS_ROW;
      how.round = (ufp4_round_t)(n / 2 % 2);
      how.rht = UFP4_RHT_NONE;
      fixture_check_tensor(8 * i + n, &in, &how);
    }
    fixture_tensor_free(&in);
  }
}

// The grid is chosen before random bytes are drawn, so that the codes have no bias: scales, grids
// included, equal those of rounding to nearest.
TEST(the_choice_does_not_see_the_random_bytes) {
  check_random_t random = check_random();
  for (int i = 0; i < OPTIONS; i++) {
    ufp4_quantize_t how = options(&random, i);
    fixture_tensor_t in =
        fixture_tensor(&random, 32, 256, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, how.axis);
    how.round = UFP4_ROUND_SR;
    ufp4_operand_t drawn = quantized(&in, &how);
    how.round = UFP4_ROUND_RNE;
    ufp4_operand_t nearest = quantized(&in, &how);
    check_that(i, memcmp(drawn.codes, nearest.codes, 32 * 16 * 8) != 0, "the codes differ");
    for (int g = 0; g < 32 * 16; g++)
      check_bits(g, drawn.scales[g], nearest.scales[g], "option set %d: scale", i);
    ufp4_operand_free(&drawn);
    ufp4_operand_free(&nearest);
    fixture_tensor_free(&in);
  }
}

// --- Accuracy -----------------------------------------------------------------------------------

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

// The error of Gaussian numbers is 0.5 to 0.8 dB less than that of E1M2 and 1.5 to 1.7 dB less than
// that of E2M1.
TEST(errs_less_than_either_grid) {
  check_random_t random = check_random();
  for (int i = 0; i < 20; i++) {
    fixture_tensor_t in =
        fixture_tensor(&random, 64, 64, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    ufp4_quantize_t how = {.elem = UFP4_ELEM_MIXED,
                           .scale = i % 2 ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E4M3};
    const double mixed = squared_error(&in, &how);
    for (int grid = 0; grid < 2; grid++) {
      how.elem = grid ? UFP4_ELEM_E1M2 : UFP4_ELEM_E2M1;
      const double one = squared_error(&in, &how);
      check_that(i, mixed < 0.95 * one, "squared error %g mixed, %g of grid %d", mixed, one, grid);
    }
    fixture_tensor_free(&in);
  }
}

// --- Refused ------------------------------------------------------------------------------------

static void check_refused(int index, const ufp4_quantize_t *how, const char *backend,
                          ufp4_status_t status, const char *words) {
  ufp4_message_t message = {""};
  check_bits(index, ufp4_combination_quantize(how, 0, backend, &message), status, "status");
  check_that(index, strstr(message.text, words) != NULL, "'%s' has '%s'", message.text, words);
}

TEST(rejects_what_does_not_go_together) {
  ufp4_quantize_t how = {.elem = UFP4_ELEM_MIXED, .scale = UFP4_SCALE_NVFP4};
  how.scale_round = UFP4_SCALE_ROUND_46;
  check_refused(0, &how, NULL, UFP4_ERROR_ARGUMENT, "scale rounding 46 does not work with");
  how = (ufp4_quantize_t){.elem = UFP4_ELEM_MIXED, .scale = UFP4_SCALE_E8M0};
  check_refused(1, &how, NULL, UFP4_ERROR_ARGUMENT, "element mixed does not work with scale e8m0");
  how.scale = UFP4_SCALE_FP32;
  check_refused(2, &how, NULL, UFP4_ERROR_ARGUMENT, "element mixed does not work with scale fp32");
  how = (ufp4_quantize_t){.elem = UFP4_ELEM_MIXED, .block = 32};
  check_refused(3, &how, NULL, UFP4_ERROR_ARGUMENT, "block 32 does not work with");
  how = (ufp4_quantize_t){.elem = UFP4_ELEM_MIXED, .rht = UFP4_RHT_INTEGER, .rht_size = 32};
  check_refused(4, &how, NULL, UFP4_ERROR_ARGUMENT, "RHT size 32 does not work with");
  how = (ufp4_quantize_t){.elem = UFP4_ELEM_MIXED};
  static const char *const backends[] = {"rtl", "tlm", "systemc", "fpga:x", "mmio:x"};
  for (int i = 0; i < 5; i++) {
    ufp4_message_t message = {""};
    check_bits(i, ufp4_combination_quantize(&how, 0, backends[i], &message), UFP4_OK, "%s",
               message.text);
    for (int contract = 0; contract < UFP4_CONTRACT_COUNT; contract++) {
      const ufp4_contract_t by = (ufp4_contract_t)contract;
      check_bits(i,
                 ufp4_combination_gemm(UFP4_ELEM_MIXED, UFP4_ELEM_E1M2, UFP4_SCALE_E4M3, by,
                                       backends[i], &message),
                 UFP4_OK, "%s", message.text);
      check_bits(i,
                 ufp4_combination_gemm(UFP4_ELEM_E2M1, UFP4_ELEM_MIXED, UFP4_SCALE_NVFP4, by,
                                       backends[i], &message),
                 UFP4_OK, "%s", message.text);
      check_bits(i,
                 ufp4_combination_gemm(UFP4_ELEM_E2M1, UFP4_ELEM_MIXED, UFP4_SCALE_E8M0, by,
                                       backends[i], &message),
                 UFP4_ERROR_ARGUMENT, "%s", message.text);
    }
  }
  ufp4_message_t message = {""};
  check_bits(10, ufp4_combination_quantize(&how, 0, "cuda", &message), UFP4_OK, "%s", message.text);
}

TEST(rejects_operands_without_a_byte_for_the_grid) {
  ufp4_operand_t x;
  check_bits(0, ufp4_operand_create_scaled(UFP4_ELEM_MIXED, UFP4_SCALE_E8M0, 2, 64, &x),
             UFP4_ERROR_ARGUMENT, "e8m0");
  check_bits(1, ufp4_operand_create_scaled(UFP4_ELEM_MIXED, UFP4_SCALE_FP32, 2, 64, &x),
             UFP4_ERROR_ARGUMENT, "fp32");
  check_bits(2, ufp4_operand_create_blocks(UFP4_ELEM_MIXED, UFP4_SCALE_E4M3, 32, 2, 64, &x),
             UFP4_ERROR_ARGUMENT, "blocks of 32");
}
