// SPDX-License-Identifier: Apache-2.0
// Scales and codes of single numbers, for the quantizer of tensors.
#ifndef UFP4_REFERENCE_CODE_H
#define UFP4_REFERENCE_CODE_H

#include "reference.h"

/** The scaling of a whole tensor: t for E4M3; S and Sd, FP32 patterns, for NVFP4. */
typedef struct {
  int t;
  uint32_t encode;  ///< S
  uint32_t decode;  ///< Sd
} reference_level_t;

uint32_t reference_scale_nan(reference_scale_t scale);
/** Compares amax * 2^t / qmax with units * 2^(exponent - 9). */
int reference_compare_quotient(reference_elem_t elem, reference_real_t amax, int t, int units,
                               int exponent);
/** Returns the smallest scale not below the quotient, or the nearest, ties to even; from 2^-9 to
 * 448. */
uint8_t reference_e4m3_scale(reference_elem_t elem, reference_real_t amax, int t, int up);
/** Returns the level of a tensor with largest magnitude @p amax. @p full: the largest scale times
 * the largest code that occurs with it: 448 x qmax, or 256 x 6 = 384 x 4. */
reference_level_t reference_nvfp4_level(reference_real_t amax, int full);
/** The scale for a largest code of @p target quarters. */
uint8_t reference_nvfp4_scale(reference_real_t amax, const reference_level_t *level, int target);
/** Returns the largest magnitude of a format, in quarters. */
int reference_quarters(reference_elem_t elem);
int reference_nearest_magnitude(reference_elem_t elem, reference_real_t x, reference_real_t s);
/** Returns the code of x with a scale: x * 2^t / scale, or NVIDIA's product, is rounded. */
uint8_t reference_code_of(reference_real_t x, uint32_t scale, const reference_quantize_t *how,
                          const reference_level_t *level, uint8_t r);
uint32_t reference_scale_of(reference_real_t amax, const reference_quantize_t *how,
                            const reference_level_t *level);
/** Returns RNE32(e + (v - x * S)^2), where v is the value of the code times its scale, with each
 * operation rounded. */
uint32_t reference_add_square(uint32_t e, reference_elem_t grid, reference_real_t x, uint8_t code,
                              uint8_t scale, const reference_level_t *level);
/** Returns the element whose largest magnitude determines the tensor's scale. */
reference_elem_t reference_full_elem(reference_elem_t elem);

#endif
