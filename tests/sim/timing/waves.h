// SPDX-License-Identifier: Apache-2.0
// Counts how often the RTL has read and written its memories, from its waveforms.
#ifndef UFP4_TEST_TIMING_WAVES_H
#define UFP4_TEST_TIMING_WAVES_H

#include <stdint.h>

#include "ufp4/spec.h"

typedef struct {
  uint64_t reads[UFP4_SRAM_COUNT], writes[UFP4_SRAM_COUNT];
} waves_accesses_t;

/** Counts the rising clock edges before which an enable is high, for each memory except parity, in
 * the form for cells or FPGAs. @return 0 if the file cannot be read, or has a memory of unknown
 * kind. */
int waves_accesses(const char *path, const ufp4_configuration_t *core, waves_accesses_t *found);

#endif
