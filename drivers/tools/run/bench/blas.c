// SPDX-License-Identifier: Apache-2.0
#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// The values of cblas.h, which need not be installed with the library.
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

int blas_open(blas_t *blas, int threads) {
  // Idle OpenBLAS threads spin for a long time and would disturb the next measurement.
  (void)setenv("OPENBLAS_THREAD_TIMEOUT", "4", 1);
  *blas = (blas_t){.library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)};
  if (blas->library == NULL) return 0;
  // POSIX, not C, lets a data pointer become a function pointer.
  char *(*core_name)(void);
  void (*set_threads)(int);
  *(void **)&core_name = dlsym(blas->library, "openblas_get_corename");
  *(void **)&set_threads = dlsym(blas->library, "openblas_set_num_threads");
  *(void **)&blas->sgemm = dlsym(blas->library, "cblas_sgemm");
  if (core_name == NULL || set_threads == NULL || blas->sgemm == NULL) {
    blas_close(blas);
    return 0;
  }
  set_threads(threads);
  snprintf(blas->core, sizeof blas->core, "%s", core_name());
  return 1;
}

void blas_close(blas_t *blas) {
  if (blas->library != NULL) dlclose(blas->library);
  blas->library = NULL;
}

void blas_multiply(const blas_t *blas, int n, const float *a, const float *b, float *c) {
  blas->sgemm(ROW_MAJOR, NO_TRANS, TRANS, n, n, n, 1, a, n, b, n, 0, c, n);
}

void blas_product(void *blas, int64_t m, int64_t n, int64_t k, const float *a, int a_turned,
                  const float *b, int b_turned, float *c) {
  ((const blas_t *)blas)
      ->sgemm(ROW_MAJOR, a_turned ? TRANS : NO_TRANS, b_turned ? TRANS : NO_TRANS, (int)m, (int)n,
              (int)k, 1, a, (int)(a_turned ? m : k), b, (int)(b_turned ? k : n), 0, c, (int)n);
}
