// SPDX-License-Identifier: Apache-2.0
// Tests whole tensors with every scale format, layout and transform (numerics.md 2 to 4): legal
// combinations equal the reference model, others are refused.
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "legal.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"

static const int shapes[][2] = {{1, 1},    {1, 16},   {16, 1},  {3, 5},   {5, 17},
                                {17, 33},  {16, 32},  {31, 33}, {33, 49}, {2, 130},
                                {130, 47}, {48, 257}, {1, 31},  {64, 64}};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

/** Checks one combination on a matrix of a drawn distribution, along a drawn axis. */
static void check_case(check_random_t *random, int64_t index, ufp4_quantize_t how, const int *shape,
                       ufp4_dtype_t dtype) {
  how.axis = check_below(random, 2) ? UFP4_AXIS_COL : UFP4_AXIS_ROW;
  const fixture_distribution_t distribution =
      (fixture_distribution_t)check_below(random, FIXTURE_DISTRIBUTIONS);
  fixture_tensor_t in = fixture_tensor(random, shape[0], shape[1], distribution, dtype, how.axis);
  fixture_check_tensor(index, &in, &how);
  fixture_tensor_free(&in);
}

/** Checks every legal combination with a scale, on every shape or the first eight. */
static void sweep(check_random_t *random, ufp4_scale_t scale, ufp4_dtype_t dtype) {
  for (int i = 0; i < LEGAL_QUANTIZE_COUNT * check_draws(8, SHAPES); i++) {
    const ufp4_quantize_t how = legal_quantize_combination(i % LEGAL_QUANTIZE_COUNT);
    if (how.scale == scale && legal_quantize(&how))
      check_case(random, i, how, shapes[i / LEGAL_QUANTIZE_COUNT], dtype);
  }
}

// Each combination runs once, so that emulators of other machines can run it (tests/portable).
TEST(every_combination) {
  static const int shape[2] = {18, 21};
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    if (legal_quantize(&how))
      check_case(&random, n, how, shape, n % 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32);
  }
}

SLOW_TEST(e4m3) {
  check_random_t random = check_random();
  sweep(&random, UFP4_SCALE_E4M3, UFP4_DTYPE_F32);
  sweep(&random, UFP4_SCALE_E4M3, UFP4_DTYPE_BF16);
}
SLOW_TEST(nvfp4) {
  check_random_t random = check_random();
  for (int i = 0; i < check_draws(2, 8); i++)
    sweep(&random, UFP4_SCALE_NVFP4, i % 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32);
}
TEST(e8m0_and_fp32) {
  check_random_t random = check_random();
  for (int i = 0; i < 4; i++) {
    const ufp4_scale_t scale = i % 2 ? UFP4_SCALE_FP32 : UFP4_SCALE_E8M0;
    sweep(&random, scale, i / 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32);
  }
}

SLOW_TEST(large_tensors) {
  static const int large[][2] = {{257, 1029}, {1023, 130}, {3, 20000}, {20000, 3}};
  const uint32_t of = (uint32_t)check_draws(16, 4);
  check_random_t random = check_random();
  for (int i = 0, n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    ufp4_quantize_t how = legal_quantize_combination(n);
    if (!legal_quantize(&how) || check_below(&random, of)) continue;
    how.axis = (ufp4_axis_t)check_below(&random, 2);
    const int *shape = large[i++ % 4];
    fixture_tensor_t in = fixture_tensor(&random, shape[0], shape[1],
                                         (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS),
                                         i % 3 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16, how.axis);
    fixture_check_tensor(n, &in, &how);
    fixture_tensor_free(&in);
  }
}

// --- Properties that need no reference model ----------------------------------------------------

static ufp4_operand_t quantized(const fixture_tensor_t *in, const ufp4_quantize_t *how) {
  ufp4_operand_t out;
  if (ufp4_quantize(&in->view, how, &out) != UFP4_OK) abort();
  return out;
}

/** Checks that two operands have equal codes, and scales that differ by a factor of 2^@p shift
 * (E8M0 and FP32). */
static void check_same_magnitudes(int64_t index, const ufp4_operand_t *x, const ufp4_operand_t *y,
                                  int shift) {
  for (int64_t i = 0; i < x->rows * x->scale_blocks; i++) {
    const uint32_t a = fixture_scale(x, i), step = x->scale == UFP4_SCALE_FP32 ? 1u << 23 : 1;
    check_bits(i, a == 0 ? 0 : a + (uint32_t)shift * step, fixture_scale(y, i), "case %lld: scale",
               (long long)index);
  }
  for (int64_t k = 0; k < x->rows * x->blocks * 16; k++) {
    const int a = ufp4_elem_quanta(x->elem, fixture_code(x, 0, k)),
              b = ufp4_elem_quanta(y->elem, fixture_code(y, 0, k));
    check_bits(k, (uint64_t)a, (uint64_t)b, "case %lld: quanta", (long long)index);
  }
}

