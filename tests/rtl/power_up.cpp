// SPDX-License-Identifier: Apache-2.0
// Fills the registers and memories of a model before anything is written to them: with random
// words, so that one that is read before it was written has a wrong parity; other ones for each
// property and seed, the arguments of check_main.
#include <cstdint>

#include "verilated.h"

extern "C" {
#include "check.h"
}

int main(int argc, char **argv) {
  uint64_t hash = 0xCBF29CE484222325u ^ check_seed_of(argc > 2 ? argv[2] : nullptr);  // FNV-1a
  for (const char *c = argc > 1 ? argv[1] : ""; *c != '\0'; c++) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001B3u;
  }
  Verilated::randReset(2);
  Verilated::randSeed(static_cast<int>(hash >> 34) + 1);
  return check_main(argc, argv);
}
