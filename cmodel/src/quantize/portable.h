// SPDX-License-Identifier: Apache-2.0
// The quantizer with E4M3 scales of one row for any processor. The fast kernels leave some tiles to
// it.
#ifndef UFP4_QUANTIZE_PORTABLE_H
#define UFP4_QUANTIZE_PORTABLE_H

#include "quantize/walk.h"

/** Returns the largest t with m * 2^(x + t) <= 448 * qmax; m in [2^27, 2^28). */
int ufp4_exponent_from_amax(int32_t m, int32_t x, ufp4_elem_t elem);

/** Returns the tensor exponent for a value that is INT32_MAX if no block requires an exponent. */
static inline int some_exponent(int exponent) {
  return exponent == INT32_MAX ? 0 : exponent;
}

/** Lowers *exponent to the requirement of a place's blocks. */
void ufp4_place_exponent(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                         int *exponent);
/** Returns the tensor exponent; INT32_MAX if no block requires one. */
int ufp4_source_exponent(const source_t *source, const ufp4_quantize_t *how);

/** Quantizes the blocks of a place with the tensor exponent of @p out; raises its flags. */
void ufp4_quantize_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                         ufp4_operand_t *out);
/** Quantizes as ufp4_quantize does; @p out is allocated and @p how is legal. */
void ufp4_quantize_tiles(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out);

#endif
