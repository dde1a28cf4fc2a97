// SPDX-License-Identifier: Apache-2.0
#include "transformer.h"

#include <string.h>

#include "attention.h"
#include "layer/sgemm.h"
#include "loss.h"
#include "norm.h"
#include "rope.h"
#include "swiglu.h"

static ufp4_attention_shape_t attention_shape(const ufp4_transformer_t *m) {
  return (ufp4_attention_shape_t){m->shape.context, m->shape.heads,
                                  m->shape.d_model / m->shape.heads};
}

// --- Create -------------------------------------------------------------------------------------

static void alloc_block(ufp4_transformer_t *m, ufp4_activations_t *a) {
  ufp4_pool_t *pool = &m->pool;
  int64_t d = m->shape.d_model, n = m->tokens;
  a->in = ufp4_pool_floats(pool, n * d);
  a->norm1 = ufp4_pool_floats(pool, n * d);
  a->qkv = ufp4_pool_floats(pool, n * 3 * d);
  a->probabilities = ufp4_pool_floats(pool, n * m->shape.heads * m->shape.context);
  a->attended = ufp4_pool_floats(pool, n * d);
  a->middle = ufp4_pool_floats(pool, n * d);
  a->norm2 = ufp4_pool_floats(pool, n * d);
  a->gated = ufp4_pool_floats(pool, n * 2 * m->shape.ff);
  a->hidden = ufp4_pool_floats(pool, n * m->shape.ff);
  for (int i = 0; i < 2; i++) a->inverse[i] = ufp4_pool_floats(pool, n);
}

static void alloc_all(ufp4_transformer_t *m) {
  ufp4_pool_t *pool = &m->pool;
  const ufp4_transformer_shape_t *s = &m->shape;
  int64_t d = s->d_model, n = m->tokens, wide = 2 * s->ff > 3 * d ? 2 * s->ff : 3 * d;
  m->layer = ufp4_pool_alloc(pool, s->blocks * UFP4_MATRIX_COUNT, (int64_t)sizeof *m->layer);
  m->block = ufp4_pool_alloc(pool, s->blocks, (int64_t)sizeof *m->block);
  m->rope = ufp4_pool_floats(pool, s->context * d / s->heads);
  m->last = ufp4_pool_floats(pool, n * d);
  m->final = ufp4_pool_floats(pool, n * d);
  m->inverse = ufp4_pool_floats(pool, n);
  m->logits = ufp4_pool_floats(pool, n * UFP4_VOCABULARY);
  m->losses = ufp4_pool_alloc(pool, n, (int64_t)sizeof *m->losses);
  m->stream = ufp4_pool_floats(pool, n * d);
  for (int i = 0; i < 2; i++) m->wide[i] = ufp4_pool_floats(pool, n * wide);
  m->square = ufp4_pool_floats(pool, s->context * s->context);
  for (int64_t b = 0; m->block && b < s->blocks; b++) alloc_block(m, &m->block[b]);
}

static ufp4_status_t create_layers(ufp4_transformer_t *m, ufp4_device_t *device,
                                   const ufp4_recipe_t *recipe, uint64_t seed) {
  for (unsigned i = 0; i < (unsigned)m->shape.blocks * UFP4_MATRIX_COUNT; i++) {
    unsigned matrix = i % UFP4_MATRIX_COUNT;
    ufp4_linear_shape_t shape = {.tokens = m->tokens,
                                 .cin = ufp4_matrix_inputs(&m->shape, matrix),
                                 .cout = ufp4_matrix_outputs(&m->shape, matrix),
                                 .layer = i,
                                 .seed = seed,
                                 .passes = m->training ? UFP4_PASSES_ALL : 1u << UFP4_PASS_FPROP};
    ufp4_recipe_t of_layer;
    if (recipe) of_layer = ufp4_recipe_of_layer(recipe, i, (unsigned)m->shape.blocks);
    ufp4_status_t status =
        ufp4_layer_create(device, recipe ? &of_layer : NULL, &shape, &m->layer[i]);
    if (status) return status;
  }
  return UFP4_OK;
}

ufp4_status_t ufp4_transformer_create(const ufp4_transformer_shape_t *shape, int64_t batch,
                                      int training, ufp4_device_t *device,
                                      const ufp4_recipe_t *recipe, uint64_t seed,
                                      ufp4_transformer_t *out) {
  *out = (ufp4_transformer_t){.shape = *shape, .batch = batch, .training = training};
  if (!ufp4_transformer_legal(shape) || batch < 1 || batch > UFP4_MAX_DIM / shape->context)
    return UFP4_ERROR_ARGUMENT;
  out->tokens = batch * shape->context;
  alloc_all(out);
  ufp4_status_t status =
      out->pool.failed ? UFP4_ERROR_MEMORY : create_layers(out, device, recipe, seed);
  if (status) {
    ufp4_transformer_free(out);
    return status;
  }
  ufp4_rope_table(shape->context, shape->d_model / shape->heads, out->rope);
  return UFP4_OK;
}

