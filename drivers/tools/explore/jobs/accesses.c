// SPDX-License-Identifier: Apache-2.0
// Counters of a core, extended by the bits read and written in its memories.
#include <string.h>

#include "base/shape.h"
#include "explore/jobs/cores.h"

// Returns the counter to which a kind of memory belongs.
static int group_of(int kind) {
  if (kind == UFP4_SRAM_ACCUMULATORS) return EXPLORE_SUM_BITS;
  if (kind < UFP4_SRAM_ADDENDS) return EXPLORE_OPERAND_BITS;
  return kind == UFP4_SRAM_ADDENDS ? EXPLORE_ADDEND_BITS : EXPLORE_QUANT_BITS;
}

ufp4_status_t explore_counters(ufp4_device_t *device, uint64_t counters[EXPLORE_COUNTERS]) {
  uint64_t reads[UFP4_SRAM_COUNT], writes[UFP4_SRAM_COUNT];
  shape_memory_t memories[UFP4_SRAM_COUNT];
  ufp4_device_info_t info;
  memset(counters, 0, EXPLORE_COUNTERS * sizeof *counters);
  ufp4_status_t status = ufp4_device_counters(device, counters);
  if (status == UFP4_OK) status = ufp4_device_info(device, &info);
  if (status == UFP4_OK) status = ufp4_device_accesses(device, reads, writes);
  if (status != UFP4_OK) return status;
  shape_memories(&info.configuration, memories);
  for (int i = 0; i < UFP4_SRAM_COUNT; i++)
    counters[group_of(i)] += (reads[i] + writes[i]) * (memories[i].bits + 1);
  return UFP4_OK;
}
