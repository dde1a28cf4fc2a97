// SPDX-License-Identifier: Apache-2.0
// RHT and quantizer (numerics.md 3 and 4). Quotients are never formed: x / s against a bound is x against bound * s.
#include <stdlib.h>

#include "slow.h"

#define SCALE_MAX 0x7E  // 448
#define SCALE_NAN 0x7F

/** (-1)^popcount(i & j). */
static int hadamard(int i, int j) {
  int sign = 1;
  for (int both = i & j; both != 0; both >>= 1) {
    if (both & 1) sign = -sign;
  }
  return sign;
}

/** The significand aligned to the biased exponent @p largest, truncated, with the element's sign. */
static int64_t aligned(uint32_t bits, int largest) {
  const slow_real_t x = slow_f32_real(bits);
  const int shift = largest - (x.exponent + 150);  // exponent + 150 is the biased exponent, 1 for subnormals
  const int64_t v = shift > 63 ? 0 : (int64_t)(x.magnitude >> shift);
  return x.negative ? -v : v;
}

int slow_rht_block(const uint32_t bits[16], uint16_t mask, int32_t out[16]) {
  int largest = 1;
  for (int j = 0; j < 16; j++) {
    if (!slow_f32_is_finite(bits[j])) return 0;
    const int biased = slow_f32_real(bits[j]).exponent + 150;
    if (biased > largest) largest = biased;
  }
  for (int i = 0; i < 16; i++) {
    int64_t sum = 0;
    for (int j = 0; j < 16; j++) {
      const int sign = (mask >> j) % 2 == 1 ? -1 : 1;
      sum += hadamard(i, j) * sign * aligned(bits[j], largest);
    }
    out[i] = (int32_t)sum;
  }
  return largest;
}

slow_block_t slow_block_load(const uint32_t bits[16], const slow_quantize_t *how) {
  slow_block_t block = {0};
  for (int i = 0; i < 16; i++) {
    if (!slow_f32_is_finite(bits[i])) block.poisoned = 1;
  }
  if (block.poisoned) return block;
  int32_t y[16] = {0};
  const int largest = how->rht ? slow_rht_block(bits, how->mask, y) : 0;
  for (int i = 0; i < 16; i++) {
    const slow_real_t transformed = {y[i] < 0, (uint64_t)(y[i] < 0 ? -(int64_t)y[i] : y[i]), largest - 152};
    block.x[i] = how->rht ? transformed : slow_f32_real(bits[i]);
  }
  return block;
}

static slow_real_t block_amax(const slow_block_t *block) {
  slow_real_t amax = {0, 0, 0};
  for (int i = 0; i < 16 && !block->poisoned; i++) {
    if (slow_real_compare(block->x[i], amax) > 0) amax = block->x[i];
  }
  return amax;
}

/** amax * 2^t / qmax against units * 2^(exponent - 9). */
static int compare_quotient(slow_elem_t elem, slow_real_t amax, int t, int units, int exponent) {
  const slow_u128_t qmax = (slow_u128_t)slow_elem_magnitude(elem, 7);
  return slow_compare(amax.magnitude, amax.exponent + t, (slow_u128_t)units * qmax,
                      exponent - 9 - slow_elem_frac(elem));
}

int slow_exponent_of(slow_elem_t elem, slow_real_t amax) {
  if (amax.magnitude == 0) return 0;
  int t = 1000;  // far above any that FP32 data can need
  while (compare_quotient(elem, amax, t, slow_e4m3_units(SCALE_MAX), 0) > 0) t--;
  return t;
}

/** The smallest scale not below the quotient, or the nearest, ties to even; from 2^-9 to 448. */
static uint8_t round_scale(slow_elem_t elem, slow_real_t amax, int t, int up) {
  uint8_t byte = up ? 1 : 0;
  for (; byte < SCALE_MAX; byte++) {
    if (up) {
      if (compare_quotient(elem, amax, t, slow_e4m3_units(byte), 0) <= 0) break;
    } else {
      const int twice_middle = slow_e4m3_units(byte) + slow_e4m3_units((uint8_t)(byte + 1));
      const int c = compare_quotient(elem, amax, t, twice_middle, -1);
      if (c < 0 || (c == 0 && byte % 2 == 0)) break;
    }
  }
  return byte == 0 ? 1 : byte;
}

/** |x| * 2^t / s in quanta against bound * 2^-bound_frac. */
static int compare_code(slow_elem_t elem, slow_real_t x, int t, uint8_t scale, int bound, int bound_frac) {
  const slow_u128_t right = (slow_u128_t)bound * (slow_u128_t)slow_e4m3_units(scale);
  return slow_compare(x.magnitude, x.exponent + t + slow_elem_frac(elem), right, -9 - bound_frac);
}

