// SPDX-License-Identifier: Apache-2.0
// Tests recipes as JSON files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand.h"

static ufp4_status_t read_text(const char *text, ufp4_recipe_t *recipe, ufp4_message_t *message) {
  ufp4_status_t status =
      ufp4_recipe_read(files_write("mine.json", text, strlen(text)), recipe, message);
  files_remove("mine.json");
  return status;
}

static void check_same(const ufp4_recipe_t *got, const ufp4_recipe_t *want) {
  check_that(0, strcmp(got->name, want->name) == 0, "name %s, want %s", got->name, want->name);
  check_bits(0, (uint64_t)got->quantized, (uint64_t)want->quantized, "quantized");
  check_bits(0, got->elem, want->elem, "elem");
  check_bits(0, got->scale, want->scale, "scale");
  check_bits(0, got->rht_mask, want->rht_mask, "rht_mask");
  check_bits(0, (uint64_t)got->block, (uint64_t)want->block, "block");
  check_bits(0, (uint64_t)got->rht_size, (uint64_t)want->rht_size, "rht_size");
  check_bits(0, got->signs, want->signs, "signs");
  check_bits(0, (uint64_t)got->requantize, (uint64_t)want->requantize, "requantize");
  check_bits(0, got->contract, want->contract, "contract");
  const ufp4_bf16_layers_t *layers = &got->bf16_layers, *wanted = &want->bf16_layers;
  check_bits(0, got->bf16_passes, want->bf16_passes, "bf16_passes");
  check_bits(0, layers->first.blocks, wanted->first.blocks, "first");
  check_bits(0, layers->first.percent, wanted->first.percent, "share of the first");
  check_bits(0, layers->last.blocks, wanted->last.blocks, "last");
  check_bits(0, layers->last.percent, wanted->last.percent, "share of the last");
  check_bits(0, layers->matrices, wanted->matrices, "names");
  for (int i = 0; i < 3; i++) {
    check_bits(i, got->rht[i], want->rht[i], "rht");
    for (int axis = 0; axis < 2; axis++) {
      check_bits(i, got->round[i][axis], want->round[i][axis], "round of axis %d", axis);
      check_bits(i, got->scale_round[i][axis], want->scale_round[i][axis], "scale_round of axis %d",
                 axis);
    }
    check_bits(i, got->layout[i], want->layout[i], "layout");
  }
}

static void check_reads(int64_t index, const char *text, const ufp4_recipe_t *want) {
  ufp4_recipe_t got;
  ufp4_message_t message = {0};
  files_check_status(index, read_text(text, &got, &message), UFP4_OK, &message);
  if (want != NULL) check_same(&got, want);
}

// Returns a built-in recipe's settings under a name that a file may have.
static ufp4_recipe_t renamed(const char *name) {
  ufp4_recipe_t recipe = {0};
  check_bits(0, ufp4_recipe_named(name, &recipe), UFP4_OK, "%s", name);
  snprintf(recipe.name, sizeof recipe.name, "mine");
  return recipe;
}

