// SPDX-License-Identifier: Apache-2.0
// Tests bus errors, the errors that stop a core, and soft reset: the timed module ends a job with
// the RTL's status in the RTL's cycle.
#include <cstring>
#include <string>

#include "cases.h"

namespace {

/** The events that a host sees: cycles of interrupts and jobs, statuses. */
using Seen = std::vector<uint64_t>;

// Runs a list and records how it ends, whatever its status.
void see(Rig &rig, const std::vector<twin_job_t> &list, Seen *seen) {
  rig.ring(list);
  check_that(0, rig.wait_interrupt(), "no interrupt of %s", rig.name());
  seen->push_back(rig.cycles());
  seen->push_back(rig.read(UFP4_REG_IRQ_STATUS));
  for (uint32_t i = rig.tail - static_cast<uint32_t>(list.size()); i != rig.tail; i++) {
    const ufp4_completion_t done = rig.completion(i);
    uint64_t words[sizeof done / sizeof(uint64_t)];
    std::memcpy(words, &done, sizeof words);
    seen->insert(seen->end(), std::begin(words), std::end(words));
  }
  rig.write(UFP4_REG_IRQ_STATUS, 7);
  rig.write(UFP4_REG_CONTROL, 1);
  for (uint32_t i = 2; i < 2 * UFP4_COUNTER_COUNT; i++) {
    if (i / 2 != UFP4_COUNTER_IDLE) seen->push_back(rig.read(UFP4_REG_COUNTER_BASE + 4 * i));
  }
}

// Checks that a host sees the same on the RTL and on the timed model.
void check_same(twin_memory_t memory, bool outside, const std::function<void(Rig &, Seen *)> &body,
                const char *configuration = "small") {
  Seen seen[2];
  Ufp4CoreOptions options = options_of(configuration);
  options.outside = outside;
  options.sleep = false;
  unsigned ends = 0;
  const auto run = [&](Seen *out) {
    return [&, out](Rig &rig) {
      body(rig, out);
      for (const auto &[cycle, level] : rig.edges) out->push_back(2 * cycle + level);
      if (++ends == 2) sc_core::sc_stop();
    };
  };
  Rig rtl("rtl", Kind::kRtl, memory, run(&seen[0]), options),
      timed("timed", Kind::kTimed, memory, run(&seen[1]), options);
  sc_core::sc_start();
  check_bits(0, ends, 2, "hosts that came to their end");
  check_bits(0, seen[1].size(), seen[0].size(), "what they saw");
  for (size_t i = 0; i < seen[0].size() && i < seen[1].size(); i++) {
    check_bits(static_cast<int64_t>(i), seen[1][i], seen[0][i], "what they saw");
  }
}

void set_up_for_errors(Rig &rig) {
  rig.set_up();
  rig.write(UFP4_REG_IRQ_MASK, 7);
}

// Returns a job of one kind that has several macro-tiles or strips.
std::vector<twin_job_t> one_of(Jobs &jobs, unsigned kind) {
  twin_job_t job = kind % 3 == 0 ? timing_gemm(&jobs.twin, 90, 80, 200)
                                 : timing_quant(&jobs.twin, 150, 70, kind % 3 == 1);
  job.header.flags = 0;
  return {job};
}

// Answers bursts beyond an address with an error while jobs of each kind run.
void meet_errors(Rig &rig, Seen *seen) {
  Jobs jobs(rig.configuration.c_str());
  set_up_for_errors(rig);
  unsigned errors = 0;
  for (unsigned kind = 0; kind < 18; kind++) {
    const auto job = one_of(jobs, kind);
    const bool gemm = kind % 3 == 0;
    rig.way.fails = kind / 3 % 2 != 0 ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND;
    rig.way.answer = kind % 2 ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE;
    // The errors start somewhere within the data that the job reads or writes.
    const uint64_t place = rig.way.fails == tlm::TLM_READ_COMMAND
                               ? (gemm ? job[0].gemm.a_codes_addr : job[0].quant.src_addr)
                               : (gemm ? job[0].gemm.d_addr : job[0].quant.row_codes_addr);
    rig.way.address = place + 1024 * (kind / 6);
    rig.way.until = rig.way.address + 4096;
    see(rig, job, seen);
    errors += rig.completion(rig.tail - 1).status != UFP4_CORE_STATUS_OK;
    rig.way.fails = tlm::TLM_IGNORE_COMMAND;
    see(rig, jobs.gemm(20, 30, 40), seen);
  }
  check_that(0, errors > 6, "only %u errors", errors);
}

}  // namespace

