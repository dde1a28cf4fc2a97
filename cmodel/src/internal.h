// SPDX-License-Identifier: Apache-2.0
// What the files of the golden model share among themselves. A tile is a few blocks of 16 elements, one block per lane
// of a vector: element i of all blocks is one vector, so each step of the arithmetic is one vector expression.
#ifndef UFP4_INTERNAL_H
#define UFP4_INTERNAL_H

#include <assert.h>
#include <float.h>
#include <stdint.h>

#ifdef __FAST_MATH__
#error "-ffast-math and -Ofast change the bits: leave them out"
#endif
#include <string.h>

#include "ufp4/quantize.h"

#define BLOCK 16
#define CODE_BYTES 8  // of a block
#define LANES 8

// Where a float appears, each operation rounds to its type (on 32-bit x86: -msse2 -mfpmath=sse).
static_assert(FLT_EVAL_METHOD == 0, "float operations have more bits than float");

// The hot functions are compiled for AVX2 too, chosen when the program is loaded; all of them are integer code, so the
// bits cannot differ. The sanitizers cannot instrument code that runs while the loader still resolves symbols.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HOT __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define HOT
#endif
// Helpers of hot functions: inlined into each of their versions.
#define INLINE static inline __attribute__((always_inline))

typedef int32_t lanes_t __attribute__((vector_size(4 * LANES)));
typedef uint32_t ulanes_t __attribute__((vector_size(4 * LANES)));

/** The codes of lane @p l of a tile, in the order that an operand has in memory, which is the same on every host. */
INLINE void store_codes(const ulanes_t codes[2], unsigned l, uint8_t to[CODE_BYTES]) {
  uint64_t packed = (uint64_t)codes[1][l] << 32 | codes[0][l];
  if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) packed = __builtin_bswap64(packed);
  memcpy(to, &packed, CODE_BYTES);
}

/** As ufp4_rht_block, for each block of a tile; lanes that hold NaN or Inf have exponent 0 and undefined numbers. */
void ufp4_rht_tile(const ulanes_t bits[BLOCK], uint16_t mask, lanes_t out[BLOCK], lanes_t *exponent);

/** As ufp4_rht_block_bf16, in place; lanes that it refuses become NaN. */
void ufp4_rht_tile_bf16(ulanes_t bits[BLOCK], uint16_t mask);

/** The random words of the block groups first, first + step, ..: words[w] holds word w of each. */
void ufp4_random_tile(uint64_t seed, uint64_t tensor_id, uint64_t first, uint64_t step, ulanes_t words[4]);

/** The blocks of a tile, unpacked. */
typedef struct {
  lanes_t magnitude[BLOCK];  ///< |x| = magnitude * 2^exponent; under 2^28
  lanes_t exponent[BLOCK];
  lanes_t negative[BLOCK];  ///< all ones or zero
  lanes_t amax;             ///< largest |x| of the block = amax * 2^amax_exponent; amax in [2^27, 2^28), or 0
  lanes_t amax_exponent;    ///< INT32_MIN where amax is 0
  lanes_t poisoned;         ///< all ones where the block holds NaN or Inf; amax is 0 there
} tile_t;

/** Unpacks FP32 bit patterns, through the integer RHT if @p how says so. */
void ufp4_tile_unpack(const ulanes_t bits[BLOCK], const ufp4_quantize_t *how, tile_t *tile);

/** The scales of a tile's blocks. */
typedef struct {
  lanes_t byte;
  lanes_t significand;
  lanes_t exponent;  ///< value = significand * 2^(exponent - 9)
  lanes_t keep;      ///< zero where all codes of the block are 0
  lanes_t saturated;
} scale_t;

/** The codes of a tile with scales that have at most 4 significant bits. */
void ufp4_tile_codes(const tile_t *tile, const ufp4_quantize_t *how, int t, const scale_t *scale,
                     const ulanes_t random[4], ulanes_t codes[2]);

/** Scale bytes and codes of a tile, E4M3; codes[0] gets elements 0..7 of each block, 4 bits each, codes[1]
 * elements 8..15.
 * @return flags. */
unsigned ufp4_tile_encode(const tile_t *tile, const ufp4_quantize_t *how, int t, const ulanes_t random[4],
                          lanes_t *scale, ulanes_t codes[2]);

/** A tensor in the orientation that is blocked. Group b of row r is r * blocks + b: its place in the operand and the
 * counter of its random bytes. */
typedef struct {
  const ufp4_matrix_t *in;
  ufp4_axis_t axis;
  int64_t rows, cols, blocks;
} source_t;

/** One tile: groups first, first + step, ..; as many as there are lanes. Row copies take groups along a row and on into
 * the next; column copies take group b of adjacent rows, because those lie side by side in memory. */
typedef struct {
  int64_t first, step;
  unsigned lanes;
  int64_t strip, row, block;  // column copies only
} place_t;

source_t ufp4_source_of(const ufp4_matrix_t *in, ufp4_axis_t axis);
/** The first tile, and the next one after @p place: 0 where there is none. */
int ufp4_first_place(const source_t *source, place_t *place);
int ufp4_next_place(const source_t *source, place_t *place);
/** A tile's FP32 bit patterns, through the BF16 RHT if @p how says so. What lies beyond the tensor reads as zero. */
void ufp4_load_tile(const source_t *source, const ufp4_quantize_t *how, const place_t *place, ulanes_t bits[BLOCK]);
/** The random words of a tile. */
void ufp4_random_place(const ufp4_quantize_t *how, const place_t *place, ulanes_t words[4]);

/** Largest t with m * 2^(x + t) <= 448 * qmax; m in [2^27, 2^28). */
int ufp4_exponent_from_amax(int32_t m, int32_t x, ufp4_elem_t elem);

/** What quantize.c cannot do in one walk: every scale but E4M3, and tiles of 16 rows. Fills @p out, which is allocated;
 * @p how is legal. */
ufp4_status_t ufp4_quantize_shared(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out);
/** The tensor exponent of the 2D layout. */
ufp4_status_t ufp4_shared_exponent(const source_t *source, const ufp4_quantize_t *how, int *exponent);

/** As ufp4_operand_create_scaled, of legal arguments; codes are not set. */
ufp4_status_t ufp4_operand_allocate(ufp4_elem_t elem, ufp4_scale_t scale, int64_t rows, int64_t cols,
                                    ufp4_operand_t *out);
/** Whether an operand has data, sizes that agree, and a tensor scale above zero and finite where it counts. */
int ufp4_operand_ok(const ufp4_operand_t *operand);
/** Whether no FP32 scale is negative or infinite. */
int ufp4_scales_ok(const ufp4_operand_t *operand);

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

/** The same number in every lane. */
INLINE lanes_t all_lanes(int32_t value) {
  return (lanes_t){0} + value;
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

/** qmax = odd * 2^exponent. */
typedef struct {
  int odd;
  int exponent;
} qmax_t;
qmax_t ufp4_elem_qmax(ufp4_elem_t elem);

#endif
