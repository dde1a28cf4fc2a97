// SPDX-License-Identifier: Apache-2.0
// Decides what is fed to the array in each cycle: mirrors ufp4_sequencer.
#ifndef UFP4_TIMING_SEQUENCER_H
#define UFP4_TIMING_SEQUENCER_H

#include <cstdint>

#include "timing/accesses.h"
#include "timing/array/tile_walk.h"
#include "timing/mem/ring.h"
#include "timing/pipeline.h"
#include "timing/shape.h"

namespace ufp4::timing {

class Sequencer {
 public:
  /** Signals of a cycle: evaluate() computes them, and step() uses them. */
  struct State {
    bool busy = false, stall_operand = false, stall_accumulator = false;
    bool feed = false, end_row = false, end_chunk = false, end_tile = false;
  };

  explicit Sequencer(const Shape &shape) : shape_(&shape), walk_(shape.tile_m, shape.tile_n) {}

  bool active() const {
    return active_;
  }
  bool slot() const {
    return slot_;
  }
  /** Returns whether a slot becomes free in this cycle. */
  bool release(uint64_t now) const {
    return !releases_.empty() && releases_.front() == now;
  }
  /** Returns whether a row of sub-tiles becomes complete in its bank in this cycle. */
  bool ready(uint64_t now) const {
    return !readies_.empty() && readies_.front() == now;
  }
  /** Computes the signals of a cycle from the registers. @p loaded: row groups loaded to the
   * present slot. */
  State evaluate(uint32_t loaded) const;
  void reset();
  void start(const ufp4_gemm_descriptor_t &desc);
  /** Simulates a cycle. @p tiles: the loader's count in this cycle. @p drained: @p bank has been
   * drained. */
  void step(const State &state, uint64_t now, bool loading, uint32_t tiles, bool drained,
            bool bank);

  uint32_t tiles() const {
    return tiles_;
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(active_ | slot_ << 1 | parity_ << 2 | claimed_ << 3 | full_ << 4);
    v.exact(tile_a_ | uint64_t{tile_b_} << 32);
    v.exact(block_ | step_ << 16 | in_turn_ << 20 | phase_ << 24 | uint64_t{begun_} << 28 |
            uint64_t{pause_} << 32);
    v.exact(turn_a_ | uint64_t{turn_b_} << 32);
    v.exact(wait_);
    v.wheel(tiles_, v.tiles);
    walk_.visit(v);
    v.place(k_left_, 2 * shape_->chunk, 2);
    readies_.visit(v, [&v](uint64_t &due) { v.due(due); });
    releases_.visit(v, [&v](uint64_t &due) { v.due(due); });
    for (uint64_t *count : {&read_a_, &read_b_, &stored_, &taken_}) v.count(*count);
  }
  void add(Accesses *all) const {
    const uint64_t elements = uint64_t{shape_->rows} * shape_->cols;
    all->reads[UFP4_SRAM_CODES_A] += read_a_;
    all->reads[UFP4_SRAM_CODES_B] += read_b_;
    all->reads[UFP4_SRAM_SCALES_A] += read_a_;
    all->reads[UFP4_SRAM_SCALES_B] += read_b_;
    all->reads[UFP4_SRAM_ACCUMULATORS] += elements * taken_;
    all->writes[UFP4_SRAM_ACCUMULATORS] += elements * stored_;
  }

 private:
  bool last_chunk() const {
    return k_left_ <= shape_->chunk;
  }
  bool bank() const {
    return many_chunks_ ? last_chunk() : parity_;
  }
  bool returned() const;
  /** Returns whether the present sub-tile's sum is due again (contract fp32), or available (nv). */
  bool in_phase() const {
    return shape_->fp32() ? phase_ == in_turn_ * shape_->steps + step_ : pause_ == 0;
  }
  /** Returns whether all sub-tiles of the macro-tile stay in the PEs' registers: it has one, or one
   * turn. */
  bool single() const;
  void next_sub_tile();
  void advance(const State &state);
  void count(const State &state);
  /** Computes what the position in the macro-tile needs and which loops end there, which is valid
   * until the position changes. */
  void place();

  const Shape *shape_;
  TileWalk walk_;
  bool active_ = false, slot_ = false, parity_ = false, claimed_ = false, many_chunks_ = false;
  uint32_t full_ = 0, tiles_ = 0, tile_a_ = 0, tile_b_ = 0, block_ = 0, step_ = 0, wait_ = 0;
  uint32_t k_left_ = 0, k_blocks_ = 0;
  // Contracts fp32 and nv: the beginning of the turn and the sub-tile's position in it; which sums
  // are due; and how long a lone sub-tile's sum is not.
  uint32_t turn_a_ = 0, turn_b_ = 0, in_turn_ = 0, phase_ = 0, pause_ = 0;
  bool begun_ = false;
  // Results of place().
  bool last_a_ = false, last_b_ = false;
  uint32_t need_ = 0, last_block_ = 0, lanes_a_ = 0, lanes_b_ = 0;
  // Lanes that were read; sub-tiles whose sums were stored after a chunk, and read before one.
  uint64_t read_a_ = 0, read_b_ = 0, stored_ = 0, taken_ = 0;
  Ring<uint64_t, 128> readies_;
  Ring<uint64_t, 64> releases_;
};

// Inline, because it is called in every cycle.

inline bool Sequencer::returned() const {
  if (shape_->pe_return <= 2) return true;
  const uint32_t wait = shape_->pe_return - 2, rows = walk_.rows(), cols = walk_.cols();
  return single() || wait_ == 0 || shape_->chunk_blocks(k_left_) > wait ||
         rows > (wait + 1) * shape_->rows || cols > (wait + 1) * shape_->cols;
}

inline Sequencer::State Sequencer::evaluate(uint32_t loaded) const {
  State s;
  if (!active_) return s;
  const bool last = last_chunk();
  const bool padding = shape_->nv() && last && block_ >= k_left_;
  const bool operands = loaded >= need_;
  const bool bank_free = (!last || claimed_ || !(full_ >> bank() & 1)) && returned();
  s.feed = bank_free && operands && in_phase();
  s.busy = s.feed && !padding;
  s.stall_accumulator = !bank_free || ((padding || !in_phase()) && operands);
  s.stall_operand = bank_free && !operands;
  s.end_row = s.feed && step_ + 1 == shape_->steps && block_ == last_block_ && last_b_;
  s.end_chunk = s.end_row && last_a_;
  s.end_tile = s.end_chunk && last;
  return s;
}

inline void Sequencer::step(const State &s, uint64_t now, bool loading, uint32_t tiles,
                            bool drained, bool bank) {
  if (release(now)) releases_.pop();
  if (ready(now)) readies_.pop();
  const bool last = last_chunk();
  if (drained) full_ &= ~(1u << bank);
  if (s.end_chunk && !last) {
    wait_ = shape_->pe_return > 2 ? shape_->pe_return - 2 : 0;
  } else if (wait_ != 0) {
    wait_--;
  }
  if (s.end_chunk) releases_.push(now + shape_->lane_delay);
  if (s.end_row && last) readies_.push(now + shape_->sum_delay);
  if (s.end_tile) active_ = loading || ((tiles_ + 1) & 7) != tiles;
  begun_ = begun_ || s.feed;
  if (shape_->fp32() && begun_) phase_ = (phase_ + 1) % kTurnCycles;
  if (pause_ != 0) pause_--;
  if (s.feed) advance(s);
}

}  // namespace ufp4::timing

#endif
