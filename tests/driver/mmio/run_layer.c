// SPDX-License-Identifier: Apache-2.0
// PROGRAM BACKEND runs a layer's three passes on a mapped core and compares them with the golden
// model. cross.sh builds it for other machines from those files of the driver that need only the C
// library.
#include <stdio.h>
#include <string.h>

#include "ufp4.h"

enum { TOKENS = 48, CIN = 40, COUT = 24 };

typedef struct {
  float y[TOKENS * COUT], dx[TOKENS * CIN], dw[COUT * CIN];
} outputs_t;

static float x[TOKENS * CIN], w[COUT * CIN], dy[TOKENS * COUT];

static void fill(float *target, int count, int step) {
  for (int i = 0; i < count; i++) target[i] = (float)(i * step % 101) / 50 - 1;
}

static int run(const char *backend, outputs_t *out) {
  ufp4_device_options_t options = ufp4_device_options_default();
  const ufp4_linear_shape_t shape = {TOKENS, CIN, COUT, .passes = UFP4_PASSES_ALL};
  const ufp4_matrix_t mx = {UFP4_DTYPE_F32, TOKENS, CIN, CIN, x};
  const ufp4_matrix_t mw = {UFP4_DTYPE_F32, COUT, CIN, CIN, w};
  const ufp4_matrix_t mdy = {UFP4_DTYPE_F32, TOKENS, COUT, COUT, dy};
  ufp4_message_t why = {""};
  ufp4_device_t *device = NULL;
  ufp4_linear_t *linear = NULL;
  ufp4_recipe_t recipe;
  options.message = &why;
  if (strcmp(backend, "model") != 0) options.configuration = NULL;
  if (ufp4_device_open(backend, &options, &device) != UFP4_OK) return puts(why.text), 0;
  const int done = ufp4_recipe_named("ufp4", &recipe) == UFP4_OK &&
                   ufp4_linear_create(device, &shape, &recipe, &linear) == UFP4_OK &&
                   !ufp4_linear_quantizes_on_host(linear) &&
                   ufp4_linear_fprop(linear, &mx, &mw, 0, out->y, NULL) == UFP4_OK &&
                   ufp4_linear_dgrad(linear, &mdy, 0, out->dx, NULL) == UFP4_OK &&
                   ufp4_linear_wgrad(linear, out->dw, NULL) == UFP4_OK;
  if (!done) puts(ufp4_device_message(device));
  ufp4_linear_free(linear);
  ufp4_device_close(device);
  return done;
}

int main(int argc, char **argv) {
  static outputs_t got, want;
  fill(x, TOKENS * CIN, 37), fill(w, COUT * CIN, 29), fill(dy, TOKENS * COUT, 43);
  if (argc != 2 || !run("model", &want) || !run(argv[1], &got)) return 3;
  const int equal = memcmp(&got, &want, sizeof got) == 0;
  puts(equal ? "equal" : "different");
  return !equal;
}
