// SPDX-License-Identifier: Apache-2.0
// Recipes (docs/reference/numerics.md, 6): the settings that each named recipe stands for.
#include "ufp4/recipe.h"

#include <string.h>

#include "ufp4/combination.h"

static const ufp4_recipe_t recipes[] = {
    {.name = "fp32", .dtype = UFP4_DTYPE_F32},
    {.name = "bf16", .dtype = UFP4_DTYPE_BF16},
    {.name = "ufp4",
     .quantized = 1,
     .elem = UFP4_ELEM_E1M2,
     .scale = UFP4_SCALE_E4M3,
     .rht = {UFP4_RHT_INTEGER, UFP4_RHT_INTEGER, UFP4_RHT_INTEGER},
     .rht_mask = UFP4_RHT_DEFAULT_MASK,
     .round = {[UFP4_ROLE_DY] = UFP4_ROUND_SR},
     .scale_round = {[UFP4_ROLE_DY] = UFP4_SCALE_ROUND_UP}},
    {.name = "e2m1",
     .quantized = 1,
     .elem = UFP4_ELEM_E2M1,
     .scale = UFP4_SCALE_E4M3,
     .rht = {[UFP4_PASS_WGRAD] = UFP4_RHT_INTEGER},
     .rht_mask = UFP4_RHT_DEFAULT_MASK,
     .round = {[UFP4_ROLE_DY] = UFP4_ROUND_SR},
     .scale_round = {[UFP4_ROLE_DY] = UFP4_SCALE_ROUND_UP}},
    {.name = "nvfp4",
     .quantized = 1,
     .elem = UFP4_ELEM_E2M1,
     .scale = UFP4_SCALE_NVFP4,
     .rht = {[UFP4_PASS_WGRAD] = UFP4_RHT_BF16},
     .rht_mask = UFP4_RHT_DEFAULT_MASK,
     .round = {[UFP4_ROLE_DY] = UFP4_ROUND_SR},
     .layout = {[UFP4_ROLE_W] = UFP4_LAYOUT_2D}},
    {.name = "mxfp4",
     .quantized = 1,
     .elem = UFP4_ELEM_E2M1,
     .scale = UFP4_SCALE_E8M0,
     .rht_mask = UFP4_RHT_DEFAULT_MASK,
     .round = {[UFP4_ROLE_DY] = UFP4_ROUND_SR},
     .scale_round = {UFP4_SCALE_ROUND_DOWN, UFP4_SCALE_ROUND_DOWN, UFP4_SCALE_ROUND_DOWN},
     .contract = UFP4_CONTRACT_FP32},
};

ufp4_status_t ufp4_recipe_named(const char *name, ufp4_recipe_t *recipe) {
  if (name == NULL || recipe == NULL) return UFP4_ERROR_ARGUMENT;
  for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
    if (strcmp(name, recipes[i].name) != 0) continue;
    *recipe = recipes[i];
    return UFP4_OK;
  }
  return UFP4_ERROR_ARGUMENT;
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

ufp4_quantize_t ufp4_recipe_quantize(const ufp4_recipe_t *recipe, ufp4_role_t role,
                                     ufp4_axis_t axis) {
  ufp4_quantize_t how = {.elem = recipe->elem, .scale = recipe->scale, .axis = axis};
  how.rht = recipe->rht[pass_of_copy(role, axis)];
  how.rht_mask = recipe->rht_mask;
  how.round = recipe->round[role];
  how.scale_round = recipe->scale_round[role];
  how.layout = recipe->layout[role];
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

ufp4_status_t ufp4_recipe_check(const ufp4_recipe_t *recipe, unsigned passes, const char *backend,
                                ufp4_message_t *message) {
  if (recipe == NULL) return UFP4_ERROR_ARGUMENT;
  for (int pass = 0; pass < UFP4_PASS_COUNT && recipe->quantized; pass++) {
    if (!(passes >> pass & 1)) continue;
    ufp4_status_t status = check_pass(recipe, (ufp4_pass_t)pass, backend, message);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}
