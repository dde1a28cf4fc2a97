// SPDX-License-Identifier: Apache-2.0
// A recipe of one's own, as a JSON file (docs/reference/files.md, "Recipes").
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ufp4.h"
#include "ufp4/combination.h"

static const char *const elem_names[UFP4_ELEM_COUNT] = UFP4_ELEM_NAMES;
static const char *const scale_names[UFP4_SCALE_COUNT] = UFP4_SCALE_NAMES;
static const char *const rht_names[UFP4_RHT_COUNT] = UFP4_RHT_NAMES;
static const char *const round_names[UFP4_ROUND_COUNT] = UFP4_ROUND_NAMES;
static const char *const scale_round_names[UFP4_SCALE_ROUND_COUNT] = UFP4_SCALE_ROUND_NAMES;
static const char *const layout_names[UFP4_LAYOUT_COUNT] = UFP4_LAYOUT_NAMES;
static const char *const contract_names[UFP4_CONTRACT_COUNT] = UFP4_CONTRACT_NAMES;
static const char *const role_names[UFP4_ROLE_COUNT] = {"x", "w", "dy"};
static const char *const pass_names[UFP4_PASS_COUNT] = {"fprop", "dgrad", "wgrad"};

typedef struct {
  const char *path;
  const json_t *object;
  ufp4_message_t *message;
} reader_t;

static int find_name(const char *text, const char *const *names, unsigned count) {
  for (unsigned i = 0; text != NULL && i < count; i++) {
    if (strcmp(text, names[i]) == 0) return (int)i;
  }
  return -1;
}

static ufp4_status_t fail_value(const reader_t *reader, const char *key, const char *const *names,
                                unsigned count) {
  char list[64] = "";
  for (unsigned i = 0; i < count; i++) {
    strcat(list, i == 0 ? "" : ", ");  // the names are ours, and short
    strcat(list, names[i]);
  }
  ufp4_message_set(reader->message, "%s: %s must be one of %s", reader->path, key, list);
  return UFP4_ERROR_FORMAT;
}

// One name. What the file does not say stays as it is.
static ufp4_status_t read_name(const reader_t *reader, const char *key, const char *const *names,
                               unsigned count, unsigned *value) {
  const json_t *item = json_object_get(reader->object, key);
  if (item == NULL) return UFP4_OK;
  int found = find_name(json_string_value(item), names, count);
  if (found < 0) return fail_value(reader, key, names, count);
  *value = (unsigned)found;
  return UFP4_OK;
}

// One name for all, or an object of names by what they are for: roles or passes.
static ufp4_status_t read_names(const reader_t *reader, const char *key, const char *const *names,
                                unsigned count, const char *const *of, unsigned values[3]) {
  const json_t *item = json_object_get(reader->object, key);
  const char *what;
  json_t *each;
  if (!json_is_object(item)) {
    ufp4_status_t status = read_name(reader, key, names, count, &values[0]);
    if (item != NULL) values[1] = values[2] = values[0];
    return status;
  }
  json_object_foreach((json_t *)item, what, each) {
    int at = find_name(what, of, 3), found = find_name(json_string_value(each), names, count);
    if (at < 0) return fail_value(reader, what, of, 3);
    if (found < 0) return fail_value(reader, key, names, count);
    values[at] = (unsigned)found;
  }
  return UFP4_OK;
}

static ufp4_status_t read_mask(const reader_t *reader, uint16_t *mask) {
  const json_t *item = json_object_get(reader->object, "rht_mask");
  if (item == NULL) return UFP4_OK;
  const char *text = json_string_value(item);
  char *end = NULL;
  unsigned long value = text != NULL ? strtoul(text, &end, 16) : 0;
  if (text == NULL || end == text || *end != '\0' || value > 0xFFFF || text[0] == '-') {
    ufp4_message_set(reader->message, "%s: rht_mask must be 16 bits in hex, as in \"0xD7E8\"",
                     reader->path);
    return UFP4_ERROR_FORMAT;
  }
  *mask = (uint16_t)value;
  return UFP4_OK;
}