TEST(exponents_given_to_tiles) {
  static const int given[] = {-32768, -200, -3, 0, 5, 9, 100, 32767};
  check_random_t random = check_random();
  for (int i = 0; i < 8 * 9; i++) {
    const ufp4_quantize_t how = {.elem = (ufp4_elem_t)(i % 3),
                                 .layout = UFP4_LAYOUT_2D,
                                 .scale_round = i % 2 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE,
                                 .exponent_given = 1,
                                 .exponent = given[i / 9]};
    fixture_tensor_t in =
        fixture_tensor(&random, 33, 50, FIXTURE_OUTLIERS, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    fixture_check_tensor(i, &in, &how);
    fixture_tensor_free(&in);
  }
}

TEST(uniform_formats_with_nvfp4_have_the_same_scales) {
  // S, Sd and their products all differ by a power of two, so all roundings are equal.
  check_random_t random = check_random();
  for (int i = 0; i < 2 * 3 * 24; i++) {
    ufp4_quantize_t how = {.elem = UFP4_ELEM_INT4,
                           .scale = UFP4_SCALE_NVFP4,
                           .rht_mask = UFP4_RHT_DEFAULT_MASK,
                           .rht = i % 2 ? UFP4_RHT_BF16 : UFP4_RHT_NONE,
                           .layout = (ufp4_layout_t)(i / 2 % 2),
                           .round = (ufp4_round_t)(i / 4 % 2)};
    fixture_tensor_t in = fixture_tensor(&random, 20, 70, (fixture_distribution_t)(i % 4),
                                         UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    ufp4_operand_t x = quantized(&in, &how);
    how.elem = UFP4_ELEM_E1M2;
    ufp4_operand_t y = quantized(&in, &how);
    check_same_magnitudes(i, &x, &y, 0);
    check_bits(i, ufp4_f32_bits(x.tensor_scale * 4), ufp4_f32_bits(y.tensor_scale), "Sd");
    ufp4_operand_free(&x);
    ufp4_operand_free(&y);
    fixture_tensor_free(&in);
  }
}

TEST(uniform_formats_differ_by_two_binades) {
  // E1M2 is INT4 divided by 4, so the scales differ by a factor of 4 and the quanta are equal.
  check_random_t random = check_random();
  for (int i = 0; i < 2 * 24; i++) {
    ufp4_quantize_t how = {
        .elem = UFP4_ELEM_INT4, .scale = UFP4_SCALE_FP32, .round = (ufp4_round_t)(i / 2 % 2)};
    if (i % 2) how.scale = UFP4_SCALE_E8M0, how.scale_round = (ufp4_scale_round_t)(1 + i / 4 % 2);
    if (i % 4 == 0) how.rht = UFP4_RHT_INTEGER;
    fixture_tensor_t in = fixture_tensor(&random, 20, 70, (fixture_distribution_t)(i % 4),
                                         UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    ufp4_operand_t x = quantized(&in, &how);
    how.elem = UFP4_ELEM_E1M2;
    ufp4_operand_t y = quantized(&in, &how);
    check_same_magnitudes(i, &x, &y, 2);
    ufp4_operand_free(&x);
    ufp4_operand_free(&y);
    fixture_tensor_free(&in);
  }
}

TEST(square_tiles_do_not_care_for_the_axis) {
  // With one scale per 16x16 tile the column copy is the transposed row copy, so that both
  // directions use the same weights.
  check_random_t random = check_random();
  static const ufp4_scale_t scales[] = {UFP4_SCALE_NVFP4, UFP4_SCALE_E4M3, UFP4_SCALE_FP32};
  for (int i = 0; i < 36; i++) {
    ufp4_quantize_t how = {
        .elem = UFP4_ELEM_E2M1, .scale = scales[i % 3], .layout = UFP4_LAYOUT_2D};
    const int rows = 1 + (int)check_below(&random, 50), cols = 1 + (int)check_below(&random, 50);
    fixture_tensor_t in =
        fixture_tensor(&random, rows, cols, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS),
                       UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    ufp4_operand_t row = quantized(&in, &how);
    how.axis = UFP4_AXIS_COL;
    ufp4_operand_t col = quantized(&in, &how);
    for (int j = 0; j < rows * cols; j++) {
      const int r = j / cols, c = j % cols;
      check_bits(j, fixture_code(&col, c, r), fixture_code(&row, r, c), "code, case %d", i);
      check_bits(j, fixture_scale(&col, c * col.scale_blocks + r / 16),
                 fixture_scale(&row, r * row.scale_blocks + c / 16), "scale, case %d", i);
    }
    ufp4_operand_free(&row);
    ufp4_operand_free(&col);
    fixture_tensor_free(&in);
  }
}

TEST(nan_poisons_a_whole_tile) {
  static const ufp4_scale_t scales[] = {UFP4_SCALE_NVFP4, UFP4_SCALE_E4M3, UFP4_SCALE_FP32};
  static const uint32_t nan[] = {0x7F, 0x7F, 0x7FC00000};
  check_random_t random = check_random();
  for (int i = 0; i < 3 * 40; i++) {
    const ufp4_quantize_t how = {
        .elem = UFP4_ELEM_E2M1, .scale = scales[i % 3], .layout = UFP4_LAYOUT_2D};
    fixture_tensor_t in =
        fixture_tensor(&random, 40, 40, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    const int at = (int)check_below(&random, 1600), r = at / 40, c = at % 40;
    in.storage[r * 43 + c] = i % 2 ? 0x7FC00000 : 0xFF800000;
    ufp4_operand_t got = quantized(&in, &how);
    check_bits(i, got.flags, UFP4_FLAG_NAN, "flags");
    for (int64_t j = 0; j < 1600; j++) {
      const int inside = j / 40 / 16 == r / 16 && j % 40 / 16 == c / 16;
      const uint32_t scale = fixture_scale(&got, j / 40 * 3 + j % 40 / 16);
      check_that(j, inside == (scale == nan[i % 3]), "scale %08x, NaN at %d", scale, at);
      if (inside) check_bits(j, fixture_code(&got, j / 40, j % 40), 0, "code in a poisoned tile");
    }
    ufp4_operand_free(&got);
    fixture_tensor_free(&in);
  }
}

TEST(e8m0_poisons_32_columns) {
  check_random_t random = check_random();
  for (int i = 0; i < 100; i++) {
    const ufp4_quantize_t how = {.elem = (ufp4_elem_t)(i % 3),
                                 .scale = UFP4_SCALE_E8M0,
                                 .scale_round = UFP4_SCALE_ROUND_DOWN};
    fixture_tensor_t in =
        fixture_tensor(&random, 1, 100, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    in.storage[i] = 0x7F800000;
    ufp4_operand_t got = quantized(&in, &how);
    for (int j = 0; j < 4; j++)
      check_that(j, (got.scales[j] == 0xFF) == (j == i / 32), "scale %02x, Inf at %d",
                 got.scales[j], i);
    for (int j = i / 32 * 32; j < i / 32 * 32 + 32 && j < 112; j++)
      check_bits(j, fixture_code(&got, 0, j), 0, "code");
    ufp4_operand_free(&got);
    fixture_tensor_free(&in);
  }
}

TEST(bf16_transform_of_small_integers_is_the_integer_one) {
  // The sums of 16 integers up to 7, over 4, fit in the eight bits of BF16. Both transforms are
  // exact, so all bits are equal.
  check_random_t random = check_random();
  for (int i = 0; i < 60; i++) {
    ufp4_quantize_t how = legal_quantize_combination(i % 3);
    how.round = (ufp4_round_t)(i / 3 % 2);
    how.rht = UFP4_RHT_INTEGER;
    uint32_t bits[7 * 40];
    for (int j = 0; j < 280; j++) bits[j] = ufp4_f32_bits((float)check_below(&random, 15) - 7);
    fixture_tensor_t in = fixture_tensor_of(bits, 7, 40);
    ufp4_operand_t x = quantized(&in, &how);
    how.rht = UFP4_RHT_BF16;
    ufp4_operand_t y = quantized(&in, &how);
    reference_operand_t want = fixture_slow_operand(&x);
    fixture_check_operand(&y, &want, "bf16 transform");
    reference_operand_free(&want);
    ufp4_operand_free(&x);
    ufp4_operand_free(&y);
    fixture_tensor_free(&in);
  }
}

TEST(zero_blocks_have_zero_scale_and_codes) {
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    if (!legal_quantize(&how)) continue;
    uint32_t bits[20 * 50];
    for (int j = 0; j < 1000; j++) bits[j] = (uint32_t)j << 31;
    fixture_tensor_t in = fixture_tensor_of(bits, 20, 50);
    ufp4_operand_t got = quantized(&in, &how);
    for (int64_t j = 0; j < 20 * got.scale_blocks; j++)
      check_bits(j, fixture_scale(&got, j), 0, "scale, combination %d", n);
    for (int64_t k = 0; k < 20 * got.blocks * 16; k++)
      check_bits(k, fixture_code(&got, 0, k), 0, "code, combination %d", n);
    check_bits(n, got.flags, 0, "flags");
    check_bits(n, ufp4_f32_bits(got.tensor_scale), 0x3F800000, "tensor scale");
    ufp4_operand_free(&got);
    fixture_tensor_free(&in);
  }
}

TEST(only_e4m3_saturates) {
  // With E1M2 and E8M0 rounded up, the largest FP32 number needs the scale 2^128, because it
  // exceeds 1.75 * 2^127. That scale does not exist; this sets no flag.
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    ufp4_quantize_t how = legal_quantize_combination(n);
    if (!legal_quantize(&how) || how.scale == UFP4_SCALE_E4M3) continue;
    uint32_t bits[16 * 32];
    for (int j = 0; j < 512; j++) bits[j] = 0x7F7FFFFF;
    if (how.rht == UFP4_RHT_BF16) bits[0] = 0x7F000000;
    fixture_tensor_t in = fixture_tensor_of(bits, 16, 32);
    ufp4_operand_t got = quantized(&in, &how);
    check_bits(n, got.flags & ~UFP4_FLAG_NAN, 0, "flags");
    ufp4_operand_free(&got);
    fixture_check_tensor(n, &in, &how);
    fixture_tensor_free(&in);
  }
}

TEST(dequantize_matches_second_model) {
  static const uint32_t tensor_scales[] = {0x3F800000, 0x3A000000, 0x00000001,
                                           0x7F7FFFFF, 0x00800000, 0x3EAAAAAB};
  static const int exponents[] = {0, 5, -7, 120, 140, 155, -110, -120, 32767, -32768};
  static float out[64 * 272];
  check_random_t random = check_random();
  for (int i = 0; i < 12 * SHAPES * 4; i++) {
    const int rows = shapes[i / 48][0] % 64 + 1, cols = shapes[i / 48][1];
    ufp4_operand_t in =
        fixture_operand_scaled(&random, (ufp4_elem_t)(i % 3), (ufp4_scale_t)(i / 3 % 4), rows, cols,
                               (fixture_scales_t)(i / 12 % 4));
    in.tensor_scale = ufp4_f32_value(tensor_scales[check_below(&random, 6)]);
    if (in.scale == UFP4_SCALE_E4M3) in.exponent = exponents[check_below(&random, 10)];
    reference_operand_t slow = fixture_slow_operand(&in);
    const int64_t width = i % 2 ? cols : in.blocks * 16;
    check_bits(i, (uint64_t)ufp4_dequantize(&in, width, out, width), UFP4_OK, "status");
    for (int64_t j = 0; j < rows * width; j++) {
      check_bits(j, ufp4_f32_bits(out[j]), reference_dequantize(&slow, j / width, j % width),
                 "elem %u, scale %u, code %x", in.elem, in.scale,
                 fixture_code(&in, j / width, j % width));
    }
    reference_operand_free(&slow);
    ufp4_operand_free(&in);
  }
}

// --- Combinations that must be refused ----------------------------------------------------------

static const float ordinary[64] = {1};

/** Checks that the quantizer refuses @p how and leaves its output unchanged, and that the table
 * refuses it on any backend with a reason. */
static void check_refused(int64_t index, const ufp4_quantize_t *how, int block) {
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 2, 32, 32, ordinary};
  ufp4_message_t message = {""};
  ufp4_operand_t out;
  memset(&out, 0x5A, sizeof out);
  const ufp4_operand_t before = out;
  check_bits(index, (uint64_t)ufp4_combination_quantize(how, block, NULL, &message),
             UFP4_ERROR_ARGUMENT, "table");
  check_that(index, message.text[0] != 0, "no reason given");
  check_bits(index, (uint64_t)ufp4_combination_quantize(how, block, "model", NULL),
             UFP4_ERROR_ARGUMENT, "table, model");
  check_bits(index, (uint64_t)ufp4_combination_quantize(how, block, "rtl", NULL),
             UFP4_ERROR_ARGUMENT, "table, rtl");
  if (block != 0) return;
  check_bits(index, (uint64_t)ufp4_quantize(&in, how, &out), UFP4_ERROR_ARGUMENT, "ufp4_quantize");
  check_that(index, memcmp(&out, &before, sizeof out) == 0, "output touched");
}

TEST(rejects_illegal_combinations) {
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    if (!legal_quantize(&how)) check_refused(n, &how, 0);
  }
}

TEST(rejects_the_block_of_another_scale) {
  static const int bad[] = {8, 15, 17, 31, 33, 65, -16};
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    const int block = ufp4_scale_block(how.scale);
    if (!legal_quantize(&how)) continue;
    for (int i = 0; i < 7; i++) check_refused(n, &how, bad[i]);
    if (how.scale != UFP4_SCALE_E4M3) check_refused(n, &how, 48 - block);
    check_bits(n, (uint64_t)ufp4_combination_quantize(&how, block, "model", NULL), UFP4_OK,
               "its own block");
    check_bits(n, (uint64_t)ufp4_combination_quantize(&how, 0, NULL, NULL), UFP4_OK, "no block");
  }
}

