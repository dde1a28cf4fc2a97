// SPDX-License-Identifier: Apache-2.0
// Random words for a tile of the vector quantizer: Threefry-4x32 with 12 rounds, for groups under
// 2^32 (number/random.c has the portable version). The including file first includes the vector
// operations of one instruction set.
#ifndef UFP4_QUANTIZE_VECTOR_RANDOM_H
#define UFP4_QUANTIZE_VECTOR_RANDOM_H

#include "number/lanes.h"

#define MIX(a, b, by)                 \
  do {                                \
    a = V(add_epi32)(a, b);           \
    b = BITS(xor)(rotated(b, by), a); \
  } while (0)
#define TWO_ROUNDS(r0, r1, r2, r3) \
  do {                             \
    MIX(x0, x1, r0);               \
    MIX(x2, x3, r1);               \
    MIX(x0, x3, r2);               \
    MIX(x2, x1, r3);               \
  } while (0)

// The words of Threefry that all groups share.
typedef struct {
  uint32_t k0, k1, k4, sum, turned;  // key words, the sum of k0 and k1, and k1 rotated
  uint32_t c2, c3,
      turned3;  // the third and fourth counter word after the first round; the latter rotated
} threefry_t;

INLINE uint32_t rotate_word(uint32_t word, unsigned by) {
  return word << by | word >> (32 - by);
}

static inline threefry_t random_of(uint64_t seed, uint64_t tensor_id) {
  const uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  const uint32_t low = (uint32_t)tensor_id, high = (uint32_t)(tensor_id >> 32);
  const uint32_t c2 = low + high, c3 = rotate_word(high, 26) ^ c2;
  return (threefry_t){k0, k1, 0x1BD11BDAu ^ k0 ^ k1, k0 + k1, rotate_word(k1, 10),
                      c2, c3, rotate_word(c3, 11)};
}

INLINE words_t all_words(uint32_t word) {
  return V(set1_epi32)((int)word);
}

// Each word is complemented, because 255 minus each byte is needed.
INLINE void random_words(const threefry_t *random, words_t groups, words_t words[4]) {
  words_t x0 = V(add_epi32)(groups, all_words(random->sum));
  words_t x1 = BITS(xor)(x0, all_words(random->turned));
  x0 = V(add_epi32)(x0, all_words(random->c3));
  words_t x3 = BITS(xor)(x0, all_words(random->turned3));
  words_t x2 = V(add_epi32)(x1, all_words(random->c2));
  x1 = BITS(xor)(rotated(x1, 21), x2);
  TWO_ROUNDS(13, 27, 23, 5);
  x0 = V(add_epi32)(x0, all_words(random->k1));
  x3 = V(add_epi32)(x3, all_words(random->k4 + 1));
  TWO_ROUNDS(6, 20, 17, 11);
  TWO_ROUNDS(25, 10, 18, 20);
  x2 = V(add_epi32)(x2, all_words(random->k4));
  x3 = V(add_epi32)(x3, all_words(random->k0 + 2));
  TWO_ROUNDS(10, 26, 11, 21);
  TWO_ROUNDS(13, 27, 23, 5);
  // ~(x + k) = ~k - x
  words[0] = BITS(xor)(x0, all_words(UINT32_MAX));
  words[1] = V(sub_epi32)(all_words(~random->k4), x1);
  words[2] = V(sub_epi32)(all_words(~random->k0), x2);
  words[3] = V(sub_epi32)(all_words(~(random->k1 + 3)), x3);
}

#endif
