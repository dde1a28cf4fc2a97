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

/** The element whose quanta and coding a block of @p elem has, by its E4M3 scale byte: of mixed,
 * E2M1 where bit 7 is 0 and E1M2 where it is 1; any other element itself. */
ufp4_elem_t ufp4_elem_grid(ufp4_elem_t elem, uint8_t scale);
/** Quanta of a code: value = quanta * 2^-frac. @p code 0..15 (upper bits ignored). For mixed it
 * returns 0, since a code of mixed has quanta only in the grid of its block (ufp4_elem_grid). */
int ufp4_elem_quanta(ufp4_elem_t elem, unsigned code);
/** Fraction bits of the format; mixed has one number for both of its grids, whatever E1M2 has by
 * itself. */
int ufp4_elem_frac(ufp4_elem_t elem);
/** Magnitude in quanta that the tensor's scale is made for, which is the largest that the quantizer
 * emits (E2M1 12, E1M2 7, INT4 7); of mixed 7, and its blocks of E2M1 go up to 12. */
int ufp4_elem_qmax_quanta(ufp4_elem_t elem);
/** Value of a code; E2M1 and E1M2 code 8 give -0. Exact. It is not defined for mixed. */
float ufp4_elem_value(ufp4_elem_t elem, unsigned code);
/** Value of a code of any element in a block with the E4M3 scale byte @p scale, before the scale
 * multiplies it: the byte matters for mixed alone, whose grid it selects. */
float ufp4_elem_block_value(ufp4_elem_t elem, uint8_t scale, unsigned code);
/** Cast to a 4-bit code: nearest, ties to even, saturating; NaN gives 7; see numerics.md 1. It
 * cannot cast to mixed: a number by itself has no grid. */
uint8_t ufp4_elem_cast(ufp4_elem_t elem, float value);

/** UE4M3 scale byte to significand and exponent: value = sig * 2^(exp - 9), sig 0..15, exp 0..14.
 * The sign bit is ignored. @return 0 for a NaN byte (0x7F, 0xFF), 1 otherwise. */
int ufp4_e4m3_decode(uint8_t byte, int *sig, int *exp);
/** Value of an E4M3 byte, sign included; NaN for 0x7F and 0xFF. Exact. */
float ufp4_e4m3_value(uint8_t byte);
/** Cast to E4M3: nearest, ties to even, saturating at 448; NaN gives 0x7F. */
uint8_t ufp4_e4m3_cast(float value);
/** Cast to E8M0 as cuda_fp8.h does, rounding down (@p up 0) or up (@p up 1). */
uint8_t ufp4_e8m0_cast(float value, int up);
/** Value of an E8M0 byte, 2^(byte - 127); NaN for 0xFF. */
float ufp4_e8m0_value(uint8_t byte);

/** Elements that share a scale: 16, with E8M0 32. */
int ufp4_scale_block(ufp4_scale_t scale);

/** FP32 to BF16: nearest, ties to even; every NaN gives 0x7FC0. */
uint16_t ufp4_bf16_cast(float value);
/** BF16 to FP32. Exact. */
float ufp4_bf16_value(uint16_t bits);
/** Bits of an FP32 number, and back. */
uint32_t ufp4_f32_bits(float value);
float ufp4_f32_value(uint32_t bits);

/** Every NaN result: FP32 and BF16. */
#define UFP4_F32_NAN 0x7FC00000u
#define UFP4_BF16_NAN 0x7FC0u
/** The contract nv gives these in their place. */
#define UFP4_F32_NAN_NV 0x7FFFFFFFu
#define UFP4_BF16_NAN_NV 0x7FFFu

/** sum * 2^exponent rounded once to FP32, nearest even, exponent unbounded before rounding, IEEE
 * overflow to Inf and gradual underflow (which keeps its sign); zero gives +0. Source:
 * numerics.md 5. RTL: ufp4_i64_to_f32. */
uint32_t ufp4_f32_from_scaled(int64_t sum, int exponent);

#ifdef __cplusplus
}
#endif

#endif
