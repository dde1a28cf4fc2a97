// SPDX-License-Identifier: Apache-2.0
// The command unit: mirrors ufp4_command. Front mirrors ufp4_front, Issue ufp4_issue, Retire
// ufp4_retire, and the slots ufp4_slots.
#ifndef UFP4_TIMING_COMMAND_H
#define UFP4_TIMING_COMMAND_H

#include <cstdint>

#include "timeline.h"
#include "timing/host/descriptor.h"
#include "timing/mem/masters.h"

namespace ufp4::timing {

/** The rings, as set in the registers. */
struct Rings {
  uint64_t base = 0, completion_base = 0;
  uint32_t log2 = 0, tail = 0;

  uint64_t index(uint32_t count) const {
    return count & 0x7FFF & ~(0x7FFFu << log2);
  }
};

struct Slots {
  bool valid[UFP4_SLOTS] = {};
  uint16_t exponent[UFP4_SLOTS] = {};
};

class Front {
 public:
  explicit Front(const Shape &shape) : shape_(shape) {}

  uint32_t next() const {
    return next_;
  }
  bool busy() const {
    return state_ != State::kIdle;
  }
  uint8_t state() const {
    return static_cast<uint8_t>(state_);
  }
  bool job_valid() const {
    return state_ == State::kOffer;
  }
  const Descriptor &job() const {
    return job_;
  }
  uint16_t status() const {
    return status_;
  }
  /** Returns whether the fetch has failed, so that the descriptor is invalid. */
  bool lost() const {
    return lost_;
  }
  bool valid() const {
    return state_ == State::kRequest;
  }
  uint64_t address(const Rings &rings) const {
    return rings.base + rings.index(next_) * UFP4_DESCRIPTOR_BYTES;
  }
  Request request(const Rings &rings) const {
    return {valid(), address(rings), UFP4_DESCRIPTOR_BYTES / shape_.bus_bytes};
  }
  /** Returns whether the front changes nothing until its job, if it offers one, is accepted. */
  bool waits(const Rings &rings) const {
    return state_ == State::kIdle ? next_ == rings.tail : state_ == State::kOffer;
  }
  void reset() {
    state_ = State::kIdle;
    next_ = 0;
  }
  /** Returns whether the descriptor at request() is to be read into job() now. */
  bool fetches(bool req_ready) const {
    return state_ == State::kRequest && req_ready;
  }
  Descriptor &fetched() {
    return job_;
  }
  /** Makes the fetch fail, because there is no memory at the descriptor's address. */
  void miss() {
    missed_ = true;
  }
  /** Simulates a cycle. @p error: the response of the beat is an error. */
  void step(const Rings &rings, bool req_ready, bool beat, bool error, bool taken);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(static_cast<uint32_t>(state_) | beat_ << 4 | left_ << 8 | uint64_t{lost_} << 40 |
            uint64_t{missed_} << 41);
    v.exact(next_);
    if (busy()) v.exact(job_.header.job);
  }

 private:
  enum class State { kIdle, kRequest, kFetch, kCheck, kOffer };

  const Shape &shape_;
  State state_ = State::kIdle;
  bool missed_ = false, lost_ = false;
  uint32_t next_ = 0, beat_ = 0, left_ = 0;
  uint16_t status_ = 0;
  Descriptor job_{};
};

/** The state of other jobs on which a job may depend. */
struct Others {
  uint32_t head, done;  // tag of the oldest job whose completion is not written; by tag
  bool other_started;   // job of the other engine
  uint32_t other_tag;
};

class Issue {
 public:
  struct Finish {
    bool valid = false;
    uint32_t tag = 0;
    uint16_t status = 0;
    uint64_t cycles = 0;
  };

