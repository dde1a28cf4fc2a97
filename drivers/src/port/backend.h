// SPDX-License-Identifier: Apache-2.0
// A backend is a table of a few functions; everything above it (device.c, buffer.c, job.c) is
// common to all backends. A backend owns a flat device memory and executes 128-byte descriptors in
// the order of submission.
//
// The common code guarantees that options are checked, that memory accesses stay inside the memory,
// that at most UFP4_QUEUE_JOBS jobs are submitted and not yet taken, that job numbers count up by
// one from 1, that after UFP4_ERROR_DEVICE only close and reset are called, and that one thread at
// a time makes calls.
#ifndef UFP4_BACKEND_H
#define UFP4_BACKEND_H

#include "ufp4.h"

/** The first byte of device memory on every backend without its own memory_base. */
#define UFP4_MEMORY_BASE 0x80000000ull
/** The first bytes of device memory are reserved for the backend (its rings); buffers start behind
 * them. */
#define UFP4_MEMORY_RESERVED_BYTES 12288ull
/** The size of device memory is a multiple of this, so that no burst straddles its end. */
#define UFP4_MEMORY_GRANULE_BYTES 4096ull
/** The number of jobs that may be submitted and not yet taken by take(), so that a ring of this
 * many descriptors never overflows. */
#define UFP4_QUEUE_LOG2 6
#define UFP4_QUEUE_JOBS (1u << UFP4_QUEUE_LOG2)

/** Returns UFP4_ERROR_ARGUMENT, with a message, if no device can have this memory. */
ufp4_status_t backend_check_memory(uint64_t base, uint64_t bytes, ufp4_message_t *message);

/** Each backend defines this struct in its own file. */
typedef struct ufp4_backend_state ufp4_backend_state_t;

/** A quantized tensor that stays on the device, defined by each backend that supports it. */
typedef struct ufp4_kept ufp4_kept_t;

/** The functions of a backend. A call that fails writes one line into the message given to open(),
 * which lives as long as the device. */
