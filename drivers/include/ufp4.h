// SPDX-License-Identifier: Apache-2.0
// The driver: devices, buffers, jobs, and the training GEMMs of a linear layer
// (docs/ip/programmers-guide.md).
#ifndef UFP4_H
#define UFP4_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/combination.h"
#include "ufp4/format.h"
#include "ufp4/gemm.h"
#include "ufp4/matrix.h"
#include "ufp4/panel.h"
#include "ufp4/quantize.h"
#include "ufp4/random.h"
#include "ufp4/recipe.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"
#include "ufp4/version.h"
#include "ufp4_port.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- The library that is loaded ----------------------------------------------------------------

/** Return the version and the structure sizes of the driver's library, as ufp4_version and
 * ufp4_struct_bytes (version.h) do for the golden model's. */
uint32_t ufp4_driver_version(void);
size_t ufp4_driver_struct_bytes(const char *name);

// --- Devices ------------------------------------------------------------------------------------

typedef struct ufp4_device ufp4_device_t;

/** The longest latency of a simulated memory, in cycles. The watchdog stops a core that waits
 * longer. */
#define UFP4_MEM_LATENCY_MAX 100000u
/** The longest core cycle for a simulated memory with dram, in femtoseconds, which is that of 10
 * MHz. */
#define UFP4_CYCLE_FS_MAX 100000000u

/** A memory shared by several timing_only devices of the backend tlm. Bursts that begin in the
 * same cycle are granted round-robin, device by device. All devices share the memory's bandwidth
 * (reads and writes each), or its banks. A call for one device advances the time of all. */
typedef struct ufp4_bus ufp4_bus_t;

/** Makes a shared memory. @p bandwidth: bytes per cycle in each direction, at least 1, if the
 * memory has no banks. @p dram (or NULL) and @p cycle_fs are as in ufp4_device_options_t. @return
 * NULL if memory is exhausted, or if the build has no tlm. */
ufp4_bus_t *ufp4_bus_open(unsigned latency, unsigned bandwidth, const char *dram,
                          uint64_t cycle_fs);
/** Closes a shared memory. All devices on it must have been closed before. */
void ufp4_bus_close(ufp4_bus_t *bus);

/** Options of ufp4_device_open; start from ufp4_device_options_default(). A backend ignores
 * options that do not apply to it. */
typedef struct {
  const char *configuration;  ///< "small", "default", ..: a named configuration of the core
                              ///< (docs/ip/registers.md), or the parameters of one,
                              ///< "rows=8:cols=16:bus=32"; NULL, behind fpga, mmio or a port: the
                              ///< configuration that the core reports
  uint64_t memory_bytes;      ///< size of device memory, unless the backend brings its own
  unsigned mem_latency;       ///< simulated memory: cycles from address to first data, up to
                              ///< UFP4_MEM_LATENCY_MAX
  unsigned mem_bandwidth;     ///< simulated memory: bytes per cycle in each direction; 0: the bus
                              ///< width
  uint64_t stall_seed;        ///< simulated memory: seed of random back-pressure; 0: none
  uint64_t max_cycles;  ///< core: limit in cycles, or ticks of a port, until the next completion;
                        ///< 0: 10^11, behind fpga 15 minutes, behind mmio no limit while the core's
                        ///< cycles count. A call that exceeds the limit returns UFP4_ERROR_TIMEOUT,
                        ///< and its device memory stays allocated until the device is closed
  const char *trace_path;   ///< rtl: waveform file (.fst), or NULL; see ufp4_device_trace_end. The
                            ///< backends systemc refuse it
  unsigned threads;         ///< model, and the data of tlm: number of threads; 0: one per host
                            ///< processor
  ufp4_kernel_t kernel;     ///< model, and the data of tlm: kernel; 0: the fastest
  ufp4_message_t *message;  ///< receives the reason if ufp4_device_open fails, or NULL
  int timing_only;          ///< tlm: 1: only time and counters. Nothing is computed; buffers and
                            ///< exponent slots read as zeros
  const char *timeline_path;  ///< rtl, tlm: file for a timeline of the units' activities in
                              ///< Chrome's trace format (.json), or NULL; see
                              ///< ufp4_device_trace_end. The backends systemc refuse it
  const char *dram;           ///< simulated memory with banks, rows and refresh behind
                              ///< mem_latency: "lpddr5" or "hbm3", or with a number of channels
                              ///< "hbm3:8"; NULL: none
  /** fpga: called during long transfers with the bytes done and the total; the last call of each
   * transfer has done == all. NULL: not called. */
  void (*progress)(void *user, uint64_t done, uint64_t all);
  void *progress_user;
  /** tlm with timing_only: a shared memory that replaces mem_latency and mem_bandwidth, or
   * NULL. */
  ufp4_bus_t *bus;
  /** rtl, tlm: the core's cycle time for a simulated memory with dram, in femtoseconds, up to
   * UFP4_CYCLE_FS_MAX; 0: one nanosecond, the only value that the backends systemc support. */
  uint64_t cycle_fs;
} ufp4_device_options_t;

