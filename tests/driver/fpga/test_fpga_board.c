// SPDX-License-Identifier: Apache-2.0
// Tests the backend fpga on the simulated board, with more damage than the program's tests have.
#include <stdlib.h>
#include <string.h>

#include "backends/fpga/fpga.h"
#include "stand.h"

enum { TOKENS = 64, CIN = 64, COUT = 32 };

static void run_layer(ufp4_device_t *device, const float *x, const float *w, float *y) {
  const ufp4_linear_shape_t shape = {.tokens = TOKENS, .cin = CIN, .cout = COUT, .passes = 1};
  const ufp4_matrix_t mx = {UFP4_DTYPE_F32, TOKENS, CIN, CIN, (void *)x};
  const ufp4_matrix_t mw = {UFP4_DTYPE_F32, COUT, CIN, CIN, (void *)w};
  ufp4_recipe_t recipe;
  ufp4_linear_t *linear;
  ufp4_recipe_named("ufp4", &recipe);
  check_bits(0, ufp4_linear_create(device, &shape, &recipe, &linear), UFP4_OK, "create: %s",
             ufp4_device_message(device));
  check_bits(0, ufp4_linear_fprop(linear, &mx, &mw, 0, y, NULL), UFP4_OK, "fprop: %s",
             ufp4_device_message(device));
  ufp4_linear_free(linear);
}

/** One byte in a hundred is damaged, in data and register accesses alike; frames have 64 bytes. */
SLOW_TEST(many_faults_change_no_bit) {
  static float y[2][TOKENS * COUT];
  check_random_t random = check_random();
  float *x = stand_tensor(&random, TOKENS * CIN, 1.0f);
  float *w = stand_tensor(&random, COUT * CIN, 1.0f);
  const char *backend =
      stand_board((const char *const[]){"--faults", "1", "--fault-bytes", "100", NULL});
  link_options_t link = link_options_default();
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_message_t why = {0};
  ufp4_device_t *device, *model;
  fpga_t *fpga;
  link.data_bytes = 64;
  options.message = &why;
  check_bits(0, ufp4_device_open("model", &options, &model), UFP4_OK, "model");
  options.configuration = NULL;
  check_bits(0, fpga_open(backend, strchr(backend, ':') + 1, &link, &why, &fpga), UFP4_OK,
             "open: %s", why.text);
  const ufp4_port_t port = fpga_port(fpga);
  check_bits(0, ufp4_device_open_port(&port, &options, &device), UFP4_OK, "open: %s", why.text);
  run_layer(device, x, w, y[0]);
  run_layer(model, x, w, y[1]);
  check_that(0, memcmp(y[0], y[1], sizeof y[0]) == 0, "Y differs from the model's");
  const link_counts_t counts = link_counts(fpga_link(fpga));
  check_that(0, counts.frames > counts.requests + 50 && counts.dropped > 20,
             "%d requests in %d frames, %d answers dropped", (int)counts.requests,
             (int)counts.frames, (int)counts.dropped);
  ufp4_device_close(device);
  ufp4_device_close(model);
  free(x);
  free(w);
}
