// SPDX-License-Identifier: Apache-2.0
// A linear layer for the tests, and its tensors.
#ifndef UFP4_DRIVER_LAYER_H
#define UFP4_DRIVER_LAYER_H

#include "stand.h"

/** The tensors of a layer, by role. */
typedef struct {
  ufp4_matrix_t views[UFP4_ROLE_COUNT];
  float *data[UFP4_ROLE_COUNT];
} tensors_t;

/** Draws nearly Gaussian tensors for a layer of @p shape: tokens, cin, cout. */
tensors_t make_tensors(check_random_t *random, const int64_t *shape);
void free_tensors(tensors_t *tensors);

/** Opens a device of the backend; the configuration counts only if the backend has cores. */
ufp4_device_t *device_of(const char *configuration);

ufp4_recipe_t named(const char *recipe);

#define LAYER_SEED 77

/** Creates the layer with number @p layer and that seed. */
ufp4_linear_t *make_linear_by(ufp4_device_t *device, const int64_t *shape,
                              const ufp4_recipe_t *recipe, unsigned layer, unsigned passes);
ufp4_linear_t *make_linear(ufp4_device_t *device, const int64_t *shape, const char *recipe_name,
                           unsigned layer, unsigned passes);

/** Allocates zeros for the output of a pass. */
float *new_output(const int64_t *shape, ufp4_pass_t pass);

/** Returns the golden model's own copy of a tensor of such a layer. */
ufp4_operand_t golden_copy(const ufp4_recipe_t *recipe, const ufp4_matrix_t *tensor,
                           ufp4_role_t role, ufp4_axis_t axis, unsigned layer, uint64_t step);

/** Compares both copies of a pass, and D, with the golden model's. */
void check_pass(int64_t index, ufp4_linear_t *linear, const ufp4_recipe_t *recipe,
                const ufp4_matrix_t views[UFP4_ROLE_COUNT], ufp4_pass_t pass, unsigned layer,
                uint64_t step, const float *d);

#endif
