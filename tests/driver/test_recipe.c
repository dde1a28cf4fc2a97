// SPDX-License-Identifier: Apache-2.0
// The recipes of numerics.md, 6.
#include <stdio.h>
#include <string.h>

#include "bench.h"

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

TEST(bf16_quantizes_nothing) {
  check_bits(0, (uint64_t)named("bf16").quantized, 0, "quantized");
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
  static const char *const names[] = {"bf16", "ufp4", "e2m1", "nvfp4", "mxfp4"};
  for (int i = 0; i < 10; i++) {
    const char *backend = i % 2 ? "rtl" : "model";
    ufp4_recipe_t recipe = named(names[i / 2]);
    ufp4_message_t message = {0};
    check_bits(i, ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, backend, &message), UFP4_OK,
               "%s on %s: %s", names[i / 2], backend, message.text);
  }
}

// --- Files --------------------------------------------------------------------------------------

static ufp4_status_t read_text(const char *text, ufp4_recipe_t *recipe, ufp4_message_t *message) {
  ufp4_status_t status =
      ufp4_recipe_read(bench_file("mine.json", text, strlen(text)), recipe, message);
  bench_remove("mine.json");
  return status;
}

static void check_same(const ufp4_recipe_t *got, const ufp4_recipe_t *want) {
  check_that(0, strcmp(got->name, want->name) == 0, "name %s, want %s", got->name, want->name);
  check_bits(0, (uint64_t)got->quantized, (uint64_t)want->quantized, "quantized");
  check_bits(0, got->elem, want->elem, "elem");
  check_bits(0, got->scale, want->scale, "scale");
  check_bits(0, got->rht_mask, want->rht_mask, "rht_mask");
  check_bits(0, got->contract, want->contract, "contract");
  for (int i = 0; i < 3; i++) {
    check_bits(i, got->rht[i], want->rht[i], "rht");
    check_bits(i, got->round[i], want->round[i], "round");
    check_bits(i, got->scale_round[i], want->scale_round[i], "scale_round");
    check_bits(i, got->layout[i], want->layout[i], "layout");
  }
}

// A built-in recipe's settings under a name that a file may have.
static ufp4_recipe_t renamed(const char *name) {
  ufp4_recipe_t recipe = named(name);
  snprintf(recipe.name, sizeof recipe.name, "mine");
  return recipe;
}

TEST(a_file_says_what_ufp4_is) {
  const ufp4_recipe_t want = renamed("ufp4");
  ufp4_recipe_t got;
  ufp4_message_t message = {0};
  ufp4_status_t status = read_text(
      "{\"name\": \"mine\", \"elem\": \"e1m2\", \"rht\": \"integer\", \"rht_mask\": \"0xD7E8\","
      " \"round\": {\"dy\": \"sr\"}, \"scale_round\": {\"dy\": \"up\"}}",
      &got, &message);
  bench_check_status(0, status, UFP4_OK, &message);
  check_same(&got, &want);
}

TEST(a_file_says_what_nvfp4_is) {
  const ufp4_recipe_t want = renamed("nvfp4");
  ufp4_recipe_t got;
  ufp4_message_t message = {0};
  ufp4_status_t status = read_text(
      "{\"name\": \"mine\", \"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"rht\": {\"wgrad\": "
      "\"bf16\"},"
      " \"round\": {\"dy\": \"sr\"}, \"layout\": {\"w\": \"2d\"}}",
      &got, &message);
  bench_check_status(0, status, UFP4_OK, &message);
  check_same(&got, &want);
}

TEST(rejects_files_that_are_no_recipes) {
  static const char *const texts[] = {
      "",
      "[]",
      "{\"elem\": \"e1m2\"",
      "{}",
      "{\"elem\": \"fp4\"}",
      "{\"elem\": 1}",
      "{\"elem\": \"e1m2\", \"elem\": \"e1m2\"}",
      "{\"elem\": \"e1m2\", \"colour\": \"red\"}",
      "{\"elem\": \"e1m2\", \"rht\": \"on\"}",
      "{\"elem\": \"e1m2\", \"rht\": {\"x\": \"integer\"}}",
      "{\"elem\": \"e1m2\", \"round\": {\"fprop\": \"sr\"}}",
      "{\"elem\": \"e1m2\", \"rht_mask\": \"0x10000\"}",
      "{\"elem\": \"e1m2\", \"name\": \"\"}",
      "{\"elem\": \"e1m2\", \"scale\": \"nvfp4\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"rht\": \"integer\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"accumulate\": \"exact\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"scale_round\": {\"x\": \"rne\"}}",
      "{\"elem\": \"int4\", \"accumulate\": \"nv\"}",
      "{\"elem\": \"e2m1\", \"layout\": \"2d\", \"rht\": \"integer\"}",
  };
  for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
    ufp4_recipe_t recipe;
    ufp4_message_t message = {0};
    bench_check_status(i, read_text(texts[i], &recipe, &message), UFP4_ERROR_FORMAT, &message);
  }
}

