// SPDX-License-Identifier: Apache-2.0
// Random jobs for a core with faults, their results without a fault, and their outcomes.
#ifndef UFP4_FAULT_RIG_H
#define UFP4_FAULT_RIG_H

#include <stdint.h>

#include "stand.h"

typedef enum { ANY_JOB, GEMM_JOB, QUANT_JOB, LONG_GEMM_JOB } kind_t;

/** The outcome of a job. NO_END: the job does not end, and the watchdog does not stop the core. */
typedef enum { MASKED, STATUS, WATCHDOG, BUS_RULE, NO_END, SILENT, OUTCOMES } outcome_t;

typedef struct {
  check_random_t random;
  ufp4_descriptor_t jobs[3];   // by kind_t
  uint8_t *before, *after[3];  // images
  ufp4_completion_t done[3];
  uint64_t cycles[3];  // until the end has been seen
  uint64_t counters[3][UFP4_COUNTER_COUNT];
} rig_t;

rig_t rig_open(uint64_t seed);
void rig_close(rig_t *rig);
/** Random tensors, a random QUANT job of one of them, a random GEMM of both, and the memory after
 * each. A long one has a k of two chunks, the second up to @p second_chunk elements (0: not long),
 * at least two sub-tiles per side, and a last row of sub-tiles that extends beyond the edge. */
void draw_jobs(rig_t *rig, uint32_t second_chunk);
/** The hash of everything that the job of @p kind leaves in memory. */
uint64_t hash_after(const rig_t *rig, int kind);
/** A core with the memory from before the jobs. */
stand_t open_core(const rig_t *rig);
/** Gives the core the same memory again. */
void restore_memory(const rig_t *rig, stand_t *stand);
/** Runs until the core has ended all jobs, or stopped, or taken far longer than the job of @p kind
 * does.
 * @return MASKED for now if it ended them */
outcome_t drain(const rig_t *rig, stand_t *stand, kind_t kind);
/** Runs one job and judges it by memory and completion. */
outcome_t run_one(const rig_t *rig, stand_t *stand, kind_t kind);
/** Resets the core by its register; the ring is then empty, and memory as before the jobs. @return
 * whether the reset does not end */
int soft_reset(const rig_t *rig, stand_t *stand);

#endif
