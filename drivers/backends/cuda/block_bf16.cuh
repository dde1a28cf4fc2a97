// SPDX-License-Identifier: Apache-2.0
// The BF16 transform of one block (docs/reference/numerics.md, 3): numbers rounded to BF16, exact
// sums of 16, each divided by 4 and rounded once to BF16.
#ifndef UFP4_CUDA_BLOCK_BF16_CUH
#define UFP4_CUDA_BLOCK_BF16_CUH

#include "block.cuh"

#define BF16_EXPONENT_INF 255
#define BF16_SPAN 18  // binades of a block's numbers within which sums fit 32 bits
#define BF16_LIMBS 9  // of 32 bits: 2^253 * 2^8 * 16 and a sign

/** BF16 numbers m * 2^(e - 134), e from 1 to 254. */
typedef struct {
  int32_t m[16];  ///< with the sign after the mask
  int32_t e[16];
  int32_t low, high;  ///< exponents of the non-zero numbers; if there are none, 255 and 0
  bool poisoned;
} bf16_block_t;

GPU bf16_block_t bf16_unpack(const uint32_t bits[16], uint32_t mask) {
  bf16_block_t out;
  out.low = BF16_EXPONENT_INF;
  out.high = 0;
  out.poisoned = false;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const uint32_t rounded = (bits[i] + 0x7FFFu + (bits[i] >> 16 & 1)) & 0xFFFF0000u;
    const int32_t magnitude = f32_significand(rounded) >> 16;
    out.e[i] = f32_exponent(rounded);
    out.m[i] = (int32_t)(rounded ^ mask << (31 - i)) < 0 ? -magnitude : magnitude;
    out.poisoned |= f32_exponent(bits[i]) == BF16_EXPONENT_INF || out.e[i] == BF16_EXPONENT_INF;
    if (magnitude == 0) continue;
    out.low = min(out.low, out.e[i]);
    out.high = max(out.high, out.e[i]);
  }
  return out;
}

/** Rounds sum * 2^(low - 136) to BF16, nearest even, as an FP32 pattern; overflow gives Inf. */
GPU uint32_t bf16_rounded(int32_t sum, int low) {
  const int32_t magnitude = abs(sum);
  if (magnitude == 0) return 0;
  // Eight bits are kept, or those down to the last place of subnormals, 2^-133.
  const int shift = max(24 - __clz(magnitude), 3 - low);
  const int right = max(shift, 0), left = max(-shift, 0);
  int32_t kept = magnitude >> right;
  const int32_t rest = 2 * (magnitude - (kept << right)), whole = 1 << right;
  kept <<= left;
  kept += rest > whole || (rest == whole && (kept & 1));
  // A carry out of the significand correctly increments the exponent field.
  const int32_t pattern = min((low + shift - 3) * 128 + kept, BF16_EXPONENT_INF << 7);
  return (uint32_t)pattern << 16 | (sum < 0 && pattern != 0 ? 0x80000000u : 0u);
}

// --- Blocks whose exponents span more -----------------------------------------------------------

/** Normalizes signed limbs to 32 bits each; @return the carry out of the last limb. */
GPU int64_t bf16_propagate(int64_t limbs[BF16_LIMBS]) {
  int64_t carry = 0;
  for (int i = 0; i < BF16_LIMBS; i++) {
    const int64_t sum = limbs[i] + carry;
    limbs[i] = (int64_t)((uint64_t)sum & 0xFFFFFFFFu);
    carry = (sum - limbs[i]) / ((int64_t)1 << 32);
  }
  return carry;
}

/** Returns at most 28 upper bits of a number in limbs, the lowest of them sticky; the number is
 * the result times 2^*exponent. */
GPU int32_t bf16_leading(const int64_t limbs[BF16_LIMBS], int *exponent) {
  int i = BF16_LIMBS - 1;
  while (i > 1 && limbs[i] == 0) i--;
  const uint64_t top = (uint64_t)limbs[i] << 32 | (uint64_t)limbs[i - 1];
  const int shift = max(36 - __clzll((long long)top), 0);
  uint64_t rest = top & (((uint64_t)1 << shift) - 1);
  for (int j = 0; j < i - 1; j++) rest |= (uint64_t)limbs[j];
  *exponent = 32 * (i - 1) + shift;
  return (int32_t)(top >> shift) | (rest != 0);
}

/** Returns output @p row of the transform. */
GPU_FUNCTION uint32_t bf16_wide(const bf16_block_t &block, int row) {
  int64_t limbs[BF16_LIMBS] = {0};
  for (int i = 0; i < 16; i++) {
    const int64_t m = __popc((uint32_t)(row & i)) & 1 ? -block.m[i] : block.m[i];
    const int place = block.e[i] - 1;
    limbs[place / 32] += m * ((int64_t)1 << place % 32);
  }
  const bool negative = bf16_propagate(limbs) < 0;
  if (negative) {
    for (int i = 0; i < BF16_LIMBS; i++) limbs[i] = 0xFFFFFFFF - limbs[i];
    limbs[0]++;
    bf16_propagate(limbs);
  }
  int exponent;
  const int32_t sum = bf16_leading(limbs, &exponent);
  return bf16_rounded(negative ? -sum : sum, exponent + 1);
}

// --- All ----------------------------------------------------------------------------------------

/** Transforms FP32 patterns in place; all become NaN if an input, rounded to BF16, is NaN or
 * Inf. */
GPU void hadamard_bf16(uint32_t bits[16], uint32_t mask) {
  const bf16_block_t block = bf16_unpack(bits, mask);
  const bool wide = block.high - block.low > BF16_SPAN;
  if (!wide) {
#pragma unroll
    for (int i = 0; i < 16; i++)
      bits[i] = (uint32_t)block.m[i] << min(max(block.e[i] - block.low, 0), BF16_SPAN);
    butterflies(bits);
  }
#pragma unroll
  for (int i = 0; i < 16; i++) {
    bits[i] = wide ? bf16_wide(block, i) : bf16_rounded((int32_t)bits[i], block.low);
    if (block.poisoned) bits[i] = GPU_F32_NAN;
  }
}

#endif
