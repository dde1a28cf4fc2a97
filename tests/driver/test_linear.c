// SPDX-License-Identifier: Apache-2.0
// Tests the training GEMMs of a linear layer against the golden model's own functions.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "layer/linear.h"
#include "stand.h"

static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 17}, {33, 47, 130}, {64, 32, 16}};
#define SHAPES 4
static const char *const recipes[] = {"ufp4", "e2m1"};

static void check_pass_of(int64_t index, ufp4_linear_t *linear, const tensors_t *tensors,
                          const char *recipe, ufp4_pass_t pass, unsigned layer, uint64_t step,
                          const float *d) {
  const ufp4_recipe_t by = named(recipe);
  check_pass(index, linear, &by, tensors->views, pass, layer, step, d);
}

static void check_step(int64_t index, ufp4_linear_t *linear, const int64_t *shape,
                       const tensors_t *tensors, const char *recipe, unsigned layer,
                       uint64_t step) {
  float *d[UFP4_PASS_COUNT];
  ufp4_gemm_stats_t stats[UFP4_PASS_COUNT];
  for (int i = 0; i < UFP4_PASS_COUNT; i++) d[i] = new_output(shape, (ufp4_pass_t)i);
  const ufp4_matrix_t *v = tensors->views;
  check_bits(index,
             ufp4_linear_fprop(linear, &v[UFP4_ROLE_X], &v[UFP4_ROLE_W], step, d[0], &stats[0]),
             UFP4_OK, "fprop");
  check_bits(index, ufp4_linear_dgrad(linear, &v[UFP4_ROLE_DY], step, d[1], &stats[1]), UFP4_OK,
             "dgrad");
  check_bits(index, ufp4_linear_wgrad(linear, d[2], &stats[2]), UFP4_OK, "wgrad");
  for (int i = 0; i < UFP4_PASS_COUNT; i++) {
    check_pass_of(index, linear, tensors, recipe, (ufp4_pass_t)i, layer, step, d[i]);
    check_bits(index, (uint64_t)(stats[i].m * stats[i].n * stats[i].k),
               (uint64_t)(shape[0] * shape[1] * shape[2]), "MACs");
    free(d[i]);
  }
}

SLOW_TEST(all_passes_equal_the_golden_model) {
  check_random_t random = check_random();
  for (int i = 0; i < 2 * SHAPES; i++) {
    const int64_t *shape = shapes[i / 2];
    ufp4_device_t *device = stand_device();
    tensors_t tensors = make_tensors(&random, shape);
    ufp4_linear_t *linear = make_linear(device, shape, recipes[i % 2], 5, UFP4_PASSES_ALL);
    check_step(i, linear, shape, &tensors, recipes[i % 2], 5, 9);
    check_step(i, linear, shape, &tensors, recipes[i % 2], 5, 10);
    ufp4_linear_free(linear);
    ufp4_device_close(device);
    free_tensors(&tensors);
  }
}

// The recipe accumulates in another way than the core; other backends have every contract.
TEST(rejects_another_contract) {
  const int core = stand_is_core();
  static const char *const recipes[] = {"mxfp4", "ufp4", "nvfp4"};
  static const char *const configurations[] = {"small", "small-fp32", "small-fp32"};
  for (int i = 0; i < 3; i++) {
    ufp4_device_t *device = device_of(configurations[i]);
    const ufp4_linear_shape_t shape = {20, 20, 20, 0, 0, UFP4_PASSES_ALL};
    ufp4_recipe_t recipe;
    ufp4_linear_t *refused = NULL;
    ufp4_recipe_named(recipes[i], &recipe);
    ufp4_status_t want = ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, stand_backend(), NULL);
    if (core) want = UFP4_ERROR_UNSUPPORTED;
    check_bits(i, ufp4_linear_create(device, &shape, &recipe, &refused), want, "%s", recipes[i]);
    check_that(i, !core || strstr(ufp4_device_message(device), configurations[i]) != NULL,
               "the message is: %s", ufp4_device_message(device));
    ufp4_linear_free(refused);
    ufp4_device_close(device);
  }
}

