// SPDX-License-Identifier: Apache-2.0
// 4-bit elements, E4M3 and E8M0 scales, BF16: decoders and scalar casts
// (docs/reference/numerics.md, 1 and 2).
#ifndef UFP4_FORMAT_H
#define UFP4_FORMAT_H

#include <stdint.h>

#include "ufp4/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the element whose quanta and coding a block with the E4M3 scale byte @p scale uses. For
 * mixed, bit 7 of the byte selects E2M1 (0) or E1M2 (1); any other element is returned as it is. */
ufp4_elem_t ufp4_elem_grid(ufp4_elem_t elem, uint8_t scale);
/** Returns the quanta of a code: value = quanta * 2^-frac. @p code 0..15 (upper bits are ignored).
 * Mixed gives 0, because its codes have quanta only in the grid of their block (ufp4_elem_grid). */
int ufp4_elem_quanta(ufp4_elem_t elem, unsigned code);
/** Returns the number of fraction bits. Both grids of mixed share one number, which differs from
 * that of E1M2 alone. */
int ufp4_elem_frac(ufp4_elem_t elem);
/** Returns the magnitude in quanta to which the tensor's scale maps the largest input: E2M1 12,
 * E1M2 7, INT4 7, mixed 7. It is the largest that the quantizer emits, except that mixed emits up
 * to 12 in blocks on the E2M1 grid. */
int ufp4_elem_qmax_quanta(ufp4_elem_t elem);
/** Returns the value of a code; code 8 of E2M1 and E1M2 gives -0. Exact. Undefined for mixed. */
float ufp4_elem_value(ufp4_elem_t elem, unsigned code);
/** Returns the value of a code in a block with the E4M3 scale byte @p scale, before the
 * multiplication by the scale. The byte matters only for mixed, whose grid it selects. */
float ufp4_elem_block_value(ufp4_elem_t elem, uint8_t scale, unsigned code);
/** Casts to a 4-bit code: nearest, ties to even, saturating; NaN gives 7 (numerics.md 1). Mixed
 * gives 7 for every value, because a single number has no grid. */
uint8_t ufp4_elem_cast(ufp4_elem_t elem, float value);

/** Splits a UE4M3 scale byte into significand and exponent: value = sig * 2^(exp - 9), sig 0..15,
 * exp 0..14. The sign bit is ignored. @return 0 for a NaN byte (0x7F, 0xFF), 1 otherwise. */
int ufp4_e4m3_decode(uint8_t byte, int *sig, int *exp);
/** Returns the value of an E4M3 byte, sign included; NaN for 0x7F and 0xFF. Exact. */
float ufp4_e4m3_value(uint8_t byte);
/** Casts to E4M3: nearest, ties to even, saturating at 448; NaN gives 0x7F. */
uint8_t ufp4_e4m3_cast(float value);
/** Casts to E8M0 as cuda_fp8.h does, rounding down (@p up 0) or up (@p up 1). */
uint8_t ufp4_e8m0_cast(float value, int up);
/** Returns the value of an E8M0 byte, 2^(byte - 127); NaN for 0xFF. */
float ufp4_e8m0_value(uint8_t byte);

/** Returns how many elements share a scale by default: 32 with E8M0, otherwise 16. */
int ufp4_scale_block(ufp4_scale_t scale);

/** Rounds FP32 to BF16: nearest, ties to even; every NaN gives 0x7FC0. */
uint16_t ufp4_bf16_cast(float value);
/** Converts BF16 to FP32. Exact. */
float ufp4_bf16_value(uint16_t bits);
/** Convert between an FP32 number and its bit pattern. */
uint32_t ufp4_f32_bits(float value);
float ufp4_f32_value(uint32_t bits);

/** The bit patterns of every NaN result in FP32 and BF16. */
#define UFP4_F32_NAN 0x7FC00000u
#define UFP4_BF16_NAN 0x7FC0u
/** Contract nv returns these NaN bit patterns instead. */
#define UFP4_F32_NAN_NV 0x7FFFFFFFu
#define UFP4_BF16_NAN_NV 0x7FFFu

/** Returns sum * 2^exponent rounded once to FP32: nearest, ties to even, exponent unbounded before
 * rounding, IEEE overflow to Inf and gradual underflow (which keeps its sign); zero gives +0.
 * Source: numerics.md 5. RTL: ufp4_i64_to_f32. */
uint32_t ufp4_f32_from_scaled(int64_t sum, int exponent);

#ifdef __cplusplus
}
#endif

#endif
