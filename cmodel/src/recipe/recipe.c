// SPDX-License-Identifier: Apache-2.0
// Recipes (docs/reference/numerics.md, 6): the settings of the named recipes, and the suffixes that
// change them.
#include "ufp4/recipe.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

// Applies to both copies of a role.
#define SCALES_DOWN {UFP4_SCALE_ROUND_DOWN, UFP4_SCALE_ROUND_DOWN}
#define SCALES_UP {UFP4_SCALE_ROUND_UP, UFP4_SCALE_ROUND_UP}
#define SCALES_46 {UFP4_SCALE_ROUND_46, UFP4_SCALE_ROUND_46}
#define SR {UFP4_ROUND_SR, UFP4_ROUND_SR}

// Settings shared by recipes of one kind of scale. With E4M3 and NVFP4 dY is rounded
// stochastically, and with E4M3 its scales are then rounded up.
#define WITH_E4M3                                                              \
  .quantized = 1, .scale = UFP4_SCALE_E4M3, .rht_mask = UFP4_RHT_DEFAULT_MASK, \
  .round = {[UFP4_ROLE_DY] = SR}, .scale_round = {[UFP4_ROLE_DY] = SCALES_UP}
#define WITH_NVFP4                                                                       \
  .quantized = 1, .scale = UFP4_SCALE_NVFP4, .rht = {[UFP4_PASS_WGRAD] = UFP4_RHT_BF16}, \
  .rht_mask = UFP4_RHT_DEFAULT_MASK, .round = {[UFP4_ROLE_DY] = SR},                     \
  .layout = {[UFP4_ROLE_W] = UFP4_LAYOUT_2D}
#define WITH_E8M0                                                   \
  .quantized = 1, .elem = UFP4_ELEM_E2M1, .scale = UFP4_SCALE_E8M0, \
  .rht_mask = UFP4_RHT_DEFAULT_MASK, .contract = UFP4_CONTRACT_FP32

static const ufp4_recipe_t recipes[] = {
    {.name = "fp32", .dtype = UFP4_DTYPE_F32},
    {.name = "bf16", .dtype = UFP4_DTYPE_BF16},
    {.name = "ufp4",
     WITH_E4M3,
     .elem = UFP4_ELEM_E1M2,
     .rht = {UFP4_RHT_INTEGER, UFP4_RHT_INTEGER, UFP4_RHT_INTEGER}},
    {.name = "e2m1",
     WITH_E4M3,
     .elem = UFP4_ELEM_E2M1,
     .rht = {[UFP4_PASS_WGRAD] = UFP4_RHT_INTEGER}},
    {.name = "ufp4-mixed",
     WITH_E4M3,
     .elem = UFP4_ELEM_MIXED,
     .rht = {UFP4_RHT_INTEGER, UFP4_RHT_INTEGER, UFP4_RHT_INTEGER}},
    {.name = "e2m1-mixed",
     WITH_E4M3,
     .elem = UFP4_ELEM_MIXED,
     .rht = {[UFP4_PASS_WGRAD] = UFP4_RHT_INTEGER}},
    {.name = "nvfp4", WITH_NVFP4, .elem = UFP4_ELEM_E2M1},
    {.name = "nvint4", WITH_NVFP4, .elem = UFP4_ELEM_INT4},
    {.name = "nve1m2", WITH_NVFP4, .elem = UFP4_ELEM_E1M2},
    {.name = "e2m1-46",
     WITH_NVFP4,
     .elem = UFP4_ELEM_E2M1,
     .scale_round = {SCALES_46, SCALES_46, SCALES_46}},
    {.name = "nvfp4-full",
     WITH_NVFP4,
     .elem = UFP4_ELEM_E2M1,
     .bf16_layers = {.last = {.percent = 15}}},
    {.name = "mxfp4",
     WITH_E8M0,
     .round = {[UFP4_ROLE_DY] = SR},
     .scale_round = {SCALES_DOWN, SCALES_DOWN, SCALES_DOWN}},
    {.name = "mxfp4-rht",
     WITH_E8M0,
     .rht = {[UFP4_PASS_DGRAD] = UFP4_RHT_INTEGER, [UFP4_PASS_WGRAD] = UFP4_RHT_INTEGER},
     .signs = UFP4_SIGNS_STEP,
     .round = {SR, SR, SR},
     .scale_round = {SCALES_UP, SCALES_UP, SCALES_UP},
     .bf16_passes = 1u << UFP4_PASS_FPROP},
};

