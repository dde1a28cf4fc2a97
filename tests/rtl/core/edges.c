// SPDX-License-Identifier: Apache-2.0
#include "edges.h"

#include <string.h>

#include "random_jobs.h"
#include "ufp4/format.h"

enum { ROWS = 32, COLS = 64, BLOCK = 16 };

static void write_rows(pair_t *pair, const ufp4_quant_descriptor_t *quant,
                       uint32_t numbers[ROWS][COLS]) {
  for (uint32_t r = 0; r < ROWS; r++) {
    pair_write(pair, quant->src_addr + (uint64_t)r * quant->src_stride_bytes, numbers[r],
               sizeof numbers[r]);
  }
}

static ufp4_descriptor_t quant_of_f32(pair_t *pair) {
  ufp4_descriptor_t quant = random_quant(pair, ROWS, COLS, SOURCE_X, X_CODES, 0);
  quant.quant.src_dtype = UFP4_DTYPE_F32;
  quant.quant.src_stride_bytes = COLS * sizeof(float);
  return quant;
}

static void run(pair_t *pair, const ufp4_descriptor_t *quant, const char *what) {
  pair_job(pair, quant, what);
  pair_compare(pair, what);
}

// --- Where scales turn --------------------------------------------------------------------------

// Returns the bits of an FP32 number with this significand and exponent, truncated if subnormal,
// without the sign.
static uint32_t magnitude(uint32_t significand, int exponent) {
  return exponent < -126 ? significand >> (-126 - exponent)
                         : significand + ((uint32_t)(exponent + 126) << 23);
}

// The largest number of each 16 is at a point where the scale changes, or one bit from it; the
// others are smaller. All times 2^shift.
static void write_turning_points(pair_t *pair, const ufp4_quant_descriptor_t *quant, int shift) {
  static const uint32_t points[] = {0x800000, 0xC00000, 0xE00000};
  const uint32_t lost = shift < -126 ? (uint32_t)(-126 - shift) : 0;
  uint32_t numbers[ROWS][COLS];
  for (uint32_t r = 0; r < ROWS; r++) {
    for (uint32_t c = 0; c < COLS; c++) {
      uint32_t bits = magnitude(0x800000 | below(pair, 1u << 23), shift - 1);
      if ((r ^ c) % 16 == 0) {
        const uint32_t beside = below(pair, 4) ? 1u << (lost + below(pair, 23 - lost)) : 0;
        bits = magnitude(points[below(pair, 3)] ^ beside, shift);
      }
      numbers[r][c] = below(pair, 2) << 31 | bits;
    }
  }
  write_rows(pair, quant, numbers);
}

static void turning_points_at(pair_t *pair, int shift) {
  const ufp4_descriptor_t quant = quant_of_f32(pair), amax = amax_of(&quant),
                          e8m0 = e8m0_of(pair, &quant);
  ufp4_descriptor_t outside = quant;
  outside.quant.row_mode &= (uint8_t)~UFP4_MODE_SLOT;
  outside.quant.col_mode &= (uint8_t)~UFP4_MODE_SLOT;
  outside.quant.row_exponent = (uint16_t)(shift - (int)below(pair, 12));
  outside.quant.col_exponent = (uint16_t)(shift - (int)below(pair, 12));
  write_turning_points(pair, &quant.quant, shift);
  pair_job(pair, &amax, "AMAX");
  run(pair, &quant, "QUANT on turning points");
  run(pair, &e8m0, "QUANT on turning points with E8M0 scales");
  run(pair, &outside, "QUANT on turning points with exponents from outside");
}

void turning_points(pair_t *pair) {
  turning_points_at(pair, (int)below(pair, 200) - 100);
  turning_points_at(pair, -127 - (int)below(pair, 16));  // subnormal numbers alone
}

// --- Where codes turn ---------------------------------------------------------------------------

// Halves of a quantum: 6 in E2M1, 1.75 in E1M2, 7 in INT4.
static uint32_t largest_halves(uint8_t elem) {
  return elem == UFP4_ELEM_E2M1 ? 24 : 14;
}

