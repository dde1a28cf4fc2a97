// SPDX-License-Identifier: Apache-2.0
// Tests the suffixes of recipes (numerics.md, 6): RHT and stochastic rounding by GEMM.
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "ufp4/recipe.h"

static ufp4_recipe_t named(const char *name) {
  ufp4_recipe_t recipe = {0};
  check_bits(0, ufp4_recipe_named(name, &recipe), UFP4_OK, "%s", name);
  return recipe;
}

// Returns "none" or the passes joined by +, from the highest bit to the lowest, which is not their
// usual order.
static const char *list_of(unsigned passes, char list[24]) {
  static const char *const names[] = {"fprop", "dgrad", "wgrad"};
  list[0] = '\0';
  for (int pass = 2; pass >= 0; pass--) {
    if (!(passes >> pass & 1)) continue;
    if (list[0] != '\0') strcat(list, "+");
    strcat(list, names[pass]);
  }
  return passes == 0 ? "none" : list;
}

static const char *const quantized[] = {"ufp4", "e2m1", "mxfp4"};
enum { QUANTIZED = sizeof quantized / sizeof quantized[0] };

TEST(rht_goes_by_gemm_and_both_operands_have_it) {
  for (unsigned i = 0; i < 8 * QUANTIZED; i++) {
    char list[24], name[64];
    snprintf(name, sizeof name, "%s/rht=%s", quantized[i / 8], list_of(i % 8, list));
    ufp4_recipe_t got = named(name), want = named(quantized[i / 8]);
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
      ufp4_role_t roles[2];
      ufp4_axis_t axes[2];
      const ufp4_rht_t rht = i % 8 >> pass & 1 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
      ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
      for (int at = 0; at < 2; at++)
        check_bits(pass, ufp4_recipe_quantize(&got, roles[at], axes[at]).rht, rht, "%s", name);
      want.rht[pass] = rht;
    }
    memcpy(want.name, got.name, sizeof want.name);
    check_that(i, memcmp(&got, &want, sizeof got) == 0, "%s changes more than the transform", name);
  }
}

TEST(sr_goes_by_gemm_with_scales_rounded_up) {
  for (unsigned i = 0; i < 4; i++) {
    const unsigned passes = i << UFP4_PASS_DGRAD;
    char list[24], name[64];
    snprintf(name, sizeof name, "ufp4/sr=%s", list_of(passes, list));
    ufp4_recipe_t got = named(name), want = named("ufp4");
    for (int axis = 0; axis < 2; axis++) {
      const int is = (int)(i >> axis & 1);  // dY's row copy enters DGRAD, its column copy WGRAD
      want.round[UFP4_ROLE_DY][axis] = is ? UFP4_ROUND_SR : UFP4_ROUND_RNE;
      want.scale_round[UFP4_ROLE_DY][axis] = is ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE;
    }
    memcpy(want.name, got.name, sizeof want.name);
    check_that(i, memcmp(&got, &want, sizeof got) == 0, "%s", name);
  }
}

// Scales that the recipe itself rounds up stay so.
TEST(sr_leaves_scales_of_other_formats) {
  ufp4_recipe_t got = named("mxfp4-rht/sr=dgrad"), want = named("mxfp4-rht");
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
    for (int axis = 0; axis < 2; axis++) {
      const int dgrad = (role == UFP4_ROLE_DY && axis == UFP4_AXIS_ROW) ||
                        (role == UFP4_ROLE_W && axis == UFP4_AXIS_COL);
      want.round[role][axis] = dgrad ? UFP4_ROUND_SR : UFP4_ROUND_RNE;
    }
  }
  memcpy(want.name, got.name, sizeof want.name);
  check_that(0, memcmp(&got, &want, sizeof got) == 0, "every role is stochastic there");
}

// A recipe without stochastic rounding gets that of dY.
TEST(sr_is_of_dy_where_the_recipe_has_none) {
  const ufp4_recipe_t want = named("ufp4");
  ufp4_recipe_t got = named("ufp4/sr=none");
  memcpy(got.name, want.name, sizeof want.name);
  check_bits(0, ufp4_recipe_vary(&got, "/sr=dgrad+wgrad", NULL), UFP4_OK, "again");
  memcpy(got.name, want.name, sizeof want.name);
  check_that(0, memcmp(&got, &want, sizeof want) == 0, "ufp4 again");
}

TEST(the_transform_is_that_of_the_recipe) {
  const ufp4_recipe_t nvfp4 = named("nvfp4/rht=wgrad"), plain = named("nvfp4");
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++)
    check_bits(pass, nvfp4.rht[pass], plain.rht[pass], "nvfp4 keeps the transform bf16");
}

TEST(what_is_said_of_a_transform_goes_with_it) {
  const ufp4_recipe_t none = named("mxfp4-rht/rht=none");
  check_bits(0, none.signs, UFP4_SIGNS_FIXED, "signs");
  for (int i = 0; i < 2; i++) {
    ufp4_recipe_t wide = named("ufp4");
    wide.rht_size = 32;
    wide.rht_mask = 0x12345678;
    check_bits(i, ufp4_recipe_vary(&wide, i ? "/rht=none" : "/rht=wgrad", NULL), UFP4_OK, "wide");
    check_bits(i, (uint64_t)wide.rht_size, i ? 0 : 32, "rht_size");
    check_bits(i, wide.rht_mask, i ? UFP4_RHT_DEFAULT_MASK : 0x12345678, "rht_mask");
  }
}