ufp4_status_t ufp4_recipe_named(const char *name, ufp4_recipe_t *recipe) {
  if (name == NULL || recipe == NULL) return UFP4_ERROR_ARGUMENT;
  const char *suffix = ufp4_recipe_suffix(name);
  const size_t length = (size_t)(suffix - name);
  for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
    if (strlen(recipes[i].name) != length || memcmp(name, recipes[i].name, length) != 0) continue;
    ufp4_recipe_t made = recipes[i];
    ufp4_status_t status = ufp4_recipe_vary(&made, suffix, NULL);
    if (status == UFP4_OK) *recipe = made;
    return status;
  }
  return UFP4_ERROR_ARGUMENT;
}

const char *ufp4_matrix_name(unsigned matrix) {
  return matrix_names[matrix % UFP4_MATRIX_COUNT];
}

int ufp4_recipe_quantizes(const ufp4_recipe_t *recipe, ufp4_pass_t pass) {
  return recipe->quantized && !(recipe->bf16_passes >> pass & 1);
}

const char *ufp4_recipe_model_key(const ufp4_recipe_t *recipe) {
  const ufp4_bf16_layers_t none = {.matrices = 0};
  if (memcmp(&recipe->bf16_layers, &none, sizeof none) != 0) return "bf16_layers";
  return recipe->signs == UFP4_SIGNS_STEP ? "signs" : NULL;
}

static unsigned blocks_of_end(const ufp4_model_end_t *end, unsigned blocks) {
  const unsigned share =
      (unsigned)(((uint64_t)blocks * end->percent + 99) / 100);  // whole blocks, rounded up
  return share > end->blocks ? share : end->blocks;
}

ufp4_recipe_t ufp4_recipe_of_layer(const ufp4_recipe_t *recipe, unsigned layer, unsigned blocks) {
  const ufp4_bf16_layers_t *kept = &recipe->bf16_layers;
  const unsigned block = layer / UFP4_MATRIX_COUNT, matrix = layer % UFP4_MATRIX_COUNT;
  ufp4_recipe_t of_layer = *recipe;
  of_layer.bf16_layers = (ufp4_bf16_layers_t){.matrices = 0};
  if (recipe->quantized &&
      (block < blocks_of_end(&kept->first, blocks) ||
       blocks - block <= blocks_of_end(&kept->last, blocks) || (kept->matrices >> matrix & 1))) {
    of_layer.quantized = of_layer.requantize = 0;
    of_layer.dtype = UFP4_DTYPE_BF16;
  }
  return of_layer;
}

void ufp4_pass_operands(ufp4_pass_t pass, ufp4_role_t role[2], ufp4_axis_t axis[2]) {
  static const ufp4_role_t roles[UFP4_PASS_COUNT][2] = {
      {UFP4_ROLE_X, UFP4_ROLE_W}, {UFP4_ROLE_DY, UFP4_ROLE_W}, {UFP4_ROLE_DY, UFP4_ROLE_X}};
  static const ufp4_axis_t axes[UFP4_PASS_COUNT][2] = {{UFP4_AXIS_ROW, UFP4_AXIS_ROW},
                                                       {UFP4_AXIS_ROW, UFP4_AXIS_COL},
                                                       {UFP4_AXIS_COL, UFP4_AXIS_COL}};
  for (int i = 0; i < 2; i++) {
    role[i] = roles[pass][i];
    axis[i] = axes[pass][i];
  }
}

// Each copy of a role enters exactly one GEMM.
static ufp4_pass_t pass_of_copy(ufp4_role_t role, ufp4_axis_t axis) {
  if (role == UFP4_ROLE_DY) return axis == UFP4_AXIS_ROW ? UFP4_PASS_DGRAD : UFP4_PASS_WGRAD;
  if (axis == UFP4_AXIS_ROW) return UFP4_PASS_FPROP;
  return role == UFP4_ROLE_W ? UFP4_PASS_DGRAD : UFP4_PASS_WGRAD;
}

static uint64_t first_points(uint64_t mask, int points) {
  return points < 64 ? mask & ((UINT64_C(1) << points) - 1) : mask;
}

uint64_t ufp4_default_mask(int points) {
  return first_points(UFP4_RHT_DEFAULT_MASK * UINT64_C(0x0001000100010001), points);
}

