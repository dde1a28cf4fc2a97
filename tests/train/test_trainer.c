// SPDX-License-Identifier: Apache-2.0
// Tests training: it learns, repeats itself bit for bit, and refuses what is not possible.
#include <math.h>
#include <string.h>

#include "fixture.h"

enum { STEPS = 40 };

typedef struct {
  double loss[STEPS];
  uint64_t weights;  // a hash of their bits
  double held;
} result_t;

static uint64_t hash_of(const ufp4_weights_t *weights) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (int64_t i = 0; i < weights->count; i++)
    hash = (hash ^ ufp4_f32_bits(weights->all[i])) * 1099511628211u;
  return hash;
}

static void take_steps(ufp4_trainer_t *trainer, int count, double *loss) {
  for (int i = 0; i < count; i++)
    check_bits(i, ufp4_trainer_step(trainer, &loss[i]), UFP4_OK, "step %d", i);
}

// @p recipe NULL: plain FP32. Frees the text.
static result_t train_on(ufp4_text_t text, const ufp4_recipe_t *recipe, unsigned threads,
                         const ufp4_trainer_options_t *options) {
  result_t out = {0};
  ufp4_device_t *device = recipe ? fixture_device(threads) : NULL;
  ufp4_trainer_t *trainer = NULL;
  check_bits(0, ufp4_trainer_create(options, &text, device, recipe, &trainer), UFP4_OK, "create");
  if (trainer) {
    take_steps(trainer, (int)options->steps, out.loss);
    check_bits(0, ufp4_trainer_evaluate(trainer, 512, &out.held, NULL, NULL), UFP4_OK, "evaluate");
    out.weights = hash_of(ufp4_trainer_weights(trainer));
  }
  ufp4_trainer_free(trainer);
  if (device) ufp4_device_close(device);
  ufp4_text_free(&text);
  return out;
}

static result_t train_by(const ufp4_recipe_t *recipe, unsigned threads,
                         const ufp4_trainer_options_t *options) {
  return train_on(fixture_text(40000), recipe, threads, options);
}

static ufp4_recipe_t named(const char *name) {
  ufp4_recipe_t recipe = {0};
  check_bits(0, ufp4_recipe_named(name, &recipe), UFP4_OK, "%s", name);
  return recipe;
}

static result_t train(const char *name, unsigned threads, const ufp4_trainer_options_t *options) {
  if (name == NULL) return train_by(NULL, threads, options);
  const ufp4_recipe_t recipe = named(name);
  return train_by(&recipe, threads, options);
}

static void check_learns(const char *recipe) {
  ufp4_trainer_options_t options = fixture_options(STEPS);
  result_t r = train(recipe, 1, &options);
  check_that(0, fabs(r.loss[0] - log(256)) < 0.1, "first loss %g, not ln 256", r.loss[0]);
  check_that(1, r.loss[STEPS - 1] < 0.6 * r.loss[0], "last loss %g, first %g", r.loss[STEPS - 1],
             r.loss[0]);
  check_that(2, fabs(r.held - r.loss[STEPS - 1]) < 0.3, "held-out loss %g, training loss %g",
             r.held, r.loss[STEPS - 1]);
}

TEST(fp32_learns) {
  check_learns(NULL);
}
TEST(bf16_learns) {
  check_learns("bf16");
}
TEST(ufp4_learns) {
  check_learns("ufp4");
}
TEST(e2m1_learns) {
  check_learns("e2m1");
}

static void check_equal(const result_t *a, const result_t *b, int steps) {
  for (int i = 0; i < steps; i++) {
    uint64_t x, y;
    memcpy(&x, &a->loss[i], sizeof x);
    memcpy(&y, &b->loss[i], sizeof y);
    check_bits(i, x, y, "loss of step %d", i);
  }
  check_bits(0, a->weights, b->weights, "hash of the weights");
}

static void check_repeats(const char *recipe) {
  ufp4_trainer_options_t options = fixture_options(5);
  result_t a = train(recipe, 1, &options), b = train(recipe, 1, &options);
  check_equal(&a, &b, 5);
}

TEST(repeats_itself_in_fp32) {
  check_repeats(NULL);
}
TEST(repeats_itself_in_bf16) {
  check_repeats("bf16");
}
TEST(repeats_itself_in_ufp4) {
  check_repeats("ufp4");
}

