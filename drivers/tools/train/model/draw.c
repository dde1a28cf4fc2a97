// SPDX-License-Identifier: Apache-2.0
#include "draw.h"

#include "ufp4/random.h"

#define ROUNDS 12

ufp4_draw_t ufp4_draw_start(uint64_t seed, ufp4_draw_use_t use) {
  return (ufp4_draw_t){.key = {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)use, 0}};
}

static void words(const ufp4_draw_t *draw, uint64_t index, uint32_t out[4]) {
  const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0};
  ufp4_threefry4x32(ROUNDS, draw->key, counter, out);
}

uint64_t ufp4_draw_at(const ufp4_draw_t *draw, uint64_t index) {
  uint32_t w[4];
  words(draw, index, w);
  return (uint64_t)w[1] << 32 | w[0];
}

// Each of the twelve uniform numbers has 10 bits and lies in the middle of its step; their sum has
// deviation 1 to within 1e-6.
float ufp4_draw_normal(ufp4_draw_t *draw) {
  uint32_t w[4];
  int32_t sum = 0;
  words(draw, draw->counter++, w);
  for (int i = 0; i < 12; i++) sum += (int32_t)(w[i / 3] >> (10 * (i % 3)) & 1023u);
  return ((float)(2 * sum + 12) / 2048.0f) - 6.0f;
}
