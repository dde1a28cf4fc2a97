// SPDX-License-Identifier: Apache-2.0
#include "attention.h"

#include <math.h>

#include "base/hot.h"
#include "base/integer.h"
#include "elementary.h"
#include "layer/sgemm.h"

// Rows are computed in strips; columns beyond the diagonal of a strip's last row are skipped.
#define STRIP 32

// Replaces row t of a strip of scores by its softmax over columns 0..t, and zero beyond.
UFP4_HOT static void softmax_row(float *row, int64_t visible, int64_t context, float scale) {
  float largest = row[0];
  for (int64_t i = 1; i < visible; i++) largest = row[i] > largest ? row[i] : largest;
  for (int64_t i = 0; i < visible; i++) row[i] = ufp4_exp((row[i] - largest) * scale);
  float inverse = 1.0f / ufp4_sum(row, visible);
  for (int64_t i = 0; i < visible; i++) row[i] *= inverse;
  memset(row + visible, 0, (size_t)(context - visible) * sizeof *row);
}

static void head_forward(const ufp4_attention_shape_t *s, const float *q, float *p, float *out) {
  int64_t d = s->heads * s->head, ld = 3 * d, n = s->context;
  float scale = 1.0f / sqrtf((float)s->head);
  for (int64_t t = 0; t < n; t += STRIP) {
    int64_t rows = min_i64(STRIP, n - t), seen = t + rows;
    ufp4_sgemm_view_t query = {q + t * ld, ld, 1}, keys = {q + d, 1, ld},
                      values = {q + 2 * d, ld, 1};
    ufp4_sgemm(rows, seen, s->head, query, keys, p + t * n, n, 0);
    for (int64_t i = t; i < seen; i++) softmax_row(p + i * n, i + 1, n, scale);
    ufp4_sgemm(rows, s->head, seen, (ufp4_sgemm_view_t){p + t * n, n, 1}, values, out + t * d, d,
               0);
  }
}

void ufp4_attention_forward(const ufp4_attention_shape_t *shape, const float *qkv,
                            float *probabilities, float *out) {
  int64_t square = shape->context * shape->context;
  for (int64_t h = 0; h < shape->heads; h++) {
    head_forward(shape, qkv + h * shape->head, probabilities + h * square, out + h * shape->head);
  }
}

// Replaces dP by dS in place: dS = scale * P (dP - sum_j P dP); both are zero beyond the diagonal.
UFP4_HOT static void softmax_backward_row(const float *p, float *dp, int64_t visible,
                                          int64_t context, float scale) {
  float mean = ufp4_dot(p, dp, visible);
  for (int64_t i = 0; i < visible; i++) dp[i] = scale * p[i] * (dp[i] - mean);
  memset(dp + visible, 0, (size_t)(context - visible) * sizeof *dp);
}

static void head_backward(const ufp4_attention_shape_t *s, const float *q, const float *p,
                          const float *dout, float *dq, float *ds) {
  int64_t d = s->heads * s->head, ld = 3 * d, n = s->context;
  float scale = 1.0f / sqrtf((float)s->head);
  for (int64_t t = 0; t < n; t += STRIP) {
    int64_t rows = min_i64(STRIP, n - t), seen = t + rows;
    ufp4_sgemm_view_t values = {q + 2 * d, 1, ld}, keys = {q + d, ld, 1};
    ufp4_sgemm(rows, seen, s->head, (ufp4_sgemm_view_t){dout + t * d, d, 1}, values, ds + t * n, n,
               0);
    for (int64_t i = t; i < seen; i++) softmax_backward_row(p + i * n, ds + i * n, i + 1, n, scale);
    ufp4_sgemm(rows, s->head, seen, (ufp4_sgemm_view_t){ds + t * n, n, 1}, keys, dq + t * ld, ld,
               0);
  }
  for (int64_t t = 0; t < n; t += STRIP) {
    int64_t rows = min_i64(STRIP, n - t), below = n - t;
    const ufp4_sgemm_view_t query = {q + t * ld, ld, 1}, from = {dout + t * d, d, 1};
    ufp4_sgemm(rows, s->head, below, (ufp4_sgemm_view_t){ds + t * n + t, 1, n}, query,
               dq + d + t * ld, ld, 0);
    ufp4_sgemm(rows, s->head, below, (ufp4_sgemm_view_t){p + t * n + t, 1, n}, from,
               dq + 2 * d + t * ld, ld, 0);
  }
}

void ufp4_attention_backward(const ufp4_attention_shape_t *shape, const float *qkv,
                             const float *probabilities, const float *dout, float *dqkv,
                             float *scratch) {
  int64_t square = shape->context * shape->context;
  for (int64_t h = 0; h < shape->heads; h++) {
    int64_t at = h * shape->head;
    head_backward(shape, qkv + at, probabilities + h * square, dout + at, dqkv + at, scratch);
  }
}