ufp4_device_options_t ufp4_device_options_default(void);

/** Opens a backend: "model", "rtl", "tlm", "systemc" or "systemc:timed"
 * (docs/howto/virtual-platform.md), "cuda", a board behind a serial port, "fpga:/dev/ttyUSB0" or
 * with its speed "fpga:/dev/ttyUSB0@115200" (docs/howto/fpga.md), or a memory-mapped core,
 * "mmio:/dev/uio0" (docs/howto/mmio.md). Boards and mapped cores bring their own memory, and their
 * ticks are microseconds. On failure *device is NULL. */
ufp4_status_t ufp4_device_open(const char *backend, const ufp4_device_options_t *options,
                               ufp4_device_t **device);
/** Makes a device of the core behind @p port. The port is copied, but its data and its name must
 * live as long as the device. The call checks that the core has options->configuration (NULL: any
 * named one) and this driver's version, resets it by a soft reset and clears its counters. The port
 * provides the memory, so memory_bytes, the options of simulated memory, trace_path and
 * timeline_path are ignored; max_cycles is in the port's ticks. ufp4_device_close calls
 * port->close. If this call fails, port->close is not called and the port remains the caller's.
 *  @return UFP4_ERROR_ARGUMENT: a function or the name is missing, or memory does not start and end
 * at a multiple of 4096, has no more than 12,288 bytes, or reaches beyond the core's addresses;
 * UFP4_ERROR_DEVICE: a call of the port failed, the core is a different one, or its reset does not
 * end. */
ufp4_status_t ufp4_device_open_port(const ufp4_port_t *port, const ufp4_device_options_t *options,
                                    ufp4_device_t **device);
void ufp4_device_close(ufp4_device_t *device);
/** Completes the files named by options->trace_path and options->timeline_path, as closing the
 * device does; the device continues without them. A timeline ends by itself after some 500,000
 * events, and a mapped core may have lost interrupts; ufp4_device_message then says so, and is
 * otherwise empty.
 *  @return UFP4_ERROR_STORAGE if a file could not be written completely; it is then removed. The
 * writer maps files into memory, so a full disk may instead end the process with SIGBUS unless that
 * signal is handled. */
ufp4_status_t ufp4_device_trace_end(ufp4_device_t *device);

/** The properties of an open device. */
typedef struct {
  const char *backend;
  ufp4_configuration_t configuration;
  uint32_t version;
  uint64_t memory_bytes;
  int has_cycles;      ///< 1 if cycles and counters mean anything on this backend
  char hardware[256];  ///< cuda: the GPU and its versions; fpga, mmio: the board; else empty
} ufp4_device_info_t;
ufp4_status_t ufp4_device_info(ufp4_device_t *device, ufp4_device_info_t *info);

/** Performs a soft reset: ends every unfinished job (waiting for it returns UFP4_ERROR_JOB, status
 * cancelled), marks all exponent slots as unwritten, and recovers a device that returned
 * UFP4_ERROR_DEVICE because its watchdog stopped it. Memory and counters are kept, but unfinished
 * jobs may have overwritten part of their output. */
ufp4_status_t ufp4_device_reset(ufp4_device_t *device);

/** Returns a one-line description of this device's last error; empty if there was none. */
const char *ufp4_device_message(const ufp4_device_t *device);

/** Reads the performance counters accumulated since the device was opened, indexed by
 * ufp4_counter_t. */
ufp4_status_t ufp4_device_counters(ufp4_device_t *device, uint64_t counters[UFP4_COUNTER_COUNT]);
/** Reads how often the memories inside the core have been read and written since the device was
 * opened, indexed by ufp4_sram_t, in words of one memory each. UFP4_ERROR_UNSUPPORTED on every
 * backend but tlm. */
ufp4_status_t ufp4_device_accesses(ufp4_device_t *device, uint64_t reads[UFP4_SRAM_COUNT],
                                   uint64_t writes[UFP4_SRAM_COUNT]);

// --- Buffers ------------------------------------------------------------------------------------

/** Allocates device memory. A buffer is identified by its address, which is never 0 and is a
 * multiple of UFP4_ALIGN_BYTES. */
