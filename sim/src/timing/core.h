// SPDX-License-Identifier: Apache-2.0
// The whole core and its memory, cycle by cycle: mirrors ufp4_top, ufp4_host and ufp4_guard, and
// the loops of the harness (simulator.h) around them. In each cycle the units' requests are
// computed from their registers, then the masters' choice, then the rest; finally every unit takes
// its step.
#ifndef UFP4_TIMING_CORE_H
#define UFP4_TIMING_CORE_H

#include <cstdint>
#include <memory>
#include <string>

#include "timeline.h"
#include "timing/array/gemm.h"
#include "timing/host/command.h"
#include "timing/host/guard.h"
#include "timing/host/registers.h"
#include "timing/mem/empty_memory.h"
#include "timing/quant/quant.h"
#include "timing/skip.h"
#include "ufp4_timed.h"

namespace ufp4::timing {

/** The units that move while a job runs and the command unit waits. */
struct Moving {
  Gemm gemm;
  Quant quant;
  ReadMaster read;
  WriteMaster write;
  EmptyMemory memory;

  template <typename Visitor>
  void visit(Visitor &v) {
    gemm.visit(v);
    quant.visit(v);
    read.visit(v);
    write.visit(v);
    memory.visit(v);
  }
};

/** Settings of a host on which jobs depend. */
struct Orders {
  Rings rings;
  uint32_t watchdog;
  bool resetting;
  uint32_t fatal;
};

/** A copy continues independently from the state of the original. */
class Core {
 public:
  Core(const Shape &shape, const MemoryRules &rules, const ufp4_timed_host_t &host,
       const ufp4_timeline_sink_t *sink);

  /** Resets the core, also during jobs. */
  void reset();
  /** Simulates one clock cycle. @return false if message() has an error. */
  bool step();

  HostPort &port() {
    return port_;
  }
  const Registers &registers() const {
    return registers_;
  }
  EmptyMemory &memory() {
    return moving_.memory;
  }
  /** Returns the value that a read of the register would return now. */
  uint32_t peek(uint32_t offset) const {
    return registers_.read(offset, view(), slots_);
  }
  Orders orders() const {
    return {registers_.rings(), registers_.watchdog(), guard_.resetting(), guard_.fatal()};
  }
  bool resetting() const {
    return guard_.resetting();
  }
  /** Returns whether the core has been stopped, so that neither core nor bus does anything until a
   * reset. */
  bool hangs() const {
    return guard_.fatal() != 0 && calm_ && still_ >= shape_.still_cycles &&
           !moving_.read.pending() && !moving_.write.pending();
  }
  /** Raises the error interrupt, because the last completion was not delivered. */
  void miss_completion() {
    registers_.raise(kIrqError);
  }
  /** Allows follow() from here on. */
  void watch() {
    registers_.watch();
  }
  /** Takes over what the host has written to @p host, of which this is a copy that has run on
   * since watch(), and whose settings were @p before. @return false if this changes what has
   * happened since. */
  bool follow(const Core &host, const Orders &before);
  /** Returns whether there is a job, running or in the ring. */
  bool working() const {
    return active() || registers_.rings().tail != retire_.head();
  }
  /** Returns whether something will happen without the host: to a job, or on the bus in a soft
   * reset. */
  bool going() const {
    return (working() || guard_.resetting()) && !hangs();
  }
  /** Returns the last cycle in which the bus moved. */
  uint64_t last_moved() const {
    return last_moved_;
  }
  uint64_t cycle() const {
    return cycle_;
  }
  /** Returns how many of these cycles were stepped. */
  uint64_t stepped() const {
    return stepped_;
  }
  /** Returns whether the next cycles depend only on what visit() visits, and therefore repeat
   * earlier ones; reports to @p skip what else has happened since the last call. */
  bool may_skip(Skip &skip);
  /** Returns whether a busy core has finished a chunk or strip, so that its state is worth
   * checking. */
  bool marks() const {
    return moving_.gemm.active() ? gemm_now_.end_chunk : moving_.quant.strip_ended();
  }
  Accesses accesses() const {
    Accesses all;
    moving_.gemm.add(shape_, &all);
    moving_.quant.add(&all);
    return all;
  }
  Moving &moving() {
    return moving_;
  }
  template <typename Visitor>
  void visit(Visitor &v) {
    moving_.visit(v);
    registers_.visit(v);
    for (Issue &issue : issue_) issue.visit(v);
    guard_.visit(v);
    v.count(moves_);
  }
  /** Restores the state of @p writer, that many cycles later. */
  void skip(SkipWriter &writer, uint64_t cycles) {
    const uint64_t moves = moves_;
    visit(writer);
    cycle_ += cycles;
    if (moves_ != moves) last_moved_ = cycle_;
  }
  bool has_timeline() const {
    return timeline_.on();
  }
  void timeline_end() {
    timeline_.end(cycle_);
  }
  const std::string &message() const {
    return message_;
  }
  void fail(const std::string &message) {
    message_ = message;
  }
  /** Calls step(), and then skips cycles, not beyond @p end: those of an idle core, and with @p
   * skips those that repeat earlier ones. */
  bool leap(uint64_t end, bool skips);