  bool job_ready() const {
    return !next_valid_;
  }
  bool start_valid() const {
    return state_ == State::kStart && status_ == UFP4_CORE_STATUS_OK;
  }
  bool running() const {
    return state_ == State::kRun;
  }
  bool started() const {
    return state_ == State::kRun || state_ == State::kStoreA || state_ == State::kStoreB ||
           state_ == State::kFinish;
  }
  uint32_t tag() const {
    return tag_;
  }
  const Descriptor &job() const {
    return job_;
  }
  CoreSigns::Issue signs() const {
    return {static_cast<uint8_t>(state_), job_.header.opcode, job_.header.job};
  }
  Finish finish() const {
    return {state_ == State::kFinish, tag_, status_, cycles_};
  }
  /** Returns whether only its cycle count changes until the engine or another job is done. */
  bool waits(const Others &others) const {
    return state_ == State::kEmpty
               ? !next_valid_
               : state_ == State::kRun || (state_ == State::kWait && !may_start(others));
  }
  /** Simulates a cycle in which waits() is true. */
  void wait() {
    cycles_ += state_ == State::kRun;
  }
  /** Returns a bit for each operand (A, B) of which only row groups that QUANT has finished may be
   * read. */
  uint32_t panels_held(const Others &others) const;
  void reset();
  /** Simulates a cycle. @p status: that of the finished job. */
  void step(const Others &others, Slots &slots, bool give, const Descriptor &job, uint32_t tag,
            bool start_ready, bool done, uint16_t status);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(static_cast<uint32_t>(state_) | next_valid_ << 4 | next_tag_ << 8 | tag_ << 12);
    v.exact(status_);
    v.count(cycles_);
  }

 private:
  enum class State { kEmpty, kWait, kSlotA, kSlotB, kStart, kRun, kStoreA, kStoreB, kFinish };

  bool is_done(uint32_t distance, const Others &others) const {
    distance &= 15;
    return distance == 0 || distance > ((tag_ - others.head) & 15) ||
           (others.done >> ((tag_ - distance) & 15) & 1);
  }
  bool may_start(const Others &others) const;
  bool slot_bad(bool second, const Slots &slots) const;
  void next_state(const Others &others, Slots &slots, bool load, bool start_ready, bool done,
                  uint16_t status);
  void run(bool done, uint16_t status);

  State state_ = State::kEmpty;
  bool next_valid_ = false;
  Descriptor next_{}, job_{};
  uint32_t next_tag_ = 0, tag_ = 0;
  uint16_t status_ = 0;
  uint64_t cycles_ = 0;
};

class Retire {
 public:
  struct Enter {
    bool valid = false, irq = false, done = false;
    uint32_t tag = 0, job = 0;
    uint16_t status = 0;
  };
  /** The job at the head. */
  struct Job {
    Descriptor descriptor;
    ufp4_completion_t completion;
    bool irq, engine;  // engine: it ran on one
  };

  explicit Retire(const Shape &shape)
      : beats_(shape.bus_bytes < UFP4_COMPLETION_BYTES ? UFP4_COMPLETION_BYTES / shape.bus_bytes
                                                       : 1),
        bus_mask_(~uint64_t{shape.bus_bytes - 1}) {}

  uint32_t head() const {
    return head_;
  }
  uint32_t done() const {
    return done_;
  }
  Job &job() {
    return jobs_[head_ & 15];
  }
  uint64_t address(const Rings &rings) const {
    return rings.completion_base + rings.index(head_) * UFP4_COMPLETION_BYTES;
  }
  uint8_t state() const {
    return static_cast<uint8_t>(state_);
  }
  bool valid() const {
    return state_ == State::kComplete && !sent_;
  }
  bool waits() const {
    return state_ == State::kIdle && !(done_ >> (head_ & 15) & 1);
  }
  Request request(const Rings &rings) const {
    return {valid(), address(rings) & bus_mask_, beats_};
  }
  bool dat_valid() const {
    return state_ == State::kComplete && beat_ != beats_;
  }
  bool retires(bool idle) const {
    return state_ == State::kRetire && idle;
  }
  /** Returns whether the present completion could not be written. */
  bool unwritten() const {
    return error_;
  }
  void reset();
  /** Simulates a cycle. @p error: a write has been answered with an error. */
  void step(const Enter &enter, const Descriptor &job, const Issue::Finish *finish, bool req_ready,
            bool dat_ready, bool idle, bool error);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(static_cast<uint32_t>(state_) | sent_ << 4 | error_ << 5 | beat_ << 8);
    v.exact(done_);
    v.exact(head_);
  }

 private:
  enum class State { kIdle, kComplete, kRetire };

  void next_state(bool req_ready, bool dat_ready, bool idle);

  uint32_t beats_;
  uint64_t bus_mask_;
  State state_ = State::kIdle;
  bool sent_ = false, error_ = false;
  uint32_t beat_ = 0, done_ = 0, head_ = 0;
  Job jobs_[16] = {};
};

}  // namespace ufp4::timing

#endif
