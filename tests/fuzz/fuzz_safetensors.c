// SPDX-License-Identifier: Apache-2.0
// Reads plain tensors by name from .safetensors files. The input: length of the name, the name, the
// file.
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "ufp4_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char named[600], name[64] = "";
  ufp4_message_t message = {0};
  ufp4_tensor_t tensor;
  fuzz_input_t input = {data, size};
  size_t length = fuzz_below(&input, sizeof name - 1);
  fuzz_bytes(&input, name, length);
  snprintf(named, sizeof named, "%s%s%s", fuzz_safetensors("t.safetensors", input.at, input.left),
           name[0] != '\0' ? ":" : "", name);
  ufp4_status_t status = ufp4_file_read(named, 0, &tensor, &message);
  fuzz_demand_message(status, &message);
  // If the name contains ".safetensors:", the path ends there and names another file, which does
  // not exist.
  fuzz_demand(status == UFP4_OK || status == UFP4_ERROR_FORMAT || status == UFP4_ERROR_IO,
              "FORMAT or IO");
  fuzz_demand((status == UFP4_OK) == (tensor.data != NULL), "a tensor if and only if it is read");
  if (status != UFP4_OK) return 0;
  fuzz_demand(tensor.view.rows > 0 && tensor.view.cols > 0, "a tensor has rows and columns");
  ufp4_tensor_free(&tensor);
  return 0;
}
