// SPDX-License-Identifier: Apache-2.0
// Measures steps of the language model in a recipe, against the same steps with OpenBLAS in the
// linear layers.
#include <stdio.h>
#include <stdlib.h>

#include "base/names.h"
#include "bench.h"
#include "train/learn/trainer.h"
#include "train/model/draw.h"

#define TEXT_BYTES (1 << 20)

typedef struct {
  ufp4_trainer_t *recipe, *blas;
} pair_t;

static ufp4_status_t run_recipe(bench_t *bench, const void *argument) {
  double loss;
  (void)bench;
  return ufp4_trainer_step(((const pair_t *)argument)->recipe, &loss);
}

static ufp4_status_t run_blas(bench_t *bench, const void *argument) {
  double loss;
  (void)bench;
  return ufp4_trainer_step(((const pair_t *)argument)->blas, &loss);
}

// Makes random letters, since the text does not affect the time.
static ufp4_status_t make_text(uint64_t seed, ufp4_text_t *text) {
  static const char letters[] = "etaoin shrdlucmf";
  const ufp4_draw_t draw = ufp4_draw_start(seed, UFP4_DRAW_DATA);
  uint8_t *bytes = malloc(TEXT_BYTES);
  if (bytes == NULL) return UFP4_ERROR_MEMORY;
  for (uint64_t i = 0; i < TEXT_BYTES; i++)
    bytes[i] = (uint8_t)letters[ufp4_draw_at(&draw, i) % 16];
  ufp4_status_t status = ufp4_text_split(bytes, TEXT_BYTES, text);
  free(bytes);
  return status;
}

static ufp4_status_t take_turns(bench_t *bench, const ufp4_recipe_t *recipe, const char *what,
                                ufp4_device_t *device, const ufp4_text_t *text) {
  const ufp4_trainer_options_t options = ufp4_trainer_options_default();
  const double tokens = 1e-3 * (double)(options.batch * options.shape.context);
  pair_t pair = {NULL, NULL};
  char against[64];
  timing_t t;
  ufp4_status_t status = ufp4_trainer_create(&options, text, device, recipe, &pair.recipe);
  if (status == UFP4_OK) status = ufp4_trainer_create(&options, text, NULL, NULL, &pair.blas);
  if (status == UFP4_OK) {
    ufp4_trainer_set_product(pair.blas, (ufp4_product_t){blas_product, &bench->blas});
    status = bench_take_turns(bench, run_recipe, run_blas, &pair, &t);
  }
  ufp4_trainer_free(pair.recipe);
  ufp4_trainer_free(pair.blas);
  if (status != UFP4_OK) return status;
  snprintf(against, sizeof against, "sgemm_%s", bench->blas.core);
  const line_t line = {what,
                       recipe->quantized ? elem_names[recipe->elem] : "-",
                       t.seconds,
                       tokens / t.seconds,
                       "ktoken/s",
                       against,
                       tokens / t.yard_seconds,
                       t.ratio};
  bench_print(bench, (uint64_t)options.shape.d_model, &line);
  return UFP4_OK;
}

static ufp4_status_t bench_recipe(bench_t *bench, const char *name, const ufp4_text_t *text) {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device;
  ufp4_recipe_t recipe;
  char what[32];
  snprintf(what, sizeof what, "train_%s", name);
  if (!bench_is_wanted(bench, what)) return UFP4_OK;
  options.threads = (unsigned)bench->threads;
  options.kernel = cli_kernel();
  ufp4_status_t status = ufp4_recipe_named(name, &recipe);
  if (status == UFP4_OK) status = ufp4_device_open("model", &options, &device);
  if (status != UFP4_OK) return status;
  status = take_turns(bench, &recipe, what, device, text);
  ufp4_device_close(device);
  return status;
}

ufp4_status_t bench_train(bench_t *bench) {
  static const char *const names[] = {"fp32", "bf16", "ufp4", "e2m1", "nvfp4", "mxfp4"};
  ufp4_text_t text = {0};
  ufp4_status_t status = make_text(bench->seed, &text);
  for (size_t i = 0; i < sizeof names / sizeof names[0] && status == UFP4_OK; i++)
    status = bench_recipe(bench, names[i], &text);
  ufp4_text_free(&text);
  return status;
}
