// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_THREADS_H
#define UFP4_THREADS_H

#include <stdint.h>

#define MAX_THREADS 256

/** Returns the number of threads for a request of @p asked; 0 means one per processor. */
int threads_asked(uint64_t asked);

/** Calls run(argument[i]) for i < count, each except the first in a new thread. If a thread cannot
 * be created, the caller's thread runs its part. */
void threads_run(void (*run)(void *), void *const *argument, int count);

#endif
