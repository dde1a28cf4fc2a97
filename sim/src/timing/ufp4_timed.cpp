// SPDX-License-Identifier: Apache-2.0
#include "ufp4_timed.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <string>

#include "timing/timed.h"

struct ufp4_timed {
  std::unique_ptr<ufp4::timing::Timed> timed;
};

struct ufp4_timed_bus {
  ufp4::timing::Bus bus;
};

namespace {

using ufp4::timing::Shape;
using ufp4::timing::Timed;

std::unique_ptr<Timed> make(const ufp4_timed_options_t &options, const ufp4_timed_host_t &host,
                            std::string &message) {
  Shape shape;
  if (!ufp4::timing::find_shape(options.configuration, &shape, &message)) return nullptr;
  message = ufp4::refuse_dram(options.dram);
  if (!message.empty()) return nullptr;
  ufp4::MemoryRules rules{shape.bus_bytes,
                          options.latency_cycles,
                          options.bandwidth_bytes,
                          options.stall_seed,
                          0,
                          ufp4_find_dram(options.dram),
                          false,
                          ufp4::cycle_or_nanosecond(options.cycle_fs)};
  if (options.bus != nullptr) rules = {shape.bus_bytes, 0, 0, 0, 0, {}, true};
  auto timed =
      std::make_unique<Timed>(shape, rules, host, options.every_cycle != 0, options.timeline);
  if (options.bus != nullptr) timed->join(&options.bus->bus);
  return timed;
}

}  // namespace

extern "C" {

ufp4_timed_t *ufp4_timed_open(const ufp4_timed_options_t *options, const ufp4_timed_host_t *host,
                              char *message, unsigned message_bytes) {
  std::string text;
  try {
    if (auto timed = make(*options, *host, text)) return new ufp4_timed{std::move(timed)};
  } catch (const std::bad_alloc &) {
    text = "the host is out of memory for the timed model";
  }
  std::snprintf(message, message_bytes, "%s", text.c_str());
  return nullptr;
}

ufp4_timed_bus_t *ufp4_timed_bus_open(unsigned latency_cycles, unsigned bandwidth_bytes,
                                      const char *dram, uint64_t cycle_fs) {
  return new (std::nothrow) ufp4_timed_bus{
      {latency_cycles, bandwidth_bytes, ufp4_find_dram(dram), ufp4::cycle_or_nanosecond(cycle_fs)}};
}

void ufp4_timed_bus_close(ufp4_timed_bus_t *bus) {
  delete bus;
}

void ufp4_timed_close(ufp4_timed_t *timed) {
  if (timed != nullptr) timed->timed->leave();
  delete timed;
}

void ufp4_timed_timeline_end(ufp4_timed_t *timed) {
  timed->timed->timeline_end();
}

ufp4_timed_status_t ufp4_timed_reset(ufp4_timed_t *timed) {
  return timed->timed->reset();
}

ufp4_timed_status_t ufp4_timed_register_read(ufp4_timed_t *timed, uint32_t offset,
                                             uint32_t *value) {
  return timed->timed->read(offset, value);
}

ufp4_timed_status_t ufp4_timed_register_write(ufp4_timed_t *timed, uint32_t offset,
                                              uint32_t value) {
  return timed->timed->write(offset, value);
}

ufp4_timed_status_t ufp4_timed_wait_interrupt(ufp4_timed_t *timed, uint64_t limit_cycles) {
  return timed->timed->wait_interrupt(limit_cycles);
}

ufp4_timed_status_t ufp4_timed_run(ufp4_timed_t *timed, uint64_t cycles) {
  return timed->timed->run(cycles);
}

uint64_t ufp4_timed_cycles(const ufp4_timed_t *timed) {
  return timed->timed->cycles();
}

uint64_t ufp4_timed_stepped(const ufp4_timed_t *timed) {
  return timed->timed->stepped();
}

void ufp4_timed_accesses(const ufp4_timed_t *timed, uint64_t reads[UFP4_SRAM_COUNT],
                         uint64_t writes[UFP4_SRAM_COUNT]) {
  const ufp4::timing::Accesses all = timed->timed->accesses();
  std::copy(all.reads, all.reads + UFP4_SRAM_COUNT, reads);
  std::copy(all.writes, all.writes + UFP4_SRAM_COUNT, writes);
}

const char *ufp4_timed_message(const ufp4_timed_t *timed) {
  return timed->timed->message().c_str();
}

}  // extern "C"
