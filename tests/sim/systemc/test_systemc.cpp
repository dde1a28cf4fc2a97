// SPDX-License-Identifier: Apache-2.0
// The core's SystemC modules: cycles and bits of the plain harness, the rules of their sockets.
#include <cstdio>
#include <cstring>
#include <string>

#include "rig.h"

namespace {

/** The plain harness, given what a rig is given. */
class Plain {
 public:
  explicit Plain(twin_memory_t memory, const char *configuration = "small") {
    char message[200] = "";
    ufp4_sim_options_t options{};
    options.configuration = configuration;
    options.memory_base = TWIN_BASE;
    options.memory_bytes = TWIN_PLACE_BYTES * (TWIN_PLACES + 1);
    options.latency_cycles = memory.latency;
    options.bandwidth_bytes = memory.bandwidth;
    sim_ = ufp4_sim_open(&options, message, sizeof message);
    check_that(0, sim_ != nullptr, "%s", message);
  }
  ~Plain() {
    ufp4_sim_close(sim_);
  }
  Plain(const Plain &) = delete;
  Plain &operator=(const Plain &) = delete;

  uint32_t read(uint32_t offset) {
    uint32_t value = 0;
    must(ufp4_sim_register_read(sim_, offset, &value));
    return value;
  }
  void write(uint32_t offset, uint32_t value) {
    must(ufp4_sim_register_write(sim_, offset, value));
  }
  void wait_interrupt() {
    must(ufp4_sim_wait_interrupt(sim_, 10000000));
  }
  void run(uint64_t cycles) {
    must(ufp4_sim_run(sim_, cycles));
  }
  void reset() {
    must(ufp4_sim_reset(sim_));
  }
  uint64_t cycles() const {
    return ufp4_sim_cycles(sim_);
  }
  uint8_t *at(uint64_t address, uint64_t bytes) {
    return ufp4_sim_memory(sim_, address, bytes);
  }

 private:
  void must(ufp4_sim_status_t status) {
    check_bits(0, status, UFP4_SIM_OK, "%s", ufp4_sim_message(sim_));
  }
  ufp4_sim_t *sim_ = nullptr;
};

/** A rig and the plain harness doing the same, compared in every cycle count that a host can see.
 */
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
    for (uint32_t i = rig_.tail - static_cast<uint32_t>(jobs.size()); i != rig_.tail; i++) {
      const ufp4_completion_t got = rig_.completion(i);
      ufp4_completion_t want;
      std::memcpy(&want, plain_.at(kCompletions + i % TWIN_RING * sizeof want, sizeof want),
                  sizeof want);
      same(got.job, want.job, "job number", i);
      same(got.status, want.status, "status", i);
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

/** Jobs for a configuration, random ones. */
struct Jobs {
  explicit Jobs(const char *configuration = "small") {
    twin.random = check_random();
    twin_configure(&twin, configuration);
  }
  std::vector<twin_job_t> one(uint32_t limit) {
    return {timing_job(&twin, limit)};
  }
  std::vector<twin_job_t> list(uint32_t limit) {
    twin_job_t jobs[16];
    return {jobs, jobs + timing_list(&twin, limit, jobs)};
  }
  std::vector<twin_job_t> gemm(uint32_t m, uint32_t n, uint32_t k) {
    return {timing_gemm(&twin, m, n, k)};
  }
  twin_t twin{};
};

// Small numbers where operands may lie.
void fill(uint8_t *memory) {
  check_random_t random = check_random();
  for (uint64_t i = 1; i <= TWIN_PLACES; i++) {
    for (uint64_t j = 0; j < 1 << 18; j += 4) {
      const float value = static_cast<float>(check_below(&random, 2001)) / 1000 - 1;
      std::memcpy(memory + i * TWIN_PLACE_BYTES + j, &value, sizeof value);
    }
  }
}

const twin_memory_t memories[] = {{100, 0, 0}, {0, 0, 0}, {1, 13, 0}, {20, 7, 0}};
constexpr size_t kMemories = sizeof memories / sizeof memories[0];

// Each memory has a rig; all run side by side.
void compare(Kind kind, unsigned count, const char *configuration, bool bits) {
  std::vector<std::unique_ptr<Rig>> rigs;
  unsigned done = 0;
  for (const twin_memory_t &memory : memories) {
    const auto body = [&, memory](Rig &rig) {
      Plain plain(memory, configuration);
      Pair pair(rig, plain);
      Jobs jobs(configuration);
      fill(rig.memory.at(TWIN_BASE, 1));
      fill(plain.at(TWIN_BASE, 1));
      pair.set_up();
      for (unsigned i = 0; i < count; i++) {
        const auto list = i % 4 == 3 ? jobs.list(60) : jobs.one(60);
        pair.ring(list);
        pair.finish(list);
        pair.counters();
      }
      if (bits) pair.same_memory();
      pair.run(2000);
      pair.counters();
      if (++done == kMemories) sc_core::sc_stop();
    };
    const std::string name = "rig" + std::to_string(rigs.size());
    rigs.push_back(std::make_unique<Rig>(name.c_str(), kind, memory, body, configuration, false));
  }
  sc_core::sc_start();
  check_bits(0, done, kMemories, "hosts that came to their end");
}

}  // namespace

/** Every cycle count and every byte of memory. */
SLOW_TEST(rtl_equals_the_harness) {
  compare(Kind::kRtl, 12, "small", true);
}

SLOW_TEST(timed_equals_the_harness) {
  compare(Kind::kTimed, 12, "small", false);
}

SLOW_TEST(timed_equals_the_harness_of_default) {
  compare(Kind::kTimed, 8, "default", false);
}

/** A host that does not wait for the interrupt sees what is there at that moment, however far ahead
 * the model is. */
TEST(a_polling_host_sees_the_same) {
  for (Kind kind : {Kind::kRtl, Kind::kTimed}) {
    static Jobs jobs;
    static const auto list = [] {
      auto all = jobs.gemm(40, 40, 300);
      for (int i = 0; i < 3; i++) all.push_back(timing_gemm(&jobs.twin, 17, 33, 64));
      return all;
    }();
    new Rig(kind == Kind::kRtl ? "rtl" : "timed", kind, memories[3], [](Rig &rig) {
      Plain plain(memories[3]);
      Pair pair(rig, plain);
      pair.set_up();
      pair.ring(list);
      for (unsigned polls = 1; pair.read(UFP4_REG_RING_HEAD) != list.size(); polls++) {
        if (polls % 8 == 0) pair.counters();
        pair.read(UFP4_REG_STATUS);
        pair.run(37);
      }
      pair.finish(list);
      // More jobs while some run.
      pair.ring(list);
      pair.run(200);
      pair.ring(list);
      pair.run(1);
      pair.finish(list);
      pair.counters();
    });
  }
  sc_core::sc_start();
}

static const check_test_t tests[] = {
    CHECK_TEST(rtl_equals_the_harness), CHECK_TEST(timed_equals_the_harness),
    CHECK_TEST(timed_equals_the_harness_of_default), CHECK_TEST(a_polling_host_sees_the_same)};

int sc_main(int argc, char **argv) {
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
