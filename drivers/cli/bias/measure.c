// SPDX-License-Identifier: Apache-2.0
#include "bias/measure.h"

#include <math.h>

#include "ufp4/format.h"

#define BLOCK 16
#define VALUES 15  // -7..7 places on the grid; -0 is 0

typedef struct {
  double magnitude, shrink, dot, signal, noise;
  int64_t count[16];
} sums_t;

static double element(const ufp4_matrix_t *in, int64_t r, int64_t c) {
  if (c >= in->cols) return 0;
  if (in->dtype == UFP4_DTYPE_BF16)
    return (double)ufp4_bf16_value(((const uint16_t *)in->data)[r * in->ld + c]);
  return (double)((const float *)in->data)[r * in->ld + c];
}

// y = H16 diag(signs) x / 4, in double: errors are far under those of four bits.
static void transform(double x[BLOCK], uint16_t mask) {
  for (int i = 0; i < BLOCK; i++) x[i] *= (mask >> i & 1) ? -0.25 : 0.25;
  for (int half = 1; half < BLOCK; half *= 2) {
    for (int i = 0; i < BLOCK; i++) {
      if (i & half) continue;
      double a = x[i], b = x[i + half];
      x[i] = a + b;
      x[i + half] = a - b;
    }
  }
}

static void add_block(const double *a, double scale, const uint8_t *codes, int count,
                      ufp4_elem_t elem, sums_t *sums) {
  for (int i = 0; i < count; i++) {
    unsigned code = codes[i / 2] >> (4 * (i % 2)) & 15;
    double value = (double)ufp4_elem_value(elem, code) * scale, error = value - a[i];
    sums->count[ufp4_elem_quanta(elem, code) == 0 ? 0 : code]++;
    sums->magnitude += fabs(a[i]);
    sums->shrink += fabs(value) - fabs(a[i]);
    sums->dot += value * a[i];
    sums->signal += a[i] * a[i];
    sums->noise += error * error;
  }
}

static double bucket_ratio(const int64_t count[16]) {
  int64_t total = 0;
  double entropy = 0;
  for (int i = 0; i < 16; i++) total += count[i];
  for (int i = 0; i < 16 && total > 0; i++) {
    double p = (double)count[i] / (double)total;
    if (p > 0) entropy -= p * log(p);
  }
  return exp(entropy) / VALUES;
}

// What a block's elements are multiplied by; in double, because the transform of large numbers
// overflows FP32.
static double scale_of(const ufp4_operand_t *operand, int64_t block) {
  if (operand->scales_f32 != NULL) return (double)operand->scales_f32[block];
  return ldexp((double)ufp4_e4m3_value(operand->scales[block]), -operand->exponent);
}

static void measure_rows(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                         const ufp4_operand_t *operand, bias_measure_t *out) {
  const int64_t cols = how->rht != UFP4_RHT_NONE ? operand->blocks * BLOCK : operand->cols;
  sums_t sums = {0};
  for (int64_t i = 0; i < operand->rows * operand->blocks; i++) {
    int64_t r = i / operand->blocks, first = i % operand->blocks * BLOCK;
    int count = cols - first < BLOCK ? (int)(cols - first) : BLOCK;
    double a[BLOCK], scale = scale_of(operand, i);
    if (isnan(scale)) {
      out->blocks_out++;
      continue;
    }
    for (int j = 0; j < BLOCK; j++) a[j] = element(in, r, first + j);
    if (how->rht != UFP4_RHT_NONE) transform(a, how->rht_mask);
    add_block(a, scale, operand->codes + i * BLOCK / 2, count, operand->elem, &sums);
    out->blocks++;
  }
  // Nothing but zeros, or nothing at all, has none of these.
  out->bias_percent = sums.magnitude > 0 ? 100 * sums.shrink / sums.magnitude : NAN;
  out->kept = sums.signal > 0 ? sums.dot / sums.signal : NAN;
  out->sqnr_db = sums.signal > 0 ? 10 * log10(sums.signal / sums.noise) : NAN;
  out->bucket_ratio = bucket_ratio(sums.count);
}

ufp4_status_t bias_measure(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                           bias_measure_t *out) {
  ufp4_operand_t operand = {0};
  *out = (bias_measure_t){0};
  ufp4_status_t status = ufp4_quantize(in, how, &operand);
  if (status != UFP4_OK) return status;
  measure_rows(in, how, &operand, out);
  ufp4_operand_free(&operand);
  return status;
}

// --- Eq. 2 --------------------------------------------------------------------------------------

static double grid(ufp4_elem_t elem, unsigned code) {
  return (double)ufp4_elem_value(elem, code);
}

double bias_of_cell(ufp4_elem_t elem, unsigned code) {
  return (2 * grid(elem, code) - grid(elem, code - 1) - grid(elem, code + 1)) / 4;
}

double bias_of_cell_measured(ufp4_elem_t elem, unsigned code, int samples) {
  double low = (grid(elem, code - 1) + grid(elem, code)) / 2,
         high = (grid(elem, code) + grid(elem, code + 1)) / 2;
  double sum = 0;
  for (int i = 0; i < samples; i++) {
    double x = low + (high - low) * (i + 0.5) / samples;
    sum += (double)ufp4_elem_value(elem, ufp4_elem_cast(elem, (float)x)) - x;
  }
  return sum / samples;
}
