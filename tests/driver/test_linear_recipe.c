// SPDX-License-Identifier: Apache-2.0
// What a recipe may say beyond formats: passes in BF16, copies that round differently, signs that
// change with the step.
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ufp4/rht.h"

enum { TOKENS = 20, CIN = 35, COUT = 18, LAYER = 5, SEED = 77, STEP = 9 };
static const int64_t sizes[UFP4_ROLE_COUNT][2] = {{TOKENS, CIN}, {COUT, CIN}, {TOKENS, COUT}};

/** Tensors by role. */
typedef struct {
  ufp4_matrix_t views[UFP4_ROLE_COUNT];
  float *data[UFP4_ROLE_COUNT];
} tensors_t;

/** D of every pass. */
typedef struct {
  float d[UFP4_PASS_COUNT][COUT * CIN + TOKENS * CIN + TOKENS * COUT];
  int64_t count[UFP4_PASS_COUNT];
} outputs_t;

static tensors_t make_tensors(void) {
  check_random_t random = check_random();
  tensors_t tensors;
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) {
    tensors.data[i] = bench_tensor(&random, sizes[i][0] * sizes[i][1], 1.0f);
    tensors.views[i] =
        (ufp4_matrix_t){UFP4_DTYPE_F32, sizes[i][0], sizes[i][1], sizes[i][1], tensors.data[i]};
  }
  return tensors;
}

static void free_tensors(tensors_t *tensors) {
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) free(tensors->data[i]);
}

static ufp4_recipe_t named(const char *name) {
  ufp4_recipe_t recipe = {0};
  check_bits(0, ufp4_recipe_named(name, &recipe), UFP4_OK, "%s", name);
  return recipe;
}

static ufp4_linear_t *make_linear(ufp4_device_t *device, const ufp4_recipe_t *recipe,
                                  unsigned passes) {
  const ufp4_linear_shape_t shape = {TOKENS, CIN, COUT, LAYER, SEED, passes};
  ufp4_linear_t *linear = NULL;
  check_bits(0, ufp4_linear_create(device, &shape, recipe, &linear), UFP4_OK, "create: %s",
             ufp4_device_message(device));
  return linear;
}

static void take_step(ufp4_linear_t *linear, const tensors_t *tensors, uint64_t step,
                      outputs_t *out) {
  const ufp4_matrix_t *v = tensors->views;
  ufp4_gemm_stats_t stats[UFP4_PASS_COUNT];
  check_bits(0, ufp4_linear_fprop(linear, &v[0], &v[1], step, out->d[0], &stats[0]), UFP4_OK,
             "fprop");
  check_bits(0, ufp4_linear_dgrad(linear, &v[2], step, out->d[1], &stats[1]), UFP4_OK, "dgrad");
  check_bits(0, ufp4_linear_wgrad(linear, out->d[2], &stats[2]), UFP4_OK, "wgrad");
  for (int i = 0; i < UFP4_PASS_COUNT; i++) out->count[i] = stats[i].m * stats[i].n;
}

