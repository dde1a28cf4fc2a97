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

int cases_count(void);
/** How many every record has. */
int cases_fewest(void);
/** Whether case @p n is one of the smaller ones. */
int cases_is_quick(int n);
/** Case @p n: a name of no more than 63 characters, and the hash. */
ufp4_status_t cases_run(int n, const engine_t *engine, char name[64], uint64_t *hash);

#endif