TEST(files_say_what_built_in_recipes_are) {
  static const char *const cases[][2] = {
      {"ufp4",
       "{\"name\": \"mine\", \"elem\": \"e1m2\", \"rht\": \"integer\", \"rht_mask\": \"0xD7E8\","
       " \"round\": {\"dy\": \"sr\"}, \"scale_round\": {\"dy\": \"up\"}}"},
      {"ufp4-mixed",
       "{\"name\": \"mine\", \"elem\": \"mixed\", \"rht\": \"integer\","
       " \"round\": {\"dy\": \"sr\"}, \"scale_round\": {\"dy\": \"up\"}}"},
      {"nvfp4",
       "{\"name\": \"mine\", \"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"rht\": {\"wgrad\": "
       "\"bf16\"},"
       " \"round\": {\"dy\": \"sr\"}, \"layout\": {\"w\": \"2d\"}}"},
      {"e2m1",
       "{\"name\": \"mine\", \"elem\": \"e2m1\", \"rht\": {\"wgrad\": \"integer\"}, \"round\": "
       "{\"dy\": \"sr\"},"
       " \"scale_round\": {\"dy\": \"up\"}}"},
      {"mxfp4",
       "{\"name\": \"mine\", \"elem\": \"e2m1\", \"scale\": \"e8m0\", \"round\": {\"dy\": \"sr\"}, "
       "\"accumulate\": \"fp32\"}"},
      {"nvfp4-full",
       "{\"name\": \"mine\", \"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"rht\": {\"wgrad\": "
       "\"bf16\"}, \"round\": {\"dy\": \"sr\"}, \"layout\": {\"w\": \"2d\"},"
       " \"bf16_layers\": {\"last\": \"15%\"}}"},
      {"e2m1-46",
       "{\"name\": \"mine\", \"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"rht\": {\"wgrad\": "
       "\"bf16\"}, \"round\": {\"dy\": \"sr\"}, \"layout\": {\"w\": \"2d\"}, \"scale_round\": "
       "\"46\"}"},
      {"mxfp4-rht",
       "{\"name\": \"mine\", \"elem\": \"e2m1\", \"scale\": \"e8m0\", \"rht\": {\"dgrad\": "
       "\"integer\", \"wgrad\": \"integer\"}, \"signs\": \"step\", \"round\": \"sr\","
       " \"scale_round\": \"up\", \"bf16_passes\": [\"fprop\"]}"},
  };
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
    const ufp4_recipe_t want = renamed(cases[i][0]);
    check_reads(i, cases[i][1], &want);
  }
}

TEST(rounding_goes_by_role_and_pass) {
  ufp4_recipe_t want = renamed("ufp4");
  want.round[UFP4_ROLE_DY][UFP4_AXIS_ROW] = UFP4_ROUND_RNE;
  want.round[UFP4_ROLE_W][UFP4_AXIS_COL] = UFP4_ROUND_SR;
  want.scale_round[UFP4_ROLE_X][UFP4_AXIS_ROW] = UFP4_SCALE_ROUND_UP;
  check_reads(0,
              "{\"name\": \"mine\", \"elem\": \"e1m2\", \"rht\": \"integer\", \"round\":"
              " {\"dy\": {\"wgrad\": \"sr\"}, \"w\": {\"fprop\": \"rne\", \"dgrad\": \"sr\"}},"
              " \"scale_round\": {\"dy\": \"up\", \"x\": {\"fprop\": \"up\"}}}",
              &want);
}

TEST(layers_and_passes_stay_in_bf16) {
  ufp4_recipe_t want = renamed("ufp4");
  want.bf16_passes = 1u << UFP4_PASS_FPROP | 1u << UFP4_PASS_WGRAD;
  want.bf16_layers = (ufp4_bf16_layers_t){
      {.blocks = 2}, {.percent = 15}, 1u << UFP4_MATRIX_QKV | 1u << UFP4_MATRIX_FC2};
  check_reads(0,
              "{\"name\": \"mine\", \"elem\": \"e1m2\", \"rht\": \"integer\","
              " \"round\": {\"dy\": \"sr\"}, \"scale_round\": {\"dy\": \"up\"},"
              " \"bf16_passes\": [\"fprop\", \"wgrad\"],"
              " \"bf16_layers\": {\"first\": 2, \"last\": \"15%\", \"names\": [\"fc2\", \"qkv\"]}}",
              &want);
}

TEST(text_of_a_recipe_is_the_file_of_it) {
  static const char *const names[] = {"ufp4", "e2m1", "nvfp4", "nvfp4-full", "mxfp4", "mxfp4-rht"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ufp4_recipe_t want = renamed(names[i]);
    want.bf16_layers.first.blocks = (unsigned)i;
    want.bf16_layers.matrices = (unsigned)i;
    want.bf16_passes = (unsigned)i % 4;
    want.requantize = i == 4;
    want.round[UFP4_ROLE_X][UFP4_AXIS_COL] = i % 2 ? UFP4_ROUND_SR : UFP4_ROUND_RNE;
    char *text = ufp4_recipe_text(&want);
    check_reads((int64_t)i, text, &want);
    free(text);
  }
}

