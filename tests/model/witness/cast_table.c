// SPDX-License-Identifier: Apache-2.0
// Writes the E2M1 code and the E4M3 byte of every BF16 pattern to stdout, two bytes each, for
// witness_ml_dtypes.py.
#include <stdio.h>

#include "ufp4/format.h"

int main(void) {
  for (uint32_t i = 0; i < 65536; i++) {
    const float x = ufp4_f32_value(i << 16);
    if (putchar(ufp4_elem_cast(UFP4_ELEM_E2M1, x)) == EOF || putchar(ufp4_e4m3_cast(x)) == EOF)
      return 1;
  }
  return fflush(stdout) != 0;
}
