// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_THREADS_H
#define UFP4_THREADS_H

#include <stdint.h>

#define MAX_THREADS 256

/** Threads of a caller who asks for @p asked: as many as the machine has processors for 0. */
int threads_asked(uint64_t asked);

/** Calls run(argument[i]) for i < count, each but the first in a thread of its own; what cannot
 * have one is called by the caller's. */
void threads_run(void (*run)(void *), void *const *argument, int count);

#endif