static ufp4_status_t read_name(const char *name, ufp4_recipe_t *recipe, ufp4_message_t *message) {
  char text[128];
  snprintf(text, sizeof text, "{\"elem\": \"e1m2\", \"name\": \"%s\"}", name);
  return read_text(text, recipe, message);
}

TEST(names_have_letters_digits_and_four_signs) {
  static const char *const good[] = {"a", "A.b_c+d-9", "-",
                                     "0", "\xC3\xBC",  "0123456789012345678901234567890"};
  static const char *const bad[] = {"a b",
                                    "a,b",
                                    "a\\nb",
                                    "\\u0001",
                                    "<i>",
                                    "a&b",
                                    "a\\\"b",
                                    "a/b",
                                    ".a",
                                    "..",
                                    "a:b",
                                    "a;b",
                                    "012345678901234567890123456789012"};
  ufp4_recipe_t recipe;
  ufp4_message_t message = {0};
  for (int i = 0; i < (int)(sizeof good / sizeof good[0]); i++) {
    bench_check_status(i, read_name(good[i], &recipe, &message), UFP4_OK, &message);
    check_that(i, strcmp(recipe.name, good[i]) == 0, "name %s, want %s", recipe.name, good[i]);
  }
  for (int i = 0; i < (int)(sizeof bad / sizeof bad[0]); i++) {
    bench_check_status(i, read_name(bad[i], &recipe, &message), UFP4_ERROR_FORMAT, &message);
  }
}

TEST(rejects_the_name_of_a_built_in_recipe) {
  static const char *const names[] = {"bf16", "ufp4", "e2m1", "nvfp4", "mxfp4"};
  ufp4_recipe_t recipe;
  ufp4_message_t message = {0};
  for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
    bench_check_status(i, read_name(names[i], &recipe, &message), UFP4_ERROR_FORMAT, &message);
    check_that(i, strstr(message.text, "built-in") != NULL, "'%s'", message.text);
  }
}

TEST(a_files_own_name_is_made_fit) {
  static const char text[] = "{\"elem\": \"e1m2\"}";
  ufp4_recipe_t recipe;
  ufp4_message_t message = {0};
  const char *path = bench_file("a b,(c).x.json", text, strlen(text));
  bench_check_status(0, ufp4_recipe_read(path, &recipe, &message), UFP4_OK, &message);
  bench_remove("a b,(c).x.json");
  const size_t length = strlen(recipe.name);
  check_that(0, length >= 7 && strcmp(recipe.name + length - 7, "a-b--c-") == 0, "name %s",
             recipe.name);
}

TEST(rejects_a_recipe_file_that_is_not_there) {
  ufp4_recipe_t recipe;
  ufp4_message_t message = {0};
  bench_check_status(0, ufp4_recipe_read(bench_path("absent.json"), &recipe, &message),
                     UFP4_ERROR_IO, &message);
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
      CHECK_TEST(bf16_quantizes_nothing),
      CHECK_TEST(operands_of_a_pass_agree_on_rht),
      CHECK_TEST(nvfp4_has_tiles_of_weights_and_rht_in_wgrad_only),
      CHECK_TEST(mxfp4_rounds_scales_down_and_has_no_rht),
      CHECK_TEST(recipes_are_legal_on_model_and_rtl),
      CHECK_TEST(a_file_says_what_ufp4_is),
      CHECK_TEST(a_file_says_what_nvfp4_is),
      CHECK_TEST(rejects_files_that_are_no_recipes),
      CHECK_TEST(names_have_letters_digits_and_four_signs),
      CHECK_TEST(rejects_the_name_of_a_built_in_recipe),
      CHECK_TEST(a_files_own_name_is_made_fit),
      CHECK_TEST(rejects_a_recipe_file_that_is_not_there),
      CHECK_TEST(rejects_other_names),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
