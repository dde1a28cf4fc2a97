// SPDX-License-Identifier: Apache-2.0
// Tests the settings of a recipe other than formats: passes in BF16, copies that round differently,
// signs that change with the step.
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "ufp4/rht.h"

enum { TOKENS = 20, CIN = 35, COUT = 18, LAYER = 5, STEP = 9 };
static const int64_t shape[] = {TOKENS, CIN, COUT};

/** The D of every pass. */
typedef struct {
  float d[UFP4_PASS_COUNT][COUT * CIN + TOKENS * CIN + TOKENS * COUT];
  int64_t count[UFP4_PASS_COUNT];
} outputs_t;

typedef struct {
  ufp4_device_t *device;
  tensors_t tensors;
} rig_t;

static rig_t open_rig(const char *configuration) {
  check_random_t random = check_random();
  return (rig_t){device_of(configuration), make_tensors(&random, shape)};
}

static void close_rig(rig_t *rig) {
  ufp4_device_close(rig->device);
  free_tensors(&rig->tensors);
}

static ufp4_linear_t *linear_of(const rig_t *rig, const ufp4_recipe_t *recipe, unsigned passes) {
  return make_linear_by(rig->device, shape, recipe, LAYER, passes);
}

static void take_step(ufp4_linear_t *linear, const tensors_t *tensors, outputs_t *out) {
  const ufp4_matrix_t *v = tensors->views;
  ufp4_gemm_stats_t stats[UFP4_PASS_COUNT];
  check_bits(0, ufp4_linear_fprop(linear, &v[0], &v[1], STEP, out->d[0], &stats[0]), UFP4_OK,
             "fprop");
  check_bits(0, ufp4_linear_dgrad(linear, &v[2], STEP, out->d[1], &stats[1]), UFP4_OK, "dgrad");
  check_bits(0, ufp4_linear_wgrad(linear, out->d[2], &stats[2]), UFP4_OK, "wgrad");
  for (int i = 0; i < UFP4_PASS_COUNT; i++) out->count[i] = stats[i].m * stats[i].n;
}

static outputs_t run_recipe(const rig_t *rig, const ufp4_recipe_t *recipe) {
  outputs_t out = {0};
  ufp4_linear_t *linear = linear_of(rig, recipe, UFP4_PASSES_ALL);
  if (linear != NULL) take_step(linear, &rig->tensors, &out);
  ufp4_linear_free(linear);
  return out;
}

static void check_outputs(int64_t index, const outputs_t *got, const outputs_t *want, int pass) {
  check_bits(index, (uint64_t)got->count[pass], (uint64_t)want->count[pass], "count");
  for (int64_t i = 0; i < got->count[pass]; i++) {
    check_bits(i, ufp4_f32_bits(got->d[pass][i]), ufp4_f32_bits(want->d[pass][i]),
               "pass %d of case %lld", pass, (long long)index);
  }
}

// Each pass of such a recipe gives the result of the recipe itself or, if it is in BF16, of bf16.
TEST(bf16_passes_are_those_of_bf16) {
  rig_t rig = open_rig("small");
  ufp4_recipe_t recipe = named("ufp4"), plain = named("bf16");
  const outputs_t quantized = run_recipe(&rig, &recipe);
  const outputs_t bf16 = run_recipe(&rig, &plain);
  for (unsigned passes = 1; passes <= UFP4_PASSES_ALL; passes++) {
    recipe.bf16_passes = passes;
    const outputs_t mixed = run_recipe(&rig, &recipe);
    for (int i = 0; i < UFP4_PASS_COUNT; i++)
      check_outputs(passes, &mixed, passes >> i & 1 ? &bf16 : &quantized, i);
  }
  close_rig(&rig);
}

// FPROP is the only pass, and it is in BF16, so nothing is quantized.
TEST(a_layer_whose_only_pass_is_in_bf16) {
  rig_t rig = open_rig("small");
  ufp4_recipe_t recipe = named("ufp4"), plain = named("bf16");
  const outputs_t want = run_recipe(&rig, &plain);
  recipe.bf16_passes = 1u << UFP4_PASS_FPROP;
  ufp4_linear_t *linear = linear_of(&rig, &recipe, 1u << UFP4_PASS_FPROP);
  outputs_t got = {.count = {TOKENS * COUT}};
  ufp4_operand_t none;
  check_bits(0, (uint64_t)ufp4_linear_quantizes(linear, UFP4_PASS_FPROP), 0, "quantizes");
  check_bits(
      0,
      ufp4_linear_fprop(linear, &rig.tensors.views[0], &rig.tensors.views[1], STEP, got.d[0], NULL),
      UFP4_OK, "fprop");
  check_outputs(0, &got, &want, 0);
  check_bits(1, ufp4_linear_operand(linear, UFP4_ROLE_X, UFP4_AXIS_ROW, &none), UFP4_ERROR_ARGUMENT,
             "there is no such copy");
  check_bits(2, ufp4_linear_load(linear, UFP4_ROLE_DY, &rig.tensors.views[2], STEP),
             UFP4_ERROR_ARGUMENT, "dY enters no pass");
  ufp4_linear_free(linear);
  close_rig(&rig);
}