// Sixteen multiples of half the smallest quantum, under a scale of this significand: the one at
// `peak` is the largest there is, which gives that scale; the others include all codes and ties.
static void draw_ties(pair_t *pair, uint8_t elem, uint32_t significand, uint32_t peak,
                      double numbers[BLOCK]) {
  for (uint32_t i = 0; i < BLOCK; i++) {
    const uint32_t halves = i == peak ? largest_halves(elem) : below(pair, largest_halves(elem));
    numbers[i] = (below(pair, 2) ? -1.0 : 1.0) * halves * significand;
  }
}

// A bit more or less, or neither: of 24 bits the products of draw_ties leave the lower 15.
static uint32_t beside(pair_t *pair, double number) {
  const uint32_t bits = ufp4_f32_bits((float)number), bit = 1u << below(pair, 15),
                 kind = below(pair, 3);
  if (number == 0 || kind == 0) return bits;
  return kind == 1 ? bits + bit : bits - bit;
}

// In each tile of 16x16 the largest numbers are in its diagonal, so that rows and columns have the
// same scale.
static void write_ties(pair_t *pair, const ufp4_quant_descriptor_t *quant) {
  uint32_t numbers[ROWS][COLS];
  for (uint32_t tile = 0; tile < ROWS * COLS / (BLOCK * BLOCK); tile++) {
    const uint32_t top = tile % 2 * BLOCK, left = tile / 2 * BLOCK;
    // E8M0 scales are powers of two.
    const uint32_t significand = quant->scale == UFP4_SCALE_E8M0 ? 8 : 8 + below(pair, 8);
    for (uint32_t r = 0; r < BLOCK; r++) {
      double line[BLOCK];
      draw_ties(pair, quant->elem, significand, r, line);
      for (uint32_t c = 0; c < BLOCK; c++) {
        numbers[top + r][left + c] = c == r ? ufp4_f32_bits((float)line[c]) : beside(pair, line[c]);
      }
    }
  }
  write_rows(pair, quant, numbers);
}

void ties(pair_t *pair) {
  ufp4_descriptor_t quant = quant_of_f32(pair);
  quant.quant.row_mode = quant.quant.col_mode = UFP4_MODE_ENABLE | UFP4_MODE_SLOT;
  const ufp4_descriptor_t amax = amax_of(&quant), e8m0 = e8m0_of(pair, &quant);
  write_ties(pair, &quant.quant);
  pair_job(pair, &amax, "AMAX");
  run(pair, &quant, "QUANT on ties");
  write_ties(pair, &e8m0.quant);
  run(pair, &e8m0, "QUANT on ties with E8M0 scales");
}

// Returns the numbers whose transform is this (docs/reference/numerics.md, 3): H16 / 4 is its own
// inverse. Exact.
static void untransform(uint16_t mask, const double transformed[BLOCK], double numbers[BLOCK]) {
  for (uint32_t i = 0; i < BLOCK; i++) {
    double sum = 0;
    for (uint32_t j = 0; j < BLOCK; j++)
      sum += __builtin_parity(i & j) ? -transformed[j] : transformed[j];
    numbers[i] = (mask >> i & 1 ? -sum : sum) / 4;
  }
}

// A line of 16. In most lines one transformed number is off by 1 to 2^-10, where half a quantum is
// 8 to 15.
static void draw_line(pair_t *pair, const ufp4_quant_descriptor_t *quant, uint32_t line[BLOCK]) {
  double transformed[BLOCK], numbers[BLOCK];
  const uint32_t peak = below(pair, BLOCK), off = (peak + 1 + below(pair, BLOCK - 1)) % BLOCK;
  draw_ties(pair, quant->elem, 8 + below(pair, 8), peak, transformed);
  if (below(pair, 4)) transformed[off] += (below(pair, 2) ? -1.0 : 1.0) / (1u << below(pair, 11));
  untransform(quant->rht_mask, transformed, numbers);
  for (uint32_t i = 0; i < BLOCK; i++) line[i] = ufp4_f32_bits((float)numbers[i]);
}