TEST(blocks_and_transforms_have_sizes) {
  for (int i = 0; i < 2; i++) {
    ufp4_recipe_t want = renamed("ufp4");
    want.block = i ? 128 : 32;
    want.rht_size = i ? 64 : 32;
    want.rht_mask = i ? 0x8000000000000001u : ufp4_default_mask(32);
    char *text = ufp4_recipe_text(&want);
    check_reads(i, text, &want);
    free(text);
  }
}

TEST(defaults_of_a_transform_need_none) {
  static const char *const said[] = {"\"rht_size\": 16", "\"rht_mask\": \"0xD7E8\"",
                                     "\"signs\": \"fixed\""};
  for (int i = 0; i < 3; i++) {
    char text[64];
    snprintf(text, sizeof text, "{\"elem\": \"e1m2\", %s}", said[i]);
    check_reads(i, text, NULL);
  }
}

TEST(requantize_is_true_or_false) {
  for (int i = 0; i < 2; i++) {
    ufp4_recipe_t recipe;
    ufp4_message_t message = {0};
    char text[64];
    snprintf(text, sizeof text, "{\"elem\": \"e1m2\", \"requantize\": %s}", i ? "true" : "false");
    files_check_status(i, read_text(text, &recipe, &message), UFP4_OK, &message);
    check_bits(i, (uint64_t)recipe.requantize, (uint64_t)i, "requantize");
  }
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
      "{\"elem\": \"e1m2\", \"round\": {\"dy\": {\"fprop\": \"sr\"}}}",
      "{\"elem\": \"e1m2\", \"round\": {\"x\": {\"dgrad\": \"sr\"}}}",
      "{\"elem\": \"e1m2\", \"round\": {\"dy\": {\"wgrad\": \"up\"}}}",
      "{\"elem\": \"e1m2\", \"round\": [\"sr\"]}",
      "{\"elem\": \"e1m2\", \"scale_round\": {\"w\": {\"wgrad\": \"up\"}}}",
      "{\"elem\": \"e1m2\", \"layout\": {\"w\": {\"fprop\": \"2d\"}}}",
      "{\"elem\": \"e1m2\", \"bf16_passes\": \"fprop\"}",
      "{\"elem\": \"e1m2\", \"bf16_passes\": [\"x\"]}",
      "{\"elem\": \"e1m2\", \"bf16_passes\": [0]}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": 1}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"middle\": 1}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"first\": -1}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"first\": 1.5}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"last\": \"15\"}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"last\": \"101%\"}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"last\": \"0015%\"}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"last\": 1048577}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"last\": \"99999999999999999999%\"}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"names\": [\"head\"]}}",
      "{\"elem\": \"e1m2\", \"bf16_layers\": {\"names\": {\"qkv\": 1}}}",
      "{\"elem\": \"e2m1\", \"scale_round\": \"46\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"scale_round\": {\"dy\": \"up\"}}",
      "{\"elem\": \"e1m2\", \"requantize\": \"true\"}",
      "{\"elem\": \"e1m2\", \"requantize\": 1}",
      "{\"elem\": \"e1m2\", \"requantize\": true, \"bf16_passes\": [\"fprop\"]}",
      "{\"elem\": \"e1m2\", \"signs\": \"layer\"}",
      "{\"elem\": \"e1m2\", \"signs\": {\"wgrad\": \"step\"}}",
      "{\"elem\": \"e1m2\", \"rht\": \"integer\", \"signs\": \"step\", \"rht_mask\": \"0xD7E8\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"rht\": \"bf16\"}",
      "{\"elem\": \"e1m2\", \"rht\": \"integer\", \"rht_mask\": \"0x10000\"}",
      "{\"elem\": \"e1m2\", \"name\": \"\"}",
      "{\"elem\": \"e1m2\", \"rht_mask\": \"0x1234\", \"rht_size\": 16}",
      "{\"elem\": \"e1m2\", \"rht\": \"none\", \"rht_size\": 32}",
      "{\"elem\": \"e1m2\", \"rht_mask\": \"0x1234\"}",
      "{\"elem\": \"e1m2\", \"rht_mask\": \"0x0\"}",
      "{\"elem\": \"e1m2\", \"rht\": {\"fprop\": \"integer\"}, \"bf16_passes\": [\"fprop\"], "
      "\"rht_size\": 32}",
      "{\"elem\": \"e1m2\", \"signs\": \"step\"}",
      "{\"elem\": \"e1m2\", \"block\": \"64\"}",
      "{\"elem\": \"e1m2\", \"block\": 48}",
      "{\"elem\": \"e1m2\", \"rht\": \"integer\", \"rht_size\": 128}",
      "{\"elem\": \"e1m2\", \"block\": 64, \"accumulate\": \"nv\"}",
      "{\"elem\": \"e1m2\", \"block\": 64, \"layout\": {\"w\": \"2d\"}}",
      "{\"elem\": \"e1m2\", \"rht\": \"integer\", \"rht_size\": 32, \"rht_mask\": \"0x100000000\"}",
      "{\"elem\": \"e1m2\", \"scale\": \"nvfp4\", \"scale_round\": \"46\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"rht\": \"integer\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"accumulate\": \"exact\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"scale_round\": {\"x\": \"rne\"}}",
      "{\"elem\": \"int4\", \"accumulate\": \"nv\"}",
      "{\"elem\": \"e2m1\", \"layout\": \"2d\", \"scale\": \"e8m0\"}",
  };
  for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
    ufp4_recipe_t recipe;
    ufp4_message_t message = {0};
    files_check_status(i, read_text(texts[i], &recipe, &message), UFP4_ERROR_FORMAT, &message);
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
    files_check_status(i, read_name(good[i], &recipe, &message), UFP4_OK, &message);
    check_that(i, strcmp(recipe.name, good[i]) == 0, "name %s, want %s", recipe.name, good[i]);
  }
  for (int i = 0; i < (int)(sizeof bad / sizeof bad[0]); i++) {
    files_check_status(i, read_name(bad[i], &recipe, &message), UFP4_ERROR_FORMAT, &message);
  }
}