static int nearest_magnitude(slow_elem_t elem, slow_real_t x, int t, uint8_t scale) {
  int k = 0;
  for (; k < 7; k++) {
    const int c = compare_code(elem, x, t, scale, slow_elem_magnitude(elem, k) + slow_elem_magnitude(elem, k + 1), 1);
    if (c < 0 || (c == 0 && k % 2 == 0)) break;
  }
  return k;
}

/** The cell from magnitude k to k + 1 that holds the quotient; up iff it is past low + size * (2 r + 1) / 512. */
static int stochastic_magnitude(slow_elem_t elem, slow_real_t x, int t, uint8_t scale, uint8_t r) {
  int k = 0;
  while (k < 7 && compare_code(elem, x, t, scale, slow_elem_magnitude(elem, k + 1), 0) >= 0) k++;
  if (k == 7) return 7;
  const int low = slow_elem_magnitude(elem, k), size = slow_elem_magnitude(elem, k + 1) - low;
  return compare_code(elem, x, t, scale, 512 * low + size * (2 * r + 1), 9) > 0 ? k + 1 : k;
}

unsigned slow_quantize_block(const uint32_t bits[16], const slow_quantize_t *how, int t, const uint8_t random[16],
                             uint8_t codes[16], uint8_t *scale) {
  const slow_block_t block = slow_block_load(bits, how);
  const slow_real_t amax = block_amax(&block);
  for (int i = 0; i < 16; i++) codes[i] = 0;
  *scale = block.poisoned ? SCALE_NAN : 0;
  if (block.poisoned) return SLOW_FLAG_NAN;
  if (amax.magnitude == 0) return 0;
  *scale = round_scale(how->elem, amax, t, how->scale_up);
  for (int i = 0; i < 16; i++) {
    const int k = how->stochastic ? stochastic_magnitude(how->elem, block.x[i], t, *scale, random[i])
                                  : nearest_magnitude(how->elem, block.x[i], t, *scale);
    codes[i] = slow_elem_encode(how->elem, block.x[i].negative, k);
  }
  return compare_quotient(how->elem, amax, t, slow_e4m3_units(SCALE_MAX), 0) > 0 ? SLOW_FLAG_SATURATED : 0;
}

/** Block b of a row, padded with +0. */
static void gather(const uint32_t *row, int64_t cols, int64_t b, uint32_t bits[16]) {
  for (int i = 0; i < 16; i++) bits[i] = 16 * b + i < cols ? row[16 * b + i] : 0;
}

int slow_tensor_exponent(const uint32_t *bits, int64_t rows, int64_t cols, const slow_quantize_t *how) {
  slow_real_t amax = {0, 0, 0};
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t b = 0; 16 * b < cols; b++) {
      uint32_t in[16];
      gather(bits + r * cols, cols, b, in);
      const slow_block_t block = slow_block_load(in, how);
      const slow_real_t of_block = block_amax(&block);
      if (slow_real_compare(of_block, amax) > 0) amax = of_block;
    }
  }
  return slow_exponent_of(how->elem, amax);
}

slow_operand_t slow_quantize(const uint32_t *bits, int64_t rows, int64_t cols, const slow_quantize_t *how, int t) {
  slow_operand_t out = {how->elem, rows, (cols + 15) / 16, t, 0, NULL, NULL};
  out.codes = malloc((size_t)(rows * out.blocks * 16));
  out.scales = malloc((size_t)(rows * out.blocks));
  for (int64_t g = 0; g < rows * out.blocks; g++) {
    uint32_t in[16];
    uint8_t random[16];
    gather(bits + g / out.blocks * cols, cols, g % out.blocks, in);
    slow_random_block(how->seed, how->tensor_id, (uint64_t)g, random);
    out.flags |= slow_quantize_block(in, how, t, random, out.codes + 16 * g, out.scales + g);
  }
  return out;
}

void slow_operand_free(slow_operand_t *operand) {
  free(operand->codes);
  free(operand->scales);
}

uint32_t slow_dequantize(const slow_operand_t *operand, int64_t row, int64_t k) {
  const uint8_t code = operand->codes[row * operand->blocks * 16 + k];
  const int units = slow_e4m3_units(operand->scales[row * operand->blocks + k / 16]);
  if (units < 0) return 0x7FC00000u;
  const slow_real_t element = slow_f32_real(slow_elem_value(operand->elem, code));
  return slow_f32_round(element.negative, (slow_u128_t)element.magnitude * (slow_u128_t)units,
                        element.exponent - 9 - operand->t);
}
