// SPDX-License-Identifier: Apache-2.0
// Tests the built-in recipes of numerics.md, 6; tests/driver/test_recipe.c compares their settings
// with files.
#include <string.h>

#include "check.h"
#include "reference.h"
#include "ufp4/recipe.h"

static ufp4_recipe_t named(const char *name) {
  ufp4_recipe_t recipe = {0};
  check_bits(0, ufp4_recipe_named(name, &recipe), UFP4_OK, "%s", name);
  return recipe;
}

TEST(bf16_and_fp32_quantize_nothing) {
  check_bits(0, (uint64_t)named("bf16").quantized, 0, "bf16");
  check_bits(1, named("bf16").dtype, UFP4_DTYPE_BF16, "bf16");
  check_bits(2, (uint64_t)named("fp32").quantized, 0, "fp32");
  check_bits(3, named("fp32").dtype, UFP4_DTYPE_F32, "fp32");
}

// Both operands of a GEMM are transformed or neither, for any combination of transformed passes.
TEST(operands_of_a_pass_agree_on_rht) {
  ufp4_recipe_t recipe = named("ufp4");
  for (unsigned bits = 0; bits < 8; bits++) {
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++)
      recipe.rht[pass] = (ufp4_rht_t)(bits >> pass & 1);
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
      ufp4_role_t roles[2];
      ufp4_axis_t axes[2];
      ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
      for (int i = 0; i < 2; i++) {
        ufp4_quantize_t how = ufp4_recipe_quantize(&recipe, roles[i], axes[i]);
        check_bits(pass, (uint64_t)how.rht, (uint64_t)recipe.rht[pass],
                   "operand %d with passes 0x%x", i, bits);
        check_bits(pass, how.axis, axes[i], "axis");
        check_bits(pass, how.round, recipe.round[roles[i]][axes[i]], "round");
      }
    }
  }
}

// nvfp4-full is NVIDIA's whole recipe, in which the last 15 % of the linear layers stay in BF16.
TEST(nvfp4_full_is_nvfp4_but_for_the_last_layers) {
  const ufp4_recipe_t nvfp4 = named("nvfp4"), full = named("nvfp4-full");
  for (unsigned i = 0; i < 4 * 8; i++) {
    ufp4_recipe_t of_layer = ufp4_recipe_of_layer(&full, i, 8);
    check_bits(i, (uint64_t)of_layer.quantized, i < 24, "two blocks of eight are in BF16");
    if (!of_layer.quantized) continue;
    memcpy(of_layer.name, nvfp4.name, sizeof nvfp4.name);
    check_that(i, memcmp(&of_layer, &nvfp4, sizeof nvfp4) == 0, "the others are those of nvfp4");
  }
}

TEST(signs_are_fixed_or_drawn_for_each_step) {
  ufp4_recipe_t recipe = named("ufp4");
  check_random_t random = check_random();
  recipe.rht_mask = 0x1234;
  for (int i = 0; i < 1000; i++) {
    const uint64_t seed = check_next(&random), step = check_next(&random) >> (i % 64);
    recipe.signs = UFP4_SIGNS_FIXED;
    check_bits(i, ufp4_recipe_mask(&recipe, seed, step), 0x1234, "fixed");
    recipe.signs = UFP4_SIGNS_STEP;
    check_bits(i, ufp4_recipe_mask(&recipe, seed, step), reference_signs(seed, step), "drawn");
  }
  // numerics.md works this example out.
  check_bits(0, ufp4_recipe_mask(&recipe, 0, 0), 0x1FA9, "step 0");
  check_bits(1, ufp4_recipe_mask(&recipe, 0, 1), 0x6434, "step 1");
  check_that(2, ufp4_recipe_model_key(&recipe) != NULL, "they need a training");
}

// Takes the next name from a list of names.
static int next_name(const char **rest, char name[32]) {
  const size_t length = strcspn(*rest, ",");
  if (length == 0 || length > 31) return 0;
  memcpy(name, *rest, length);
  name[length] = '\0';
  *rest += length + ((*rest)[length] == ',' ? 2 : 0);
  return 1;
}

