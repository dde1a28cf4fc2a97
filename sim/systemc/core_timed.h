// SPDX-License-Identifier: Apache-2.0
// The timed module contains two copies of the timed model. `now` is at the time of the last access,
// and `ahead` has run on from there to the next visible event: a completion, the interrupt, or with
// an external memory a burst. When that time comes, `ahead` replaces `now`. If the host accesses a
// register before that, or a burst is answered, `now` is run up to that moment. Its requests to the
// host are then known from `ahead`, which remains valid unless the host has changed later events.
#ifndef UFP4_SYSTEMC_CORE_TIMED_H
#define UFP4_SYSTEMC_CORE_TIMED_H

#include <deque>
#include <memory>
#include <string>

#include "carrier.h"
#include "job.h"
#include "timing/timed.h"
#include "ufp4_systemc.h"

namespace ufp4 {

// How far to run ahead while a burst is under way, whose response may change later events.
constexpr uint64_t kLookCycles = 4096;

/** A completion on its way to memory, where it arrives at the end of the cycle. */
struct Completion {
  uint64_t cycle, address;
  ufp4_completion_t completion;
};

/** A burst under way to an external memory. */
struct Flight {
  uint64_t serial;
  BurstPtr burst;
};

/** How many fetched and executed jobs a copy has consumed. */
struct Cursor {
  size_t fetched = 0, executed = 0;
};

/** A descriptor that a copy has fetched from the host. These are kept in order, from `now` on. */
struct Fetched {
  uint8_t bytes[UFP4_DESCRIPTOR_BYTES];
  bool lost;
};

}  // namespace ufp4

struct Ufp4CoreTimed::Inside {
  Inside(Ufp4CoreTimed &module, const Ufp4CoreOptions &options, const ufp4::timing::Shape &shape);

  using Timed = ufp4::timing::Timed;
  using Completion = ufp4::Completion;

  void run();
  void watch_reset();
  /** Resets the model. @return the present cycle. */
  uint64_t enter_reset();
  bool access(bool write, uint32_t offset, uint32_t *value);
  bool try_access(bool write, uint32_t offset, uint32_t *value);
  bool end_access();

  // Time.
  sc_core::sc_time time_of(uint64_t cycle) const {
    return sc_core::sc_time::from_value((cycle - shift) * period.value());
  }
  uint64_t clock_cycles() const {
    return sc_core::sc_time_stamp().value() / period.value();
  }
  uint64_t cycle_now() const {
    return clock_cycles() + shift;
  }
  void wait_for(uint64_t cycle);

  // Running ahead.
  bool effect() const {
    return ahead &&
           (!completions.empty() || ahead->memory().has_begun() || irq_of(*ahead) != irq_of(*now));
  }
  bool far_enough() const {
    return !flights.empty() && ahead->cycles() >= now->cycles() + ufp4::kLookCycles;
  }
  static bool irq_of(const Timed &timed) {
    return timed.core().registers().irq();
  }
  void look_ahead();
  void trim(ufp4::Cursor *cursor);
  bool peek(uint32_t offset, uint32_t *value);
  void catch_up();
  void forget_ahead();
  void catch_up_to(uint64_t cycle);
  bool advance(Timed *timed, uint64_t end);
  bool send(std::deque<Completion> *to_send, uint64_t cycle);
  void set_level(bool raised);

  // The external memory.
  void launch(const ufp4::timing::BegunBurst &begun);
  bool take_answers();

  // Functions of the timed model's host.
  bool peeking() const {
    return running != &now_at && running != &ahead_at;
  }
  int read(uint64_t address, void *data, uint32_t bytes);
  int write(uint64_t address, const void *data, uint32_t bytes);
  int execute(const uint8_t *descriptor, uint16_t *slots, ufp4_completion_t *completion);
  bool transport(tlm::tlm_command command, uint64_t address, void *data, uint32_t bytes);
  int refuse(const std::string &why);
  void fail(const std::string &why);

  Ufp4CoreTimed &module;
  const sc_core::sc_time period;
  uint64_t shift = 0;  // difference between the model's cycles and the clock's, modulo 2^64
  std::unique_ptr<Timed> now, ahead;
  std::deque<ufp4::Fetched> fetched;
  std::deque<ufp4::Executed> executed;
  ufp4::Cursor now_at, ahead_at, *running = &now_at;
  std::deque<Completion> completions, passed;  // those of `ahead`; those of `now` during an access
  const bool outside;
  std::unique_ptr<ufp4::Carrier> carrier;  // for an external memory
  std::deque<ufp4::Flight> flights;
  ufp4::JobRunner jobs;
  std::string why;  // error of a function of the host
  sc_core::sc_mutex busy;
  sc_core::sc_event kick, released, moved;  // moved: the level has changed
  uint64_t resets = 0, steps = 0;
  bool level = false;  // the present level of the interrupt
  bool in_reset = false, failed = false;
};

#endif
