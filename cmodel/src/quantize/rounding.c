// SPDX-License-Identifier: Apache-2.0
// Quantizes a tensor by quantize.c and measures the effect of the rounding.
#include "ufp4/rounding.h"

#include <math.h>

#include "ufp4/array.h"
#include "ufp4/format.h"
#include "ufp4/rht.h"

#define GROUP 16

typedef struct {
  double magnitude, shrink, dot, signal, noise;
  int64_t count[16], groups, groups_out, uniform;
} sums_t;

// Returns an element of the tensor, or with @p axis COL of the transposed one; 0 beyond its end.
static float element(const ufp4_matrix_t *in, ufp4_axis_t axis, int64_t r, int64_t c) {
  const int64_t row = axis == UFP4_AXIS_COL ? c : r, col = axis == UFP4_AXIS_COL ? r : c;
  if (row >= in->rows || col >= in->cols) return 0;
  const int64_t at = row * in->ld + col;
  if (in->dtype == UFP4_DTYPE_BF16) return ufp4_bf16_value(((const uint16_t *)in->data)[at]);
  return ((const float *)in->data)[at];
}

// Loads a group that is part of a larger transform, as load_group does.
static void load_points(const ufp4_matrix_t *in, const ufp4_quantize_t *how, int64_t r,
                        int64_t first, double out[GROUP]) {
  uint32_t bits[64];
  int32_t y[64];
  const int points = how->rht_size, at = (int)(first % points);
  for (int i = 0; i < points; i++)
    bits[i] = ufp4_f32_bits(element(in, how->axis, r, first - at + i));
  const int exponent = ufp4_rht_points(bits, points, how->rht_mask, y);
  for (int i = 0; i < GROUP; i++) out[i] = ldexp((double)y[at + i], exponent - 151);
}

// Loads the input of the rounding. Neither the group nor its transform contains NaN or Inf.
static void load_group(const ufp4_matrix_t *in, const ufp4_quantize_t *how, int64_t r,
                       int64_t first, double out[GROUP]) {
  float x[GROUP];
  if (ufp4_how_points(how) > GROUP) {
    load_points(in, how, r, first, out);
    return;
  }
  for (int i = 0; i < GROUP; i++) x[i] = element(in, how->axis, r, first + i);
  const ufp4_matrix_t group = {UFP4_DTYPE_F32, 1, GROUP, GROUP, x};
  if (how->rht != UFP4_RHT_NONE) ufp4_rht(&group, how->rht, (uint16_t)how->rht_mask, out);
  for (int i = 0; i < GROUP && how->rht == UFP4_RHT_NONE; i++) out[i] = (double)x[i];
}

// Returns the value of ufp4_dequantize, except that it is never Inf, because the transform of large
// numbers overflows FP32. The product is exact. A given tensor exponent may move the scale beyond
// double; all codes are then zeros.
static double decoded(double value, double scale) {
  if (value == 0) return 0;
  const double exact = value * scale;
  const float rounded = (float)exact;
  return isinf(rounded) ? exact : (double)rounded;
}

static void add_group(const double *a, double scale, const uint8_t *codes, int count,
                      const double values[16], sums_t *sums) {
  for (int i = 0; i < count; i++) {
    unsigned code = codes[i / 2] >> (4 * (i % 2)) & 15;
    double value = decoded(values[code], scale), error = value - a[i];
    sums->count[values[code] == 0 ? 0 : code]++;
    sums->magnitude += fabs(a[i]);
    sums->shrink += fabs(value) - fabs(a[i]);
    sums->dot += value * a[i];
    sums->signal += a[i] * a[i];
    sums->noise += error * error;
  }
}

// Orders codes by their values, lowest first: sign-magnitude codes 15..9, 0..7; two's complement
// (INT4) 9..15, 0..7.
static void put_shares(const int64_t count[16], ufp4_elem_t elem,
                       double share[UFP4_ROUNDING_VALUES]) {
  int64_t total = 0;
  for (int i = 0; i < 16; i++) total += count[i];
  for (int v = 0; v < UFP4_ROUNDING_VALUES; v++) {
    const int negative = elem == UFP4_ELEM_INT4 ? 9 + v : 15 - v, code = v < 7 ? negative : v - 7;
    share[v] = total > 0 ? (double)count[code] / (double)total : 0;
  }
}