// Checks a pinned hash: one text gives the same weights on every processor, compiler and number of
// threads.
static void check_pinned(const char *name, uint64_t want) {
  const ufp4_trainer_options_t options = fixture_options(3);
  const ufp4_recipe_t recipe = named(name ? name : "bf16");
  const result_t r = train_on(fixture_text_of(40000, 7), name ? &recipe : NULL, 2, &options);
  check_bits(0, r.weights, want, "hash of the weights after three steps");
}

TEST(fp32_has_the_same_bits_everywhere) {
  check_pinned(NULL, 0x47F45349A4739422);
}
TEST(ufp4_has_the_same_bits_everywhere) {
  check_pinned("ufp4", 0x3513AD57F4CA4838);
}
TEST(e2m1_has_the_same_bits_everywhere) {
  check_pinned("e2m1", 0x6B2645639953BF7B);
}

TEST(threads_do_not_show) {
  ufp4_trainer_options_t options = fixture_options(5);
  options.shape.ff = 1024;  // large enough for the model to start threads
  options.batch = 16;
  result_t a = train("ufp4", 1, &options), b = train("ufp4", 3, &options);
  check_equal(&a, &b, 5);
}

TEST(seed_changes_everything) {
  ufp4_trainer_options_t options = fixture_options(2);
  result_t a = train("ufp4", 1, &options);
  options.seed++;
  result_t b = train("ufp4", 1, &options);
  check_that(0, a.loss[0] != b.loss[0], "the first loss");
  check_that(1, a.weights != b.weights, "the weights");
}

TEST(perturbation_changes_little) {
  ufp4_trainer_options_t options = fixture_options(2);
  result_t a = train(NULL, 1, &options);
  options.perturbation = 1e-3f;
  result_t b = train(NULL, 1, &options);
  check_that(0, a.loss[0] != b.loss[0] && fabs(a.loss[0] - b.loss[0]) < 1e-3, "%.9g and %.9g",
             a.loss[0], b.loss[0]);
}

static void check_deviation(const float *x, int64_t count, double want, const char *what) {
  double got = sqrt(fixture_dot(x, x, count) / (double)count);
  check_that(0, fabs(got - want) < 4 * want / sqrt(2.0 * (double)count),
             "%s: deviation %g, want %g", what, got, want);
}

TEST(first_weights_have_their_deviations) {
  ufp4_transformer_shape_t shape = fixture_shape();
  ufp4_pool_t pool = {0};
  ufp4_weights_t w;
  ufp4_weights_alloc(&shape, &pool, &w);
  ufp4_weights_random(&shape, 11, &w);
  check_deviation(w.embedding, 256 * shape.d_model, 0.02, "embedding");
  check_deviation(w.head, 256 * shape.d_model, 0.02, "head");
  for (unsigned m = 0; m < UFP4_MATRIX_COUNT; m++) {
    double want = m == UFP4_MATRIX_PROJ || m == UFP4_MATRIX_FC2 ? 0.02 / sqrt(2.0 * 2) : 0.02;
    check_deviation(w.block[1].matrix[m],
                    ufp4_matrix_outputs(&shape, m) * ufp4_matrix_inputs(&shape, m), want,
                    ufp4_matrix_name(m));
  }
  for (int64_t i = 0; i < shape.d_model; i++) check_that(i, w.block[1].norm[1][i] == 1, "gain");
  ufp4_pool_free(&pool);
}

TEST(recipes_start_alike_and_part) {
  ufp4_trainer_options_t options = fixture_options(3);
  result_t a = train("bf16", 1, &options), b = train("ufp4", 1, &options);
  check_that(0, fabs(a.loss[0] - b.loss[0]) < 0.02, "first loss %.6f and %.6f", a.loss[0],
             b.loss[0]);
  check_that(1, a.weights != b.weights, "the weights");
}

// If all layers or passes of a model are in BF16, it equals the recipe bf16.
TEST(all_in_bf16_is_bf16) {
  ufp4_trainer_options_t options = fixture_options(2);
  const result_t want = train("bf16", 1, &options);
  for (int i = 0; i < 4; i++) {
    ufp4_recipe_t recipe = named("ufp4");
    if (i == 0) recipe.bf16_layers.first.blocks = 2;
    if (i == 1) recipe.bf16_layers.last.percent = 51;
    if (i == 2) recipe.bf16_layers.matrices = 15;
    if (i == 3) recipe.bf16_passes = UFP4_PASSES_ALL;
    const result_t got = train_by(&recipe, 1, &options);
    check_equal(&got, &want, 2);
    check_that(i, got.held == want.held, "held-out loss %.9g, want %.9g", got.held, want.held);
  }
}

