// SPDX-License-Identifier: Apache-2.0
// The library of the backend cuda for a CPU: the same source, on the emulated GPU.
#include "emulated_weather.h"
#include "library.cu"
#include "vendor.cu"

extern "C" __attribute__((visibility("default"))) void emulated_set_weather(
    const emulated_weather_t *weather) {
  emulated::weather = *weather;
}

extern "C" __attribute__((visibility("default"))) uint64_t emulated_products(void) {
  const uint64_t products = emulated::products;
  emulated::products = 0;
  return products;
}

extern "C" __attribute__((visibility("default"))) void emulated_transform_bf16(uint32_t bits[16],
                                                                               uint16_t mask) {
  hadamard_bf16(bits, mask);
}
