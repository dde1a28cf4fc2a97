// SPDX-License-Identifier: Apache-2.0
// Tests the arguments that a linear layer's calls must refuse.
#include <string.h>

#include "layer.h"
#include "stand.h"

TEST(rejects_shapes_and_settings) {
  static const ufp4_linear_shape_t bad[] = {
      {0, 1, 1, 0, 0, 7},    {1, -1, 1, 0, 0, 7}, {1, 1, UFP4_MAX_DIM + 1, 0, 0, 7},
      {1, 1, 1, 4096, 0, 7}, {1, 1, 1, 0, 0, 0},  {1, 1, 1, 0, 0, 8}};
  ufp4_device_t *device = stand_device();
  ufp4_recipe_t recipe;
  ufp4_recipe_named("ufp4", &recipe);
  for (int i = 0; i < 6; i++) {
    ufp4_linear_t *linear = (ufp4_linear_t *)device;
    check_bits(i, ufp4_linear_create(device, &bad[i], &recipe, &linear), UFP4_ERROR_ARGUMENT,
               "shape %d", i);
    check_that(i, linear == NULL, "a layer was made");
  }
  ufp4_linear_t *linear;
  check_bits(9, ufp4_linear_create(NULL, &bad[0], &recipe, &linear), UFP4_ERROR_ARGUMENT,
             "no device");
  check_bits(10, ufp4_linear_create(device, NULL, &recipe, &linear), UFP4_ERROR_ARGUMENT,
             "no shape");
  ufp4_device_close(device);
}

static void check_message(int64_t index, const ufp4_device_t *device, const char *words) {
  check_that(index, strstr(ufp4_device_message(device), words) != NULL, "'%s' should say '%s'",
             ufp4_device_message(device), words);
}

/** A core refuses the layer before it quantizes, even if the host would do that. */
TEST(rejects_a_layer_that_does_not_fit) {
  static const ufp4_linear_shape_t large = {4096, 4096, 4096, 0, 0, 7},
                                   small = {16, 16, 16, 0, 0, 7};
  ufp4_device_t *device = stand_device();
  ufp4_recipe_t recipe, on_host;
  ufp4_linear_t *linear;
  ufp4_recipe_named("ufp4", &recipe);
  on_host = recipe;
  on_host.layout[UFP4_ROLE_W] = UFP4_LAYOUT_2D;
  memset(on_host.rht, 0, sizeof on_host.rht);
  // The model's layers have no buffers in device memory, and a GPU keeps its operands elsewhere.
  const int has_buffers = strcmp(stand_backend(), "model") != 0 && strcmp(stand_backend(), "cuda");
  const ufp4_status_t want = has_buffers ? UFP4_ERROR_MEMORY : UFP4_OK;
  check_bits(0, ufp4_linear_create(device, &large, &recipe, &linear), want, "too large");
  ufp4_linear_free(linear);
  check_bits(1, ufp4_linear_create(device, &small, &recipe, &linear), UFP4_OK,
             "what it took was given back");
  ufp4_linear_free(linear);
  for (int i = 0; i < 2 && stand_is_core(); i++) {
    check_bits(2 + i, ufp4_linear_create(device, &large, i == 0 ? &recipe : &on_host, &linear),
               UFP4_ERROR_MEMORY, "too large");
    check_message(2 + i, device, "a layer of 4096 x 4096 x 4096 needs ");
    check_message(2 + i, device, " bytes of device memory, but only 16764928 are free");
  }
  ufp4_device_close(device);
}