// A core multiplies mixed elements that the host has quantized.
TEST(elements_mixed) {
  static const char *const names[] = {"ufp4-mixed", "e2m1-mixed", "ufp4-mixed/rht=none"};
  check_random_t random = check_random();
  for (int i = 0; i < 3; i++) {
    ufp4_device_t *device = device_of("small");
    tensors_t tensors = make_tensors(&random, shapes[2]);
    ufp4_linear_t *linear = make_linear(device, shapes[2], names[i], 5, UFP4_PASSES_ALL);
    check_bits(i, (uint64_t)ufp4_linear_quantizes_on_host(linear), (uint64_t)stand_is_core(),
               "%s: quantizes on the host", names[i]);
    check_step(i, linear, shapes[2], &tensors, names[i], 5, 9);
    ufp4_linear_free(linear);
    free_tensors(&tensors);
    ufp4_device_close(device);
  }
}

// No descriptor quantizes NVFP4, so the host does it for the core. MXFP4 needs a core that
// accumulates in FP32; its QUANT has E8M0 scales.
TEST(recipes_without_descriptors) {
  static const char *const names[] = {"nvfp4", "mxfp4", "e2m1-46"};
  check_random_t random = check_random();
  for (int i = 0; i < 3 * SHAPES; i++) {
    const int64_t *shape = shapes[i / 3];
    ufp4_device_t *device = device_of(i % 3 == 1 ? "small-fp32" : "small");
    tensors_t tensors = make_tensors(&random, shape);
    ufp4_linear_t *linear = make_linear(device, shape, names[i % 3], 5, UFP4_PASSES_ALL);
    const int on_host = stand_is_core() && i % 3 != 1;
    check_bits(i, (uint64_t)ufp4_linear_quantizes_on_host(linear), (uint64_t)on_host,
               "on the host");
    check_step(i, linear, shape, &tensors, names[i % 3], 5, 9);
    check_step(i, linear, shape, &tensors, names[i % 3], 5, 10);
    ufp4_linear_free(linear);
    free_tensors(&tensors);
    ufp4_device_close(device);
  }
}

// Contract nv is refused by a core of another contract, by a GPU whose compute capability is not
// 12.x, and for elements and scales that not even those have.
TEST(rejects_the_contract_nv) {
  static const char *const names[] = {"ufp4", "e2m1", "nvfp4", "mxfp4", "e2m1-46"};
  static const char needs[] = "cuda: contract nv: it needs compute capability 12.0 or 12.1";
  static const char *const why[] = {
      "cuda does not support element of A e1m2 with scale e4m3, contract nv", needs, needs,
      "cuda does not support contract nv", needs};
  const ufp4_linear_shape_t shape = {20, 20, 20, 0, 0, UFP4_PASSES_ALL};
  const int cuda = strcmp(stand_backend(), "cuda") == 0;
  ufp4_device_t *device = device_of("small");
  for (int i = 0; i < 5; i++) {
    ufp4_recipe_t recipe;
    ufp4_linear_t *refused = NULL;
    ufp4_recipe_named(names[i], &recipe);
    recipe.contract = UFP4_CONTRACT_NV;
    const ufp4_status_t want = cuda || stand_is_core()
                                   ? UFP4_ERROR_UNSUPPORTED
                                   : ufp4_recipe_check(&recipe, UFP4_PASSES_ALL, "model", NULL);
    check_bits(i, ufp4_linear_create(device, &shape, &recipe, &refused), want, "%s", names[i]);
    check_that(i, !cuda || strstr(ufp4_device_message(device), why[i]) != NULL,
               "the message is: %s", ufp4_device_message(device));
    ufp4_linear_free(refused);
  }
  ufp4_device_close(device);
}

