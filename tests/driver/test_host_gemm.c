// SPDX-License-Identifier: Apache-2.0
// The host's FP32 GEMM: the order of its sums is a promise.
#include <stdlib.h>

#include "bench.h"
#include "host_gemm.h"

static const int64_t shapes[][3] = {{1, 1, 1},      {6, 16, 512}, {7, 17, 513},
                                    {13, 33, 1100}, {64, 5, 3},   {5, 64, 1030}};

// The definition: in increasing k, one rounding for each product and each sum.
static float plain(const host_operand_t *a, const host_operand_t *b, int64_t i, int64_t j,
                   int64_t k) {
  volatile float sum = 0.0f;
  for (int64_t p = 0; p < k; p++) {
    volatile float product =
        a->data[i * a->row_step + p * a->k_step] * b->data[j * b->row_step + p * b->k_step];
    sum = sum + product;
  }
  return sum;
}

TEST(sums_in_increasing_k) {
  check_random_t random = check_random();
  for (int s = 0; s < 12; s++) {
    int64_t m = shapes[s / 2][0], n = shapes[s / 2][1], k = shapes[s / 2][2], ld = n + 3;
    float *da = bench_tensor(&random, m * k, 1.0f), *db = bench_tensor(&random, n * k, 1.0f);
    float *d = bench_tensor(&random, m * ld, 1.0f);
    host_operand_t a = {da, s % 2 ? 1 : k, s % 2 ? m : 1}, b = {db, s % 2 ? 1 : k, s % 2 ? n : 1};
    float guard = d[n];
    check_bits(s, host_gemm(&a, &b, m, n, k, d, ld), UFP4_OK, "status");
    for (int64_t i = 0; i < m * n; i++) {
      float want = plain(&a, &b, i / n, i % n, k);
      check_bits(i, ufp4_f32_bits(d[i / n * ld + i % n]), ufp4_f32_bits(want), "case %d", s);
    }
    check_bits(s, ufp4_f32_bits(d[n]), ufp4_f32_bits(guard), "behind the first row");
    free(da);
    free(db);
    free(d);
  }
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {CHECK_TEST(sums_in_increasing_k)};
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
