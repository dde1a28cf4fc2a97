// SPDX-License-Identifier: Apache-2.0
// The core's SystemC modules: cycles and bits of the plain harness, the rules of their sockets.
#include <cstdio>
#include <cstring>
#include <string>

#include "plain.h"

namespace {

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
void compare(Kind kind, unsigned count, Ufp4CoreOptions options, bool bits) {
  options.sleep = false;
  std::vector<std::unique_ptr<Rig>> rigs;
  unsigned done = 0;
  for (const twin_memory_t &memory : memories) {
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
      if (bits) pair.same_memory();
      pair.run(2000);
      pair.counters();
      if (++done == kMemories) sc_core::sc_stop();
    };
    const std::string name = "rig" + std::to_string(rigs.size());
    rigs.push_back(std::make_unique<Rig>(name.c_str(), kind, memory, body, options));
  }
  sc_core::sc_start();
  check_bits(0, done, kMemories, "hosts that came to their end");
}

}  // namespace

/** Every cycle count and every byte of memory. */
SLOW_TEST(rtl_equals_the_harness) {
  compare(Kind::kRtl, 12, options_of("small"), true);
}

/** By nb_transport too, where the target completes with the request. */
SLOW_TEST(non_blocking_equals_the_harness) {
  Ufp4CoreOptions options = options_of("small");
  options.non_blocking = true;
  compare(Kind::kRtl, 8, options, true);
}

SLOW_TEST(timed_equals_the_harness) {
  compare(Kind::kTimed, 12, options_of("small"), false);
}

SLOW_TEST(timed_equals_the_harness_of_default) {
  compare(Kind::kTimed, 8, options_of("default"), false);
}

