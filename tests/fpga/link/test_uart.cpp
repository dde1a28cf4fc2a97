// SPDX-License-Identifier: Apache-2.0
// Tests the link behind its UART, bit by bit, at a clock that is a multiple of the bit rate and at
// one that is not, and with hosts whose rate is slightly off.

#include <cmath>
#include <deque>
#include <memory>

#include "Vuart12.h"
#include "Vuart25.h"
#include "frame.h"

extern "C" {
#include "check.h"
}

namespace {

using namespace link_test;

/** A host with a clock of its own; times are in cycles of the board. */
template <typename Model>
class Uart {
 public:
  /** @p bit: the length of the host's bits in cycles. @p board_bit: the nominal length of the
   * board's. */
  Uart(double bit, double board_bit) : bit_(bit), board_bit_(board_bit) {
    model_->rx_i = 1;
    model_->rst_ni = 0;
    model_->eval();
    cycle();
    model_->rst_ni = 1;
    for (int i = 0; i < 40; i++) cycle();
  }
  ~Uart() {
    model_->final();
  }

  void cycle() {
    model_->rx_i = level();
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
    now_++;
    if (!model_->rst_ni) return;
    if (model_->rx_valid_o) heard.push_back(model_->rx_data_o);
    listen(model_->tx_o);
  }

  std::deque<uint8_t> line;  // bytes to send
  Bytes heard;               // by the board
  Bytes got;                 // by the host
  double late = 0;           // the largest deviation of the board's edges, in cycles
  unsigned glitch = 0;       // cycles of a low level that is too short for a start bit
  bool stop = true;          // the host sends stop bits

 private:
  // Returns the level of the line: start bit, data from the lowest bit, stop bit, without gaps.
  bool level() {
    if (glitch > 0) {
      glitch--;
      return false;
    }
    if (!sending_ && line.empty()) return true;
    if (!sending_) {
      sending_ = true;
      begin_ = now_;
    }
    const int bit = static_cast<int>((now_ - begin_) / bit_);
    if (bit >= 10) {
      line.pop_front();
      begin_ += 10 * bit_;
      sending_ = !line.empty();
      return sending_ ? false : true;
    }
    return bit == 0 ? false : bit == 9 ? stop : line.front() >> (bit - 1) & 1;
  }

  // Samples in the middle of bits, and measures the deviation of each edge.
  void listen(bool tx) {
    const double since = now_ - started_;
    if (!receiving_ && !tx) {
      receiving_ = true;
      started_ = now_;
      bits_ = 0;
      byte_ = 0;
    } else if (receiving_) {
      if (tx != before_) {
        const double edge = std::round(since / board_bit_) * board_bit_;
        late = std::max(late, std::fabs(since - edge));
      }
      if (since >= (bits_ + 0.5) * board_bit_) {
        if (bits_ >= 1 && bits_ <= 8) byte_ |= static_cast<unsigned>(tx) << (bits_ - 1);
        if (bits_ == 9) {
          check_that(static_cast<int64_t>(got.size()), tx, "no stop bit");
          got.push_back(static_cast<uint8_t>(byte_));
          receiving_ = false;
        }
        bits_++;
      }
    }
    before_ = tx;
  }

  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  const double bit_, board_bit_;
  double now_ = 0, begin_ = 0, started_ = 0;
  bool sending_ = false, receiving_ = false, before_ = true;
  unsigned bits_ = 0, byte_ = 0;
};

// Sends HELLO and a PING by hosts whose rate is off by up to @p most.
template <typename Model>
void frames(double board_bit, double most) {
  for (double off : {0.0, most, -most}) {
    Uart<Model> uart(board_bit * (1 + off), board_bit);
    const Bytes data{0x00, 0xFF, 0x55, 0xAA, 0xC0, 0xDB, 0x01, 0x80};
    Peer peer;
    unsigned answers = 0;
    for (const Request &request :
         {Request{5, kHello, 0, 4, 0, word(7)}, Request{6, kPing, 3, 8, 0, data}}) {
      for (uint8_t byte : peer.line(request)) uart.line.push_back(byte);
      for (int i = 0; i < 10000; i++) uart.cycle();
      for (uint8_t byte : uart.got) answers += peer.take(byte);
      uart.got.clear();
    }
    check_bits(0, answers, 2, "answers, %g off", off);
    check_that(1, peer.answer.data == data && peer.answer.sequence == 6, "echo, %g off", off);
    check_that(2, uart.late <= 1, "an edge is %g cycles off", uart.late);
    check_bits(3, peer.wrong, 0, "frames that are not right");
  }
}

TEST(frames_at_8_cycles_and_a_third) {
  frames<Vuart25>(25.0 / 3, 0.03);
}

TEST(frames_at_4_cycles) {
  frames<Vuart12>(4, 0.02);
}

// A byte without a stop bit is ignored, and so is a low level shorter than half a bit.
TEST(rejects_broken_bytes) {
  Uart<Vuart25> uart(25.0 / 3, 25.0 / 3);
  uart.glitch = 3;
  for (int i = 0; i < 200; i++) uart.cycle();
  check_bits(0, uart.heard.size(), 0, "bytes heard of a glitch");
  uart.stop = false;
  uart.line = {0x55};
  for (int i = 0; i < 200; i++) uart.cycle();
  check_bits(1, uart.heard.size(), 0, "bytes heard without a stop bit");
  uart.stop = true;
  uart.line = {0x12, 0x34};
  for (int i = 0; i < 400; i++) uart.cycle();
  check_that(2, uart.heard == (Bytes{0x12, 0x34}), "%zu bytes heard", uart.heard.size());
}

}  // namespace
