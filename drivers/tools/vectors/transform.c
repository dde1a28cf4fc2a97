// SPDX-License-Identifier: Apache-2.0
// The units of ufp4 vectors before the quantizer: random words and the Hadamard transform; and
// blocks of numbers that the quantizer's units share. Every result comes from the golden model.
#include "ufp4.h"
#include "ufp4/rht.h"
#include "vectors.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void put_threefry(vectors_t *vectors, uint64_t seed, uint64_t id, uint64_t group) {
  vectors_record_t record = {0};
  uint8_t bytes[16];
  ufp4_random_block(seed, id, group, bytes);
  vectors_set(&record, 0, seed);
  vectors_set(&record, 1, id);
  vectors_set(&record, 2, group);
  for (int i = 0; i < 16; i++) record.column[3][i / 4] |= (uint32_t)bytes[i] << 8 * (i % 4);
  vectors_put(vectors, &record);
}

static void threefry_boundary(vectors_t *vectors) {
  static const uint64_t words[] = {0, 1, 0xFFFFFFFF, 0x100000000, UINT64_MAX};
  for (size_t i = 0; i < COUNT(words) * COUNT(words) * COUNT(words); i++) {
    put_threefry(vectors, words[i % 5], words[i / 5 % 5], words[i / 25]);
  }
}

static void threefry_draw(vectors_t *vectors) {
  uint64_t seed = vectors_next(vectors), id = vectors_next(vectors);
  put_threefry(vectors, seed, id, vectors_next(vectors) >> vectors_below(vectors, 64));
}

void vectors_draw_block(vectors_t *vectors, int special, uint32_t bits[16]) {
  uint32_t kind = vectors_below(vectors, special ? 6 : 5), base = 1 + vectors_below(vectors, 240);
  for (int i = 0; i < 16; i++) {
    uint32_t random = (uint32_t)vectors_next(vectors), exponent = random >> 23 & 255;
    bits[i] = random;
    if (kind == 0 && exponent == 255) bits[i] = random & 0x807FFFFFu;
    if (kind == 1) bits[i] = (random & 0x807FFFFFu) | (base + exponent % 14) << 23;
    if (kind == 2) bits[i] = ufp4_f32_bits((float)(int)(random % 33) - 16);
    if (kind == 3) bits[i] = random & 0x80000000u;
    if (kind == 3 && random % 8 == 0) bits[i] = (random & 0x807FFFFFu) | base << 23;
    if (kind == 4) bits[i] = (random & 0x807FFFFFu) | (exponent % 3) << 23;
    if (kind == 5 && random % 16 != 0) bits[i] = (random & 0x807FFFFFu) | 127u << 23;
  }
}

void vectors_transformed_words(const int32_t numbers[16], uint32_t words[16]) {
  for (int i = 0; i < 16; i++)
    words[i] = numbers[i] < 0 ? 0x80000000u | (uint32_t)-numbers[i] : (uint32_t)numbers[i];
}

static void put_rht(vectors_t *vectors, uint16_t mask, const uint32_t bits[16]) {
  int32_t numbers[16];
  uint32_t words[16];
  int exponent = ufp4_rht_block(bits, mask, numbers);
  if (exponent == 0) return;  // NaN or Inf: the unit's result is not used
  vectors_transformed_words(numbers, words);
  vectors_record_t record = {0};
  vectors_set(&record, 0, mask);
  vectors_set(&record, 1, (uint64_t)exponent);
  vectors_set_words(&record, 2, bits, 16);
  vectors_set_words(&record, 3, words, 16);
  vectors_put(vectors, &record);
}

void vectors_boundary_blocks(vectors_t *vectors, vectors_put_block_t put) {
  for (size_t i = 0; i < VECTORS_SPECIAL_NUMBERS * VECTORS_SPECIAL_NUMBERS; i++) {
    uint32_t one = vectors_special_numbers[i / VECTORS_SPECIAL_NUMBERS],
             rest = vectors_special_numbers[i % VECTORS_SPECIAL_NUMBERS];
    uint32_t bits[16];
    for (size_t j = 0; j < 16; j++) bits[j] = j == i % 16 ? one : rest;
    put(vectors, bits);
    for (size_t j = 0; j < 16; j++) bits[j] = (j & (1u << i % 4)) != 0 ? one : rest;
    put(vectors, bits);
  }
}

static void put_rht_both(vectors_t *vectors, const uint32_t bits[16]) {
  put_rht(vectors, 0, bits);
  put_rht(vectors, UFP4_RHT_DEFAULT_MASK, bits);
}

static void rht_boundary(vectors_t *vectors) {
  vectors_boundary_blocks(vectors, put_rht_both);
  // Exponents of one bit, which must not be mistaken for a subnormal number's.
  for (unsigned field = 1; field < 255; field *= 2) {
    uint32_t bits[16];
    for (uint32_t j = 0; j < 16; j++) bits[j] = (field + (j == 0)) << 23 | j << 19;
    put_rht_both(vectors, bits);
  }
}

static void rht_draw(vectors_t *vectors) {
  uint32_t bits[16];
  vectors_draw_block(vectors, 0, bits);
  put_rht(vectors, (uint16_t)vectors_next(vectors), bits);
}

const vectors_unit_t vectors_transform[] = {
    {"threefry",
     "16 random bytes of a block (ufp4_random_block; numerics.md 4)",
     {{"seed", 64, "key"},
      {"tensor_id", 64, "upper counter words"},
      {"group", 64, "lower counter words: number of the group of 16"},
      {"words", 128, "result: element i uses byte i"}},
     threefry_boundary,
     threefry_draw},
    {"rht",
     "Hadamard transform of a block in integers (ufp4_rht_block; numerics.md 3)",
     {{"mask", 16, "bit i negates element i"},
      {"exponent", 8, "the block's largest biased exponent, at least 1"},
      {"words", 512, "16 FP32 numbers, none NaN or Inf"},
      {"out", 512, "result: 16 lanes {sign, 3 zeros, 28 bits}, unit 2^(exponent - 152)"}},
     rht_boundary,
     rht_draw},
};
const size_t vectors_transform_count = COUNT(vectors_transform);
