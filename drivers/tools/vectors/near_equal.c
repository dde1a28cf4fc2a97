// SPDX-License-Identifier: Apache-2.0
// Blocks of elements mixed with almost equal errors on both grids, because only these show whether
// the choice is correct to the last unit. The errors are computed from the definition (numerics.md,
// a grid for each block), not by the golden model.
#include <math.h>
#include <stdlib.h>

#include "ufp4/format.h"
#include "vectors.h"

#define MIXED_FRACTION 20  // numbers here are integers times 2^-20

static int distance(int quotient, ufp4_elem_t grid) {
  int least = quotient;
  for (unsigned code = 1; code < 8; code++) {
    const int off = quotient - ufp4_elem_quanta(grid, code) * 512;
    if (abs(off) < least) least = abs(off);
  }
  return least;
}

// Returns 512 times the quotient of a number times 2^t by a scale of at least 2^-3, truncated.
static int quotient_by(uint32_t number, int t, int sig, int exp) {
  const uint64_t dividend = (uint64_t)number << (10 + t);
  const uint64_t q = dividend / (uint64_t)sig >> (exp - 9 + MIXED_FRACTION);
  return q < 16 * 512 ? (int)q : 16 * 512;
}

// Returns the error of each grid times its scale, in units of the lower power of two.
static void weigh(const uint32_t *numbers, int count, uint32_t largest, int t,
                  int64_t weighted[2]) {
  static const double qmax[2] = {6, 3.5};
  static const ufp4_elem_t grids[2] = UFP4_MIXED_GRIDS;
  int sig[2], exp[2];
  for (int g = 0; g < 2; g++) {
    const double scale = ldexp(largest, t - MIXED_FRACTION) / qmax[g];
    (void)ufp4_e4m3_decode(ufp4_e4m3_cast((float)fmin(scale, 448)), &sig[g], &exp[g]);
    weighted[g] = 0;
    for (int i = 0; i < count; i++)
      weighted[g] += distance(quotient_by(numbers[i], t, sig[g], exp[g]), grids[g]);
  }
  for (int g = 0; g < 2; g++) weighted[g] = weighted[g] * sig[g] << (exp[g] - exp[exp[0] > exp[1]]);
}

int vectors_near_equal(vectors_t *vectors, int apart, int t, uint32_t bits[16]) {
  const uint32_t one = 1u << MIXED_FRACTION, quantum = one / 16 * 7;  // of the scale 448 with t = 9
  const uint32_t largest = t != 0 ? 17 * quantum + vectors_below(vectors, quantum)
                                  : 6 * one + vectors_below(vectors, 6 * one);
  uint32_t numbers[16];
  int64_t others[2], last[2];
  for (int i = 0; i < 15; i++) {
    numbers[i] = vectors_below(vectors, t != 0 ? quantum / 2 : largest);
    if (t != 0) numbers[i] += quantum / 4 * (vectors_below(vectors, 2) ? 19 : 27);
  }
  numbers[vectors_below(vectors, 7)] = largest;
  if (t != 0) numbers[7 + vectors_below(vectors, 8)] = largest;
  weigh(numbers, 15, largest, t, others);
  for (uint32_t n = vectors_below(vectors, 64); n < largest; n += one >> 10) {
    weigh(&n, 1, largest, t, last);
    if (others[1] + last[1] - others[0] - last[0] != apart) continue;
    numbers[15] = n;
    for (int i = 0; i < 16; i++) {
      const float number = ldexpf((float)numbers[i], -MIXED_FRACTION);
      bits[i] = ufp4_f32_bits(vectors_below(vectors, 2) ? -number : number);
    }
    return 1;
  }
  return 0;
}