ufp4_status_t ufp4_buffer_alloc(ufp4_device_t *device, uint64_t bytes, uint64_t *address);
void ufp4_buffer_free(ufp4_device_t *device, uint64_t address);
ufp4_status_t ufp4_buffer_write(ufp4_device_t *device, uint64_t address, const void *data,
                                uint64_t bytes);
ufp4_status_t ufp4_buffer_read(ufp4_device_t *device, uint64_t address, void *data, uint64_t bytes);

/** The result of a test of memory. */
typedef struct {
  uint64_t bytes;    ///< bytes that were tested
  uint64_t failed;   ///< wrong words, or bytes
  uint64_t address;  ///< the first wrong address
} ufp4_memory_test_t;

/** Tests device memory: a board runs its own test on all of it, if it has one; otherwise
 * everything but the rings is written and read twice. No job may be running, and the contents of
 * buffers are lost. */
ufp4_status_t ufp4_device_memory_test(ufp4_device_t *device, ufp4_memory_test_t *result);

// --- Jobs ---------------------------------------------------------------------------------------

/** Queues one job and returns its number, which replaces the one in the descriptor's header. Jobs
 * run in order. */
ufp4_status_t ufp4_submit(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                          uint32_t *job);
/** Waits until @p job has ended and returns its completion (may be NULL). A completion is kept
 * until 256 more jobs have ended. @p timeout_us 0: only the device's own cycle limit applies.
 * UFP4_ERROR_JOB: it ended with a status other than ok; the device keeps serving. */
ufp4_status_t ufp4_wait(ufp4_device_t *device, uint32_t job, uint64_t timeout_us,
                        ufp4_completion_t *completion);
/** Reads exponent slot @p slot of the core. */
ufp4_status_t ufp4_slot_read(ufp4_device_t *device, unsigned slot, int *exponent);

// --- Whole operands -----------------------------------------------------------------------------

/** Cycles and counters of one call, all zero on a backend without cycles; utilization is based on
 * M*N*K MACs. */
typedef struct {
  int64_t m, n, k;
  uint64_t cycles;                        ///< of the GEMM job
  uint64_t quantize_cycles;               ///< of the AMAX and QUANT jobs charged to this call
  uint64_t counters[UFP4_COUNTER_COUNT];  ///< difference over the GEMM job
} ufp4_gemm_stats_t;

/** Tells whether a core's engine quantized a tensor and how long it took; all zero if none did. */
typedef struct {
  int on_core;                            ///< 1: the core's QUANT engine
  uint64_t amax_cycles, quant_cycles;     ///< cycles of the AMAX job (0: none was needed) and of
                                          ///< the QUANT job
  uint64_t counters[UFP4_COUNTER_COUNT];  ///< difference over both jobs
  ufp4_message_t why;                     ///< why the host quantized instead of the core; else
                                          ///< empty
} ufp4_quantize_stats_t;

/** The functions below do on the device what ufp4_quantize and ufp4_gemm do, with operands in host
 * memory, for every combination that ufp4_combination_quantize and ufp4_combination_gemm allow on
 * this backend. Threads and kernel are the device's, not those of @p how. A core's engine quantizes
 * by descriptors, with AMAX writing exponent slot UFP4_LAYER_SLOTS. The host takes over, with the
 * same bits, if ufp4_quantize_on_core refuses or device memory is too small. @p stats may be NULL.
 * UFP4_ERROR_UNSUPPORTED: the backend does not have this combination. */
ufp4_status_t ufp4_device_quantize(ufp4_device_t *device, const ufp4_matrix_t *in,
                                   const ufp4_quantize_t *how, ufp4_operand_t *out);
/** Quantizes like ufp4_device_quantize, and reports where the tensor was quantized. */
ufp4_status_t ufp4_device_quantize_stats(ufp4_device_t *device, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out,
                                         ufp4_quantize_stats_t *stats);
/** Checks whether the engine of a core of this configuration can quantize by @p how.
 * UFP4_ERROR_UNSUPPORTED: only the host can, for the reason in @p why (or NULL).
 * UFP4_ERROR_ARGUMENT: illegal everywhere. */
ufp4_status_t ufp4_quantize_on_core(const ufp4_quantize_t *how,
                                    const ufp4_configuration_t *configuration, ufp4_message_t *why);
ufp4_status_t ufp4_device_gemm(ufp4_device_t *device, const ufp4_operand_t *a,
                               const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                               int64_t d_ld, ufp4_gemm_stats_t *stats);

