// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "ufp4.h"

uint32_t ufp4_driver_version(void) {
  return UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
}

#define STRUCT(type) {#type, sizeof(type)}

size_t ufp4_driver_struct_bytes(const char *name) {
  static const struct {
    const char *name;
    size_t bytes;
  } structs[] = {STRUCT(ufp4_device_options_t), STRUCT(ufp4_device_info_t),
                 STRUCT(ufp4_gemm_stats_t), STRUCT(ufp4_quantize_stats_t),
                 STRUCT(ufp4_linear_shape_t)};
  for (size_t i = 0; name != NULL && i < sizeof structs / sizeof structs[0]; i++) {
    if (strcmp(name, structs[i].name) == 0) return structs[i].bytes;
  }
  return 0;
}
