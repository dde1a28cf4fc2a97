// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_GEMM_THREADS_H
#define UFP4_GEMM_THREADS_H

#define MAX_THREADS 256

/** Calls run(argument[i]) for i < count, each but the first in a thread of its own; what cannot
 * have one is called by the caller's. */
void gemm_threads(void (*run)(void *), void *const *argument, int count);

#endif
