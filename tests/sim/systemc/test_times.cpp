// SPDX-License-Identifier: Apache-2.0
// Tests clocks and memories at other time resolutions of the kernel, and other clock periods: the
// cycles are those at a picosecond, or the module refuses the time by name.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "cases.h"

namespace {

// Clock periods in nanoseconds.
const double periods[] = {0.333, 0.5, 1, 1.25, 2};
const char *const drams[] = {nullptr, "lpddr5", "hbm3"};
constexpr uint64_t kFsOfNs = 1000000;

bool whole(double period, uint64_t resolution_fs) {
  return static_cast<uint64_t>(period * kFsOfNs + 0.5) % resolution_fs == 0;
}

/** The times that a host sees of a core: the cycle of each interrupt, and the cycles of each
 * job. */
using Seen = std::vector<uint64_t>;

// Runs lists of jobs with a reset amid one, during which a memory with banks keeps its time.
void watch(Rig &rig, Seen *seen) {
  Jobs jobs;
  for (unsigned i = 0; i < 4; i++) {
    if (i % 2 == 0) rig.set_up();
    const auto list = jobs.list(40);
    rig.ring(list);
    check_that(i, rig.wait_interrupt(), "no interrupt of %s", rig.name());
    seen->push_back(rig.cycles());
    for (uint32_t j = rig.tail - static_cast<uint32_t>(list.size()); j != rig.tail; j++) {
      seen->push_back(rig.completion(j).cycles);
    }
    rig.write(UFP4_REG_IRQ_STATUS, 7);
    if (i != 1) continue;
    rig.ring(jobs.gemm(40, 40, 200));
    rig.run(731);
    rig.pulse_reset();
  }
}

/** Runs every period that is a multiple of this resolution, with each memory and each module, at
 * once. */
Seen watch_all(uint64_t resolution_fs) {
  struct One {
    std::unique_ptr<Rig> rig;
    Seen seen;
  };
  std::vector<std::unique_ptr<One>> all;
  for (const double period : periods) {
    if (!whole(period, resolution_fs)) continue;
    for (const char *dram : drams) {
      for (unsigned kind = 0; kind < 3; kind++) {
        Ufp4CoreOptions options = options_of("small");
        options.period = {period, sc_core::SC_NS};
        options.outside = kind == 2;
        all.push_back(std::make_unique<One>());
        Seen *seen = &all.back()->seen;
        const std::string name = "rig" + std::to_string(all.size());
        all.back()->rig = std::make_unique<Rig>(
            name.c_str(), kind == 0 ? Kind::kRtl : Kind::kTimed, twin_memory_t{20, 7, 0, dram},
            [seen](Rig &rig) { watch(rig, seen); }, options);
      }
    }
  }
  sc_core::sc_start();
  Seen together;
  for (size_t i = 0; i < all.size(); i++) {
    const Seen &rtl = all[i - i % 3]->seen, &got = all[i]->seen;
    const auto at = static_cast<int64_t>(i);
    check_bits(at, got.size(), rtl.size(), "counts of %s", all[i]->rig->name());
    for (size_t j = 0; j < got.size() && j < rtl.size(); j++) {
      check_bits(at, got[j], rtl[j], "%s, which has %s, count %zu", all[i]->rig->name(),
                 all[i - i % 3]->rig->name(), j);
    }
    together.insert(together.end(), got.begin(), got.end());
  }
  return together;
}

// Returns the times at a resolution of a picosecond, from a process of its own.
Seen at_a_picosecond(uint64_t resolution_fs) {
  int ends[2];
  check_bits(0, static_cast<uint64_t>(pipe(ends)), 0, "a pipe");
  const pid_t child = fork();
  if (child == 0) {
    sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
    const Seen seen = watch_all(resolution_fs);
    for (const uint64_t each : seen) {
      if (write(ends[1], &each, sizeof each) != sizeof each) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  Seen seen;
  for (uint64_t each; read(ends[0], &each, sizeof each) == sizeof each;) seen.push_back(each);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  check_bits(0, static_cast<uint64_t>(status), 0, "status of the process at a picosecond");
  return seen;
}

void check_resolution(double value, sc_core::sc_time_unit unit, uint64_t resolution_fs) {
  const Seen want = at_a_picosecond(resolution_fs);
  sc_core::sc_set_time_resolution(value, unit);
  const Seen got = watch_all(resolution_fs);
  check_bits(0, got.size(), want.size(), "counts");
  check_that(0, got.size() > 100, "only %zu counts", got.size());
  for (size_t i = 0; i < got.size() && i < want.size(); i++) {
    check_bits(static_cast<int64_t>(i), got[i], want[i], "a count");
  }
}

// Checks the message with which each module refuses a time.
void check_refused(const Ufp4Time &time, const char *words) {
  Ufp4CoreOptions options = options_of("small");
  options.period = time;
  const std::string rtl = std::string("rtl: the period of a core's clock") + words;
  const std::string timed = std::string("timed: the period of a core's clock") + words;
  check_report(report_of([&] { Ufp4CoreRtl core("rtl", options); }), rtl.c_str());
  check_report(report_of([&] { Ufp4CoreTimed core("timed", options); }), timed.c_str());
}

void check_not_whole(const Ufp4Time &time, const std::string &words) {
  check_refused(time, (": " + words).c_str());
  check_report(report_of([&] { Ufp4Memory memory("memory", 0, 4096, time); }),
               ("memory: the latency: " + words).c_str());
}

}  // namespace

SLOW_TEST(cycles_at_a_femtosecond) {
  check_resolution(1, sc_core::SC_FS, 1);
}

FULL_TEST(cycles_at_100_femtoseconds) {
  check_resolution(100, sc_core::SC_FS, 100);
}

SLOW_TEST(cycles_at_10_picoseconds) {
  check_resolution(10, sc_core::SC_PS, 10000);
}

FULL_TEST(cycles_at_100_picoseconds) {
  check_resolution(100, sc_core::SC_PS, 100000);
}

SLOW_TEST(cycles_at_a_nanosecond) {
  check_resolution(1, sc_core::SC_NS, 1000000);
}

TEST(rejects_a_time_between_resolutions_of_10_picoseconds) {
  sc_core::sc_set_time_resolution(10, sc_core::SC_PS);
  check_not_whole({0.333, sc_core::SC_NS},
                  "0.333 ns is not a multiple of the time resolution, 10 ps");
  check_not_whole({1255, sc_core::SC_PS},
                  "1.255 ns is not a multiple of the time resolution, 10 ps");
  check_not_whole({-1, sc_core::SC_NS}, "-1 ns is not a multiple");
  check_that(0, Ufp4Time(0.33, sc_core::SC_NS).wrong().empty(), "0.33 ns");
  check_that(0, Ufp4Time(sc_core::sc_time(0.333, sc_core::SC_NS)).wrong().empty(), "an sc_time");
}

TEST(rejects_a_time_between_resolutions_of_a_nanosecond) {
  sc_core::sc_set_time_resolution(1, sc_core::SC_NS);
  check_not_whole({0.5, sc_core::SC_NS}, "0.5 ns is not a multiple of the time resolution, 1 ns");
  check_not_whole({1.25, sc_core::SC_NS}, "1.25 ns is not a multiple");
  check_not_whole({333, sc_core::SC_PS}, "0.333 ns is not a multiple");
  check_refused(sc_core::sc_time(0.4, sc_core::SC_NS), " is zero, at a time resolution of 1 ns");
}

TEST(rejects_the_time_that_options_have_at_a_microsecond) {
  sc_core::sc_set_time_resolution(1, sc_core::SC_US);
  check_not_whole(Ufp4CoreOptions().period, "1 ns is not a multiple");
  check_that(0, Ufp4Time(2, sc_core::SC_MS).wrong().empty(), "2 ms");
}
