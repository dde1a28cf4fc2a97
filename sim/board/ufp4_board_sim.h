// SPDX-License-Identifier: Apache-2.0
// The simulated board: the Verilated ufp4_board.sv of fpga/boards (core, memory, link), accessed
// through the bytes of its link.
//
// Time advances only in ufp4_board_sim_step. No call exits, and none prints except when an RTL
// assertion fails. A board may be used by one thread at a time; different boards are independent.
#ifndef UFP4_BOARD_SIM_H
#define UFP4_BOARD_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ufp4_board_sim ufp4_board_sim_t;

/** The board to simulate. */
typedef struct {
  const char *configuration;  ///< named configuration of the core: "tiny", ..
  const char *memory;         ///< "block" (block RAM) or "sdram"
  unsigned cycles_per_byte;   ///< cycles between two bytes sent to the board, at least 1
  uint64_t seed;              ///< seed of the initial values of registers and memory; 0: all zero
} ufp4_board_sim_options_t;

/** Makes a board that has left reset: one of the default ones, or one named in
 * UFP4_SIMULATE_BOARDS. @return NULL on failure, with one line in @p message. */
ufp4_board_sim_t *ufp4_board_sim_open(const ufp4_board_sim_options_t *options, char *message,
                                      unsigned message_bytes);
void ufp4_board_sim_close(ufp4_board_sim_t *board);

/** Presses the reset button: the state of the link and of the core is lost, and so are the bytes
 * under way in both directions; memory keeps its contents. */
void ufp4_board_sim_reset(ufp4_board_sim_t *board);
/** Queues bytes for the board, which receives one every cycles_per_byte cycles. */
void ufp4_board_sim_push(ufp4_board_sim_t *board, const uint8_t *bytes, size_t count);
/** Returns the queued bytes that the board has not received yet. */
size_t ufp4_board_sim_queued(const ufp4_board_sim_t *board);
/** Takes up to @p room bytes that the board has sent. @return their number. */
size_t ufp4_board_sim_take(ufp4_board_sim_t *board, uint8_t *bytes, size_t room);
/** Runs for @p cycles. @return 0, or -1 once an RTL assertion has failed, after which the board's
 * state is undefined. */
int ufp4_board_sim_step(ufp4_board_sim_t *board, uint64_t cycles);
/** Returns the cycles since the board was opened. */
uint64_t ufp4_board_sim_cycles(const ufp4_board_sim_t *board);
/** The board's LEDs, LED 0 lowest: alive, the core works, error, link. */
uint8_t ufp4_board_sim_leds(const ufp4_board_sim_t *board);

#ifdef __cplusplus
}
#endif

#endif
