// SPDX-License-Identifier: Apache-2.0
// The files of the emulated GPU share this: the block that runs, a fiber for each of its threads.
#ifndef UFP4_TESTS_CUDA_EMULATED_MACHINE_H
#define UFP4_TESTS_CUDA_EMULATED_MACHINE_H

#include "emulated.h"

namespace emulated {

/** The thread that runs. */
unsigned current_thread();
/** Lets the other threads run. A wait is a loop of it. */
void yield();
/** Something happened that others may wait for. */
void progressed();
/** The kernel does what no kernel may. */
[[noreturn]] void give_up(const char *what);
/** All lanes of a warp come here, each with something of its own; in the last one @p work does it
 * for all. */
void together(void *own, void (*work)(void *const *lanes));
/** @p bytes of the block's shared memory; gives up outside it. */
unsigned char *shared_at(uint32_t address, uint32_t bytes);

// emulated_hopper.cpp
void hopper_start(unsigned threads);
/** All threads wait: lands one copy of the copy engine. @return whether there was one. */
bool hopper_idle();
/** The block ends. */
void hopper_end();

}  // namespace emulated

#endif
