// SPDX-License-Identifier: Apache-2.0
// Tests held-out losses by sequence.
#include <math.h>
#include <string.h>

#include "fixture.h"

enum { MOST = 64 };

// A trainer after three steps with ufp4, so that its losses differ between sequences.
typedef struct {
  ufp4_text_t text;
  ufp4_device_t *device;
  ufp4_trainer_t *trainer;
  ufp4_evaluation_t plan;
} trained_t;

static void train(trained_t *t) {
  *t = (trained_t){.text = fixture_text(40000), .device = fixture_device(1)};
  ufp4_trainer_options_t options = fixture_options(3);
  double loss;
  t->trainer = fixture_trainer(&options, &t->text, t->device, "ufp4");
  for (int i = 0; i < 3; i++)
    check_bits(i, ufp4_trainer_step(t->trainer, &loss), UFP4_OK, "step %d", i);
  t->plan = ufp4_trainer_evaluation(t->trainer, INT64_MAX);
}

static void end(trained_t *t) {
  ufp4_trainer_free(t->trainer);
  ufp4_device_close(t->device);
  ufp4_text_free(&t->text);
}

static void evaluate(const trained_t *t, int64_t first, int64_t count, double *each, double *mean) {
  check_bits(first, ufp4_evaluate(&t->plan, &t->text, first, count, each, mean), UFP4_OK,
             "sequences from %lld", (long long)first);
}

TEST(losses_of_sequences_average_to_the_mean) {
  trained_t t;
  train(&t);
  double each[MOST], sum = 0, mean, held;
  int64_t tokens, n = t.plan.sequences;
  check_that(0, n > 8 && n <= MOST && n % t.plan.batch == 0, "%lld sequences", (long long)n);
  evaluate(&t, 0, n, each, &mean);
  for (int64_t i = 0; i < n; i++) sum += each[i];
  check_that(1, fabs(sum / (double)n - mean) < 1e-12, "average %.17g, mean %.17g", sum / (double)n,
             mean);
  check_that(2, each[0] != each[1], "all alike");
  check_bits(3, ufp4_trainer_evaluate(t.trainer, INT64_MAX, &held, &tokens, NULL), UFP4_OK,
             "trainer");
  check_that(4, held == mean && tokens == n * 16, "the trainer's: %.17g, %lld tokens", held,
             (long long)tokens);
  end(&t);
}

// The loss of a sequence is that of the text at its position.
TEST(losses_are_of_their_sequences) {
  trained_t t;
  train(&t);
  uint8_t inputs[4 * 16], targets[4 * 16];
  ufp4_transformer_t model;
  double each[MOST], mean;
  evaluate(&t, 0, t.plan.sequences, each, NULL);
  ufp4_evaluation_t *p = &t.plan;
  for (int64_t i = 0; i < 4; i++)
    ufp4_text_held_sequence(&t.text, 4 + i, p->sequences, 16, inputs + 16 * i, targets + 16 * i);
  check_bits(0, ufp4_transformer_create(p->shape, 4, 0, p->device, p->recipe, p->seed, &model),
             UFP4_OK, "create");
  ufp4_transformer_forward(&model, p->weights, inputs, targets, p->step, &mean);
  double got = (each[4] + each[5] + each[6] + each[7]) / 4;
  check_that(0, fabs(got - mean) < 1e-12, "the second batch: %.17g, want %.17g", got, mean);
  ufp4_transformer_free(&model);
  end(&t);
}

TEST(pieces_make_the_whole) {
  trained_t t;
  train(&t);
  double whole[MOST], pieces[MOST];
  int64_t n = t.plan.sequences, b = t.plan.batch;
  evaluate(&t, 0, n, whole, NULL);
  evaluate(&t, 2 * b, n - 2 * b, pieces + 2 * b, NULL);
  evaluate(&t, b, b, pieces + b, NULL);
  evaluate(&t, 0, b, pieces, NULL);
  check_that(0, !memcmp(whole, pieces, (size_t)n * sizeof *whole), "losses");
  end(&t);
}

// Three tokens are fewer than a sequence has: one whole sequence is evaluated, in a batch of its
// own.
TEST(little_text_makes_small_batches) {
  trained_t t;
  train(&t);
  double loss;
  int64_t tokens;
  t.plan = ufp4_trainer_evaluation(t.trainer, 3);
  check_bits(0, (uint64_t)t.plan.sequences, 1, "sequences");
  check_bits(1, (uint64_t)t.plan.batch, 1, "batch");
  check_bits(2, ufp4_trainer_evaluate(t.trainer, 3, &loss, &tokens, NULL), UFP4_OK, "trainer");
  check_that(3, isfinite(loss) && tokens == 16, "%g over %lld tokens", loss, (long long)tokens);
  end(&t);
}

// Weights that are declared unchanged are read again only at another place or step.
TEST(fixed_weights_are_quantized_once) {
  enum { ROWS = 8, SIDE = 16 };
  static float x[ROWS * SIDE], w[2][SIDE * SIDE], y[4][ROWS * SIDE];
  check_random_t random = check_random();
  ufp4_device_t *device = fixture_device(1);
  ufp4_recipe_t recipe;
  ufp4_layer_t layer;
  const ufp4_linear_shape_t shape = {ROWS, SIDE, SIDE, 0, 0, 1u << UFP4_PASS_FPROP};
  fixture_normal(&random, 1, x, ROWS * SIDE);
  fixture_normal(&random, 1, w[0], SIDE * SIDE);
  check_bits(0, ufp4_recipe_named("ufp4", &recipe), UFP4_OK, "ufp4");
  check_bits(0, ufp4_layer_create(device, &recipe, &shape, &layer), UFP4_OK, "create");
  for (int fixed = 0; fixed < 2; fixed++) {
    memcpy(w[1], w[0], sizeof w[0]);
    layer.fixed = fixed;
    for (int i = 0; i < 4; i++) {
      const float *from = i == 2 ? w[1] : w[0];
      check_bits(i, ufp4_layer_forward(&layer, x, from, i == 3, y[i], NULL), UFP4_OK, "forward");
      if (i == 0) w[0][5] += 1, w[1][5] += 1;
    }
    check_that(fixed, (memcmp(y[0], y[1], sizeof y[0]) == 0) == fixed, "the same weights");
    check_that(fixed, memcmp(y[0], y[2], sizeof y[0]) != 0, "weights in another place");
    check_that(fixed, memcmp(y[0], y[3], sizeof y[0]) != 0, "another step");
  }
  ufp4_layer_free(&layer);
  ufp4_device_close(device);
}
