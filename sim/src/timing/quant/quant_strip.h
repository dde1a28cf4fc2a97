// SPDX-License-Identifier: Apache-2.0
// QUANT's strip buffer, from which rows of tiles are read: mirrors ufp4_quant_strip. Transpose
// mirrors ufp4_quant_transpose.
#ifndef UFP4_TIMING_QUANT_STRIP_H
#define UFP4_TIMING_QUANT_STRIP_H

#include <cstdint>

#include "timing/accesses.h"
#include "timing/quant/quant_walk.h"

namespace ufp4::timing {

/** The mark that accompanies a row, a column or a block. */
struct QuantMark {
  bool last = false, blank = false;
};

class QuantStrip {
 public:
  explicit QuantStrip(const Shape &shape) : shape_(&shape), arrival_(shape) {}

  bool row_valid() const {
    return c_valid_;
  }
  const QuantMark &row() const {
    return c_;
  }
  /** Returns how many strips the output, and the input, are behind @p asked strips. */
  uint32_t behind(uint32_t asked) const {
    return (asked - strips_) % kStripCount | (asked - arrival_.strips()) % kStripCount << 8;
  }
  /** Returns whether more beats will come. */
  bool arriving() const {
    return arrival_.active();
  }
  /** Returns whether the last cycle read the end of a strip, or of a pair of strips. */
  bool strip_ended() const {
    return strip_ended_;
  }
  void reset();
  void start(const QuantJob &job);
  /** Simulates a cycle. @p beat: a beat has arrived. @p rest: as in QuantArrival. @return whether a
   * chunk's place becomes free. */
  bool step(const QuantJob &job, bool beat, bool row_ready, uint32_t rest);

  template <typename Visitor>
  void visit(Visitor &v) {
    arrival_.visit(v);
    v.exact(full_ | offset_ << 8);
    v.exact(row_ | beat_ << 8 | half_ << 16);
    v.exact(tiles_);
    v.place(rows_, kStrips);
    v.exact(b_valid_ | b_finish_ << 1 | b_.last << 2 | b_.blank << 3 | c_valid_ << 4 |
            c_.last << 5 | c_.blank << 6);
    v.count(written_);
    v.count(read_);
  }
  void add(Accesses *all) const {
    all->reads[UFP4_SRAM_STRIPS] += read_;
    all->writes[UFP4_SRAM_STRIPS] += written_;
  }

 private:
  /** Returns whether the tensor has numbers in the present beat. */
  bool here(const QuantJob &job) const;
  /** The read of this cycle. */
  struct Read {
    bool issue, beat_last, rows_end, chunk_done, chunk_out, tile_last;
    QuantMark mark;
  };
  Read evaluate(const QuantJob &job, bool ready, uint32_t rest) const;
  void advance(const QuantJob &job, const Read &read);

  const Shape *shape_;
  QuantArrival arrival_;
  uint32_t full_ = 0, offset_ = 0, row_ = 0, beat_ = 0, tiles_ = 0, rows_ = 0, strips_ = 0;
  bool strip_ended_ = false;
  bool half_ = false, b_valid_ = false, b_finish_ = false, c_valid_ = false;
  QuantMark b_, c_;
  uint64_t written_ = 0, read_ = 0;  // beats of the buffer
};

class QuantTranspose {
 public:
  /** Returns whether a row is accepted. @p out_ready: the column at the output is accepted. */
  bool in_ready(bool pair, bool out_ready) const {
    return !full_[w_tile_] || (r_tile_ == w_tile_ && r_finish(pair, out_ready));
  }
  bool out_valid() const {
    return c_valid_;
  }
  const QuantMark &out() const {
    return c_;
  }
  /** Returns whether a column is read in this cycle. */
  bool r_issue(bool out_ready) const {
    return full_[r_tile_] && b_ready(out_ready);
  }
  void reset();
  void step(bool pair, bool take, const QuantMark &in, bool out_ready);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(w_line_ | r_line_ << 8 | w_tile_ << 16 | r_tile_ << 17 | s_finish_ << 18 |
            s_tile_ << 19 | s_last_ << 20 | full_[0] << 21 | full_[1] << 22);
    v.exact(last_[0] | last_[1] << 1 | right_[0] << 2 | right_[1] << 3 | lower_[0] << 4 |
            lower_[1] << 5 | b_valid_ << 6 | b_.last << 7 | b_.blank << 8 | c_valid_ << 9 |
            c_.last << 10 | c_.blank << 11);
  }

