// SPDX-License-Identifier: Apache-2.0
// A host at the timed core: mirrors simulator.h, register accesses and waits, cycle by cycle.
#ifndef UFP4_TIMING_TIMED_H
#define UFP4_TIMING_TIMED_H

#include <cstdint>
#include <string>

#include "timing/bus.h"

namespace ufp4::timing {

/** A core and the host at it. It can be copied, as Core can. */
class Timed {
 public:
  /** @p sink takes a time line, with which a copy does not go on; or NULL. */
  Timed(const Shape &shape, const MemoryRules &rules, const ufp4_timed_host_t &host,
        bool every_cycle, const ufp4_timeline_sink_t *sink = nullptr);

  /** From here on it goes on with all cores that are on @p bus, whose rules have a memory outside.
   */
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
  /** The interrupt after each cycle of the last access, the last one's in bit 0. */
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
  /** These are Core's. */
  void miss_completion() {
    core_.miss_completion();
  }
  void watch() {
    core_.watch();
  }
  bool follow(const Timed &host, const Orders &before) {
    return core_.follow(host.core_, before);
  }
  /** One cycle, or as many as are known to be the same; no further than @p end. @return false if
   * message() says why there is none. */
  bool advance(uint64_t end);
  uint64_t after(uint64_t cycles) const;
  const std::string &message() const {
    return core_.message().empty() ? message_ : core_.message();
  }

 private:
  /** Whether the host takes an answer of the register port in this cycle: with back-pressure now
   * and then not. */
  bool ready();
  bool step() {
    return bus_ != nullptr ? bus_->step() : core_.step();
  }
  /** One of an access. */
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