// FP32 scales and the uniform grids with NVFP4 levels. The backend cuda has FP32 scales, except for
// transformed tiles.
static int on_no_core(const ufp4_quantize_t *how) {
  return how->scale == UFP4_SCALE_FP32 ||
         (how->scale == UFP4_SCALE_NVFP4 && how->elem != UFP4_ELEM_E2M1);
}

static int on_cuda(const ufp4_quantize_t *how) {
  return (how->rht == UFP4_RHT_NONE || how->layout == UFP4_LAYOUT_1D) &&
         (how->scale != UFP4_SCALE_NVFP4 || how->elem == UFP4_ELEM_E2M1);
}

TEST(rejects_on_cuda_what_only_others_have) {
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    ufp4_message_t message = {""};
    if (!legal_quantize(&how)) continue;
    check_bits(n, (uint64_t)ufp4_combination_quantize(&how, 0, "cuda", &message),
               on_cuda(&how) ? UFP4_OK : UFP4_ERROR_UNSUPPORTED, "'%s'", message.text);
  }
}

TEST(rejects_on_a_core_what_only_the_model_has) {
  static const char *const cores[] = {"rtl", "tlm", "systemc:timed", "fpga:/dev/ttyUSB0", "core"};
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    if (!legal_quantize(&how)) continue;
    for (int i = 0; i < 5; i++) {
      ufp4_message_t message = {""};
      const ufp4_status_t want = on_no_core(&how) ? UFP4_ERROR_UNSUPPORTED : UFP4_OK;
      const char *has = on_cuda(&how) ? "; model or cuda does" : "; model does";
      check_bits(n, (uint64_t)ufp4_combination_quantize(&how, 0, cores[i], &message), want, "%s",
                 cores[i]);
      check_that(n, want == UFP4_OK || strstr(message.text, has) != NULL, "'%s'", message.text);
    }
  }
}