uint64_t ufp4_recipe_mask(const ufp4_recipe_t *recipe, uint64_t seed, uint64_t step) {
  // The third word of the key is 1 here; it is 0 for the random bytes of stochastic rounding.
  const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 1, 0};
  const uint32_t counter[4] = {(uint32_t)step, (uint32_t)(step >> 32), 0, 0};
  uint32_t words[4];
  if (recipe->signs == UFP4_SIGNS_FIXED) return recipe->rht_mask;
  ufp4_threefry4x32(12, key, counter, words);
  return first_points((uint64_t)words[1] << 32 | words[0],
                      recipe->rht_size != 0 ? recipe->rht_size : 16);
}

ufp4_quantize_t ufp4_recipe_quantize(const ufp4_recipe_t *recipe, ufp4_role_t role,
                                     ufp4_axis_t axis) {
  ufp4_quantize_t how = {.elem = recipe->elem, .scale = recipe->scale, .axis = axis};
  how.rht = recipe->rht[pass_of_copy(role, axis)];
  how.rht_mask = recipe->rht_mask;
  how.round = recipe->round[role][axis];
  how.scale_round = recipe->scale_round[role][axis];
  how.layout = recipe->layout[role];
  how.block = recipe->block;
  how.rht_size = recipe->rht_size;
  return how;
}

static ufp4_status_t check_pass(const ufp4_recipe_t *recipe, ufp4_pass_t pass, const char *backend,
                                ufp4_message_t *message) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    const ufp4_quantize_t how = ufp4_recipe_quantize(recipe, roles[i], axes[i]);
    ufp4_status_t status = ufp4_combination_quantize(&how, 0, backend, message);
    if (status != UFP4_OK) return status;
  }
  return ufp4_combination_gemm(recipe->elem, recipe->elem, recipe->scale, recipe->contract, backend,
                               message);
}

static int is_wide(const ufp4_recipe_t *recipe) {
  return recipe->rht_size > 16 || recipe->block > ufp4_scale_block(recipe->scale);
}

// Returns the key of a setting that has no effect because no operand is transformed, or NULL.
static const char *transform_in_vain(const ufp4_recipe_t *recipe) {
  if (!recipe->quantized) return NULL;
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (recipe->rht[pass] && ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass)) return NULL;
  }
  if (recipe->rht_size > 16) return "rht_size";
  if (recipe->signs != UFP4_SIGNS_FIXED) return "signs step";
  return recipe->rht_mask != UFP4_RHT_DEFAULT_MASK ? "rht_mask" : NULL;
}

ufp4_status_t ufp4_recipe_check(const ufp4_recipe_t *recipe, unsigned passes, const char *backend,
                                ufp4_message_t *message) {
  if (recipe == NULL) return UFP4_ERROR_ARGUMENT;
  const char *in_vain = transform_in_vain(recipe);
  if (in_vain != NULL) {
    ufp4_message_set(message, "%s has no effect without a transform; set rht, or leave it out",
                     in_vain);
    return UFP4_ERROR_ARGUMENT;
  }
  if (recipe->requantize && !ufp4_recipe_quantizes(recipe, UFP4_PASS_FPROP)) {
    ufp4_message_set(message,
                     "requantize needs a quantized FPROP, which this recipe does not have");
    return UFP4_ERROR_ARGUMENT;
  }
  if (recipe->quantized && is_wide(recipe) && recipe->contract != UFP4_CONTRACT_EXACT) {
    ufp4_message_set(message, "blocks and transforms larger than 16 need contract exact");
    return UFP4_ERROR_ARGUMENT;
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (!(passes >> pass & 1) || !ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass)) continue;
    ufp4_status_t status = check_pass(recipe, (ufp4_pass_t)pass, backend, message);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

// --- Suffixes: RHT and stochastic rounding by GEMM ----------------------------------------------

enum { KEY_RHT, KEY_SR, KEYS };
static const char *const keys[KEYS] = {"rht", "sr"};

// A parsed suffix: the keys that are present, and their passes.
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

static ufp4_status_t fail_suffix(ufp4_message_t *message, const ufp4_recipe_t *recipe,
                                 const char *suffix, const char *why) {
  ufp4_message_set(message, "%s%s: %s", recipe->name, suffix, why);
  return UFP4_ERROR_ARGUMENT;
}

// Reads "none", or names of passes joined by +. Returns an error message, or NULL.
static const char *read_passes(const char *list, size_t length, unsigned *passes) {
  if (length == 4 && memcmp(list, "none", 4) == 0) return NULL;
  for (const char *end = list + length; list <= end;) {
    const char *plus = memchr(list, '+', (size_t)(end - list));
    const size_t word = (size_t)((plus != NULL ? plus : end) - list);
    const unsigned pass = names_find(list, word, pass_names, UFP4_PASS_COUNT);
    if (pass == UFP4_PASS_COUNT)
      return "'=' must be followed by none, or by fprop, dgrad and wgrad joined by '+'";
    if (*passes >> pass & 1) return "a GEMM is named twice";
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
      return "a suffix must be /rht=GEMMS, /sr=GEMMS or both, as in ufp4/rht=dgrad+wgrad/sr=none";
    if (wish->given[key]++) return "rht and sr may each be given once";
    const char *why = read_passes(suffix + 2 + word, length - word - 1, &wish->passes[key]);
    if (why != NULL) return why;
    suffix += 1 + length;
  }
  return NULL;
}

// Returns the recipe's transform, or if it has none, the usual one for its scales.
static ufp4_rht_t transform_of(const ufp4_recipe_t *recipe) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (recipe->rht[pass] != UFP4_RHT_NONE) return recipe->rht[pass];
  }
  return recipe->scale == UFP4_SCALE_NVFP4 ? UFP4_RHT_BF16 : UFP4_RHT_INTEGER;
}

