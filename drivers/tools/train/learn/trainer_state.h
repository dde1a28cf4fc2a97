// SPDX-License-Identifier: Apache-2.0
// The state of a trainer, for writing checkpoints and reading them.
#ifndef UFP4_TRAIN_TRAINER_STATE_H
#define UFP4_TRAIN_TRAINER_STATE_H

#include "trainer.h"

struct ufp4_trainer {
  ufp4_trainer_options_t options;
  ufp4_adamw_t adamw;
  const ufp4_text_t *text;
  ufp4_device_t *device;
  ufp4_recipe_t recipe;
  int plain;  // no recipe: FP32 linear layers
  ufp4_transformer_t model;
  ufp4_pool_t pool;
  ufp4_weights_t weights;
  ufp4_weights_t gradient;
  float *moment[2];
  uint8_t *inputs, *targets;
  int64_t step;
};

#endif
