// SPDX-License-Identifier: Apache-2.0
// A time line: what each unit of a core was doing, from cycle to cycle. The simulated core
// (ufp4_sim.h) and the timed model (ufp4_timed.h) give the same one.
#ifndef UFP4_TIMELINE_H
#define UFP4_TIMELINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  UFP4_TRACK_COMMAND,  ///< the command unit
  UFP4_TRACK_QUANT,    ///< the QUANT engine: QUANT and AMAX
  UFP4_TRACK_LOAD,     ///< of the GEMM engine: memory to operands
  UFP4_TRACK_ARRAY,    ///< the array
  UFP4_TRACK_DRAIN,    ///< sums to memory
  UFP4_TRACK_READ,     ///< AXI, beats of data
  UFP4_TRACK_WRITE,
  UFP4_TRACK_COUNT,
} ufp4_track_t;

#define UFP4_TRACK_NAMES \
  {"command", "QUANT", "GEMM load", "GEMM array", "GEMM drain", "AXI read", "AXI write"}

/** The activities of a unit. NONE is never an event. */
typedef enum {
  UFP4_AT_NONE,
  UFP4_AT_FETCH,     ///< command: a descriptor is read
  UFP4_AT_CHECK,     ///< its rules and regions are looked at
  UFP4_AT_OFFER,     ///< it waits for its engine's queue, or without overlap for all jobs
  UFP4_AT_COMPLETE,  ///< a completion is written
  UFP4_AT_AMAX,      ///< QUANT: numbers go in, by opcode
  UFP4_AT_QUANT,
  UFP4_AT_START,          ///< the descriptor is worked out
  UFP4_AT_LAST_BLOCKS,    ///< all numbers are in
  UFP4_AT_LOAD,           ///< load: beats are on their way
  UFP4_AT_ASK,            ///< a request waits for the bus
  UFP4_AT_BUSY,           ///< array: it is fed
  UFP4_AT_DRAIN,          ///< drain: sums go out
  UFP4_AT_BEAT_COMMAND,   ///< AXI: a beat of a descriptor or a completion moves
  UFP4_AT_BEAT_OPERANDS,  ///< of codes or scales
  UFP4_AT_BEAT_ADDEND,    ///< of C or of sums
  UFP4_AT_BEAT_QUANT,     ///< of QUANT's source or result
  UFP4_AT_BEAT_D,         ///< of D
  UFP4_AT_STALL_JOB,      ///< an engine's next job waits for the one that it depends on
  UFP4_AT_STALL_SOURCE,   ///< QUANT: no numbers have come
  UFP4_AT_STALL_OUTPUT,   ///< QUANT: codes wait to be written
  UFP4_AT_STALL_ANSWER,   ///< writes have left, and memory has not answered
  UFP4_AT_STALL_FULL,     ///< load: both operand memories are taken
  UFP4_AT_STALL_OPERAND,  ///< array: as the counters of these names
  UFP4_AT_STALL_PANEL,    ///< also load: what QUANT has not written yet
  UFP4_AT_STALL_ACCUMULATOR,
  UFP4_AT_STALL_DRAIN,
  UFP4_AT_STALL_SUMS,     ///< drain: none are ready
  UFP4_AT_STALL_ADDEND,   ///< drain: C or the earlier sums have not come
  UFP4_AT_STALL_REQUEST,  ///< drain: the bus has not taken the last row's request
  UFP4_AT_STALL_WRITE,    ///< drain: the bus has not taken its beat
  UFP4_AT_STALL_DATA,     ///< AXI write: a burst's next beat is not there
  UFP4_AT_STALL_MEMORY,   ///< AXI: memory gives or takes no beat
  UFP4_AT_STALL_CORE,     ///< AXI read: the core does not take the beat
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

/** A unit had this activity in all cycles from begin on and before end, and another one before and
 * after. */
typedef struct {
  uint64_t begin, end;
  uint32_t job;  ///< of QUANT and the GEMM's units; 0 of the others
  uint8_t track, at;
} ufp4_timeline_event_t;

/** The receiver of the events. They come in the order in which they end, those that end in one
 * cycle in the order of the tracks. */
typedef struct {
  void *user;
  /** @return 0 to go on; any other value ends the time line here. What is under way is then still
   * given, and what that call returns does not matter. */
  int (*event)(void *user, const ufp4_timeline_event_t *event);
} ufp4_timeline_sink_t;

#ifdef __cplusplus
}
#endif

#endif
