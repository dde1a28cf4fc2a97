// SPDX-License-Identifier: Apache-2.0
// ufp4.h from C++.
#include <ufp4.h>

int main() {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_message_t message;
  options.message = &message;
  ufp4_device_t *device = nullptr;
  if (ufp4_device_open("no such backend", &options, &device) != UFP4_ERROR_ARGUMENT || device != nullptr) return 1;
  options.memory_bytes = 1 << 20;
  if (ufp4_device_open("model", &options, &device) != UFP4_OK) return 2;
  ufp4_device_close(device);
  return 0;
}
