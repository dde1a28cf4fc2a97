// SPDX-License-Identifier: Apache-2.0
// Runs FPROP of a linear layer of equal numbers on the backend that the argument names (default:
// model).
#include <stdio.h>
#include <ufp4.h>

enum { TOKENS = 16, CIN = 32, COUT = 16 };

int main(int argc, char **argv) {
  static float x[TOKENS * CIN], w[COUT * CIN], y[TOKENS * COUT];
  ufp4_message_t message = {{0}};
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_linear_shape_t shape = {
      .tokens = TOKENS, .cin = CIN, .cout = COUT, .passes = 1u << UFP4_PASS_FPROP};
  ufp4_matrix_t x_view = {UFP4_DTYPE_F32, TOKENS, CIN, CIN, x},
                w_view = {UFP4_DTYPE_F32, COUT, CIN, CIN, w};
  ufp4_device_t *device;
  ufp4_linear_t *linear;
  ufp4_recipe_t recipe;
  for (int i = 0; i < TOKENS * CIN; i++) x[i] = 1;
  for (int i = 0; i < COUT * CIN; i++) w[i] = 0.5f;
  options.configuration = "small";
  options.memory_bytes = 1 << 20;
  options.message = &message;
  if (ufp4_device_open(argc > 1 ? argv[1] : "model", &options, &device) != UFP4_OK) {
    fprintf(stderr, "%s\n", message.text);
    return 1;
  }
  if (ufp4_recipe_named("ufp4", &recipe) != UFP4_OK) return 2;
  if (ufp4_linear_create(device, &shape, &recipe, &linear) != UFP4_OK) return 3;
  if (ufp4_linear_fprop(linear, &x_view, &w_view, 0, y, NULL) != UFP4_OK) return 4;
  ufp4_linear_free(linear);
  ufp4_device_close(device);
  for (int i = 0; i < TOKENS * COUT; i++) {
    if (y[i] != y[0]) return 5;
  }
  printf("%a\n", (double)y[0]);
  return 0;
}
