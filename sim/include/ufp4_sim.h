// SPDX-License-Identifier: Apache-2.0
// The simulated core: the Verilated RTL of one named configuration, clocked against a memory model.
//
// Time advances only inside the calls below. The caller takes the place of the host: it accesses
// registers and memory, and waits for the interrupt. No call prints or exits. A failed call leaves
// a message (ufp4_sim_message); after UFP4_SIM_FAILED the core's state is undefined and the
// simulator should be closed.
#ifndef UFP4_SIM_H
#define UFP4_SIM_H

#include <stdint.h>

#include "ufp4_timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ufp4_sim ufp4_sim_t;

typedef enum {
  UFP4_SIM_OK = 0,
  UFP4_SIM_LIMIT,   ///< the cycle limit passed before the condition held; the core may be run
                    ///< further
  UFP4_SIM_FAILED,  ///< the core hangs, or violated a rule of its bus
} ufp4_sim_status_t;

/** Options of ufp4_sim_open. */
typedef struct {
  const char
      *configuration;     ///< a named configuration: "small", "default", .. (docs/ip/registers.md)
  uint64_t memory_base;   ///< first byte of memory; a multiple of 4096
  uint64_t memory_bytes;  ///< a multiple of 4096; zero at the start. The bus answers DECERR at all
                          ///< other addresses
  unsigned latency_cycles;   ///< from an accepted address to the first data beat, and from the last
                             ///< write beat to the response
  unsigned bandwidth_bytes;  ///< bytes per cycle in each direction; 0: the bus width
  uint64_t stall_seed;       ///< seed of random back-pressure, response order and initial register
                             ///< values; 0: none
  uint64_t silent_cycle;     ///< fault injection: from this cycle on memory accepts no address and
                             ///< answers nothing; 0: never
  const char *trace_path;    ///< FST file of all signals except those inside the array's cells, or
                             ///< NULL
  const char *dram;   ///< a memory with banks (base/dram.h) behind latency and bandwidth, or NULL
  uint64_t cycle_fs;  ///< cycle time for this memory, in femtoseconds; 0: one nanosecond
  const ufp4_timeline_sink_t *timeline;  ///< receiver of a timeline, which begins at the first
                                         ///< reset; copied. NULL: none
} ufp4_sim_options_t;

/** A bus fault, which happens once. */
typedef enum {
  UFP4_SIM_FAULT_NONE = 0,
  UFP4_SIM_FAULT_READ_SLVERR,   ///< the n-th read beat from now carries SLVERR
  UFP4_SIM_FAULT_READ_DECERR,   ///< the n-th read beat from now carries DECERR
  UFP4_SIM_FAULT_READ_LOST,     ///< the burst of the n-th read beat never arrives from that beat on
  UFP4_SIM_FAULT_WRITE_SLVERR,  ///< the n-th write response from now is SLVERR
  UFP4_SIM_FAULT_WRITE_DECERR,  ///< the n-th write response from now is DECERR
  UFP4_SIM_FAULT_WRITE_LOST,    ///< the n-th write response from now never arrives
} ufp4_sim_fault_t;

/** Returns whether this build simulates a configuration: the default ones, and those named in
 * UFP4_SIMULATE. */
int ufp4_sim_has(const char *configuration);
/** Makes a core that has left reset. @return NULL on failure, with one line in @p message. */
ufp4_sim_t *ufp4_sim_open(const ufp4_sim_options_t *options, char *message, unsigned message_bytes);
void ufp4_sim_close(ufp4_sim_t *sim);
/** Completes the waveform file, if there is one. @return UFP4_SIM_FAILED if the file is
 * incomplete; it has then been removed. */
ufp4_sim_status_t ufp4_sim_trace_end(ufp4_sim_t *sim);
/** Hands the activities under way to the timeline's sink, if there is one, and ends the
 * timeline. */
void ufp4_sim_timeline_end(ufp4_sim_t *sim);
/** Holds the core in reset for eight cycles. Transfers in flight on the bus are dropped; memory
 * keeps its contents. */
ufp4_sim_status_t ufp4_sim_reset(ufp4_sim_t *sim);

/** Accesses a register over AXI4-Lite, which takes a few cycles. */
ufp4_sim_status_t ufp4_sim_register_read(ufp4_sim_t *sim, uint32_t offset, uint32_t *value);
ufp4_sim_status_t ufp4_sim_register_write(ufp4_sim_t *sim, uint32_t offset, uint32_t value);
/** Writes byte i of the register where bit i of @p strobes (0 to 15) is set. */
ufp4_sim_status_t ufp4_sim_register_write_bytes(ufp4_sim_t *sim, uint32_t offset, uint32_t value,
                                                unsigned strobes);

/** Runs until the interrupt is high (at once if it already is), for at most @p limit_cycles. A
 * core whose bus is idle for a million cycles while a job runs has failed; the message then says
 * what it was waiting for. */
ufp4_sim_status_t ufp4_sim_wait_interrupt(ufp4_sim_t *sim, uint64_t limit_cycles);
/** Runs for @p cycles unconditionally. */
ufp4_sim_status_t ufp4_sim_run(ufp4_sim_t *sim, uint64_t cycles);

/** Returns the host's view of memory, which bypasses the bus. @return NULL unless the whole range
 * lies in memory. */
uint8_t *ufp4_sim_memory(ufp4_sim_t *sim, uint64_t address, uint64_t bytes);

/** Makes the bus fail at the @p nth beat or response from now (1: the next). Only one fault is
 * pending at a time: a new one, or UFP4_SIM_FAULT_NONE, replaces it. */
void ufp4_sim_fault(ufp4_sim_t *sim, ufp4_sim_fault_t fault, uint64_t nth);

/** Returns the clock cycles since the core was opened. */
uint64_t ufp4_sim_cycles(const ufp4_sim_t *sim);
/** Returns the reason why the last failed call failed; empty if none failed. */
const char *ufp4_sim_message(const ufp4_sim_t *sim);

#ifdef __cplusplus
}
#endif

#endif
