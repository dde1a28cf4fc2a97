// SPDX-License-Identifier: Apache-2.0
// Bit flips in the registers and memories of a Verilated core.
#ifndef UFP4_FAULT_H
#define UFP4_FAULT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sorts the bits that can be flipped: given the path of an instance and the name of a variable,
 * returns the number of its structure, or -1. */
typedef int fault_sort_t(const char *path, const char *name);

/** Bits of structure @p structure in the core that was opened last. */
uint64_t fault_bits(fault_sort_t *sort, int structure);
/** Flips bit @p bit (below fault_bits) of @p structure when the core that was opened last has seen
 * @p cycles more cycles. Of a second call before that, the first is forgotten. */
void fault_plan(fault_sort_t *sort, int structure, uint64_t bit, uint64_t cycles);
/** Likewise, but flips the same bit of every word of the structure's memories, all in the same
 * cycle: for @p bit 0 the highest, for 1 the one below, and after the lowest again the highest. */
void fault_plan_words(fault_sort_t *sort, int structure, uint64_t bit, uint64_t cycles);
/** Returns whether the planned flip has happened. */
int fault_done(void);
/** Returns the flipped bit, the last one of several: path, name, word and bit. */
const char *fault_name(void);

#ifdef __cplusplus
}
#endif
#endif
