// SPDX-License-Identifier: Apache-2.0
// A linear layer for the tests, and tensors for it.
#ifndef UFP4_DRIVER_LAYER_H
#define UFP4_DRIVER_LAYER_H

#include "bench.h"

/** Tensors by role. */
typedef struct {
  ufp4_matrix_t views[UFP4_ROLE_COUNT];
  float *data[UFP4_ROLE_COUNT];
} tensors_t;

/** Gaussian-like ones for a layer of @p shape: tokens, cin, cout. */
tensors_t make_tensors(check_random_t *random, const int64_t *shape);
void free_tensors(tensors_t *tensors);

/** The layer, with seed 77. */
ufp4_linear_t *make_linear(ufp4_device_t *device, const int64_t *shape, const char *recipe_name,
                           unsigned layer, unsigned passes);

/** Zeros for what a pass gives. */
float *new_output(const int64_t *shape, ufp4_pass_t pass);

#endif
