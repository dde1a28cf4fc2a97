// SPDX-License-Identifier: Apache-2.0
// The state of the emulated GPU that its files share: the running block, with a fiber for each of
// its threads.
#ifndef UFP4_TESTS_CUDA_EMULATED_MACHINE_H
#define UFP4_TESTS_CUDA_EMULATED_MACHINE_H

#include "emulated.h"

namespace emulated {

/** Returns the number of the running thread. */
unsigned current_thread();
/** Lets the other threads run; a thread waits by calling it in a loop. */
void yield();
/** Notes progress for which other threads may wait. */
void progressed();
/** Aborts because the kernel does something illegal. */
[[noreturn]] void give_up(const char *what);
/** Gathers all lanes of a warp, each with data of its own; the last one calls @p work for all. */
void together(void *own, void (*work)(void *const *lanes));
/** Returns @p bytes of the block's shared memory; gives up outside it. */
unsigned char *shared_at(uint32_t address, uint32_t bytes);

// These are in emulated_hopper.cpp.
void hopper_start(unsigned threads);
/** Lands one copy of the copy engine, because all threads wait. @return whether there was one. */
bool hopper_idle();
/** Ends the block. */
void hopper_end();

}  // namespace emulated

#endif
