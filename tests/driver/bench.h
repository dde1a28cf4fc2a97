// SPDX-License-Identifier: Apache-2.0
// The driver tests share this: files to read, and a device of the backend that UFP4_TEST_BACKEND
// names.
#ifndef UFP4_DRIVER_BENCH_H
#define UFP4_DRIVER_BENCH_H

#include "check.h"
#include "ufp4.h"
#include "ufp4_file.h"

// --- Files --------------------------------------------------------------------------------------

/** A path of this process in the working folder; the text lives until the next call. */
const char *bench_path(const char *name);
/** Writes those bytes to bench_path(name) and returns it. */
const char *bench_file(const char *name, const void *bytes, size_t size);
/** Removes bench_path(name). */
void bench_remove(const char *name);
/** Checks the status, and that a failure came with one line that names the file. */
void bench_check_status(int64_t index, ufp4_status_t got, ufp4_status_t want,
                        const ufp4_message_t *message);

// --- Devices ------------------------------------------------------------------------------------

/** Starts the simulated board (the program that UFP4_BOARD_SIM names) with these options, the last
 * of which is NULL, once; it ends with the test. @return the backend, "fpga:PORT". */
const char *bench_board(const char *const *options);
/** "model", "rtl", "tlm", "systemc", "systemc:timed", "cuda", or "board": the simulated one, of the
 * configuration board. */
const char *bench_backend(void);
/** Whether it is a core, with cycles. */
int bench_is_core(void);
/** Whether that core is the timed model. */
int bench_is_timed(void);
/** Options with the small configuration and 16 MiB of memory. */
ufp4_device_options_t bench_options(void);
/** Opens bench_backend() with bench_options(), or a board as it is; ends the program on failure. */
ufp4_device_t *bench_device(void);
/** Allocates; ends the program on failure. */
uint64_t bench_alloc(ufp4_device_t *device, uint64_t bytes);
/** Submits and waits. */
ufp4_status_t bench_run(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                        ufp4_completion_t *completion);

/** A QUANT of a 32 x 48 FP32 tensor of 1.5 to both copies, and a GEMM of its row copy with itself,
 * in buffers of the device: what malformed descriptors are made from. */
typedef struct {
  ufp4_descriptor_t quant;
  ufp4_descriptor_t amax;
  ufp4_descriptor_t gemm;
} bench_jobs_t;
bench_jobs_t bench_jobs(ufp4_device_t *device);
/** Runs all three and checks that D is all 108 = 48 * 1.5 * 1.5. */
void bench_check_serving(int64_t index, ufp4_device_t *device, const bench_jobs_t *jobs);

/** Gaussian-like numbers. */
float bench_number(check_random_t *random);
float *bench_tensor(check_random_t *random, int64_t count, float factor);

#endif
