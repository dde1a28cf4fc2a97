// SPDX-License-Identifier: Apache-2.0
// Reads recipes as JSON files: a recipe that is read is legal everywhere it is used.
#include <string.h>

#include "fuzz.h"
#include "ufp4.h"

static void check_recipe(const ufp4_recipe_t *recipe) {
  fuzz_demand(recipe->quantized && memchr(recipe->name, '\0', sizeof recipe->name) != NULL &&
                  recipe->name[0] != '\0',
              "a recipe has a name");
  fuzz_demand(ufp4_recipe_check(recipe, UFP4_PASSES_ALL, NULL, NULL) == UFP4_OK,
              "all passes are legal");
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2 && ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass); i++) {
      const float numbers[2] = {1.5f, -3};
      const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 2, 2, numbers};
      const ufp4_quantize_t how = ufp4_recipe_quantize(recipe, roles[i], axes[i]);
      ufp4_operand_t out;
      fuzz_demand(ufp4_quantize(&in, &how, &out) == UFP4_OK, "it quantizes");
      ufp4_operand_free(&out);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ufp4_message_t message = {0};
  ufp4_recipe_t recipe, before;
  memset(&recipe, 0x5A, sizeof recipe);
  before = recipe;
  ufp4_status_t status =
      ufp4_recipe_read(fuzz_file("a.recipe.json", data, size), &recipe, &message);
  fuzz_demand_message(status, &message);
  fuzz_demand(status == UFP4_OK || status == UFP4_ERROR_FORMAT, "OK or FORMAT");
  if (status == UFP4_OK)
    check_recipe(&recipe);
  else
    fuzz_demand(memcmp(&recipe, &before, sizeof recipe) == 0,
                "a recipe that is refused is not written");
  return 0;
}