void ufp4_transformer_free(ufp4_transformer_t *m) {
  for (int64_t i = 0; m->layer && i < m->shape.blocks * UFP4_MATRIX_COUNT; i++)
    ufp4_layer_free(&m->layer[i]);
  ufp4_pool_free(&m->pool);
  *m = (ufp4_transformer_t){0};
}

// --- Forward ------------------------------------------------------------------------------------

static void add(int64_t count, const float *x, const float *y, float *restrict sum) {
  for (int64_t i = 0; i < count; i++) sum[i] = x[i] + y[i];
}

static void embed(const ufp4_transformer_t *m, const ufp4_weights_t *w, const uint8_t *inputs,
                  float *out) {
  int64_t d = m->shape.d_model;
  for (int64_t t = 0; t < m->tokens; t++)
    memcpy(out + t * d, w->embedding + inputs[t] * d, (size_t)d * sizeof *out);
}

static void attend(const ufp4_transformer_t *m, ufp4_activations_t *a) {
  ufp4_attention_shape_t shape = attention_shape(m);
  int64_t n = shape.context, d = m->shape.d_model;
  for (int64_t s = 0; s < m->batch; s++) {
    float *qkv = a->qkv + s * n * 3 * d;
    ufp4_rope_apply(n, 2 * shape.heads, shape.head, m->rope, 0, qkv,
                    3 * d);  // Q and K are adjacent
    ufp4_attention_forward(&shape, qkv, a->probabilities + s * shape.heads * n * n,
                           a->attended + s * n * d);
  }
}

static ufp4_status_t attention_forward(ufp4_transformer_t *m, const ufp4_block_weights_t *w,
                                       ufp4_activations_t *a, ufp4_layer_t *layer, uint64_t step) {
  int64_t d = m->shape.d_model;
  ufp4_norm_forward(m->tokens, d, a->in, w->norm[0], a->norm1, a->inverse[0]);
  ufp4_status_t status = ufp4_layer_forward(&layer[UFP4_MATRIX_QKV], a->norm1,
                                            w->matrix[UFP4_MATRIX_QKV], step, a->qkv, &m->hook);
  if (status) return status;
  attend(m, a);
  status = ufp4_layer_forward(&layer[UFP4_MATRIX_PROJ], a->attended, w->matrix[UFP4_MATRIX_PROJ],
                              step, m->wide[0], &m->hook);
  add(m->tokens * d, a->in, m->wide[0], a->middle);
  return status;
}

static ufp4_status_t feed_forward(ufp4_transformer_t *m, const ufp4_block_weights_t *w,
                                  ufp4_activations_t *a, ufp4_layer_t *layer, uint64_t step,
                                  float *out) {
  int64_t d = m->shape.d_model;
  ufp4_norm_forward(m->tokens, d, a->middle, w->norm[1], a->norm2, a->inverse[1]);
  ufp4_status_t status = ufp4_layer_forward(&layer[UFP4_MATRIX_FC1], a->norm2,
                                            w->matrix[UFP4_MATRIX_FC1], step, a->gated, &m->hook);
  if (status) return status;
  ufp4_swiglu_forward(m->tokens, m->shape.ff, a->gated, a->hidden);
  status = ufp4_layer_forward(&layer[UFP4_MATRIX_FC2], a->hidden, w->matrix[UFP4_MATRIX_FC2], step,
                              m->wide[0], &m->hook);
  add(m->tokens * d, a->middle, m->wide[0], out);
  return status;
}

static void head_forward(ufp4_transformer_t *m, const ufp4_weights_t *w) {
  int64_t d = m->shape.d_model;
  ufp4_norm_forward(m->tokens, d, m->last, w->final_norm, m->final, m->inverse);
  ufp4_sgemm(m->tokens, UFP4_VOCABULARY, d, (ufp4_sgemm_view_t){m->final, d, 1},
             (ufp4_sgemm_view_t){w->head, 1, d}, m->logits, UFP4_VOCABULARY, 0);
}

ufp4_status_t ufp4_transformer_forward(ufp4_transformer_t *m, const ufp4_weights_t *weights,
                                       const uint8_t *inputs, const uint8_t *targets, uint64_t step,
                                       double *loss) {
  embed(m, weights, inputs, m->block[0].in);
  for (int64_t b = 0; b < m->shape.blocks; b++) {
    ufp4_layer_t *layer = m->layer + b * UFP4_MATRIX_COUNT;
    float *out = b + 1 < m->shape.blocks ? m->block[b + 1].in : m->last;
    ufp4_status_t status = attention_forward(m, &weights->block[b], &m->block[b], layer, step);
    if (!status) status = feed_forward(m, &weights->block[b], &m->block[b], layer, step, out);
    if (status) return status;
  }
  head_forward(m, weights);
  *loss = ufp4_loss(m->tokens, UFP4_VOCABULARY, targets, m->logits, m->losses) / (double)m->tokens;
  return UFP4_OK;
}

// --- Backward -----------------------------------------------------------------------------------

