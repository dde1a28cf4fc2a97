// SPDX-License-Identifier: Apache-2.0
// A host with the timed core: mirrors simulator.h, register accesses and waits, cycle by cycle.
#ifndef UFP4_TIMING_TIMED_H
#define UFP4_TIMING_TIMED_H

#include <cstdint>
#include <string>

#include "timing/bus.h"

namespace ufp4::timing {

/** A core and its host, which can be copied, as Core can. */
class Timed {
 public:
  /** @p sink receives a timeline, which a copy does not continue; or NULL. */
  Timed(const Shape &shape, const MemoryRules &rules, const ufp4_timed_host_t &host,
        bool every_cycle, const ufp4_timeline_sink_t *sink = nullptr);

  /** Runs together with all cores on @p bus from here on. The rules of this core must name an
   * external memory. */
  void join(Bus *bus) {
    bus_ = bus;
    bus_->join(&core_, every_cycle_ || core_.has_timeline());
  }
  void leave() {
    if (bus_ != nullptr) bus_->leave(&core_);
  }
  ufp4_timed_status_t reset();
  ufp4_timed_status_t read(uint32_t offset, uint32_t *value);
  ufp4_timed_status_t write(uint32_t offset, uint32_t value);
  ufp4_timed_status_t wait_interrupt(uint64_t limit);
  ufp4_timed_status_t run(uint64_t cycles);
  void timeline_end() {
    core_.timeline_end();
  }
  /** The interrupt after each cycle of the last access; bit 0 is the last cycle. */
  uint64_t levels() const {
    return levels_;
  }
  uint64_t cycles() const {
    return core_.cycle();
  }
  uint64_t stepped() const {
    return core_.stepped();
  }
  const Core &core() const {
    return core_;
  }
  Accesses accesses() const {
    return core_.accesses();
  }
  EmptyMemory &memory() {
    return core_.memory();
  }
  /** Functions of Core. */
  void miss_completion() {
    core_.miss_completion();
  }
  void watch() {
    core_.watch();
  }
  bool follow(const Timed &host, const Orders &before) {
    return core_.follow(host.core_, before);
  }
  /** Simulates one cycle, or several if they are known to repeat; not beyond @p end. @return false
   * if message() has an error. */
  bool advance(uint64_t end);
  uint64_t after(uint64_t cycles) const;
  const std::string &message() const {
    return core_.message().empty() ? message_ : core_.message();
  }

 private:
  /** Returns whether the host accepts a response of the register port in this cycle; with
   * back-pressure it sometimes does not. */
  bool ready();
  bool step() {
    return bus_ != nullptr ? bus_->step() : core_.step();
  }
  /** Simulates one cycle of an access. */
  bool step_access() {
    if (!step()) return false;
    levels_ = levels_ << 1 | (core_.registers().irq() ? 1 : 0);
    return true;
  }

  Core core_;
  Bus *bus_ = nullptr;
  uint64_t ready_state_, levels_ = 0;
  bool every_cycle_, skips_;
  std::string message_;
};

}  // namespace ufp4::timing

#endif
