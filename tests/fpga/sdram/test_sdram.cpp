// SPDX-License-Identifier: Apache-2.0
// Tests the SDRAM controller, at two clocks, between an AXI master like the core and a chip that
// checks every command; and the memory march on chips with faults.

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "Vsdram133.h"
#include "Vsdram24.h"
#include "sdram_board.h"

namespace {

using ufp4::Board;
using ufp4::kBeatBytes;
using ufp4::kLimit;
using ufp4::SdramChip;
using ufp4::SdramTimes;

constexpr uint64_t kPage = 4096;
constexpr double kClock24 = 24e6, kClock133 = 133e6;

// Returns one of eight regions of 4 KiB, each of which is a row of all four banks, so that rows are
// often hit, missed and closed.
uint64_t region(check_random_t *random) {
  return (check_below(random, 2) ? 0x1FF8000 : 0x5000) + check_below(random, 4) * kPage;
}

template <typename Model>
void queue_random(Board<Model> &board, unsigned bursts) {
  check_random_t *random = &board.random();
  for (unsigned n = 0; n < bursts; n++) {
    const unsigned beats = 1 + check_below(random, check_below(random, 2) ? 256 : 6);
    const unsigned last = static_cast<unsigned>(kPage / kBeatBytes) - beats;
    uint64_t address = region(random) + check_below(random, last + 1) * kBeatBytes;
    if (check_below(random, 20) == 0) address += SdramChip::kBytes;
    if (check_below(random, 2)) {
      board.write(address, beats);
    } else {
      board.read(address, beats);
    }
  }
}

template <typename Model>
void random_traffic(double clock_hz) {
  for (unsigned i = 0; i < 4; i++) {
    Board<Model> board(clock_hz);
    board.random().state += i;
    board.gaps = i % 2;
    board.in_flight = i < 2 ? 8 : 1;
    board.reset();
    queue_random(board, 300);
    board.run();
    board.compare();
    check_that(i, board.chip().refreshes() > 8, "no refresh has come");
  }
}

TEST(random_traffic_at_24_mhz) {
  random_traffic<Vsdram24>(kClock24);
}

TEST(random_traffic_at_133_mhz) {
  random_traffic<Vsdram133>(kClock133);
}

// Returns the bandwidth of adjacent bursts of 2 KiB, refreshes included, in hundredths of bytes per
// cycle.
template <typename Model>
unsigned bandwidth(double clock_hz, bool write, bool read) {
  constexpr unsigned kBursts = 64, kBeats = 256;
  Board<Model> board(clock_hz);
  board.reset();
  board.read(0, 1);
  board.run();
  for (unsigned n = 0; n < kBursts; n++) {
    const uint64_t address = uint64_t{n} * kBeats * kBeatBytes;
    if (write) board.write(address, kBeats);
    if (read) board.read(address + (write ? SdramChip::kBytes / 2 : 0), kBeats);
  }
  const uint64_t cycles = board.run();
  board.compare();
  const uint64_t bytes = uint64_t{kBursts} * kBeats * kBeatBytes * (write + read);
  std::printf("%s%s: %.2f bytes a cycle\n", read ? "reads" : "", write ? " writes" : "",
              static_cast<double>(bytes) / static_cast<double>(cycles));
  return static_cast<unsigned>(100 * bytes / cycles);
}

TEST(moves_two_bytes_a_cycle) {
  const unsigned reads = bandwidth<Vsdram24>(kClock24, false, true);
  const unsigned writes = bandwidth<Vsdram24>(kClock24, true, false);
  const unsigned both = bandwidth<Vsdram24>(kClock24, true, true);
  check_that(0, reads >= 190, "reads: %u bytes in 100 cycles", reads);
  check_that(1, writes >= 190, "writes: %u bytes in 100 cycles", writes);
  check_that(2, both >= 190, "both: %u bytes in 100 cycles", both);
}

// The count includes the cycles of the address and of the beat; the row is open.
TEST(answers_in_nine_cycles) {
  Board<Vsdram24> board(kClock24);
  board.reset();
  board.read(0, 1);
  board.run();
  board.read(kBeatBytes, 1);
  check_bits(0, board.run(), 10, "cycles of a read");
}

// Without traffic the pauses between refreshes are the longest that the controller makes.
TEST(refreshes_when_idle) {
  constexpr unsigned kCycles = 50000;
  Board<Vsdram24> board(kClock24);
  board.reset();
  for (unsigned i = 0; i < kCycles; i++) board.cycle();
  check_that(0, board.chip().message().empty(), "%s", board.chip().message().c_str());
  const double due = (kCycles / kClock24 - 200e-6) / 7.8125e-6;
  check_that(1, static_cast<double>(board.chip().refreshes()) >= due, "%llu refreshes",
             static_cast<unsigned long long>(board.chip().refreshes()));
}

// After a reset amid traffic the controller powers the chip up again, and new data are kept.
TEST(powers_up_again_after_a_reset) {
  Board<Vsdram24> board(kClock24);
  board.reset();
  queue_random(board, 20);
  board.run();
  board.compare();
  board.reset();
  board.write(0, 16);
  board.read(0, 16);
  board.run();
  board.compare();
}

// The chip demands one time that is a clock longer than the controller keeps, and must complain.
// This also shows that the controller wastes no cycle there. (tRRD is shorter than an activate and
// its read.)
TEST(rejects_times_that_are_short) {
  constexpr double kClock = 1e9 / kClock133;
  static const struct {
    const char *name;
    double SdramTimes::*time;
    unsigned clocks;  // the pause before power-up begins some clocks before the reset ends
  } times[] = {
      {"tRCD", &SdramTimes::rcd, 1}, {"tRP", &SdramTimes::rp, 1},
      {"tRAS", &SdramTimes::ras, 1}, {"tRC", &SdramTimes::rc, 1},
      {"tRFC", &SdramTimes::rfc, 1}, {"tWR", &SdramTimes::wr, 1},
      {"tMRD", &SdramTimes::mrd, 1}, {"pause", &SdramTimes::power_up, 8},
  };
  for (const auto &t : times) {
    SdramTimes strict;
    strict.*t.time = (std::ceil(strict.*t.time / kClock - 1e-6) + t.clocks) * kClock;
    Board<Vsdram133> board(kClock133, strict);
    board.reset();
    queue_random(board, 40);
    board.run();
    check_that(&t - times, board.chip().message().find(t.name) != std::string::npos,
               "%s is longer: the chip says '%s'", t.name, board.chip().message().c_str());
  }
}

TEST(rejects_refreshes_that_are_late) {
  SdramTimes strict;
  strict.refresh *= 0.9;
  Board<Vsdram24> board(kClock24, strict);
  board.reset();
  for (unsigned i = 0; i < 6000; i++) board.cycle();
  check_that(0, board.chip().message().find("late") != std::string::npos, "the chip says '%s'",
             board.chip().message().c_str());
}

// Commands in sequence, of which the last breaks a rule.
enum { kMode = 0, kRefresh = 1, kPrecharge = 2, kActivate = 3, kWrite = 4, kRead = 5, kNop = 7 };
struct Step {
  unsigned command, address, bank, then;  // then: edges without a command
  bool driven;
};
struct Rule {
  const char *says;
  unsigned pause, skip;  // edges before the first command, and the step of the power-up that is
                         // left out
  std::vector<Step> steps;
};
const std::vector<Rule> kRules = {
    {"pause", 100, 9, {}},
    {"before the precharge of all", 5000, 0, {}},
    {"mode register", 5000, 1, {}},
    {"before the mode register", 5000, 3, {{kActivate, 5, 0, 9, false}}},
    {"without an open row", 5000, 9, {{kRead, 0, 0, 9, false}}},
    {"without an open row", 5000, 9, {{kActivate, 5, 0, 9, false}, {kWrite, 0, 1, 9, true}}},
    {"whose row is open", 5000, 9, {{kActivate, 5, 0, 9, false}, {kActivate, 6, 0, 9, false}}},
    {"within tRRD", 5000, 9, {{kActivate, 5, 0, 0, false}, {kActivate, 6, 1, 9, false}}},
    {"while a row is open", 5000, 9, {{kActivate, 5, 0, 9, false}, {kRefresh, 0, 0, 9, false}}},
    {"cuts a burst",
     5000,
     9,
     {{kActivate, 5, 0, 9, false}, {kRead, 0, 0, 2, false}, {kRead, 4, 0, 9, false}}},
    {"cuts a burst",
     5000,
     9,
     {{kActivate, 5, 0, 9, false}, {kRead, 0, 0, 1, false}, {kPrecharge, 0, 0, 9, false}}},
    {"nothing drives", 5000, 9, {{kActivate, 5, 0, 9, false}, {kWrite, 0, 0, 9, false}}},
    {"both drive",
     5000,
     9,
     {{kActivate, 5, 0, 9, false}, {kRead, 0, 0, 4, false}, {kWrite, 0, 0, 9, true}}},
    {"burst wraps", 5000, 9, {{kActivate, 5, 0, 9, false}, {kRead, 2, 0, 9, false}}},
    {"auto precharge", 5000, 9, {{kActivate, 5, 0, 9, false}, {kRead, 1024, 0, 9, false}}},
    {"burst stop", 5000, 9, {{6, 0, 0, 9, false}}},
};

void give(SdramChip &chip, unsigned command, const Step &step, unsigned edges, bool up) {
  for (unsigned i = 0; i < edges; i++)
    chip.clock({true, false, (command & 4) != 0, (command & 2) != 0, (command & 1) != 0,
                static_cast<uint8_t>(step.bank), static_cast<uint8_t>(up ? 0 : 3),
                static_cast<uint16_t>(step.address), step.driven, 0});
}

std::string break_rule(const Rule &rule) {
  static const std::vector<Step> up = {{kPrecharge, 1024, 0, 9, false},
                                       {kRefresh, 0, 0, 9, false},
                                       {kRefresh, 0, 0, 9, false},
                                       {kMode, 0x22, 0, 9, false}};
  SdramTimes times;
  times.power_up_refreshes = 2;
  SdramChip chip(kClock24, times);
  give(chip, kNop, {}, rule.pause, false);
  for (unsigned i = 0; i < up.size(); i++) {
    if (i == rule.skip) continue;
    give(chip, up[i].command, up[i], 1, false);
    give(chip, kNop, up[i], up[i].then, i + 1 == up.size());
  }
  for (const Step &step : rule.steps) {
    give(chip, step.command, step, 1, rule.skip != 3);
    give(chip, kNop, step, step.then, true);
  }
  return chip.message();
}

TEST(rejects_commands_out_of_order) {
  for (size_t i = 0; i < kRules.size(); i++) {
    const std::string said = break_rule(kRules[i]);
    check_that(static_cast<int64_t>(i), said.find(kRules[i].says) != std::string::npos,
               "want '%s', the chip says '%s'", kRules[i].says, said.c_str());
  }
}

struct Found {
  bool done, failed;
  uint32_t first, fails;
  uint64_t cycles;
};

Found march(const std::function<void(SdramChip &)> &break_it) {
  Board<Vsdram24> board(kClock24);
  break_it(board.chip());
  board.reset();
  board.model().start_i = 1;
  board.cycle();
  board.model().start_i = 0;
  const uint64_t start = board.cycles();
  while (board.model().busy_o && board.cycles() < kLimit) board.cycle();
  const auto &m = board.model();
  check_that(0, board.chip().message().empty(), "%s", board.chip().message().c_str());
  return {m.done_o != 0, m.failed_o != 0, m.first_o, m.fails_o, board.cycles() - start};
}

TEST(march_passes) {
  const Found found = march([](SdramChip &) {});
  check_that(0, found.done && !found.failed && found.fails == 0 && found.first == 0,
             "%u fails, the first at 0x%x", found.fails, found.first);
  std::printf("march: %.2f cycles for each byte\n", static_cast<double>(found.cycles) / 0x40000);
}

TEST(march_finds_faults) {
  Found found = march([](SdramChip &chip) { chip.fault.data_low = 0x0100; });
  check_that(0, found.done && found.failed && found.fails > 1000, "a data line: %u fails",
             found.fails);
  found = march([](SdramChip &chip) { chip.fault.row_low = 0x4; });
  check_that(1, found.done && found.failed && found.first == 0,
             "a row line: %u fails, the first at 0x%x", found.fails, found.first);
  found = march([](SdramChip &chip) { chip.fault.unmasked = 2; });
  check_that(2, found.done && found.failed && found.first == 0 && found.fails == 0x40000 / 8,
             "a byte mask: %u fails, the first at 0x%x", found.fails, found.first);
}

}  // namespace
