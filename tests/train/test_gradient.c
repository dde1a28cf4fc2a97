// SPDX-License-Identifier: Apache-2.0
// Tests every backward pass against finite differences of its forward pass.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "train/model/attention.h"
#include "train/model/loss.h"
#include "train/model/norm.h"
#include "train/model/rope.h"
#include "train/model/swiglu.h"

// Each module gets a scalar function, <cotangent, output>, whose gradient backward computes from dy
// = cotangent.

// --- RMSNorm ------------------------------------------------------------------------------------

enum { ROWS = 5, COLS = 24 };

typedef struct {
  float x[ROWS * COLS], gain[COLS], cotangent[ROWS * COLS];
} norm_case_t;

static double norm_value(const float *x, const float *gain, const float *cotangent) {
  float y[ROWS * COLS], inverse[ROWS];
  ufp4_norm_forward(ROWS, COLS, x, gain, y, inverse);
  return fixture_dot(y, cotangent, ROWS * COLS);
}

static double norm_of_x(void *context, const float *x) {
  const norm_case_t *c = context;
  return norm_value(x, c->gain, c->cotangent);
}

static double norm_of_gain(void *context, const float *gain) {
  const norm_case_t *c = context;
  return norm_value(c->x, gain, c->cotangent);
}

TEST(norm) {
  check_random_t random = check_random();
  norm_case_t c;
  float y[ROWS * COLS], inverse[ROWS], dx[ROWS * COLS] = {0}, dgain[COLS] = {0};
  fixture_normal(&random, 1, c.x, ROWS * COLS);
  fixture_normal(&random, 1, c.gain, COLS);
  fixture_normal(&random, 1, c.cotangent, ROWS * COLS);
  ufp4_norm_forward(ROWS, COLS, c.x, c.gain, y, inverse);
  ufp4_norm_backward(ROWS, COLS, c.x, c.gain, inverse, c.cotangent, dx, dgain);
  fixture_check_gradient(&random, "x", norm_of_x, &c, c.x, dx, ROWS * COLS, 0.03, 1e-3);
  fixture_check_gradient(&random, "gain", norm_of_gain, &c, c.gain, dgain, COLS, 0.03, 1e-3);
}

TEST(norm_adds_to_what_is_there) {
  check_random_t random = check_random();
  float x[COLS], gain[COLS], dy[COLS], inverse[1], y[COLS], dx[2][COLS] = {{0}},
                                                            dgain[2][COLS] = {{0}};
  fixture_normal(&random, 1, x, COLS);
  fixture_normal(&random, 1, gain, COLS);
  fixture_normal(&random, 1, dy, COLS);
  for (int i = 0; i < COLS; i++) dx[1][i] = dgain[1][i] = 64;
  ufp4_norm_forward(1, COLS, x, gain, y, inverse);
  for (int i = 0; i < 2; i++) ufp4_norm_backward(1, COLS, x, gain, inverse, dy, dx[i], dgain[i]);
  for (int i = 0; i < COLS; i++) {
    check_that(
        i, fabsf(dx[1][i] - dx[0][i] - 64) < 1e-5f && fabsf(dgain[1][i] - dgain[0][i] - 64) < 1e-5f,
        "column %d", i);
  }
}

// --- SwiGLU -------------------------------------------------------------------------------------

static double swiglu_of_u(void *context, const float *u) {
  float y[ROWS * COLS];
  ufp4_swiglu_forward(ROWS, COLS, u, y);
  return fixture_dot(y, context, ROWS * COLS);
}

TEST(swiglu) {
  check_random_t random = check_random();
  float u[2 * ROWS * COLS], cotangent[ROWS * COLS], du[2 * ROWS * COLS];
  fixture_normal(&random, 2, u, 2 * ROWS * COLS);
  fixture_normal(&random, 1, cotangent, ROWS * COLS);
  ufp4_swiglu_backward(ROWS, COLS, u, cotangent, du);
  fixture_check_gradient(&random, "u", swiglu_of_u, cotangent, u, du, 2 * ROWS * COLS, 0.1, 1e-3);
}

