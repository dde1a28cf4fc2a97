// SPDX-License-Identifier: Apache-2.0
// Chooses the grid of each block of elements mixed with E4M3 scales. Each grid is quantized as an
// element of its own. The errors are integers, as in a core: a quotient with 9 fraction bits,
// truncated, against the nearest code.
#include "quantize/mixed.h"

#include "ufp4/format.h"

#define FRACTION_LOG2 9
#define MOST_LOG2 4  // larger quotients count as 16 quanta

typedef float flanes_t __attribute__((vector_size(4 * LANES)));

ufp4_quantize_t ufp4_mixed_how(const ufp4_quantize_t *how, unsigned grid) {
  ufp4_quantize_t out = *how;
  out.elem = ufp4_elem_grid(UFP4_ELEM_MIXED, (uint8_t)(grid << 7));
  return out;
}

// Computes floor(magnitude * 2^up / significand), at most 2^13. The dividend is limited to 2^13
// significands, which is under 2^17. Half is added to it; the quotient by a significand of at most
// 15 is then at least 1/30 away from any integer, while two roundings of floats under 2^14 err by
// less than 2^-9.
INLINE void truncated(const lanes_t *magnitude, lanes_t up, const lanes_t *significand,
                      lanes_t *out) {
  const lanes_t most = *significand << (MOST_LOG2 + FRACTION_LOG2);
  const lanes_t left = min_lanes(max_lanes(up, all_lanes(0)), all_lanes(28));
  const lanes_t right = min_lanes(max_lanes(-up, all_lanes(0)), all_lanes(31));
  const lanes_t over = *magnitude > (all_lanes(1 << 28) >> left);
  const lanes_t raised =
      select_lanes(over, all_lanes(1 << 28), (lanes_t)((ulanes_t)*magnitude << (ulanes_t)left));
  const flanes_t dividend =
      __builtin_convertvector(min_lanes(raised >> right, most), flanes_t) + 0.5f;
  *out = __builtin_convertvector(
      dividend / __builtin_convertvector(max_lanes(*significand, all_lanes(1)), flanes_t), lanes_t);
}

// Computes the distance to the nearest magnitude of a grid, which is that of the nearest code,
// because truncation does not move the quotient across a midpoint.
INLINE void distance(const lanes_t *quotient, ufp4_elem_t grid, lanes_t *out) {
  lanes_t least = *quotient;
  for (unsigned code = 1; code < 8; code++) {
    const lanes_t off = *quotient - (ufp4_elem_quanta(grid, code) << FRACTION_LOG2);
    least = min_lanes(least, max_lanes(off, -off));
  }
  *out = least;
}

HOT static void errors_of(const tile_t *tile, ufp4_elem_t grid, int t, const scale_t *scale,
                          lanes_t *error) {
  const lanes_t up = (t + UFP4_MIXED_FRAC + FRACTION_LOG2 + 9) - scale->exponent;
  *error = (lanes_t){0};
  for (unsigned i = 0; i < BLOCK; i++) {
    lanes_t quotient, off;
    truncated(&tile->magnitude[i], tile->exponent[i] + up, &scale->significand, &quotient);
    distance(&quotient, grid, &off);
    *error += off;
  }
}

void ufp4_mixed_try(const tile_t *tile, const ufp4_quantize_t *how, int t, mixed_t *out) {
  for (unsigned g = 0; g < GRIDS; g++) {
    const ufp4_quantize_t own = ufp4_mixed_how(how, g);
    ufp4_tile_scales(tile, &own, t - (int)g, &out->scale[g]);
    errors_of(tile, own.elem, t, &out->scale[g], &out->error[g]);
  }
}

// Sets the lanes in which the second grid has the smaller error times scale. The error of 256
// numbers is under 2^21, a significand under 2^4, and the exponents of the two scales differ by at
// most one.
HOT static void second_is_better(const tile_t *tile, const mixed_t *mixed, lanes_t *second) {
  const scale_t *scale = mixed->scale;
  const lanes_t least = min_lanes(scale[0].exponent, scale[1].exponent);
  lanes_t weighted[GRIDS];
  for (unsigned g = 0; g < GRIDS; g++)
    weighted[g] = mixed->error[g] * scale[g].significand << (scale[g].exponent - least);
  *second = (weighted[1] < weighted[0]) & (tile->amax != 0);
}

unsigned ufp4_mixed_encode(const tile_t *tile, const ufp4_quantize_t *how, int t,
                           const mixed_t *mixed, const ulanes_t random[4], lanes_t *scale,
                           ulanes_t codes[2]) {
  lanes_t second;
  ulanes_t made[GRIDS][2];
  unsigned flags = 0;
  second_is_better(tile, mixed, &second);
  for (unsigned g = 0; g < GRIDS; g++) {
    const ufp4_quantize_t own = ufp4_mixed_how(how, g);
    const lanes_t saturated = mixed->scale[g].saturated & (g ? second : ~second);
    ufp4_tile_codes(tile, &own, t - (int)g, &mixed->scale[g], random, made[g]);
    flags |= ufp4_tile_flags(tile, &saturated);
  }
  for (unsigned h = 0; h < 2; h++)
    codes[h] = (ulanes_t)select_lanes(second, (lanes_t)made[1][h], (lanes_t)made[0][h]);
  *scale = select_lanes(second, mixed->scale[1].byte | 0x80, mixed->scale[0].byte);
  return flags;
}