TEST(rejects_unknown_backends) {
  const ufp4_quantize_t how = legal_quantize_combination(0);
  static const char *const names[] = {"", "rt", "rtlx", "model2", ":"};
  for (int i = 0; i < 5; i++) {
    ufp4_message_t message = {""};
    check_bits(i, (uint64_t)ufp4_combination_quantize(&how, 0, names[i], &message),
               UFP4_ERROR_ARGUMENT, "quantize");
    check_that(i, strstr(message.text, "no backend is called") != NULL, "'%s'", message.text);
  }
}

TEST(rejects_exponents_given_to_scales_without) {
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    ufp4_quantize_t how = legal_quantize_combination(n);
    how.exponent_given = 1;
    if (legal_quantize(&how) && how.scale != UFP4_SCALE_E4M3) check_refused(n, &how, 0);
  }
}

TEST(rejects_no_options) {
  check_bits(0, (uint64_t)ufp4_combination_quantize(NULL, 0, NULL, NULL), UFP4_ERROR_ARGUMENT,
             "quantize");
}

TEST(rejects_an_exponent_of_scales_without) {
  const ufp4_quantize_t how = {.scale = UFP4_SCALE_FP32};
  const float one = 1;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 1, 1, &one};
  int t = 7;
  check_bits(0, (uint64_t)ufp4_tensor_exponent(&in, &how, &t), UFP4_ERROR_ARGUMENT, "status");
  check_bits(0, (uint64_t)t, 7, "exponent");
}

TEST(rejects_an_unknown_layout) {
  ufp4_quantize_t how = legal_quantize_combination(0);
  how.layout = (ufp4_layout_t)UFP4_LAYOUT_COUNT;
  check_refused(0, &how, 0);
}
