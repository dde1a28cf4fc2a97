// SPDX-License-Identifier: Apache-2.0
// Tests that the core's SystemC modules have the cycles and bits of the plain harness.
#include <cstdio>
#include <cstring>
#include <string>

#include "cases.h"

namespace {

/** Drives a rig and the plain harness alike, and compares every cycle count that a host can see. */
class Pair {
 public:
  Pair(Rig &rig, Plain &plain) : rig_(rig), plain_(plain) {}

  void same(uint64_t got, uint64_t want, const char *what, unsigned index = 0) {
    check_bits(index, got, want, "%s of %s at cycle %llu", what, rig_.name(),
               static_cast<unsigned long long>(plain_.cycles()));
  }
  void write(uint32_t offset, uint32_t value) {
    rig_.write(offset, value);
    plain_.write(offset, value);
    same(rig_.cycles(), plain_.cycles(), "time of a write", offset);
  }
  uint32_t read(uint32_t offset) {
    const uint32_t want = plain_.read(offset);
    same(rig_.read(offset), want, "register", offset);
    same(rig_.cycles(), plain_.cycles(), "time of a read", offset);
    return want;
  }
  void run(uint64_t cycles) {
    plain_.run(cycles);
    rig_.run(cycles);
  }
  void set_up() {
    for (uint32_t offset = 0; offset < UFP4_REG_COUNTER_BASE; offset += 4) read(offset);
    for (const auto &[offset, value] : set_up_registers()) write(offset, value);
  }
  void counters() {
    write(UFP4_REG_CONTROL, 1);
    for (uint32_t i = 0; i < 2 * UFP4_COUNTER_COUNT; i++) read(UFP4_REG_COUNTER_BASE + 4 * i);
  }
  void ring(const std::vector<twin_job_t> &jobs) {
    for (const twin_job_t &job : rung(jobs, rig_.tail)) {
      std::memcpy(plain_.at(TWIN_BASE + job.header.job % TWIN_RING * sizeof job, sizeof job), &job,
                  sizeof job);
    }
    rig_.ring(jobs);
    plain_.write(UFP4_REG_RING_TAIL, rig_.tail);
    same(rig_.cycles(), plain_.cycles(), "time of a doorbell");
  }
  void finish(const std::vector<twin_job_t> &jobs) {
    plain_.wait_interrupt();
    check_that(0, rig_.wait_interrupt(), "no interrupt of %s", rig_.name());
    same(rig_.cycles(), plain_.cycles(), "time of an interrupt");
    write(UFP4_REG_IRQ_STATUS, 7);
    check_that(0, !rig_.irq.read(), "the interrupt of %s is high behind its clear", rig_.name());
    for (uint32_t i = rig_.tail - static_cast<uint32_t>(jobs.size()); i != rig_.tail; i++) {
      const ufp4_completion_t got = rig_.completion(i);
      ufp4_completion_t want;
      std::memcpy(&want, plain_.at(kCompletions + i % TWIN_RING * sizeof want, sizeof want),
                  sizeof want);
      same(got.job, want.job, "job number", i);
      same(got.status, want.status, "status", i);
      same(got.flags, want.flags, "flags", i);
      same(got.cycles, want.cycles, "cycles of job", i);
    }
  }
  void same_memory() {
    const uint64_t bytes = TWIN_PLACE_BYTES * (TWIN_PLACES + 1);
    same(static_cast<uint64_t>(
             std::memcmp(rig_.memory.at(TWIN_BASE, bytes), plain_.at(TWIN_BASE, bytes), bytes)),
         0, "memory");
  }

 private:
  static constexpr uint64_t kCompletions = TWIN_BASE + TWIN_RING * UFP4_DESCRIPTOR_BYTES;
  Rig &rig_;
  Plain &plain_;
};

// Runs a rig for each memory, side by side.
void compare(Kind kind, unsigned count, Ufp4CoreOptions options) {
  options.sleep = false;
  std::vector<std::unique_ptr<Rig>> rigs;
  unsigned done = 0, all = 0;
  for (const twin_memory_t &memory : memories) {
    // A timed module gets an answer a cycle later if its target answers within a cycle.
    if (options.outside && memory.latency < 2 && memory.dram == nullptr) continue;
    all++;
    const auto body = [&, memory](Rig &rig) {
      Plain plain(memory, options.configuration.c_str());
      Pair pair(rig, plain);
      Jobs jobs(options.configuration.c_str());
      fill(rig.memory.at(TWIN_BASE, 1));
      fill(plain.at(TWIN_BASE, 1));
      pair.set_up();
      for (unsigned i = 0; i < count; i++) {
        const auto list = i % 4 == 3 ? jobs.list(60) : jobs.one(60);
        pair.ring(list);
        pair.finish(list);
        pair.counters();
      }
      pair.same_memory();
      pair.run(2000);
      pair.counters();
      if (++done == all) sc_core::sc_stop();
    };
    const std::string name = "rig" + std::to_string(rigs.size());
    rigs.push_back(std::make_unique<Rig>(name.c_str(), kind, memory, body, options));
  }
  sc_core::sc_start();
  check_bits(0, done, all, "hosts that came to their end");
}

}  // namespace

