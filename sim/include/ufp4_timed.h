// SPDX-License-Identifier: Apache-2.0
// The timed model: the cycles of a core of one named configuration without its arithmetic, behind
// the calls of ufp4_sim.h.
//
// No ready or valid signal of the core depends on data. This library steps the RTL's control logic
// and the harness's memory, and therefore gives the same cycle for each register access, completion
// and counter; nothing is estimated or fitted.
//
// It holds no memory: it reads descriptors and writes completions through the host's functions, and
// lets the host do each job's work. It does not model faults inside the core, which only the RTL
// does. If a core hangs, a wait for its interrupt returns UFP4_TIMED_FAILED with a message. No call
// prints or exits.
#ifndef UFP4_TIMED_H
#define UFP4_TIMED_H

#include <stdint.h>

#include "ufp4/spec.h"
#include "ufp4_timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ufp4_timed ufp4_timed_t;

/** A memory that several cores share. Bursts that begin in the same cycle are granted round-robin,
 * core by core, as by Ufp4Arbiter. All cores share its bandwidth (reads and writes each), or its
 * banks. A call for one core steps all of them. */
typedef struct ufp4_timed_bus ufp4_timed_bus_t;

typedef enum {
  UFP4_TIMED_OK = 0,
  UFP4_TIMED_LIMIT,   ///< the cycle limit passed before the condition held; the core may be run
                      ///< further
  UFP4_TIMED_FAILED,  ///< the model does not support the request, or a function of the host failed
} ufp4_timed_status_t;

/** A return value of memory_read and memory_write with which the bus answers with an error that
 * the core reports. */
#define UFP4_TIMED_BUS_ERROR 2

/** Functions of the host. A return value that is neither 0 nor allowed by the function's comment
 * makes the call under way fail. */
typedef struct {
  void *user;  ///< handed to each of them

  /** Reads @p bytes at a device address: one descriptor, in the cycle in which its read begins. */
  int (*memory_read)(void *user, uint64_t address, void *data, uint32_t bytes);
  /** Writes one completion, in the cycle in which RING_HEAD counts it. It is not called for a
   * completion whose burst was answered with an error. */
  int (*memory_write)(void *user, uint64_t address, const void *data, uint32_t bytes);
  /**
   * Does the work of a QUANT, AMAX or GEMM on the host's memory; or NULL: only time passes. It is
   * called once for each job that the core has not refused, in the order of the ring, just before
   * memory_write of its completion. Overlapping jobs are done one after the other here; the bits
   * are the same if jobs name their dependencies. A job that ends with a bus error is not executed.
   *  @param slots exponent slots; AMAX writes those that its descriptor names, and the others hold
   * the values of earlier jobs. Registers show new values from then on; the RTL shows them some
   * cycles earlier.
   *  @param completion job, status ok and cycles are set; the host may change status and flags
   */
  int (*execute)(void *user, const uint8_t descriptor[UFP4_DESCRIPTOR_BYTES],
                 uint16_t slots[UFP4_SLOTS], ufp4_completion_t *completion);
  /**
   * Returns whether a burst of @p bytes has no memory behind it and is answered with DECERR; or
   * NULL: no burst is. More than 4096 bytes denote a whole region of a job, and the result says
   * whether any burst in it could fail. If one could, the function is called for each burst, and no
   * cycle is skipped while jobs are under way.
   */
  int (*missing)(void *user, uint64_t address, uint64_t bytes);
} ufp4_timed_host_t;

/** Options of ufp4_timed_open; those with the same names are as in ufp4_sim_options_t. */
typedef struct {
  const char *configuration;
  unsigned latency_cycles;
  unsigned bandwidth_bytes;  ///< bytes per cycle in each direction; 0: the bus width
  uint64_t stall_seed;       ///< seed of random back-pressure, with which no cycle is skipped; 0:
                             ///< none
  /** 1: simulates every cycle, even if the same ones repeat. As with a timeline, the other cores
   * on its bus then skip no cycle either while this core is open. */
  int every_cycle;
  const char *dram;  ///< a memory with banks (base/dram.h), with which no cycle is skipped; or NULL
  uint64_t cycle_fs;  ///< cycle time for this memory, in femtoseconds; 0: one nanosecond
  const ufp4_timeline_sink_t *timeline;  ///< receiver of a timeline, with which no cycle is
                                         ///< skipped; copied. NULL: none
  ufp4_timed_bus_t *bus;  ///< a shared bus that replaces the core's own memory: the latency,
                          ///< bandwidth, back-pressure and banks set here are then ignored; or NULL
} ufp4_timed_options_t;

/** Makes a bus. @p bandwidth_bytes: bytes per cycle in each direction, at least 1, of a memory
 * without banks. @p dram: a memory with banks, as Ufp4Memory has it behind Ufp4Arbiter, with which
 * no cycle is skipped, or NULL. @p cycle_fs: the cycle time for that memory, in femtoseconds, or 0:
 * one nanosecond. @return NULL if memory is exhausted. */
ufp4_timed_bus_t *ufp4_timed_bus_open(unsigned latency_cycles, unsigned bandwidth_bytes,
                                      const char *dram, uint64_t cycle_fs);
/** Closes a bus. All cores on it must have been closed before. */
void ufp4_timed_bus_close(ufp4_timed_bus_t *bus);

/** Makes a core that has left reset. @p host is copied. @return NULL on failure, with one line in
 * @p message. */
ufp4_timed_t *ufp4_timed_open(const ufp4_timed_options_t *options, const ufp4_timed_host_t *host,
                              char *message, unsigned message_bytes);
void ufp4_timed_close(ufp4_timed_t *timed);
/** Hands the activities under way to the timeline's sink, if there is one, and ends the
 * timeline. */
void ufp4_timed_timeline_end(ufp4_timed_t *timed);
/** Holds the core in reset for eight cycles; jobs under way are dropped. */
ufp4_timed_status_t ufp4_timed_reset(ufp4_timed_t *timed);

/** Accesses a register over AXI4-Lite, which takes a few cycles, as many as in the RTL. */
ufp4_timed_status_t ufp4_timed_register_read(ufp4_timed_t *timed, uint32_t offset, uint32_t *value);
ufp4_timed_status_t ufp4_timed_register_write(ufp4_timed_t *timed, uint32_t offset, uint32_t value);

/** Runs until the interrupt is high (at once if it already is), for at most @p limit_cycles. */
ufp4_timed_status_t ufp4_timed_wait_interrupt(ufp4_timed_t *timed, uint64_t limit_cycles);
/** Runs for @p cycles unconditionally. */
ufp4_timed_status_t ufp4_timed_run(ufp4_timed_t *timed, uint64_t cycles);

/** Returns the clock cycles since the core was opened. */
uint64_t ufp4_timed_cycles(const ufp4_timed_t *timed);
/** Returns how many of these cycles were stepped one by one, which determines the run time of the
 * model. */
uint64_t ufp4_timed_stepped(const ufp4_timed_t *timed);
/** Reads how often the core's memories have been read and written since it was opened, indexed by
 * ufp4_sram_t: words of one memory each, without parity memories. */
void ufp4_timed_accesses(const ufp4_timed_t *timed, uint64_t reads[UFP4_SRAM_COUNT],
                         uint64_t writes[UFP4_SRAM_COUNT]);
/** Returns the reason why the last failed call failed; empty if none failed. */
const char *ufp4_timed_message(const ufp4_timed_t *timed);

#ifdef __cplusplus
}
#endif

#endif
