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

/** The version of the driver's library and the sizes of its structures, as ufp4_version and
 * ufp4_struct_bytes (version.h) give those of the golden model's. */
uint32_t ufp4_driver_version(void);
size_t ufp4_driver_struct_bytes(const char *name);

// --- Devices ------------------------------------------------------------------------------------

typedef struct ufp4_device ufp4_device_t;

/** The longest latency of a simulated memory, in cycles: a core that waits for longer is stopped by
 * its watchdog. */
#define UFP4_MEM_LATENCY_MAX 100000u
/** The longest cycle of a core to a memory with dram, in femtoseconds: that of 10 MHz. */
#define UFP4_CYCLE_FS_MAX 100000000u

/** A memory that several devices of the backend tlm share, timing_only: bursts that begin in the
 * same cycle are granted in turn, device by device, and the data of all share its width, reads and
 * writes each, or its banks. Time goes on for all of them together, in every call for one. */
typedef struct ufp4_bus ufp4_bus_t;

/** Makes a shared memory. @p bandwidth: what it moves in a cycle without banks, in bytes each way,
 * at least 1. @p dram (or NULL) and @p cycle_fs are as in ufp4_device_options_t. @return NULL
 * without memory, or where a build has no tlm */
ufp4_bus_t *ufp4_bus_open(unsigned latency, unsigned bandwidth, const char *dram,
                          uint64_t cycle_fs);
/** Closes it. All devices that are on it must have been closed before. */
void ufp4_bus_close(ufp4_bus_t *bus);

/** Options of ufp4_device_open; start from ufp4_device_options_default(). A backend ignores what it
 * has no use for. */
typedef struct {
  const char *configuration;  ///< "small", "default", ..: the core's named configuration
                              ///< (docs/ip/registers.md), or the parameters of one,
                              ///< "rows=8:cols=16:bus=32"; NULL, behind fpga, mmio or a
                              ///< port: its own
  uint64_t memory_bytes;      ///< size of device memory, where there is none yet
  unsigned mem_latency;       ///< simulated memory: cycles from address to first data, up to
                              ///< UFP4_MEM_LATENCY_MAX
  unsigned mem_bandwidth;     ///< simulated memory: bytes a cycle, each way; 0: as wide as the bus
  uint64_t stall_seed;        ///< simulated memory: seed of random back-pressure; 0: none
  uint64_t max_cycles;  ///< core: cycles, or ticks of a port, until the next completion; 0: 10^11,
                        ///< behind fpga 15 minutes, behind mmio no limit while the core's cycles
                        ///< count. A call that has waited so long gives
                        ///< UFP4_ERROR_TIMEOUT, and what it has of the device's memory stays taken
                        ///< until the device is closed
  const char *trace_path;   ///< rtl: waveform file (.fst), or NULL; see ufp4_device_trace_end. The
                            ///< backends systemc refuse it
  unsigned threads;         ///< model, and the data of tlm: threads; 0: all cores
  ufp4_kernel_t kernel;     ///< model, and the data of tlm: 0: the fastest
  ufp4_message_t *message;  ///< where ufp4_device_open says why it failed, or NULL
  int timing_only;          ///< tlm: 1: time and counters alone. Nothing is computed, buffers and
                            ///< exponent slots read as zeros
  const char *timeline_path;  ///< rtl, tlm: what each unit is at, as a file in Chrome's trace
                              ///< format (.json), or NULL; see ufp4_device_trace_end. The backends
                              ///< systemc refuse it
  const char *dram;           ///< simulated memory: "lpddr5" or "hbm3", or with so many channels
                              ///< "hbm3:8", whose banks, rows and refresh take their time behind
                              ///< mem_latency; NULL: it has none
  /** fpga: is called during long transfers, with the bytes that are done and those of all; the last
   * call of each has done == all. NULL: nothing is called. */
  void (*progress)(void *user, uint64_t done, uint64_t all);
  void *progress_user;
  /** tlm with timing_only: a shared memory, which takes the place of mem_latency and mem_bandwidth;
   * or NULL. */
  ufp4_bus_t *bus;
  /** rtl, tlm: the length of a cycle of the core for a simulated memory with dram, in femtoseconds,
   * up to UFP4_CYCLE_FS_MAX; 0: a nanosecond, the only length that the backends systemc have. */
  uint64_t cycle_fs;
} ufp4_device_options_t;