// --- RoPE ---------------------------------------------------------------------------------------

enum { CONTEXT = 40, HEADS = 2, HEAD = 8, LD = 3 * HEADS * HEAD };

TEST(rope_turns_back) {
  check_random_t random = check_random();
  float table[CONTEXT * HEAD], x[CONTEXT * LD], turned[CONTEXT * LD];
  ufp4_rope_table(CONTEXT, HEAD, table);
  fixture_normal(&random, 1, x, CONTEXT * LD);
  memcpy(turned, x, sizeof x);
  ufp4_rope_apply(CONTEXT, 2 * HEADS, HEAD, table, 0, turned, LD);
  check_that(0, fabsf(turned[LD + 1] - x[LD + 1]) > 1e-3f, "position 1 is rotated");
  check_that(1, !memcmp(turned, x, HEAD * sizeof *x), "position 0 is not");
  ufp4_rope_apply(CONTEXT, 2 * HEADS, HEAD, table, 1, turned, LD);
  for (int i = 0; i < CONTEXT * LD; i++)
    check_that(i, fabsf(turned[i] - x[i]) < 1e-5f, "got %g, want %g", (double)turned[i],
               (double)x[i]);
}

TEST(rope_sees_only_distance) {
  check_random_t random = check_random();
  float table[CONTEXT * HEAD], q[HEAD], k[HEAD], rows[CONTEXT * 2 * HEAD];
  ufp4_rope_table(CONTEXT, HEAD, table);
  fixture_normal(&random, 1, q, HEAD);
  fixture_normal(&random, 1, k, HEAD);
  for (int t = 0; t < CONTEXT; t++) {
    memcpy(rows + t * 2 * HEAD, q, sizeof q);
    memcpy(rows + t * 2 * HEAD + HEAD, k, sizeof k);
  }
  ufp4_rope_apply(CONTEXT, 2, HEAD, table, 0, rows, 2 * HEAD);
  double want = fixture_dot(rows + 5 * 2 * HEAD, rows + HEAD, HEAD);  // q at position 5, k at 0
  for (int t = 1; t + 5 < CONTEXT; t++) {
    double got = fixture_dot(rows + (t + 5) * 2 * HEAD, rows + t * 2 * HEAD + HEAD, HEAD);
    check_that(t, fabs(got - want) < 1e-5, "got %g, want %g", got, want);
  }
}

// --- Attention ----------------------------------------------------------------------------------

enum { D = HEADS * HEAD };
static const ufp4_attention_shape_t attention_shape = {CONTEXT, HEADS, HEAD};

static double attention_of_qkv(void *context, const float *qkv) {
  static float probabilities[HEADS * CONTEXT * CONTEXT], out[CONTEXT * D];
  ufp4_attention_forward(&attention_shape, qkv, probabilities, out);
  return fixture_dot(out, context, CONTEXT * D);
}

TEST(attention) {
  check_random_t random = check_random();
  static float qkv[CONTEXT * LD], cotangent[CONTEXT * D], dqkv[CONTEXT * LD], out[CONTEXT * D];
  static float probabilities[HEADS * CONTEXT * CONTEXT], scratch[CONTEXT * CONTEXT];
  fixture_normal(&random, 1, qkv, CONTEXT * LD);
  fixture_normal(&random, 1, cotangent, CONTEXT * D);
  ufp4_attention_forward(&attention_shape, qkv, probabilities, out);
  ufp4_attention_backward(&attention_shape, qkv, probabilities, cotangent, dqkv, scratch);
  fixture_check_gradient(&random, "qkv", attention_of_qkv, cotangent, qkv, dqkv, CONTEXT * LD, 0.1,
                         2e-3);
}

