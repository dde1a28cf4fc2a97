// SPDX-License-Identifier: Apache-2.0
// An open device, as seen by the files of this folder.
#ifndef UFP4_DEVICE_H
#define UFP4_DEVICE_H

#include "port/backend.h"

/** Completions that are kept for a later wait. */
#define HISTORY_JOBS 256u

typedef struct {
  uint64_t address;
  uint64_t bytes;
} buffer_t;

struct ufp4_device {
  const ufp4_backend_t *backend;
  ufp4_backend_state_t *state;
  ufp4_device_info_t info;
  ufp4_configuration_t asked;  // the requested configuration, if any
  uint64_t memory_base;
  ufp4_message_t message;
  int threads;  // threads of the work on the host
  ufp4_kernel_t kernel;
  int failed;   // a backend call returned UFP4_ERROR_DEVICE
  int overdue;  // the oldest job has exceeded the backend's own limit and has not been waited for
                // since
  buffer_t *buffers;  // buffers in use, in the order of their addresses
  size_t buffer_count, buffer_capacity;
  uint64_t submitted, taken;             // number of jobs; the lower half is the job number
  ufp4_completion_t done[HISTORY_JOBS];  // the completion of job i at i mod HISTORY_JOBS
};

/** Passes on @p status, and marks the device as failed if it is UFP4_ERROR_DEVICE. */
ufp4_status_t device_note(ufp4_device_t *device, ufp4_status_t status);
/** Sets the device's message and returns @p status. */
ufp4_status_t device_fail(ufp4_device_t *device, ufp4_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Returns the first byte of device memory that is not reserved for the backend. */
static inline uint64_t device_buffers_base(const ufp4_device_t *device) {
  return device->memory_base + UFP4_MEMORY_RESERVED_BYTES;
}
/** Copies rows of a plain tensor to and from a buffer with its own stride, in one piece if there
 * are no gaps. */
typedef struct {
  uint64_t address, stride;  ///< in device memory
  uint64_t ld_bytes;         ///< distance of rows in host memory
  uint64_t row_bytes, rows;
} device_rows_t;
ufp4_status_t device_rows_write(ufp4_device_t *device, device_rows_t piece, const void *data);
ufp4_status_t device_rows_read(ufp4_device_t *device, device_rows_t piece, void *data);
/** Returns the free bytes of device memory. */
uint64_t device_free_bytes(const ufp4_device_t *device);
/** Returns UFP4_ERROR_MEMORY, with a message, if @p what, of m x n x k, needs more memory than is
 * free. */
ufp4_status_t device_check_room(ufp4_device_t *device, const char *what, int64_t m, int64_t n,
                                int64_t k, uint64_t bytes);
/** Returns UFP4_ERROR_DEVICE if the device has failed before. */
ufp4_status_t device_check(ufp4_device_t *device);

/** Waits for every queued job, but not again for an overdue one. @return 0 if some may still run
 * because the device answers but makes no progress. */
int jobs_drain(ufp4_device_t *device);

/** Returns whether a GEMM of operands in host memory is executed as a job. */
int device_takes_descriptors(const ufp4_device_t *device);
/** Returns UFP4_ERROR_UNSUPPORTED, with a message, if the device's core has another contract or
 * does not multiply these elements. */
ufp4_status_t device_check_core(ufp4_device_t *device, ufp4_contract_t contract, ufp4_elem_t a,
                                ufp4_elem_t b);
/** Runs one job and returns its cycles, its increments of the counters, and its flags (or
 * NULL). */
ufp4_status_t job_measure(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                          ufp4_gemm_stats_t *stats, unsigned *flags);
/** Runs a GEMM of operands in host memory as one job. A descriptor must be able to express it, and
 * the arguments must have been checked. */
ufp4_status_t gemm_by_descriptor(ufp4_device_t *device, const ufp4_operand_t *a,
                                 const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                 int64_t d_ld, ufp4_gemm_stats_t *stats);
/** Quantizes a tensor in host memory by AMAX and QUANT. ufp4_quantize_on_core must allow it, and
 * the arguments must have been checked. UFP4_ERROR_MEMORY, and stats->on_core 0, if device memory
 * is too small. */
ufp4_status_t quantize_by_descriptor(ufp4_device_t *device, const ufp4_matrix_t *in,
                                     const ufp4_quantize_t *how, ufp4_operand_t *out,
                                     ufp4_quantize_stats_t *stats);
/** Quantizes as ufp4_device_quantize does, except that the host does the work if the device is a
 * core. */
ufp4_status_t quantize_whole(ufp4_device_t *device, const ufp4_matrix_t *in,
                             const ufp4_quantize_t *how, ufp4_operand_t *out);
/** Reads the codes and scales of a copy into an operand of its shape. */
ufp4_status_t device_copy_read(ufp4_device_t *device, uint64_t codes, uint64_t scales,
                               ufp4_operand_t *out);
/** Extracts the flags of a copy from those of its QUANT. */
unsigned device_copy_flags(unsigned job_flags, ufp4_axis_t axis);

#endif