static void head_backward(ufp4_transformer_t *m, const ufp4_weights_t *w,
                          ufp4_weights_t *gradient) {
  int64_t d = m->shape.d_model, n = m->tokens, v = UFP4_VOCABULARY;
  float *dfinal = m->wide[0];
  ufp4_sgemm(v, d, n, (ufp4_sgemm_view_t){m->logits, 1, v}, (ufp4_sgemm_view_t){m->final, d, 1},
             gradient->head, d, 0);
  ufp4_sgemm(n, d, v, (ufp4_sgemm_view_t){m->logits, v, 1}, (ufp4_sgemm_view_t){w->head, d, 1},
             dfinal, d, 0);
  memset(m->stream, 0, (size_t)(n * d) * sizeof *m->stream);
  ufp4_norm_backward(n, d, m->last, w->final_norm, m->inverse, dfinal, m->stream,
                     gradient->final_norm);
}

static ufp4_status_t feed_backward(ufp4_transformer_t *m, const ufp4_block_weights_t *w,
                                   const ufp4_activations_t *a, ufp4_layer_t *layer, uint64_t step,
                                   ufp4_block_weights_t *g) {
  float *dhidden = m->wide[0], *dgated = m->wide[1], *dnorm = m->wide[0];
  ufp4_status_t status = ufp4_layer_backward(&layer[UFP4_MATRIX_FC2], m->stream, step, dhidden,
                                             g->matrix[UFP4_MATRIX_FC2], &m->hook);
  if (status) return status;
  ufp4_swiglu_backward(m->tokens, m->shape.ff, a->gated, dhidden, dgated);
  status = ufp4_layer_backward(&layer[UFP4_MATRIX_FC1], dgated, step, dnorm,
                               g->matrix[UFP4_MATRIX_FC1], &m->hook);
  ufp4_norm_backward(m->tokens, m->shape.d_model, a->middle, w->norm[1], a->inverse[1], dnorm,
                     m->stream, g->norm[1]);
  return status;
}

static void attend_backward(ufp4_transformer_t *m, const ufp4_activations_t *a,
                            const float *dattended, float *dqkv) {
  ufp4_attention_shape_t shape = attention_shape(m);
  int64_t n = shape.context, d = m->shape.d_model;
  for (int64_t s = 0; s < m->batch; s++) {
    const float *probabilities = a->probabilities + s * shape.heads * n * n;
    float *d_sequence = dqkv + s * n * 3 * d;
    ufp4_attention_backward(&shape, a->qkv + s * n * 3 * d, probabilities, dattended + s * n * d,
                            d_sequence, m->square);
    ufp4_rope_apply(n, 2 * shape.heads, shape.head, m->rope, 1, d_sequence, 3 * d);
  }
}

static ufp4_status_t attention_backward(ufp4_transformer_t *m, const ufp4_block_weights_t *w,
                                        const ufp4_activations_t *a, ufp4_layer_t *layer,
                                        uint64_t step, ufp4_block_weights_t *g) {
  float *dattended = m->wide[0], *dqkv = m->wide[1], *dnorm = m->wide[0];
  ufp4_status_t status = ufp4_layer_backward(&layer[UFP4_MATRIX_PROJ], m->stream, step, dattended,
                                             g->matrix[UFP4_MATRIX_PROJ], &m->hook);
  if (status) return status;
  attend_backward(m, a, dattended, dqkv);
  status = ufp4_layer_backward(&layer[UFP4_MATRIX_QKV], dqkv, step, dnorm,
                               g->matrix[UFP4_MATRIX_QKV], &m->hook);
  ufp4_norm_backward(m->tokens, m->shape.d_model, a->in, w->norm[0], a->inverse[0], dnorm,
                     m->stream, g->norm[0]);
  return status;
}

static void embed_backward(const ufp4_transformer_t *m, const uint8_t *inputs,
                           ufp4_weights_t *gradient) {
  int64_t d = m->shape.d_model;
  for (int64_t t = 0; t < m->tokens; t++) {
    float *restrict row = gradient->embedding + inputs[t] * d;
    for (int64_t i = 0; i < d; i++) row[i] += m->stream[t * d + i];
  }
}

ufp4_status_t ufp4_transformer_backward(ufp4_transformer_t *m, const ufp4_weights_t *weights,
                                        const uint8_t *inputs, uint64_t step,
                                        ufp4_weights_t *gradient) {
  if (!m->training) return UFP4_ERROR_ARGUMENT;
  memset(gradient->all, 0, (size_t)gradient->count * sizeof *gradient->all);
  head_backward(m, weights, gradient);
  for (int64_t b = m->shape.blocks - 1; b >= 0; b--) {
    ufp4_layer_t *layer = m->layer + b * UFP4_MATRIX_COUNT;
    ufp4_status_t status =
        feed_backward(m, &weights->block[b], &m->block[b], layer, step, &gradient->block[b]);
    if (!status)
      status =
          attention_backward(m, &weights->block[b], &m->block[b], layer, step, &gradient->block[b]);
    if (status) return status;
  }
  embed_backward(m, inputs, gradient);
  return UFP4_OK;
}
