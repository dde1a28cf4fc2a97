// SPDX-License-Identifier: Apache-2.0
// Suffixes of recipes (docs/reference/numerics.md, 6): RHT and stochastic rounding by GEMM.
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "ufp4/recipe.h"

enum { RHT, SR, KEYS };
static const char *const keys[KEYS] = {"rht", "sr"};

// A suffix that has been read: whether each key is there, and its passes.
typedef struct {
  int given[KEYS];
  unsigned passes[KEYS];
} wish_t;

const char *ufp4_recipe_suffix(const char *name) {
  const char *end = name + strlen(name), *start = end;
  for (const char *at = end; at != name;) {
    if (*--at != '/') continue;
    if (memchr(at, '=', (size_t)(start - at)) == NULL) break;
    start = at;
  }
  return start;
}

static ufp4_status_t fail(ufp4_message_t *message, const ufp4_recipe_t *recipe, const char *suffix,
                          const char *why) {
  ufp4_message_set(message, "%s%s: %s", recipe->name, suffix, why);
  return UFP4_ERROR_ARGUMENT;
}

// "none", or names of passes with + between them; returns why not, or NULL.
static const char *read_passes(const char *list, size_t length, unsigned *passes) {
  if (length == 4 && memcmp(list, "none", 4) == 0) return NULL;
  for (const char *end = list + length; list <= end;) {
    const char *plus = memchr(list, '+', (size_t)(end - list));
    const size_t word = (size_t)((plus != NULL ? plus : end) - list);
    const unsigned pass = names_find(list, word, pass_names, UFP4_PASS_COUNT);
    if (pass == UFP4_PASS_COUNT)
      return "what follows = is none, or fprop, dgrad, wgrad with + between them";
    if (*passes >> pass & 1) return "a GEMM is there twice";
    *passes |= 1u << pass;
    list += word + 1;
  }
  return NULL;
}

static const char *read_wish(const char *suffix, wish_t *wish) {
  while (*suffix != '\0') {
    const size_t length = strcspn(suffix + 1, "/"), word = strcspn(suffix + 1, "=/");
    const unsigned key = names_find(suffix + 1, word, keys, KEYS);
    if (*suffix != '/' || key == KEYS || word == length)
      return "a suffix is /rht=GEMMS, /sr=GEMMS or both, as in ufp4/rht=dgrad+wgrad/sr=none";
    if (wish->given[key]++) return "rht and sr may each be there once";
    const char *why = read_passes(suffix + 2 + word, length - word - 1, &wish->passes[key]);
    if (why != NULL) return why;
    suffix += 1 + length;
  }
  return NULL;
}

// The transform that the recipe has, or the one that goes with its scales.
static ufp4_rht_t transform_of(const ufp4_recipe_t *recipe) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (recipe->rht[pass] != UFP4_RHT_NONE) return recipe->rht[pass];
  }
  return recipe->scale == UFP4_SCALE_NVFP4 ? UFP4_RHT_BF16 : UFP4_RHT_INTEGER;
}

// The roles that the recipe rounds stochastically, a bit each; dY where there is none.
static unsigned stochastic_roles(const ufp4_recipe_t *recipe) {
  unsigned roles = 0;
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++)
    roles |= (unsigned)(recipe->round[i / 2][i % 2] == UFP4_ROUND_SR) << i / 2;
  return roles != 0 ? roles : 1u << UFP4_ROLE_DY;
}

// E4M3 scales are rounded up for the sake of stochastic rounding, else to nearest.
static void round_copy(ufp4_recipe_t *recipe, ufp4_role_t role, ufp4_axis_t axis,
                       ufp4_round_t round) {
  if (recipe->round[role][axis] == round) return;
  recipe->round[role][axis] = round;
  if (recipe->scale == UFP4_SCALE_E4M3)
    recipe->scale_round[role][axis] =
        round == UFP4_ROUND_SR ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE;
}

static ufp4_status_t set_rounding(ufp4_recipe_t *recipe, unsigned passes, const char *suffix,
                                  ufp4_message_t *message) {
  const unsigned stochastic = stochastic_roles(recipe);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    int rounded = 0;
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2; i++) {
      if (!(stochastic >> roles[i] & 1)) continue;
      round_copy(recipe, roles[i], axes[i], passes >> pass & 1 ? UFP4_ROUND_SR : UFP4_ROUND_RNE);
      rounded = 1;
    }
    if (rounded || !(passes >> pass & 1)) continue;
    // Every GEMM has one of any two roles, so only one role is stochastic here.
    ufp4_message_set(message, "%s%s: %s does not enter %s, and it alone is stochastic here",
                     recipe->name, suffix, role_names[stochastic >> 1], pass_names[pass]);
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}

// The canonical name: rht before sr, passes in their order.
static ufp4_status_t set_name(ufp4_recipe_t *recipe, const wish_t *wish, const char *suffix,
                              ufp4_message_t *message) {
  char name[2 * sizeof recipe->name];
  size_t length = (size_t)snprintf(name, sizeof name, "%s", recipe->name);
  for (int key = 0; key < KEYS; key++) {
    if (!wish->given[key]) continue;
    length += (size_t)snprintf(name + length, sizeof name - length, "/%s", keys[key]);
    char sign = '=';
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
      if (!(wish->passes[key] >> pass & 1)) continue;
      length +=
          (size_t)snprintf(name + length, sizeof name - length, "%c%s", sign, pass_names[pass]);
      sign = '+';
    }
    if (wish->passes[key] == 0)
      length += (size_t)snprintf(name + length, sizeof name - length, "=none");
  }
  if (length >= sizeof recipe->name) return fail(message, recipe, suffix, "the name is too long");
  memcpy(recipe->name, name, length + 1);
  return UFP4_OK;
}

ufp4_status_t ufp4_recipe_vary(ufp4_recipe_t *recipe, const char *suffix, ufp4_message_t *message) {
  if (recipe == NULL || suffix == NULL) return UFP4_ERROR_ARGUMENT;
  wish_t wish = {{0}, {0}};
  ufp4_recipe_t made = *recipe;
  const char *why = read_wish(suffix, &wish);
  if (why != NULL) return fail(message, recipe, suffix, why);
  if (*suffix != '\0' && !recipe->quantized)
    return fail(message, recipe, suffix, "this recipe quantizes nothing");
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (((wish.passes[RHT] | wish.passes[SR]) >> pass & 1) &&
        !ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass))
      return fail(message, recipe, suffix, "this recipe does not quantize each of these GEMMs");
    if (wish.given[RHT])
      made.rht[pass] = wish.passes[RHT] >> pass & 1 ? transform_of(recipe) : UFP4_RHT_NONE;
  }
  if (wish.given[RHT] && wish.passes[RHT] == 0) {  // what is said of it goes with the transform
    made.rht_mask = UFP4_RHT_DEFAULT_MASK;
    made.rht_size = 0;
    made.signs = UFP4_SIGNS_FIXED;
  }
  ufp4_status_t status = UFP4_OK;
  if (wish.given[SR]) status = set_rounding(&made, wish.passes[SR], suffix, message);
  if (status == UFP4_OK) status = set_name(&made, &wish, suffix, message);
  ufp4_message_t illegal = {0};
  if (status == UFP4_OK && ufp4_recipe_check(&made, UFP4_PASSES_ALL, NULL, &illegal) != UFP4_OK)
    return fail(message, recipe, suffix, illegal.text);
  if (status == UFP4_OK) *recipe = made;
  return status;
}