static ufp4_status_t check_keys(const reader_t *reader) {
  static const char *const known[] = {"name",  "elem",        "scale",  "rht",       "rht_mask",
                                      "round", "scale_round", "layout", "accumulate"};
  const char *key;
  json_t *value;
  if (!json_is_object(reader->object)) {
    ufp4_message_set(reader->message, "%s: a recipe is a JSON object", reader->path);
    return UFP4_ERROR_FORMAT;
  }
  json_object_foreach((json_t *)reader->object, key, value) {
    if (find_name(key, known, sizeof known / sizeof known[0]) >= 0) continue;
    ufp4_message_set(reader->message,
                     "%s: unknown key '%s'; there are name, elem, scale, rht, rht_mask, round, "
                     "scale_round, layout and "
                     "accumulate",
                     reader->path, key);
    return UFP4_ERROR_FORMAT;
  }
  return UFP4_OK;
}

// It stands in a column of a table, in CSV and HTML, and is the folder of captured tensors: nothing
// that any of them reads otherwise. UTF-8 is left as it is.
static int goes_into_a_name(char c) {
  const unsigned char byte = (unsigned char)c;
  return byte >= 0x80 || isalnum(byte) || (byte != '\0' && strchr("._+-", byte) != NULL);
}

// The file's "name", or the file's name without folder and ending, where '-' stands for what no
// name has.
static ufp4_status_t read_title(const reader_t *reader, ufp4_recipe_t *recipe) {
  const json_t *item = json_object_get(reader->object, "name");
  const char *slash = strrchr(reader->path, '/'), *base = slash != NULL ? slash + 1 : reader->path;
  const char *text = item != NULL ? json_string_value(item) : base;
  size_t length = text == NULL ? 0 : item != NULL ? strlen(text) : strcspn(text, ".");
  if (length == 0 || (item != NULL && length >= sizeof recipe->name)) {
    ufp4_message_set(reader->message, "%s: name must be a text of 1 to %zu bytes", reader->path,
                     sizeof recipe->name - 1);
    return UFP4_ERROR_FORMAT;
  }
  if (length >= sizeof recipe->name) length = sizeof recipe->name - 1;
  int good = text[0] != '.';
  json_t *utf8 = json_string(text);  // of a file's own name it need not be
  const int ascii_only = utf8 == NULL;
  json_decref(utf8);
  for (size_t i = 0; i < length; i++) {
    const int goes = goes_into_a_name(text[i]) && (!ascii_only || (unsigned char)text[i] < 0x80);
    good &= goes || item == NULL;
    recipe->name[i] = goes ? text[i] : '-';
  }
  recipe->name[length] = '\0';
  ufp4_recipe_t built_in;
  if (ufp4_recipe_named(recipe->name, &built_in) == UFP4_OK) {
    ufp4_message_set(reader->message,
                     "%s: its name is %s, as a built-in recipe's; give it another with \"name\"",
                     reader->path, recipe->name);
    return UFP4_ERROR_FORMAT;
  }
  if (!good) {
    ufp4_message_set(reader->message,
                     "%s: name: letters, digits and . _ + - are possible, no '.' at the start",
                     reader->path);
    return UFP4_ERROR_FORMAT;
  }
  return UFP4_OK;
}

static ufp4_status_t read_formats(const reader_t *reader, ufp4_recipe_t *recipe) {
  unsigned elem = UFP4_ELEM_COUNT, scale = UFP4_SCALE_E4M3;
  ufp4_status_t status = read_name(reader, "elem", elem_names, UFP4_ELEM_COUNT, &elem);
  if (status == UFP4_OK) status = read_name(reader, "scale", scale_names, UFP4_SCALE_COUNT, &scale);
  if (status == UFP4_OK && elem == UFP4_ELEM_COUNT)
    status = fail_value(reader, "elem", elem_names, UFP4_ELEM_COUNT);
  if (status != UFP4_OK) return status;
  recipe->elem = (ufp4_elem_t)elem;
  recipe->scale = (ufp4_scale_t)scale;
  unsigned contract = ufp4_gemm_default_contract(recipe->scale);
  status = read_name(reader, "accumulate", contract_names, UFP4_CONTRACT_COUNT, &contract);
  recipe->contract = (ufp4_contract_t)contract;
  return status;
}