/** Compares every cycle count and every byte of memory. */
SLOW_TEST(rtl_equals_the_harness) {
  compare(Kind::kRtl, 12, options_of("small"));
}

/** nb_transport gives the same cycles if the target completes with the request. */
SLOW_TEST(non_blocking_equals_the_harness) {
  Ufp4CoreOptions options = options_of("small");
  options.non_blocking = true;
  compare(Kind::kRtl, 8, options);
}

SLOW_TEST(timed_equals_the_harness) {
  compare(Kind::kTimed, 12, options_of("small"));
}

/** The target determines the time. */
SLOW_TEST(timed_with_memory_outside_equals_the_harness) {
  Ufp4CoreOptions options = options_of("small");
  options.outside = true;
  compare(Kind::kTimed, 12, options);
}

SLOW_TEST(timed_with_memory_outside_by_nb_transport_equals_the_harness) {
  Ufp4CoreOptions options = options_of("small");
  options.outside = options.non_blocking = true;
  compare(Kind::kTimed, 8, options);
}

SLOW_TEST(timed_equals_the_harness_of_default) {
  compare(Kind::kTimed, 8, options_of("default"));
}

namespace {

// Returns a GEMM D += A B^T in place, which must not be done twice, and some others.
std::vector<twin_job_t> gemms(Jobs &jobs) {
  auto list = jobs.gemm(40, 40, 300);
  ufp4_gemm_descriptor_t &gemm = list[0].gemm;
  gemm.d_dtype = UFP4_DTYPE_F32;
  gemm.d_mode = UFP4_D_MODE_C;
  gemm.d_stride_bytes = gemm.c_stride_bytes = 256;
  gemm.c_addr = gemm.d_addr;
  for (int i = 0; i < 3; i++) list.push_back(timing_gemm(&jobs.twin, 17, 33, 64));
  return list;
}

void poll(Rig &rig) {
  Jobs jobs;
  const auto list = gemms(jobs);
  Plain plain(memories[3]);
  Pair pair(rig, plain);
  fill(rig.memory.at(TWIN_BASE, 1));
  fill(plain.at(TWIN_BASE, 1));
  pair.set_up();
  pair.ring(list);
  for (unsigned polls = 1; pair.read(UFP4_REG_RING_HEAD) != list.size(); polls++) {
    if (polls % 8 == 0) pair.counters();
    pair.read(UFP4_REG_STATUS);
    pair.run(37);
  }
  pair.finish(list);
  // Submits more jobs while some run.
  pair.ring(list);
  pair.run(200);
  pair.ring(list);
  pair.run(1);
  pair.finish(list);
  pair.counters();
  while (pair.read(UFP4_REG_STATUS) & 1) pair.run(50);
  pair.same_memory();
}

}  // namespace

namespace {

// Makes every write that is legal amid jobs, as often as reads.
void write_amid_jobs(Rig &rig) {
  Jobs jobs;
  check_random_t random = check_random();
  Plain plain(memories[3]);
  Pair pair(rig, plain);
  pair.set_up();
  for (unsigned round = 0; round < 12; round++) {
    const auto list = jobs.list(40);
    uint32_t given = rig.tail;
    pair.ring(list);
    given += static_cast<uint32_t>(list.size());
    for (unsigned polls = 0; pair.read(UFP4_REG_RING_HEAD) != given; polls++) {
      switch (check_below(&random, 7)) {
        case 0:
          pair.write(UFP4_REG_CONTROL, 1 + check_below(&random, 3));
          break;
        case 1:
          pair.write(UFP4_REG_IRQ_STATUS, check_below(&random, 8));
          break;
        case 2:
          pair.write(UFP4_REG_IRQ_MASK, check_below(&random, 8));
          break;
        case 3:
          pair.write(UFP4_REG_WATCHDOG, 100000);
          break;
        case 4:
          pair.write(UFP4_REG_RING_TAIL, rig.tail);
          break;
        case 5:
          pair.counters();
          break;
        default:
          // Submits another job, whether or not the earlier ones have been fetched.
          if (polls > 12) break;
          pair.ring(jobs.gemm(5, 6, 7));
          given++;
      }
      const uint32_t mask = pair.read(UFP4_REG_IRQ_MASK);
      const bool raised = pair.read(UFP4_REG_IRQ_STATUS) & mask;
      // The interrupt may rise during the read, and then the status does not show it.
      if (raised) pair.same(rig.irq.read(), 1, "interrupt");
      pair.run(check_below(&random, 400));
    }
    pair.write(UFP4_REG_IRQ_STATUS, 7);
    pair.counters();
  }
}

}  // namespace

