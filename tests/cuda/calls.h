// SPDX-License-Identifier: Apache-2.0
// The calls of ufp4_cuda.h on the emulated GPU, whose memory is the host's: operands as a program
// of its own would have them, and the golden model's beside them.
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

/** An open GPU of compute capability @p capability, and what all calls of a test share. */
typedef struct {
  ufp4_cuda_t *cuda;
  struct CUstream_st *stream;
  ufp4_message_t message;
  uint8_t *workspace;
  const ufp4_cuda_random_t *random;  ///< of each call, with its signs
  ufp4_signs_t signs;
} engine_t;
engine_t engine_open(int capability, uintptr_t stream);
void engine_close(engine_t *engine);
/** Fails the property if anything since the last time allocated, waited, copied, or went to another
 * stream than the caller's. */
void engine_check_quiet(const char *what);

/** A quantized copy in device memory, with what @p how makes of @p in. */
typedef struct {
  ufp4_quantize_t how;
  ufp4_cuda_operand_t x;
  int32_t exponent;
  float tensor_scale;
} placed_t;
/** At @p out, which must stay where it is. */
void placed_create(const ufp4_matrix_t *in, const ufp4_quantize_t *how, placed_t *out);
void placed_free(placed_t *placed);
/** Every code, every scale, exponent and tensor scale. */
void placed_check(const placed_t *got, const ufp4_operand_t *want, const char *what);

/** The calls, with a workspace of just the size that the query says, at an odd address. */
ufp4_status_t engine_quantize(engine_t *engine, const ufp4_matrix_t *in, placed_t *copies,
                              int count, uint32_t *flags);
ufp4_status_t engine_amax(engine_t *engine, const ufp4_matrix_t *in, placed_t *copies, int count,
                          uint32_t *flags);
ufp4_status_t engine_gemm(engine_t *engine, const placed_t *a, const placed_t *b,
                          const ufp4_gemm_t *how, void *d, int64_t d_ld);

#endif
