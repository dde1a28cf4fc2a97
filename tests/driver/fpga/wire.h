// SPDX-License-Identifier: Apache-2.0
// A board in C at the far end of a wire that counts time and loses bytes.
#ifndef UFP4_WIRE_H
#define UFP4_WIRE_H

#include "backends/fpga/link.h"
#include "fake_board.h"

enum { MEMORY = 1 << 20, REGISTERS = 64, BUFFER = 4096 };
#define BYTE_NS 3334u  // 3 Mbaud
#define BASE 0x1000u

// One direction of the wire: bytes with the time at which they arrive.
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
  int deaf;           // bytes for the host are kept back
  uint64_t reset_at;  // after so many executed requests the board is reset; 0: never
  uint64_t anew_at;   // after so many exchanges the stream reports an interruption; 0: never
  int always_anew;    // it reports one each time, after a tenth of a second
  uint64_t stop_at;   // after so many exchanges the host is stopped for ten seconds; 0: never
  int stop_loses;     // bytes on the way are lost then
  uint64_t exchanges;
} wire_t;

/** Opens a wire with a latency of a millisecond that damages one byte in @p one_in in each
 * direction; 0: none. */
wire_t *wire_open(uint32_t one_in, uint64_t seed);
void wire_close(wire_t *wire, link_t *link);
/** Lets time pass in which the host does nothing. */
void wire_pass(wire_t *wire, uint64_t us);
/** Puts a byte on its way. */
void wire_carry(wire_t *wire, way_t *way, uint8_t byte);
link_stream_t wire_stream(wire_t *wire);
/** Returns a link before its HELLO; NULL options are the usual ones. */
link_t *wire_stranger(wire_t *wire, const link_options_t *options);
/** Returns a link in session. */
link_t *wire_link(wire_t *wire, const link_options_t *options);

#endif
