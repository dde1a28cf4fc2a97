// SPDX-License-Identifier: Apache-2.0
#include "layer.h"

#include <stdlib.h>
#include <string.h>

tensors_t make_tensors(check_random_t *random, const int64_t *shape) {
  const int64_t sizes[UFP4_ROLE_COUNT][2] = {
      {shape[0], shape[1]}, {shape[2], shape[1]}, {shape[0], shape[2]}};
  static const float factors[] = {1.0f, 0.05f, 1e-4f};
  tensors_t tensors;
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) {
    tensors.data[i] = stand_tensor(random, sizes[i][0] * sizes[i][1], factors[i]);
    tensors.views[i] =
        (ufp4_matrix_t){UFP4_DTYPE_F32, sizes[i][0], sizes[i][1], sizes[i][1], tensors.data[i]};
  }
  return tensors;
}

void free_tensors(tensors_t *tensors) {
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) free(tensors->data[i]);
}

ufp4_device_t *device_of(const char *configuration) {
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device = NULL;
  options.configuration = configuration;
  check_bits(0, ufp4_device_open(stand_backend(), &options, &device), UFP4_OK, "open %s",
             configuration);
  return device;
}

ufp4_recipe_t named(const char *recipe) {
  ufp4_recipe_t out = {0};
  check_bits(0, ufp4_recipe_named(recipe, &out), UFP4_OK, "%s", recipe);
  return out;
}

ufp4_linear_t *make_linear_by(ufp4_device_t *device, const int64_t *shape,
                              const ufp4_recipe_t *recipe, unsigned layer, unsigned passes) {
  const ufp4_linear_shape_t how = {shape[0], shape[1], shape[2], layer, LAYER_SEED, passes};
  ufp4_linear_t *linear = NULL;
  check_bits(0, ufp4_linear_create(device, &how, recipe, &linear), UFP4_OK, "create: %s",
             ufp4_device_message(device));
  return linear;
}

ufp4_linear_t *make_linear(ufp4_device_t *device, const int64_t *shape, const char *recipe_name,
                           unsigned layer, unsigned passes) {
  const ufp4_recipe_t recipe = named(recipe_name);
  return make_linear_by(device, shape, &recipe, layer, passes);
}

float *new_output(const int64_t *shape, ufp4_pass_t pass) {
  int64_t m = pass == UFP4_PASS_WGRAD ? shape[2] : shape[0],
          n = pass == UFP4_PASS_FPROP ? shape[2] : shape[1];
  return calloc((size_t)(m * n), sizeof(float));
}

ufp4_operand_t golden_copy(const ufp4_recipe_t *recipe, const ufp4_matrix_t *tensor,
                           ufp4_role_t role, ufp4_axis_t axis, unsigned layer, uint64_t step) {
  ufp4_operand_t copy = {0};
  ufp4_quantize_t how = ufp4_recipe_quantize(recipe, role, axis);
  how.rht_mask = ufp4_recipe_mask(recipe, LAYER_SEED, step);
  how.seed = LAYER_SEED;
  how.tensor_id = ufp4_tensor_id(step, layer, role, axis);
  check_bits(0, ufp4_quantize(tensor, &how, &copy), UFP4_OK, "golden quantize");
  return copy;
}

static void check_copy(int64_t index, ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis,
                       const ufp4_operand_t *want) {
  ufp4_operand_t got;
  check_bits(index, ufp4_linear_operand(linear, role, axis, &got), UFP4_OK, "operand");
  size_t blocks = (size_t)(want->rows * want->blocks);
  check_bits(index, (uint64_t)got.exponent, (uint64_t)want->exponent, "t of role %d axis %d", role,
             axis);
  check_that(index, memcmp(got.codes, want->codes, blocks * 8) == 0, "codes of role %d axis %d",
             role, axis);
  int64_t bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(want, &bytes);
  check_that(index, memcmp(ufp4_operand_scale_bytes(&got, &bytes), scales, (size_t)bytes) == 0,
             "scales of role %d axis %d", role, axis);
  check_bits(index, ufp4_f32_bits(got.tensor_scale), ufp4_f32_bits(want->tensor_scale),
             "tensor scale");
  ufp4_operand_free(&got);
}

void check_pass(int64_t index, ufp4_linear_t *linear, const ufp4_recipe_t *recipe,
                const ufp4_matrix_t views[UFP4_ROLE_COUNT], ufp4_pass_t pass, unsigned layer,
                uint64_t step, const float *d) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_operand_t copies[2];
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    copies[i] = golden_copy(recipe, &views[roles[i]], roles[i], axes[i], layer, step);
    check_copy(index, linear, roles[i], axes[i], &copies[i]);
  }
  int64_t m = copies[0].rows, n = copies[1].rows;
  float *want = malloc((size_t)(m * n) * sizeof *want);
  const ufp4_gemm_t how = {.contract = recipe->contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1.0f};
  check_bits(index, ufp4_gemm(&copies[0], &copies[1], &how, want, n), UFP4_OK, "golden gemm");
  for (int64_t i = 0; i < m * n; i++) {
    check_bits(i, ufp4_f32_bits(d[i]), ufp4_f32_bits(want[i]), "pass %d of case %d", pass,
               (int)index);
  }
  free(want);
  for (int i = 0; i < 2; i++) ufp4_operand_free(&copies[i]);
}