TEST(rejects_tensors_of_other_shapes_and_types) {
  ufp4_device_t *device = stand_device();
  check_random_t random = check_random();
  const int64_t shape[3] = {8, 16, 24};
  tensors_t tensors = make_tensors(&random, shape);
  ufp4_linear_t *linear = make_linear(device, shape, "ufp4", 0, 1u << UFP4_PASS_FPROP);
  static const char *const words[] = {"this layer's is 8 x 16", "this layer's is 8 x 16",
                                      "leading dimension of 15; 16", "FP32 or BF16",
                                      "tensor or its data is NULL"};
  for (int i = 0; i < 5; i++) {
    ufp4_matrix_t x = tensors.views[UFP4_ROLE_X];
    if (i == 0) x.rows--;
    if (i == 1) x.cols--;
    if (i == 2) x.ld = 15;
    if (i == 3) x.dtype = UFP4_DTYPE_I64;
    if (i == 4) x.data = NULL;
    check_bits(i, ufp4_linear_load(linear, UFP4_ROLE_X, &x, 0), UFP4_ERROR_ARGUMENT, "tensor %d",
               i);
    check_message(i, device, words[i]);
  }
  check_bits(5, ufp4_linear_load(linear, UFP4_ROLE_DY, &tensors.views[2], 0), UFP4_ERROR_ARGUMENT,
             "dY enters no pass");
  check_bits(6, ufp4_linear_load(linear, (ufp4_role_t)3, &tensors.views[2], 0), UFP4_ERROR_ARGUMENT,
             "role 3");
  check_bits(7, ufp4_linear_load(NULL, UFP4_ROLE_X, &tensors.views[0], 0), UFP4_ERROR_ARGUMENT,
             "no layer");
  check_bits(8, ufp4_linear_load(linear, UFP4_ROLE_X, &tensors.views[0], UINT64_C(1) << 48),
             UFP4_ERROR_ARGUMENT, "a step that the tensor id has no room for");
  check_message(8, device, "2^48 - 1");
  float d[8 * 24];
  check_bits(
      9,
      ufp4_linear_fprop(linear, &tensors.views[0], &tensors.views[1], UINT64_C(1) << 48, d, NULL),
      UFP4_ERROR_ARGUMENT, "the same, FPROP");
  check_message(9, device, "281474976710656");
  ufp4_linear_free(linear);
  free_tensors(&tensors);
  ufp4_device_close(device);
}

TEST(rejects_runs_without_operands) {
  ufp4_device_t *device = stand_device();
  check_random_t random = check_random();
  const int64_t shape[3] = {8, 16, 24};
  tensors_t tensors = make_tensors(&random, shape);
  float d[24 * 24];
  static const char *const names[] = {"ufp4", "bf16", "fp32"};
  for (int i = 0; i < 3; i++) {
    ufp4_linear_t *linear =
        make_linear(device, shape, names[i], 0, 1u << UFP4_PASS_FPROP | 1u << UFP4_PASS_WGRAD);
    check_bits(i, ufp4_linear_run(linear, UFP4_PASS_FPROP, d, 24, NULL), UFP4_ERROR_ARGUMENT,
               "nothing loaded");
    check_bits(i, ufp4_linear_load(linear, UFP4_ROLE_X, &tensors.views[0], 0), UFP4_OK, "load");
    check_bits(i, ufp4_linear_run(linear, UFP4_PASS_FPROP, d, 24, NULL), UFP4_ERROR_ARGUMENT,
               "W not loaded");
    check_bits(i, ufp4_linear_load(linear, UFP4_ROLE_W, &tensors.views[1], 0), UFP4_OK, "load");
    check_bits(i, ufp4_linear_run(linear, UFP4_PASS_FPROP, d, 23, NULL), UFP4_ERROR_ARGUMENT,
               "rows too short");
    check_bits(i, ufp4_linear_run(linear, UFP4_PASS_FPROP, NULL, 24, NULL), UFP4_ERROR_ARGUMENT,
               "no D");
    check_bits(i, ufp4_linear_run(linear, UFP4_PASS_DGRAD, d, 24, NULL), UFP4_ERROR_ARGUMENT,
               "a pass not asked for");
    check_bits(i, ufp4_linear_run(linear, (ufp4_pass_t)3, d, 24, NULL), UFP4_ERROR_ARGUMENT,
               "pass 3");
    check_bits(i, ufp4_linear_run(linear, UFP4_PASS_FPROP, d, 24, NULL), UFP4_OK,
               "and then it runs");
    ufp4_linear_free(linear);
  }
  free_tensors(&tensors);
  ufp4_device_close(device);
}