static outputs_t run_recipe(ufp4_device_t *device, const ufp4_recipe_t *recipe,
                            const tensors_t *tensors) {
  outputs_t out = {0};
  ufp4_linear_t *linear = make_linear(device, recipe, UFP4_PASSES_ALL);
  if (linear != NULL) take_step(linear, tensors, STEP, &out);
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

// Each pass of a recipe with passes in BF16 is that of the recipe itself, or that of bf16.
TEST(bf16_passes_are_those_of_bf16) {
  ufp4_device_t *device = bench_device();
  tensors_t tensors = make_tensors();
  ufp4_recipe_t recipe = named("ufp4"), plain = named("bf16");
  const outputs_t quantized = run_recipe(device, &recipe, &tensors);
  const outputs_t bf16 = run_recipe(device, &plain, &tensors);
  for (unsigned passes = 1; passes <= UFP4_PASSES_ALL; passes++) {
    recipe.bf16_passes = passes;
    const outputs_t mixed = run_recipe(device, &recipe, &tensors);
    for (int i = 0; i < UFP4_PASS_COUNT; i++)
      check_outputs(passes, &mixed, passes >> i & 1 ? &bf16 : &quantized, i);
  }
  ufp4_device_close(device);
  free_tensors(&tensors);
}

// FPROP alone, and it is in BF16: nothing is quantized.
TEST(a_layer_whose_only_pass_is_in_bf16) {
  ufp4_device_t *device = bench_device();
  tensors_t tensors = make_tensors();
  ufp4_recipe_t recipe = named("ufp4"), plain = named("bf16");
  const outputs_t want = run_recipe(device, &plain, &tensors);
  recipe.bf16_passes = 1u << UFP4_PASS_FPROP;
  ufp4_linear_t *linear = make_linear(device, &recipe, 1u << UFP4_PASS_FPROP);
  outputs_t got = {.count = {TOKENS * COUT}};
  ufp4_operand_t none;
  check_bits(0, (uint64_t)ufp4_linear_quantizes(linear, UFP4_PASS_FPROP), 0, "quantizes");
  check_bits(0,
             ufp4_linear_fprop(linear, &tensors.views[0], &tensors.views[1], STEP, got.d[0], NULL),
             UFP4_OK, "fprop");
  check_outputs(0, &got, &want, 0);
  check_bits(1, ufp4_linear_operand(linear, UFP4_ROLE_X, UFP4_AXIS_ROW, &none), UFP4_ERROR_ARGUMENT,
             "there is no such copy");
  check_bits(2, ufp4_linear_load(linear, UFP4_ROLE_DY, &tensors.views[2], STEP),
             UFP4_ERROR_ARGUMENT, "dY enters no pass");
  ufp4_linear_free(linear);
  ufp4_device_close(device);
  free_tensors(&tensors);
}

// The golden model's own copy of a tensor.
static ufp4_operand_t golden_copy(const ufp4_recipe_t *recipe, const ufp4_matrix_t *tensor,
                                  ufp4_role_t role, ufp4_axis_t axis) {
  ufp4_operand_t copy = {0};
  ufp4_quantize_t how = ufp4_recipe_quantize(recipe, role, axis);
  how.rht_mask = ufp4_recipe_mask(recipe, SEED, STEP);
  how.seed = SEED;
  how.tensor_id = ufp4_tensor_id(STEP, LAYER, role, axis);
  check_bits(0, ufp4_quantize(tensor, &how, &copy), UFP4_OK, "golden");
  return copy;
}

static void check_copy(ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis,
                       const ufp4_operand_t *want) {
  ufp4_operand_t got;
  check_bits(0, ufp4_linear_operand(linear, role, axis, &got), UFP4_OK, "operand");
  check_that(0, memcmp(got.codes, want->codes, (size_t)(want->rows * want->blocks) * 8) == 0,
             "codes of role %d axis %d", role, axis);
  check_that(0, memcmp(got.scales, want->scales, (size_t)(want->rows * want->scale_blocks)) == 0,
             "scales of role %d axis %d", role, axis);
  check_bits(0, (uint64_t)got.exponent, (uint64_t)want->exponent, "t of role %d axis %d", role,
             axis);
  ufp4_operand_free(&got);
}

// Copies and D of one pass against the golden model's, from these tensors.
static void check_pass(ufp4_linear_t *linear, const ufp4_recipe_t *recipe,
                       const ufp4_matrix_t views[UFP4_ROLE_COUNT], ufp4_pass_t pass,
                       const outputs_t *got) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_operand_t copies[2];
  outputs_t want = {.count = {TOKENS * COUT, TOKENS * CIN, COUT * CIN}};
  const ufp4_gemm_t how = {.contract = recipe->contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1.0f};
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    copies[i] = golden_copy(recipe, &views[roles[i]], roles[i], axes[i]);
    check_copy(linear, roles[i], axes[i], &copies[i]);
  }
  check_bits(0, ufp4_gemm(&copies[0], &copies[1], &how, want.d[pass], copies[1].rows), UFP4_OK,
             "golden GEMM");
  check_outputs(pass, got, &want, pass);
  for (int i = 0; i < 2; i++) ufp4_operand_free(&copies[i]);
}

// A step of a recipe, all its quantized passes compared. @return whether the host quantized.
static int check_recipe(ufp4_device_t *device, const ufp4_recipe_t *recipe,
                        const tensors_t *tensors) {
  outputs_t out = {0};
  ufp4_linear_t *linear = make_linear(device, recipe, UFP4_PASSES_ALL);
  take_step(linear, tensors, STEP, &out);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass))
      check_pass(linear, recipe, tensors->views, (ufp4_pass_t)pass, &out);
  }
  const int on_host = ufp4_linear_quantizes_on_host(linear);
  ufp4_linear_free(linear);
  return on_host;
}