TEST(attention_sees_no_future) {
  check_random_t random = check_random();
  static float qkv[CONTEXT * LD], probabilities[HEADS * CONTEXT * CONTEXT], before[CONTEXT * D],
      after[CONTEXT * D];
  const size_t changed = 33;  // within the second strip
  fixture_normal(&random, 1, qkv, CONTEXT * LD);
  ufp4_attention_forward(&attention_shape, qkv, probabilities, before);
  for (size_t i = 0; i < LD; i++) qkv[changed * LD + i] += 1;
  ufp4_attention_forward(&attention_shape, qkv, probabilities, after);
  check_that(0, !memcmp(before, after, sizeof *before * changed * D), "rows before the change");
  check_that(1, memcmp(before + changed * D, after + changed * D, sizeof *before * D) != 0,
             "the changed row");
}

// --- Loss ---------------------------------------------------------------------------------------

enum { WORDS = 37 };
static const uint8_t targets[ROWS] = {0, 36, 5, 5, 17};

static double loss_of_logits(void *context, const float *logits) {
  (void)context;
  float copy[ROWS * WORDS];
  double each[ROWS];
  memcpy(copy, logits, sizeof copy);
  return ufp4_loss(ROWS, WORDS, targets, copy, each) / ROWS;
}

TEST(loss) {
  check_random_t random = check_random();
  float logits[ROWS * WORDS], gradient[ROWS * WORDS];
  double each[ROWS];
  fixture_normal(&random, 2, logits, ROWS * WORDS);
  memcpy(gradient, logits, sizeof logits);
  ufp4_loss(ROWS, WORDS, targets, gradient, each);
  fixture_check_gradient(&random, "logits", loss_of_logits, NULL, logits, gradient, ROWS * WORDS,
                         0.2, 1e-3);
}

TEST(loss_of_equal_logits) {
  float logits[ROWS * WORDS];
  double each[ROWS];
  for (int i = 0; i < ROWS * WORDS; i++) logits[i] = 1000;
  double loss = ufp4_loss(ROWS, WORDS, targets, logits, each) / ROWS;
  check_that(0, fabs(loss - log(WORDS)) < 1e-6, "got %g, want %g", loss, log(WORDS));
}

// --- The whole model ----------------------------------------------------------------------------

typedef struct {
  ufp4_transformer_t model;
  ufp4_weights_t weights;
  uint8_t inputs[32], targets[32];
  float *part;  // the weights that the function takes as its argument
  int64_t count;
} whole_t;

static double whole_loss(void *context, const float *x) {
  whole_t *w = context;
  float *saved = malloc((size_t)w->count * sizeof *saved);
  double loss = NAN;
  memcpy(saved, w->part, (size_t)w->count * sizeof *saved);
  memcpy(w->part, x, (size_t)w->count * sizeof *saved);
  check_bits(0, ufp4_transformer_forward(&w->model, &w->weights, w->inputs, w->targets, 0, &loss),
             UFP4_OK, "forward");
  memcpy(w->part, saved, (size_t)w->count * sizeof *saved);
  free(saved);
  return loss;
}

static void check_part(check_random_t *random, whole_t *w, const char *what, float *part,
                       const float *gradient, int64_t count) {
  float *start = malloc((size_t)count * sizeof *start);
  w->part = part;
  w->count = count;
  memcpy(start, part, (size_t)count * sizeof *start);
  fixture_check_gradient(random, what, whole_loss, w, start, gradient, count, 0.1, 0.02);
  free(start);
}

