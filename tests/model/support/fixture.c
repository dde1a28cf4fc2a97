// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(double value) {
  const float rounded = (float)value;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  return bits;
}

/** Returns the sum of twelve uniform numbers less its mean, which is close enough to a standard
 * Gaussian. */
static double gaussian(check_random_t *random) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += (double)(check_next(random) >> 11) / 9007199254740992.0;
  return sum;
}

static uint32_t wild(check_random_t *random) {
  uint32_t bits = (uint32_t)check_next(random);
  while (!reference_f32_is_finite(bits)) bits = (uint32_t)check_next(random);
  return bits;
}

static uint32_t special(check_random_t *random) {
  static const uint32_t table[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF};
  return check_below(random, 40) == 0 ? table[check_below(random, 5)] : bits_of(gaussian(random));
}

static uint32_t tie(check_random_t *random) {
  const uint32_t bits =
      bits_of((double)(2 * check_below(random, 32) + 1) / 8 * (check_below(random, 2) ? 1 : -1));
  return bits + check_below(random, 3) - 1;
}

uint32_t fixture_number(check_random_t *random, fixture_distribution_t distribution) {
  const uint32_t r = (uint32_t)check_next(random);
  switch (distribution) {
    case FIXTURE_GAUSSIAN:
      return bits_of(gaussian(random));
    case FIXTURE_OUTLIERS:
      return bits_of(gaussian(random) * (check_below(random, 50) == 0 ? 16 : 1));
    case FIXTURE_INTEGERS:
      return bits_of((double)check_below(random, 33) - 16);
    case FIXTURE_BF16:
      return bits_of(gaussian(random)) & 0xFFFF0000u;
    case FIXTURE_WILD:
      return wild(random);
    case FIXTURE_SUBNORMAL:
      return r & 0x81FFFFFFu & (0xFFFFFFFFu >> (r >> 27 & 15) | 0x80000000u);
    case FIXTURE_SPARSE:
      return check_below(random, 8) == 0 ? bits_of(gaussian(random)) : r & 0x80000000u;
    case FIXTURE_TIES:
      return tie(random);
    case FIXTURE_NEAR:
      return (r & 0x80FFFFFFu) + (100u << 23) + (check_below(random, 6) << 23);
    default:
      return special(random);
  }
}

void fixture_numbers(check_random_t *random, fixture_distribution_t distribution, uint32_t *bits,
                     int64_t count) {
  for (int64_t i = 0; i < count; i++) bits[i] = fixture_number(random, distribution);
}

static reference_elem_t reference_elem_of(ufp4_elem_t elem) {
  static const reference_elem_t elems[] = {[UFP4_ELEM_E2M1] = REFERENCE_E2M1,
                                           [UFP4_ELEM_E1M2] = REFERENCE_E1M2,
                                           [UFP4_ELEM_INT4] = REFERENCE_INT4,
                                           [UFP4_ELEM_MIXED] = REFERENCE_MIXED};
  return elems[elem];
}

static reference_scale_t reference_scale_of(ufp4_scale_t scale) {
  static const reference_scale_t scales[] = {[UFP4_SCALE_E4M3] = REFERENCE_SCALE_E4M3,
                                             [UFP4_SCALE_NVFP4] = REFERENCE_SCALE_NVFP4,
                                             [UFP4_SCALE_E8M0] = REFERENCE_SCALE_E8M0,
                                             [UFP4_SCALE_FP32] = REFERENCE_SCALE_FP32};
  return scales[scale];
}

reference_quantize_t fixture_slow_options(const ufp4_quantize_t *how) {
  static const reference_rht_t transforms[] = {[UFP4_RHT_NONE] = REFERENCE_RHT_NONE,
                                               [UFP4_RHT_INTEGER] = REFERENCE_RHT_INTEGER,
                                               [UFP4_RHT_BF16] = REFERENCE_RHT_BF16};
  static const reference_scale_round_t rounds[] = {[UFP4_SCALE_ROUND_RNE] = REFERENCE_SCALE_NEAREST,
                                                   [UFP4_SCALE_ROUND_UP] = REFERENCE_SCALE_UP,
                                                   [UFP4_SCALE_ROUND_DOWN] = REFERENCE_SCALE_DOWN,
                                                   [UFP4_SCALE_ROUND_46] = REFERENCE_SCALE_46};
  const reference_quantize_t out = {.elem = reference_elem_of(how->elem),
                                    .scale = reference_scale_of(how->scale),
                                    .tall = how->layout == UFP4_LAYOUT_2D,
                                    .rht = transforms[how->rht],
                                    .mask = how->rht_mask,
                                    .block = how->block,
                                    .points = how->rht_size,
                                    .stochastic = how->round == UFP4_ROUND_SR,
                                    .scale_round = rounds[how->scale_round],
                                    .seed = how->seed,
                                    .tensor_id = how->tensor_id};
  return out;
}

