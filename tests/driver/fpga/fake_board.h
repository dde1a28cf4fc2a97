// SPDX-License-Identifier: Apache-2.0
// A board in C that follows docs/reference/link.md and shares no code with the RTL and the driver.
// It takes and sends bytes, in front of a core and a memory of the test.
#ifndef UFP4_FAKE_BOARD_H
#define UFP4_FAKE_BOARD_H

#include <stddef.h>
#include <stdint.h>

/** The core and the memory behind the board. A function returns 0 if the bus answered with an
 * error. */
typedef struct {
  void *user;
  uint32_t memory_base, memory_bytes;
  int (*register_read)(void *user, uint32_t offset, uint32_t *value);
  int (*register_write)(void *user, uint32_t offset, uint32_t value);
  uint8_t *(*memory)(void *user, uint32_t address, uint32_t bytes);
  /** Returns the level of the interrupt, after waiting at most @p ms while it is low. */
  int (*wait)(void *user, unsigned ms);
} fake_core_t;

enum { FAKE_FRAME = 8 + 1008 + 4, FAKE_WINDOW = 8, FAKE_LOG = 1 << 16 };

typedef struct {
  fake_core_t core;
  unsigned window, data_bytes, version, march;  // the values of the identity
  unsigned march_reads;                         // reads until the running march has ended
  // State of the protocol.
  int session;
  uint32_t nonce, expected;  // the session's nonce; the next number
  uint8_t executed;          // requests since HELLO, at most 8
  uint8_t stored[FAKE_WINDOW][4 + 1008];
  unsigned stored_bytes[FAKE_WINDOW];
  uint8_t in[FAKE_FRAME + 1];
  unsigned in_bytes;
  int escaped, bad;
  // Answers that the host has not read yet.
  uint8_t *out;
  size_t out_bytes, out_capacity;
  // Counts for the test to read.
  uint64_t executions, repeats, dropped, out_of_order, core_resets;
  uint8_t log[FAKE_LOG];  // numbers of executed requests
} fake_board_t;

fake_board_t *fake_board_open(const fake_core_t *core);
void fake_board_close(fake_board_t *board);
/** Resets the board, which ends its session. */
void fake_board_reset(fake_board_t *board);
/** Takes one byte from the host and appends the answer, if there is one, to out. */
void fake_board_byte(fake_board_t *board, uint8_t byte);
/** Removes the first bytes of out. */
void fake_board_take(fake_board_t *board, size_t bytes);

/** Random damage: one of @p one_in bytes is dropped, doubled or has a bit flipped. */
typedef struct {
  uint64_t state;
  uint32_t one_in;  ///< 0: none
  uint64_t done;
} fake_faults_t;
/** Turns one byte into 0, 1 or 2 bytes. */
unsigned fake_faults_apply(fake_faults_t *faults, uint8_t byte, uint8_t out[2]);

#endif
