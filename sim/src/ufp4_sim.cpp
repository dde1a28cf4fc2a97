// SPDX-License-Identifier: Apache-2.0
#include "ufp4_sim.h"

#include <cstdio>
#include <memory>
#include <new>

#include "base/configuration.h"
#include "simulator.h"

struct ufp4_sim {
  std::unique_ptr<ufp4::Simulator> simulator;
};

namespace {

constexpr uint64_t kPage = 4096;

// Starts a simulator that has been constructed. @return an error message, or an empty one.
std::string begin(ufp4::Simulator &simulator, const ufp4_sim_options_t &options) {
  if (!simulator.ok()) {
    return "the host cannot allocate " + std::to_string(options.memory_bytes) +
           " bytes of device memory";
  }
  if (options.timeline && !simulator.has_timeline()) {
    return "this build cannot write a timeline";
  }
  if (options.trace_path && !simulator.trace_open(options.trace_path)) {
    return std::string("the waveforms '") + options.trace_path +
           "' cannot be written: no space or no permission there, or in the folder for temporary "
           "files";
  }
  return simulator.reset() == UFP4_SIM_OK ? std::string() : simulator.message();
}

std::unique_ptr<ufp4::Simulator> make(const ufp4_sim_options_t &options, std::string &message) {
  ufp4_configuration_t configuration;
  ufp4_message_t why;
  if (configuration_find(options.configuration, &configuration, nullptr, &why) != UFP4_OK) {
    message = why.text;
    return nullptr;
  }
  auto core = ufp4::make_core(configuration.name, options.stall_seed);
  message = core ? ufp4::refuse_dram(options.dram)
                 : std::string("there is no simulated core of configuration '") +
                       configuration.name + "'";
  if (!message.empty()) return nullptr;
  const ufp4::MemoryOptions memory{options.memory_base,
                                   options.memory_bytes,
                                   options.latency_cycles,
                                   options.bandwidth_bytes,
                                   options.stall_seed,
                                   options.silent_cycle,
                                   0,
                                   ufp4_find_dram(options.dram),
                                   ufp4::cycle_or_nanosecond(options.cycle_fs)};
  auto simulator = std::make_unique<ufp4::Simulator>(
      std::move(core), memory, ufp4::limits_of(configuration), options.timeline);
  message = begin(*simulator, options);
  return message.empty() ? std::move(simulator) : nullptr;
}

}  // namespace

extern "C" {

int ufp4_sim_has(const char *configuration) {
  return ufp4::has_core(configuration);
}

ufp4_sim_t *ufp4_sim_open(const ufp4_sim_options_t *options, char *message,
                          unsigned message_bytes) {
  std::string text;
  try {
    if (options->memory_base % kPage || options->memory_bytes % kPage ||
        options->memory_bytes == 0) {
      text = "device memory must be a multiple of 4096 bytes";
    } else if (auto simulator = make(*options, text)) {
      return new ufp4_sim{std::move(simulator)};
    }
  } catch (const std::bad_alloc &) {
    text = "the host is out of memory for the simulated core";
  }
  std::snprintf(message, message_bytes, "%s", text.c_str());
  return nullptr;
}

void ufp4_sim_close(ufp4_sim_t *sim) {
  delete sim;
}

ufp4_sim_status_t ufp4_sim_trace_end(ufp4_sim_t *sim) {
  return sim->simulator->trace_end();
}

void ufp4_sim_timeline_end(ufp4_sim_t *sim) {
  sim->simulator->timeline_end();
}

ufp4_sim_status_t ufp4_sim_reset(ufp4_sim_t *sim) {
  return sim->simulator->reset();
}

ufp4_sim_status_t ufp4_sim_register_read(ufp4_sim_t *sim, uint32_t offset, uint32_t *value) {
  return sim->simulator->read(offset, value);
}

ufp4_sim_status_t ufp4_sim_register_write(ufp4_sim_t *sim, uint32_t offset, uint32_t value) {
  return sim->simulator->write(offset, value);
}

ufp4_sim_status_t ufp4_sim_register_write_bytes(ufp4_sim_t *sim, uint32_t offset, uint32_t value,
                                                unsigned strobes) {
  return sim->simulator->write(offset, value, strobes);
}

ufp4_sim_status_t ufp4_sim_wait_interrupt(ufp4_sim_t *sim, uint64_t limit_cycles) {
  return sim->simulator->wait_interrupt(limit_cycles);
}

ufp4_sim_status_t ufp4_sim_run(ufp4_sim_t *sim, uint64_t cycles) {
  return sim->simulator->run(cycles);
}

uint8_t *ufp4_sim_memory(ufp4_sim_t *sim, uint64_t address, uint64_t bytes) {
  return sim->simulator->memory().at(address, bytes);
}

void ufp4_sim_fault(ufp4_sim_t *sim, ufp4_sim_fault_t fault, uint64_t nth) {
  sim->simulator->memory().fail(fault, nth);
}

uint64_t ufp4_sim_cycles(const ufp4_sim_t *sim) {
  return sim->simulator->cycles();
}

const char *ufp4_sim_message(const ufp4_sim_t *sim) {
  return sim->simulator->message().c_str();
}

}  // extern "C"
