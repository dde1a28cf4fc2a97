// SPDX-License-Identifier: Apache-2.0
// main of a test program that has none: the linker takes it from the library only then.
#include "check.h"

int main(int argc, char **argv) {
  return check_main(argc, argv);
}
