// SPDX-License-Identifier: Apache-2.0
// bench_systemc [configuration [size [dram]]]: compares the speed of the SystemC modules with that
// of the models inside them. The job is a GEMM of size x size x size; timed models compute the
// golden model's bits. The last line compares a timed module with outside memory with a timed model
// that skips no cycle.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plain.h"
extern "C" {
#include "alone.h"
#include "job/execute.h"
}

namespace {

twin_memory_t memory = {100, 0, 0, nullptr};
constexpr uint32_t kRuns = 5;

struct Measured {
  double seconds;
  uint64_t cycles;
};

// Returns the fastest of several runs of the same job. run gets its number; clear then clears the
// interrupt.
template <typename Run, typename Clear, typename Cycles>
Measured measure(Run run, Clear clear, Cycles cycles) {
  Measured best{1e9, 0};
  for (uint32_t i = 0; i < kRuns; i++) {
    const uint64_t before = cycles();
    const double start = alone_seconds();
    run(i);
    const double seconds = alone_seconds() - start;
    if (seconds < best.seconds) best = {seconds, cycles() - before};
    clear();
  }
  return best;
}

void report(const char *what, Measured plain, Measured systemc) {
  std::printf(
      "%s cycles=%llu plain_kcycles_per_second=%.0f systemc_kcycles_per_second=%.0f "
      "ratio=%.2f\n",
      what, static_cast<unsigned long long>(systemc.cycles),
      1e-3 * static_cast<double>(plain.cycles) / plain.seconds,
      1e-3 * static_cast<double>(systemc.cycles) / systemc.seconds,
      plain.seconds / systemc.seconds);
}

Measured measure_plain(const char *configuration, const twin_job_t &job) {
  Plain plain(memory, configuration);
  for (const auto &[offset, value] : set_up_registers()) plain.write(offset, value);
  return measure(
      [&](uint32_t i) {
        std::memcpy(plain.at(TWIN_BASE + i * sizeof job, sizeof job), &rung({job}, i)[0],
                    sizeof job);
        plain.write(UFP4_REG_RING_TAIL, i + 1);
        plain.wait_interrupt();
      },
      [&] { plain.write(UFP4_REG_IRQ_STATUS, 7); }, [&] { return plain.cycles(); });
}

// --- The timed model without SystemC, with a memory and the golden model ------------------------

struct Host {
  executor_t executor;
  uint8_t *at(uint64_t address) {
    return executor.memory + (address - TWIN_BASE);
  }
};

int execute(void *user, const uint8_t *descriptor, uint16_t *, ufp4_completion_t *completion) {
  ufp4_descriptor_t job;
  std::memcpy(&job, descriptor, sizeof job);
  return executor_run(&static_cast<Host *>(user)->executor, &job, completion) != UFP4_OK;
}

Measured measure_timed(const char *configuration, const twin_t &twin, const twin_job_t &job,
                       int every_cycle) {
  static Host host;
  const uint64_t bytes = TWIN_PLACE_BYTES * (TWIN_PLACES + 1);
  host.executor = {twin.configuration,
                   static_cast<uint8_t *>(std::calloc(bytes, 1)),
                   TWIN_BASE,
                   bytes,
                   1,
                   {},
                   {}};
  ufp4_timed_options_t options{};
  options.configuration = configuration;
  options.latency_cycles = memory.latency;
  options.dram = memory.dram;
  options.every_cycle = every_cycle;
  ufp4_timed_host_t functions{};
  functions.user = &host;
  functions.execute = execute;
  functions.memory_read = [](void *user, uint64_t address, void *data, uint32_t count) {
    std::memcpy(data, static_cast<Host *>(user)->at(address), count);
    return 0;
  };
  functions.memory_write = [](void *user, uint64_t address, const void *data, uint32_t count) {
    std::memcpy(static_cast<Host *>(user)->at(address), data, count);
    return 0;
  };
  char message[200] = "";
  ufp4_timed_t *timed = ufp4_timed_open(&options, &functions, message, sizeof message);
  for (const auto &[offset, value] : set_up_registers()) {
    ufp4_timed_register_write(timed, offset, value);
  }
  const Measured measured = measure(
      [&](uint32_t i) {
        std::memcpy(host.at(TWIN_BASE + i * sizeof job), &rung({job}, i)[0], sizeof job);
        ufp4_timed_register_write(timed, UFP4_REG_RING_TAIL, i + 1);
        ufp4_timed_wait_interrupt(timed, 100000000000ull);
      },
      [&] { ufp4_timed_register_write(timed, UFP4_REG_IRQ_STATUS, 7); },
      [&] { return ufp4_timed_cycles(timed); });
  ufp4_timed_close(timed);
  std::free(host.executor.memory);
  return measured;
}

}  // namespace

int sc_main(int argc, char **argv) {
  const char *configuration = argc > 1 ? argv[1] : "default";
  const auto size = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 256);
  if (argc > 3) memory.dram = argv[3];
  twin_t twin{};
  twin_configure(&twin, configuration);
  const twin_job_t job = timing_gemm(&twin, size, size, size);
  Measured measured[3];
  const auto body = [&](Measured *out) {
    return [&, out](Rig &rig) {
      rig.set_up();
      *out = measure(
          [&](uint32_t) {
            rig.ring({job});
            rig.wait_interrupt(100000000);
          },
          [&] { rig.write(UFP4_REG_IRQ_STATUS, 7); }, [&] { return rig.cycles(); });
    };
  };
  Ufp4CoreOptions with_outside = options_of(configuration);
  with_outside.outside = true;
  Rig rtl("rtl", Kind::kRtl, memory, body(&measured[0]), options_of(configuration));
  Rig timed(
      "timed", Kind::kTimed, memory,
      [&](Rig &rig) {
        rig.run(200000000);  // after the other rig is done
        body (&measured[1])(rig);
      },
      options_of(configuration));
  Rig outside(
      "outside", Kind::kTimed, memory,
      [&](Rig &rig) {
        rig.run(400000000);
        body (&measured[2])(rig);
      },
      with_outside);
  sc_core::sc_start();
  report("rtl", measure_plain(configuration, job), measured[0]);
  report("timed", measure_timed(configuration, twin, job, 0), measured[1]);
  report("outside", measure_timed(configuration, twin, job, 1), measured[2]);
  return 0;
}

int main(int argc, char **argv) {
  return sc_core::sc_elab_and_sim(argc, argv);
}