TEST(bf16_sources_are_their_fp32_values) {
  check_random_t random = check_random();
  const int64_t *shape = shapes[1];
  tensors_t tensors = make_tensors(&random, shape);
  uint16_t bf16[3][17 * 5];
  for (int role = 0; role < 3; role++) {
    int64_t count = tensors.views[role].rows * tensors.views[role].cols;
    for (int64_t i = 0; i < count; i++) {
      bf16[role][i] = ufp4_bf16_cast(tensors.data[role][i]);
      tensors.data[role][i] = ufp4_bf16_value(bf16[role][i]);
    }
  }
  tensors_t narrow = tensors;
  for (int role = 0; role < 3; role++) {
    narrow.views[role].dtype = UFP4_DTYPE_BF16;
    narrow.views[role].data = bf16[role];
  }
  ufp4_device_t *device = stand_device();
  ufp4_linear_t *linear = make_linear(device, shape, "ufp4", 0, UFP4_PASSES_ALL);
  float *y = new_output(shape, UFP4_PASS_FPROP);
  check_bits(0, ufp4_linear_fprop(linear, &narrow.views[0], &narrow.views[1], 0, y, NULL), UFP4_OK,
             "fprop");
  check_pass_of(0, linear, &tensors, "ufp4", UFP4_PASS_FPROP, 0, 0, y);
  free(y);
  ufp4_linear_free(linear);
  ufp4_device_close(device);
  free_tensors(&tensors);
}

// There are more loaded copies than exponent slots; each keeps its own exponent.
TEST(more_layers_than_slots) {
  enum { LAYERS = 24 };
  const int64_t shape[3] = {4, 20, 7};
  check_random_t random = check_random();
  ufp4_device_t *device = stand_device();
  ufp4_linear_t *linears[LAYERS];
  tensors_t tensors[LAYERS];
  float *y = new_output(shape, UFP4_PASS_FPROP), *dx = new_output(shape, UFP4_PASS_DGRAD),
        *dw = new_output(shape, UFP4_PASS_WGRAD);
  for (unsigned i = 0; i < LAYERS; i++) {
    tensors[i] = make_tensors(&random, shape);
    linears[i] = make_linear(device, shape, "ufp4", i, UFP4_PASSES_ALL);
    ufp4_matrix_t *v = tensors[i].views;
    check_bits(i, ufp4_linear_fprop(linears[i], &v[0], &v[1], 1, y, NULL), UFP4_OK, "fprop");
    check_pass_of(i, linears[i], &tensors[i], "ufp4", UFP4_PASS_FPROP, i, 1, y);
  }
  for (unsigned i = LAYERS; i-- > 0;) {
    check_bits(i, ufp4_linear_dgrad(linears[i], &tensors[i].views[2], 1, dx, NULL), UFP4_OK,
               "dgrad");
    check_pass_of(i, linears[i], &tensors[i], "ufp4", UFP4_PASS_DGRAD, i, 1, dx);
    check_bits(i, ufp4_linear_wgrad(linears[i], dw, NULL), UFP4_OK, "wgrad");
    check_pass_of(i, linears[i], &tensors[i], "ufp4", UFP4_PASS_WGRAD, i, 1, dw);
    ufp4_linear_free(linears[i]);
    free_tensors(&tensors[i]);
  }
  free(y);
  free(dx);
  free(dw);
  ufp4_device_close(device);
}

