// SPDX-License-Identifier: Apache-2.0
// random_stream STREAM SEED: the bytes of a random generator on stdout, without end, for batteries of statistical
// tests.
//   blocks    what the quantizer draws for one tensor: Threefry-4x32-12, its 16 bytes for each group in turn
//   tensors   what it draws for the first groups of one tensor after the other, as a training run numbers them: 4
//   groups of
//             the row copy, 4 of the column copy, of x, w and dy of 8 layers, step by step
//   philox    Philox-4x32-10, counters counting up
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ufp4/random.h"

#define BLOCKS 4096  // of 16 bytes, written at a time

typedef void (*draw_t)(uint64_t seed, uint64_t index, uint8_t bytes[16]);

static void draw_blocks(uint64_t seed, uint64_t index, uint8_t bytes[16]) {
  ufp4_random_block(seed, ufp4_tensor_id(0, 0, 2, 0), index, bytes);
}

static void draw_tensors(uint64_t seed, uint64_t index, uint8_t bytes[16]) {
  const uint64_t group = index % 4, copy = index / 4;
  const unsigned axis = copy & 1, role = (unsigned)(copy / 2 % 3), layer = (unsigned)(copy / 6 % 8);
  ufp4_random_block(seed, ufp4_tensor_id(copy / 48, layer, role, axis), group, bytes);
}

static void draw_philox(uint64_t seed, uint64_t index, uint8_t bytes[16]) {
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0};
  uint32_t words[4];
  ufp4_philox4x32(10, key, counter, words);
  memcpy(bytes, words, sizeof words);
}

static draw_t find_stream(const char *name) {
  static const struct {
    const char *name;
    draw_t draw;
  } streams[] = {{"blocks", draw_blocks}, {"tensors", draw_tensors}, {"philox", draw_philox}};
  for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
    if (strcmp(name, streams[i].name) == 0) return streams[i].draw;
  }
  return NULL;
}

int main(int argc, char **argv) {
  static uint8_t bytes[BLOCKS * 16];
  const draw_t draw = argc == 3 ? find_stream(argv[1]) : NULL;
  if (draw == NULL) {
    fprintf(stderr, "usage: %s blocks|tensors|philox SEED\n", argv[0]);
    return 2;
  }
  const uint64_t seed = strtoull(argv[2], NULL, 0);
  for (uint64_t index = 0;; index += BLOCKS) {
    for (uint64_t i = 0; i < BLOCKS; i++) draw(seed, index + i, bytes + 16 * i);
    if (fwrite(bytes, 1, sizeof bytes, stdout) != sizeof bytes) return 0;
  }
}
