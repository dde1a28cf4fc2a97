// SPDX-License-Identifier: Apache-2.0
// The clock of an engine: whole pulses, in each cycle in which the engine may have something to do,
// and in the form for simulators in no other.
#include "Vengine_clock.h"
#include "verilated.h"

extern "C" {
#include "check.h"
}

namespace {

constexpr unsigned kIdleCycles = 8;  // with a clock, after the last one with a job

class Clocks {
 public:
  Clocks() : random_(check_random()) {
    m.clk_i = 1;
    cycle(false, false, false);
  }
  ~Clocks() {
    m.final();
  }

  /** The inputs change after a rising edge, and more than once; their final values hold for the
   * next edge. */
  void cycle(bool rst_n, bool wake, bool ready) {
    const bool before = m.stopped_o;
    for (int i = 0; i < 2; i++) {
      drive(below(2) != 0, below(2) != 0, below(2) != 0);
      check(true, before, "an input has changed");
    }
    drive(rst_n, wake, ready);
    m.clk_i = 0;
    check(false, false, "a falling edge");
    m.clk_i = 1;
    check(true, !rst_n || wake || idle_ < kIdleCycles, "a rising edge");
    idle_ = !rst_n || wake || !ready ? 0 : idle_ + 1;
    cycles_++;
  }

  unsigned below(unsigned n) {
    return static_cast<unsigned>(check_below(&random_, n));
  }

 private:
  void drive(bool rst_n, bool wake, bool ready) {
    m.rst_ni = rst_n;
    m.wake_i = wake;
    m.start_ready_i = ready;
  }
  void check(bool free, bool stopped, const char *what) {
    m.eval();
    check_bits(cycles_, m.free_o, free ? 3 : 0, "the clocks that run, after %s", what);
    if (cycles_ > 0)
      check_bits(cycles_, m.stopped_o, stopped, "the clock that stops, after %s", what);
  }

  Vengine_clock m;
  check_random_t random_;
  uint64_t cycles_ = 0;
  uint64_t idle_ = 0;  // cycles since the last one with a job
};

/** Each number of cycles without a job, and each way in which they end. */
TEST(each_pause) {
  for (unsigned pause = 0; pause < 40; pause++) {
    for (unsigned end = 0; end < 6; end++) {
      Clocks clocks;
      clocks.cycle(true, false, false);
      for (unsigned i = 0; i < pause; i++) clocks.cycle(true, false, true);
      clocks.cycle(end % 3 != 0, end % 3 == 1, end < 3);
      for (unsigned i = 0; i < 2 * kIdleCycles; i++) clocks.cycle(true, false, true);
    }
  }
}

TEST(random_jobs) {
  Clocks clocks;
  for (int i = 0; i < 20000; i++) {
    for (unsigned pause = clocks.below(3) ? 0 : clocks.below(2 * kIdleCycles); pause > 0; pause--) {
      clocks.cycle(true, false, true);
    }
    const unsigned what = clocks.below(40);
    clocks.cycle(what != 0, what % 4 == 1, what % 2 == 1);
  }
}

}  // namespace
