// SPDX-License-Identifier: Apache-2.0
// Runs the same jobs on the simulated core and the golden model: they must give the same statuses
// and flags, and the same bytes in all of memory, including those that no job may touch. A wrong
// exponent in a slot shows in the jobs that use it.
#ifndef UFP4_TEST_PAIR_H
#define UFP4_TEST_PAIR_H

#include "check.h"
#include "ufp4.h"

/** Each tensor has a place of its own. */
enum {
  SOURCE_X,
  SOURCE_W,
  X_CODES,
  X_SCALES,
  XT_CODES,
  XT_SCALES,
  W_CODES,
  W_SCALES,
  WT_CODES,
  WT_SCALES,
  D,
  SUMS,
  C
};
enum { PLACES = C + 1, LONG_SIDE = 8192, LONG_K = 1 << 18 };

typedef struct {
  const char *configuration;
  unsigned latency, bandwidth;
  uint64_t stall_seed;
} setting_t;

typedef struct {
  ufp4_device_t *device[2];  ///< rtl, model
  uint8_t *memory[2];        ///< data read back from each
  uint64_t address;          ///< of place 0, the same on both
  check_random_t random, garbage;
  int64_t jobs;
  const setting_t *setting;
  uint64_t place_bytes;  ///< enough for a tensor with any of its strides
  uint64_t d_places;     ///< size of the places of D, and of each of its addends
  uint64_t bytes;        ///< of all places
  uint32_t contract;     ///< of the configuration
  uint32_t mixed;        ///< likewise
} pair_t;

/** Ends the program if a call to the driver failed. */
void pair_must(ufp4_device_t *device, ufp4_status_t status);
/** Opens both devices, with @p d_places for D and for each of its addends; ends the program on
 * failure. */
pair_t pair_open(const setting_t *setting, uint64_t seed, uint64_t d_places);
/** Opens a pair with places for tensors of which one side is up to LONG_SIDE, and the other up to
 * 32; or for the operands of a GEMM over a little more than LONG_K, of up to 16 rows; or, all
 * places together, for a tensor with such a side and up to 16 columns or 32 rows, and its
 * copies. */
pair_t pair_open_long(const setting_t *setting, uint64_t seed);
/** Opens a pair as pair_open does with one place; the core's memory extends to the last
 * address. */
pair_t pair_open_far(const setting_t *setting, uint64_t seed);
void pair_close(pair_t *pair);
void pair_write(pair_t *pair, uint64_t address, const void *data, uint64_t bytes);
/** Fills memory with garbage, so that an access in a wrong place shows. */
void pair_scramble(pair_t *pair);
/** Checks that all places have the same bytes on both devices. */
void pair_compare(pair_t *pair, const char *what);
/** Runs a job on both and checks status, flags and the core's counters. Unused fields contain
 * garbage: sums, C, alpha, the tensor scale; a copy; in AMAX all that only QUANT uses. */
ufp4_core_status_t pair_job(pair_t *pair, const ufp4_descriptor_t *job, const char *what);

#endif
