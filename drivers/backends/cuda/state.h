// SPDX-License-Identifier: Apache-2.0
// What the files of the backend cuda share.
#ifndef UFP4_CUDA_STATE_H
#define UFP4_CUDA_STATE_H

#include "cuda.h"
#include "job/check.h"

struct ufp4_backend_state {
  ufp4_configuration_t configuration;
  ufp4_message_t *message;
  const ufp4_cuda_table_t *table;
  ufp4_cuda_t *cuda;
  uint8_t *memory;  // on the device
  uint64_t memory_bytes;
  int32_t *exponents;    // on the device: one a slot
  uint32_t *flags;       // on the device: one a job
  float *tensor_scales;  // on the device: one a job, and then 1
  void *workspace;       // on the device
  size_t workspace_bytes;
  slots_t slots;    // only which were written
  ufp4_completion_t done[UFP4_QUEUE_JOBS];  // of job i at i mod UFP4_QUEUE_JOBS, without its flags
  uint64_t submitted, taken;
};

typedef struct ufp4_backend_state state_t;

/** Workspace for a call; the default stream. */
ufp4_status_t ufp4_cuda_call(state_t *state, size_t workspace_bytes, ufp4_cuda_call_t *out);

/** The backend's quantize and gemm: whole operands of the host, through memory of the device that
 * lasts for the call.
 */
ufp4_status_t ufp4_cuda_quantize_operand(state_t *state, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out);
ufp4_status_t ufp4_cuda_gemm_operands(state_t *state, const ufp4_operand_t *a,
                                      const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                      int64_t d_ld);

#endif