// Both have NVFP4's levels with a uniform grid and differ from nvfp4 in the elements only.
TEST(nvint4_and_nve1m2_are_nvfp4_but_for_the_elements) {
  static const char *const names[] = {"nvint4", "nve1m2"};
  const ufp4_recipe_t nvfp4 = named("nvfp4");
  for (int i = 0; i < 2; i++) {
    ufp4_recipe_t recipe = named(names[i]);
    check_bits(i, recipe.elem, i ? UFP4_ELEM_E1M2 : UFP4_ELEM_INT4, "elem");
    recipe.elem = UFP4_ELEM_E2M1;
    memcpy(recipe.name, nvfp4.name, sizeof nvfp4.name);
    check_that(i, memcmp(&recipe, &nvfp4, sizeof recipe) == 0, "the rest is that of nvfp4");
  }
}

// Recipes of uniform grids with NVFP4's levels are excepted, because only the model has them.
TEST(recipes_are_legal_on_model_and_rtl) {
  const char *rest = UFP4_RECIPE_NAMES;
  char name[32];
  int count = 0;
  for (; next_name(&rest, name); count++) {
    const ufp4_recipe_t recipe = named(name);
    for (int i = 0; i < 2; i++) {
      const char *backend = i ? "rtl" : "model";
      ufp4_message_t message = {0};
      const int model_only = i && recipe.quantized && recipe.scale == UFP4_SCALE_NVFP4 &&
                             recipe.elem != UFP4_ELEM_E2M1;
      check_bits(i, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, backend, &message),
                 model_only ? UFP4_ERROR_UNSUPPORTED : UFP4_OK, "%s on %s: %s", name, backend,
                 message.text);
    }
  }
  check_bits(0, (uint64_t)count, 13, "recipes");
}

// The recipe is legal if the illegal pass is not asked for.
TEST(rejects_a_pass_that_is_illegal) {
  ufp4_recipe_t recipe = named("nvfp4");
  ufp4_message_t message = {0};
  recipe.rht[UFP4_PASS_WGRAD] = UFP4_RHT_INTEGER;
  check_bits(0, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, NULL, &message), UFP4_ERROR_ARGUMENT,
             "%s", message.text);
  check_that(1, message.text[0] != '\0', "no message");
  check_bits(2, ufp4_recipe_check(&recipe, 1u << UFP4_PASS_FPROP, NULL, NULL), UFP4_OK, "fprop");
  check_bits(3, ufp4_recipe_check(NULL, UFP4_PASSES_ALL, NULL, NULL), UFP4_ERROR_ARGUMENT,
             "no recipe");
}

// A copy has the settings of the pass that it enters.
TEST(copies_of_a_role_round_each_in_its_way) {
  ufp4_recipe_t recipe = named("ufp4");
  recipe.round[UFP4_ROLE_DY][UFP4_AXIS_ROW] = UFP4_ROUND_RNE;
  recipe.scale_round[UFP4_ROLE_W][UFP4_AXIS_COL] = UFP4_SCALE_ROUND_UP;
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    const int role = i / 2, axis = i % 2;
    ufp4_quantize_t how = ufp4_recipe_quantize(&recipe, (ufp4_role_t)role, (ufp4_axis_t)axis);
    check_bits(i, how.round, role == UFP4_ROLE_DY && axis == UFP4_AXIS_COL, "round");
    const int up = role == UFP4_ROLE_DY || (role == UFP4_ROLE_W && axis == UFP4_AXIS_COL);
    check_bits(i, how.scale_round, up ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE, "scale_round");
  }
}

// A pass in BF16 need not be a legal combination.
TEST(bf16_passes_are_not_quantized) {
  ufp4_recipe_t recipe = named("nvfp4");
  recipe.bf16_passes = 1u << UFP4_PASS_WGRAD;
  recipe.rht[UFP4_PASS_WGRAD] = UFP4_RHT_INTEGER;
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    check_bits(pass, (uint64_t)ufp4_recipe_quantizes(&recipe, (ufp4_pass_t)pass),
               pass != UFP4_PASS_WGRAD, "pass %d", pass);
  }
  check_bits(3, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, NULL, NULL), UFP4_OK, "legal");
  recipe = named("bf16");
  check_bits(4, (uint64_t)ufp4_recipe_quantizes(&recipe, UFP4_PASS_FPROP), 0, "bf16");
}

