// SPDX-License-Identifier: Apache-2.0
// The timed model: a core of one named configuration as its cycles alone, with the calls of
// ufp4_sim.h.
//
// No ready or valid of the core depends on data. This library steps what is left of the RTL without
// them, and the harness's memory, and so gives the same cycle for each register access, completion
// and counter; nothing is estimated, nothing was fitted. It holds no memory: it reads descriptors
// and writes completions through the host's functions, and lets the host do each job's work.
//
// It does not model faults inside the core, which only the RTL shows. A core that hangs makes a
// wait for its interrupt fail with UFP4_TIMED_FAILED and a message that says so. No call prints or
// exits.
#ifndef UFP4_TIMED_H
#define UFP4_TIMED_H

#include <stdint.h>

#include "ufp4/spec.h"
#include "ufp4_timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ufp4_timed ufp4_timed_t;

/** A memory that several cores share. Bursts that begin in the same cycle are granted in turn, core
 * by core, as Ufp4Arbiter does; the data of all share its width, reads and writes each, or its
 * banks. The cores on it go on together: a call for one steps all. */
typedef struct ufp4_timed_bus ufp4_timed_bus_t;

typedef enum {
  UFP4_TIMED_OK = 0,
  UFP4_TIMED_LIMIT,   ///< the cycle limit passed before the condition held; it may be run further
  UFP4_TIMED_FAILED,  ///< the model does not have what was asked, or a function of the host failed
} ufp4_timed_status_t;

/** memory_read and memory_write may return this: the bus then answers with an error, which the core
 * reports. */
#define UFP4_TIMED_BUS_ERROR 2

/** The functions of the host. One that returns anything but 0, or what its comment allows, makes
 * the call under way fail.
 */
typedef struct {
  void *user;  ///< handed to each of them

  /** The @p bytes at a device address: one descriptor, in the cycle in which its read begins. */
  int (*memory_read)(void *user, uint64_t address, void *data, uint32_t bytes);
  /** One completion, in the cycle in which RING_HEAD counts it; not one whose burst was answered
   * with an error. */
  int (*memory_write)(void *user, uint64_t address, const void *data, uint32_t bytes);
  /**
   * Does a QUANT's, AMAX's or GEMM's work on the host's memory; or NULL: time alone.
   *
   * Called once for each job that the core has not refused, in the order of the ring, just before
   * memory_write of its completion. Jobs that overlapped are done one after the other here: those
   * that name what they depend on have the same bits.
   * @param slots exponent slots; AMAX writes those that its descriptor names, the others are as
   * earlier jobs left them. A register shows them from then on, not some cycles before as the RTL's
   * does. A job that ends with an error of the bus is not executed.
   * @param completion job, status ok and cycles are set; status and flags are the host's to change
   */
  int (*execute)(void *user, const uint8_t descriptor[UFP4_DESCRIPTOR_BYTES],
                 uint16_t slots[UFP4_SLOTS], ufp4_completion_t *completion);
  /**
   * Whether a burst of so many bytes is answered with DECERR, since there is no memory; or NULL:
   * none is. More than 4096 bytes are a region of a job: it then says whether a burst in there may
   * be. If one may, it is asked for each burst, and no cycle is skipped, while jobs are under way.
   */
  int (*missing)(void *user, uint64_t address, uint64_t bytes);
} ufp4_timed_host_t;

/** The options of ufp4_timed_open; those of the same names are as in ufp4_sim_options_t. */
typedef struct {
  const char *configuration;
  unsigned latency_cycles;
  unsigned bandwidth_bytes;  ///< a cycle, each way; 0: as wide as the bus
  uint64_t stall_seed;       ///< of random back-pressure, with which no cycle is skipped; 0: none
  /** 1: no cycle is skipped, however often the same ones come again. As with a time line, no cycle
   * of the other cores on its bus is skipped either, while it is there. */
  int every_cycle;
  const char *dram;  ///< a memory with banks (base/dram.h), with which no cycle is skipped; or NULL
  uint64_t cycle_fs;  ///< the length of a cycle for it, in femtoseconds; 0: a nanosecond
  const ufp4_timeline_sink_t *timeline;  ///< the receiver of a time line, with which no cycle is
                                         ///< skipped; copied. NULL: there is none
  ufp4_timed_bus_t *bus;  ///< the bus whose latency and bandwidth hold, without back-pressure and
                          ///< banks, in the place of a memory of its own; or NULL
} ufp4_timed_options_t;

/** Makes a bus. @p bandwidth_bytes: what a memory without banks moves in a cycle, each way, at
 * least 1. @p dram: a memory with banks, as Ufp4Memory has it behind Ufp4Arbiter, with which no
 * cycle is skipped, or NULL. @p cycle_fs: the length of a cycle for that memory, in femtoseconds,
 * or 0: a nanosecond.
 * @return NULL without memory */
ufp4_timed_bus_t *ufp4_timed_bus_open(unsigned latency_cycles, unsigned bandwidth_bytes,
                                      const char *dram, uint64_t cycle_fs);
/** Closes it. All cores that are on it must have been closed before. */
void ufp4_timed_bus_close(ufp4_timed_bus_t *bus);

/** Whether the timed model has this configuration. */
int ufp4_timed_has(const char *configuration);
/** Makes a core that has left reset. @p host is copied. @return NULL on failure, with one line in
 * @p message. */
ufp4_timed_t *ufp4_timed_open(const ufp4_timed_options_t *options, const ufp4_timed_host_t *host,
                              char *message, unsigned message_bytes);
void ufp4_timed_close(ufp4_timed_t *timed);
/** Gives what is under way to the sink of the time line, if there is one, which ends here. */
void ufp4_timed_timeline_end(ufp4_timed_t *timed);
/** Holds the core in reset for eight cycles; jobs under way are forgotten. */
ufp4_timed_status_t ufp4_timed_reset(ufp4_timed_t *timed);

/** One access to a register over AXI4-Lite; a few cycles, the same as the RTL's. */
ufp4_timed_status_t ufp4_timed_register_read(ufp4_timed_t *timed, uint32_t offset, uint32_t *value);
ufp4_timed_status_t ufp4_timed_register_write(ufp4_timed_t *timed, uint32_t offset, uint32_t value);

/** Runs until the interrupt is high (at once if it is), for at most @p limit_cycles. */
ufp4_timed_status_t ufp4_timed_wait_interrupt(ufp4_timed_t *timed, uint64_t limit_cycles);
/** Runs @p cycles, whatever happens. */
ufp4_timed_status_t ufp4_timed_run(ufp4_timed_t *timed, uint64_t cycles);

/** Clock cycles since the core was opened. */
uint64_t ufp4_timed_cycles(const ufp4_timed_t *timed);
/** The cycles of these that were stepped one by one, with which the model's own time grows. */
uint64_t ufp4_timed_stepped(const ufp4_timed_t *timed);
/** How often its memories have been read and written since it was opened, by ufp4_sram_t: words of
 * one memory each, without those of parity. */
void ufp4_timed_accesses(const ufp4_timed_t *timed, uint64_t reads[UFP4_SRAM_COUNT],
                         uint64_t writes[UFP4_SRAM_COUNT]);
/** Says why the last call that failed did so; empty if none failed. */
const char *ufp4_timed_message(const ufp4_timed_t *timed);

#ifdef __cplusplus
}
#endif

#endif
