// SPDX-License-Identifier: Apache-2.0
// Tests a linear layer and an evaluation on the backend cuda: only the tensors and the results are
// copied, each once, and the bits are the golden model's.
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

enum { TOKENS = 70, CIN = 50, COUT = 40 };

typedef struct {
  float x[TOKENS * CIN], w[COUT * CIN], dy[TOKENS * COUT];
  float y[2][TOKENS * COUT], dx[2][TOKENS * CIN], dw[2][COUT * CIN];
} tensors_t;

static tensors_t *tensors_create(void) {
  check_random_t random = check_random();
  tensors_t *t = calloc(1, sizeof *t);
  if (t == NULL) abort();
  float *const all[] = {t->x, t->w, t->dy};
  const int counts[] = {TOKENS * CIN, COUT * CIN, TOKENS * COUT};
  for (int i = 0; i < 3; i++) {
    for (int n = 0; n < counts[i]; n++)
      all[i][n] = ufp4_f32_value(fixture_number(&random, FIXTURE_GAUSSIAN));
  }
  return t;
}

static void must(ufp4_device_t *device, ufp4_status_t status, const char *what) {
  check_bits(0, status, UFP4_OK, "%s: %s", what, ufp4_device_message(device));
}

// Runs a training step of the layer into the results of @p side.
static void train(ufp4_device_t *device, ufp4_linear_t *linear, tensors_t *t, int side,
                  uint64_t step) {
  const ufp4_matrix_t x = {UFP4_DTYPE_F32, TOKENS, CIN, CIN, t->x},
                      w = {UFP4_DTYPE_F32, COUT, CIN, CIN, t->w},
                      dy = {UFP4_DTYPE_F32, TOKENS, COUT, COUT, t->dy};
  must(device, ufp4_linear_fprop(linear, &x, &w, step, t->y[side], NULL), "fprop");
  must(device, ufp4_linear_dgrad(linear, &dy, step, t->dx[side], NULL), "dgrad");
  must(device, ufp4_linear_wgrad(linear, t->dw[side], NULL), "wgrad");
}

static ufp4_linear_t *layer_of(ufp4_device_t *device, const char *recipe) {
  const ufp4_linear_shape_t shape = {TOKENS, CIN, COUT, 3, 7, UFP4_PASSES_ALL};
  ufp4_recipe_t made;
  ufp4_linear_t *linear = NULL;
  must(device, ufp4_recipe_named(recipe, &made), recipe);
  memset(&made.bf16_layers, 0, sizeof made.bf16_layers);
  must(device, ufp4_linear_create(device, &shape, &made, &linear), recipe);
  return linear;
}

// X, W and dY go to the GPU and Y, dX and dW come back, whatever the recipe; nothing is allocated
// from the second step on.
TEST(tensors_and_results_are_copied_once) {
  static const char *const recipes[] = {"ufp4", "e2m1", "e2m1-46", "nvfp4", "mxfp4", "nvfp4-full"};
  for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
    tensors_t *t = tensors_create();
    ufp4_device_t *cuda = open_device(&weathers[0]), *model = NULL;
    const ufp4_device_options_t options = ufp4_device_options_default();
    check_bits(0, ufp4_device_open("model", &options, &model), UFP4_OK, "the golden model");
    ufp4_linear_t *linear = layer_of(cuda, recipes[i]), *golden = layer_of(model, recipes[i]);
    for (uint64_t step = 0; step < 2; step++) {
      (void)counts_taken();
      train(cuda, linear, t, 0, step);
      const emulated_counts_t counts = counts_taken();
      check_bits(0, counts.bytes_to_device, sizeof t->x + sizeof t->w + sizeof t->dy,
                 "%s: bytes to the GPU", recipes[i]);
      check_bits(0, counts.bytes_to_host, sizeof t->y[0] + sizeof t->dx[0] + sizeof t->dw[0],
                 "%s: bytes back", recipes[i]);
      if (step == 1) check_bits(0, counts.allocations, 0, "%s: allocations", recipes[i]);
      train(model, golden, t, 1, step);
      check_that(0, memcmp(t->y[0], t->y[1], sizeof t->y[0]) == 0, "%s: Y", recipes[i]);
      check_that(0, memcmp(t->dx[0], t->dx[1], sizeof t->dx[0]) == 0, "%s: dX", recipes[i]);
      check_that(0, memcmp(t->dw[0], t->dw[1], sizeof t->dw[0]) == 0, "%s: dW", recipes[i]);
    }
    ufp4_linear_free(linear);
    ufp4_linear_free(golden);
    ufp4_device_close(cuda);
    ufp4_device_close(model);
    free(t);
  }
}

