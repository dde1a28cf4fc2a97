// SPDX-License-Identifier: Apache-2.0
// QUANT's strip buffer, rows of tiles out of it: mirrors ufp4_quant_strip. Transpose mirrors
// ufp4_quant_transpose.
#ifndef UFP4_TIMING_QUANT_STRIP_H
#define UFP4_TIMING_QUANT_STRIP_H

#include <cstdint>

#include "timing/quant_walk.h"

namespace ufp4::timing {

/** What goes with a row, a column or a block. */
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
  void reset();
  void start(const QuantJob &job);
  /** @p beat: one has come. @return whether a chunk's place is free again. */
  bool step(const QuantJob &job, bool beat, bool row_ready);

  template <typename Visitor>
  void visit(Visitor &v) {
    arrival_.visit(v);
    v.exact(full_ | offset_ << 8);
    v.exact(row_ | beat_ << 8 | half_ << 16);
    v.exact(tiles_);
    v.exact(rows_);
    v.exact(b_valid_ | b_finish_ << 1 | b_.last << 2 | b_.blank << 3 | c_valid_ << 4 |
            c_.last << 5 | c_.blank << 6);
  }

 private:
  /** What this cycle reads. */
  struct Read {
    bool issue, beat_last, rows_end, chunk_done, chunk_out, tile_last;
    QuantMark mark;
  };
  Read evaluate(const QuantJob &job, bool ready) const;
  void advance(const QuantJob &job, const Read &read);

  const Shape *shape_;
  QuantArrival arrival_;
  uint32_t full_ = 0, offset_ = 0, row_ = 0, beat_ = 0, tiles_ = 0, rows_ = 0;
  bool half_ = false, b_valid_ = false, b_finish_ = false, c_valid_ = false;
  QuantMark b_, c_;
};

class QuantTranspose {
 public:
  /** @p out_ready: the column that stands at the output is taken. */
  bool in_ready(bool pair, bool out_ready) const {
    return !full_[w_tile_] || (r_tile_ == w_tile_ && r_finish(pair, out_ready));
  }
  bool out_valid() const {
    return c_valid_;
  }
  const QuantMark &out() const {
    return c_;
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
  bool r_issue(bool out_ready) const {
    return full_[r_tile_] && b_ready(out_ready);
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

}  // namespace ufp4::timing

#endif
