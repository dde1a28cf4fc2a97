// SPDX-License-Identifier: Apache-2.0
// Reads a recipe from a JSON file (docs/reference/files.md, "Recipes").
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "ufp4.h"
#include "ufp4/combination.h"

enum { TITLE_BYTES = 31 };  // leaves room for a suffix

typedef struct {
  const char *path;
  const json_t *object;
  ufp4_message_t *message;
} reader_t;

static int find_name(const char *text, const char *const *names, unsigned count) {
  const unsigned found = text != NULL ? names_find(text, strlen(text), names, count) : count;
  return found < count ? (int)found : -1;
}

// Formats "a, b, c" from a short list of our own names.
static void list_names(const char *const *names, unsigned count, char *list) {
  list[0] = '\0';
  for (unsigned i = 0; i < count; i++) {
    strcat(list, i == 0 ? "" : ", ");
    strcat(list, names[i]);
  }
}

static ufp4_status_t fail_value(const reader_t *reader, const char *key, const char *const *names,
                                unsigned count) {
  char list[64];
  list_names(names, count, list);
  ufp4_message_set(reader->message, "%s: %s must be one of %s", reader->path, key, list);
  return UFP4_ERROR_FORMAT;
}

// Reads a name; a missing key leaves the setting unchanged.
static ufp4_status_t read_name(const reader_t *reader, const char *key, const char *const *names,
                               unsigned count, unsigned *value) {
  const json_t *item = json_object_get(reader->object, key);
  if (item == NULL) return UFP4_OK;
  int found = find_name(json_string_value(item), names, count);
  if (found < 0) return fail_value(reader, key, names, count);
  *value = (unsigned)found;
  return UFP4_OK;
}

// Reads one name for all, or an object of names by role or by pass.
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

// Returns the axis along which a pass reads a role, or -1.
static int axis_in_pass(int role, int pass) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    if ((int)roles[i] == role) return (int)axes[i];
  }
  return -1;
}

// Reads one name for both copies of a role, or an object of names by pass.
static ufp4_status_t read_copies(const reader_t *reader, const char *key, const json_t *item,
                                 const char *const *names, unsigned count, int role,
                                 unsigned values[2]) {
  const char *what;
  json_t *each;
  if (!json_is_object(item)) {
    const int found = find_name(json_string_value(item), names, count);
    if (found < 0) return fail_value(reader, key, names, count);
    values[0] = values[1] = (unsigned)found;
    return UFP4_OK;
  }
  json_object_foreach((json_t *)item, what, each) {
    const int pass = find_name(what, pass_names, UFP4_PASS_COUNT);
    const int axis = pass < 0 ? -1 : axis_in_pass(role, pass);
    const int found = find_name(json_string_value(each), names, count);
    if (axis < 0) {
      ufp4_message_set(reader->message, "%s: %s: %s is an operand of %s and %s, not of '%s'",
                       reader->path, key, role_names[role],
                       role == UFP4_ROLE_DY ? "dgrad" : "fprop",
                       role == UFP4_ROLE_W ? "dgrad" : "wgrad", what);
      return UFP4_ERROR_FORMAT;
    }
    if (found < 0) return fail_value(reader, key, names, count);
    values[axis] = (unsigned)found;
  }
  return UFP4_OK;
}

