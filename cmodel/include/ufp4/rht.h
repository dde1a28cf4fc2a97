// SPDX-License-Identifier: Apache-2.0
// 16-point random Hadamard transform in integers (docs/reference/numerics.md, 3). RTL: ufp4_rht.
#ifndef UFP4_RHT_H
#define UFP4_RHT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Transforms one block of FP32 bit patterns: out[i] * 2^(E - 152) = sum_j H16[i][j] * sign_j * v_j
 * / 4 in exact integers, where v_j is the significand aligned to the block's largest biased
 * exponent E, truncated.
 *  @return E (1..254), or 0 if the block holds NaN or Inf (out is then untouched). |out| < 2^28. */
int ufp4_rht_block(const uint32_t bits[16], uint16_t mask, int32_t out[16]);

/** NVIDIA's variant: inputs rounded to BF16, the exact sum of 16 and the division by 4, one
 * rounding to BF16 (nearest even both); zero is +0. out holds FP32 bit patterns of BF16 numbers.
 *  @return 1, or 0 where an input, rounded, or a result is NaN or Inf (out is then untouched). */
int ufp4_rht_block_bf16(const uint32_t bits[16], uint16_t mask, uint32_t out[16]);

/** Undoes the transform of one block in place: out[j] = sign_j * RNE32(sum_i H16[i][j] * in[i] /
 * 4). The sum is exact where the 16 numbers are decoded codes of one scale; of other numbers it
 * begins as +0 and takes them in their order, each addition rounded to float64. A sum of zero is
 * +0. NaN, and a sum that meets Inf of both signs, gives 0x7FC00000. Numerics.md 2, Decoding. */
void ufp4_rht_undo(float block[16], uint16_t mask);

/** Transforms @p points numbers, 32 or 64: out[i] * 2^(E - 151) = sum_j H[i][j] * sign_j * v_j,
 * divided by 4 (32 points) or 8 (64 points). v_j keeps one bit less than in a transform of 16
 * points, and with 64 points two bits less.
 * @return as ufp4_rht_block. |out| < 2^28. */
int ufp4_rht_points(const uint32_t *bits, int points, uint64_t mask, int32_t *out);
/** Undoes a transform of 16, 32 or 64 points as ufp4_rht_undo does; the sum is divided by 4, 8 and
 * 8, respectively. */
void ufp4_rht_undo_points(float *block, int points, uint64_t mask);

#ifdef __cplusplus
}
#endif

#endif