TEST(rejects_the_name_of_a_built_in_recipe) {
  static const char *const names[] = {"fp32",       "bf16",       "ufp4",      "e2m1",    "nvfp4",
                                      "nvfp4-full", "mxfp4",      "mxfp4-rht", "e2m1-46", "nvint4",
                                      "nve1m2",     "ufp4-mixed", "e2m1-mixed"};
  ufp4_recipe_t recipe;
  ufp4_message_t message = {0};
  for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
    files_check_status(i, read_name(names[i], &recipe, &message), UFP4_ERROR_FORMAT, &message);
    check_that(i, strstr(message.text, "built-in") != NULL, "'%s'", message.text);
  }
}

TEST(a_files_own_name_is_made_fit) {
  static const char text[] = "{\"elem\": \"e1m2\"}";
  ufp4_recipe_t recipe;
  ufp4_message_t message = {0};
  const char *path = files_write("a b,(c).x.json", text, strlen(text));
  files_check_status(0, ufp4_recipe_read(path, &recipe, &message), UFP4_OK, &message);
  files_remove("a b,(c).x.json");
  const size_t length = strlen(recipe.name);
  check_that(0, length >= 7 && strcmp(recipe.name + length - 7, "a-b--c-") == 0, "name %s",
             recipe.name);
}

TEST(rejects_a_recipe_file_that_is_not_there) {
  ufp4_recipe_t recipe;
  ufp4_message_t message = {0};
  files_check_status(0, ufp4_recipe_read(files_path("absent.json"), &recipe, &message),
                     UFP4_ERROR_IO, &message);
}
