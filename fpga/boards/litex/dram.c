// SPDX-License-Identifier: Apache-2.0
// Firmware of LiteDRAM's processor. It runs LiteX's training of the DRAM and a test of its first
// bytes, which set init_done and init_error. It prints nothing, because there is no serial port.
#include <stdint.h>

#include "liblitedram/sdram.h"
#include "memtest.h"

int main(void);
void isr(void);
int printf(const char *format, ...);

int printf(const char *format, ...) {
  (void)format;
  return 0;
}

// Writes and reads words that are all different, then their complements.
int memtest(unsigned int *addr, unsigned long maxsize) {
  volatile unsigned int *word = addr;
  const unsigned int words = maxsize / sizeof *addr;
  unsigned int wrong = 0;
  for (unsigned int flip = 0; flip < 2; flip++) {
    for (unsigned int i = 0, is = 0; i < words; i++, is += 0x9E3779B1u) word[i] = is ^ -flip;
    for (unsigned int i = 0, is = 0; i < words; i++, is += 0x9E3779B1u)
      wrong += word[i] != (is ^ -flip);
  }
  return wrong == 0;
}

void memspeed(unsigned int *addr, unsigned long size, bool read_only, bool random) {
  (void)addr, (void)size, (void)read_only, (void)random;
}

void isr(void) {}

int main(void) {
  sdram_init();
  return 0;
}
