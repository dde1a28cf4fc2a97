// SPDX-License-Identifier: Apache-2.0
// The Verilated core and the timed model get the same register writes and descriptors, and are
// compared in every cycle count that a host can see.
#ifndef UFP4_TEST_TWIN_H
#define UFP4_TEST_TWIN_H

#include "check.h"
#include "ufp4_sim.h"
#include "ufp4_timed.h"

#define TWIN_BASE 0x80000000ull
#define TWIN_PLACE_BYTES (4ull << 20)
#define TWIN_PLACES 16u  // after the rings
#define TWIN_RING_LOG2 6u
#define TWIN_RING (1u << TWIN_RING_LOG2)

typedef union {
  ufp4_header_descriptor_t header;
  ufp4_quant_descriptor_t quant;
  ufp4_gemm_descriptor_t gemm;
} twin_job_t;

/** A memory: latency in cycles, bytes per cycle (0: unlimited), seed of its back-pressure (0:
 * none), banks (NULL: none). */
typedef struct {
  unsigned latency, bandwidth;
  uint64_t stall;
  const char *dram;
} twin_memory_t;

/** A recorded time line. */
typedef struct {
  ufp4_timeline_event_t *events;
  unsigned count, limit;
} twin_line_t;

typedef struct {
  ufp4_sim_t *sim;
  ufp4_timed_t *timed;
  ufp4_completion_t completions[TWIN_RING];  // of the timed model
  uint32_t tail;
  check_random_t random;
  ufp4_configuration_t configuration;
  unsigned jobs, ran, differences;  // ran: on an engine
  twin_line_t sim_line, timed_line;
} twin_t;

/** Opens both; @p wrong is added to the latency of the timed model. */
twin_t *twin_open(const char *configuration, twin_memory_t memory, unsigned wrong);
/** Opens both with time lines of at most @p events each. */
twin_t *twin_open_lined(const char *configuration, twin_memory_t memory, unsigned events);
/** Opens both, with the RTL's waveforms in a file. */
twin_t *twin_open_traced(const char *configuration, twin_memory_t memory, const char *path);
/** Ends the time lines and counts their differences. */
void twin_same_lines(twin_t *twin);
/** Sets the configuration that jobs are drawn for, without opening either. */
void twin_configure(twin_t *twin, const char *name);
void twin_close(twin_t *twin);
/** Writes a register of both. */
void twin_write(twin_t *twin, uint32_t offset, uint32_t value);
/** Resets both, even amid jobs. */
void twin_reset(twin_t *twin);
/** Runs both for so many cycles. */
void twin_cycles(twin_t *twin, uint64_t cycles);
/** Counts a difference unless a register has the same value in both. */
void twin_same_register(twin_t *twin, uint32_t offset, const char *what, unsigned index);
/** twin_give submits @p count jobs to both with one write of ring_tail; twin_finish waits for the
 * last one and compares. */
void twin_give(twin_t *twin, twin_job_t *jobs, unsigned count);
void twin_finish(twin_t *twin, const twin_job_t *jobs, unsigned count);
/** Runs @p count jobs, at most TWIN_RING, submitted with one write of ring_tail, until the last is
 * done on both. Counts the differences of their completions, the counters, and the cycles taken. */
void twin_run(twin_t *twin, twin_job_t *jobs, unsigned count);

#endif