// Runs a step of a recipe and compares all its quantized passes. @return whether the host
// quantized.
static int check_recipe(const rig_t *rig, const ufp4_recipe_t *recipe) {
  outputs_t out = {0};
  ufp4_linear_t *linear = linear_of(rig, recipe, UFP4_PASSES_ALL);
  take_step(linear, &rig->tensors, &out);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass))
      check_pass(pass, linear, recipe, rig->tensors.views, (ufp4_pass_t)pass, LAYER, STEP,
                 out.d[pass]);
  }
  const int on_host = ufp4_linear_quantizes_on_host(linear);
  ufp4_linear_free(linear);
  return on_host;
}

// QUANT rounds both copies of a tensor alike, so the host must quantize.
TEST(copies_round_each_in_its_way) {
  rig_t rig = open_rig("small");
  for (int i = 0; i < 2; i++) {
    ufp4_recipe_t recipe = named("ufp4");
    if (i == 0) recipe.round[UFP4_ROLE_DY][UFP4_AXIS_ROW] = UFP4_ROUND_RNE;
    if (i == 1) recipe.scale_round[UFP4_ROLE_X][UFP4_AXIS_COL] = UFP4_SCALE_ROUND_UP;
    check_bits(i, (uint64_t)check_recipe(&rig, &recipe), (uint64_t)stand_is_core(), "on the host");
  }
  close_rig(&rig);
}

TEST(signs_are_those_of_the_step) {
  rig_t rig = open_rig("small");
  ufp4_recipe_t recipe = named("ufp4");
  recipe.signs = UFP4_SIGNS_STEP;
  check_that(0,
             ufp4_recipe_mask(&recipe, LAYER_SEED, STEP) !=
                 ufp4_recipe_mask(&recipe, LAYER_SEED, STEP + 1),
             "the signs of two steps");
  check_bits(0, (uint64_t)check_recipe(&rig, &recipe), 0, "on the host");
  close_rig(&rig);
}

// The backward passes are in MXFP4 after the transform, which QUANT does not have.
TEST(mxfp4_rht_equals_the_golden_model) {
  rig_t rig = open_rig("small-fp32");
  const ufp4_recipe_t recipe = named("mxfp4-rht");
  check_bits(0, (uint64_t)check_recipe(&rig, &recipe), (uint64_t)stand_is_core(), "on the host");
  close_rig(&rig);
}

// Returns the values of FPROP's copy of a tensor as a tensor; the caller frees its data.
static ufp4_matrix_t forward_values(const ufp4_recipe_t *recipe, const ufp4_matrix_t *tensor,
                                    ufp4_role_t role) {
  ufp4_operand_t copy = golden_copy(recipe, tensor, role, UFP4_AXIS_ROW, LAYER, STEP);
  const int64_t ld = copy.blocks * 16;
  float *values = malloc((size_t)(copy.rows * ld) * sizeof *values);
  check_bits(0, ufp4_dequantize(&copy, ld, values, ld), UFP4_OK, "dequantize");
  for (int64_t i = 0; i < copy.rows * ld && recipe->rht[UFP4_PASS_FPROP]; i += 16)
    ufp4_rht_undo(values + i, (uint16_t)ufp4_recipe_mask(recipe, LAYER_SEED, STEP));
  ufp4_operand_free(&copy);
  return (ufp4_matrix_t){UFP4_DTYPE_F32, tensor->rows, tensor->cols, ld, values};
}