reference_operand_t fixture_slow_operand(const ufp4_operand_t *operand) {
  const int64_t width = operand->blocks * 16;
  reference_operand_t out = reference_operand_create_blocks(
      reference_elem_of(operand->elem), reference_scale_of(operand->scale), operand->block,
      operand->rows, operand->cols);
  out.t = operand->exponent;
  out.half = operand->half;
  if (operand->scale == UFP4_SCALE_NVFP4) memcpy(&out.tensor_scale, &operand->tensor_scale, 4);
  for (int64_t i = 0; i < out.rows * width; i++)
    out.codes[i] = fixture_code(operand, i / width, i % width);
  for (int64_t i = 0; i < out.rows * out.scale_blocks; i++)
    out.scales[i] = fixture_scale(operand, i);
  return out;
}

/** Returns any scale that is a number, with a random sign bit if the format ignores it, or one
 * within a few binades of 1. */
static uint32_t any_scale(check_random_t *random, ufp4_scale_t scale, int near) {
  switch (scale) {
    case UFP4_SCALE_E8M0:
      return near ? 120 + check_below(random, 14) : check_below(random, 255);
    case UFP4_SCALE_FP32:
      return near ? (120u << 23) + check_below(random, 14 << 23) : check_below(random, 0x7F800000);
    default:
      return (near ? 0x20 + check_below(random, 0x30) : check_below(random, 0x7F)) |
             check_below(random, 2) << 7;
  }
}

static uint32_t nan_scale(check_random_t *random, ufp4_scale_t scale) {
  switch (scale) {
    case UFP4_SCALE_E8M0:
      return 0xFF;
    case UFP4_SCALE_FP32:
      return 0x7F800001 + check_below(random, 0x7FFFFF) + (check_below(random, 2) << 31);
    default:
      return 0x7F | check_below(random, 2) << 7;
  }
}

static uint32_t one_scale(check_random_t *random, ufp4_scale_t scale, fixture_scales_t scales) {
  static const uint32_t largest[] = {[UFP4_SCALE_E4M3] = 0x7E,
                                     [UFP4_SCALE_NVFP4] = 0x7E,
                                     [UFP4_SCALE_E8M0] = 254,
                                     [UFP4_SCALE_FP32] = 0x7F7FFFFF};
  if (scales == FIXTURE_SCALES_MAX) return largest[scale];
  if (scales == FIXTURE_SCALES_NAN && check_below(random, 16) == 0) return nan_scale(random, scale);
  return any_scale(random, scale, scales == FIXTURE_SCALES_NEAR);
}

ufp4_operand_t fixture_operand_scaled(check_random_t *random, ufp4_elem_t elem, ufp4_scale_t scale,
                                      int64_t rows, int64_t cols, fixture_scales_t scales) {
  ufp4_operand_t out;
  if (ufp4_operand_create_scaled(elem, scale, rows, cols, &out) != UFP4_OK) abort();
  // The code of the largest magnitude is 8 in INT4 (-8), and 7 and 15 in E2M1 and E1M2.
  const uint8_t largest = elem == UFP4_ELEM_INT4 ? 0x88 : 0x77;
  for (int64_t i = 0; i < rows * out.blocks * 8; i++) {
    out.codes[i] = scales == FIXTURE_SCALES_MAX ? largest : (uint8_t)check_next(random);
  }
  for (int64_t i = 0; i < rows * out.scale_blocks; i++)
    fixture_set_scale(&out, i, one_scale(random, scale, scales));
  return out;
}

ufp4_operand_t fixture_operand(check_random_t *random, ufp4_elem_t elem, int64_t rows, int64_t cols,
                               fixture_scales_t scales) {
  return fixture_operand_scaled(random, elem, UFP4_SCALE_E4M3, rows, cols, scales);
}

void fixture_check_operand(const ufp4_operand_t *got, const reference_operand_t *want,
                           const char *what) {
  const int64_t width = got->blocks * 16;
  uint32_t tensor_scale;
  memcpy(&tensor_scale, &got->tensor_scale, 4);
  if (!check_that(0,
                  got->rows == want->rows && got->blocks == want->groups &&
                      got->scale_blocks == want->scale_blocks,
                  "%s: shape %lld x %lld groups", what, (long long)got->rows,
                  (long long)got->blocks)) {
    return;
  }
  check_bits(0, (uint64_t)(int64_t)got->exponent, (uint64_t)(int64_t)want->t, "%s: tensor exponent",
             what);
  check_bits(0, tensor_scale, want->tensor_scale, "%s: tensor scale", what);
  const unsigned flags = (want->flags & REFERENCE_FLAG_NAN ? UFP4_FLAG_NAN : 0u) |
                         (want->flags & REFERENCE_FLAG_SATURATED ? UFP4_FLAG_ROW_SATURATED : 0u);
  check_bits(0, got->flags, flags, "%s: flags", what);
  for (int64_t i = 0; i < got->rows * got->scale_blocks; i++) {
    check_bits(i, fixture_scale(got, i), want->scales[i], "%s: scale of row %lld, block %lld", what,
               (long long)(i / got->scale_blocks), (long long)(i % got->scale_blocks));
  }
  for (int64_t i = 0; i < got->rows * width; i++) {
    check_bits(i, fixture_code(got, i / width, i % width), want->codes[i],
               "%s: code of row %lld, k %lld", what, (long long)(i / width),
               (long long)(i % width));
  }
}

