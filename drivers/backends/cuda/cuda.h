// SPDX-License-Identifier: Apache-2.0
// The backend cuda has these functions beside the table of all backends: its records are made with
// them.
#ifndef UFP4_CUDA_H
#define UFP4_CUDA_H

#include "port/backend.h"
#include "table.h"

/** The table of libufp4_cuda.so. UFP4_ERROR_UNSUPPORTED, and why, where there is none: it is built
 * where nvcc is. */
ufp4_status_t ufp4_cuda_load(ufp4_message_t *message, const ufp4_cuda_table_t **out);

/** The GPU behind the backend's state. */
void ufp4_cuda_describe(const ufp4_backend_state_t *state, ufp4_cuda_description_t *out);

/** The table's gemm, with a choice. */
ufp4_status_t ufp4_cuda_gemm_with(ufp4_backend_state_t *state, const ufp4_cuda_choice_t *choice,
                                  const ufp4_operand_t *a, const ufp4_operand_t *b,
                                  const ufp4_gemm_t *how, void *d, int64_t d_ld);

#endif
