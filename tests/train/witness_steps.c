// SPDX-License-Identifier: Apache-2.0
// witness_steps TEXT FOLDER RECIPE: trains some steps and writes checkpoints, FOLDER/0.safetensors
// and so on, before each step and after the last, for witness_torch.py. No size but the width is a
// multiple of 16, so that blocks are padded.
#include <stdio.h>

#include "train/study/checkpoint.h"

enum { STEPS = 20 };

static const ufp4_trainer_options_t options = {
    .shape = {.d_model = 64, .heads = 2, .blocks = 2, .ff = 88, .context = 45},
    .batch = 8,
    .steps = STEPS,
    .rate = 1e-2f,
    .seed = 0x100000003};

static ufp4_status_t save(const ufp4_trainer_t *trainer, const double *losses, const char *folder,
                          ufp4_message_t *message) {
  char path[4096];
  const int64_t step = ufp4_trainer_steps(trainer);
  snprintf(path, sizeof path, "%s/%lld.safetensors", folder, (long long)step);
  return ufp4_trainer_save(trainer, losses, path, message);
}

static ufp4_status_t train(ufp4_trainer_t *trainer, const char *folder, ufp4_message_t *message) {
  double losses[STEPS];
  ufp4_status_t status = save(trainer, losses, folder, message);
  for (int i = 0; i < STEPS && status == UFP4_OK; i++) {
    status = ufp4_trainer_step(trainer, &losses[i]);
    if (status == UFP4_OK) status = save(trainer, losses, folder, message);
  }
  return status;
}

int main(int argc, char **argv) {
  ufp4_device_options_t of_device = ufp4_device_options_default();
  ufp4_message_t message = {""};
  ufp4_recipe_t recipe;
  ufp4_text_t text = {0};
  ufp4_device_t *device = NULL;
  ufp4_trainer_t *trainer = NULL;
  if (argc != 4) return 2;
  ufp4_status_t status = ufp4_recipe_named(argv[3], &recipe);
  if (status == UFP4_OK) status = ufp4_text_read(argv[1], options.shape.context, &text, &message);
  if (status == UFP4_OK) status = ufp4_device_open("model", &of_device, &device);
  if (status == UFP4_OK) status = ufp4_trainer_create(&options, &text, device, &recipe, &trainer);
  if (status == UFP4_OK) status = train(trainer, argv[2], &message);
  if (status != UFP4_OK)
    fprintf(stderr, "witness_steps: %s: %s\n", ufp4_status_string(status), message.text);
  ufp4_trainer_free(trainer);
  ufp4_device_close(device);
  ufp4_text_free(&text);
  return status != UFP4_OK;
}