/** A job whose burst gets an error ends in the RTL's cycle with the RTL's code. */
SLOW_TEST(timed_with_memory_outside_meets_errors_as_the_rtl_does) {
  check_same(memories[3], true, meet_errors);
}

SLOW_TEST(timed_meets_errors_as_the_rtl_of_default_does) {
  check_same(memories[3], true, meet_errors, "default");
}

SLOW_TEST(timed_meets_errors_as_the_rtl_of_small_fp32_does) {
  check_same(memories[3], true, meet_errors, "small-fp32");
}

/** Operands or results lie outside of memory, wholly or in part. */
SLOW_TEST(addresses_outside_end_the_job) {
  const auto body = [](Rig &rig, Seen *seen) {
    Jobs jobs;
    set_up_for_errors(rig);
    const uint64_t end = TWIN_BASE + TWIN_PLACE_BYTES * (TWIN_PLACES + 1);
    unsigned errors = 0;
    for (unsigned kind = 0; kind < 15; kind++) {
      auto job = one_of(jobs, kind);
      const uint64_t place = kind < 6 ? TWIN_BASE - 4096 : end - 128 * (1 + kind % 5 * 30);
      if (kind % 3 != 0) {
        job[0].quant.src_addr = place;
      } else if (kind % 2 == 0) {
        job[0].gemm.a_codes_addr = place;
      } else {
        job[0].gemm.d_addr = place;
      }
      see(rig, job, seen);
      errors += rig.completion(rig.tail - 1).status != UFP4_CORE_STATUS_OK;
      see(rig, jobs.gemm(20, 30, 40), seen);
    }
    check_that(0, errors > 8, "only %u errors", errors);
  };
  check_same(memories[3], false, body);
}

namespace {

// Refuses completions of jobs with and without an interrupt.
void refuse_completions(Rig &rig, Seen *seen) {
  Jobs jobs;
  set_up_for_errors(rig);
  for (unsigned i = 0; i < 6; i++) {
    auto list = jobs.list(40);
    rig.way.fails = i % 2 ? tlm::TLM_WRITE_COMMAND : tlm::TLM_IGNORE_COMMAND;
    rig.way.address = TWIN_BASE + TWIN_RING * UFP4_DESCRIPTOR_BYTES;
    rig.way.until = rig.way.address + TWIN_RING * UFP4_COMPLETION_BYTES;
    rig.way.answer = i == 1 ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE;
    rig.ring(list);
    while (rig.read(UFP4_REG_RING_HEAD) != rig.tail) rig.run(50);
    seen->push_back(rig.read(UFP4_REG_IRQ_STATUS));
    check_that(i, i % 2 == 0 || (seen->back() & 2), "no error of %s", rig.name());
    for (uint32_t j = 0; j < TWIN_RING; j++) {
      const ufp4_completion_t done = rig.completion(j);
      seen->push_back(done.job);
      seen->push_back(done.cycles);
    }
    rig.write(UFP4_REG_IRQ_STATUS, 7);
  }
}

}  // namespace

/** A refused completion is not in memory, and the core reports it in the RTL's cycle. */
TEST(a_refused_completion_is_not_written) {
  check_same(memories[3], false, refuse_completions);
}

TEST(a_refused_completion_is_not_written_to_memory_outside) {
  check_same(memories[3], true, refuse_completions);
}

/** The rings lie outside of memory, so that a descriptor is not read, or a completion not
 * written. */
TEST(rings_outside_are_errors) {
  const auto body = [](Rig &rig, Seen *seen) {
    Jobs jobs;
    set_up_for_errors(rig);
    see(rig, jobs.gemm(20, 30, 40), seen);
    rig.write(UFP4_REG_COMPLETION_BASE_LO, 0x1000);
    for (unsigned i = 0; i < 2; i++) {
      rig.ring(jobs.gemm(20, 30, 40));
      check_that(i, rig.wait_interrupt(), "no interrupt of %s", rig.name());
      seen->push_back(rig.cycles());
      seen->push_back(rig.read(UFP4_REG_IRQ_STATUS));
      rig.write(UFP4_REG_IRQ_STATUS, 7);
    }
    rig.set_up();
    rig.write(UFP4_REG_IRQ_MASK, 7);
    rig.write(UFP4_REG_RING_BASE_LO, 0x1000);
    rig.ring(jobs.gemm(20, 30, 40));
    check_that(0, rig.wait_interrupt(), "no interrupt of %s", rig.name());
    seen->push_back(rig.cycles());
    seen->push_back(rig.read(UFP4_REG_IRQ_STATUS));
    const ufp4_completion_t done = rig.completion(rig.tail - 1);
    check_bits(0, done.status, UFP4_CORE_STATUS_READ_ERROR, "status of %s", rig.name());
    check_bits(0, done.job, 0, "job of %s", rig.name());
    rig.write(UFP4_REG_IRQ_STATUS, 7);
    rig.set_up();
    see(rig, jobs.gemm(20, 30, 40), seen);
  };
  check_same(memories[3], false, body);
}

