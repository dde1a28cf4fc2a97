// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (docs/reference/numerics.md, 4). Source: Salmon et al., SC'11;
// Random123.
#ifndef UFP4_RANDOM_H
#define UFP4_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Computes Threefry-4x32 with @p rounds 0..72. The key is also injected after the last round if
 * rounds is a multiple of 4. */
void ufp4_threefry4x32(int rounds, const uint32_t key[4], const uint32_t counter[4],
                       uint32_t out[4]);
/** Draws the 16 random bytes of block group @p group of tensor @p tensor_id by Threefry-4x32-12
 * with key (seed, 0, 0) and counter (group, tensor_id), low words first; element i uses byte i mod
 * 4 of word i/4. RTL: ufp4_threefry. */
void ufp4_random_block(uint64_t seed, uint64_t tensor_id, uint64_t group, uint8_t bytes[16]);
/** Returns tensor_id = step << 16 | layer << 4 | role << 1 | axis; role 0 x, 1 w, 2 dy; axis 0
 * row, 1 column. */
uint64_t ufp4_tensor_id(uint64_t step, unsigned layer, unsigned role, unsigned axis);

#ifdef __cplusplus
}
#endif

#endif
