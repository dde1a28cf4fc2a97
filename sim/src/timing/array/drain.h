// SPDX-License-Identifier: Apache-2.0
// Converts sums to beats of D: mirrors ufp4_drain and, for the reads of C, ufp4_epilogue.
#ifndef UFP4_TIMING_DRAIN_H
#define UFP4_TIMING_DRAIN_H

#include <cstdint>

#include "timeline.h"
#include "timing/accesses.h"
#include "timing/array/tile_walk.h"
#include "timing/mem/masters.h"
#include "timing/pipeline.h"
#include "timing/shape.h"

namespace ufp4::timing {

class Drain {
 public:
  /** Signals of a cycle: evaluate() computes them, and step() uses them. */
  struct State {
    bool enable = false, read = false, last_read = false, next_tile = false;
    bool drained = false, drained_bank = false;
    // Signals to the addends.
    bool take = false, upper = false, sums_read = false, c_read = false;
  };

  explicit Drain(const Shape &shape) : shape_(&shape), walk_(shape.tile_m, shape.tile_n) {}

  bool idle() const {
    return !active_ && !req_valid_ && valid_ == 0 && !upper_out_ && !dat_valid_;
  }
  /** Returns whether a row requests the port. It waits until its data are near, or until the next
   * row needs its place. */
  bool req_valid() const {
    return req_valid_ && (req_wait_ == 0 || (active_ && open_ && read_ == 0));
  }
  Request request() const {
    return {req_valid(), req_address_, req_beats_};
  }
  bool dat_valid() const {
    return dat_valid_;
  }
  /** Returns whether nothing changes until a row of sums is ready. */
  bool asleep() const {
    return !open_ && credit_ == 0 && valid_ == 0 && !req_valid_ && !upper_out_ && !dat_valid_;
  }
  /** Simulates a cycle in which asleep() is true. */
  void sleep(bool ready) {
    credit_ += ready;
    slot_ = (slot_ + 1) & 3;
  }
  /** Returns whether the sums of the next read need their second beat. */
  bool upper() const {
    return count() > shape_->drain_cols / 2;
  }
  /** Returns the beats of earlier sums that must be present before the next read, which are all of
   * the row at its first read. */
  uint32_t sums_need() const {
    return read_ == 0 ? ((2 * walk_.cols() - 1) >> shape_->drain_log2) + 1 : upper() ? 2 : 1;
  }
  uint32_t c_need() const {
    return read_ == 0 ? top_read() + 1 : 1;
  }
  State evaluate(bool req_ready, bool dat_ready, bool sums_ready, bool c_ready) const;
  void look(bool req_ready, bool dat_ready, bool sums_ready, bool c_ready, CoreSigns &signs) const;
  void reset();
  void start(const ufp4_gemm_descriptor_t &desc);
  void step(const State &state, bool req_ready, bool ready, bool loading, uint32_t tiles);

  template <typename Visitor>
  void visit(Visitor &v) {
    const bool read = valid_ >> 1 & 1;
    v.exact(active_ | open_ << 1 | parity_ << 2 | req_valid_ << 3 | upper_out_ << 4 |
            dat_valid_ << 5 | (read && upper_row_) << 6 | (read && last_sums_) << 7 |
            (read && drained_bank_) << 8);
    v.address(slot_, slot_mask_);
    v.exact(credit_);
    v.exact(row_);
    v.exact(tile_a_row_ | read_ << 16);
    v.exact(valid_);
    v.exact(half_ & valid_);
    v.exact(last_ & valid_);
    v.exact(many_ & valid_);
    v.wheel(tiles_, v.tiles);
    walk_.visit(v);
    v.exact(req_beats_);
    v.exact(req_valid_ ? req_wait_ : 0);
    v.exact(req_address_ & page_mask_);
    v.address(addr_, page_mask_);
    v.address(tile_addr_, page_mask_);
    v.address(band_addr_, page_mask_);
    v.count(taken_);
  }
  void add(Accesses *all) const {
    all->reads[UFP4_SRAM_ACCUMULATORS] += taken_ * shape_->drain_cols;
  }

 private:
  uint32_t top_read() const {
    return (walk_.cols() - 1) >> shape_->drain_log2;
  }
  // Returns the columns of D in the next read.
  uint32_t count() const {
    const uint32_t left = walk_.cols() - (read_ << shape_->drain_log2);
    return left >= shape_->drain_cols ? shape_->drain_cols : left;
  }
  uint32_t row_beats() const;
  void next_read(const State &state);
  void next_tile(bool loading, uint32_t tiles);
  void shift(const State &state);

