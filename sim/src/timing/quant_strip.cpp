// SPDX-License-Identifier: Apache-2.0
#include "timing/quant_strip.h"

namespace ufp4::timing {

void QuantStrip::reset() {
  arrival_.reset();
  full_ = row_ = 0;
  b_valid_ = c_valid_ = false;
}

void QuantStrip::start(const QuantJob &job) {
  arrival_.start(job);
  full_ = offset_ = row_ = beat_ = 0;
  half_ = false;
  tiles_ = job.tiles;
  rows_ = job.rows;
}

QuantStrip::Read QuantStrip::evaluate(const QuantJob &job, bool ready) const {
  Read r;
  const uint32_t row_bytes = job.f32 ? 64 : 32;
  const uint32_t beats = row_bytes > shape_->bus_bytes ? row_bytes / shape_->bus_bytes : 1;
  const bool beyond_right = half_ && tiles_ == 1;
  const bool beyond_below = row_ >= 16 && rows_ <= 16;
  r.beat_last = row_ >= rows_ || beyond_right || beat_ == beats - 1;
  r.rows_end = r.beat_last && (row_ & 15) == 15 && half_ == job.pair;
  r.tile_last = tiles_ <= (job.pair ? 2u : 1u);
  r.chunk_done = r.tile_last || offset_ + (row_bytes << job.pair) >= shape_->segment_bytes;
  // Until the last tile of its chunk the upper one stays in front of the lower one.
  const bool above_kept = row_ >= 16 && !r.chunk_done;
  r.issue = (beyond_below || full_ > (above_kept ? 1u : 0u)) && (!b_valid_ || !c_valid_ || ready);
  r.chunk_out = r.issue && r.rows_end && r.chunk_done && !beyond_below;
  const bool strip_last = rows_ <= (job.pair ? 32u : 16u);
  r.mark.last = r.tile_last && strip_last && r.rows_end && (row_ >= 16) == job.pair;
  r.mark.blank = job.pair && (beyond_right || beyond_below);
  return r;
}

void QuantStrip::advance(const QuantJob &job, const Read &r) {
  if (!r.beat_last) {
    beat_++;
    return;
  }
  const bool row_end = half_ == job.pair, tile_end = r.rows_end && (row_ >= 16) == job.pair;
  beat_ = 0;
  half_ = job.pair && !half_;
  if (row_end) row_++;
  if (!tile_end) return;
  row_ = 0;
  offset_ = r.chunk_done ? 0 : offset_ + ((job.f32 ? 64u : 32u) << job.pair);
  tiles_ = r.tile_last ? job.tiles : tiles_ - (job.pair ? 2 : 1);
  if (r.tile_last) rows_ -= job.pair ? 32 : 16;
}

bool QuantStrip::step(const QuantJob &job, bool beat, bool row_ready) {
  const Read r = evaluate(job, row_ready);
  const bool c_ready = !c_valid_ || row_ready;
  c_valid_ = (b_valid_ && c_ready && b_finish_) || (c_valid_ && !row_ready);
  if (b_valid_ && c_ready && b_finish_) c_ = b_;
  b_valid_ = r.issue || (b_valid_ && !c_ready);
  if (r.issue) {
    b_ = r.mark;
    b_finish_ = r.beat_last;
    advance(job, r);
  }
  full_ -= r.chunk_out;
  if (beat && arrival_.step(job)) full_++;
  return r.chunk_out;
}

void QuantTranspose::reset() {
  *this = {};
}

void QuantTranspose::write(bool pair, const QuantMark &in) {
  // The first row's right half, and the first row of the lower ones.
  if (w_line_ == 1) right_[w_tile_] = in.blank;
  if (w_line_ == 32) lower_[w_tile_] = in.blank;
  s_last_ = in.last;
  s_tile_ = w_tile_;
  s_finish_ = is_last(pair, w_line_);
  w_line_ = s_finish_ ? 0 : w_line_ + (pair ? 1 : 2);
  w_tile_ = w_tile_ != s_finish_;
}

void QuantTranspose::read(bool pair, bool finish) {
  b_.last = finish && last_[r_tile_];
  b_.blank = (r_line_ >= 32 && right_[r_tile_]) || ((r_line_ & 1) && lower_[r_tile_]);
  if (finish) full_[r_tile_] = false;
  r_line_ = finish ? 0 : r_line_ + (pair ? 1 : 2);
  r_tile_ = r_tile_ != finish;
}

void QuantTranspose::step(bool pair, bool take, const QuantMark &in, bool out_ready) {
  const bool issue = r_issue(out_ready), finish = r_finish(pair, out_ready);
  const bool c_ready = !c_valid_ || out_ready, finished = s_finish_;
  if (b_valid_ && c_ready) c_ = b_;
  c_valid_ = b_valid_ || (c_valid_ && !out_ready);
  b_valid_ = issue || (b_valid_ && !c_ready);
  const bool done_tile = s_tile_, done_last = s_last_;
  if (issue) read(pair, finish);
  s_finish_ = false;
  if (take) write(pair, in);
  if (finished) {
    full_[done_tile] = true;
    last_[done_tile] = done_last;
  }
}

}  // namespace ufp4::timing
