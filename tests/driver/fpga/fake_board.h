// SPDX-License-Identifier: Apache-2.0
// A board as docs/reference/link.md describes it, in C and apart from the RTL and the driver: bytes
// in, bytes out, in front of a core and a memory of the test's.
#ifndef UFP4_FAKE_BOARD_H
#define UFP4_FAKE_BOARD_H

#include <stddef.h>
#include <stdint.h>

/** The core and the memory behind it. A function returns 0 if the bus answered with an error. */
typedef struct {
  void *user;
  uint32_t memory_base, memory_bytes;
  int (*register_read)(void *user, uint32_t offset, uint32_t *value);
  int (*register_write)(void *user, uint32_t offset, uint32_t value);
  uint8_t *(*memory)(void *user, uint32_t address, uint32_t bytes);
  /** The interrupt's level, after at most @p ms in which it was low. */
  int (*wait)(void *user, unsigned ms);
} fake_core_t;

enum { FAKE_FRAME = 8 + 1008 + 4, FAKE_WINDOW = 8, FAKE_LOG = 1 << 16 };

typedef struct {
  fake_core_t core;
  unsigned window, data_bytes, version, march;  // as the identity says
  unsigned march_reads;                         // of a march that runs, until it has ended
  // State of the protocol.
  int session;
  uint32_t nonce, expected;  // of the session; the number that comes next
  uint8_t executed;          // since HELLO, at most 8
  uint8_t stored[FAKE_WINDOW][4 + 1008];
  unsigned stored_bytes[FAKE_WINDOW];
  uint8_t in[FAKE_FRAME + 1];
  unsigned in_bytes;
  int escaped, bad;
  // The answers that wait to be read.
  uint8_t *out;
  size_t out_bytes, out_capacity;
  // The test reads these.
  uint64_t executions, repeats, dropped, out_of_order, core_resets;
  uint8_t log[FAKE_LOG];  // the numbers that were executed
} fake_board_t;

fake_board_t *fake_board_open(const fake_core_t *core);
void fake_board_close(fake_board_t *board);
/** Resets the board: it has no session then. */
void fake_board_reset(fake_board_t *board);
/** One byte from the host; what there is to answer is appended to out. */
void fake_board_byte(fake_board_t *board, uint8_t byte);
/** Forgets the first bytes of out. */
void fake_board_take(fake_board_t *board, size_t bytes);

/** Random damage: of @p one_in bytes one is dropped, doubled or has a bit flipped. */
typedef struct {
  uint64_t state;
  uint32_t one_in;  ///< 0: none
  uint64_t done;
} fake_faults_t;
/** Makes 0, 1 or 2 bytes of a byte. */
unsigned fake_faults_apply(fake_faults_t *faults, uint8_t byte, uint8_t out[2]);

#endif
