// SPDX-License-Identifier: Apache-2.0
// The main of a test program that defines none; only then does the linker take it from the library.
#include "check.h"

int main(int argc, char **argv) {
  return check_main(argc, argv);
}
