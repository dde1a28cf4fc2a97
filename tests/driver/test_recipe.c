// SPDX-License-Identifier: Apache-2.0
// Recipes as JSON files.
#include <stdio.h>
#include <string.h>

#include "bench.h"

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
  ufp4_recipe_t recipe = {0};
  check_bits(0, ufp4_recipe_named(name, &recipe), UFP4_OK, "%s", name);
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
  static const char *const names[] = {"fp32", "bf16", "ufp4", "e2m1", "nvfp4", "mxfp4"};
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

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(a_file_says_what_ufp4_is),
      CHECK_TEST(a_file_says_what_nvfp4_is),
      CHECK_TEST(rejects_files_that_are_no_recipes),
      CHECK_TEST(names_have_letters_digits_and_four_signs),
      CHECK_TEST(rejects_the_name_of_a_built_in_recipe),
      CHECK_TEST(a_files_own_name_is_made_fit),
      CHECK_TEST(rejects_a_recipe_file_that_is_not_there),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