// The caller's own jobs, some of them still queued, run between loading and running. They write
// every exponent slot, and the statistics of the layer's GEMM do not include them.
TEST(jobs_of_ones_own_leave_a_layer_alone) {
  const int64_t shape[3] = {20, 30, 40};
  check_random_t random = check_random();
  tensors_t tensors = make_tensors(&random, shape);
  ufp4_device_t *device = stand_device();
  ufp4_device_info_t info;
  ufp4_device_info(device, &info);
  stand_jobs_t jobs = stand_jobs(device);
  ufp4_linear_t *linear = make_linear(device, shape, "ufp4", 1, 1u << UFP4_PASS_FPROP);
  float *y = new_output(shape, UFP4_PASS_FPROP);
  check_bits(0, ufp4_linear_load(linear, UFP4_ROLE_X, &tensors.views[UFP4_ROLE_X], 3), UFP4_OK,
             "load x");
  check_bits(0, ufp4_linear_load(linear, UFP4_ROLE_W, &tensors.views[UFP4_ROLE_W], 3), UFP4_OK,
             "load w");
  for (unsigned slot = 0; slot < UFP4_SLOTS; slot += 2) {
    jobs.amax.quant.row_exponent = (uint16_t)slot;
    jobs.amax.quant.col_exponent = (uint16_t)(slot + 1);
    jobs.amax.quant.row_mode = jobs.amax.quant.col_mode = UFP4_MODE_ENABLE;
    check_bits(slot, ufp4_submit(device, &jobs.amax, NULL), UFP4_OK, "submit");
  }
  ufp4_gemm_stats_t stats;
  check_bits(0, ufp4_linear_run(linear, UFP4_PASS_FPROP, y, shape[2], &stats), UFP4_OK, "run");
  check_pass_of(0, linear, &tensors, "ufp4", UFP4_PASS_FPROP, 1, 3, y);
  check_bits(0, stats.counters[UFP4_COUNTER_JOBS], info.has_cycles ? 1 : 0, "jobs counted");
  check_bits(0, stats.counters[UFP4_COUNTER_QUANT], 0, "cycles of QUANT counted");
  ufp4_linear_free(linear);
  free(y);
  free_tensors(&tensors);
  ufp4_device_close(device);
}

TEST(only_the_copies_that_are_needed) {
  const int64_t shape[3] = {20, 30, 40};
  check_random_t random = check_random();
  tensors_t tensors = make_tensors(&random, shape);
  ufp4_device_t *device = stand_device();
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_linear_t *linear = make_linear(device, shape, "e2m1", 1, 1u << pass);
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_operand_t copy;
    float *d = new_output(shape, (ufp4_pass_t)pass);
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2; i++) {
      check_bits(pass, ufp4_linear_load(linear, roles[i], &tensors.views[roles[i]], 3), UFP4_OK,
                 "load");
      check_bits(
          pass,
          ufp4_linear_operand(linear, roles[i],
                              axes[i] == UFP4_AXIS_ROW ? UFP4_AXIS_COL : UFP4_AXIS_ROW, &copy),
          UFP4_ERROR_ARGUMENT, "the copy that nobody needs");
    }
    int64_t n = pass == UFP4_PASS_FPROP ? shape[2] : shape[1];
    check_bits(pass, ufp4_linear_run(linear, (ufp4_pass_t)pass, d, n, NULL), UFP4_OK, "run");
    check_pass_of(pass, linear, &tensors, "e2m1", (ufp4_pass_t)pass, 1, 3, d);
    free(d);
    ufp4_linear_free(linear);
  }
  free_tensors(&tensors);
  ufp4_device_close(device);
}

TEST(free_gives_the_memory_back) {
  ufp4_device_t *device = stand_device();
  const int64_t shape[3] = {300, 200, 100};
  uint64_t before = stand_alloc(device, 128), after;
  ufp4_buffer_free(device, before);
  for (int i = 0; i < 200; i++)
    ufp4_linear_free(make_linear(device, shape, "ufp4", 0, UFP4_PASSES_ALL));
  after = stand_alloc(device, 128);
  check_bits(0, after, before, "the first free address");
  ufp4_device_close(device);
}

// --- Recipes that do not quantize ---------------------------------------------------------------

// Returns element (row, k) of operand i of a pass.
static float operand_at(const tensors_t *tensors, ufp4_pass_t pass, int i, int64_t row, int64_t k) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  const ufp4_matrix_t *in = &tensors->views[roles[i]];
  const int64_t r = axes[i] == UFP4_AXIS_ROW ? row : k, c = axes[i] == UFP4_AXIS_ROW ? k : row;
  return tensors->data[roles[i]][r * in->ld + c];
}