// Returns the roles that the recipe rounds stochastically, a bit each, or dY if there is none.
static unsigned stochastic_roles(const ufp4_recipe_t *recipe) {
  unsigned roles = 0;
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++)
    roles |= (unsigned)(recipe->round[i / 2][i % 2] == UFP4_ROUND_SR) << i / 2;
  return roles != 0 ? roles : 1u << UFP4_ROLE_DY;
}

// E4M3 scales are rounded up for stochastic rounding, otherwise to nearest.
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
    // Any two roles include one of every GEMM's, so exactly one role is stochastic here.
    ufp4_message_set(
        message, "%s%s: this recipe rounds only %s stochastically, which is not an operand of %s",
        recipe->name, suffix, role_names[stochastic >> 1], pass_names[pass]);
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}

// Appends the canonical suffix: rht before sr, passes in their order.
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
  if (length >= sizeof recipe->name)
    return fail_suffix(message, recipe, suffix, "the name is too long");
  memcpy(recipe->name, name, length + 1);
  return UFP4_OK;
}

ufp4_status_t ufp4_recipe_vary(ufp4_recipe_t *recipe, const char *suffix, ufp4_message_t *message) {
  if (recipe == NULL || suffix == NULL) return UFP4_ERROR_ARGUMENT;
  wish_t wish = {{0}, {0}};
  ufp4_recipe_t made = *recipe;
  const char *why = read_wish(suffix, &wish);
  if (why != NULL) return fail_suffix(message, recipe, suffix, why);
  if (*suffix != '\0' && !recipe->quantized)
    return fail_suffix(message, recipe, suffix,
                       "this recipe does not quantize, so it takes no suffix");
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (((wish.passes[KEY_RHT] | wish.passes[KEY_SR]) >> pass & 1) &&
        !ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass))
      return fail_suffix(message, recipe, suffix,
                         "this recipe does not quantize all of these GEMMs");
    if (wish.given[KEY_RHT])
      made.rht[pass] = wish.passes[KEY_RHT] >> pass & 1 ? transform_of(recipe) : UFP4_RHT_NONE;
  }
  if (wish.given[KEY_RHT] &&
      wish.passes[KEY_RHT] == 0) {  // settings of the transform are reset with it
    made.rht_mask = UFP4_RHT_DEFAULT_MASK;
    made.rht_size = 0;
    made.signs = UFP4_SIGNS_FIXED;
  }
  ufp4_status_t status = UFP4_OK;
  if (wish.given[KEY_SR]) status = set_rounding(&made, wish.passes[KEY_SR], suffix, message);
  if (status == UFP4_OK) status = set_name(&made, &wish, suffix, message);
  ufp4_message_t illegal = {0};
  if (status == UFP4_OK && ufp4_recipe_check(&made, UFP4_PASSES_ALL, NULL, &illegal) != UFP4_OK)
    return fail_suffix(message, recipe, suffix, illegal.text);
  if (status == UFP4_OK) *recipe = made;
  return status;
}