ufp4_device_options_t ufp4_device_options_default(void);

/** Opens "model", "rtl", "tlm", "systemc" or "systemc:timed" (docs/howto/virtual-platform.md),
 * "cuda", or a board behind a serial port, "fpga:/dev/ttyUSB0" or with a speed
 * "fpga:/dev/ttyUSB0@115200" (docs/howto/fpga.md), or a core that is mapped, "mmio:/dev/uio0"
 * (docs/howto/mmio.md). The last two bring memory of their own, and their ticks are microseconds.
 * On failure *device is NULL. */
ufp4_status_t ufp4_device_open(const char *backend, const ufp4_device_options_t *options,
                               ufp4_device_t **device);
/** Makes a device of the core behind @p port, which is copied; its data and its name live as long
 * as the device. The core is asked whether it is of options->configuration (NULL: of any
 * that has a name) and of this driver's version, soft-reset, and has its counters cleared. Memory
 * is the port's: of @p options its size, those of simulated memory, trace_path and timeline_path
 * have no meaning here; max_cycles is in the port's ticks. ufp4_device_close calls port->close;
 * when this call fails, it is not called: the port is still the caller's.
 *  @return UFP4_ERROR_ARGUMENT: a function or the name is missing, memory does not start or end at
 * a multiple of 4096, has no more than 12,288 bytes, or reaches beyond the addresses of the core;
 * UFP4_ERROR_DEVICE: a call of the port failed, it is another core, or its reset does not end. */
ufp4_status_t ufp4_device_open_port(const ufp4_port_t *port, const ufp4_device_options_t *options,
                                    ufp4_device_t **device);
void ufp4_device_close(ufp4_device_t *device);
/** Ends the files that options->trace_path and options->timeline_path named, as closing does; the
 * device goes on without them. A time line ends by itself after some 500,000 events, and interrupts
 * of a mapped core may have been lost; ufp4_device_message then says so, and is otherwise empty.
 *  @return UFP4_ERROR_STORAGE if it could not be written whole: what there is of it is removed. The
 * writer maps files into memory, so a disk that fills up may instead end the process with SIGBUS,
 * unless that is handled. */
ufp4_status_t ufp4_device_trace_end(ufp4_device_t *device);

/** The device's report of itself. */
typedef struct {
  const char *backend;
  ufp4_configuration_t configuration;
  uint32_t version;
  uint64_t memory_bytes;
  int has_cycles;      ///< 1 if cycles and counters mean anything on this backend
  char hardware[256];  ///< cuda: the GPU and its versions; fpga, mmio: the board; else empty
} ufp4_device_info_t;
ufp4_status_t ufp4_device_info(ufp4_device_t *device, ufp4_device_info_t *info);

/** Soft reset: ends every job that has not ended (a wait for it gives UFP4_ERROR_JOB, status
 * cancelled), makes all exponent slots unwritten, and brings back a device that has returned
 * UFP4_ERROR_DEVICE because its watchdog stopped it. Memory stays, but for what the jobs that were
 * ended had written of their output; so do the counters. */
ufp4_status_t ufp4_device_reset(ufp4_device_t *device);

/** A one-line description of the last error of this device; empty if there was none. */
const char *ufp4_device_message(const ufp4_device_t *device);

/** Reads the performance counters since the device was opened, by ufp4_counter_t. */
ufp4_status_t ufp4_device_counters(ufp4_device_t *device, uint64_t counters[UFP4_COUNTER_COUNT]);
/** How often the memories inside the core have been read and written since then, by ufp4_sram_t:
 * words of one memory each. The backend tlm alone counts them, others give UFP4_ERROR_UNSUPPORTED.
 */
ufp4_status_t ufp4_device_accesses(ufp4_device_t *device, uint64_t reads[UFP4_SRAM_COUNT],
                                   uint64_t writes[UFP4_SRAM_COUNT]);

// --- Buffers ------------------------------------------------------------------------------------

/** Allocates device memory. A buffer is its address, which is never 0 and is a multiple of
 * UFP4_ALIGN_BYTES. */
ufp4_status_t ufp4_buffer_alloc(ufp4_device_t *device, uint64_t bytes, uint64_t *address);
void ufp4_buffer_free(ufp4_device_t *device, uint64_t address);
ufp4_status_t ufp4_buffer_write(ufp4_device_t *device, uint64_t address, const void *data,
                                uint64_t bytes);