static ufp4_status_t on_quantized(void *context, const ufp4_layer_event_t *e) {
  unsigned *quantized = context;
  quantized[e->pass] |= (unsigned)ufp4_linear_quantizes(e->linear, e->pass) << e->layer;
  return UFP4_OK;
}

// Checks which GEMMs of a model with two blocks are quantized.
TEST(bf16_layers_and_passes_hold_for_the_gemms_they_name) {
  ufp4_trainer_options_t options = fixture_options(2);
  ufp4_text_t text = fixture_text(40000);
  ufp4_device_t *device = fixture_device(1);
  ufp4_recipe_t recipe = named("ufp4");
  recipe.bf16_layers =
      (ufp4_bf16_layers_t){.last = {.percent = 15}, .matrices = 1u << UFP4_MATRIX_PROJ};
  recipe.bf16_passes = 1u << UFP4_PASS_DGRAD;
  ufp4_trainer_t *trainer = NULL;
  unsigned quantized[UFP4_PASS_COUNT] = {0};
  double loss;
  check_bits(0, ufp4_trainer_create(&options, &text, device, &recipe, &trainer), UFP4_OK, "create");
  ufp4_trainer_set_hook(trainer, (ufp4_layer_hook_t){on_quantized, quantized});
  check_bits(0, ufp4_trainer_step(trainer, &loss), UFP4_OK, "step");
  check_bits(0, quantized[UFP4_PASS_FPROP], 0xD, "layers in FPROP");
  check_bits(1, quantized[UFP4_PASS_DGRAD], 0, "layers in DGRAD");
  check_bits(2, quantized[UFP4_PASS_WGRAD], 0xD, "layers in WGRAD");
  ufp4_trainer_free(trainer);
  ufp4_device_close(device);
  ufp4_text_free(&text);
}

// Compares five steps in one trainer with three steps and a copy that takes the others.
TEST(copy_goes_on_as_the_original) {
  ufp4_trainer_options_t options = fixture_options(8);
  ufp4_text_t text = fixture_text(40000);
  ufp4_trainer_t *a = fixture_trainer(&options, &text, NULL, NULL),
                 *b = fixture_trainer(&options, &text, NULL, NULL);
  double loss[8], copied[8];
  take_steps(a, 3, loss);
  check_bits(0, ufp4_trainer_copy(b, a), UFP4_OK, "copy");
  check_bits(0, (uint64_t)ufp4_trainer_steps(b), 3, "steps taken");
  take_steps(a, 2, loss);
  take_steps(b, 2, copied);
  check_that(0, loss[0] == copied[0] && loss[1] == copied[1], "losses");
  check_bits(0, hash_of(ufp4_trainer_weights(a)), hash_of(ufp4_trainer_weights(b)), "weights");
  ufp4_trainer_free(a), ufp4_trainer_free(b);
  ufp4_text_free(&text);
}

typedef struct {
  int passes[UFP4_PASS_COUNT];
  int order_ok, shapes_ok;
  unsigned last_layer;
} seen_t;

static ufp4_status_t on_gemm(void *context, const ufp4_layer_event_t *e) {
  seen_t *seen = context;
  seen->passes[e->pass]++;
  int64_t rows = e->pass == UFP4_PASS_WGRAD ? e->w.rows : e->x.rows,
          cols = e->pass == UFP4_PASS_FPROP ? e->w.rows : e->w.cols;
  if (e->d.rows != rows || e->d.cols != cols || e->stats.m != rows || e->stats.n != cols)
    seen->shapes_ok = 0;
  int backward = e->pass != UFP4_PASS_FPROP;
  if (backward ? e->layer > seen->last_layer : e->layer < seen->last_layer) seen->order_ok = 0;
  if (!e->x.data != (e->pass == UFP4_PASS_DGRAD) || !e->w.data != (e->pass == UFP4_PASS_WGRAD) ||
      !e->dy.data != !backward) {
    seen->shapes_ok = 0;
  }
  seen->last_layer = e->layer;
  return UFP4_OK;
}

