/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the CUDA runtime that programs for the emulated GPU use: streams that can be
 * captured, and memory that is the host's. */
#ifndef UFP4_TESTS_CUDA_RUNTIME_API_H
#define UFP4_TESTS_CUDA_RUNTIME_API_H

#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef cudaStream_t cudaGraph_t, cudaGraphExec_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaStreamCaptureModeGlobal = 0 };

void emulated_capture(void *stream);
void emulated_replay(void *stream);

static inline cudaError_t cudaMalloc(void **out, size_t bytes) {
  *out = calloc(1, bytes);
  return *out == NULL;
}
static inline cudaError_t cudaMemcpy(void *target, const void *from, size_t bytes, int kind) {
  (void)kind;
  memcpy(target, from, bytes);
  return 0;
}
static inline cudaError_t cudaStreamCreate(cudaStream_t *out) {
  *out = malloc(1);
  return *out == NULL;
}
static inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
  (void)mode;
  emulated_capture(stream);
  return 0;
}
static inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
  *out = stream;
  return 0;
}
static inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                                        unsigned long long flags) {
  (void)flags;
  *out = graph;
  return 0;
}
static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t run, cudaStream_t stream) {
  (void)stream;
  emulated_replay(run);
  return 0;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  return 0;
}

#endif