ufp4_status_t ufp4_buffer_read(ufp4_device_t *device, uint64_t address, void *data, uint64_t bytes);

/** The result of a test of memory. */
typedef struct {
  uint64_t bytes;    ///< bytes that were tested
  uint64_t failed;   ///< words, or bytes, that were wrong
  uint64_t address;  ///< of the first that was wrong
} ufp4_memory_test_t;

/** Tests device memory: all of it by the board's own test where the device is a board that has one,
 * else all but the rings by writing and reading it twice. No job may run; what buffers hold is
 * lost. */
ufp4_status_t ufp4_device_memory_test(ufp4_device_t *device, ufp4_memory_test_t *result);

// --- Jobs ---------------------------------------------------------------------------------------

/** Queues one job and returns its number, which stands in for that of the header. Jobs run in
 * order. */
ufp4_status_t ufp4_submit(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                          uint32_t *job);
/** Waits until @p job has ended and gives its completion (may be NULL). A completion is kept until
 * 256 more jobs have ended. @p timeout_us 0: no limit but the device's own cycle limit.
 * UFP4_ERROR_JOB if it ended with a status other than ok: the device keeps serving. */
ufp4_status_t ufp4_wait(ufp4_device_t *device, uint32_t job, uint64_t timeout_us,
                        ufp4_completion_t *completion);
/** Reads exponent slot @p slot. */
ufp4_status_t ufp4_slot_read(ufp4_device_t *device, unsigned slot, int *exponent);

// --- Whole operands -----------------------------------------------------------------------------

/** Cycles and counters of one call, all zero on a backend without cycles; util counts M*N*K useful
 * MACs. */
typedef struct {
  int64_t m, n, k;
  uint64_t cycles;                        ///< of the GEMM job
  uint64_t quantize_cycles;               ///< of the AMAX and QUANT jobs charged to this call
  uint64_t counters[UFP4_COUNTER_COUNT];  ///< difference over the GEMM job
} ufp4_gemm_stats_t;

/** Who quantized, and how long it took: all zero where it was no core's engine. */
typedef struct {
  int on_core;                            ///< 1: the core's QUANT engine did
  uint64_t amax_cycles, quant_cycles;     ///< of the jobs AMAX (0: none was needed) and QUANT
  uint64_t counters[UFP4_COUNTER_COUNT];  ///< difference over both
  ufp4_message_t why;                     ///< why the host did it in the place of a core; else
                                          ///< empty
} ufp4_quantize_stats_t;

/** These do on the device what ufp4_quantize and ufp4_gemm do, with operands in the host's memory:
 * everything that the tables of ufp4_combination_quantize and ufp4_combination_gemm give this
 * backend. The device's own threads and kernel hold, not those of @p how. A core's engine quantizes
 * by descriptors, with AMAX to exponent slot UFP4_LAYER_SLOTS. The host does what
 * ufp4_quantize_on_core refuses, and what device memory has no room for, with the same bits. @p
 * stats may be NULL. UFP4_ERROR_UNSUPPORTED: the backend does not have this combination. */
ufp4_status_t ufp4_device_quantize(ufp4_device_t *device, const ufp4_matrix_t *in,
                                   const ufp4_quantize_t *how, ufp4_operand_t *out);
/** Does the same, and says who quantized. */
ufp4_status_t ufp4_device_quantize_stats(ufp4_device_t *device, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out,
                                         ufp4_quantize_stats_t *stats);
/** Whether the engine of a core of this configuration quantizes so. UFP4_ERROR_UNSUPPORTED: the
 * host has to, for the reason in @p why (or NULL). UFP4_ERROR_ARGUMENT: nobody can. */
ufp4_status_t ufp4_quantize_on_core(const ufp4_quantize_t *how,
                                    const ufp4_configuration_t *configuration, ufp4_message_t *why);
ufp4_status_t ufp4_device_gemm(ufp4_device_t *device, const ufp4_operand_t *a,
                               const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                               int64_t d_ld, ufp4_gemm_stats_t *stats);

// --- Recipes ------------------------------------------------------------------------------------