TEST(hook_sees_each_gemm) {
  ufp4_trainer_options_t options = fixture_options(2);
  ufp4_text_t text = fixture_text(40000);
  ufp4_trainer_t *trainer = fixture_trainer(&options, &text, NULL, NULL);
  seen_t seen = {.order_ok = 1, .shapes_ok = 1};
  double loss;
  ufp4_trainer_set_hook(trainer, (ufp4_layer_hook_t){on_gemm, &seen});
  ufp4_trainer_step(trainer, &loss);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++)
    check_bits(pass, (uint64_t)seen.passes[pass], 8, "GEMMs of pass %d", pass);
  check_that(0, seen.order_ok && seen.shapes_ok, "order %d, shapes %d", seen.order_ok,
             seen.shapes_ok);
  ufp4_trainer_free(trainer);
  ufp4_text_free(&text);
}

static ufp4_status_t refuse(void *context, const ufp4_layer_event_t *event) {
  (void)context, (void)event;
  return UFP4_ERROR_IO;
}

TEST(rejects_step_whose_hook_fails) {
  ufp4_trainer_options_t options = fixture_options(2);
  ufp4_text_t text = fixture_text(40000);
  ufp4_trainer_t *trainer = fixture_trainer(&options, &text, NULL, NULL);
  double loss;
  uint64_t before = hash_of(ufp4_trainer_weights(trainer));
  ufp4_trainer_set_hook(trainer, (ufp4_layer_hook_t){refuse, NULL});
  check_bits(0, ufp4_trainer_step(trainer, &loss), UFP4_ERROR_IO, "step");
  check_bits(1, hash_of(ufp4_trainer_weights(trainer)), before, "weights are as they were");
  ufp4_trainer_free(trainer);
  ufp4_text_free(&text);
}

static void check_refused(ufp4_trainer_options_t options, const char *what) {
  ufp4_text_t text = {0};
  ufp4_trainer_t *trainer;
  check_bits(0, ufp4_trainer_create(&options, &text, NULL, NULL, &trainer), UFP4_ERROR_ARGUMENT,
             "%s", what);
  check_that(1, !trainer, "%s gives a trainer", what);
}

TEST(rejects_impossible_shapes) {
  ufp4_trainer_options_t o = fixture_options(2);
  o.shape.heads = 3;
  check_refused(o, "3 heads of 32");
  o.shape.heads = 32;
  check_refused(o, "heads of one element");
  o = fixture_options(2);
  o.shape.blocks = UFP4_MAX_BLOCKS + 1;
  check_refused(o, "too many blocks");
  o = fixture_options(2);
  o.shape.ff = 0;
  check_refused(o, "no feed-forward part");
  o = fixture_options(2);
  o.shape.d_model = -32;
  check_refused(o, "a negative width");
}

TEST(rejects_impossible_schedules) {
  ufp4_trainer_options_t o = fixture_options(0);
  check_refused(o, "no steps");
  o = fixture_options(2);
  o.rate = 0;
  check_refused(o, "no rate");
  o.rate = NAN;
  check_refused(o, "NaN");
  o = fixture_options(2);
  o.batch = 0;
  check_refused(o, "no sequences");
  o.batch = (int64_t)1 << 40;
  check_refused(o, "too many sequences");
}

TEST(rejects_copy_of_another_shape) {
  ufp4_trainer_options_t options = fixture_options(2);
  ufp4_text_t text = {0};
  ufp4_trainer_t *a = fixture_trainer(&options, &text, NULL, NULL);
  options.shape.ff = 64;
  ufp4_trainer_t *b = fixture_trainer(&options, &text, NULL, NULL);
  check_bits(0, ufp4_trainer_copy(b, a), UFP4_ERROR_ARGUMENT, "copy");
  ufp4_trainer_free(a), ufp4_trainer_free(b);
}

TEST(rejects_backward_of_a_forward_only_model) {
  ufp4_transformer_shape_t shape = fixture_shape();
  ufp4_transformer_t model;
  ufp4_weights_t none = {0};
  check_bits(0, ufp4_transformer_create(&shape, 1, 0, NULL, NULL, 0, &model), UFP4_OK, "create");
  check_bits(1, ufp4_transformer_backward(&model, &none, NULL, 0, &none), UFP4_ERROR_ARGUMENT,
             "backward");
  ufp4_transformer_free(&model);
}
