// SPDX-License-Identifier: Apache-2.0
// What the files of the golden model share among themselves. A tile is 16 blocks of 16 elements, one block per lane of
// a vector: element i of all blocks is one vector, so each step of the arithmetic is one vector expression.
#ifndef UFP4_INTERNAL_H
#define UFP4_INTERNAL_H

#include <stdint.h>

#include "ufp4/quantize.h"

#define BLOCK 16
#define LANES 16

// The hot loops are compiled once per x86-64 level and chosen when the program is loaded; all of them are integer code,
// so the bits cannot differ. The sanitizers cannot instrument code that runs while the loader still resolves symbols.
#if defined(__x86_64__) && defined(__ELF__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define UFP4_HOT __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define UFP4_HOT
#endif

// Helpers of hot functions: inlined into each of their versions.
#define INLINE static inline __attribute__((always_inline))

typedef int32_t lanes_t __attribute__((vector_size(4 * LANES)));
typedef uint32_t ulanes_t __attribute__((vector_size(4 * LANES)));

/** (significand + d) * 2^exponent, 0 < d < 1 iff @p sticky, rounded to an E4M3 byte: nearest even, or up. Saturates at
 * 448 (0x7E). With @p sticky the significand must be at least 16; it must be under 2^62. */
uint8_t ufp4_e4m3_round(uint64_t significand, int exponent, int sticky, int up);

/** As ufp4_rht_block, for 16 blocks; lanes that hold NaN or Inf have exponent 0 and undefined numbers. */
void ufp4_rht_tile(const ulanes_t bits[BLOCK], uint16_t mask, lanes_t out[BLOCK], lanes_t *exponent);

/** The random words of 16 block groups: words[w] holds word w of each. */
void ufp4_random_tile(uint64_t seed, uint64_t tensor_id, const uint64_t group[LANES], ulanes_t words[4]);

/** yes where @p mask is all ones, no where it is zero. */
INLINE lanes_t select_lanes(lanes_t mask, lanes_t yes, lanes_t no) {
  return (mask & yes) | (~mask & no);
}

INLINE lanes_t min_lanes(lanes_t a, lanes_t b) {
  return select_lanes(a < b, a, b);
}

INLINE lanes_t max_lanes(lanes_t a, lanes_t b) {
  return select_lanes(a > b, a, b);
}

/** Biased exponent of FP32 numbers, 1 for subnormals and zero; 255 for NaN and Inf. */
INLINE lanes_t exponent_lanes(ulanes_t bits) {
  lanes_t field = (lanes_t)(bits >> 23 & 0xFF);
  return field - (field == 0);
}

/** Significand of FP32 numbers, hidden bit included. */
INLINE lanes_t significand_lanes(ulanes_t bits) {
  lanes_t hidden = ((lanes_t)(bits & 0x7F800000u) != 0) & 0x800000;
  return (lanes_t)(bits & 0x7FFFFFu) | hidden;
}

#endif
