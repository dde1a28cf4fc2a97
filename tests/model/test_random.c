// SPDX-License-Identifier: Apache-2.0
// Tests counter-based random words (numerics.md 4) against the known answers of Random123 and
// against the reference model.
#include "fixture.h"
#include "ufp4/random.h"

#define PI0 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344
#define PI1 0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89
#define ONES 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF

static void check_words(int64_t index, const uint32_t got[4], const uint32_t want[4],
                        const char *what) {
  for (int i = 0; i < 4; i++) check_bits(index, got[i], want[i], "%s, word %d", what, i);
}

TEST(threefry_known_answers) {
  // The answers for 13, 20 and 72 rounds are those of Random123's kat_vectors, those for 12 are
  // from numerics.md.
  static const struct {
    int rounds;
    uint32_t counter[4], key[4], out[4];
  } table[] = {
      {12, {0}, {0}, {0xA97328CD, 0xA9A95582, 0x2E34D974, 0xFE50811E}},
      {13, {0}, {0}, {0x531C7E4F, 0x39491EE5, 0x2C855A92, 0x3D6ABF9A}},
      {13, {ONES}, {ONES}, {0xC4189358, 0x1C9CC83A, 0xD5881C67, 0x6A0A89E0}},
      {13, {PI0}, {PI1}, {0x4AA71D8F, 0x734738C2, 0x431FC6A8, 0xAE6DEBF1}},
      {20, {0}, {0}, {0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8}},
      {20, {ONES}, {ONES}, {0x2A881696, 0x57012287, 0xF6C7446E, 0xA16A6732}},
      {20, {PI0}, {PI1}, {0x59CD1DBB, 0xB8879579, 0x86B5D00C, 0xAC8B6D84}},
      {72, {0}, {0}, {0x93171DA6, 0x9220326D, 0xB392B7B1, 0xFF58A002}},
      {72, {ONES}, {ONES}, {0x60743F3D, 0x9961E684, 0xAAB21C34, 0x8C65FB7D}},
      {72, {PI0}, {PI1}, {0x09930ADF, 0x7F27BD55, 0x9ED68CE1, 0x97F803F6}},
  };
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
    uint32_t golden[4], slow[4];
    ufp4_threefry4x32(table[i].rounds, table[i].key, table[i].counter, golden);
    reference_threefry4x32(table[i].rounds, table[i].key, table[i].counter, slow);
    check_words(i, golden, table[i].out, "golden");
    check_words(i, slow, table[i].out, "reference model");
  }
}

TEST(words_of_every_round_count) {
  check_random_t random = check_random();
  for (int i = 0; i < 73 * 20; i++) {
    uint32_t in[8], golden[4], slow[4];
    for (int j = 0; j < 8; j++) in[j] = (uint32_t)check_next(&random);
    ufp4_threefry4x32(i % 73, in, in + 4, golden);
    reference_threefry4x32(i % 73, in, in + 4, slow);
    check_words(i, golden, slow, "threefry");
  }
}

TEST(block_bytes_in_order) {
  // Block zero holds the words of the known answer, least significant byte first.
  static const uint8_t want[16] = {0xCD, 0x28, 0x73, 0xA9, 0x82, 0x55, 0xA9, 0xA9,
                                   0x74, 0xD9, 0x34, 0x2E, 0x1E, 0x81, 0x50, 0xFE};
  uint8_t got[16];
  ufp4_random_block(0, 0, 0, got);
  for (int i = 0; i < 16; i++) check_bits(i, got[i], want[i], "byte");
}

TEST(block_bytes_match_second_model) {
  check_random_t random = check_random();
  for (int i = 0; i < 2000; i++) {
    const int shift = i % 64;
    const uint64_t seed = check_next(&random) >> shift, id = check_next(&random) >> (63 - shift),
                   group = check_next(&random) >> shift;
    uint8_t golden[16], slow[16];
    ufp4_random_block(seed, id, group, golden);
    reference_random_block(seed, id, group, slow);
    for (int j = 0; j < 16; j++) {
      check_bits(i, golden[j], slow[j], "seed %llx, id %llx, group %llx, byte %d",
                 (unsigned long long)seed, (unsigned long long)id, (unsigned long long)group, j);
    }
  }
}

TEST(tensor_id_fields) {
  check_bits(0, ufp4_tensor_id(0, 0, 0, 0), 0, "zero");
  check_bits(1, ufp4_tensor_id(0, 0, 0, 1), 1, "axis");
  check_bits(2, ufp4_tensor_id(0, 0, 2, 0), 4, "role");
  check_bits(3, ufp4_tensor_id(0, 0xABC, 0, 0), 0xABC0, "layer");
  check_bits(4, ufp4_tensor_id(0x123456789ABC, 0xFFF, 2, 1), 0x123456789ABCFFF5, "all");
}
