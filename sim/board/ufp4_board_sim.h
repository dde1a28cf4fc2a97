// SPDX-License-Identifier: Apache-2.0
// The simulated board: the Verilated ufp4_board.sv of fpga/boards (core, memory, link), through the
// bytes of its link.
//
// Time advances only in ufp4_board_sim_step. No call prints, but for an assertion of the RTL that
// fails, or exits. A board is for one thread at a time; different boards are independent.
#ifndef UFP4_BOARD_SIM_H
#define UFP4_BOARD_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ufp4_board_sim ufp4_board_sim_t;

/** The board that is simulated. */
typedef struct {
  const char *configuration;  ///< of the core, by name: "tiny", ..
  const char *memory;         ///< "block" (block RAM) or "sdram"
  unsigned cycles_per_byte;   ///< from a byte to the board to the next one, from 1
  uint64_t seed;              ///< start values of registers and memory; 0: all zero
} ufp4_board_sim_options_t;

/** Whether this build simulates it: what every build does, and what UFP4_SIMULATE_BOARDS named. */
int ufp4_board_sim_has(const char *configuration, const char *memory);
/** Makes a board that has left reset. @return NULL on failure, with one line in @p message. */
ufp4_board_sim_t *ufp4_board_sim_open(const ufp4_board_sim_options_t *options, char *message,
                                      unsigned message_bytes);
void ufp4_board_sim_close(ufp4_board_sim_t *board);

/** Presses the reset button: what the link and the core knew is gone, and so are the bytes that
 * were under way in both directions; memory keeps its contents. */
void ufp4_board_sim_reset(ufp4_board_sim_t *board);
/** Queues bytes for the board, which gets one every cycles_per_byte cycles. */
void ufp4_board_sim_push(ufp4_board_sim_t *board, const uint8_t *bytes, size_t count);
/** Bytes queued that the board has not got yet. */
size_t ufp4_board_sim_queued(const ufp4_board_sim_t *board);
/** Takes up to @p room bytes that the board has sent. @return how many. */
size_t ufp4_board_sim_take(ufp4_board_sim_t *board, uint8_t *bytes, size_t room);
/** Lets @p cycles pass. @return 0, or -1 once an assertion of the RTL has failed: the board's state
 * means nothing any more. */
int ufp4_board_sim_step(ufp4_board_sim_t *board, uint64_t cycles);
/** Cycles that have passed since open. */
uint64_t ufp4_board_sim_cycles(const ufp4_board_sim_t *board);
/** The board's LEDs, LED 0 lowest: alive, the core works, error, link. */
uint8_t ufp4_board_sim_leds(const ufp4_board_sim_t *board);

#ifdef __cplusplus
}
#endif

#endif
