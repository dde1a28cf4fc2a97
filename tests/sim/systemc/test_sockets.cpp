// SPDX-License-Identifier: Apache-2.0
// Tests the rules of the SystemC modules' sockets, their reset and their sleep.
#include <cstring>
#include <string>

// clang-format off
#include "cases.h"
// This header does not include what it needs, so it comes after the others.
#include <tlm_utils/tlm_quantumkeeper.h>
// clang-format on

// --- The register socket ------------------------------------------------------------------------

namespace {

// Checks that a GEMM ends well.
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
        {tlm::TLM_READ_COMMAND, 4092, 4, tlm::TLM_OK_RESPONSE},  // no register: zero
    };
    for (const auto &each : cases) {
      const auto got = rig.transport(each.command, each.address, &data, each.bytes);
      check_bits(static_cast<int64_t>(each.address), got, each.want, "%u bytes", each.bytes);
    }
    check_bits(0, rig.read(UFP4_REG_WATCHDOG), 0, "nothing was written");
  });
}

/** The reads come amid a job and take no time; the RTL module has no debug reads. */
TEST(debug_reads_have_no_side_effects) {
  on_both([](Rig &rig) {
    static Jobs jobs;
    rig.set_up();
    rig.ring(jobs.gemm(40, 40, 200));
    rig.run(150);
    for (uint32_t offset = 0; offset < 0x200; offset += 4) {
      uint32_t seen = 0;
      const uint64_t before = rig.cycles();
      const unsigned bytes = debug_read(rig, offset, &seen);
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

/** Several bursts are in flight at once; a target may wait instead of adding to the delay. */
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

// Runs a GEMM whose bursts of one kind get an error; the core must then serve another one.
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

/** Responses come later, and in another order than the requests. */
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
        rig.pulse_reset();
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

/** Answers come later than their requests, and a reset falls among them. */
SLOW_TEST(timed_with_memory_outside_waits_as_the_rtl_does) {
  std::vector<uint64_t> cycles[2];
  const auto body_of = [](std::vector<uint64_t> *out) {
    return [out](Rig &rig) {
      Jobs jobs;
      rig.way.waits = true;
      for (unsigned round = 0; round < 3; round++) {
        rig.set_up();
        for (unsigned i = 0; i < 4; i++) {
          rig.ring(jobs.list(40));
          check_that(i, rig.wait_interrupt(), "no interrupt of %s", rig.name());
          out->push_back(rig.cycles());
          out->push_back(rig.completion(rig.tail - 1).cycles);
          rig.write(UFP4_REG_IRQ_STATUS, 7);
        }
        rig.ring(jobs.gemm(40, 40, 200));
        rig.run(150);
        rig.pulse_reset();
      }
    };
  };
  Ufp4CoreOptions options = options_of("small");
  options.outside = true;
  Rig rtl("rtl", Kind::kRtl, memories[3], body_of(&cycles[0]), options),
      timed("timed", Kind::kTimed, memories[3], body_of(&cycles[1]), options);
  sc_core::sc_start();
  check_bits(0, cycles[1].size(), 24, "lists of the timed model");
  check_that(0, timed.way.most > 2, "%u bursts at most under way at once", timed.way.most);
  for (size_t i = 0; i < cycles[0].size() && i < cycles[1].size(); i++) {
    check_bits(static_cast<int64_t>(i), cycles[1][i], cycles[0][i], "cycles");
  }
}

/** A core that has reported an error answers every access with one, whoever has caught the
 * report. */
TEST(timed_answers_after_an_error) {
  unsigned caught = 0;
  Ufp4CoreOptions options = options_of("small");
  options.outside = true;  // otherwise an unreachable address would not count as memory
  const auto body = [&caught](Rig &rig) {
    uint32_t value = 0;
    rig.set_up();
    rig.ring(Jobs().gemm(40, 40, 200));
    rig.run(500);  // the descriptor is fetched
    rig.way.dmi = Dmi::kNone;
    rig.way.no_debug = true;
    for (unsigned i = 0; i < 3; i++) {
      rig.run(10000);
      const auto got = rig.transport(tlm::TLM_READ_COMMAND, UFP4_REG_STATUS, &value, 4);
      check_bits(i, got, tlm::TLM_GENERIC_ERROR_RESPONSE, "a read after it");
      caught++;
    }
  };
  Rig rig("timed", Kind::kTimed, memories[0], body, options);
  sc_core::sc_report_handler::set_actions("ufp4", sc_core::SC_ERROR, sc_core::SC_DO_NOTHING);
  sc_core::sc_start();
  check_bits(0, caught, 3, "reads");
}

TEST(timed_rejects_memory_that_it_cannot_reach) {
  Ufp4CoreOptions options = options_of("small");
  options.outside = true;
  Rig rig(
      "timed", Kind::kTimed, memories[0],
      [](Rig &rig) {
        rig.set_up();
        rig.ring(Jobs().gemm(40, 40, 200));
        rig.run(500);  // the descriptor is fetched
        rig.way.dmi = Dmi::kNone;
        rig.way.no_debug = true;
        rig.wait_interrupt();
      },
      options);
  check_report(report_of([] { sc_core::sc_start(); }), "neither by DMI nor by transport_dbg");
}

namespace {

// Runs jobs of each kind on small numbers, with D in place of C.
void use_memory(Rig &rig) {
  Jobs jobs;
  fill(rig.memory.at(TWIN_BASE, 1));
  rig.set_up();
  auto list = jobs.gemm(40, 40, 300);
  ufp4_gemm_descriptor_t &gemm = list[0].gemm;
  gemm.d_dtype = UFP4_DTYPE_F32;
  gemm.d_mode = UFP4_D_MODE_C;
  gemm.d_stride_bytes = gemm.c_stride_bytes = 256;
  gemm.c_addr = gemm.d_addr;
  for (unsigned kind = 0; kind < 6; kind++) {
    list.push_back(timing_quant(&jobs.twin, 60 + 40 * kind, 70, kind % 2));
    list.push_back(timing_gemm(&jobs.twin, 17, 33, 64));
  }
  for (const auto &job : list) {
    rig.ring({job});
    check_that(rig.tail, rig.wait_interrupt(), "no interrupt of %s", rig.name());
    check_bits(rig.tail, rig.completion(rig.tail - 1).status, UFP4_CORE_STATUS_OK, "status of %s",
               rig.name());
    rig.write(UFP4_REG_IRQ_STATUS, 7);
  }
}

}  // namespace

/** Each byte and each cycle equals the RTL's, whatever the target grants by DMI. */
TEST(timed_works_in_memory_with_little_dmi_or_none) {
  const Dmi all[] = {Dmi::kAll, Dmi::kWindows, Dmi::kReadOnly, Dmi::kNone};
  std::vector<std::unique_ptr<Rig>> rigs;
  rigs.push_back(std::make_unique<Rig>("rtl", Kind::kRtl, memories[3], use_memory));
  for (const Dmi dmi : all) {
    rigs.push_back(std::make_unique<Rig>(sc_core::sc_gen_unique_name("timed"), Kind::kTimed,
                                         memories[3], use_memory));
    rigs.back()->way.dmi = dmi;
  }
  sc_core::sc_start();
  const uint64_t bytes = TWIN_PLACE_BYTES * (TWIN_PLACES + 1);
  for (size_t i = 1; i < rigs.size(); i++) {
    const auto index = static_cast<int64_t>(i);
    check_bits(index, rigs[i]->tail, 13, "jobs of %s", rigs[i]->name());
    same_edges(*rigs[i], *rigs[0]);
    check_bits(index,
               std::memcmp(rigs[i]->memory.at(TWIN_BASE, bytes),
                           rigs[0]->memory.at(TWIN_BASE, bytes), bytes),
               0, "memory of %s", rigs[i]->name());
  }
}

TEST(rejects_a_second_response) {
  Ufp4CoreOptions options = options_of("small");
  options.non_blocking = true;
  Rig rig(
      "rtl", Kind::kRtl, memories[0],
      [](Rig &rig) {
        rig.way.late = rig.way.twice = true;
        rig.set_up();
        for (unsigned i = 0; i < 4; i++) check_serving(rig);
      },
      options);
  check_report(report_of([] { sc_core::sc_start(); }), "a transaction that already had one");
}

/** A loosely timed host is ahead of the kernel by up to its quantum: zero, or much. */
TEST(a_host_may_be_ahead) {
  on_both([](Rig &rig) {
    rig.run(20);  // out of reset
    for (const auto &quantum : {sc_core::SC_ZERO_TIME, sc_core::sc_time(1, sc_core::SC_US)}) {
      tlm_utils::tlm_quantumkeeper keeper;
      tlm::tlm_global_quantum::instance().set(quantum);
      keeper.reset();
      for (unsigned i = 1; i < 40; i++) {
        tlm::tlm_generic_payload payload;
        uint32_t value = 0;
        const sc_core::sc_time before = sc_core::sc_time_stamp();
        keeper.inc(i * rig.period);
        if (keeper.need_sync()) keeper.sync();
        sc_core::sc_time local = keeper.get_local_time();
        payload.set_read();
        payload.set_address(UFP4_REG_ID);
        payload.set_data_ptr(reinterpret_cast<unsigned char *>(&value));
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        rig.host->b_transport(payload, local);
        keeper.set(local);
        check_that(i, payload.is_response_ok() && value == UFP4_CORE_ID, "the identity");
        check_bits(i, (keeper.get_current_time() - before) / rig.period, i + 2, "cycles");
      }
    }
  });
}

TEST(rejects_an_unknown_dram) {
  Ufp4CoreOptions options = options_of("small");
  options.dram = "ddr9";
  check_report(report_of([&] { Ufp4CoreTimed core("timed", options); }),
               "'ddr9'; there are lpddr5");
  check_report(report_of([&] { Ufp4Memory memory("memory", 0, 4096, options.period, "ddr9"); }),
               "'ddr9'; there are lpddr5");
}

TEST(rejects_an_unknown_configuration) {
  Ufp4CoreOptions options;
  options.configuration = "none";
  check_report(report_of([&] { Ufp4CoreRtl core("rtl", options); }),
               "no configuration is called 'none'");
  check_report(report_of([&] { Ufp4CoreTimed core("timed", options); }),
               "no configuration is called 'none'");
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

/** The pulses fall into jobs whose bursts are in flight, and have any length. */
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

/** The interrupt falls, and does not rise again when the access ends. */
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

/** An access takes the time of a core that never sleeps, whether the core is awake, falls asleep or
 * sleeps. */
TEST(a_core_that_falls_asleep_holds_up_no_host) {
  Rig rig("rtl", Kind::kRtl, memories[0], [](Rig &rig) {
    rig.set_up();
    check_serving(rig);
    for (unsigned gap = 0; gap < 150; gap++) {
      rig.run(gap);
      const uint64_t began = rig.cycles();
      rig.read(UFP4_REG_STATUS);
      const uint64_t read = rig.cycles();
      check_bits(gap, read - began, 2, "cycles of a read");
      rig.run(gap);
      rig.write(UFP4_REG_IRQ_STATUS, 0);
      check_bits(gap, rig.cycles() - read - gap, 3, "cycles of a write");
    }
  });
  sc_core::sc_start();
}

/** An idle millisecond costs fewer than 200 cycles; then the core wakes. */
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
    rig.pulse_reset();
    check_bits(0, rig.read(UFP4_REG_RING_TAIL), 0, "reset in its sleep");
  });
  sc_core::sc_start();
}
