// SPDX-License-Identifier: Apache-2.0
// The register port: mirrors ufp4_axil, ufp4_registers and ufp4_counters.
#ifndef UFP4_TIMING_REGISTERS_H
#define UFP4_TIMING_REGISTERS_H

#include <cstdint>

#include "timing/host/command.h"

namespace ufp4::timing {

/** The host's signals on the port. */
struct HostPort {
  bool awvalid = false, wvalid = false, bready = true, arvalid = false, rready = true;
  uint32_t awaddr = 0, wdata = 0, araddr = 0;
};

/** The core's state that the registers show. */
struct CoreView {
  uint32_t head = 0;
  bool active = false, resetting = false;
  uint32_t fatal = 0;
};

/** One bit for each counter. */
using Events = uint32_t;

class Registers {
 public:
  explicit Registers(const Shape &shape) : shape_(shape) {}

  const Rings &rings() const {
    return rings_;
  }
  uint32_t watchdog() const {
    return watchdog_;
  }
  bool irq() const {
    return irq_status_ & irq_mask_;
  }
  /** Returns whether the ring holds more than its size, or its tail went back. */
  bool overflow(uint32_t head) const {
    return rings_.tail - head > 1u << rings_.log2 || back_;
  }
  bool awready() const {
    return !aw_full_;
  }
  bool wready() const {
    return !w_full_;
  }
  bool bvalid() const {
    return bvalid_;
  }
  bool arready() const {
    return !rvalid_;
  }
  bool rvalid() const {
    return rvalid_;
  }
  uint32_t rdata() const {
    return rdata_;
  }
  /** Returns whether neither the port nor the registers change. */
  bool quiet() const {
    return !aw_full_ && !w_full_ && !bvalid_ && !rvalid_ && !back_;
  }
  void reset();
  /** Returns the value of the register at an offset. */
  uint32_t read(uint32_t offset, const CoreView &core, const Slots &slots) const;
  /** Simulates a cycle in which neither the port nor the command unit changes. */
  void count(Events events) {
    if (events != events_) tally();
    events_ = events;
    run_++;
  }
  /** Simulates @p cycles more like the last one. */
  void count_again(uint64_t cycles) {
    run_ += cycles;
  }
  /** Records from here on what the core has raised, for follow(). */
  void watch() {
    raised_ = 0;
  }
  uint32_t raised() const {
    return raised_;
  }
  uint32_t irq_mask() const {
    return irq_mask_;
  }
  /** Takes over what the host has written to @p host, which is this object at an earlier moment
   * after the last watch(); of the rings, only the tail. */
  void follow(const Registers &host);
  /** Handles the read part of the cycle, before all other steps. */
  void step_read(const HostPort &port, const CoreView &core, const Slots &slots);
  /** Sets bits of irq_status for events outside the steps. */
  void raise(uint32_t irqs) {
    irq_status_ |= irqs;
    raised_ |= irqs;
  }
  /** Handles the rest of the cycle. @p irqs: bit 0 done, bit 1 error, bit 2 stopped. @return
   * whether the host requests a soft reset. */
  bool step(const HostPort &port, const CoreView &core, Events events, uint32_t irqs);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(irq_status_ | irq_mask_ << 4);
    v.exact(watchdog_);
    v.exact(rings_.tail);
    tally();
    for (uint64_t &count : count_) v.count(count);
  }

 private:
  bool write(uint32_t offset, uint32_t value, uint32_t head);
  /** Adds the cycles that were counted as events_. */
  void tally();
  uint32_t read_plain(uint32_t offset, const CoreView &core) const;
  uint32_t read_configuration(uint32_t offset) const;

  const Shape &shape_;
  bool aw_full_ = false, w_full_ = false, bvalid_ = false, rvalid_ = false, back_ = false;
  bool snapshot_ = false, clear_ = false;  // requested in this cycle
  uint32_t awaddr_ = 0, wdata_ = 0, rdata_ = 0;
  Rings rings_;
  uint32_t irq_status_ = 0, irq_mask_ = 0, watchdog_ = 0;
  uint32_t raised_ = 0;  // bits raised in irq_status_
  Events events_ = 0;    // of the last run_ cycles
  uint64_t run_ = 0;
  // Counts since the reset; the counters are these minus their values when they were cleared.
  uint64_t count_[UFP4_COUNTER_COUNT] = {};
  uint64_t base_[UFP4_COUNTER_COUNT] = {}, shot_[UFP4_COUNTER_COUNT] = {};
};

}  // namespace ufp4::timing

#endif