// The same step uses operands in host memory: each tensor is sent twice, and each copy comes back
// and is sent again for its GEMM.
TEST(operands_of_the_host_are_copied_more_often) {
  tensors_t *t = tensors_create();
  ufp4_device_t *cuda = open_device(&weathers[0]);
  const ufp4_matrix_t tensors[UFP4_ROLE_COUNT] = {{UFP4_DTYPE_F32, TOKENS, CIN, CIN, t->x},
                                                  {UFP4_DTYPE_F32, COUT, CIN, CIN, t->w},
                                                  {UFP4_DTYPE_F32, TOKENS, COUT, COUT, t->dy}};
  float *const results[UFP4_PASS_COUNT] = {t->y[0], t->dx[0], t->dw[0]};
  ufp4_operand_t copies[UFP4_ROLE_COUNT][2];
  ufp4_recipe_t recipe;
  must(cuda, ufp4_recipe_named("nvfp4", &recipe), "recipe");
  (void)counts_taken();
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    const ufp4_quantize_t how =
        ufp4_recipe_quantize(&recipe, (ufp4_role_t)(i / 2), (ufp4_axis_t)(i % 2));
    must(cuda, ufp4_device_quantize(cuda, &tensors[i / 2], &how, &copies[i / 2][i % 2]),
         "quantize");
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    const ufp4_gemm_t how = {.contract = recipe.contract, .alpha = 1};
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    const ufp4_operand_t *a = &copies[roles[0]][axes[0]], *b = &copies[roles[1]][axes[1]];
    must(cuda, ufp4_device_gemm(cuda, a, b, &how, results[pass], b->rows, NULL), "gemm");
  }
  const emulated_counts_t counts = counts_taken();
  check_bits(0, counts.bytes_to_device, 77722, "bytes to the GPU");
  check_bits(0, counts.bytes_to_host, 44546, "bytes back");
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) ufp4_operand_free(&copies[i / 2][i % 2]);
  ufp4_device_close(cuda);
  free(t);
}

// Each of several calls with the same weights sends only X to the GPU.
TEST(copies_of_weights_stay) {
  tensors_t *t = tensors_create();
  ufp4_device_t *cuda = open_device(&weathers[0]);
  ufp4_linear_t *linear = layer_of(cuda, "nvfp4");
  const ufp4_matrix_t x = {UFP4_DTYPE_F32, TOKENS, CIN, CIN, t->x};
  train(cuda, linear, t, 0, 0);
  (void)counts_taken();
  for (int call = 0; call < 3; call++) {
    must(cuda, ufp4_linear_load(linear, UFP4_ROLE_X, &x, 0), "load");
    must(cuda, ufp4_linear_run(linear, UFP4_PASS_FPROP, t->y[1], COUT, NULL), "run");
    check_that(call, memcmp(t->y[0], t->y[1], sizeof t->y[0]) == 0, "Y of call %d", call);
  }
  check_bits(0, counts_taken().bytes_to_device, 3 * sizeof t->x, "bytes to the GPU");
  ufp4_linear_free(linear);
  ufp4_device_close(cuda);
  free(t);
}
