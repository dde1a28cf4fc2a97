// SPDX-License-Identifier: Apache-2.0
// OpenBLAS as the yardstick of bench: loaded while the program runs, with its fastest kernel for this machine.
#ifndef UFP4_BLAS_H
#define UFP4_BLAS_H

typedef struct {
  void *library;
  char core[32];  ///< the kernel, as OpenBLAS names it
  void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                const float *b, int ldb, float beta, float *c, int ldc);
} blas_t;

/** Times each kernel OpenBLAS has for this kind of processor in a process of its own (the choice is made when the
 * library is loaded, and old versions do not know new processors), then loads it with the fastest. @return 0 if there
 * is no OpenBLAS. */
int blas_open(blas_t *blas, int threads);
/** Loads it once more, apart from any other, with the kernel that OpenBLAS calls @p core. @return 0 if it has none or
 * this system cannot. */
int blas_open_core(blas_t *blas, const char *core, int threads);
void blas_close(blas_t *blas);

/** C [n][n] = A [n][n] B [n][n]^T. */
void blas_multiply(const blas_t *blas, int n, const float *a, const float *b, float *c);

#endif
