// SPDX-License-Identifier: Apache-2.0
// The C interface of the simulated board: byte queues on both sides of its link.
#include "ufp4_board_sim.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>

#include "board.h"

struct ufp4_board_sim {
  std::unique_ptr<ufp4::Board> board;
  std::deque<uint8_t> to_board, from_board;
  unsigned cycles_per_byte, wait;  // cycles until the next byte may be sent
  uint64_t cycles;

  void cycle() {
    const auto &pins = board->pins;
    const bool give = wait == 0 && !to_board.empty() && *pins.rst_n;
    *pins.rx_valid = give;
    if (give) {
      *pins.rx_data = to_board.front();
      to_board.pop_front();
      wait = cycles_per_byte;
    }
    if (wait > 0) wait--;
    // These are the values before the edge. Of the inputs only the reset changes them, and both are
    // low after it.
    const bool taken = *pins.tx_valid && *pins.rst_n;
    const uint8_t byte = *pins.tx_data;
    board->cycle();
    if (taken) from_board.push_back(byte);
    cycles++;
  }
};

ufp4_board_sim_t *ufp4_board_sim_open(const ufp4_board_sim_options_t *options, char *message,
                                      unsigned message_bytes) {
  const std::string name = std::string(options->configuration) + "/" + options->memory;
  if (options->cycles_per_byte == 0) {
    std::snprintf(message, message_bytes, "cycles_per_byte is 0; it must be 1 or more");
    return nullptr;
  }
  auto board = ufp4::make_board(name, options->seed);
  if (!board) {
    std::snprintf(message, message_bytes, "no board is called '%s'; this build simulates %s",
                  name.c_str(), ufp4::board_names());
    return nullptr;
  }
  auto *sim = new ufp4_board_sim{std::move(board), {}, {}, options->cycles_per_byte, 0, 0};
  *sim->board->pins.tx_ready = 1;
  ufp4_board_sim_reset(sim);
  return sim;
}

void ufp4_board_sim_close(ufp4_board_sim_t *board) {
  delete board;
}

void ufp4_board_sim_reset(ufp4_board_sim_t *board) {
  *board->board->pins.rst_n = 0;
  board->cycle();
  *board->board->pins.rst_n = 1;
  board->to_board.clear();
  board->from_board.clear();
}

void ufp4_board_sim_push(ufp4_board_sim_t *board, const uint8_t *bytes, size_t count) {
  board->to_board.insert(board->to_board.end(), bytes, bytes + count);
}

size_t ufp4_board_sim_queued(const ufp4_board_sim_t *board) {
  return board->to_board.size();
}

size_t ufp4_board_sim_take(ufp4_board_sim_t *board, uint8_t *bytes, size_t room) {
  auto &queue = board->from_board;
  const size_t count = std::min(room, queue.size());
  std::copy_n(queue.begin(), count, bytes);
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

int ufp4_board_sim_step(ufp4_board_sim_t *board, uint64_t cycles) {
  for (uint64_t i = 0; i < cycles && !board->board->failed(); i++) board->cycle();
  return board->board->failed() ? -1 : 0;
}

uint64_t ufp4_board_sim_cycles(const ufp4_board_sim_t *board) {
  return board->cycles;
}

uint8_t ufp4_board_sim_leds(const ufp4_board_sim_t *board) {
  return *board->board->pins.leds;
}
