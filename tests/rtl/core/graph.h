// SPDX-License-Identifier: Apache-2.0
// Random jobs that overlap, each with its dependencies.
#ifndef UFP4_TEST_GRAPH_H
#define UFP4_TEST_GRAPH_H

#include "pair.h"

enum { MAX_GRAPH = 48 };

/** The resources that a job reads and writes, a bit for each. */
typedef struct {
  unsigned reads, writes;
} access_t;

typedef struct {
  ufp4_descriptor_t jobs[MAX_GRAPH];
  access_t access[MAX_GRAPH];
  int count;
} graph_t;

/** AMAX and QUANT of X or W, GEMMs, AMAX and QUANT of a GEMM's result into X's place, fences. */
void random_graph(pair_t *pair, graph_t *graph, uint32_t limit);
/** Submits all of it to both, waits, and compares completions and memory. */
void run_graph(pair_t *pair, const graph_t *graph);

#endif