 private:
  enum Reader { kReadCommand, kReadGemm, kReadAddend, kReadQuant };
  enum Writer { kWriteCommand, kWriteGemm, kWriteQuant };
  enum Engine { kGemm, kQuant };
  enum class News { kNone, kOther, kStart };  // kStart: a job has started

  /** The signals of a cycle from the registers, before anything moves. */
  struct Now {
    bool read_valid[ReadMaster::kClients], write_valid[WriteMaster::kClients];
    bool dat_valid[WriteMaster::kClients];
    uint32_t panels_held, panels;
    bool gemm_ready, quant_ready, quant_done;
  };

  Others others(Engine engine) const {
    const Issue &other = issue_[engine == kGemm ? kQuant : kGemm];
    return {retire_.head() & 15, retire_.done(), other.started(), other.tag()};
  }
  CoreView view() const {
    return {retire_.head(), active(), guard_.resetting(), guard_.fatal()};
  }
  bool active() const {
    return front_.busy() || front_.next() != retire_.head();
  }
  inline void ask(Now &now) const;
  inline Request read_request() const;
  inline Request write_request() const;
  bool quant_asleep() const {
    return moving_.quant.asleep() && !issue_[kQuant].start_valid() &&
           !moving_.write.answer(kWriteQuant);
  }
  inline bool read_ready(int client) const;
  inline void step_engines(const Now &now);
  bool takes_job() const;
  bool calm() const;
  bool idle() const;
  bool step_command(const Now &now);
  inline bool step_host(const Now &now, Events events, const Guard::Input &guard, bool *soft_reset);
  bool fetch();
  bool retire();
  void doubt(const Descriptor &job);
  void look(const MemoryMaster &master, const MemorySlave &slave, const Now &now,
            CoreSigns &signs) const;
  inline Events events(const MemoryMaster &master, const MemorySlave &slave) const;
  inline Guard::Input guard_input() const;
  void reset_units();

  static constexpr uint32_t kIrqError = 2, kIrqStopped = 4;

  const std::shared_ptr<const Shape> kept_shape_;  // shared by all copies, because their units
                                                   // point to it
  const Shape &shape_;
  const ufp4_timed_host_t host_;
  Front front_;
  Issue issue_[2];
  Retire retire_;
  uint32_t undone_ = 0;  // jobs accepted by the engines
  Moving moving_;
  Slots slots_;
  Registers registers_;
  HostPort port_;
  Gemm::State gemm_now_;
  Skip skip_;
  News news_ = News::kNone;  // since may_skip()
  Timeline timeline_;
  uint32_t irqs_ = 0;
  uint64_t cycle_ = 0, stepped_ = 0, last_moved_ = 0;
  uint64_t moves_ = 0;  // cycles in which the bus has moved
  uint64_t still_ = 0;  // cycles in which nothing has
  Guard guard_;
  bool doubtful_ = false;  // a job may access addresses without memory, so no cycle is skipped
  bool calm_ = false;  // the command unit does not change until an engine is done or the host acts
  std::string message_;
};

}  // namespace ufp4::timing

#endif
