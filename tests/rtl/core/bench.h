// SPDX-License-Identifier: Apache-2.0
// A core on the bench: the simulator with rings of its own, for what the driver does not let
// through.
#ifndef UFP4_BENCH_H
#define UFP4_BENCH_H

#include "check.h"
#include "ufp4.h"
#include "ufp4_sim.h"

#define BENCH_MEMORY 0x40000000ull
#define BENCH_MEMORY_BYTES (16ull << 20)
#define BENCH_RING BENCH_MEMORY
#define BENCH_RING_LOG2 4u
#define BENCH_RING_BYTES ((1ull << BENCH_RING_LOG2) * UFP4_DESCRIPTOR_BYTES)
#define BENCH_COMPLETIONS (BENCH_MEMORY + 0x4000)
/** Free for tensors. */
#define BENCH_DATA (BENCH_MEMORY + 0x10000)

typedef struct {
  ufp4_sim_t *sim;
  uint32_t tail;               ///< descriptors written
  uint64_t ring, completions;  ///< addresses
} bench_t;

/** A core of @p configuration behind memory of that latency, bandwidth and back-pressure; ends the
 * program on failure.
 */
bench_t bench_open(const char *configuration, unsigned latency, unsigned bandwidth,
                   uint64_t stall_seed);
/** Opens a core whose memory has all addresses. */
bench_t bench_open_everywhere(const char *configuration);
void bench_close(bench_t *bench);

uint32_t bench_read(bench_t *bench, uint32_t offset);
void bench_write(bench_t *bench, uint32_t offset, uint32_t value);
void bench_write_bytes(bench_t *bench, uint32_t offset, uint32_t value, unsigned strobes);
/** Points the core at rings at these addresses, and lets every completion interrupt. */
void bench_rings(bench_t *bench, uint64_t ring, uint64_t completions);
/** Puts a descriptor into the ring, if that is in memory. */
void bench_put(bench_t *bench, const ufp4_descriptor_t *descriptor);
/** Rings the doorbell for all that have been put there. */
void bench_start(bench_t *bench);
/** Both. */
void bench_submit(bench_t *bench, const ufp4_descriptor_t *descriptor);
/** Runs until the core has no job left. @return whether that happened within a million cycles. */
int bench_drain(bench_t *bench);
/** The completion of the @p index th descriptor. */
ufp4_completion_t bench_completion(bench_t *bench, uint32_t index);
/** Submits one descriptor and waits for its completion. */
ufp4_completion_t bench_job(bench_t *bench, const ufp4_descriptor_t *descriptor);
/** Takes a snapshot and reads all counters. */
void bench_counters(bench_t *bench, uint64_t counters[UFP4_COUNTER_COUNT]);
/** Checks that the first counter is the sum of the next eight. */
void bench_check_sum(int64_t index, const uint64_t counters[UFP4_COUNTER_COUNT]);

ufp4_descriptor_t bench_fence(uint32_t job);

#endif
