// SPDX-License-Identifier: Apache-2.0
// Tests the FP32 matrix product, whose order of summation is guaranteed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layer/sgemm.h"
#include "stand.h"

// Computes the definition: one accumulator, k ascending. volatile forbids a fused operation
// whatever the compiler's flags.
static float plain(int64_t k, ufp4_sgemm_view_t a, ufp4_sgemm_view_t b, int64_t i, int64_t j,
                   float start) {
  volatile float sum = start;
  for (int64_t p = 0; p < k; p++) {
    volatile float product = a.data[i * a.row + p * a.col] * b.data[p * b.row + j * b.col];
    sum = sum + product;
  }
  return sum;
}

typedef struct {
  int64_t m, n, k;
  int a_turned, b_turned, accumulate;
} case_t;

static void check_product(const case_t *c, const float *da, const float *db, const float *before) {
  const int64_t ld = c->n + 3;
  const ufp4_sgemm_view_t a = {da, c->a_turned ? 1 : c->k, c->a_turned ? c->m : 1},
                          b = {db, c->b_turned ? 1 : c->n, c->b_turned ? c->k : 1};
  float *d = malloc((size_t)(c->m * ld) * sizeof *d);
  memcpy(d, before, (size_t)(c->m * ld) * sizeof *d);
  ufp4_sgemm(c->m, c->n, c->k, a, b, d, ld, c->accumulate);
  for (int64_t i = 0; i < c->m * ld; i++) {
    float want = before[i];  // the numbers after a row stay unwritten
    if (i % ld < c->n) want = plain(c->k, a, b, i / ld, i % ld, c->accumulate ? want : 0);
    check_bits(i, ufp4_f32_bits(d[i]), ufp4_f32_bits(want),
               "%lld x %lld x %lld, turned %d %d, accumulate %d", (long long)c->m, (long long)c->n,
               (long long)c->k, c->a_turned, c->b_turned, c->accumulate);
  }
  free(d);
}

static void check_shapes(float *(*make)(check_random_t *random, int64_t count)) {
  static const int64_t shapes[][3] = {{1, 1, 1},    {6, 16, 256},  {7, 17, 257}, {5, 15, 3},
                                      {64, 48, 32}, {13, 33, 600}, {97, 16, 30}};
  check_random_t random = check_random();
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
    float *a = make(&random, m * k), *b = make(&random, n * k), *d = make(&random, m * (n + 3));
    for (int mode = 0; mode < 8; mode++) {
      const case_t c = {m, n, k, mode & 1, mode >> 1 & 1, mode >> 2};
      check_product(&c, a, b, d);
    }
    free(a);
    free(b);
    free(d);
  }
}

static float *normal(check_random_t *random, int64_t count) {
  return stand_tensor(random, count, 1.0f);
}

TEST(sums_in_increasing_k) {
  check_shapes(normal);
}

// Returns zeros of both signs, numbers whose products are subnormal, and some that overflow, but no
// NaN, because the payload of a NaN is not guaranteed.
static float *extreme(check_random_t *random, int64_t count) {
  static const float kinds[] = {0.0f,    -0.0f,    0x1p-149f, -0x1.8p-75f, 0x1.2p-70f,
                                0x1p63f, -0x1p63f, 1.0f,      0x1.fp-126f, -3.0f};
  float *out = stand_tensor(random, count, 1.0f);
  for (int64_t i = 0; i < count; i++)
    out[i] = kinds[(unsigned)(fabsf(out[i]) * 1000.0f) % (sizeof kinds / sizeof *kinds)];
  return out;
}

TEST(keeps_subnormal_sums_and_signs_of_zero) {
  check_shapes(extreme);
}