static double bucket_ratio(const double share[UFP4_ROUNDING_VALUES], ufp4_elem_t elem) {
  double entropy = elem == UFP4_ELEM_MIXED ? NAN : 0;
  for (int i = 0; i < UFP4_ROUNDING_VALUES; i++) {
    if (share[i] > 0) entropy -= share[i] * log(share[i]);
  }
  return exp(entropy) / UFP4_ROUNDING_VALUES;
}

// The exact factor of a block's elements.
static double scale_of(const ufp4_operand_t *operand, int64_t index) {
  switch (operand->scale) {
    case UFP4_SCALE_FP32:
      return (double)operand->scales_f32[index];
    case UFP4_SCALE_E8M0:
      return (double)ufp4_e8m0_value(operand->scales[index]);
    case UFP4_SCALE_NVFP4:
      return (double)ufp4_e4m3_value(operand->scales[index] & 0x7F) * (double)operand->tensor_scale;
    default:
      return ldexp((double)ufp4_e4m3_value(operand->scales[index] & 0x7F), -operand->exponent);
  }
}

static void measure_group(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                          const ufp4_operand_t *operand, int64_t r, int64_t group,
                          double values[2][16], sums_t *sums) {
  const int64_t first = group * GROUP, place = r * operand->blocks + group;
  const int second = operand->elem == UFP4_ELEM_MIXED && operand->scales[place] >> 7;
  const int64_t cols = how->rht != UFP4_RHT_NONE ? operand->blocks * GROUP : operand->cols;
  const double scale = scale_of(operand, r * operand->scale_blocks + first / operand->block);
  if (isnan(scale)) {
    sums->groups_out++;
    return;
  }
  double a[GROUP];
  load_group(in, how, r, first, a);
  add_group(a, scale, operand->codes + place * GROUP / 2,
            cols - first < GROUP ? (int)(cols - first) : GROUP, values[second], sums);
  sums->groups++;
  sums->uniform += second;
}

static ufp4_rounding_t result(const sums_t *s, ufp4_elem_t elem) {
  // These measures are undefined if there are no numbers, or only zeros.
  ufp4_rounding_t out = {
      .bias_percent = s->magnitude > 0 ? 100 * s->shrink / s->magnitude : NAN,
      .kept = s->signal > 0 ? s->dot / s->signal : NAN,
      .sqnr_db = s->signal > 0 ? 10 * log10(s->signal / s->noise) : NAN,
      .blocks = s->groups,
      .blocks_out = s->groups_out,
  };
  put_shares(s->count, elem, out.share);
  out.bucket_ratio = bucket_ratio(out.share, elem);
  out.uniform =
      elem == UFP4_ELEM_MIXED && s->groups > 0 ? (double)s->uniform / (double)s->groups : NAN;
  return out;
}

ufp4_status_t ufp4_rounding_measure(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                    ufp4_rounding_t *out) {
  ufp4_operand_t operand = {0};
  sums_t sums = {0};
  double values[2][16];  // by the grid of mixed
  *out = (ufp4_rounding_t){0};
  ufp4_status_t status = ufp4_quantize(in, how, &operand);
  if (status != UFP4_OK) return status;
  for (unsigned i = 0; i < 32; i++) {
    values[i / 16][i % 16] =
        (double)ufp4_elem_block_value(how->elem, (uint8_t)(i / 16 << 7), i % 16);
  }
  for (int64_t i = 0; i < operand.rows * operand.blocks; i++)
    measure_group(in, how, &operand, i / operand.blocks, i % operand.blocks, values, &sums);
  *out = result(&sums, how->elem);
  ufp4_operand_free(&operand);
  return status;
}

// --- Eq. 2 --------------------------------------------------------------------------------------

static double grid(ufp4_elem_t elem, unsigned code) {
  return (double)ufp4_elem_value(elem, code);
}

double ufp4_cell_bias(ufp4_elem_t elem, unsigned code) {
  return (2 * grid(elem, code) - grid(elem, code - 1) - grid(elem, code + 1)) / 4;
}

double ufp4_cell_bias_measured(ufp4_elem_t elem, unsigned code, int samples) {
  double low = (grid(elem, code - 1) + grid(elem, code)) / 2,
         high = (grid(elem, code) + grid(elem, code + 1)) / 2;
  double sum = 0;
  for (int i = 0; i < samples; i++) {
    double x = low + (high - low) * (i + 0.5) / samples;
    sum += (double)ufp4_elem_value(elem, ufp4_elem_cast(elem, (float)x)) - x;
  }
  return sum / samples;
}
