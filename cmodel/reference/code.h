// SPDX-License-Identifier: Apache-2.0
// Quantizing a tensor needs this of single numbers and scales.
#ifndef UFP4_REFERENCE_CODE_H
#define UFP4_REFERENCE_CODE_H

#include "reference.h"

/** The scaling of the tensor as a whole: t for E4M3; S and Sd, FP32 patterns, for NVFP4. */
typedef struct {
  int t;
  uint32_t encode;  ///< S
  uint32_t decode;  ///< Sd
} reference_level_t;

uint32_t reference_scale_nan(reference_scale_t scale);
/** amax * 2^t / qmax against units * 2^(exponent - 9). */
int reference_compare_quotient(reference_elem_t elem, reference_real_t amax, int t, int units,
                               int exponent);
/** The smallest scale not below the quotient, or the nearest, ties to even; from 2^-9 to 448. */
uint8_t reference_e4m3_scale(reference_elem_t elem, reference_real_t amax, int t, int up);
/** The largest scale times the largest code that goes with it: 448 x qmax, or 256 x 6 = 384 x 4. */
reference_level_t reference_nvfp4_level(reference_real_t amax, int full);
/** For a largest code of @p target quarters. */
uint8_t reference_nvfp4_scale(reference_real_t amax, const reference_level_t *level, int target);
/** The largest magnitude of a format, in quarters. */
int reference_quarters(reference_elem_t elem);
int reference_nearest_magnitude(reference_elem_t elem, reference_real_t x, reference_real_t s);
/** The code of x with a scale: what is rounded is x * 2^t / scale, or NVIDIA's product. */
uint8_t reference_code_of(reference_real_t x, uint32_t scale, const reference_quantize_t *how,
                          const reference_level_t *level, uint8_t r);
uint32_t reference_scale_of(reference_real_t amax, const reference_quantize_t *how,
                            const reference_level_t *level);
/** RNE32(e + (v - x * S)^2), v the value of the code times its scale, each operation rounded. */
uint32_t reference_add_square(uint32_t e, reference_elem_t grid, reference_real_t x, uint8_t code,
                              uint8_t scale, const reference_level_t *level);
/** The element whose largest magnitude the tensor's own scale is made for. */
reference_elem_t reference_full_elem(reference_elem_t elem);

#endif