TEST(names_are_canonical) {
  static const char *const cases[][2] = {
      {"ufp4/sr=none/rht=wgrad+dgrad", "ufp4/rht=dgrad+wgrad/sr=none"},
      {"ufp4/rht=wgrad+fprop+dgrad", "ufp4/rht=fprop+dgrad+wgrad"},
      {"e2m1-46/rht=none", "e2m1-46/rht=none"},
      {"ufp4", "ufp4"},
      {"fp32", "fp32"}};
  for (int i = 0; i < 5; i++)
    check_that(i, strcmp(named(cases[i][0]).name, cases[i][1]) == 0, "%s is called %s", cases[i][0],
               named(cases[i][0]).name);
}

TEST(a_suffix_is_what_has_equals_signs_at_the_end) {
  static const char *const cases[][2] = {{"ufp4", ""},
                                         {"", ""},
                                         {"ufp4/rht=none", "/rht=none"},
                                         {"a/b.json/rht=none/sr=none", "/rht=none/sr=none"},
                                         {"a/x=1/b.json", ""},
                                         {"ufp4/none", ""},
                                         {"ufp4/", ""}};
  for (int i = 0; i < 7; i++)
    check_that(i, strcmp(ufp4_recipe_suffix(cases[i][0]), cases[i][1]) == 0, "of '%s': '%s'",
               cases[i][0], ufp4_recipe_suffix(cases[i][0]));
}

TEST(rejects_suffixes_that_are_none) {
  static const char *const suffixes[] = {"x",
                                         "/",
                                         "/rht",
                                         "/rht=",
                                         "/rht=none/",
                                         "/rht=None",
                                         "/rht=fprop,",
                                         "/rht=+",
                                         "/rht=fprop+",
                                         "/rht=+fprop",
                                         "/rht=x",
                                         "/rht=none+fprop",
                                         "/rth=none",
                                         "rht=none",
                                         "/sr=fprop",
                                         "/rht=none/sr",
                                         "/=none",
                                         "/rht=all",
                                         "/sr=none/sr=none",
                                         "/rht=none/rht=none",
                                         "/rht=dgrad+dgrad",
                                         "/rht==none",
                                         "//rht=none"};
  const ufp4_recipe_t before = named("ufp4");
  for (int i = 0; i < (int)(sizeof suffixes / sizeof suffixes[0]); i++) {
    ufp4_recipe_t recipe = before;
    ufp4_message_t message = {0};
    check_bits(i, ufp4_recipe_vary(&recipe, suffixes[i], &message), UFP4_ERROR_ARGUMENT, "'%s'",
               suffixes[i]);
    check_that(i, strncmp(message.text, "ufp4", 4) == 0, "'%s'", message.text);
    check_that(i, memcmp(&recipe, &before, sizeof recipe) == 0, "'%s' changed it", suffixes[i]);
  }
  check_bits(0, ufp4_recipe_vary(NULL, "", NULL), UFP4_ERROR_ARGUMENT, "no recipe");
}

TEST(rejects_what_the_recipe_cannot_have) {
  static const char *const cases[][2] = {
      {"bf16/rht=none", "does not quantize, so it takes no suffix"},
      {"fp32/sr=none", "does not quantize, so it takes no suffix"},
      {"mxfp4-rht/rht=fprop", "does not quantize"},
      {"mxfp4-rht/sr=fprop+wgrad", "does not quantize"},
      {"ufp4/sr=fprop", "rounds only dy stochastically, which is not an operand of fprop"},
      {"mxfp4-rht/rht=none/sr=x", "none, or by fprop"}};
  for (int i = 0; i < 6; i++) {
    const char *suffix = ufp4_recipe_suffix(cases[i][0]);
    char base[32];
    snprintf(base, sizeof base, "%.*s", (int)(suffix - cases[i][0]), cases[i][0]);
    ufp4_recipe_t recipe = named(base), other;
    ufp4_message_t message = {0};
    check_bits(i, ufp4_recipe_vary(&recipe, suffix, &message), UFP4_ERROR_ARGUMENT, "%s",
               cases[i][0]);
    check_that(i, strstr(message.text, cases[i][1]) != NULL, "'%s'", message.text);
    check_bits(i, ufp4_recipe_named(cases[i][0], &other), UFP4_ERROR_ARGUMENT, "by name");
  }
}

TEST(rejects_a_name_that_gets_too_long) {
  ufp4_recipe_t recipe = named("ufp4");
  ufp4_message_t message = {0};
  memset(recipe.name, 'a', 70);
  check_bits(0, ufp4_recipe_vary(&recipe, "/rht=none", &message), UFP4_OK, "%s", message.text);
  check_bits(1, strlen(recipe.name), 79, "the longest");
  recipe = named("ufp4");
  memset(recipe.name, 'a', 71);
  check_bits(2, ufp4_recipe_vary(&recipe, "/rht=none", &message), UFP4_ERROR_ARGUMENT, "over it");
  check_that(3, strstr(message.text, "too long") != NULL, "'%s'", message.text);
}
