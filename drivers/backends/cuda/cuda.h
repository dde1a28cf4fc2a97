// SPDX-License-Identifier: Apache-2.0
// Functions of the backend cuda outside the table of backends, with which its records are made.
#ifndef UFP4_CUDA_H
#define UFP4_CUDA_H

#include "port/backend.h"
#include "table.h"

/** Returns the table of libufp4_cuda.so. UFP4_ERROR_UNSUPPORTED, with the reason, if the library
 * does not exist, because it is built only where nvcc is available. */
ufp4_status_t ufp4_cuda_load(ufp4_message_t *message, const ufp4_cuda_table_t **out);

/** Returns the GPU behind the backend's state. */
void ufp4_cuda_describe(const ufp4_backend_state_t *state, ufp4_cuda_description_t *out);

/** Calls the table's gemm with a choice. */
ufp4_status_t ufp4_cuda_gemm_with(ufp4_backend_state_t *state, const ufp4_cuda_choice_t *choice,
                                  const ufp4_operand_t *a, const ufp4_operand_t *b,
                                  const ufp4_gemm_t *how, void *d, int64_t d_ld);

#endif
