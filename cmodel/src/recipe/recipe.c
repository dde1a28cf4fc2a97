// SPDX-License-Identifier: Apache-2.0
// Recipes (docs/reference/numerics.md, 6): the settings that each named recipe stands for.
#include "ufp4/recipe.h"

#include <string.h>

#include "base/names.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"
#include "ufp4/random.h"

// Both copies of a role.
#define SCALES_DOWN {UFP4_SCALE_ROUND_DOWN, UFP4_SCALE_ROUND_DOWN}
#define SCALES_UP {UFP4_SCALE_ROUND_UP, UFP4_SCALE_ROUND_UP}
#define SCALES_46 {UFP4_SCALE_ROUND_46, UFP4_SCALE_ROUND_46}
#define SR {UFP4_ROUND_SR, UFP4_ROUND_SR}

// Recipes of one kind of scale share these settings. With E4M3 and NVFP4 dY is rounded
// stochastically, and with E4M3 its scales are rounded up.
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
  // The random bytes of stochastic rounding have 0 in the third word of the key.
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

// The key of a setting that has no effect since no operand is transformed, or NULL.
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
    ufp4_message_set(message, "%s goes with a transform; there is none without rht", in_vain);
    return UFP4_ERROR_ARGUMENT;
  }
  if (recipe->requantize && !ufp4_recipe_quantizes(recipe, UFP4_PASS_FPROP)) {
    ufp4_message_set(message,
                     "requantize needs a quantized FPROP, which this recipe does not have");
    return UFP4_ERROR_ARGUMENT;
  }
  if (recipe->quantized && is_wide(recipe) && recipe->contract != UFP4_CONTRACT_EXACT) {
    ufp4_message_set(message, "blocks over 16 and transforms over 16 go with contract exact alone");
    return UFP4_ERROR_ARGUMENT;
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (!(passes >> pass & 1) || !ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass)) continue;
    ufp4_status_t status = check_pass(recipe, (ufp4_pass_t)pass, backend, message);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}