 private:
  bool b_ready(bool out_ready) const {
    return !b_valid_ || !c_valid_ || out_ready;
  }
  static bool is_last(bool pair, uint32_t line) {
    return pair ? line == 63 : (line >> 1 & 15) == 15;
  }
  bool r_finish(bool pair, bool out_ready) const {
    return r_issue(out_ready) && is_last(pair, r_line_);
  }
  void write(bool pair, const QuantMark &in);
  void read(bool pair, bool finish);

  uint32_t w_line_ = 0, r_line_ = 0;  // {upper, line, half}
  bool w_tile_ = false, r_tile_ = false;
  bool s_finish_ = false, s_tile_ = false, s_last_ = false;
  bool full_[2] = {}, last_[2] = {}, right_[2] = {}, lower_[2] = {};
  bool b_valid_ = false, c_valid_ = false;
  QuantMark b_, c_;
};

// Inline, because these functions are called in every cycle.

inline QuantStrip::Read QuantStrip::evaluate(const QuantJob &job, bool ready, uint32_t rest) const {
  Read r;
  const uint32_t row_bytes = job.f32 ? 64 : 32;
  const uint32_t beats = row_bytes > shape_->bus_bytes ? row_bytes / shape_->bus_bytes : 1;
  const bool beyond_right = half_ && tiles_ == 1;
  const bool beyond_below = row_ >= 16 && rows_ <= 16;
  r.beat_last = row_ >= rows_ || beyond_right || beat_ == beats - 1;
  r.rows_end = r.beat_last && (row_ & 15) == 15 && half_ == job.pair;
  r.tile_last = tiles_ <= 1u << job.side;
  r.chunk_done = r.tile_last || offset_ + (row_bytes << job.side) >= shape_->segment_bytes;
  // Until the last tile of its chunk the upper strip stays ahead of the lower one.
  const bool above_kept = row_ >= 16 && !r.chunk_done;
  r.issue = (beyond_below || full_ > (above_kept ? 1u : 0u)) && (!b_valid_ || !c_valid_ || ready);
  r.chunk_out = r.issue && r.rows_end && r.chunk_done && !beyond_below;
  const bool strip_last = rows_ <= (job.pair ? 32u : 16u) || rest == (strips_ + 1) % kStripCount;
  r.mark.last = r.tile_last && strip_last && r.rows_end && (row_ >= 16) == job.pair;
  r.mark.blank = job.pair && (beyond_right || beyond_below);
  return r;
}

inline bool QuantStrip::step(const QuantJob &job, bool beat, bool row_ready, uint32_t rest) {
  const Read r = evaluate(job, row_ready, rest);
  strip_ended_ = false;
  const bool c_ready = !c_valid_ || row_ready;
  c_valid_ = (b_valid_ && c_ready && b_finish_) || (c_valid_ && !row_ready);
  if (b_valid_ && c_ready && b_finish_) c_ = b_;
  b_valid_ = r.issue || (b_valid_ && !c_ready);
  written_ += beat && arrival_.active();
  if (r.issue) {
    read_ += here(job);
    b_ = r.mark;
    b_finish_ = r.beat_last;
    advance(job, r);
  }
  full_ -= r.chunk_out;
  if (beat && arrival_.step(job, rest)) full_++;
  return r.chunk_out;
}

inline void QuantTranspose::step(bool pair, bool take, const QuantMark &in, bool out_ready) {
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

inline void QuantTranspose::read(bool pair, bool finish) {
  b_.last = finish && last_[r_tile_];
  b_.blank = (r_line_ >= 32 && right_[r_tile_]) || ((r_line_ & 1) && lower_[r_tile_]);
  if (finish) full_[r_tile_] = false;
  r_line_ = finish ? 0 : r_line_ + (pair ? 1 : 2);
  r_tile_ = r_tile_ != finish;
}

inline void QuantTranspose::write(bool pair, const QuantMark &in) {
  // The right half of the first row, and the first of the lower rows.
  if (w_line_ == 1) right_[w_tile_] = in.blank;
  if (w_line_ == 32) lower_[w_tile_] = in.blank;
  s_last_ = in.last;
  s_tile_ = w_tile_;
  s_finish_ = is_last(pair, w_line_);
  w_line_ = s_finish_ ? 0 : w_line_ + (pair ? 1 : 2);
  w_tile_ = w_tile_ != s_finish_;
}

}  // namespace ufp4::timing

#endif
