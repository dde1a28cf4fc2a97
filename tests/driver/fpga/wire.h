// SPDX-License-Identifier: Apache-2.0
// A board in C at the far end of a wire in which time is counted and bytes get lost.
#ifndef UFP4_WIRE_H
#define UFP4_WIRE_H

#include "backends/fpga/link.h"
#include "fake_board.h"

enum { MEMORY = 1 << 20, REGISTERS = 64, BUFFER = 4096 };
#define BYTE_NS 3334u  // 3 Mbaud
#define BASE 0x1000u

// One way of it: bytes with the time at which they arrive.
typedef struct {
  uint8_t bytes[4 * BUFFER];
  uint64_t arrival[4 * BUFFER];  // in nanoseconds
  unsigned first, count;
  uint64_t free_at;  // when the next byte may start
  uint64_t carried;
  fake_faults_t faults;
} way_t;

typedef struct {
  uint64_t ns;
  way_t to, from;
  fake_board_t *board;
  uint8_t memory[MEMORY];
  uint32_t registers[REGISTERS];
  uint64_t register_writes;
  uint64_t latency_us;
  int cut;            // nothing arrives
  int deaf;           // what comes to the host waits
  uint64_t reset_at;  // of the board, in executed requests; 0: never
  uint64_t anew_at;   // the stream says that it was interrupted, in exchanges; 0: never
  int always_anew;    // each time, after a tenth of a second
  uint64_t stop_at;   // the host is stopped for ten seconds then, in exchanges; 0: never
  int stop_loses;     // and what was under way is lost
  uint64_t exchanges;
} wire_t;

/** Of each way a byte in @p one_in is damaged; 0: none. It takes a millisecond. */
wire_t *wire_open(uint32_t one_in, uint64_t seed);
void wire_close(wire_t *wire, link_t *link);
/** Time in which the host does nothing. */
void wire_pass(wire_t *wire, uint64_t us);
/** A byte on its way. */
void wire_carry(wire_t *wire, way_t *way, uint8_t byte);
link_stream_t wire_stream(wire_t *wire);
/** A link that has not said hello; the usual options for NULL. */
link_t *wire_stranger(wire_t *wire, const link_options_t *options);
/** A link in session. */
link_t *wire_link(wire_t *wire, const link_options_t *options);

#endif