TEST(a_host_that_writes_amid_jobs_sees_the_same) {
  Ufp4CoreOptions options = options_of("small");
  options.sleep = false;
  unsigned ends = 0;
  const auto body = [&](Rig &rig) {
    write_amid_jobs(rig);
    if (++ends == 2) sc_core::sc_stop();
  };
  Rig rtl("rtl", Kind::kRtl, memories[3], body, options),
      timed("timed", Kind::kTimed, memories[3], body, options);
  sc_core::sc_start();
  check_bits(0, ends, 2, "hosts that came to their end");
  check_that(0, rtl.edges.size() > 20, "edges of the interrupt");
  same_edges(timed, rtl);
}

/** A polling host sees the state of that moment, however far ahead the model is, and the work that
 * the model has done ahead is not repeated. */
TEST(a_polling_host_sees_the_same) {
  on_both(poll, true);
}

namespace {

uint32_t head_of(Rig &rig) {
  uint32_t seen = 0;
  check_bits(0, debug_read(rig, UFP4_REG_RING_HEAD, &seen), 4, "bytes");
  return seen;
}

// Makes the accesses that change no job.
void poll_by_access(Rig &rig, unsigned polls) {
  rig.write(UFP4_REG_IRQ_STATUS, 3);
  rig.write(UFP4_REG_CONTROL, 1 + polls % 3);
  rig.write(UFP4_REG_IRQ_MASK, 1 + polls % 7);
  rig.write(UFP4_REG_RING_TAIL, rig.tail);
  rig.write(UFP4_REG_RING_BASE_LO, static_cast<uint32_t>(TWIN_BASE));
  rig.write(UFP4_REG_WATCHDOG, 0);
  rig.read(UFP4_REG_STATUS);
}

// Returns the steps of the timed model for a job of some thousand cycles.
uint64_t steps_of(Rig &rig, Jobs &jobs, const std::function<void(unsigned)> &poll,
                  unsigned *polls) {
  const auto *core = dynamic_cast<const Ufp4CoreTimed *>(rig.core.get());
  const uint64_t before = core->steps();
  rig.ring(jobs.gemm(60, 60, 200));
  for (*polls = 0; poll && head_of(rig) != rig.tail; ++*polls) poll(*polls);
  if (!poll) check_that(0, rig.wait_interrupt(), "no interrupt");
  rig.write(UFP4_REG_IRQ_STATUS, 7);
  rig.write(UFP4_REG_IRQ_MASK, 1);
  return core->steps() - before;
}

}  // namespace

/** Counts work instead of seconds: every cycle is stepped at most twice, whether polls are many or
 * few, and whether they use transport or debug reads. */
TEST(polling_does_not_repeat_what_has_been_run) {
  Rig rig("timed", Kind::kTimed, memories[3], [](Rig &rig) {
    Jobs jobs;
    unsigned polls = 0;
    rig.set_up();
    const uint64_t alone = steps_of(rig, jobs, nullptr, &polls);
    for (const unsigned every : {2000u, 200u, 20u}) {
      for (const bool access : {false, true}) {
        const uint64_t before = rig.cycles();
        const auto poll = [&](unsigned polls) {
          if (access) poll_by_access(rig, polls);
          rig.run(every);
        };
        const uint64_t steps = steps_of(rig, jobs, poll, &polls), cycles = rig.cycles() - before;
        check_that(every, cycles > 5000 && polls > 2, "%llu cycles, %u polls",
                   static_cast<unsigned long long>(cycles), polls);
        check_that(every, steps <= alone + cycles + 500,
                   "%llu steps for %llu cycles, %llu without polls",
                   static_cast<unsigned long long>(steps), static_cast<unsigned long long>(cycles),
                   static_cast<unsigned long long>(alone));
      }
    }
  });
  sc_core::sc_start();
}
