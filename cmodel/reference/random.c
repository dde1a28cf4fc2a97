// SPDX-License-Identifier: Apache-2.0
// Threefry as defined in Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11.
#include "reference.h"

static uint32_t rotate(uint32_t x, int left) {
  return (x << left) | (x >> (32 - left));
}

void reference_threefry4x32(int rounds, const uint32_t key[4], const uint32_t counter[4],
                            uint32_t out[4]) {
  static const int rotation[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                     {6, 20},  {17, 11}, {25, 10}, {18, 20}};
  static const int order[2][4] = {
      {0, 1, 2, 3}, {0, 3, 2, 1}};  // the words mixed in pairs, in even and odd rounds
  const uint32_t parity = 0x1BD11BDAu ^ key[0] ^ key[1] ^ key[2] ^ key[3];
  const uint32_t schedule[5] = {key[0], key[1], key[2], key[3], parity};
  for (int i = 0; i < 4; i++) out[i] = counter[i] + schedule[i];
  for (int round = 0; round < rounds; round++) {
    for (int pair = 0; pair < 2; pair++) {
      uint32_t *x = &out[order[round % 2][2 * pair]], *y = &out[order[round % 2][2 * pair + 1]];
      *x += *y;
      *y = rotate(*y, rotation[round % 8][pair]) ^ *x;
    }
    if (round % 4 == 3) {
      const int injection = round / 4 + 1;
      for (int i = 0; i < 4; i++) out[i] += schedule[(injection + i) % 5];
      out[3] += (uint32_t)injection;
    }
  }
}

void reference_random_block(uint64_t seed, uint64_t tensor_id, uint64_t group, uint8_t bytes[16]) {
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
  const uint32_t counter[4] = {(uint32_t)group, (uint32_t)(group >> 32), (uint32_t)tensor_id,
                               (uint32_t)(tensor_id >> 32)};
  uint32_t word[4];
  reference_threefry4x32(12, key, counter, word);
  for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(word[i / 4] >> (8 * (i % 4)));
}

uint16_t reference_signs(uint64_t seed, uint64_t step) {
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 1, 0};
  const uint32_t counter[4] = {(uint32_t)step, (uint32_t)(step >> 32), 0, 0};
  uint32_t words[4];
  reference_threefry4x32(12, key, counter, words);
  return (uint16_t)(words[0] % 65536);
}
