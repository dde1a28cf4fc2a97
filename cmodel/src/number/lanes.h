// SPDX-License-Identifier: Apache-2.0
// Vectors of the golden model. A tile is a few blocks of 16 elements, one block per lane of a
// vector: element i of all blocks is one vector, so each step of the arithmetic is one vector
// expression.
#ifndef UFP4_LANES_H
#define UFP4_LANES_H

#include <assert.h>
#include <float.h>
#include <stdint.h>

#ifdef __FAST_MATH__
#error "-ffast-math and -Ofast change the bits: leave them out"
#endif

#define BLOCK 16
#define CODE_BYTES 8  // bytes of a block's codes
#define LANES 8

// Each float operation must round to its type (on 32-bit x86: -msse2 -mfpmath=sse).
static_assert(FLT_EVAL_METHOD == 0, "float operations have more bits than float");

// Hot functions are also compiled for AVX2, and the version is chosen when the program is loaded.
// They consist of integer code and of FP32 operations that are rounded one by one, so the bits
// cannot differ. The sanitizers cannot instrument code that runs while the loader still resolves
// symbols.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HOT __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define HOT
#endif
// Helpers of hot functions are inlined into each of their versions.
#define INLINE static inline __attribute__((always_inline))

typedef int32_t lanes_t __attribute__((vector_size(4 * LANES)));
typedef uint32_t ulanes_t __attribute__((vector_size(4 * LANES)));

/** Selects yes where @p mask is all ones, no where it is zero. */
INLINE lanes_t select_lanes(lanes_t mask, lanes_t yes, lanes_t no) {
  return (mask & yes) | (~mask & no);
}

INLINE lanes_t min_lanes(lanes_t a, lanes_t b) {
  return select_lanes(a < b, a, b);
}

INLINE lanes_t max_lanes(lanes_t a, lanes_t b) {
  return select_lanes(a > b, a, b);
}

/** Sets every lane to the same number. */
INLINE lanes_t all_lanes(int32_t value) {
  return (lanes_t){0} + value;
}

/** Returns the biased exponents of FP32 numbers: 1 for subnormals and zero, 255 for NaN and
 * Inf. */
INLINE lanes_t exponent_lanes(ulanes_t bits) {
  lanes_t field = (lanes_t)(bits >> 23 & 0xFF);
  return field - (field == 0);
}

/** Returns the significands of FP32 numbers, including the hidden bit. */
INLINE lanes_t significand_lanes(ulanes_t bits) {
  lanes_t hidden = ((lanes_t)(bits & 0x7F800000u) != 0) & 0x800000;
  return (lanes_t)(bits & 0x7FFFFFu) | hidden;
}

/** Transforms each block of a tile as ufp4_rht_block does; lanes with NaN or Inf get exponent 0
 * and undefined numbers. */
void ufp4_rht_tile(const ulanes_t bits[BLOCK], uint16_t mask, lanes_t out[BLOCK],
                   lanes_t *exponent);

/** Transforms each block of a tile in place as ufp4_rht_block_bf16 does; blocks that this refuses
 * become NaN. */
void ufp4_rht_tile_bf16(ulanes_t bits[BLOCK], uint16_t mask);

/** Draws the random words of the block groups first, first + step, ..: words[w] holds word w of
 * each. */
void ufp4_random_tile(uint64_t seed, uint64_t tensor_id, uint64_t first, uint64_t step,
                      ulanes_t words[4]);

#endif
