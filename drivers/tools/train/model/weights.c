// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include <math.h>

#include "draw.h"

ufp4_transformer_shape_t ufp4_transformer_small(void) {
  return (ufp4_transformer_shape_t){
      .d_model = 64, .heads = 2, .blocks = 4, .ff = 192, .context = 128};
}

static int within(int64_t value, int64_t limit) {
  return value >= 1 && value <= limit;
}

int ufp4_transformer_legal(const ufp4_transformer_shape_t *s) {
  const int64_t widest = 16384;
  return within(s->d_model, widest) && within(s->heads, s->d_model) &&
         within(s->blocks, UFP4_MAX_BLOCKS) && within(s->ff, widest) &&
         within(s->context, widest) && s->d_model % (2 * s->heads) == 0;
}

int64_t ufp4_matrix_outputs(const ufp4_transformer_shape_t *shape, unsigned matrix) {
  if (matrix == UFP4_MATRIX_QKV) return 3 * shape->d_model;
  return matrix == UFP4_MATRIX_FC1 ? 2 * shape->ff : shape->d_model;
}

int64_t ufp4_matrix_inputs(const ufp4_transformer_shape_t *shape, unsigned matrix) {
  return matrix == UFP4_MATRIX_FC2 ? shape->ff : shape->d_model;
}

static int64_t matrix_size(const ufp4_transformer_shape_t *shape, unsigned matrix) {
  return ufp4_matrix_outputs(shape, matrix) * ufp4_matrix_inputs(shape, matrix);
}

static float *take(float **cursor, int64_t count) {
  float *taken = *cursor;
  *cursor += count;
  return taken;
}

static void place(const ufp4_transformer_shape_t *shape, ufp4_weights_t *w) {
  float *cursor = w->all;
  w->embedding = take(&cursor, UFP4_VOCABULARY * shape->d_model);
  w->head = take(&cursor, UFP4_VOCABULARY * shape->d_model);
  for (int64_t b = 0; b < shape->blocks; b++) {
    for (unsigned i = 0; i < UFP4_MATRIX_COUNT; i++)
      w->block[b].matrix[i] = take(&cursor, matrix_size(shape, i));
  }
  w->final_norm = take(&cursor, shape->d_model);
  for (int64_t b = 0; b < shape->blocks; b++) {
    for (int i = 0; i < 2; i++) w->block[b].norm[i] = take(&cursor, shape->d_model);
  }
}

void ufp4_weights_alloc(const ufp4_transformer_shape_t *shape, ufp4_pool_t *pool,
                        ufp4_weights_t *out) {
  int64_t of_block = 0;
  for (unsigned i = 0; i < UFP4_MATRIX_COUNT; i++) of_block += matrix_size(shape, i);
  *out =
      (ufp4_weights_t){.matrices = 2 * UFP4_VOCABULARY * shape->d_model + shape->blocks * of_block};
  out->count = out->matrices + (2 * shape->blocks + 1) * shape->d_model;
  out->all = ufp4_pool_floats(pool, out->count);
  out->block = ufp4_pool_alloc(pool, shape->blocks, (int64_t)sizeof *out->block);
  if (!pool->failed) place(shape, out);
}

void ufp4_weights_random(const ufp4_transformer_shape_t *shape, uint64_t seed, ufp4_weights_t *w) {
  const float deviation = 0.02f;
  ufp4_draw_t draw = ufp4_draw_start(seed, UFP4_DRAW_WEIGHTS);
  for (int64_t i = 0; i < w->matrices; i++) w->all[i] = deviation * ufp4_draw_normal(&draw);
  for (int64_t i = w->matrices; i < w->count; i++) w->all[i] = 1.0f;
  float residual = 1.0f / sqrtf(2.0f * (float)shape->blocks);
  for (int64_t b = 0; b < shape->blocks; b++) {
    for (unsigned m = UFP4_MATRIX_PROJ; m < UFP4_MATRIX_COUNT; m += 2) {
      for (int64_t i = 0; i < matrix_size(shape, m); i++) w->block[b].matrix[m][i] *= residual;
    }
  }
}

void ufp4_weights_perturb(ufp4_weights_t *w, uint64_t seed, float deviation) {
  ufp4_draw_t draw = ufp4_draw_start(seed, UFP4_DRAW_PERTURB);
  for (int64_t i = 0; i < w->matrices; i++) w->all[i] *= 1.0f + deviation * ufp4_draw_normal(&draw);
}