static void write_tied_rows(pair_t *pair, const ufp4_quant_descriptor_t *quant) {
  uint32_t numbers[ROWS][COLS];
  for (uint32_t r = 0; r < ROWS; r++) {
    for (uint32_t c = 0; c < COLS; c += BLOCK) draw_line(pair, quant, numbers[r] + c);
  }
  write_rows(pair, quant, numbers);
}

static void write_tied_columns(pair_t *pair, const ufp4_quant_descriptor_t *quant) {
  uint32_t numbers[ROWS][COLS], line[BLOCK];
  for (uint32_t c = 0; c < COLS; c++) {
    for (uint32_t r = 0; r < ROWS; r += BLOCK) {
      draw_line(pair, quant, line);
      for (uint32_t i = 0; i < BLOCK; i++) numbers[r + i][c] = line[i];
    }
  }
  write_rows(pair, quant, numbers);
}

void tied_transforms(pair_t *pair) {
  ufp4_descriptor_t quant = quant_of_f32(pair);
  quant.quant.row_mode = quant.quant.col_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT;
  const ufp4_descriptor_t amax = amax_of(&quant);
  write_tied_rows(pair, &quant.quant);
  pair_job(pair, &amax, "AMAX");
  run(pair, &quant, "QUANT on rows with tied transforms");
  write_tied_columns(pair, &quant.quant);
  pair_job(pair, &amax, "AMAX");
  run(pair, &quant, "QUANT on columns with tied transforms");
}

// --- Largest products ---------------------------------------------------------------------------

// Panels (docs/ip/architecture.md): eight bytes of codes for each of 16 rows, and a byte of scale.
// Three rows of four have the largest code all along, with one sign; three scales of four the
// largest significand, with any exponent.
static void write_largest(pair_t *pair, uint64_t codes, uint64_t scales, uint32_t stride_blocks,
                          uint8_t elem) {
  const uint8_t signs[2] = {0x77, elem == UFP4_ELEM_INT4 ? 0x88 : 0xFF};
  for (uint32_t unit = 0; unit < 2 * stride_blocks; unit++) {
    uint8_t code[UFP4_PANEL_CODE_BYTES], scale[UFP4_PANEL_SCALE_BYTES];
    for (uint32_t row = 0; row < BLOCK; row++) {
      const uint32_t exponent = below(pair, 16);
      const uint8_t byte = below(pair, 4) ? signs[below(pair, 2)] : (uint8_t)below(pair, 256);
      memset(code + 8 * row, byte, 8);
      scale[row] =
          (uint8_t)(below(pair, 4) ? exponent == 15 ? 0x7E : exponent << 3 | 7 : below(pair, 0x7F));
    }
    pair_write(pair, codes + unit * sizeof code, code, sizeof code);
    pair_write(pair, scales + unit * sizeof scale, scale, sizeof scale);
  }
}

void largest_products(pair_t *pair) {
  ufp4_descriptor_t x = random_quant(pair, 32, 32, SOURCE_X, X_CODES, 0);
  ufp4_descriptor_t w = random_quant(pair, 32, 32, SOURCE_W, W_CODES, 2);
  x.quant.row_mode = w.quant.row_mode = 0;
  if (below(pair, 2)) x.quant.elem = w.quant.elem = UFP4_ELEM_E2M1;
  ufp4_descriptor_t gemm = random_gemm(pair, &x.quant, &w.quant);
  ufp4_gemm_descriptor_t *g = &gemm.gemm;
  g->scale = UFP4_SCALE_E4M3;
  g->d_mode = 0;
  // Every bit of the sums must be visible, if D can have them.
  if (pair->contract == UFP4_CONTRACT_EXACT) g->d_dtype = UFP4_DTYPE_I64;
  g->d_stride_bytes = 32 * sizeof(int64_t);
  write_largest(pair, g->a_codes_addr, g->a_scales_addr, g->a_stride_blocks, g->a_elem);
  write_largest(pair, g->b_codes_addr, g->b_scales_addr, g->b_stride_blocks, g->b_elem);
  run(pair, &gemm, "GEMM of the largest products");
}
