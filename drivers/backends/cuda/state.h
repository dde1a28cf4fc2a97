// SPDX-License-Identifier: Apache-2.0
// State and functions that the files of the backend cuda share.
#ifndef UFP4_CUDA_STATE_H
#define UFP4_CUDA_STATE_H

#include "cuda.h"
#include "job/check.h"

/** Device memory that grows on demand. */
typedef struct {
  void *memory;
  size_t bytes;
} room_t;

struct ufp4_backend_state {
  ufp4_configuration_t configuration;
  ufp4_message_t *message;
  const ufp4_cuda_table_t *table;
  ufp4_cuda_t *cuda;
  uint8_t *memory;  // in device memory
  uint64_t memory_bytes;
  int32_t *exponents;    // in device memory, one per slot
  uint32_t *flags;       // in device memory, one per job
  float *tensor_scales;  // in device memory, one per job, and then 1
  room_t workspace, source, output;
  slots_t slots;                            // only which slots were written
  ufp4_completion_t done[UFP4_QUEUE_JOBS];  // completion of job i at i mod UFP4_QUEUE_JOBS, without
                                            // flags
  uint64_t submitted, taken;
};

typedef struct ufp4_backend_state state_t;

/** Grows @p room to at least @p bytes; its contents are lost. */
ufp4_status_t ufp4_cuda_room(state_t *state, size_t bytes, room_t *room);
/** Provides the workspace of a call on the default stream. */
ufp4_status_t ufp4_cuda_call(state_t *state, size_t workspace_bytes, ufp4_cuda_call_t *out);

// The backend's functions for whole operands.
ufp4_status_t ufp4_cuda_quantize_operand(state_t *state, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out);
ufp4_status_t ufp4_cuda_gemm_operands(state_t *state, const ufp4_operand_t *a,
                                      const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                      int64_t d_ld);
ufp4_status_t ufp4_cuda_keep(state_t *state, const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                             int copies, ufp4_kept_t **out[]);
ufp4_status_t ufp4_cuda_kept_gemm(state_t *state, const ufp4_kept_t *a, const ufp4_kept_t *b,
                                  const ufp4_gemm_t *how, void *d, int64_t d_ld);
ufp4_status_t ufp4_cuda_kept_read(state_t *state, const ufp4_kept_t *kept, ufp4_operand_t *out);
void ufp4_cuda_kept_free(state_t *state, ufp4_kept_t *kept);

#endif
