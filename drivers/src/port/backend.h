// SPDX-License-Identifier: Apache-2.0
// A backend is a table of a few functions. Everything above it (device.c, buffer.c, job.c) is
// common to all.
//
// A backend owns a flat device memory and executes 128-byte descriptors in the order of submission.
// It may assume what the common code guarantees: options checked, memory accesses inside the
// memory, never more than UFP4_QUEUE_JOBS jobs submitted and not taken, job numbers counting up by
// one from 1, no call but close and reset after one that returned UFP4_ERROR_DEVICE, one thread at
// a time.
#ifndef UFP4_BACKEND_H
#define UFP4_BACKEND_H

#include "ufp4.h"

/** The first byte of device memory, on every backend; that of a port is the port's to say. */
#define UFP4_MEMORY_BASE 0x80000000ull
/** The first bytes of device memory belong to the backend (its rings); buffers start behind them.
 */
#define UFP4_MEMORY_RESERVED_BYTES 12288ull
/** The size of device memory is a multiple of this, so that no burst can straddle its end. */
#define UFP4_MEMORY_GRANULE_BYTES 4096ull
/** Jobs that may be submitted and not yet taken with take(): a ring of that many descriptors never
 * overflows. */
#define UFP4_QUEUE_LOG2 6
#define UFP4_QUEUE_JOBS (1u << UFP4_QUEUE_LOG2)

/** UFP4_ERROR_ARGUMENT, with a message, if no device can have this memory. */
ufp4_status_t backend_check_memory(uint64_t base, uint64_t bytes, ufp4_message_t *message);

/** Each backend defines this struct for itself, in its own file. */
typedef struct ufp4_backend_state ufp4_backend_state_t;

/** A quantized tensor that stays on the device; each backend that has some defines it for itself.
 */
typedef struct ufp4_kept ufp4_kept_t;

/** A call that fails writes one line into the message that open() was given, which lives as long as
 * the device. */
typedef struct {
  const char *name;
  /** Makes a device; @p configuration is the one that options->configuration names. On failure
   * *state is NULL. */
  ufp4_status_t (*open)(const ufp4_device_options_t *options,
                        const ufp4_configuration_t *configuration, ufp4_message_t *message,
                        ufp4_backend_state_t **state);
  /** In place of open: a device that is somewhere, "fpga:PORT" by its whole name, and has a memory
   * of its own; @p configuration NULL: and a configuration. */
  ufp4_status_t (*open_at)(const char *name, const ufp4_device_options_t *options,
                           const ufp4_configuration_t *configuration, ufp4_message_t *message,
                           ufp4_backend_state_t **state);
  void (*close)(ufp4_backend_state_t *state);
  /** NULL, or as ufp4_device_trace_end. */
  ufp4_status_t (*trace_end)(ufp4_backend_state_t *state);
  /** Fills version, configuration and has_cycles as the device itself reports them; the rest is the
   * caller's, who has filled it already. */
  ufp4_status_t (*info)(ufp4_backend_state_t *state, ufp4_device_info_t *info);
  /** NULL: device memory begins at UFP4_MEMORY_BASE. */
  uint64_t (*memory_base)(const ufp4_backend_state_t *state);
  /** NULL, or a test of all device memory by the device itself, as ufp4_device_memory_test;
   * UFP4_ERROR_UNSUPPORTED: this one has none. */
  ufp4_status_t (*memory_test)(ufp4_backend_state_t *state, ufp4_memory_test_t *result);
  ufp4_status_t (*memory_write)(ufp4_backend_state_t *state, uint64_t address, const void *data,
                                uint64_t bytes);
  ufp4_status_t (*memory_read)(ufp4_backend_state_t *state, uint64_t address, void *data,
                               uint64_t bytes);
  /** Queues one descriptor, its job number filled in. Need not wait for anything. */
  ufp4_status_t (*submit)(ufp4_backend_state_t *state, const ufp4_descriptor_t *descriptor);
  /** Waits for the oldest completion not taken yet and takes it; UFP4_OK whatever its status. There
   * is one to come.
   *  @p timeout_us 0: the backend's own limit only. UFP4_ERROR_TIMEOUT: the time (or
   * options->max_cycles) passed and nothing was taken; it may be tried again. */
  ufp4_status_t (*take)(ufp4_backend_state_t *state, uint64_t timeout_us,
                        ufp4_completion_t *completion);
  /** Slot @p slot < UFP4_SLOTS; UFP4_ERROR_ARGUMENT if it was never written. No job is running. */
  ufp4_status_t (*slot_read)(ufp4_backend_state_t *state, unsigned slot, int *exponent);
  /** Counters since open; all zero without cycles. */
  ufp4_status_t (*counters)(ufp4_backend_state_t *state, uint64_t counters[UFP4_COUNTER_COUNT]);
  /** NULL, or accesses of the core's memories since open. */
  void (*accesses)(const ufp4_backend_state_t *state, uint64_t reads[UFP4_SRAM_COUNT],
                   uint64_t writes[UFP4_SRAM_COUNT]);
  /** NULL, or whether this device too has a contract that its backend has: UFP4_ERROR_UNSUPPORTED,
   * and why not. */
  ufp4_status_t (*check_contract)(ufp4_backend_state_t *state, ufp4_contract_t contract);
  /** Ends every job not taken; none of them will be. Slots are unwritten after it. NULL: there is
   * no such thing. */
  ufp4_status_t (*reset)(ufp4_backend_state_t *state);
  /** Whether device memory is the host's, so that a linear layer gains nothing from descriptors
   * over the two functions below. */
  int in_host_memory;
  /** NULL, or whole operands in the host's memory, as ufp4_quantize and ufp4_gemm; the arguments
   * have been checked, kernel and threads are the device's. */
  ufp4_status_t (*quantize)(ufp4_backend_state_t *state, const ufp4_matrix_t *in,
                            const ufp4_quantize_t *how, ufp4_operand_t *out);
  ufp4_status_t (*gemm)(ufp4_backend_state_t *state, const ufp4_operand_t *a,
                        const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d, int64_t d_ld);
  /** NULL, or the same with operands that stay on the device from their quantization through all of
   * their GEMMs: a linear layer has these rather than the two above, and than descriptors. Fills
   * out[i] with what how[i] makes of @p in, for 1 or 2 copies of one read; what is there already is
   * made anew in its place. kept_read gives an operand of the host's, free with ufp4_operand_free;
   * of copies of one call it needs both. */
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
