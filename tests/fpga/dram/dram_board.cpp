// SPDX-License-Identifier: Apache-2.0
// The board of dram_board.sv behind sim/board's interface, with two clocks whose periods are not
// multiples of each other.
#include <verilated.h>

#include <cstdio>

#include "Vdram_board.h"
#include "board.h"

namespace ufp4 {
namespace {

constexpr uint64_t kHalf = 2083, kDramHalf = 1042;  // 10 ps: 24 and 48 MHz
constexpr uint64_t kTraining = 10'000'000'000;      // 100 ms

class DramBoard final : public Board {
 public:
  DramBoard() {
    context_.fatalOnError(false);
    model_ = std::make_unique<Vdram_board>(&context_, "board");
    Vdram_board &m = *model_;
    pins.rst_n = &m.rst_ni;
    pins.rx_valid = &m.rx_valid_i;
    pins.rx_data = &m.rx_data_i;
    pins.tx_valid = &m.tx_valid_o;
    pins.tx_ready = &m.tx_ready_i;
    pins.tx_data = &m.tx_data_o;
    pins.leds = &m.leds_o;
    m.eval();
  }

  ~DramBoard() override {
    model_->final();
  }

  void cycle() override {
    step();
    if (model_->rst_ni != 0 && model_->trained_o == 0) train();
  }

  bool failed() const override {
    return context_.gotError();
  }

 private:
  void step() {
    for (int level : {1, 0}) {
      now_ += kHalf;
      for (; dram_ < now_; dram_ += kDramHalf) {
        model_->dram_clk_i = !model_->dram_clk_i;
        model_->eval();
      }
      model_->clk_i = static_cast<uint8_t>(level);
      model_->eval();
    }
  }

  // Runs the processor's DRAM training after a reset at once, so that no host waits for it.
  void train() {
    const uint64_t from = now_;
    const uint8_t rx = model_->rx_valid_i, tx = model_->tx_ready_i;
    model_->rx_valid_i = model_->tx_ready_i = 0;
    while (model_->trained_o == 0 && now_ - from < kTraining) step();
    model_->rx_valid_i = rx;
    model_->tx_ready_i = tx;
    std::fprintf(stderr, "dram: %s after %llu us\n",
                 model_->failed_o    ? "failed"
                 : model_->trained_o ? "trained"
                                     : "not trained",
                 static_cast<unsigned long long>((now_ - from) / 100000));
  }

  VerilatedContext context_;
  std::unique_ptr<Vdram_board> model_;
  uint64_t now_ = 0, dram_ = 0;
};

}  // namespace

std::unique_ptr<Board> make_board(const std::string &, uint64_t) {
  return std::make_unique<DramBoard>();
}

const char *board_names() {
  return "tiny/dram";
}

}  // namespace ufp4
