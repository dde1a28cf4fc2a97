// SPDX-License-Identifier: Apache-2.0
// The simulated core: the Verilated RTL of one named configuration, clocked against a memory model.
//
// Time advances only inside the calls below. The host sees what a host sees: registers, memory, an
// interrupt. No call prints or exits. A call that fails leaves a message (ufp4_sim_message); after
// UFP4_SIM_FAILED the core's state means nothing any more and the simulator should be closed.
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
  UFP4_SIM_LIMIT,   ///< the cycle limit passed before the condition held; the core is as it was, it
                    ///< may be run further
  UFP4_SIM_FAILED,  ///< the core hangs, or broke a rule of its bus
} ufp4_sim_status_t;

/** The options of ufp4_sim_open. */
typedef struct {
  const char
      *configuration;     ///< a named configuration: "small", "default", .. (docs/ip/registers.md)
  uint64_t memory_base;   ///< first byte of memory; a multiple of 4096
  uint64_t memory_bytes;  ///< a multiple of 4096; zero at the start; the bus answers DECERR
                          ///< everywhere else
  unsigned latency_cycles;   ///< from an accepted address to its first data beat, and from the last
                             ///< beat to the answer
  unsigned bandwidth_bytes;  ///< a cycle, each way; 0: as wide as the bus
  uint64_t stall_seed;    ///< random back-pressure, order of answers and start values of registers;
                          ///< 0: none
  uint64_t silent_cycle;  ///< a fault: from this cycle on memory takes no address and answers
                          ///< nothing; 0: never
  const char *trace_path;  ///< FST file of all signals but the inside of the array's cells, or NULL
  const char *dram;   ///< a memory with banks (base/dram.h) behind latency and bandwidth, or NULL
  uint64_t cycle_fs;  ///< the length of a cycle for it, in femtoseconds; 0: a nanosecond
  const ufp4_timeline_sink_t *timeline;  ///< the receiver of a time line, from the first reset on;
                                         ///< copied. NULL: there is none
} ufp4_sim_options_t;

/** A fault of the bus, which happens once. */
typedef enum {
  UFP4_SIM_FAULT_NONE = 0,
  UFP4_SIM_FAULT_READ_SLVERR,   ///< the n-th read beat from now carries SLVERR
  UFP4_SIM_FAULT_READ_DECERR,   ///< DECERR
  UFP4_SIM_FAULT_READ_LOST,     ///< from the n-th read beat on, its burst never comes
  UFP4_SIM_FAULT_WRITE_SLVERR,  ///< the n-th answer to a write from now is SLVERR
  UFP4_SIM_FAULT_WRITE_DECERR,  ///< DECERR
  UFP4_SIM_FAULT_WRITE_LOST,    ///< it never comes
} ufp4_sim_fault_t;

/** Whether this build simulates a configuration: those that every build does, and those that
 * UFP4_SIMULATE named. */
int ufp4_sim_has(const char *configuration);
/** Makes a core that has left reset. @return NULL on failure, with one line in @p message. */
ufp4_sim_t *ufp4_sim_open(const ufp4_sim_options_t *options, char *message, unsigned message_bytes);
void ufp4_sim_close(ufp4_sim_t *sim);
/** Ends the waveform file, if there is one. @return UFP4_SIM_FAILED if it is not whole; it has been
 * removed. */
ufp4_sim_status_t ufp4_sim_trace_end(ufp4_sim_t *sim);
/** Gives what is under way to the sink of the time line, if there is one, which ends here. */
void ufp4_sim_timeline_end(ufp4_sim_t *sim);
/** Holds the core in reset for eight cycles. What is in flight on the bus is forgotten; memory
 * keeps its bytes. */
ufp4_sim_status_t ufp4_sim_reset(ufp4_sim_t *sim);

/** One access to a register over AXI4-Lite; a few cycles. */
ufp4_sim_status_t ufp4_sim_register_read(ufp4_sim_t *sim, uint32_t offset, uint32_t *value);
ufp4_sim_status_t ufp4_sim_register_write(ufp4_sim_t *sim, uint32_t offset, uint32_t value);
/** Writes byte i of the register where bit i of @p strobes (0 to 15) is set. */
ufp4_sim_status_t ufp4_sim_register_write_bytes(ufp4_sim_t *sim, uint32_t offset, uint32_t value,
                                                unsigned strobes);

/** Runs until the interrupt is high (at once if it is), for at most @p limit_cycles. A core that
 * moves nothing on its bus for a million cycles while a job runs has failed: the message then says
 * what it was waiting for. */
ufp4_sim_status_t ufp4_sim_wait_interrupt(ufp4_sim_t *sim, uint64_t limit_cycles);
/** Runs @p cycles, whatever happens. */
ufp4_sim_status_t ufp4_sim_run(ufp4_sim_t *sim, uint64_t cycles);

/** The host's own view of memory, without the bus. @return NULL unless the whole range lies in
 * memory. */
uint8_t *ufp4_sim_memory(ufp4_sim_t *sim, uint64_t address, uint64_t bytes);

/** Lets the bus fail at the @p nth beat or answer from now (1: the next). One fault at a time: a
 * new one, or UFP4_SIM_FAULT_NONE, takes the place of one that has not happened yet. */
void ufp4_sim_fault(ufp4_sim_t *sim, ufp4_sim_fault_t fault, uint64_t nth);

/** Clock cycles since the core was opened. */
uint64_t ufp4_sim_cycles(const ufp4_sim_t *sim);
/** Says why the last call that failed did so; empty if none failed. */
const char *ufp4_sim_message(const ufp4_sim_t *sim);

#ifdef __cplusplus
}
#endif

#endif
