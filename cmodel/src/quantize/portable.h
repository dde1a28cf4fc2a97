// SPDX-License-Identifier: Apache-2.0
// The quantizer on any processor, for E4M3 scales of one row. The fast kernels leave single tiles
// to it.
#ifndef UFP4_QUANTIZE_PORTABLE_H
#define UFP4_QUANTIZE_PORTABLE_H

#include "quantize/walk.h"

/** Largest t with m * 2^(x + t) <= 448 * qmax; m in [2^27, 2^28). */
int ufp4_exponent_from_amax(int32_t m, int32_t x, ufp4_elem_t elem);

/** A tensor exponent, of what may be INT32_MAX: none. */
static inline int some_exponent(int exponent) {
  return exponent == INT32_MAX ? 0 : exponent;
}

/** Lowers *exponent to what the blocks of a place need. */
void ufp4_place_exponent(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                         int *exponent);
/** The tensor exponent; INT32_MAX where no block asks for one. */
int ufp4_source_exponent(const source_t *source, const ufp4_quantize_t *how);

/** Quantizes the blocks of a place with the tensor exponent of @p out; raises its flags. */
void ufp4_quantize_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                         ufp4_operand_t *out);
/** Quantizes as ufp4_quantize does; @p out is allocated and @p how is legal. */
void ufp4_quantize_tiles(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out);

#endif
