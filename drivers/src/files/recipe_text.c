// SPDX-License-Identifier: Apache-2.0
// Formats a recipe as the JSON text that recipe_file.c reads.
#include <inttypes.h>
#include <jansson.h>

#include "base/names.h"
#include "ufp4.h"

static void put(json_t *object, const char *key, const char *text) {
  json_object_set_new(object, key, json_string(text));
}

// Returns a per-copy setting as an object by role of objects by pass.
static json_t *by_copy(const char *const *names, unsigned values[UFP4_ROLE_COUNT][2]) {
  json_t *all = json_object();
  for (int role = 0; role < UFP4_ROLE_COUNT; role++)
    json_object_set_new(all, role_names[role], json_object());
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2; i++)
      put(json_object_get(all, role_names[roles[i]]), pass_names[pass],
          names[values[roles[i]][axes[i]]]);
  }
  return all;
}

static json_t *by_bits(const char *const *names, unsigned count, unsigned bits) {
  json_t *list = json_array();
  for (unsigned i = 0; i < count; i++) {
    if (bits >> i & 1) json_array_append_new(list, json_string(names[i]));
  }
  return list;
}

static json_t *end_of_model(const ufp4_model_end_t *end) {
  return end->percent > 0 ? json_sprintf("%u%%", end->percent) : json_integer(end->blocks);
}

static void put_bf16(json_t *object, const ufp4_recipe_t *r) {
  json_object_set_new(object, "bf16_passes", by_bits(pass_names, UFP4_PASS_COUNT, r->bf16_passes));
  json_object_set_new(object, "bf16_layers",
                      json_pack("{s:o, s:o, s:o}", "first", end_of_model(&r->bf16_layers.first),
                                "last", end_of_model(&r->bf16_layers.last), "names",
                                by_bits(matrix_names, UFP4_MATRIX_COUNT, r->bf16_layers.matrices)));
}

static void put_quantizer(json_t *object, const ufp4_recipe_t *r) {
  unsigned round[UFP4_ROLE_COUNT][2], scale_round[UFP4_ROLE_COUNT][2];
  json_t *rht = json_object(), *layout = json_object();
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) {
    put(rht, pass_names[i], rht_names[r->rht[i]]);
    put(layout, role_names[i], layout_names[r->layout[i]]);
    for (int axis = 0; axis < 2; axis++) {
      round[i][axis] = r->round[i][axis];
      scale_round[i][axis] = r->scale_round[i][axis];
    }
  }
  put(object, "elem", elem_names[r->elem]);
  put(object, "scale", scale_names[r->scale]);
  json_object_set_new(object, "rht", rht);
  if (r->signs == UFP4_SIGNS_FIXED)
    json_object_set_new(
        object, "rht_mask",
        json_sprintf("0x%0*" PRIX64, r->rht_size > 16 ? r->rht_size / 4 : 4, r->rht_mask));
  put(object, "signs", signs_names[r->signs]);
  json_object_set_new(object, "round", by_copy(round_names, round));
  json_object_set_new(object, "scale_round", by_copy(scale_round_names, scale_round));
  json_object_set_new(object, "layout", layout);
  json_object_set_new(object, "requantize", json_boolean(r->requantize));
  put(object, "accumulate", contract_names[r->contract]);
  if (r->block != 0) json_object_set_new(object, "block", json_integer(r->block));
  if (r->rht_size != 0) json_object_set_new(object, "rht_size", json_integer(r->rht_size));
}

char *ufp4_recipe_text(const ufp4_recipe_t *recipe) {
  // New fields must also be added to put_quantizer or put_bf16.
  _Static_assert(sizeof *recipe == 224, "ufp4_recipe_text does not know all of ufp4_recipe_t");
  json_t *object = json_object(), *name = json_string(recipe->name);
  if (name) json_object_set_new(object, "name", name);  // JSON cannot hold a name that is not UTF-8
  if (recipe->quantized) {
    put_quantizer(object, recipe);
    put_bf16(object, recipe);
  } else {
    put(object, "operands", recipe->dtype == UFP4_DTYPE_BF16 ? "bf16" : "fp32");
  }
  char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
  json_decref(object);
  return text;
}
