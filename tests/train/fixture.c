// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // nftw
#include "fixture.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fixture_normal(check_random_t *random, float deviation, float *out, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double sum = -6;
    for (int j = 0; j < 12; j++) sum += (double)(check_next(random) >> 11) / 9007199254740992.0;
    out[i] = deviation * (float)sum;
  }
}

double fixture_dot(const float *a, const float *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)a[i] * (double)b[i];
  return sum;
}

static double at(fixture_function_t f, void *context, const float *x, const float *v, int64_t count,
                 double h, float *moved) {
  for (int64_t i = 0; i < count; i++) moved[i] = x[i] + (float)(h * (double)v[i]);
  return f(context, moved);
}

void fixture_check_gradient(check_random_t *random, const char *what, fixture_function_t f,
                            void *context, const float *x, const float *gradient, int64_t count,
                            double h, double tolerance) {
  float *v = malloc((size_t)count * sizeof *v), *moved = malloc((size_t)count * sizeof *moved);
  for (int trial = 0; v && moved && trial < 4; trial++) {
    fixture_normal(random, 1.0f, v, count);
    double length = sqrt(fixture_dot(v, v, count));
    for (int64_t i = 0; i < count; i++) v[i] = (float)((double)v[i] / length);
    double near = at(f, context, x, v, count, h, moved) - at(f, context, x, v, count, -h, moved);
    double far =
        at(f, context, x, v, count, 2 * h, moved) - at(f, context, x, v, count, -2 * h, moved);
    double want = (8 * near - far) / (12 * h), got = fixture_dot(gradient, v, count);
    double scale = sqrt(fixture_dot(gradient, gradient, count) / (double)count);
    check_that(trial, scale > 0 && fabs(got - want) <= tolerance * scale,
               "%s: got %.9g, want %.6g, typical %.6g", what, got, want, scale);
  }
  free(v);
  free(moved);
}

ufp4_text_t fixture_text_of(int64_t bytes, uint64_t number) {
  static const char *const words[] = {"the ", "cat ", "sat ", "on ",  "a ",
                                      "mat ", "and ", "saw ", "two ", "dogs. "};
  ufp4_text_t text = {0};
  check_random_t random = {number};
  char *all = malloc((size_t)bytes + 16);
  if (!all) return text;
  for (int64_t used = 0; used < bytes;) {
    used += sprintf(all + used, "%s", words[check_below(&random, sizeof words / sizeof *words)]);
  }
  ufp4_text_split((const uint8_t *)all, bytes, &text);
  free(all);
  return text;
}

ufp4_text_t fixture_text(int64_t bytes) {
  return fixture_text_of(bytes, check_stream(7));
}

ufp4_transformer_shape_t fixture_shape(void) {
  return (ufp4_transformer_shape_t){
      .d_model = 32, .heads = 2, .blocks = 2, .ff = 48, .context = 16};
}

ufp4_trainer_options_t fixture_options(int64_t steps) {
  return (ufp4_trainer_options_t){
      .shape = fixture_shape(), .batch = 4, .steps = steps, .rate = 1e-2f, .seed = 3};
}

static ufp4_device_t *device_of(unsigned threads) {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device;
  options.threads = threads;
  return ufp4_device_open("model", &options, &device) ? NULL : device;
}

ufp4_device_t *fixture_open(void *context) {
  (void)context;
  return device_of(1);
}

ufp4_device_t *fixture_open_none(void *context) {
  (void)context;
  return NULL;
}

ufp4_device_t *fixture_device(unsigned threads) {
  ufp4_device_t *device = device_of(threads);
  check_that(0, device != NULL, "opening the model");
  return device;
}

ufp4_trainer_t *fixture_trainer(const ufp4_trainer_options_t *options, const ufp4_text_t *text,
                                ufp4_device_t *device, const char *recipe) {
  ufp4_recipe_t named;
  ufp4_trainer_t *trainer = NULL;
  if (recipe) check_bits(0, ufp4_recipe_named(recipe, &named), UFP4_OK, "%s", recipe);
  check_bits(0, ufp4_trainer_create(options, text, device, recipe ? &named : NULL, &trainer),
             UFP4_OK, "create");
  return trainer;
}

void fixture_folder(char path[256]) {
  const char *base = getenv("TMPDIR");
  snprintf(path, 256, "%s/ufp4-test-XXXXXX", base ? base : "/tmp");
  check_that(0, mkdtemp(path) != NULL, "%s: cannot be made", path);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  return remove(path);
}

void fixture_remove(const char *path) {
  nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
