// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the quantizer on a tile: unpack, scale, encode.
#ifndef UFP4_QUANTIZE_TILE_H
#define UFP4_QUANTIZE_TILE_H

#include <string.h>

#include "number/lanes.h"
#include "ufp4/quantize.h"

/** Stores the codes of lane @p l of a tile in the order of an operand in memory, which is the same
 * on every host. */
INLINE void store_codes(const ulanes_t codes[2], unsigned l, uint8_t target[CODE_BYTES]) {
  uint64_t packed = (uint64_t)codes[1][l] << 32 | codes[0][l];
  if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) packed = __builtin_bswap64(packed);
  memcpy(target, &packed, CODE_BYTES);
}

/** qmax = odd * 2^exponent. */
typedef struct {
  int odd;
  int exponent;
} qmax_t;
qmax_t ufp4_elem_qmax(ufp4_elem_t elem);

/** The blocks of a tile, unpacked. */
typedef struct {
  lanes_t magnitude[BLOCK];  ///< |x| = magnitude * 2^exponent; under 2^28
  lanes_t exponent[BLOCK];
  lanes_t negative[BLOCK];  ///< all ones or zero
  lanes_t amax;  ///< largest |x| of the block = amax * 2^amax_exponent; amax in [2^27, 2^28), or 0
  lanes_t amax_exponent;  ///< INT32_MIN where amax is 0
  lanes_t poisoned;       ///< all ones where the block holds NaN or Inf; amax is 0 there
} tile_t;

/** Unpacks FP32 bit patterns, and applies the integer RHT if @p how requests it. */
void ufp4_tile_unpack(const ulanes_t bits[BLOCK], const ufp4_quantize_t *how, tile_t *tile);

/** The scales of a tile's blocks. */
typedef struct {
  lanes_t byte;
  lanes_t significand;
  lanes_t exponent;  ///< value = significand * 2^(exponent - 9)
  lanes_t keep;      ///< zero where all codes of the block are 0
  lanes_t saturated;
} scale_t;

/** Computes the E4M3 scales of a tile for an element with a single grid. */
void ufp4_tile_scales(const tile_t *tile, const ufp4_quantize_t *how, int t, scale_t *out);
/** Computes the codes of a tile for scales of at most 4 significant bits. */
void ufp4_tile_codes(const tile_t *tile, const ufp4_quantize_t *how, int t, const scale_t *scale,
                     const ulanes_t random[4], ulanes_t codes[2]);

/** Returns the flags of a tile whose lanes @p saturated saturate. */
unsigned ufp4_tile_flags(const tile_t *tile, const lanes_t *saturated);

/** Computes scale bytes and codes of a tile with E4M3 scales; codes[0] gets elements 0..7 of each
 * block, 4 bits each, codes[1] elements 8..15. @return flags. */
unsigned ufp4_tile_encode(const tile_t *tile, const ufp4_quantize_t *how, int t,
                          const ulanes_t random[4], lanes_t *scale, ulanes_t codes[2]);

#endif
