// SPDX-License-Identifier: Apache-2.0
// The devices and numbers that all driver tests share: a device of the backend that
// UFP4_TEST_BACKEND names.
#ifndef UFP4_DRIVER_STAND_H
#define UFP4_DRIVER_STAND_H

#include "check.h"
#include "files.h"
#include "ufp4.h"
#include "ufp4_file.h"

// --- Devices ------------------------------------------------------------------------------------

/** Starts the simulated board (the program that UFP4_BOARD_SIM names) once, with these options, the
 * last of which is NULL; the board ends with the test. @return the backend, "fpga:PORT". */
const char *stand_board(const char *const *options);
/** Returns "model", "rtl", "tlm", "systemc", "systemc:timed", "cuda", or "board", the simulated
 * board with the configuration board. */
const char *stand_backend(void);
/** Returns whether the backend is a core, which counts cycles. */
int stand_is_core(void);
/** Returns whether that core is the timed model. */
int stand_is_timed(void);
/** Returns options with the small configuration and 16 MiB of memory. */
ufp4_device_options_t stand_options(void);
/** Opens stand_backend() with stand_options(), or a board as it is configured; ends the program on
 * failure. */
ufp4_device_t *stand_device(void);
/** Allocates; ends the program on failure. */
uint64_t stand_alloc(ufp4_device_t *device, uint64_t bytes);
/** Submits a job and waits for it. */
ufp4_status_t stand_run(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                        ufp4_completion_t *completion);

/** A QUANT of a 32 x 48 FP32 tensor of 1.5 to both copies, and a GEMM of its row copy with itself,
 * in buffers of the device; malformed descriptors are made from these. */
typedef struct {
  ufp4_descriptor_t quant;
  ufp4_descriptor_t amax;
  ufp4_descriptor_t gemm;
} stand_jobs_t;
stand_jobs_t stand_jobs(ufp4_device_t *device);
/** Runs all three and checks that D is all 108 = 48 * 1.5 * 1.5. */
void stand_check_serving(int64_t index, ufp4_device_t *device, const stand_jobs_t *jobs);

/** Returns a nearly Gaussian number. */
float stand_number(check_random_t *random);
float *stand_tensor(check_random_t *random, int64_t count, float factor);

#endif
