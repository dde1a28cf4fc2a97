// SPDX-License-Identifier: Apache-2.0
// The built-in recipes of numerics.md, 6.
#include "check.h"
#include "ufp4/recipe.h"

static ufp4_recipe_t named(const char *name) {
  ufp4_recipe_t recipe = {0};
  check_bits(0, ufp4_recipe_named(name, &recipe), UFP4_OK, "%s", name);
  return recipe;
}

TEST(ufp4_is_uniform_with_rht_everywhere) {
  ufp4_recipe_t recipe = named("ufp4");
  check_bits(0, recipe.elem, UFP4_ELEM_E1M2, "elem");
  check_bits(1, recipe.rht_mask, 0xD7E8, "mask");
  for (int i = 0; i < UFP4_PASS_COUNT; i++)
    check_bits(i, (uint64_t)recipe.rht[i], 1, "RHT of pass %d", i);
}

TEST(e2m1_has_rht_in_wgrad_only) {
  ufp4_recipe_t recipe = named("e2m1");
  check_bits(0, recipe.elem, UFP4_ELEM_E2M1, "elem");
  for (int i = 0; i < UFP4_PASS_COUNT; i++)
    check_bits(i, (uint64_t)recipe.rht[i], i == UFP4_PASS_WGRAD, "pass %d", i);
}

TEST(stochastic_and_up_for_dy_only) {
  static const char *const names[] = {"ufp4", "e2m1"};
  for (int i = 0; i < 2; i++) {
    ufp4_recipe_t recipe = named(names[i]);
    for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
      check_bits(role, recipe.round[role], role == UFP4_ROLE_DY ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
                 "round");
      check_bits(role, recipe.scale_round[role], role == UFP4_ROLE_DY, "scale_round");
    }
  }
}

TEST(bf16_and_fp32_quantize_nothing) {
  check_bits(0, (uint64_t)named("bf16").quantized, 0, "bf16");
  check_bits(1, named("bf16").dtype, UFP4_DTYPE_BF16, "bf16");
  check_bits(2, (uint64_t)named("fp32").quantized, 0, "fp32");
  check_bits(3, named("fp32").dtype, UFP4_DTYPE_F32, "fp32");
}

// Both operands of a GEMM are transformed or neither, whatever the recipe says of its passes.
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
        check_bits(pass, how.round, recipe.round[roles[i]], "round");
      }
    }
  }
}

TEST(nvfp4_has_tiles_of_weights_and_rht_in_wgrad_only) {
  ufp4_recipe_t recipe = named("nvfp4");
  check_bits(0, recipe.elem, UFP4_ELEM_E2M1, "elem");
  check_bits(1, recipe.scale, UFP4_SCALE_NVFP4, "scale");
  check_bits(2, recipe.contract, UFP4_CONTRACT_EXACT, "contract");
  for (int i = 0; i < 3; i++) {
    check_bits(i, recipe.layout[i], i == UFP4_ROLE_W ? UFP4_LAYOUT_2D : UFP4_LAYOUT_1D,
               "layout of role %d", i);
    check_bits(i, recipe.rht[i], i == UFP4_PASS_WGRAD ? UFP4_RHT_BF16 : UFP4_RHT_NONE,
               "RHT of pass %d", i);
    check_bits(i, recipe.round[i], i == UFP4_ROLE_DY ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
               "round of role %d", i);
    check_bits(i, recipe.scale_round[i], UFP4_SCALE_ROUND_RNE, "scale_round of role %d", i);
  }
}

TEST(mxfp4_rounds_scales_down_and_has_no_rht) {
  ufp4_recipe_t recipe = named("mxfp4");
  check_bits(0, recipe.elem, UFP4_ELEM_E2M1, "elem");
  check_bits(1, recipe.scale, UFP4_SCALE_E8M0, "scale");
  check_bits(2, recipe.contract, UFP4_CONTRACT_FP32, "contract");
  for (int i = 0; i < 3; i++) {
    check_bits(i, recipe.layout[i], UFP4_LAYOUT_1D, "layout of role %d", i);
    check_bits(i, recipe.rht[i], UFP4_RHT_NONE, "RHT of pass %d", i);
    check_bits(i, recipe.round[i], i == UFP4_ROLE_DY ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
               "round of role %d", i);
    check_bits(i, recipe.scale_round[i], UFP4_SCALE_ROUND_DOWN, "scale_round of role %d", i);
  }
}

TEST(recipes_are_legal_on_model_and_rtl) {
  static const char *const names[] = {"fp32", "bf16", "ufp4", "e2m1", "nvfp4", "mxfp4"};
  for (int i = 0; i < 12; i++) {
    const char *backend = i % 2 ? "rtl" : "model";
    ufp4_recipe_t recipe = named(names[i / 2]);
    ufp4_message_t message = {0};
    check_bits(i, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, backend, &message), UFP4_OK,
               "%s on %s: %s", names[i / 2], backend, message.text);
  }
}

// A pass that is not asked for does not matter.
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

TEST(rejects_other_names) {
  static const char *const names[] = {"", "UFP4", "nvfp8", "MXFP4", "ufp4 "};
  ufp4_recipe_t recipe;
  for (int i = 0; i < 5; i++)
    check_bits(i, ufp4_recipe_named(names[i], &recipe), UFP4_ERROR_ARGUMENT, "'%s'", names[i]);
  check_bits(5, ufp4_recipe_named(NULL, &recipe), UFP4_ERROR_ARGUMENT, "no name");
  check_bits(6, ufp4_recipe_named("ufp4", NULL), UFP4_ERROR_ARGUMENT, "nowhere to put it");
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(ufp4_is_uniform_with_rht_everywhere),
      CHECK_TEST(e2m1_has_rht_in_wgrad_only),
      CHECK_TEST(stochastic_and_up_for_dy_only),
      CHECK_TEST(bf16_and_fp32_quantize_nothing),
      CHECK_TEST(operands_of_a_pass_agree_on_rht),
      CHECK_TEST(nvfp4_has_tiles_of_weights_and_rht_in_wgrad_only),
      CHECK_TEST(mxfp4_rounds_scales_down_and_has_no_rht),
      CHECK_TEST(recipes_are_legal_on_model_and_rtl),
      CHECK_TEST(rejects_a_pass_that_is_illegal),
      CHECK_TEST(rejects_other_names),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