static int is_rtl(void) {
  return bench_is_core();
}

// QUANT rounds both copies of a tensor alike, so that the host does it.
TEST(copies_round_each_in_its_way) {
  ufp4_device_t *device = bench_device();
  tensors_t tensors = make_tensors();
  for (int i = 0; i < 2; i++) {
    ufp4_recipe_t recipe = named("ufp4");
    if (i == 0) recipe.round[UFP4_ROLE_DY][UFP4_AXIS_ROW] = UFP4_ROUND_RNE;
    if (i == 1) recipe.scale_round[UFP4_ROLE_X][UFP4_AXIS_COL] = UFP4_SCALE_ROUND_UP;
    check_bits(i, (uint64_t)check_recipe(device, &recipe, &tensors), (uint64_t)is_rtl(),
               "on the host");
  }
  ufp4_device_close(device);
  free_tensors(&tensors);
}

TEST(signs_are_those_of_the_step) {
  ufp4_device_t *device = bench_device();
  tensors_t tensors = make_tensors();
  ufp4_recipe_t recipe = named("ufp4");
  recipe.signs = UFP4_SIGNS_STEP;
  check_that(0, ufp4_recipe_mask(&recipe, SEED, STEP) != ufp4_recipe_mask(&recipe, SEED, STEP + 1),
             "the signs of two steps");
  check_bits(0, (uint64_t)check_recipe(device, &recipe, &tensors), 0, "on the host");
  ufp4_device_close(device);
  free_tensors(&tensors);
}

// Backward in MXFP4 after the transform, which QUANT does not have.
TEST(mxfp4_rht_equals_the_golden_model) {
  ufp4_device_options_t options = bench_options();
  ufp4_device_t *device = NULL;
  options.configuration = "small-fp32";
  check_bits(0, ufp4_device_open(bench_backend(), &options, &device), UFP4_OK, "open");
  tensors_t tensors = make_tensors();
  const ufp4_recipe_t recipe = named("mxfp4-rht");
  check_bits(0, (uint64_t)check_recipe(device, &recipe, &tensors), (uint64_t)is_rtl(),
             "on the host");
  ufp4_device_close(device);
  free_tensors(&tensors);
}

// What FPROP's copy of a tensor holds, as a tensor; its data is to be freed.
static ufp4_matrix_t forward_values(const ufp4_recipe_t *recipe, const ufp4_matrix_t *tensor,
                                    ufp4_role_t role) {
  ufp4_operand_t copy = golden_copy(recipe, tensor, role, UFP4_AXIS_ROW);
  const int64_t ld = copy.blocks * 16;
  float *values = malloc((size_t)(copy.rows * ld) * sizeof *values);
  check_bits(0, ufp4_dequantize(&copy, ld, values, ld), UFP4_OK, "dequantize");
  for (int64_t i = 0; i < copy.rows * ld && recipe->rht[UFP4_PASS_FPROP]; i += 16)
    ufp4_rht_undo(values + i, (uint16_t)ufp4_recipe_mask(recipe, SEED, STEP));
  ufp4_operand_free(&copy);
  return (ufp4_matrix_t){UFP4_DTYPE_F32, tensor->rows, tensor->cols, ld, values};
}

// DGRAD of what FPROP's W holds, WGRAD of what its X holds, in 4 bits or in BF16.
static void check_requantized(ufp4_device_t *device, const ufp4_recipe_t *recipe,
                              const tensors_t *tensors) {
  tensors_t kept = *tensors;
  outputs_t out = {0};
  ufp4_linear_t *linear = make_linear(device, recipe, UFP4_PASSES_ALL);
  take_step(linear, tensors, STEP, &out);
  check_bits(0, (uint64_t)ufp4_linear_quantizes_on_host(linear), (uint64_t)is_rtl(), "on the host");
  check_pass(linear, recipe, tensors->views, UFP4_PASS_FPROP, &out);
  for (int role = 0; role < 2; role++)
    kept.views[role] = forward_values(recipe, &tensors->views[role], (ufp4_role_t)role);
  const ufp4_recipe_t plain = named("bf16");
  const outputs_t bf16 = run_recipe(device, &plain, &kept);
  for (int pass = UFP4_PASS_DGRAD; pass < UFP4_PASS_COUNT; pass++) {
    if (ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass)) {
      check_pass(linear, recipe, kept.views, (ufp4_pass_t)pass, &out);
    } else {
      check_outputs(pass, &out, &bf16, pass);
    }
  }
  for (int role = 0; role < 2; role++) free((void *)(uintptr_t)kept.views[role].data);
  ufp4_linear_free(linear);
}

