// SPDX-License-Identifier: Apache-2.0
#include "timing/quant/quant_serial.h"

namespace ufp4::timing {

void QuantPairs::reset() {
  arrival_.reset();
  run_ = owe_ = b_valid_ = c_valid_ = false;
}

void QuantPairs::start(const QuantJob &job) {
  arrival_.start(job);
  run_ = true;
  owe_ = false;
  full_ = offset_ = at_ = strips_ = 0;
  copy_ = !(job.enable & 1);
  tiles_ = job.tiles;
  rows_ = job.rows;
}

PairMark QuantPairs::mark(const QuantJob &job, uint32_t rest) const {
  const bool upper = at_ >> 8 & 1, half = at_ >> 3 & 1;
  const bool right = copy_ ? upper : half, lower = copy_ ? half : upper;
  const bool tile_last = tiles_ <= (job.pair ? 2u : 1u);
  PairMark m;
  m.copy = copy_;
  m.mark.last = tile_last && strip_last(job, rest) && line_end(job);
  m.mark.blank = job.pair && ((right && tiles_ == 1) || (lower && !lower_here(job)));
  return m;
}

// A pair of a row is in one beat, a pair of a column in two beats.
uint32_t QuantPairs::reads(const QuantJob &job) const {
  const uint32_t k = at_ & 7, line = at_ >> 4 & 15;
  const bool upper = at_ >> 8 & 1, half = at_ >> 3 & 1;
  const bool right = copy_ ? upper : half, lower = copy_ ? half : upper;
  const bool last = tiles_ == (right ? 2u : 1u);
  if (right && tiles_ == 1) return 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < (copy_ ? 2u : 1u); i++) {
    const uint32_t row = copy_ ? 2 * k + i : line, col = copy_ ? line : 2 * k;
    count += (lower ? 16 : 0) + row < rows_ && (!last || col <= (job.cols - 1) % 16);
  }
  return count;
}

void QuantPairs::next_tile(const QuantJob &job, bool chunk_done, uint32_t rest) {
  const bool tile_last = tiles_ <= (job.pair ? 2u : 1u);
  const bool last = strip_last(job, rest);
  copy_ = !(job.enable & 1);
  offset_ = chunk_done ? 0 : offset_ + ((job.f32 ? 64u : 32u) << job.pair);
  tiles_ = tile_last ? job.tiles : tiles_ - (job.pair ? 2 : 1);
  if (!tile_last) return;
  rows_ -= last ? rows_ : job.pair ? kStrips : kStrip;
  strips_ = (strips_ + 1) % kStripCount;
  run_ = !last;
  strip_ended_ = true;
}

// Advances to the next pair. @return whether the chunks of the tile are used up.
bool QuantPairs::advance(const QuantJob &job, uint32_t rest) {
  const bool block_end = (at_ & 7) == 7, copy_end = block_end && line_end(job);
  if (!block_end) {
    at_++;
    return false;
  }
  at_ = ((at_ >> 3) + (job.pair ? 1 : 2)) << 3;
  if (!copy_end) return false;
  at_ = 0;
  if (!copy_ && (job.enable & 2)) {
    copy_ = true;
    return false;
  }
  const bool tile_last = tiles_ <= (job.pair ? 2u : 1u);
  const bool chunk_done =
      tile_last || offset_ + ((job.f32 ? 64u : 32u) << job.pair) >= shape_->segment_bytes;
  next_tile(job, chunk_done, rest);
  return chunk_done;
}

bool QuantPairs::step(const QuantJob &job, bool beat, bool ready, uint32_t rest) {
  const bool c_ready = !c_valid_ || ready, issue_ready = !b_valid_ || c_ready;
  const bool two = lower_here(job);
  strip_ended_ = false;
  const bool issue = run_ && issue_ready && full_ > (two ? 1u : 0u);
  if (b_valid_ && c_ready) c_ = b_;
  c_valid_ = b_valid_ || (c_valid_ && !ready);
  b_valid_ = issue || (b_valid_ && !c_ready);
  written_ += beat && arrival_.active();
  if (issue) {
    b_ = mark(job, rest);
    read_ += reads(job);
  }
  const bool out = issue && advance(job, rest), freed = out || owe_;
  if (out) full_ -= two ? 2 : 1;
  owe_ = out && two;
  if (beat && arrival_.step(job, rest)) full_++;
  return freed;
}

void QuantSerial::reset() {
  *this = QuantSerial(out_);
}

void QuantSerial::start() {
  w_k_ = r_k_ = amax_done_ = 0;
  w_half_ = r_half_ = false;
}

void QuantSerial::take(const QuantJob &job, const PairMark &in) {
  if (!w_half_) first_blank_ = in.mark.blank;
  w_k_ = (w_k_ + 1) & 7;
  if (w_k_ != 0) return;
  const bool end = w_half_ == job.pair;
  w_half_ = job.pair && !w_half_;
  if (!end) return;
  // The first half's mark comes first; a block without halves has its own mark in both positions.
  block_[w_place_] = {in.copy, in.mark.last, {first_blank_, in.mark.blank}};
  full_[w_place_] = true;
  w_place_ = !w_place_;
}

void QuantSerial::shift(const QuantJob &job, bool issue) {
  const bool end = issue && r_k_ == 7;
  const Block &b = block_[r_place_];
  ends_ = ends_ << 1 | (end ? 2u : 0u);
  if (job.amax) ends_ &= ~(uint64_t{1} << (kScale + 3));
  ends_ &= (uint64_t{2} << out_) - 1;
  copy_ = copy_ << 1 | (b.copy ? 2u : 0u);
  last_ = last_ << 1 | (b.last && r_half_ == job.pair ? 2u : 0u);
  blank_ = blank_ << 1 | (b.blank[r_half_] ? 2u : 0u);
  if (!issue) return;
  r_k_ = (r_k_ + 1) & 7;
  if (!end) return;
  const bool whole = r_half_ == job.pair;
  r_half_ = job.pair && !r_half_;
  if (!whole) return;
  full_[r_place_] = false;
  r_place_ = !r_place_;
}

void QuantSerial::step(const QuantJob &job, bool in_valid, const PairMark &in, bool out_ready) {
  const bool takes = in_valid && in_ready(), moves = !out_valid() || out_ready;
  const bool issue = full_[r_place_] && moves;
  const uint64_t seen = uint64_t{1} << (kScale + 1);
  if (job.amax && moves && (ends_ & last_ & seen)) amax_done_ |= copy_ & seen ? 2 : 1;
  if (moves) shift(job, issue);
  if (takes) take(job, in);
}

}  // namespace ufp4::timing
