// SPDX-License-Identifier: Apache-2.0
#include "ufp4/version.h"

#include <string.h>

#include "ufp4/gemm.h"
#include "ufp4/recipe.h"
#include "ufp4/rounding.h"
#include "ufp4/tensor.h"

uint32_t ufp4_version(void) {
  return UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
}

#define STRUCT(type) {#type, sizeof(type)}

size_t ufp4_struct_bytes(const char *name) {
  static const struct {
    const char *name;
    size_t bytes;
  } structs[] = {STRUCT(ufp4_matrix_t),  STRUCT(ufp4_operand_t),  STRUCT(ufp4_quantize_t),
                 STRUCT(ufp4_gemm_t),    STRUCT(ufp4_recipe_t),   STRUCT(ufp4_tensor_t),
                 STRUCT(ufp4_message_t), STRUCT(ufp4_rounding_t), STRUCT(ufp4_configuration_t)};
  for (size_t i = 0; name != NULL && i < sizeof structs / sizeof structs[0]; i++) {
    if (strcmp(name, structs[i].name) == 0) return structs[i].bytes;
  }
  return 0;
}
