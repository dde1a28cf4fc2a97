// SPDX-License-Identifier: Apache-2.0
// What the backend cuda has beside the table of all backends: for the bench and for records.
#ifndef UFP4_CUDA_H
#define UFP4_CUDA_H

#include "backend.h"
#include "table.h"

/** The GPU behind a device that was opened as "cuda". */
void ufp4_cuda_describe(const ufp4_backend_state_t *state, ufp4_cuda_description_t *out);

#endif