/** Reads a recipe of one's own, a JSON file (docs/reference/files.md, "Recipes"). */
ufp4_status_t ufp4_recipe_read(const char *path, ufp4_recipe_t *recipe, ufp4_message_t *message);
/** All settings of a recipe as the JSON object that such a file holds, in one line: equal texts are
 * equal recipes. One that does not quantize has "operands" instead. To be freed with free; NULL
 * without memory. */
char *ufp4_recipe_text(const ufp4_recipe_t *recipe);
/** Whether a core of this configuration does all of @p passes (a bit per ufp4_pass_t) by
 * descriptors: AMAX, QUANT and GEMM. UFP4_ERROR_UNSUPPORTED, and why, in @p why (or NULL), where
 * the host has to do part of it. */
ufp4_status_t ufp4_recipe_on_core(const ufp4_recipe_t *recipe, unsigned passes,
                                  const ufp4_configuration_t *configuration, ufp4_message_t *why);

// --- The training GEMMs of a linear layer -------------------------------------------------------

typedef struct ufp4_linear ufp4_linear_t;

/** Loading a layer's tensor writes this exponent slot and the next one: jobs of one's own should
 * name others. */
#define UFP4_LAYER_SLOTS 62u

/** X [tokens][cin], W [cout][cin], dY [tokens][cout]. */
typedef struct {
  int64_t tokens, cin, cout;
  unsigned layer;  ///< for the random bytes (0..4095)
  uint64_t seed;
  unsigned passes;  ///< bit per ufp4_pass_t: which GEMMs will be asked for
} ufp4_linear_shape_t;

/** Allocates the layer's buffers on the device. On the model, and with a recipe that no descriptor
 * can express, it goes by whole operands, in the host's memory. Descriptors have E4M3 scales for
 * blocks of one row with the integer RHT or none, E8M0 scales without it, copies of a tensor that
 * round alike, nothing requantized, and the contract of the configuration. UFP4_ERROR_ARGUMENT:
 * bf16_layers, which ufp4_recipe_of_layer takes out. UFP4_ERROR_UNSUPPORTED: this backend does not
 * have what the recipe asks for. UFP4_ERROR_MEMORY: the layer does not fit its memory. */
ufp4_status_t ufp4_linear_create(ufp4_device_t *device, const ufp4_linear_shape_t *shape,
                                 const ufp4_recipe_t *recipe, ufp4_linear_t **linear);
/** 1 if the device multiplies for this layer but does not quantize: the host does. */
int ufp4_linear_quantizes_on_host(const ufp4_linear_t *linear);
/** Whether the operands of @p pass are quantized; otherwise it is a GEMM on the host. */
int ufp4_linear_quantizes(const ufp4_linear_t *linear, ufp4_pass_t pass);
void ufp4_linear_free(ufp4_linear_t *linear);
/** Uploads a tensor and quantizes the copies that the passes need: AMAX, then QUANT, one read each.
 * @p step, below 2^48, enters the tensor id and the signs that are drawn for each step: both
 * operands of a pass must then have the same. */
ufp4_status_t ufp4_linear_load(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor,
                               uint64_t step);
/** Runs one GEMM on loaded operands and reads D back, FP32 [m][ld]; @p stats may be NULL. */
ufp4_status_t ufp4_linear_run(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld,
                              ufp4_gemm_stats_t *stats);
/** Reads a quantized copy back from the device, for comparison; free it with ufp4_operand_free. */
ufp4_status_t ufp4_linear_operand(ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis,
                                  ufp4_operand_t *out);

/** Y [tokens][cout] = X W^T: load x, load w, run. */
ufp4_status_t ufp4_linear_fprop(ufp4_linear_t *linear, const ufp4_matrix_t *x,
                                const ufp4_matrix_t *w, uint64_t step, float *y,
                                ufp4_gemm_stats_t *stats);
/** dX [tokens][cin] = dY W, with the W of the last fprop: load dy, run. */
ufp4_status_t ufp4_linear_dgrad(ufp4_linear_t *linear, const ufp4_matrix_t *dy, uint64_t step,
                                float *dx, ufp4_gemm_stats_t *stats);
/** dW [cout][cin] = dY^T X, with the X of the last fprop and the dY of the last dgrad: run. */
ufp4_status_t ufp4_linear_wgrad(ufp4_linear_t *linear, float *dw, ufp4_gemm_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
