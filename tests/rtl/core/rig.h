// SPDX-License-Identifier: Apache-2.0
// A core on the stand next to the model, and five jobs for both: AMAX and QUANT of X and of W, and
// their GEMM.
#ifndef UFP4_RIG_H
#define UFP4_RIG_H

#include <stdint.h>

#include "port/backend.h"
#include "stand.h"

#define PLACE_BYTES 0x10000ull
enum {
  X,
  W,
  X_CODES,
  X_SCALES,
  XT_CODES,
  XT_SCALES,
  W_CODES,
  W_SCALES,
  WT_CODES,
  WT_SCALES,
  D,
  PLACES
};
#define IMAGE_BYTES (PLACES * PLACE_BYTES)
enum { AMAX_X, QUANT_X, AMAX_W, QUANT_W, GEMM, JOBS, NONE = JOBS, ALL };
#define M 70u
#define N 50u
#define K 100u
#define STRIDE_BYTES 512u  // of every plain tensor
#define IRQ_FATAL 4u
#define CONTROL_SOFT_RESET 4u
#define STATUS_FATAL 4u
#define STATUS_RESETTING 8u
#define WATCHDOG_CYCLES 5000u
// No job of these takes longer.
#define JOB_CYCLES 200000u

typedef struct {
  stand_t stand;
  ufp4_device_t *model;
  check_random_t random;
  uint8_t *before;  // the image as it was before the job that fails
  const char *configuration;
  uint64_t stall_seed;
  int64_t runs;
  uint8_t contract;  // of the configuration
} rig_t;

uint64_t place(unsigned index);
/** The bytes at the places, in the simulator's memory. */
uint8_t *image(rig_t *rig);
ufp4_descriptor_t quant_job(unsigned opcode, unsigned source, unsigned codes, uint32_t rows,
                            uint16_t slot);
/** One of the five jobs. */
ufp4_descriptor_t job(unsigned which);
/** The five jobs side by side, in the order in which rig_submit_side_by_side gives them, and the
 * first once more. */
#define SIDE_BY_SIDE 6
extern const unsigned rig_side_by_side[SIDE_BY_SIDE];

rig_t rig_open(const char *configuration, unsigned latency, uint64_t stall_seed);
void rig_close(rig_t *rig);
/** Fills memory with garbage and two tensors. */
void rig_fill(rig_t *rig);
/** Copies the bytes at the places to the model's memory. */
void rig_copy_to_model(rig_t *rig);
/** One of the five jobs in the contract of the configuration. */
ufp4_descriptor_t rig_job(const rig_t *rig, unsigned which);
void rig_run_model(rig_t *rig, const ufp4_descriptor_t *descriptor);
/** Runs a job on both devices; it must end well. */
ufp4_completion_t rig_run_both(rig_t *rig, const ufp4_descriptor_t *descriptor);
ufp4_completion_t run_good(rig_t *rig, unsigned which);
/** Reads the bytes at the places in the model's memory, IMAGE_BYTES of them. */
void rig_read_model(rig_t *rig, uint8_t *want);
/** Checks that both memories are equal. */
void rig_compare(rig_t *rig, const char *after);
/** Runs all five jobs on both devices, which must end with the same memory. @param cycles of each
 * job, or NULL */
void rig_chain(rig_t *rig, uint64_t cycles[JOBS], const char *after);
/** Does everything before job `which` and records the image. */
void prepare(rig_t *rig, unsigned which);
/** Draws new tensors and records the image; no interrupt is pending. */
void rig_prepare(rig_t *rig);
/** Puts the chain with QUANT beside GEMM into the ring: AMAX X and W, QUANT W and X, GEMM on their
 * row groups, and AMAX X again beside it. */
void rig_submit_side_by_side(rig_t *rig);
uint64_t rig_count(rig_t *rig, ufp4_counter_t counter);
/** Returns whether a byte of the image belongs to the output of job `which`: one of the five, NONE,
 * or ALL. */
int rig_is_output(unsigned which, uint64_t address);
/** Checks that only the output of job `which` (NONE, ALL) has changed since the image was recorded.
 * */
void check_outside(rig_t *rig, unsigned which, const char *after);
/** Checks that no exponent slot has been written. */
void check_slots(rig_t *rig, const char *after);
/** Resets the core by its register, waits for the end of the reset, and checks the registers. */
void soft_reset(rig_t *rig);
/** Resets the core by its pin, checks the registers, and sets up those that jobs need. */
void pin_reset(rig_t *rig);

#endif