// Returns which layers of a model are in BF16, bit 4 * block + matrix for each.
static uint64_t bf16_layers(const ufp4_recipe_t *recipe, unsigned blocks) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < blocks * UFP4_MATRIX_COUNT; i++) {
    const ufp4_recipe_t of_layer = ufp4_recipe_of_layer(recipe, i, blocks);
    check_that(i, ufp4_recipe_model_key(&of_layer) == NULL, "a layer needs no model");
    bits |= (uint64_t)(!of_layer.quantized && of_layer.dtype == UFP4_DTYPE_BF16) << i;
  }
  return bits;
}

TEST(bf16_layers_are_whole_blocks_and_matrices_by_name) {
  static const char *const names[UFP4_MATRIX_COUNT] = {"qkv", "proj", "fc1", "fc2"};
  for (unsigned i = 0; i < UFP4_MATRIX_COUNT; i++)
    check_that(i, strcmp(ufp4_matrix_name(i), names[i]) == 0, "%s", ufp4_matrix_name(i));
  ufp4_recipe_t recipe = named("ufp4");
  check_that(0, ufp4_recipe_model_key(&recipe) == NULL, "ufp4 needs no model");
  check_bits(0, bf16_layers(&recipe, 4), 0, "none");
  recipe.bf16_layers.first.blocks = 1;
  check_that(1, ufp4_recipe_model_key(&recipe) != NULL, "bf16_layers need a model");
  check_bits(1, bf16_layers(&recipe, 4), 0xF, "the first block");
  recipe.bf16_layers.last.blocks = 2;
  check_bits(2, bf16_layers(&recipe, 4), 0xFF0F, "the last two too");
  recipe.bf16_layers.matrices = 1u << UFP4_MATRIX_FC2;
  check_bits(3, bf16_layers(&recipe, 4), 0xFF8F, "fc2 everywhere");
  recipe.bf16_layers.first.blocks = 9;
  recipe.requantize = 1;
  check_bits(4, (uint64_t)ufp4_recipe_of_layer(&recipe, 0, 4).requantize, 0, "nothing to keep");
  check_bits(4, bf16_layers(&recipe, 4), 0xFFFF, "more than there are");
  recipe.quantized = 0;
  recipe.dtype = UFP4_DTYPE_F32;
  check_bits(5, bf16_layers(&recipe, 4), 0, "a recipe that does not quantize stays what it is");
}

// The share is 15 % of n blocks, rounded up.
TEST(a_share_of_a_model_is_whole_blocks) {
  static const struct {
    unsigned blocks, want;
  } cases[] = {{1, 1}, {4, 1}, {6, 1}, {7, 2}, {8, 2}, {13, 2}, {14, 3}, {16, 3}};
  ufp4_recipe_t recipe = named("ufp4");
  recipe.bf16_layers.last.percent = 15;
  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    const unsigned quantized = 4 * (cases[i].blocks - cases[i].want);
    const uint64_t all =
        cases[i].blocks == 16 ? UINT64_MAX : (UINT64_C(1) << 4 * cases[i].blocks) - 1;
    check_bits(i, bf16_layers(&recipe, cases[i].blocks), all >> quantized << quantized,
               "of %u blocks", cases[i].blocks);
  }
}

TEST(rejects_requantize_without_a_quantized_fprop) {
  ufp4_recipe_t recipe = named("ufp4");
  ufp4_message_t message = {0};
  recipe.requantize = 1;
  check_bits(0, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, NULL, &message), UFP4_OK, "%s",
             message.text);
  recipe.bf16_passes = 1u << UFP4_PASS_FPROP;
  check_bits(1, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, NULL, &message), UFP4_ERROR_ARGUMENT,
             "FPROP in BF16");
  check_that(1, strstr(message.text, "requantize") != NULL, "the message is: %s", message.text);
}

TEST(rejects_other_names) {
  static const char *const names[] = {"", "UFP4", "nvfp8", "MXFP4", "ufp4 "};
  ufp4_recipe_t recipe;
  for (int i = 0; i < 5; i++)
    check_bits(i, ufp4_recipe_named(names[i], &recipe), UFP4_ERROR_ARGUMENT, "'%s'", names[i]);
  check_bits(5, ufp4_recipe_named(NULL, &recipe), UFP4_ERROR_ARGUMENT, "no name");
  check_bits(6, ufp4_recipe_named("ufp4", NULL), UFP4_ERROR_ARGUMENT, "nowhere to put it");
}
