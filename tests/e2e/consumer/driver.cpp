// SPDX-License-Identifier: Apache-2.0
// Includes the headers of the driver in C++.
#include <ufp4.h>
#include <ufp4_file.h>

#include <cstring>

int main() {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_message_t message;
  options.message = &message;
  ufp4_device_t *device = nullptr;
  if (ufp4_device_open("no such backend", &options, &device) != UFP4_ERROR_ARGUMENT ||
      device != nullptr)
    return 1;
  options.memory_bytes = 1 << 20;
  if (ufp4_device_open("model", &options, &device) != UFP4_OK) return 2;
  ufp4_device_close(device);
  ufp4_operand_t operand;
  ufp4_quantize_t how;
  if (ufp4_operand_read("no-such.safetensors", &operand, &how, &message) != UFP4_ERROR_IO) return 3;
  ufp4_tensor_t tensor;
  if (ufp4_file_read("no-such.safetensors:x", 0, &tensor, &message) != UFP4_ERROR_IO) return 4;
  if (std::strncmp(message.text, "no-such.safetensors:", 20) != 0) return 5;
  return 0;
}