// --- Recipes ------------------------------------------------------------------------------------

/** Reads a recipe from a JSON file (docs/reference/files.md, "Recipes"). */
ufp4_status_t ufp4_recipe_read(const char *path, ufp4_recipe_t *recipe, ufp4_message_t *message);
/** Returns all settings of a recipe as such a JSON object, in one line: two recipes are equal if
 * their texts are equal. A recipe that does not quantize has "operands" instead. Release it with
 * free; NULL if memory is exhausted. */
char *ufp4_recipe_text(const ufp4_recipe_t *recipe);
/** Checks whether a core of this configuration runs all of @p passes (a bit per ufp4_pass_t) by
 * descriptors: AMAX, QUANT and GEMM. UFP4_ERROR_UNSUPPORTED: the host has to do a part, for the
 * reason in @p why (or NULL). */
ufp4_status_t ufp4_recipe_on_core(const ufp4_recipe_t *recipe, unsigned passes,
                                  const ufp4_configuration_t *configuration, ufp4_message_t *why);

// --- The training GEMMs of a linear layer -------------------------------------------------------

typedef struct ufp4_linear ufp4_linear_t;

/** Loading a layer's tensor writes this exponent slot and the next one, so a caller's own jobs
 * should use other slots. */
#define UFP4_LAYER_SLOTS 62u

/** X [tokens][cin], W [cout][cin], dY [tokens][cout]. */
typedef struct {
  int64_t tokens, cin, cout;
  unsigned layer;  ///< enters the random bytes (0..4095)
  uint64_t seed;
  unsigned passes;  ///< the GEMMs that will be run, a bit per ufp4_pass_t
} ufp4_linear_shape_t;

/** Creates a linear layer and allocates its buffers on the device. On the model, and with a recipe
 * that no descriptor can express, the layer instead processes whole operands in host memory.
 * Descriptors can express E4M3 scales for blocks of one row, with the integer RHT or none; E8M0
 * scales without RHT; equal rounding of both copies of a tensor; no requantization; and the
 * configuration's contract. UFP4_ERROR_ARGUMENT: invalid sizes, or the recipe has bf16_layers,
 * which ufp4_recipe_of_layer removes. UFP4_ERROR_UNSUPPORTED: the backend does not support the
 * recipe. UFP4_ERROR_MEMORY: the layer does not fit device memory. */
ufp4_status_t ufp4_linear_create(ufp4_device_t *device, const ufp4_linear_shape_t *shape,
                                 const ufp4_recipe_t *recipe, ufp4_linear_t **linear);
/** Returns 1 if the device multiplies for this layer but the host quantizes. */
int ufp4_linear_quantizes_on_host(const ufp4_linear_t *linear);
/** Returns whether the operands of @p pass are quantized; otherwise the host runs that GEMM. */
int ufp4_linear_quantizes(const ufp4_linear_t *linear, ufp4_pass_t pass);
void ufp4_linear_free(ufp4_linear_t *linear);
/** Uploads a tensor and quantizes the copies that the passes need by AMAX and QUANT, each of which
 * reads the tensor once. @p step, below 2^48, enters the tensor id and the signs that are drawn for
 * each step, so both operands of a pass must be loaded with the same step. */
ufp4_status_t ufp4_linear_load(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor,
                               uint64_t step);
/** Runs one GEMM on loaded operands and reads D back as FP32 [m][ld]; @p stats may be NULL. */
ufp4_status_t ufp4_linear_run(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld,
                              ufp4_gemm_stats_t *stats);
/** Reads a quantized copy back from the device for comparison; free it with ufp4_operand_free. */
ufp4_status_t ufp4_linear_operand(ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis,
                                  ufp4_operand_t *out);

/** Y [tokens][cout] = X W^T: loads x and w, runs FPROP. */
ufp4_status_t ufp4_linear_fprop(ufp4_linear_t *linear, const ufp4_matrix_t *x,
                                const ufp4_matrix_t *w, uint64_t step, float *y,
                                ufp4_gemm_stats_t *stats);
/** dX [tokens][cin] = dY W, with the W of the last fprop: loads dy, runs DGRAD. */
ufp4_status_t ufp4_linear_dgrad(ufp4_linear_t *linear, const ufp4_matrix_t *dy, uint64_t step,
                                float *dx, ufp4_gemm_stats_t *stats);
/** dW [cout][cin] = dY^T X, with the X of the last fprop and the dY of the last dgrad: runs
 * WGRAD. */
ufp4_status_t ufp4_linear_wgrad(ufp4_linear_t *linear, float *dw, ufp4_gemm_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
