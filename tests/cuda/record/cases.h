// SPDX-License-Identifier: Apache-2.0
// The cases of a record: the same inputs on every machine, and a hash of every bit of the result.
#ifndef UFP4_TESTS_CUDA_CASES_H
#define UFP4_TESTS_CUDA_CASES_H

#include "cuda.h"

/** The engine that computes: a GPU or, if state is NULL, the golden model. */
typedef struct {
  ufp4_backend_state_t *state;
  int threads;
  int has_nv;  ///< fuzz: whether the GPU has contract nv; equal for both engines
} engine_t;

int cases_count(void);
/** Returns how many cases every record has. */
int cases_fewest(void);
/** Returns whether case @p n is one of the smaller ones. */
int cases_is_quick(int n);
/** Returns the name of the kernels that case @p n runs: "quantize", "scales" (NVFP4, E8M0 and the
 * transform in BF16), "quick"; "tile64", "tile128" (INT8 products and FP32 scales), "fp32",
 * "exact_near", "exact_far", "e8m0", "nvfp4"; "outputs", all kernels of GEMMs whose results are not
 * plain FP32; and CASES_NV. */
const char *cases_way(int n);
/** The kernels of contract nv, which not every GPU has. */
#define CASES_NV "nv"
/** Runs case @p n. Sets its name, of at most 63 characters, and the hash. */
ufp4_status_t cases_run(int n, const engine_t *engine, char name[64], uint64_t *hash);
/** Runs case @p n that @p seed draws: any combination of a quantizer or a GEMM that the backend
 * cuda has. */
ufp4_status_t fuzz_run(uint64_t seed, uint64_t n, const engine_t *engine, char name[64],
                       uint64_t *hash);

#endif
