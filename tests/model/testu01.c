// SPDX-License-Identifier: Apache-2.0
// testu01 BATTERY: a battery of TestU01 (small, medium or big: SmallCrush, Crush, BigCrush) on the 32-bit words, low
// byte first, that stdin holds without end. TestU01's own report, then every p-value outside 0.001 .. 0.999. Exit
// status 1 if one lies outside 1e-6 .. 1 - 1e-6, which by chance happens once in some thousand runs of the largest
// battery.
#include <TestU01.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int next_word(void) {
  unsigned char bytes[4];
  if (fread(bytes, 1, sizeof bytes, stdin) != sizeof bytes) {
    fprintf(stderr, "testu01: the input ended\n");
    exit(2);
  }
  return (unsigned int)bytes[3] << 24 | (unsigned int)bytes[2] << 16 | (unsigned int)bytes[1] << 8 | bytes[0];
}

static int verdict(void) {
  int failed = 0;
  for (int i = 0; i < bbattery_NTests; i++) {
    const double p = bbattery_pVal[i];
    if (p > 0.001 && p < 0.999) continue;
    failed |= p < 1e-6 || p > 1 - 1e-6;
    printf("outside 0.001 .. 0.999: %s, p = %g\n", bbattery_TestNames[i], p);
  }
  printf("%d p-values: %s\n", bbattery_NTests, failed ? "FAILED" : "passed");
  return failed;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(unif01_Gen *);
  } batteries[] = {{"small", bbattery_SmallCrush}, {"medium", bbattery_Crush}, {"big", bbattery_BigCrush}};
  char name[] = "stdin";
  for (size_t i = 0; argc == 2 && i < sizeof batteries / sizeof batteries[0]; i++) {
    if (strcmp(argv[1], batteries[i].name) != 0) continue;
    unif01_Gen *words = unif01_CreateExternGenBits(name, next_word);
    swrite_Basic = FALSE;
    batteries[i].run(words);
    unif01_DeleteExternGenBits(words);
    return verdict();
  }
  fprintf(stderr, "usage: %s small|medium|big\n", argv[0]);
  return 2;
}
