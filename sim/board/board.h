// SPDX-License-Identifier: Apache-2.0
// An elaborated board, accessed through its pins.
#ifndef UFP4_SIM_BOARD_H
#define UFP4_SIM_BOARD_H

#include <cstdint>
#include <memory>
#include <string>

namespace ufp4 {

class Board {
 public:
  virtual ~Board() = default;
  /** Simulates one rising clock edge and settles the signals after it. */
  virtual void cycle() = 0;
  /** Returns whether an RTL assertion has failed; the model has printed which one. */
  virtual bool failed() const = 0;

  /** Ports of ufp4_board; inputs are written between two cycles. */
  struct {
    uint8_t *rst_n, *rx_valid, *rx_data, *tx_ready;
    const uint8_t *tx_valid, *tx_data, *leds;
  } pins{};
};

/** Makes a board. @p name: configuration/memory. @return nullptr if there is no such board. */
std::unique_ptr<Board> make_board(const std::string &name, uint64_t seed);
/** Returns the names of all boards, for a message. */
const char *board_names();

}  // namespace ufp4

#endif
