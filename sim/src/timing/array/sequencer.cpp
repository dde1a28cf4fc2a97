// SPDX-License-Identifier: Apache-2.0
#include "timing/array/sequencer.h"

#include <algorithm>

namespace ufp4::timing {

void Sequencer::reset() {
  active_ = false;
  wait_ = 0;
  readies_.clear();
  releases_.clear();
}

void Sequencer::start(const ufp4_gemm_descriptor_t &desc) {
  walk_.start(desc.m, desc.n);
  active_ = true;
  slot_ = parity_ = claimed_ = false;
  full_ = tiles_ = tile_a_ = tile_b_ = block_ = step_ = 0;
  k_left_ = k_blocks_ = (desc.k + 15) >> 4;
  many_chunks_ = k_blocks_ > shape_->chunk;
  turn_a_ = turn_b_ = in_turn_ = phase_ = pause_ = 0;
  begun_ = false;
  readies_.clear();
  releases_.clear();
  place();
}

// The order of groups in the slot is A0, B0, .., B(last), A1, ..; the last one needed must have
// arrived.
void Sequencer::place() {
  const uint32_t rows = walk_.rows(), cols = walk_.cols();
  const uint32_t end_a = (tile_a_ + 1) * shape_->rows, end_b = (tile_b_ + 1) * shape_->cols;
  last_a_ = end_a >= rows;
  last_b_ = end_b >= cols;
  const uint32_t group_a = ((16 % shape_->rows != 0 && last_a_ ? rows : end_a) - 1) / 16;
  const uint32_t group_b = ((16 % shape_->cols != 0 && last_b_ ? cols : end_b) - 1) / 16;
  need_ = group_a == 0 ? group_b + 2 : (cols + 15) / 16 + group_a + 1;
  lanes_a_ = std::min((rows + 15) / 16 * 16 - tile_a_ * shape_->rows, shape_->rows);
  lanes_b_ = std::min((cols + 15) / 16 * 16 - tile_b_ * shape_->cols, shape_->cols);
  last_block_ = (shape_->chunk_blocks(k_left_) - 1) | (shape_->nv() ? 3 : 0);
}

bool Sequencer::single() const {
  const uint32_t stay = shape_->turn;
  for (uint32_t a = 1; a <= stay; a++) {
    if (walk_.rows() <= a * shape_->rows && walk_.cols() <= stay / a * shape_->cols) return true;
  }
  return false;
}

// A lone sub-tile, or turn, stays in the PE's registers: its sums are stored but not read back.
void Sequencer::count(const State &s) {
  if (s.busy && step_ == 0) {
    read_a_ += lanes_a_;
    read_b_ += lanes_b_;
  }
  if (block_ != last_block_ || step_ + 1 != shape_->steps) return;
  stored_++;
  taken_ += k_left_ != k_blocks_ && !single();
}

void Sequencer::next_sub_tile() {
  if (last_b_) tile_a_ = last_a_ ? 0 : tile_a_ + 1;
  tile_b_ = last_b_ ? 0 : tile_b_ + 1;
}

void Sequencer::advance(const State &s) {
  const bool last = last_chunk();
  count(s);
  if (last) {
    claimed_ = true;
    full_ |= 1u << bank();
  }
  if (++step_ < shape_->steps) return;
  step_ = 0;
  if (shape_->nv() && (block_ & 3) != 3) {
    block_++;
    return;
  }
  const bool turn_end = in_turn_ + 1 == shape_->turn || (last_a_ && last_b_);
  if (!turn_end) {
    in_turn_++;
    if (shape_->nv()) block_ &= ~3u;
    next_sub_tile();
    place();
    return;
  }
  if (shape_->nv() && in_turn_ == 0) pause_ = kTurnCyclesNv - 4;
  in_turn_ = 0;
  if (block_ != last_block_) {
    block_++;
    if (shape_->turn > 1) {
      tile_a_ = turn_a_;
      tile_b_ = turn_b_;
      place();
    }
    return;
  }
  block_ = 0;
  next_sub_tile();
  turn_a_ = tile_a_;
  turn_b_ = tile_b_;
  if (s.end_chunk) {
    slot_ = !slot_;
    k_left_ = last ? k_blocks_ : k_left_ - shape_->chunk_blocks(k_left_);
  }
  if (s.end_tile) {
    parity_ = !parity_;
    claimed_ = false;
    tiles_ = (tiles_ + 1) & 7;
    walk_.next();
  }
  if (active_) place();
}

}  // namespace ufp4::timing