static float rounded(float value, int to_bf16) {
  return to_bf16 ? ufp4_bf16_value(ufp4_bf16_cast(value)) : value;
}

// D is summed in FP32, in the order of k. Each term is rounded once as a product and at most k - 1
// times in sums, by 2^-24 of itself each time (no product of these tensors underflows), so a sum is
// off by at most k u / (1 - k u) sum |a b|, u = 2^-24. The FP64 sum, whose products are exact, is
// off by less than k 2^-53 sum |a b|: one more u covers that and the denominator, for k below 4096.
static void check_output(const tensors_t *tensors, ufp4_pass_t pass, const int64_t place[2],
                         int64_t k, int to_bf16, float got) {
  float want = 0;
  double exact = 0, magnitude = 0;
  for (int64_t p = 0; p < k; p++) {
    const float a = rounded(operand_at(tensors, pass, 0, place[0], p), to_bf16);
    const float b = rounded(operand_at(tensors, pass, 1, place[1], p), to_bf16);
    want += a * b;
    exact += (double)a * (double)b;
    magnitude += fabs((double)a * (double)b);
  }
  check_bits(place[0], ufp4_f32_bits(got), ufp4_f32_bits(want), "pass %d, column %d", pass,
             (int)place[1]);
  check_that(place[0], fabs((double)got - exact) <= (double)(k + 1) * 0x1p-24 * magnitude,
             "pass %d, column %d: %a, want %a", pass, (int)place[1], (double)got, exact);
}

// Checks every output of all passes of one layer.
static void check_host_recipe(const char *recipe, int to_bf16) {
  static const int64_t shape[3] = {33, 47, 530};  // DGRAD has more than one chunk of k
  static const int64_t sizes[UFP4_PASS_COUNT][3] = {{33, 530, 47}, {33, 47, 530}, {530, 47, 33}};
  check_random_t random = check_random();
  ufp4_device_t *device = stand_device();
  tensors_t tensors = make_tensors(&random, shape);
  ufp4_linear_t *linear = make_linear(device, shape, recipe, 0, UFP4_PASSES_ALL);
  for (int i = 0; i < UFP4_ROLE_COUNT; i++)
    check_bits(i, ufp4_linear_load(linear, (ufp4_role_t)i, &tensors.views[i], 0), UFP4_OK, "load");
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    const int64_t *mnk = sizes[pass];
    float *d = new_output(shape, (ufp4_pass_t)pass);
    check_bits(pass, ufp4_linear_run(linear, (ufp4_pass_t)pass, d, mnk[1], NULL), UFP4_OK, "run");
    for (int64_t i = 0; i < mnk[0] * mnk[1]; i++) {
      const int64_t at[2] = {i / mnk[1], i % mnk[1]};
      check_output(&tensors, (ufp4_pass_t)pass, at, mnk[2], to_bf16, d[i]);
    }
    free(d);
  }
  ufp4_linear_free(linear);
  free_tensors(&tensors);
  ufp4_device_close(device);
}

// Covers all upper halves of FP32 patterns, NaN and Inf among them, with lower halves at and beside
// the tie.
TEST(rounds_as_the_cast_of_one_number) {
  static const uint32_t low[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1234};
  enum { COUNT = sizeof low / sizeof low[0] };
  for (uint32_t high = 0; high <= 0xFFFF; high++) {
    float in[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++) in[i] = ufp4_f32_value(high << 16 | low[i]);
    linear_round_bf16(in, COUNT, got);
    for (int i = 0; i < COUNT; i++) {
      check_bits(high, ufp4_f32_bits(got[i]), (uint32_t)ufp4_bf16_cast(in[i]) << 16, "of 0x%08x",
                 ufp4_f32_bits(in[i]));
    }
  }
}

TEST(bf16_sums_rounded_operands_in_fp32) {
  check_host_recipe("bf16", 1);
}

TEST(fp32_sums_operands_as_they_are_within_its_bound) {
  check_host_recipe("fp32", 0);
}
