// SPDX-License-Identifier: Apache-2.0
// The calls of ufp4_cuda.h on the emulated GPU, whose memory is the host's: operands as a caller's
// program would hold them, and the golden model's for comparison.
#ifndef UFP4_TESTS_CUDA_CALLS_H
#define UFP4_TESTS_CUDA_CALLS_H

#include "emulated_weather.h"
#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/recipe.h"
#include "ufp4_cuda.h"

// Hooks of the emulated GPU.
void emulated_set_weather(const emulated_weather_t *weather);
void emulated_counts_taken(emulated_counts_t *out);
void emulated_capture(void *stream);
void emulated_replay(void *stream);

/** An open GPU of compute capability @p capability, and the state that all calls of a test
 * share. */
typedef struct {
  ufp4_cuda_t *cuda;
  struct CUstream_st *stream;
  ufp4_message_t message;
  uint8_t *workspace;
  const ufp4_cuda_random_t *random;  ///< passed to each call, with signs
  ufp4_signs_t signs;
} engine_t;
engine_t engine_open(int capability, uintptr_t stream);
void engine_close(engine_t *engine);
/** Fails the property if since the last check a call has allocated, waited, copied, or used another
 * stream than the caller's. */
void engine_check_quiet(const char *what);

/** A quantized copy in device memory, and the options @p how that make it. */
typedef struct {
  ufp4_quantize_t how;
  ufp4_cuda_operand_t x;
  int32_t exponent;
  float tensor_scale;
} placed_t;
/** Creates a copy at @p out, which must not be moved. */
void placed_create(const ufp4_matrix_t *in, const ufp4_quantize_t *how, placed_t *out);
void placed_free(placed_t *placed);
/** Compares every code and scale, the exponent and the tensor scale. */
void placed_check(const placed_t *got, const ufp4_operand_t *want, const char *what);

/** These make the calls, with a workspace of exactly the size that the query returns, at an odd
 * address. */
ufp4_status_t engine_quantize(engine_t *engine, const ufp4_matrix_t *in, placed_t *copies,
                              int count, uint32_t *flags);
ufp4_status_t engine_amax(engine_t *engine, const ufp4_matrix_t *in, placed_t *copies, int count,
                          uint32_t *flags);
ufp4_status_t engine_gemm(engine_t *engine, const placed_t *a, const placed_t *b,
                          const ufp4_gemm_t *how, void *d, int64_t d_ld);

#endif
