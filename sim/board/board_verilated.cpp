// SPDX-License-Identifier: Apache-2.0
// A Board, compiled once for each board: UFP4_MODEL is the name of its Verilated class,
// UFP4_MODEL_H the header that defines it, and UFP4_MAKE_BOARD the name of the function below.
#include <verilated.h>

#include UFP4_MODEL_H
#include "board.h"
#if UFP4_BOARD_SDRAM
#include "sdram_chip.h"
#endif

namespace ufp4 {
namespace {

class BoardVerilated final : public Board {
 public:
  explicit BoardVerilated(uint64_t seed) {
    context_.fatalOnError(false);
    context_.randReset(seed ? 2 : 0);
    context_.randSeed(static_cast<int>(seed & 0x7FFFFFFF) | 1);  // 0 means a seed from the clock
    model_ = std::make_unique<UFP4_MODEL>(&context_, "board");
    UFP4_MODEL &m = *model_;
    pins.rst_n = &m.rst_ni;
    pins.rx_valid = &m.rx_valid_i;
    pins.rx_data = &m.rx_data_i;
    pins.tx_valid = &m.tx_valid_o;
    pins.tx_ready = &m.tx_ready_i;
    pins.tx_data = &m.tx_data_o;
    pins.leds = &m.leds_o;
    m.clk_i = 0;
    m.eval();
  }

  ~BoardVerilated() override {
    Verilated::threadContextp(&context_);
    model_->final();
  }

  void cycle() override {
    // A model's messages use the context of the thread.
    Verilated::threadContextp(&context_);
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
#if UFP4_BOARD_SDRAM
    clock_chip();
#endif
    model_->eval();
  }

#if UFP4_BOARD_SDRAM
  bool failed() const override {
    return context_.gotError() || !chip_.message().empty();
  }
#else
  bool failed() const override {
    return context_.gotError();
  }
#endif

 private:
  VerilatedContext context_;
  std::unique_ptr<UFP4_MODEL> model_;

#if UFP4_BOARD_SDRAM
  // The SDRAM chip's clock is the inverse of the board's, and a reset clears its state.
  void clock_chip() {
    UFP4_MODEL &m = *model_;
    if (!m.rst_ni) chip_.power_up();
    m.sdram_dq_i = chip_.clock(SdramPins::from(m.sdram_o));
  }

  SdramChip chip_{UFP4_BOARD_CLOCK_HZ, SdramTimes {}};
#endif
};

}  // namespace

std::unique_ptr<Board> UFP4_MAKE_BOARD(uint64_t seed) {
  return std::make_unique<BoardVerilated>(seed);
}

}  // namespace ufp4
