// SPDX-License-Identifier: Apache-2.0
// The cases of a record: the same inputs on every machine, and a hash of every bit that comes out.
#ifndef UFP4_TESTS_CUDA_CASES_H
#define UFP4_TESTS_CUDA_CASES_H

#include "cuda.h"

/** What computes: a GPU, or with state NULL the golden model. */
typedef struct {
  ufp4_backend_state_t *state;
  int threads;
} engine_t;

/** How many there are; those from cases_quick() on are larger. */
int cases_count(void);
int cases_quick(void);
/** Case @p n: a name of no more than 63 characters, and the hash. */
ufp4_status_t cases_run(int n, const engine_t *engine, char name[64], uint64_t *hash);

#endif
