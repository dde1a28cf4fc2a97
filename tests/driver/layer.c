// SPDX-License-Identifier: Apache-2.0
#include "layer.h"

#include <stdlib.h>

tensors_t make_tensors(check_random_t *random, const int64_t *shape) {
  const int64_t sizes[UFP4_ROLE_COUNT][2] = {
      {shape[0], shape[1]}, {shape[2], shape[1]}, {shape[0], shape[2]}};
  static const float factors[] = {1.0f, 0.05f, 1e-4f};
  tensors_t tensors;
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) {
    tensors.data[i] = bench_tensor(random, sizes[i][0] * sizes[i][1], factors[i]);
    tensors.views[i] =
        (ufp4_matrix_t){UFP4_DTYPE_F32, sizes[i][0], sizes[i][1], sizes[i][1], tensors.data[i]};
  }
  return tensors;
}

void free_tensors(tensors_t *tensors) {
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) free(tensors->data[i]);
}

ufp4_linear_t *make_linear(ufp4_device_t *device, const int64_t *shape, const char *recipe_name,
                           unsigned layer, unsigned passes) {
  ufp4_linear_shape_t how = {shape[0], shape[1], shape[2], layer, 77, passes};
  ufp4_recipe_t recipe;
  ufp4_linear_t *linear = NULL;
  check_bits(0, ufp4_recipe_named(recipe_name, &recipe), UFP4_OK, "recipe");
  check_bits(0, ufp4_linear_create(device, &how, &recipe, &linear), UFP4_OK, "create: %s",
             ufp4_device_message(device));
  return linear;
}

float *new_output(const int64_t *shape, ufp4_pass_t pass) {
  int64_t m = pass == UFP4_PASS_WGRAD ? shape[2] : shape[0],
          n = pass == UFP4_PASS_FPROP ? shape[2] : shape[1];
  return calloc((size_t)(m * n), sizeof(float));
}
