// SPDX-License-Identifier: Apache-2.0
// Tests ufp4_board_uart, which is a board's top except for its clock: bytes bit by bit, both causes
// of reset, and each pin of an SDRAM chip, which reports violations of its rules.

#include <memory>

#include "../link/frame.h"
#include "Vuart_board.h"
#include "sdram_chip.h"

extern "C" {
#include "check.h"
}

namespace {

using namespace link_test;

constexpr int kBit = 8;  // cycles: 3 Mbaud at 24 MHz
constexpr double kClockHz = 24e6;

class Board {
 public:
  Board() {
    model_->rx_i = 1;
    run(4);
    powered_ = true;
    model_->locked_i = 1;
    run(6000);  // the chip's power-up
  }
  ~Board() {
    model_->final();
  }

  void run(int cycles) {
    for (int i = 0; i < cycles; i++) cycle();
  }
  void set_locked(bool locked) {
    model_->locked_i = locked;
  }
  void set_pressed(bool pressed) {
    model_->pressed_i = pressed;
  }

  /** Sends a request, and waits for its answer. */
  bool ask(const Request &request) {
    for (uint8_t byte : peer.line(request)) {
      send(false);
      for (int bit = 0; bit < 8; bit++) send(byte >> bit & 1);
      send(true);
    }
    answered_ = false;
    for (int i = 0; i < 20000 && !answered_; i++) cycle();
    return answered_;
  }
  bool hello() {
    return ask({0, kHello, 0, 4, 0, word(1)}) && peer.answer.status == kOk;
  }

  Peer peer;
  ufp4::SdramChip chip{kClockHz, ufp4::SdramTimes{}};

 private:
  void send(bool level) {
    model_->rx_i = level;
    run(kBit);
  }

  // The chip's clock is the board's inverted.
  void cycle() {
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    if (powered_) outside();
    model_->eval();
  }

  void outside() {
    model_->sdram_dq_i = chip.clock(ufp4::SdramPins::from(model_->sdram_o));
    model_->eval();
    listen(model_->tx_o);
  }

  // Samples each bit in its middle.
  void listen(bool level) {
    if (since_ == 0 && level) return;
    since_++;
    const int bit = since_ / kBit;
    if (since_ % kBit == kBit / 2 && bit >= 1 && bit <= 8)
      byte_ = static_cast<uint8_t>(byte_ >> 1 | level << 7);
    if (since_ < 9 * kBit + kBit / 2) return;
    since_ = 0;
    answered_ |= peer.take(byte_);
  }

  std::unique_ptr<Vuart_board> model_ = std::make_unique<Vuart_board>();
  int since_ = 0;
  uint8_t byte_ = 0;
  bool answered_ = false;
  bool powered_ = false;  // the clock runs and registers have values
};

TEST(bytes_reach_the_memory_and_come_back) {
  Board board;
  Bytes data;
  for (unsigned i = 0; i < 64; i++) data.push_back(static_cast<uint8_t>(37 * i + 11));
  check_that(0, board.hello(), "HELLO");
  uint8_t next = 1;
  // The addresses cover each bit of bank, row and column.
  for (uint32_t address = 64; address < 32u << 20; address <<= 1) {
    data[0] = next;
    check_that(address, board.ask({next++, kMemoryWrite, 0, 64, address, data}), "write");
  }
  for (uint32_t address = 64, i = 1; address < 32u << 20; address <<= 1, i++) {
    data[0] = static_cast<uint8_t>(i);
    check_that(address, board.ask({next++, kMemoryRead, 0, 64, address, {}}), "read");
    check_that(address, board.peer.answer.data == data, "data at %x", address);
  }
  check_that(1, board.chip.message().empty(), "%s", board.chip.message().c_str());
  check_bits(2, board.peer.wrong, 0, "frames that are not right");
}

/** Checks that a board accepts only HELLO after a reset. */
void resets(Board *board, void (Board::*set)(bool), bool cause) {
  const Request ping{1, kPing, 0, 1, 0, {7}};
  check_that(0, board->hello() && board->ask(ping), "before");
  check_bits(1, board->peer.answer.status, kOk, "PING before");
  (board->*set)(cause);
  board->run(20);
  check_that(2, !board->ask(ping), "an answer during reset");
  (board->*set)(!cause);
  board->run(20);
  check_that(3, board->ask(ping), "after");
  check_bits(4, board->peer.answer.status, kNoSession, "PING after");
}

TEST(a_button_resets_the_board) {
  Board board;
  resets(&board, &Board::set_pressed, true);
}

TEST(a_clock_that_is_not_locked_resets_the_board) {
  Board board;
  resets(&board, &Board::set_locked, false);
}

}  // namespace
