// SPDX-License-Identifier: Apache-2.0
// A core on the stand: the simulator with its own rings, for cases that the driver would refuse.
#ifndef UFP4_STAND_H
#define UFP4_STAND_H

#include "check.h"
#include "ufp4.h"
#include "ufp4_sim.h"

#define STAND_MEMORY 0x40000000ull
#define STAND_MEMORY_BYTES (16ull << 20)
#define STAND_RING STAND_MEMORY
#define STAND_RING_LOG2 4u
#define STAND_RING_BYTES ((1ull << STAND_RING_LOG2) * UFP4_DESCRIPTOR_BYTES)
#define STAND_COMPLETIONS (STAND_MEMORY + 0x4000)
/** Free for tensors. */
#define STAND_DATA (STAND_MEMORY + 0x10000)

typedef struct {
  ufp4_sim_t *sim;
  uint32_t tail;               ///< descriptors written
  uint64_t ring, completions;  ///< addresses
} stand_t;

/** A core of @p configuration behind memory of that latency, bandwidth and back-pressure; ends the
 * program on failure.
 */
stand_t stand_open(const char *configuration, unsigned latency, unsigned bandwidth,
                   uint64_t stall_seed);
/** Opens a core whose memory has all addresses. */
stand_t stand_open_everywhere(const char *configuration);
void stand_close(stand_t *stand);

uint32_t stand_read(stand_t *stand, uint32_t offset);
void stand_write(stand_t *stand, uint32_t offset, uint32_t value);
void stand_write_bytes(stand_t *stand, uint32_t offset, uint32_t value, unsigned strobes);
/** Points the core at rings at these addresses, and lets every completion interrupt. */
void stand_rings(stand_t *stand, uint64_t ring, uint64_t completions);
/** Puts a descriptor into the ring, if that is in memory. */
void stand_put(stand_t *stand, const ufp4_descriptor_t *descriptor);
/** Rings the doorbell for all that have been put there. */
void stand_start(stand_t *stand);
/** Puts a descriptor into the ring and rings the doorbell. */
void stand_submit(stand_t *stand, const ufp4_descriptor_t *descriptor);
/** Runs until the core has no job left. @return whether that happened within a million cycles. */
int stand_drain(stand_t *stand);
/** The completion of the @p index th descriptor. */
ufp4_completion_t stand_completion(stand_t *stand, uint32_t index);
/** Submits one descriptor and waits for its completion. */
ufp4_completion_t stand_job(stand_t *stand, const ufp4_descriptor_t *descriptor);
/** Takes a snapshot and reads all counters. */
void stand_counters(stand_t *stand, uint64_t counters[UFP4_COUNTER_COUNT]);
/** Checks that the first counter is the sum of the next eight. */
void stand_check_sum(int64_t index, const uint64_t counters[UFP4_COUNTER_COUNT]);

ufp4_descriptor_t stand_fence(uint32_t job);

#endif