// Reads one name for all roles, or an object by role of the values that read_copies accepts.
static ufp4_status_t read_by_copy(const reader_t *reader, const char *key, const char *const *names,
                                  unsigned count, unsigned values[UFP4_ROLE_COUNT][2]) {
  const json_t *item = json_object_get(reader->object, key);
  ufp4_status_t status = UFP4_OK;
  const char *what;
  json_t *each;
  for (int role = 0; item != NULL && !json_is_object(item) && role < UFP4_ROLE_COUNT; role++) {
    status = read_copies(reader, key, item, names, count, role, values[role]);
    if (status != UFP4_OK) return status;
  }
  json_object_foreach((json_t *)item, what, each) {
    const int role = find_name(what, role_names, UFP4_ROLE_COUNT);
    if (role < 0) return fail_value(reader, what, role_names, UFP4_ROLE_COUNT);
    status = read_copies(reader, key, each, names, count, role, values[role]);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

// Reads a list of names as a bit set.
static ufp4_status_t read_list(const reader_t *reader, const char *key, const json_t *item,
                               const char *const *names, unsigned count, unsigned *bits) {
  size_t at;
  json_t *each;
  if (item != NULL && !json_is_array(item)) {
    ufp4_message_set(reader->message, "%s: %s must be a list of names, as in [\"%s\"]",
                     reader->path, key, names[0]);
    return UFP4_ERROR_FORMAT;
  }
  json_array_foreach(item, at, each) {
    const int found = find_name(json_string_value(each), names, count);
    if (found < 0) return fail_value(reader, key, names, count);
    *bits |= 1u << found;
  }
  return UFP4_OK;
}

// Reads a number of blocks, or a share of them such as "15%".
static ufp4_status_t read_end(const reader_t *reader, const char *key, const json_t *item,
                              ufp4_model_end_t *end) {
  const char *text = json_string_value(item);
  char *rest = NULL;
  if (item == NULL) return UFP4_OK;
  if (json_is_integer(item) && json_integer_value(item) >= 0 &&
      json_integer_value(item) <= UFP4_MAX_DIM) {
    end->blocks = (unsigned)json_integer_value(item);
    return UFP4_OK;
  }
  if (text != NULL && isdigit((unsigned char)text[0])) {
    const unsigned long percent = strtoul(text, &rest, 10);
    end->percent = (unsigned)percent;
    if (percent <= 100 && rest - text <= 3 && strcmp(rest, "%") == 0) return UFP4_OK;
  }
  ufp4_message_set(reader->message,
                   "%s: bf16_layers: %s must be a number of blocks or a share of them, as in "
                   "\"15%%\"",
                   reader->path, key);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t read_bf16_layers(const reader_t *reader, ufp4_bf16_layers_t *out) {
  const json_t *item = json_object_get(reader->object, "bf16_layers");
  static const char *const keys[] = {"first", "last", "names"};
  const char *key;
  json_t *each;
  int known = item == NULL || json_is_object(item);
  json_object_foreach((json_t *)item, key, each) known &= find_name(key, keys, 3) >= 0;
  if (!known) {
    ufp4_message_set(reader->message, "%s: bf16_layers must be an object of first, last and names",
                     reader->path);
    return UFP4_ERROR_FORMAT;
  }
  ufp4_status_t status = read_end(reader, "first", json_object_get(item, "first"), &out->first);
  if (status == UFP4_OK)
    status = read_end(reader, "last", json_object_get(item, "last"), &out->last);
  if (status != UFP4_OK) return status;
  return read_list(reader, "bf16_layers: names", json_object_get(item, "names"), matrix_names,
                   UFP4_MATRIX_COUNT, &out->matrices);
}

static ufp4_status_t read_requantize(const reader_t *reader, int *requantize) {
  const json_t *item = json_object_get(reader->object, "requantize");
  *requantize = json_is_true(item);
  if (item == NULL || json_is_boolean(item)) return UFP4_OK;
  ufp4_message_set(reader->message, "%s: requantize must be true or false", reader->path);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t read_bf16(const reader_t *reader, ufp4_recipe_t *recipe) {
  ufp4_status_t status =
      read_list(reader, "bf16_passes", json_object_get(reader->object, "bf16_passes"), pass_names,
                UFP4_PASS_COUNT, &recipe->bf16_passes);
  return status == UFP4_OK ? read_bf16_layers(reader, &recipe->bf16_layers) : status;
}

static ufp4_status_t read_mask(const reader_t *reader, ufp4_recipe_t *recipe) {
  const json_t *item = json_object_get(reader->object, "rht_mask");
  const int points = recipe->rht_size != 0 ? recipe->rht_size : 16;
  recipe->rht_mask = ufp4_default_mask(points);
  if (item == NULL) return UFP4_OK;
  const char *text = json_string_value(item);
  char *end = NULL;
  errno = 0;
  recipe->rht_mask = text != NULL ? strtoull(text, &end, 16) : 0;
  if (text == NULL || end == text || *end != '\0' || text[0] == '-' || errno != 0 ||
      recipe->rht_mask >> (points - 1) > 1) {
    ufp4_message_set(reader->message, "%s: rht_mask must be %d bits in hex, as in \"0xD7E8\"",
                     reader->path, points);
    return UFP4_ERROR_FORMAT;
  }
  return UFP4_OK;
}

static ufp4_status_t read_size(const reader_t *reader, const char *key, const int *sizes,
                               const char *const *names, unsigned count, int *value) {
  const json_t *item = json_object_get(reader->object, key);
  if (item == NULL) return UFP4_OK;
  for (unsigned i = 0; i < count; i++) {
    *value = sizes[i];
    if (json_is_integer(item) && json_integer_value(item) == sizes[i]) return UFP4_OK;
  }
  if (!json_is_real(item)) return fail_value(reader, key, names, count);
  char list[64];
  list_names(names, count, list);
  ufp4_message_set(reader->message, "%s: %s must be one of the whole numbers %s", reader->path, key,
                   list);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t read_sizes(const reader_t *reader, ufp4_recipe_t *recipe) {
  static const int blocks[] = UFP4_BLOCKS, points[] = UFP4_RHT_SIZES;
  ufp4_status_t status =
      read_size(reader, "block", blocks, block_names, UFP4_BLOCK_COUNT, &recipe->block);
  return status == UFP4_OK ? read_size(reader, "rht_size", points, rht_size_names,
                                       UFP4_RHT_SIZE_COUNT, &recipe->rht_size)
                           : status;
}

static ufp4_status_t check_keys(const reader_t *reader) {
  static const char *const known[] = {"name",       "elem",        "scale",       "rht",
                                      "rht_mask",   "round",       "scale_round", "layout",
                                      "accumulate", "bf16_passes", "bf16_layers", "signs",
                                      "requantize", "block",       "rht_size"};
  const unsigned count = sizeof known / sizeof known[0];
  const char *key;
  json_t *value;
  if (!json_is_object(reader->object)) {
    ufp4_message_set(reader->message, "%s: a recipe must be a JSON object", reader->path);
    return UFP4_ERROR_FORMAT;
  }
  json_object_foreach((json_t *)reader->object, key, value) {
    if (find_name(key, known, count) >= 0) continue;
    char list[192];
    list_names(known, count, list);
    ufp4_message_set(reader->message, "%s: unknown key '%s'; the keys are %s", reader->path, key,
                     list);
    return UFP4_ERROR_FORMAT;
  }
  return UFP4_OK;
}

// The name appears in table columns, in CSV and in HTML, and names the folder of captured tensors,
// so it may not contain characters that are special in any of these. UTF-8 is unchanged.
static int goes_into_a_name(char c) {
  const unsigned char byte = (unsigned char)c;
  return byte >= 0x80 || isalnum(byte) || (byte != '\0' && strchr("._+-", byte) != NULL);
}

// Takes "name" from the file, or else the file's name without folder and ending, with '-' in place
// of illegal characters.
static ufp4_status_t read_title(const reader_t *reader, ufp4_recipe_t *recipe) {
  const json_t *item = json_object_get(reader->object, "name");
  const char *slash = strrchr(reader->path, '/'), *base = slash != NULL ? slash + 1 : reader->path;
  const char *text = item != NULL ? json_string_value(item) : base;
  size_t length = text == NULL ? 0 : item != NULL ? strlen(text) : strcspn(text, ".");
  if (length == 0 || (item != NULL && length > TITLE_BYTES)) {
    ufp4_message_set(reader->message, "%s: name must be a string of 1 to %d bytes", reader->path,
                     TITLE_BYTES);
    return UFP4_ERROR_FORMAT;
  }
  if (length > TITLE_BYTES) length = TITLE_BYTES;
  int good = text[0] != '.';
  json_t *utf8 = json_string(text);  // a file's name need not be UTF-8
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
                     "%s: its name %s is that of a built-in recipe; give it another with \"name\"",
                     reader->path, recipe->name);
    return UFP4_ERROR_FORMAT;
  }
  if (!good) {
    ufp4_message_set(
        reader->message,
        "%s: name may hold only letters, digits and . _ + -, and may not start with '.'",
        reader->path);
    return UFP4_ERROR_FORMAT;
  }
  return UFP4_OK;
}

// Reads the mask, and whether it is fixed for all steps.
static ufp4_status_t read_signs(const reader_t *reader, ufp4_recipe_t *recipe) {
  unsigned signs = UFP4_SIGNS_FIXED;
  ufp4_status_t status = read_name(reader, "signs", signs_names, 2, &signs);
  if (status == UFP4_OK) status = read_mask(reader, recipe);
  recipe->signs = (ufp4_signs_t)signs;
  if (status != UFP4_OK || signs == UFP4_SIGNS_FIXED ||
      json_object_get(reader->object, "rht_mask") == NULL)
    return status;
  ufp4_message_set(
      reader->message,
      "%s: rht_mask needs signs fixed; with signs step a new mask is drawn at each step",
      reader->path);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t read_formats(const reader_t *reader, ufp4_recipe_t *recipe) {
  unsigned elem = UFP4_ELEM_KINDS, scale = UFP4_SCALE_E4M3;
  ufp4_status_t status = read_name(reader, "elem", elem_names, UFP4_ELEM_KINDS, &elem);
  if (status == UFP4_OK) status = read_name(reader, "scale", scale_names, UFP4_SCALE_COUNT, &scale);
  if (status == UFP4_OK && elem == UFP4_ELEM_KINDS)
    status = fail_value(reader, "elem", elem_names, UFP4_ELEM_KINDS);
  if (status != UFP4_OK) return status;
  recipe->elem = (ufp4_elem_t)elem;
  recipe->scale = (ufp4_scale_t)scale;
  unsigned contract = ufp4_gemm_default_contract(recipe->scale);
  status = read_name(reader, "accumulate", contract_names, UFP4_CONTRACT_COUNT, &contract);
  recipe->contract = (ufp4_contract_t)contract;
  return status;
}

static ufp4_status_t read_choices(const reader_t *reader, ufp4_recipe_t *recipe) {
  unsigned rht[3] = {0}, round[3][2] = {{0}}, scale_round[3][2], layout[3] = {0};
  for (int i = 0; i < 6; i++) {
    scale_round[i / 2][i % 2] =
        recipe->scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE;
  }
  ufp4_status_t status = read_names(reader, "rht", rht_names, UFP4_RHT_COUNT, pass_names, rht);
  if (status == UFP4_OK)
    status = read_by_copy(reader, "round", round_names, UFP4_ROUND_COUNT, round);
  if (status == UFP4_OK) {
    status =
        read_by_copy(reader, "scale_round", scale_round_names, UFP4_SCALE_ROUND_COUNT, scale_round);
  }
  if (status == UFP4_OK)
    status = read_names(reader, "layout", layout_names, UFP4_LAYOUT_COUNT, role_names, layout);
  for (int i = 0; i < 3; i++) {
    recipe->rht[i] = (ufp4_rht_t)rht[i];
    for (int axis = 0; axis < 2; axis++) {
      recipe->round[i][axis] = (ufp4_round_t)round[i][axis];
      recipe->scale_round[i][axis] = (ufp4_scale_round_t)scale_round[i][axis];
    }
    recipe->layout[i] = (ufp4_layout_t)layout[i];
  }
  return status;
}

static ufp4_status_t read_recipe(const reader_t *reader, ufp4_recipe_t *recipe) {
  *recipe = (ufp4_recipe_t){.quantized = 1};
  ufp4_status_t status = check_keys(reader);
  if (status == UFP4_OK) status = read_title(reader, recipe);
  if (status == UFP4_OK) status = read_formats(reader, recipe);
  if (status == UFP4_OK) status = read_choices(reader, recipe);
  if (status == UFP4_OK) status = read_sizes(reader, recipe);
  if (status == UFP4_OK) status = read_signs(reader, recipe);
  if (status == UFP4_OK) status = read_requantize(reader, &recipe->requantize);
  if (status == UFP4_OK) status = read_bf16(reader, recipe);
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
  const int unread = file == NULL || ferror(file);  // a folder opens, but cannot be read
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