static fixture_tensor_t empty_tensor(int64_t rows, int64_t cols, int64_t ld, ufp4_dtype_t dtype) {
  fixture_tensor_t in = {{dtype, rows, cols, ld, NULL}, NULL, NULL, rows, cols};
  in.storage = malloc((size_t)(rows * ld) * 4);
  in.blocked = malloc((size_t)(rows * cols) * 4);
  if (!in.storage || !in.blocked) abort();
  in.view.data = in.storage;
  memset(in.storage, 0xFF, (size_t)(rows * ld) * 4);
  return in;
}

fixture_tensor_t fixture_tensor(check_random_t *random, int rows, int cols,
                                fixture_distribution_t distribution, ufp4_dtype_t dtype,
                                ufp4_axis_t axis) {
  const int gap = rows > 1 ? 3 : 0, ld = cols + gap;
  fixture_tensor_t in = empty_tensor(rows, cols, ld, dtype);
  if (axis == UFP4_AXIS_COL) in.rows = cols, in.cols = rows;
  for (int i = 0; i < rows * cols; i++) {
    const int r = i / cols, c = i % cols;
    const uint32_t bits = fixture_number(random, distribution) &
                          (dtype == UFP4_DTYPE_BF16 ? 0xFFFF0000u : 0xFFFFFFFFu);
    const uint16_t half = (uint16_t)(bits >> 16);
    if (dtype == UFP4_DTYPE_BF16) {
      memcpy((uint16_t *)in.storage + r * ld + c, &half, 2);
    } else {
      in.storage[r * ld + c] = bits;
    }
    in.blocked[axis == UFP4_AXIS_COL ? c * rows + r : i] = bits;
  }
  return in;
}

fixture_tensor_t fixture_tensor_of(const uint32_t *blocked, int64_t rows, int64_t cols) {
  fixture_tensor_t in = empty_tensor(rows, cols, cols, UFP4_DTYPE_F32);
  memcpy(in.storage, blocked, (size_t)(rows * cols) * 4);
  memcpy(in.blocked, blocked, (size_t)(rows * cols) * 4);
  return in;
}

void fixture_tensor_free(fixture_tensor_t *tensor) {
  free(tensor->storage);
  free(tensor->blocked);
}

/** Compares the exponent that the reference model finds with the golden model's; it is 0 for scales
 * without an exponent. */
static int check_exponent(int64_t index, const fixture_tensor_t *in, const ufp4_quantize_t *how,
                          const char *what) {
  const reference_quantize_t reference_how = fixture_slow_options(how);
  int t = 12345;
  if (how->scale != UFP4_SCALE_E4M3) return 0;
  const int own = reference_tensor_exponent(in->blocked, in->rows, in->cols, &reference_how);
  check_bits(index, (uint64_t)ufp4_tensor_exponent(&in->view, how, &t), UFP4_OK,
             "%s: ufp4_tensor_exponent", what);
  check_bits(index, (uint64_t)t, (uint64_t)own, "%s: tensor exponent", what);
  return how->exponent_given ? how->exponent : own;
}

void fixture_check_tensor(int64_t index, const fixture_tensor_t *in,
                          const ufp4_quantize_t *options) {
  ufp4_quantize_t with_kernel = *options;
  const ufp4_quantize_t *how = &with_kernel;
  with_kernel.kernel = fixture_kernel();
  const reference_quantize_t reference_how = fixture_slow_options(how);
  ufp4_operand_t got;
  char what[160];
  snprintf(what, sizeof what,
           "case %lld: %lld x %lld, elem %u, scale %u, layout %u, rht %u, round %u, scale_round "
           "%u, axis %u",
           (long long)index, (long long)in->view.rows, (long long)in->view.cols, how->elem,
           how->scale, how->layout, how->rht, how->round, how->scale_round, how->axis);
  const int t = check_exponent(index, in, how, what);
  if (!check_bits(index, (uint64_t)ufp4_quantize(&in->view, how, &got), UFP4_OK,
                  "%s: ufp4_quantize", what))
    return;
  reference_operand_t want = reference_quantize(in->blocked, in->rows, in->cols, &reference_how, t);
  check_bits(index, (uint64_t)got.cols, (uint64_t)in->cols, "%s: logical k", what);
  check_that(index, got.elem == how->elem && got.scale == how->scale, "%s: formats", what);
  fixture_check_operand(&got, &want, what);
  reference_operand_free(&want);
  ufp4_operand_free(&got);
}

ufp4_kernel_t fixture_kernel(void) {
  const char *name = getenv("UFP4_KERNEL");
  ufp4_kernel_t kernel = UFP4_KERNEL_FASTEST;
  if (name != NULL && ufp4_kernel_named(name, &kernel) != UFP4_OK) abort();
  return kernel;
}
