// SPDX-License-Identifier: Apache-2.0
// Includes every header of the golden model in C++ and calls a few functions.
#include <ufp4/combination.h>
#include <ufp4/format.h>
#include <ufp4/gemm.h>
#include <ufp4/matrix.h>
#include <ufp4/panel.h>
#include <ufp4/quantize.h>
#include <ufp4/random.h>
#include <ufp4/recipe.h>
#include <ufp4/rht.h>
#include <ufp4/spec.h>
#include <ufp4/status.h>
#include <ufp4/tensor.h>

#include <cstdio>

int main() {
  uint8_t bytes[16];
  ufp4_random_block(0, 0x40, 0, bytes);
  ufp4_message_t message;
  ufp4_tensor_t tensor;
  const bool missing = ufp4_tensor_read("no-such-file.npy", 0, &tensor, &message) == UFP4_ERROR_IO;
  std::printf("%02x %g %s\n", bytes[0], ufp4_e4m3_value(0x7E), message.text);
  return bytes[0] == 0x86 && ufp4_e4m3_value(0x7E) == 448.0f && ufp4_e4m3_cast(440.0f) == 0x7E &&
                 missing
             ? 0
             : 1;
}