static ufp4_status_t read_choices(const reader_t *reader, ufp4_recipe_t *recipe) {
  unsigned rht[3] = {0}, round[3] = {0}, scale_round[3] = {0}, layout[3] = {0};
  if (recipe->scale == UFP4_SCALE_E8M0)
    scale_round[0] = scale_round[1] = scale_round[2] = UFP4_SCALE_ROUND_DOWN;
  ufp4_status_t status = read_names(reader, "rht", rht_names, UFP4_RHT_COUNT, pass_names, rht);
  if (status == UFP4_OK)
    status = read_names(reader, "round", round_names, UFP4_ROUND_COUNT, role_names, round);
  if (status == UFP4_OK) {
    status = read_names(reader, "scale_round", scale_round_names, UFP4_SCALE_ROUND_COUNT,
                        role_names, scale_round);
  }
  if (status == UFP4_OK)
    status = read_names(reader, "layout", layout_names, UFP4_LAYOUT_COUNT, role_names, layout);
  for (int i = 0; i < 3; i++) {
    recipe->rht[i] = (ufp4_rht_t)rht[i];
    recipe->round[i] = (ufp4_round_t)round[i];
    recipe->scale_round[i] = (ufp4_scale_round_t)scale_round[i];
    recipe->layout[i] = (ufp4_layout_t)layout[i];
  }
  return status;
}

static ufp4_status_t read_recipe(const reader_t *reader, ufp4_recipe_t *recipe) {
  *recipe = (ufp4_recipe_t){.quantized = 1, .rht_mask = UFP4_RHT_DEFAULT_MASK};
  ufp4_status_t status = check_keys(reader);
  if (status == UFP4_OK) status = read_title(reader, recipe);
  if (status == UFP4_OK) status = read_formats(reader, recipe);
  if (status == UFP4_OK) status = read_choices(reader, recipe);
  if (status == UFP4_OK) status = read_mask(reader, &recipe->rht_mask);
  if (status != UFP4_OK) return status;
  ufp4_message_t why;
  if (ufp4_recipe_check(recipe, UFP4_PASSES_ALL, NULL, &why) == UFP4_OK) return UFP4_OK;
  ufp4_message_set(reader->message, "%s: %s", reader->path, why.text);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t load(const char *path, ufp4_message_t *message, json_t **root) {
  json_error_t error;
  *root = NULL;
  errno = 0;
  FILE *file = fopen(path, "rb");
  if (file != NULL) *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
  const int unread = file == NULL || ferror(file);  // a folder opens, and does not read
  const int why = errno;
  if (file != NULL) fclose(file);
  if (*root != NULL) return UFP4_OK;
  ufp4_message_set(message, unread ? "%s: cannot be read: %s" : "%s: %s", path,
                   unread ? strerror(why) : error.text);
  return unread ? UFP4_ERROR_IO : UFP4_ERROR_FORMAT;
}

ufp4_status_t ufp4_recipe_read(const char *path, ufp4_recipe_t *recipe, ufp4_message_t *message) {
  if (path == NULL || recipe == NULL) return UFP4_ERROR_ARGUMENT;
  json_t *root;
  ufp4_status_t status = load(path, message, &root);
  if (status != UFP4_OK) return status;
  const reader_t reader = {path, root, message};
  ufp4_recipe_t made;
  status = read_recipe(&reader, &made);
  if (status == UFP4_OK) *recipe = made;
  json_decref(root);
  return status;
}
