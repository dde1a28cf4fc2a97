// SPDX-License-Identifier: Apache-2.0
// OpenBLAS, the yardstick of bench, is loaded at run time. OPENBLAS_CORETYPE in the environment
// selects its kernel; otherwise the library does, and an old version chooses badly on a new
// processor.
#ifndef UFP4_BLAS_H
#define UFP4_BLAS_H

#include <stdint.h>

typedef struct {
  void *library;
  char core[32];  ///< OpenBLAS's name of the kernel
  void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
} blas_t;

/** Loads OpenBLAS for that many threads. @return 0 if there is none. */
int blas_open(blas_t *blas, int threads);
void blas_close(blas_t *blas);

/** C [n][n] = A [n][n] B [n][n]^T. */
void blas_multiply(const blas_t *blas, int n, const float *a, const float *b, float *c);
/** C [m][n] = A [m][k] B [k][n], where either may be transposed in memory: a ufp4_product_fn_t
 * with a blas_t as context. */
void blas_product(void *blas, int64_t m, int64_t n, int64_t k, const float *a, int a_turned,
                  const float *b, int b_turned, float *c);

#endif