namespace {

// On both modules, one after the other; the body ends the property.
void on_both(const Rig::Body &body) {
  static unsigned ends;
  ends = 0;
  const auto counted = [body](Rig &rig) {
    body(rig);
    ends++;
  };
  Rig rtl("rtl", Kind::kRtl, memories[3], counted),
      timed("timed", Kind::kTimed, memories[3], counted);
  sc_core::sc_start();
  check_bits(0, ends, 2, "hosts that came to their end");
}

// D += A B^T in place, which must not be done twice; then some of any kind.
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
  // More jobs while some run.
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

/** A host that does not wait for the interrupt sees what is there at that moment, however far ahead
 * the model is; and what it has run ahead is done once. */
TEST(a_polling_host_sees_the_same) {
  on_both(poll);
}

// --- The register socket ------------------------------------------------------------------------

namespace {

// A GEMM ends well.
void check_serving(Rig &rig) {
  static Jobs jobs;
  rig.ring(jobs.gemm(20, 30, 40));
  check_that(0, rig.wait_interrupt(), "no interrupt of %s", rig.name());
  const ufp4_completion_t done = rig.completion(rig.tail - 1);
  check_bits(0, done.job, rig.tail - 1, "job number of %s", rig.name());
  check_bits(0, done.status, UFP4_CORE_STATUS_OK, "status of %s", rig.name());
  rig.write(UFP4_REG_IRQ_STATUS, 7);
}

}  // namespace

TEST(byte_enables_are_strobes) {
  on_both([](Rig &rig) {
    unsigned char enables[4] = {0, 0xFF, 0, 0};
    uint32_t value = 0x11223344;
    rig.write(UFP4_REG_WATCHDOG, 0xAABBCCDD);
    rig.transport(tlm::TLM_WRITE_COMMAND, UFP4_REG_WATCHDOG, &value, 4, enables);
    check_bits(0, rig.read(UFP4_REG_WATCHDOG), 0xAABB33DD, "one byte");
    enables[1] = 0;
    rig.transport(tlm::TLM_WRITE_COMMAND, UFP4_REG_WATCHDOG, &value, 4, enables);
    check_bits(0, rig.read(UFP4_REG_WATCHDOG), 0xAABB33DD, "none");
    enables[3] = 0xFF;
    rig.transport(tlm::TLM_READ_COMMAND, UFP4_REG_WATCHDOG, &value, 4, enables);
    check_bits(0, value, 0xAA223344, "a read of one byte");
  });
}

TEST(rejects_what_is_no_access) {
  on_both([](Rig &rig) {
    uint64_t data = 0x0123456789ABCDEF;
    const struct {
      tlm::tlm_command command;
      uint64_t address;
      unsigned bytes;
      tlm::tlm_response_status want;
    } cases[] = {
        {tlm::TLM_READ_COMMAND, 2, 4, tlm::TLM_BURST_ERROR_RESPONSE},
        {tlm::TLM_WRITE_COMMAND, UFP4_REG_WATCHDOG + 1, 4, tlm::TLM_BURST_ERROR_RESPONSE},
        {tlm::TLM_WRITE_COMMAND, UFP4_REG_WATCHDOG, 2, tlm::TLM_BURST_ERROR_RESPONSE},
        {tlm::TLM_WRITE_COMMAND, UFP4_REG_WATCHDOG, 8, tlm::TLM_BURST_ERROR_RESPONSE},
        {tlm::TLM_READ_COMMAND, 4096, 4, tlm::TLM_ADDRESS_ERROR_RESPONSE},
        {tlm::TLM_WRITE_COMMAND, ~uint64_t{3}, 4, tlm::TLM_ADDRESS_ERROR_RESPONSE},
        {tlm::TLM_IGNORE_COMMAND, 0, 4, tlm::TLM_COMMAND_ERROR_RESPONSE},
        {tlm::TLM_READ_COMMAND, 4092, 4, tlm::TLM_OK_RESPONSE},  // nothing is there: zero
    };
    for (const auto &each : cases) {
      const auto got = rig.transport(each.command, each.address, &data, each.bytes);
      check_bits(static_cast<int64_t>(each.address), got, each.want, "%u bytes", each.bytes);
    }
    check_bits(0, rig.read(UFP4_REG_WATCHDOG), 0, "nothing was written");
  });
}

/** Amid a job and without time; the registers of the RTL cannot be seen so. */
TEST(debug_reads_have_no_side_effects) {
  on_both([](Rig &rig) {
    static Jobs jobs;
    rig.set_up();
    rig.ring(jobs.gemm(40, 40, 200));
    rig.run(150);
    tlm::tlm_generic_payload payload;
    for (uint32_t offset = 0; offset < 0x200; offset += 4) {
      uint32_t seen = 0;
      payload.set_read();
      payload.set_address(offset);
      payload.set_data_ptr(reinterpret_cast<unsigned char *>(&seen));
      payload.set_data_length(4);
      const uint64_t before = rig.cycles();
      const unsigned bytes = rig.host->transport_dbg(payload);
      check_bits(offset, rig.cycles(), before, "time");
      check_bits(offset, bytes, dynamic_cast<Ufp4CoreTimed *>(rig.core.get()) ? 4 : 0, "bytes");
      if (bytes == 4) check_bits(offset, seen, rig.read(offset), "what a read brings");
    }
    check_that(0, rig.wait_interrupt(), "no interrupt of %s", rig.name());
    rig.write(UFP4_REG_IRQ_STATUS, 7);
    check_serving(rig);
  });
}

// --- The memory socket --------------------------------------------------------------------------

/** Several bursts are under way at once, and what a target does not say in its delay it may wait.
 */
TEST(memory_may_wait) {
  on_both([](Rig &rig) {
    rig.way.waits = true;
    rig.set_up();
    check_serving(rig);
    if (dynamic_cast<Ufp4CoreRtl *>(rig.core.get())) {
      check_that(0, rig.way.most > 2, "%u bursts at most under way at once", rig.way.most);
    }
  });
}

namespace {

// A GEMM whose bursts of one kind are answered with an error; the core serves on.
void check_error(Rig &rig, tlm::tlm_command fails, tlm::tlm_response_status answer,
                 uint32_t status) {
  static Jobs jobs;
  rig.way.fails = fails;
  rig.way.address = TWIN_BASE + TWIN_PLACE_BYTES;  // not the rings
  rig.way.answer = answer;
  rig.ring(jobs.gemm(20, 30, 40));
  check_that(answer, rig.wait_interrupt(), "no interrupt");
  check_bits(answer, rig.completion(rig.tail - 1).status, status, "status");
  rig.write(UFP4_REG_IRQ_STATUS, 7);
  rig.way.fails = tlm::TLM_IGNORE_COMMAND;
  check_serving(rig);
}

}  // namespace

/** Responses that come later, in another order than the requests. */
TEST(non_blocking_takes_phases_as_they_come) {
  Ufp4CoreOptions options = options_of("small");
  options.non_blocking = true;
  Rig rig(
      "rtl", Kind::kRtl, memories[0],
      [](Rig &rig) {
        rig.way.late = true;
        rig.set_up();
        for (unsigned i = 0; i < 4; i++) check_serving(rig);
        check_that(0, rig.way.began > 40, "requests");
        check_bits(0, rig.way.ended, rig.way.began, "responses");
        check_that(0, rig.way.most > 2, "%u bursts at most under way at once", rig.way.most);
        check_error(rig, tlm::TLM_READ_COMMAND, tlm::TLM_GENERIC_ERROR_RESPONSE,
                    UFP4_CORE_STATUS_READ_ERROR);
        rig.ring(Jobs().gemm(40, 40, 200));
        rig.run(150);
        rig.reset.write(true);
        rig.run(20);
        rig.reset.write(false);
        rig.tail = 0;
        rig.set_up();
        check_serving(rig);
      },
      options);
  sc_core::sc_start();
}

TEST(memory_errors_end_the_job) {
  Rig rig("rtl", Kind::kRtl, memories[0], [](Rig &rig) {
    rig.set_up();
    for (auto answer : {tlm::TLM_ADDRESS_ERROR_RESPONSE, tlm::TLM_GENERIC_ERROR_RESPONSE,
                        tlm::TLM_BURST_ERROR_RESPONSE, tlm::TLM_INCOMPLETE_RESPONSE}) {
      check_error(rig, tlm::TLM_READ_COMMAND, answer, UFP4_CORE_STATUS_READ_ERROR);
      check_error(rig, tlm::TLM_WRITE_COMMAND, answer, UFP4_CORE_STATUS_WRITE_ERROR);
    }
  });
  sc_core::sc_start();
}

namespace {

// What SystemC reports of a run, or an empty text.
std::string report_of(const std::function<void()> &run) {
  try {
    run();
  } catch (const sc_core::sc_report &report) {
    return report.what();
  }
  return {};
}

void check_report(const std::string &report, const char *words) {
  check_that(0, report.find(words) != std::string::npos, "reported: \"%s\", without \"%s\"",
             report.c_str(), words);
}

std::vector<twin_job_t> outside() {
  static Jobs jobs;
  auto list = jobs.gemm(20, 30, 40);
  list[0].gemm.a_codes_addr = TWIN_BASE - 4096;
  return list;
}

}  // namespace

TEST(an_address_outside_ends_the_job) {
  Rig rig("rtl", Kind::kRtl, memories[0], [](Rig &rig) {
    rig.set_up();
    rig.ring(outside());
    check_that(0, rig.wait_interrupt(), "no interrupt");
    check_bits(0, rig.completion(0).status, UFP4_CORE_STATUS_READ_ERROR, "status");
    rig.write(UFP4_REG_IRQ_STATUS, 7);
    check_serving(rig);
  });
  sc_core::sc_start();
}

TEST(timed_rejects_an_address_outside) {
  Rig rig("timed", Kind::kTimed, memories[0], [](Rig &rig) {
    rig.set_up();
    rig.ring(outside());
    rig.wait_interrupt();
  });
  check_report(report_of([] { sc_core::sc_start(); }), "outside of the memory that `mem` gives");
}

TEST(timed_rejects_memory_errors) {
  Rig rig("timed", Kind::kTimed, memories[0], [](Rig &rig) {
    rig.set_up();
    rig.way.fails = tlm::TLM_READ_COMMAND;
    rig.way.answer = tlm::TLM_GENERIC_ERROR_RESPONSE;
    rig.ring(outside());
    rig.wait_interrupt();
  });
  check_report(report_of([] { sc_core::sc_start(); }), "a descriptor cannot be read");
}

TEST(rejects_an_unknown_configuration) {
  Ufp4CoreOptions options;
  options.configuration = "none";
  check_report(report_of([&] { Ufp4CoreRtl core("rtl", options); }), "configuration none");
  check_report(report_of([&] { Ufp4CoreTimed core("timed", options); }), "configuration none");
}

TEST(rejects_a_clock_without_a_period) {
  Ufp4CoreOptions options = options_of("small");
  options.period = sc_core::SC_ZERO_TIME;
  check_report(report_of([&] { Ufp4CoreRtl core("rtl", options); }), "period");
  check_report(report_of([&] { Ufp4CoreTimed core("timed", options); }), "period");
}

TEST(rejects_unbound_sockets) {
  Ufp4CoreOptions options;
  options.configuration = "small";
  Ufp4CoreRtl rtl("rtl", options);
  check_report(report_of([] { sc_core::sc_start(); }), "complete binding failed");
}

// --- Reset and sleep ----------------------------------------------------------------------------

/** Amid jobs, while bursts are under way; pulses of any length. */
TEST(reset_amid_jobs) {
  Plain plain(memories[3]);
  plain.reset();
  plain.read(UFP4_REG_STATUS);
  plain.write(UFP4_REG_CONTROL, 1);
  const uint32_t since_reset = plain.read(UFP4_REG_COUNTER_BASE);
  on_both([since_reset](Rig &rig) {
    static Jobs jobs;
    for (unsigned i = 0; i < 12; i++) {
      const uint64_t held = i * i;
      rig.set_up();
      rig.ring(jobs.gemm(40, 40, 200));
      rig.run(7 + 31 * i);
      rig.reset.write(true);
      rig.run(held);
      sc_core::wait(sc_core::SC_ZERO_TIME);
      rig.reset.write(false);
      rig.tail = 0;
      const uint64_t before = rig.cycles();
      check_bits(i, rig.read(UFP4_REG_STATUS), 2, "status of %s", rig.name());
      check_bits(i, rig.cycles() - before, held < 8 ? 10 - held : 2, "cycles until it answers");
      check_that(i, !rig.irq.read(), "an interrupt of %s", rig.name());
      rig.write(UFP4_REG_CONTROL, 1);
      check_bits(i, rig.read(UFP4_REG_COUNTER_BASE), since_reset, "cycles of %s", rig.name());
      rig.set_up();
      check_serving(rig);
      rig.write(UFP4_REG_CONTROL, 4);
      rig.run(20);
      rig.tail = 0;
    }
  });
}

/** The interrupt goes, and does not come back when the access ends. */
TEST(reset_amid_an_access) {
  on_both([](Rig &rig) {
    static Jobs jobs;
    for (unsigned i = 0; i < 4; i++) {
      rig.set_up();
      rig.ring(jobs.gemm(20, 30, 40));
      check_that(i, rig.wait_interrupt(), "no interrupt of %s", rig.name());
      rig.run(10);
      sc_core::sc_spawn([&rig, i] {
        sc_core::wait(i * rig.period / 2);
        rig.reset.write(true);
        sc_core::wait(rig.period);
        rig.reset.write(false);
      });
      rig.tail = rig.read(UFP4_REG_RING_TAIL);
      rig.run(20);
      check_that(i, !rig.irq.read(), "an interrupt of %s", rig.name());
      check_bits(i, rig.read(UFP4_REG_RING_TAIL), 0, "tail of %s", rig.name());
      rig.tail = 0;
    }
    rig.set_up();
    check_serving(rig);
  });
}

/** A millisecond of nothing costs no cycle; then the core wakes. */
TEST(an_idle_core_sleeps) {
  Rig rig("rtl", Kind::kRtl, memories[0], [](Rig &rig) {
    rig.set_up();
    for (unsigned i = 0; i < 3; i++) {
      check_serving(rig);
      const uint64_t before = rig.core->cycles();
      rig.run(1000000);
      check_that(i, rig.core->cycles() - before < 200, "%llu cycles in its sleep",
                 static_cast<unsigned long long>(rig.core->cycles() - before));
    }
    rig.reset.write(true);
    rig.run(20);
    rig.reset.write(false);
    check_bits(0, rig.read(UFP4_REG_RING_TAIL), 0, "reset in its sleep");
  });
  sc_core::sc_start();
}

static const check_test_t tests[] = {CHECK_TEST(rtl_equals_the_harness),
                                     CHECK_TEST(timed_equals_the_harness),
                                     CHECK_TEST(timed_equals_the_harness_of_default),
                                     CHECK_TEST(a_polling_host_sees_the_same),
                                     CHECK_TEST(byte_enables_are_strobes),
                                     CHECK_TEST(rejects_what_is_no_access),
                                     CHECK_TEST(debug_reads_have_no_side_effects),
                                     CHECK_TEST(memory_may_wait),
                                     CHECK_TEST(non_blocking_equals_the_harness),
                                     CHECK_TEST(non_blocking_takes_phases_as_they_come),
                                     CHECK_TEST(memory_errors_end_the_job),
                                     CHECK_TEST(an_address_outside_ends_the_job),
                                     CHECK_TEST(timed_rejects_an_address_outside),
                                     CHECK_TEST(timed_rejects_memory_errors),
                                     CHECK_TEST(rejects_an_unknown_configuration),
                                     CHECK_TEST(rejects_a_clock_without_a_period),
                                     CHECK_TEST(rejects_unbound_sockets),
                                     CHECK_TEST(reset_amid_jobs),
                                     CHECK_TEST(reset_amid_an_access),
                                     CHECK_TEST(an_idle_core_sleeps)};

int sc_main(int argc, char **argv) {
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