/** Covers the errors that stop a core, and a soft reset amid jobs. */
SLOW_TEST(what_stops_a_core_is_the_same) {
  const auto body = [](Rig &rig, Seen *seen) {
    Jobs jobs;
    for (unsigned i = 0; i < 24; i++) {
      set_up_for_errors(rig);
      const auto list = jobs.list(50);
      if (i % 3 == 1) rig.write(UFP4_REG_WATCHDOG, 15 + i);  // the memory's latency is 20
      rig.ring(list);
      if (i % 3 == 2) rig.run(40 * i);
      if (i % 3 == 2) rig.write(UFP4_REG_RING_TAIL, i % 2 ? rig.tail + TWIN_RING : rig.tail - 2);
      if (i % 3 != 0 && rig.wait_interrupt(20000)) seen->push_back(rig.cycles());
      if (i % 3 == 0) rig.run(1 + i * i * 11);
      for (const uint32_t offset :
           {UFP4_REG_STATUS, UFP4_REG_FATAL, UFP4_REG_IRQ_STATUS, UFP4_REG_RING_HEAD}) {
        seen->push_back(rig.read(offset));
      }
      rig.run(3000);
      seen->push_back(rig.read(UFP4_REG_RING_HEAD));
      rig.write(UFP4_REG_CONTROL, 4);
      do {
        seen->push_back(rig.read(UFP4_REG_STATUS));
      } while (seen->back() & 8);
      seen->push_back(rig.cycles());
      rig.tail = 0;
      rig.write(UFP4_REG_WATCHDOG, 0);
      rig.write(UFP4_REG_IRQ_STATUS, 7);
      see(rig, jobs.gemm(20, 30, 40), seen);
      rig.pulse_reset();
    }
  };
  check_same({20, 7, 0, nullptr}, false, body);
}

/** A stopped core still processes what QUANT has read, long after the bus has become idle. */
SLOW_TEST(a_stopped_core_still_quantizes) {
  const auto body = [](Rig &rig, Seen *seen) {
    Jobs jobs;
    for (unsigned i = 0; i < 24; i++) {
      set_up_for_errors(rig);
      std::vector<twin_job_t> list;
      for (unsigned j = 0; j < 6; j++) list.push_back(timing_quant(&jobs.twin, 50, 60, true));
      rig.ring(list);
      rig.run(200 + 61 * i);
      rig.write(UFP4_REG_RING_TAIL, rig.tail + TWIN_RING);
      rig.run(4000);
      seen->push_back(rig.read(UFP4_REG_STATUS));
      rig.write(UFP4_REG_CONTROL, 4);
      rig.run(200);
      rig.tail = 0;
      rig.write(UFP4_REG_IRQ_STATUS, 7);
      see(rig, jobs.gemm(20, 30, 40), seen);
      rig.pulse_reset();
    }
  };
  check_same({20, 7, 0, nullptr}, false, body);
}

/** A soft reset behaves like the RTL's also with an outside memory. */
SLOW_TEST(timed_with_memory_outside_resets_as_the_rtl_does) {
  const auto body = [](Rig &rig, Seen *seen) {
    Jobs jobs;
    for (unsigned i = 0; i < 16; i++) {
      set_up_for_errors(rig);
      rig.ring(jobs.list(50));
      rig.run(1 + i * i * 11);
      rig.write(UFP4_REG_CONTROL, 4);
      rig.run(20 * i);
      do {
        seen->push_back(rig.read(UFP4_REG_STATUS));
      } while (seen->back() & 8);
      rig.tail = 0;
      see(rig, jobs.gemm(20, 30, 40), seen);
      rig.write(UFP4_REG_CONTROL, 4);
      rig.run(40);
      rig.tail = 0;
    }
  };
  check_same({20, 7, 0, nullptr}, true, body);
}