  const Shape *shape_;
  TileWalk walk_;
  // These are set when a job starts and are constant during it.
  bool bf16_ = false, wide_ = false, has_sums_ = false, has_c_ = false, one_bank_ = false;
  uint32_t slot_mask_ = 0, last_stage_ = kDrainStages, c_stage_ = 0, ask_wait_ = 0;
  uint64_t stride_ = 0, element_bytes_ = 4;

  bool active_ = false, open_ = false, parity_ = false, req_valid_ = false;
  uint32_t credit_ = 0, tiles_ = 0, row_ = 0, read_ = 0, slot_ = 0, req_beats_ = 0, req_wait_ = 0;
  uint32_t tile_a_row_ = 0;  // array row of the sub-tile
  uint64_t addr_ = 0, tile_addr_ = 0, band_addr_ = 0;
  uint64_t req_address_ = 0;
  uint32_t page_mask_ = 0;
  // By stage, from bit 1 on: valid; the half of a BF16 beat; the last read of a row; more than half
  // of the columns.
  uint32_t valid_ = 0, half_ = 0, last_ = 0, many_ = 0;
  bool upper_row_ = false, last_sums_ = false, drained_bank_ = false;
  bool upper_out_ = false, dat_valid_ = false;
  uint64_t taken_ = 0;  // reads of sums
};

// Inline, because it is called in every cycle.

inline Drain::State Drain::evaluate(bool req_ready, bool dat_ready, bool sums_ready,
                                    bool c_ready) const {
  State s;
  s.enable = !dat_valid_ || dat_ready;
  const bool request_here = !req_valid_ || req_ready;
  const bool addends_here = (!has_sums_ || sums_ready) && (!has_c_ || c_ready);
  s.read =
      active_ && open_ && (read_ != 0 || request_here) && (slot_ & slot_mask_) == 0 && addends_here;
  s.last_read = read_ == top_read();
  s.next_tile = s.read && s.enable && s.last_read && row_ == walk_.rows() - 1;
  s.drained = s.enable && (valid_ >> 1 & 1) && last_sums_;
  s.drained_bank = drained_bank_;
  s.take = s.read && s.enable;
  s.upper = upper();
  s.sums_read = has_sums_ && s.enable && (s.read || ((valid_ >> 1 & 1) && upper_row_));
  s.c_read = s.enable && c_stage_ != 0 && (valid_ >> c_stage_ & 1);
  return s;
}

// Advances the notes that accompany the sums by a stage, and decides whether a beat leaves.
inline void Drain::shift(const State &s) {
  const bool arrives = valid_ >> last_stage_ & 1;
  const bool half = half_ >> last_stage_ & 1, last = last_ >> last_stage_ & 1;
  dat_valid_ = upper_out_ || (arrives && (!bf16_ || half || last));
  upper_out_ = wide_ && arrives && (many_ >> last_stage_ & 1);
  const uint32_t reached = (1u << (last_stage_ + 1)) - 1;
  valid_ = (valid_ << 1 | (s.read ? 2u : 0u)) & reached;
  half_ = half_ << 1 | (read_ & 1) << 1;
  last_ = last_ << 1 | (s.last_read ? 2u : 0u);
  many_ = many_ << 1 | (s.upper ? 2u : 0u);
  upper_row_ = s.upper && s.read;
  last_sums_ = s.last_read && row_ == walk_.rows() - 1;
  drained_bank_ = one_bank_ || parity_;
  slot_ = (slot_ + 1) & 3;
}

inline void Drain::step(const State &s, bool req_ready, bool ready, bool loading, uint32_t tiles) {
  const bool opens = active_ && !open_ && credit_ != 0;
  const bool first = s.take && read_ == 0;
  if (first) {
    req_address_ = addr_;
    req_beats_ = row_beats();
  }
  req_valid_ = first || (req_valid_ && !req_ready);
  req_wait_ = first ? ask_wait_ : req_wait_ - (s.enable && req_wait_ != 0);
  if (s.enable) shift(s);
  credit_ += ready;
  if (opens) {
    open_ = true;
    credit_--;
  }
  taken_ += s.take;
  if (s.take) next_read(s);
  if (s.next_tile) next_tile(loading, tiles);
}

}  // namespace ufp4::timing

#endif