static void check_model(check_random_t *random, whole_t *w, ufp4_weights_t *gradient) {
  const ufp4_transformer_shape_t *s = &w->model.shape;
  double loss;
  check_bits(0, ufp4_transformer_forward(&w->model, &w->weights, w->inputs, w->targets, 0, &loss),
             UFP4_OK, "forward");
  check_bits(0, ufp4_transformer_backward(&w->model, &w->weights, w->inputs, 0, gradient), UFP4_OK,
             "backward");
  check_part(random, w, "embedding", w->weights.embedding, gradient->embedding,
             UFP4_VOCABULARY * s->d_model);
  check_part(random, w, "head", w->weights.head, gradient->head, UFP4_VOCABULARY * s->d_model);
  check_part(random, w, "final norm", w->weights.final_norm, gradient->final_norm, s->d_model);
  for (int64_t b = 0; b < s->blocks; b++) {
    for (unsigned m = 0; m < UFP4_MATRIX_COUNT; m++) {
      check_part(random, w, ufp4_matrix_name(m), w->weights.block[b].matrix[m],
                 gradient->block[b].matrix[m],
                 ufp4_matrix_outputs(s, m) * ufp4_matrix_inputs(s, m));
    }
    for (int i = 0; i < 2; i++) {
      check_part(random, w, "norm", w->weights.block[b].norm[i], gradient->block[b].norm[i],
                 s->d_model);
    }
  }
}

TEST(whole_model) {
  check_random_t random = check_random();
  ufp4_transformer_shape_t shape = fixture_shape();
  ufp4_pool_t pool = {0};
  whole_t w;
  ufp4_weights_t gradient;
  check_bits(0, ufp4_transformer_create(&shape, 2, 1, NULL, NULL, 0, &w.model), UFP4_OK, "create");
  ufp4_weights_alloc(&shape, &pool, &w.weights);
  ufp4_weights_alloc(&shape, &pool, &gradient);
  ufp4_weights_random(&shape, 1, &w.weights);
  for (int64_t i = 0; i < w.weights.matrices; i++)
    w.weights.all[i] *= 8;  // far from the flat start
  for (int i = 0; i < 32; i++) {
    w.inputs[i] = (uint8_t)check_below(&random, 256);
    w.targets[i] = (uint8_t)check_below(&random, 256);
  }
  check_model(&random, &w, &gradient);
  ufp4_transformer_free(&w.model);
  ufp4_pool_free(&pool);
}

// --- Another product --------------------------------------------------------------------------

// Sums in increasing k, as the layers' own product does, and counts its calls.
static void slow_product(void *context, int64_t m, int64_t n, int64_t k, const float *a,
                         int a_turned, const float *b, int b_turned, float *d) {
  ++*(int *)context;
  for (int64_t i = 0; i < m * n; i++) {
    const int64_t row = i / n, col = i % n;
    volatile float sum = 0;
    for (int64_t p = 0; p < k; p++) {
      volatile float product = (a_turned ? a[p * m + row] : a[row * k + p]) *
                               (b_turned ? b[col * k + p] : b[p * n + col]);
      sum = sum + product;
    }
    d[i] = sum;
  }
}

TEST(layers_multiply_by_the_product_they_are_given) {
  ufp4_trainer_options_t options = fixture_options(1);
  ufp4_text_t text = fixture_text(40000);
  ufp4_trainer_t *trainer[2] = {NULL, NULL};
  int calls = 0;
  for (int i = 0; i < 2; i++) {
    double loss;
    check_bits(i, ufp4_trainer_create(&options, &text, NULL, NULL, &trainer[i]), UFP4_OK, "create");
    if (i == 1) ufp4_trainer_set_product(trainer[i], (ufp4_product_t){slow_product, &calls});
    check_bits(i, ufp4_trainer_step(trainer[i], &loss), UFP4_OK, "step");
  }
  check_bits(0, (uint64_t)calls, 2 * 4 * 3, "calls: blocks, matrices, passes");
  const ufp4_weights_t *want = ufp4_trainer_weights(trainer[0]),
                       *got = ufp4_trainer_weights(trainer[1]);
  for (int64_t i = 0; i < want->count; i++)
    check_bits(i, ufp4_f32_bits(got->all[i]), ufp4_f32_bits(want->all[i]), "weight");
  for (int i = 0; i < 2; i++) ufp4_trainer_free(trainer[i]);
  ufp4_text_free(&text);
}
