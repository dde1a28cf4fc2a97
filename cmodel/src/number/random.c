// SPDX-License-Identifier: Apache-2.0
#include "ufp4/random.h"

#include <string.h>

#include "number/lanes.h"

// Rotations of Threefry-4x32, by round modulo 8, and the Skein parity constant (Random123,
// threefry.h).
static const uint8_t rotations[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                        {6, 20},  {17, 11}, {25, 10}, {18, 20}};
#define THREEFRY_PARITY 0x1BD11BDAu

static inline uint32_t rotate(uint32_t word, unsigned by) {
  return word << by | word >> (32 - by);
}

static inline void mix(uint32_t *a, uint32_t *b, unsigned by) {
  *a += *b;
  *b = rotate(*b, by) ^ *a;
}

void ufp4_threefry4x32(int rounds, const uint32_t key[4], const uint32_t counter[4],
                       uint32_t out[4]) {
  const uint32_t keys[5] = {key[0], key[1], key[2], key[3],
                            THREEFRY_PARITY ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
  uint32_t x[4];
  for (unsigned i = 0; i < 4; i++) x[i] = counter[i] + keys[i];
  for (unsigned r = 0; (int)r < rounds; r++) {
    // Odd rounds pair the words crosswise.
    mix(&x[0], &x[r & 1 ? 3 : 1], rotations[r & 7][0]);
    mix(&x[2], &x[r & 1 ? 1 : 3], rotations[r & 7][1]);
    if ((r & 3) != 3) continue;
    unsigned injection = r / 4 + 1;
    for (unsigned i = 0; i < 4; i++) x[i] += keys[(injection + i) % 5];
    x[3] += injection;
  }
  memcpy(out, x, sizeof x);
}

void ufp4_random_block(uint64_t seed, uint64_t tensor_id, uint64_t group, uint8_t bytes[16]) {
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
  const uint32_t counter[4] = {(uint32_t)group, (uint32_t)(group >> 32), (uint32_t)tensor_id,
                               (uint32_t)(tensor_id >> 32)};
  uint32_t words[4];
  ufp4_threefry4x32(12, key, counter, words);
  for (unsigned i = 0; i < 16; i++) bytes[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

uint64_t ufp4_tensor_id(uint64_t step, unsigned layer, unsigned role, unsigned axis) {
  return step << 16 | (uint64_t)layer << 4 | (uint64_t)role << 1 | axis;
}

INLINE void mix_lanes(ulanes_t *a, ulanes_t *b, unsigned by) {
  *a += *b;
  *b = (*b << by | *b >> (32 - by)) ^ *a;
}

INLINE void inject_lanes(ulanes_t x[4], const uint32_t keys[5], unsigned injection) {
  for (unsigned i = 0; i < 4; i++) x[i] += keys[(injection + i) % 5];
  x[3] += injection;
}

HOT void ufp4_random_tile(uint64_t seed, uint64_t tensor_id, uint64_t first, uint64_t step,
                          ulanes_t words[4]) {
  const uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  const uint32_t keys[5] = {k0, k1, 0, 0, THREEFRY_PARITY ^ k0 ^ k1};
  ulanes_t x[4] = {
      {0}, {0}, (ulanes_t){0} + (uint32_t)tensor_id, (ulanes_t){0} + (uint32_t)(tensor_id >> 32)};
  for (unsigned l = 0; l < LANES; l++) {
    uint64_t group = first + l * step;
    x[0][l] = (uint32_t)group;
    x[1][l] = (uint32_t)(group >> 32);
  }
  inject_lanes(x, keys, 0);
  for (unsigned r = 0; r < 12; r++) {
    mix_lanes(&x[0], &x[r & 1 ? 3 : 1], rotations[r & 7][0]);
    mix_lanes(&x[2], &x[r & 1 ? 1 : 3], rotations[r & 7][1]);
    if ((r & 3) == 3) inject_lanes(x, keys, r / 4 + 1);
  }
  memcpy(words, x, sizeof x);
}
