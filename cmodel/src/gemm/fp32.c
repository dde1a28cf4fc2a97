// SPDX-License-Identifier: Apache-2.0
// The contract fp32 (docs/reference/numerics.md, 5): acc = RNE32(acc + block), block by block of
// scales.
#include "gemm/micro.h"

// E4M3: the dot (12 bits) times two significands of 4 bits is exact in FP32 and far from over- and
// underflow, so the addition is the only rounding. FP32 scales: RN(RN(sA * sB) * dot): the product
// of scales is rounded first, and the dot is a value.
HOT static void micro_f32(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col,
                          int frac, float sums[MICRO_ROWS][MICRO_COLS]) {
  const int16_t *qa = a->quanta + row * a->groups * BLOCK,
                *qb = b->quanta + col * b->groups * BLOCK;
  const float *sa = a->scales + row * a->groups, *sb = b->scales + col * b->groups;
  const float unit = 1.0f / (float)(1 << frac);
  for (int64_t k = 0; k < a->groups; k++) {
    dots_t dots[MICRO_ROWS];
    micro_dots(qa + k * BLOCK * MICRO_ROWS, qb + k * BLOCK * MICRO_COLS, BLOCK, dots);
    for (unsigned r = 0; r < MICRO_ROWS; r++) {
      for (unsigned c = 0; c < MICRO_COLS; c++) {
        float block = sa[k * MICRO_ROWS + r] * sb[k * MICRO_COLS + c] * ((float)dots[r][c] * unit);
        sums[r][c] = sums[r][c] + block;
      }
    }
  }
}

// E8M0: the block, 13 bits times a power of two, is exact in double; so is its sum with acc, or one
// of the two is so small against the other that it cannot change how the sum rounds to FP32 (double
// has over 2 * 24 + 2 bits). If FP32 is subnormal, its last place is fixed, and the part that is
// not exact in double is under half of it.
HOT static void micro_f64(const unpacked_t *a, int64_t row, const unpacked_t *b, int64_t col,
                          int frac, float sums[MICRO_ROWS][MICRO_COLS]) {
  const int64_t blocks = a->groups / 2;
  const int16_t *qa = a->quanta + row * a->groups * BLOCK,
                *qb = b->quanta + col * b->groups * BLOCK;
  const float *sa = a->scales + row * blocks, *sb = b->scales + col * blocks;
  const double unit = 1.0 / (double)(1 << frac);
  for (int64_t k = 0; k < blocks; k++) {
    dots_t dots[MICRO_ROWS];
    micro_dots(qa + 2 * k * BLOCK * MICRO_ROWS, qb + 2 * k * BLOCK * MICRO_COLS, 2 * BLOCK, dots);
    for (unsigned r = 0; r < MICRO_ROWS; r++) {
      for (unsigned c = 0; c < MICRO_COLS; c++) {
        double scale = (double)sa[k * MICRO_ROWS + r] * (double)sb[k * MICRO_COLS + c];
        sums[r][c] = (float)((double)sums[r][c] + scale * ((double)dots[r][c] * unit));
      }
    }
  }
}

gemm_micro_t gemm_fp32_micro(ufp4_scale_t scale) {
  return scale == UFP4_SCALE_E8M0 ? micro_f64 : micro_f32;
}