TEST(requantize_takes_the_values_of_fprop) {
  ufp4_device_t *device = bench_device();
  tensors_t tensors = make_tensors();
  for (int i = 0; i < 8; i++) {
    ufp4_recipe_t recipe = named(i % 2 ? "e2m1" : "ufp4");  // FPROP without and with RHT
    recipe.requantize = 1;
    if (i / 2 == 1) recipe.bf16_passes = 1u << UFP4_PASS_DGRAD;
    if (i / 2 == 2) recipe.bf16_passes = 1u << UFP4_PASS_DGRAD | 1u << UFP4_PASS_WGRAD;
    if (i / 2 == 3) recipe.signs = UFP4_SIGNS_STEP;
    check_requantized(device, &recipe, &tensors);
  }
  ufp4_device_close(device);
  free_tensors(&tensors);
}

// A layer without FPROP makes FPROP's copy all the same.
TEST(requantize_without_fprop) {
  ufp4_device_t *device = bench_device();
  tensors_t tensors = make_tensors();
  for (unsigned in_bf16 = 0; in_bf16 < 2; in_bf16++) {
    ufp4_recipe_t recipe = named("ufp4");
    recipe.requantize = 1;
    recipe.bf16_passes = in_bf16 << UFP4_PASS_DGRAD;
    const outputs_t want = run_recipe(device, &recipe, &tensors);
    ufp4_linear_t *linear = make_linear(device, &recipe, 1u << UFP4_PASS_DGRAD);
    outputs_t got = {.count = {0, TOKENS * CIN}};
    check_bits(0, ufp4_linear_load(linear, UFP4_ROLE_W, &tensors.views[UFP4_ROLE_W], STEP), UFP4_OK,
               "load W");
    check_bits(0, ufp4_linear_dgrad(linear, &tensors.views[UFP4_ROLE_DY], STEP, got.d[1], NULL),
               UFP4_OK, "dgrad");
    check_outputs(in_bf16, &got, &want, UFP4_PASS_DGRAD);
    ufp4_linear_free(linear);
  }
  ufp4_device_close(device);
  free_tensors(&tensors);
}

TEST(rejects_operands_whose_signs_differ) {
  ufp4_device_t *device = bench_device();
  tensors_t tensors = make_tensors();
  ufp4_recipe_t recipe = named("ufp4");
  outputs_t out;
  for (int i = 0; i < 2; i++) {
    recipe.signs = i ? UFP4_SIGNS_STEP : UFP4_SIGNS_FIXED;
    ufp4_linear_t *linear = make_linear(device, &recipe, UFP4_PASSES_ALL);
    take_step(linear, &tensors, STEP, &out);
    ufp4_status_t status =
        ufp4_linear_dgrad(linear, &tensors.views[UFP4_ROLE_DY], STEP + 1, out.d[1], NULL);
    check_bits(i, status, i ? UFP4_ERROR_ARGUMENT : UFP4_OK, "dY of another step");
    ufp4_linear_free(linear);
  }
  check_that(0, strstr(ufp4_device_message(device), "signs differ") != NULL, "the message is: %s",
             ufp4_device_message(device));
  ufp4_device_close(device);
  free_tensors(&tensors);
}

TEST(rejects_what_needs_a_whole_model) {
  const ufp4_linear_shape_t shape = {TOKENS, CIN, COUT, LAYER, SEED, UFP4_PASSES_ALL};
  ufp4_device_t *device = bench_device();
  ufp4_linear_t *linear = NULL;
  ufp4_recipe_t recipe = named("ufp4");
  recipe.bf16_layers.last.blocks = 1;
  check_bits(0, ufp4_linear_create(device, &shape, &recipe, &linear), UFP4_ERROR_ARGUMENT,
             "create");
  check_that(0, strstr(ufp4_device_message(device), "bf16_layers") != NULL, "the message is: %s",
             ufp4_device_message(device));
  ufp4_device_close(device);
}
