// SPDX-License-Identifier: Apache-2.0
// An open device, as the files of this folder see it.
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
  ufp4_configuration_t asked;  // if one was
  uint64_t memory_base;
  ufp4_message_t message;
  int threads;  // of what runs on the host
  ufp4_kernel_t kernel;
  int failed;   // a backend call returned UFP4_ERROR_DEVICE
  int overdue;  // the oldest job has outrun the backend's own limit, and has not been waited for
                // since
  buffer_t *buffers;  // in use, in order of address
  size_t buffer_count, buffer_capacity;
  uint64_t submitted, taken;             // jobs; the job number is the lower half
  ufp4_completion_t done[HISTORY_JOBS];  // of job i at i mod HISTORY_JOBS
};

/** Keeps @p status, and remembers that the device is lost if it says so. */
ufp4_status_t device_note(ufp4_device_t *device, ufp4_status_t status);
/** Sets the device's message and returns @p status. */
ufp4_status_t device_fail(ufp4_device_t *device, ufp4_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The first byte of its memory that is not the backend's. */
static inline uint64_t device_buffers_base(const ufp4_device_t *device) {
  return device->memory_base + UFP4_MEMORY_RESERVED_BYTES;
}
/** Rows of a plain tensor, to and from a buffer with a stride of its own; in one piece where there
 * are no gaps. */
typedef struct {
  uint64_t address, stride;  ///< in device memory
  uint64_t ld_bytes;         ///< from row to row in the host's
  uint64_t row_bytes, rows;
} device_rows_t;
ufp4_status_t device_rows_write(ufp4_device_t *device, device_rows_t piece, const void *data);
ufp4_status_t device_rows_read(ufp4_device_t *device, device_rows_t piece, void *data);
/** Bytes of its memory in no buffer. */
uint64_t device_free_bytes(const ufp4_device_t *device);
/** UFP4_ERROR_MEMORY, with a message, if @p what, of m x n x k, takes more than are free. */
ufp4_status_t device_check_room(ufp4_device_t *device, const char *what, int64_t m, int64_t n,
                                int64_t k, uint64_t bytes);
/** UFP4_ERROR_DEVICE if the device has failed before. */
ufp4_status_t device_check(ufp4_device_t *device);

/** Waits for every queued job, but not again for one that is overdue. @return 0 if some may still
 * run: the device answers, but does not get on. */
int jobs_drain(ufp4_device_t *device);

/** Whether a GEMM of operands in the host's memory becomes a job. */
int device_takes_descriptors(const ufp4_device_t *device);
/** UFP4_ERROR_UNSUPPORTED, with a message, if the device's core accumulates by another contract or
 * does not multiply these elements. */
ufp4_status_t device_check_core(ufp4_device_t *device, ufp4_contract_t contract, ufp4_elem_t a,
                                ufp4_elem_t b);
/** Runs one job and gives its cycles, what it added to the counters, and its flags (or NULL). */
ufp4_status_t job_measure(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                          ufp4_gemm_stats_t *stats, unsigned *flags);
/** A GEMM of operands in the host's memory as one job; what a descriptor can express, the arguments
 * checked. */
ufp4_status_t gemm_by_descriptor(ufp4_device_t *device, const ufp4_operand_t *a,
                                 const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                 int64_t d_ld, ufp4_gemm_stats_t *stats);
/** A tensor of the host's quantized by AMAX and QUANT; what ufp4_quantize_on_core says a core
 * makes, the arguments checked. UFP4_ERROR_MEMORY, and stats->on_core 0, where device memory has no
 * room.
 */
ufp4_status_t quantize_by_descriptor(ufp4_device_t *device, const ufp4_matrix_t *in,
                                     const ufp4_quantize_t *how, ufp4_operand_t *out,
                                     ufp4_quantize_stats_t *stats);
/** Quantizes as ufp4_device_quantize does, but where the device is a core the host does it. */
ufp4_status_t quantize_whole(ufp4_device_t *device, const ufp4_matrix_t *in,
                             const ufp4_quantize_t *how, ufp4_operand_t *out);
/** The codes and scales of a copy, into an operand of its shape. */
ufp4_status_t device_copy_read(ufp4_device_t *device, uint64_t codes, uint64_t scales,
                               ufp4_operand_t *out);
/** The flags of a copy, from those of its QUANT. */
unsigned device_copy_flags(unsigned job_flags, ufp4_axis_t axis);

#endif
