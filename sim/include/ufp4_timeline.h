// SPDX-License-Identifier: Apache-2.0
// The timeline: the activity of each unit of a core, cycle by cycle. The simulated core
// (ufp4_sim.h) and the timed model (ufp4_timed.h) produce the same one.
#ifndef UFP4_TIMELINE_H
#define UFP4_TIMELINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  UFP4_TRACK_COMMAND,  ///< the command unit
  UFP4_TRACK_QUANT,    ///< the QUANT engine: QUANT and AMAX
  UFP4_TRACK_LOAD,     ///< load of the GEMM engine: memory to operand memories
  UFP4_TRACK_ARRAY,    ///< the array
  UFP4_TRACK_DRAIN,    ///< drain: sums to memory
  UFP4_TRACK_READ,     ///< data beats on AXI
  UFP4_TRACK_WRITE,
  UFP4_TRACK_COUNT,
} ufp4_track_t;

#define UFP4_TRACK_NAMES \
  {"command", "QUANT", "GEMM load", "GEMM array", "GEMM drain", "AXI read", "AXI write"}

/** Activities of a unit. An event never has the activity NONE. */
typedef enum {
  UFP4_AT_NONE,
  UFP4_AT_FETCH,     ///< command: a descriptor is read
  UFP4_AT_CHECK,     ///< the descriptor's rules and regions are checked
  UFP4_AT_OFFER,     ///< the job waits for its engine's queue, or without overlap for all jobs
  UFP4_AT_COMPLETE,  ///< a completion is written
  UFP4_AT_AMAX,      ///< QUANT, by opcode: numbers go in
  UFP4_AT_QUANT,
  UFP4_AT_START,          ///< the descriptor is decoded
  UFP4_AT_LAST_BLOCKS,    ///< all numbers are in, and the last blocks are processed
  UFP4_AT_LOAD,           ///< load: beats are under way
  UFP4_AT_ASK,            ///< a request waits for the bus
  UFP4_AT_BUSY,           ///< array: it is being fed
  UFP4_AT_DRAIN,          ///< drain: sums go out
  UFP4_AT_BEAT_COMMAND,   ///< AXI: a data beat moves, of a descriptor or a completion
  UFP4_AT_BEAT_OPERANDS,  ///< codes or scales
  UFP4_AT_BEAT_ADDEND,    ///< C or earlier sums
  UFP4_AT_BEAT_QUANT,     ///< QUANT's source or result
  UFP4_AT_BEAT_D,         ///< D
  UFP4_AT_STALL_JOB,      ///< an engine's next job waits for a job it depends on
  UFP4_AT_STALL_SOURCE,   ///< QUANT: no input has arrived
  UFP4_AT_STALL_OUTPUT,   ///< QUANT: codes wait to be written
  UFP4_AT_STALL_ANSWER,   ///< the last writes have not been answered
  UFP4_AT_STALL_FULL,     ///< load: both operand memories are full
  UFP4_AT_STALL_OPERAND,  ///< array: as the counters of these names
  UFP4_AT_STALL_PANEL,    ///< also load: QUANT has not written the panel yet
  UFP4_AT_STALL_ACCUMULATOR,
  UFP4_AT_STALL_DRAIN,
  UFP4_AT_STALL_SUMS,     ///< drain: no sums are ready
  UFP4_AT_STALL_ADDEND,   ///< drain: C or the earlier sums have not arrived
  UFP4_AT_STALL_REQUEST,  ///< drain: the bus has not accepted the last row's request
  UFP4_AT_STALL_WRITE,    ///< drain: the bus has not accepted the write beat
  UFP4_AT_STALL_DATA,     ///< AXI write: the next beat of a burst is not ready
  UFP4_AT_STALL_MEMORY,   ///< AXI: memory neither gives nor accepts a beat
  UFP4_AT_STALL_CORE,     ///< AXI read: the core does not accept the beat
  UFP4_AT_COUNT,
} ufp4_at_t;

#define UFP4_AT_NAMES    \
  {"",                   \
   "fetch",              \
   "check",              \
   "offer",              \
   "complete",           \
   "AMAX",               \
   "QUANT",              \
   "start",              \
   "last blocks",        \
   "load",               \
   "ask",                \
   "busy",               \
   "drain",              \
   "command",            \
   "operands",           \
   "addend",             \
   "QUANT",              \
   "D",                  \
   "stall: job",         \
   "stall: source",      \
   "stall: output",      \
   "stall: answer",      \
   "stall: full",        \
   "stall: operand",     \
   "stall: panel",       \
   "stall: accumulator", \
   "stall: drain",       \
   "stall: sums",        \
   "stall: addend",      \
   "stall: request",     \
   "stall: write",       \
   "stall: data",        \
   "stall: memory",      \
   "stall: core"}

/** A unit had this activity in every cycle from begin up to, but not including, end, and different
 * ones just before and after. */
typedef struct {
  uint64_t begin, end;
  uint32_t job;  ///< the job of QUANT and the GEMM's units; 0 for the others
  uint8_t track, at;
} ufp4_timeline_event_t;

/** The receiver of events, which arrive in the order of their ends, and those that end in the same
 * cycle in the order of the tracks. */
typedef struct {
  void *user;
  /** @return 0 to continue; any other value ends the timeline here. The activities under way are
   * still delivered, and the return values of these calls are ignored. */
  int (*event)(void *user, const ufp4_timeline_event_t *event);
} ufp4_timeline_sink_t;

#ifdef __cplusplus
}
#endif

#endif
