// SPDX-License-Identifier: Apache-2.0
// The QUANT engine: mirrors ufp4_quant and ufp4_quant_lanes.
#ifndef UFP4_TIMING_QUANT_H
#define UFP4_TIMING_QUANT_H

#include <cstdint>

#include "timing/quant/quant_block.h"
#include "timing/quant/quant_serial.h"
#include "timing/quant/quant_write.h"
#include "timing/quant/quant_write_wide.h"

namespace ufp4::timing {

class Quant {
 public:
  /** External signals of a cycle; signals of the masters are those for this engine's clients. */
  struct Input {
    bool start = false;  // offered job
    bool load_ready = false, beat = false;
    bool write_ready = false, write_dat_ready = false, write_idle = false, answer = false;
    bool read_error = false, write_error = false;  // with the beat, with a response
  };

  explicit Quant(const Shape &shape);

  bool start_ready() const {
    return state_ == State::kIdle;
  }
  bool done() const {
    return state_ == State::kDone;
  }
  /** Returns the status of the finished job. */
  uint16_t status() const {
    return errors_.status();
  }
  /** Returns whether the last cycle ended a strip of the source. */
  bool strip_ended() const {
    return !start_ready() && (strip_.strip_ended() || pairs_.strip_ended());
  }
  /** Returns whether nothing changes until a write is answered or a job is offered. */
  bool asleep() const {
    return state_ == State::kIdle && progress_.settled();
  }
  uint32_t panels() const {
    return progress_.panels();
  }
  // The requests of the clients, which depend only on registers.
  bool load_valid() const {
    return load_.valid();
  }
  bool write_valid() const {
    return lanes() ? write_wide_.valid() : write_.valid();
  }
  Request load_request() const {
    return load_.request();
  }
  Request write_request() const {
    return lanes() ? write_wide_.request() : write_.request();
  }
  bool write_dat_valid() const {
    return lanes() ? write_wide_.dat_valid() : write_.dat_valid();
  }
  /** Writes the signs of this cycle for a timeline. */
  void look(CoreSigns &signs) const;
  void add(Accesses *all) const;
  void reset();
  void step(const ufp4_quant_descriptor_t &desc, const Input &in);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(static_cast<uint32_t>(state_) | errors_.bits() << 4);
    progress_.visit(v);
    for (uint64_t *count : {&stored_[0], &stored_[1], &fetched_[0], &fetched_[1], &taken_,
                            &issued_[0], &issued_[1], &codes_})
      v.count(*count);
    if (state_ == State::kIdle) return;
    load_.visit(v);
    // Only the working reader is asked; the other one stands still, behind by all strips so far.
    v.exact(wide() ? strip_.behind(load_.strips()) : pairs_.behind(load_.strips()));
    strip_.visit(v);
    transpose_.visit(v);
    for (QuantBlock &block : block_) block.visit(v);
    pairs_.visit(v);
    serial_.visit(v);
    write_.visit(v);
    write_wide_.visit(v);
  }

 private:
  enum class State { kIdle, kSetup, kStart, kRun, kSettle, kDrain, kDone };

  /** Returns whether a row enters the pipeline at once, rather than as pairs of its elements. */
  bool wide() const {
    return shape_->quant >= 16;
  }
  /** Returns whether tiles pass side by side. */
  bool lanes() const {
    return shape_->quant > 16;
  }
  /** Returns whether the block pipeline of copy @p c advances. */
  bool copy_ready(uint32_t c) const {
    return block_[c].ready(lanes() ? write_wide_.in_ready(c) : write_.in_ready(job_.pair, c));
  }
  uint32_t finished() const;
  inline void next_state(const Input &in);
  void set_up(const ufp4_quant_descriptor_t &desc);
  void start();
  /** Simulates a cycle of the pipeline, whose outputs are *take and *out. @return whether a place
   * in the buffer becomes free. */
  inline bool step_wide(bool beat, uint32_t rest, bool *take, QuantMark *out);
  void count_wide(bool row, bool column, const bool *take);
  bool step_narrow(bool beat, uint32_t rest, bool *take, QuantMark *out);

  const Shape *shape_;
  State state_ = State::kIdle;
  QuantJob job_;
  QuantLoad load_;
  QuantStrip strip_;
  QuantTranspose transpose_;
  QuantBlock block_[2];
  QuantPairs pairs_;
  QuantSerial serial_;
  QuantWrite write_;
  QuantWriteWide write_wide_;
  QuantProgress progress_;
  BusErrors errors_;
  // Words of one bank of the transpose, of the first lane and, with tiles side by side, of each of
  // the others; pairs into and out of the narrow engine's blocks; words of codes.
  uint64_t stored_[2] = {}, fetched_[2] = {}, taken_ = 0, issued_[2] = {}, codes_ = 0;
};

}  // namespace ufp4::timing

#endif