// Checks that DGRAD takes the values of FPROP's W, and WGRAD those of its X, in 4 bits or in BF16.
static void check_requantized(const rig_t *rig, const ufp4_recipe_t *recipe) {
  rig_t kept = *rig;
  outputs_t out = {0};
  ufp4_linear_t *linear = linear_of(rig, recipe, UFP4_PASSES_ALL);
  take_step(linear, &rig->tensors, &out);
  check_bits(0, (uint64_t)ufp4_linear_quantizes_on_host(linear), (uint64_t)stand_is_core(),
             "on the host");
  check_pass(0, linear, recipe, rig->tensors.views, UFP4_PASS_FPROP, LAYER, STEP, out.d[0]);
  for (int role = 0; role < 2; role++)
    kept.tensors.views[role] = forward_values(recipe, &rig->tensors.views[role], (ufp4_role_t)role);
  const ufp4_recipe_t plain = named("bf16");
  const outputs_t bf16 = run_recipe(&kept, &plain);
  for (int pass = UFP4_PASS_DGRAD; pass < UFP4_PASS_COUNT; pass++) {
    if (ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass)) {
      check_pass(pass, linear, recipe, kept.tensors.views, (ufp4_pass_t)pass, LAYER, STEP,
                 out.d[pass]);
    } else {
      check_outputs(pass, &out, &bf16, pass);
    }
  }
  for (int role = 0; role < 2; role++) free((void *)(uintptr_t)kept.tensors.views[role].data);
  ufp4_linear_free(linear);
}

TEST(requantize_takes_the_values_of_fprop) {
  rig_t rig = open_rig("small");
  for (int i = 0; i < 8; i++) {
    ufp4_recipe_t recipe = named(i % 2 ? "e2m1" : "ufp4");  // FPROP without and with RHT
    recipe.requantize = 1;
    if (i / 2 == 1) recipe.bf16_passes = 1u << UFP4_PASS_DGRAD;
    if (i / 2 == 2) recipe.bf16_passes = 1u << UFP4_PASS_DGRAD | 1u << UFP4_PASS_WGRAD;
    if (i / 2 == 3) recipe.signs = UFP4_SIGNS_STEP;
    check_requantized(&rig, &recipe);
  }
  close_rig(&rig);
}

// A layer without FPROP still makes FPROP's copy.
TEST(requantize_without_fprop) {
  rig_t rig = open_rig("small");
  for (unsigned in_bf16 = 0; in_bf16 < 2; in_bf16++) {
    ufp4_recipe_t recipe = named("ufp4");
    recipe.requantize = 1;
    recipe.bf16_passes = in_bf16 << UFP4_PASS_DGRAD;
    const outputs_t want = run_recipe(&rig, &recipe);
    ufp4_linear_t *linear = linear_of(&rig, &recipe, 1u << UFP4_PASS_DGRAD);
    outputs_t got = {.count = {0, TOKENS * CIN}};
    check_bits(0, ufp4_linear_load(linear, UFP4_ROLE_W, &rig.tensors.views[UFP4_ROLE_W], STEP),
               UFP4_OK, "load W");
    check_bits(0, ufp4_linear_dgrad(linear, &rig.tensors.views[UFP4_ROLE_DY], STEP, got.d[1], NULL),
               UFP4_OK, "dgrad");
    check_outputs(in_bf16, &got, &want, UFP4_PASS_DGRAD);
    ufp4_linear_free(linear);
  }
  close_rig(&rig);
}

TEST(rejects_operands_whose_signs_differ) {
  rig_t rig = open_rig("small");
  ufp4_recipe_t recipe = named("ufp4");
  outputs_t out;
  for (int i = 0; i < 2; i++) {
    recipe.signs = i ? UFP4_SIGNS_STEP : UFP4_SIGNS_FIXED;
    ufp4_linear_t *linear = linear_of(&rig, &recipe, UFP4_PASSES_ALL);
    take_step(linear, &rig.tensors, &out);
    ufp4_status_t status =
        ufp4_linear_dgrad(linear, &rig.tensors.views[UFP4_ROLE_DY], STEP + 1, out.d[1], NULL);
    check_bits(i, status, i ? UFP4_ERROR_ARGUMENT : UFP4_OK, "dY of another step");
    ufp4_linear_free(linear);
  }
  check_that(0, strstr(ufp4_device_message(rig.device), "transforms have different signs") != NULL,
             "the message is: %s", ufp4_device_message(rig.device));
  close_rig(&rig);
}

TEST(rejects_what_needs_a_whole_model) {
  const ufp4_linear_shape_t whole = {TOKENS, CIN, COUT, LAYER, LAYER_SEED, UFP4_PASSES_ALL};
  ufp4_device_t *device = stand_device();
  ufp4_linear_t *linear = NULL;
  ufp4_recipe_t recipe = named("ufp4");
  recipe.bf16_layers.last.blocks = 1;
  check_bits(0, ufp4_linear_create(device, &whole, &recipe, &linear), UFP4_ERROR_ARGUMENT,
             "create");
  check_that(0, strstr(ufp4_device_message(device), "bf16_layers") != NULL, "the message is: %s",
             ufp4_device_message(device));
  ufp4_device_close(device);
}