typedef struct {
  const char *name;
  /** Makes a device of @p configuration, which options->configuration names. On failure *state is
   * NULL. */
  ufp4_status_t (*open)(const ufp4_device_options_t *options,
                        const ufp4_configuration_t *configuration, ufp4_message_t *message,
                        ufp4_backend_state_t **state);
  /** Used instead of open by a backend with a location, "fpga:PORT" as a whole, and with its own
   * memory; if @p configuration is NULL, it determines the configuration, too. */
  ufp4_status_t (*open_at)(const char *name, const ufp4_device_options_t *options,
                           const ufp4_configuration_t *configuration, ufp4_message_t *message,
                           ufp4_backend_state_t **state);
  void (*close)(ufp4_backend_state_t *state);
  /** Does what ufp4_device_trace_end does, or NULL. */
  ufp4_status_t (*trace_end)(ufp4_backend_state_t *state);
  /** Fills in version, configuration and has_cycles as the device reports them; the caller has
   * filled in the rest. */
  ufp4_status_t (*info)(ufp4_backend_state_t *state, ufp4_device_info_t *info);
  /** NULL: device memory begins at UFP4_MEMORY_BASE. */
  uint64_t (*memory_base)(const ufp4_backend_state_t *state);
  /** Tests all device memory by the device itself, as ufp4_device_memory_test describes, or NULL;
   * UFP4_ERROR_UNSUPPORTED: this device has no such test. */
  ufp4_status_t (*memory_test)(ufp4_backend_state_t *state, ufp4_memory_test_t *result);
  ufp4_status_t (*memory_write)(ufp4_backend_state_t *state, uint64_t address, const void *data,
                                uint64_t bytes);
  ufp4_status_t (*memory_read)(ufp4_backend_state_t *state, uint64_t address, void *data,
                               uint64_t bytes);
  /** Queues one descriptor whose job number is set; it need not wait for anything. */
  ufp4_status_t (*submit)(ufp4_backend_state_t *state, const ufp4_descriptor_t *descriptor);
  /** Waits for the oldest completion that has not been taken and takes it; returns UFP4_OK
   * whatever its status. There must be one to come. @p timeout_us 0: only the backend's own limit
   * applies. UFP4_ERROR_TIMEOUT: the time (or options->max_cycles) has passed and nothing was
   * taken; the call may be repeated. */
  ufp4_status_t (*take)(ufp4_backend_state_t *state, uint64_t timeout_us,
                        ufp4_completion_t *completion);
  /** Reads slot @p slot < UFP4_SLOTS; UFP4_ERROR_ARGUMENT if it was never written. No job is
   * running. */
  ufp4_status_t (*slot_read)(ufp4_backend_state_t *state, unsigned slot, int *exponent);
  /** Reads the counters since open; all zero without cycles. */
  ufp4_status_t (*counters)(ufp4_backend_state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]);
  /** Reads the accesses of the core's memories since open, or NULL. */
  void (*accesses)(const ufp4_backend_state_t *state, uint64_t reads[UFP4_SRAM_COUNT],
                   uint64_t writes[UFP4_SRAM_COUNT]);
  /** Checks whether this device supports a contract of its backend, or NULL.
   * UFP4_ERROR_UNSUPPORTED: it does not, and the message says why. */
  ufp4_status_t (*check_contract)(ufp4_backend_state_t *state, ufp4_contract_t contract);
  /** Ends every job that has not been taken; none of them will be. Slots are unwritten afterwards.
   * NULL: not supported. */
  ufp4_status_t (*reset)(ufp4_backend_state_t *state);
  /** 1 if device memory is host memory, so that a linear layer gains nothing from descriptors over
   * the two functions below. */
  int in_host_memory;
  /** Process whole operands in host memory as ufp4_quantize and ufp4_gemm do, or NULL. The
   * arguments have been checked; kernel and threads are the device's. */
  ufp4_status_t (*quantize)(ufp4_backend_state_t *state, const ufp4_matrix_t *in,
                            const ufp4_quantize_t *how, ufp4_operand_t *out);
  ufp4_status_t (*gemm)(ufp4_backend_state_t *state, const ufp4_operand_t *a,
                        const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d, int64_t d_ld);
  /** Process operands that stay on the device from their quantization through all of their GEMMs,
   * or NULL. A linear layer prefers these to the two functions above and to descriptors. keep sets
   * out[i] to the copy of @p in by how[i], for 1 or 2 copies from one read, and replaces existing
   * copies. kept_read returns an operand in host memory, to be freed by ufp4_operand_free; for
   * copies of one call it needs both. */
  ufp4_status_t (*keep)(ufp4_backend_state_t *state, const ufp4_matrix_t *in,
                        const ufp4_quantize_t *how, int copies, ufp4_kept_t **out[]);
  ufp4_status_t (*kept_gemm)(ufp4_backend_state_t *state, const ufp4_kept_t *a,
                             const ufp4_kept_t *b, const ufp4_gemm_t *how, void *d, int64_t d_ld);
  ufp4_status_t (*kept_read)(ufp4_backend_state_t *state, const ufp4_kept_t *kept,
                             ufp4_operand_t *out);
  void (*kept_free)(ufp4_backend_state_t *state, ufp4_kept_t *kept);
} ufp4_backend_t;

extern const ufp4_backend_t ufp4_backend_model;
extern const ufp4_backend_t ufp4_backend_cuda;
extern const ufp4_backend_t ufp4_backend_fpga;
extern const ufp4_backend_t ufp4_backend_mmio;
extern const ufp4_backend_t ufp4_backend_systemc;
extern const ufp4_backend_t ufp4_backend_systemc_timed;
#ifdef UFP4_HAVE_RTL
extern const ufp4_backend_t ufp4_backend_rtl;
#endif
#ifdef UFP4_HAVE_TLM
extern const ufp4_backend_t ufp4_backend_tlm;
#endif

#endif
