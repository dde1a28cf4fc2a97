// SPDX-License-Identifier: Apache-2.0
// The narrow engine, which processes two numbers per cycle. QuantPairs mirrors ufp4_quant_pairs,
// QuantSerial ufp4_quant_serial and ufp4_quant_serial_block.
#ifndef UFP4_TIMING_QUANT_SERIAL_H
#define UFP4_TIMING_QUANT_SERIAL_H

#include <cstdint>

#include "timing/pipeline.h"
#include "timing/quant/quant_strip.h"

namespace ufp4::timing {

/** The mark that accompanies a pair of numbers. */
struct PairMark {
  QuantMark mark;
  bool copy = false;  // 0 row, 1 column
};

class QuantPairs {
 public:
  explicit QuantPairs(const Shape &shape) : shape_(&shape), arrival_(shape) {}

  bool valid() const {
    return c_valid_;
  }
  const PairMark &out() const {
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
  bool step(const QuantJob &job, bool beat, bool ready, uint32_t rest);

  template <typename Visitor>
  void visit(Visitor &v) {
    arrival_.visit(v);
    v.exact(full_ | offset_ << 8 | run_ << 16 | copy_ << 17 | owe_ << 18);
    v.exact(at_);
    v.exact(tiles_);
    v.place(rows_, kStrips);
    v.exact(b_valid_ | b_.mark.last << 1 | b_.mark.blank << 2 | b_.copy << 3 | c_valid_ << 4 |
            c_.mark.last << 5 | c_.mark.blank << 6 | c_.copy << 7);
    v.count(written_);
    v.count(read_);
  }
  void add(Accesses *all) const {
    all->reads[UFP4_SRAM_STRIPS] += read_;
    all->writes[UFP4_SRAM_STRIPS] += written_;
  }

 private:
  bool lower_here(const QuantJob &job) const {
    return job.pair && rows_ > 16;
  }
  bool line_end(const QuantJob &job) const {
    return (at_ >> 4 & 15) == 15 && (!job.pair || (at_ >> 8 & 1 && at_ >> 3 & 1));
  }
  bool strip_last(const QuantJob &job, uint32_t rest) const {
    return rows_ <= (job.pair ? 32u : 16u) || rest == (strips_ + 1) % kStripCount;
  }
  PairMark mark(const QuantJob &job, uint32_t rest) const;
  /** Returns the number of beats from which the present pair is read. */
  uint32_t reads(const QuantJob &job) const;
  bool advance(const QuantJob &job, uint32_t rest);
  void next_tile(const QuantJob &job, bool chunk_done, uint32_t rest);

  const Shape *shape_;
  QuantArrival arrival_;
  bool strip_ended_ = false;
  bool run_ = false, copy_ = false, owe_ = false, b_valid_ = false, c_valid_ = false;
  uint32_t full_ = 0, offset_ = 0, tiles_ = 0, rows_ = 0, strips_ = 0;
  uint32_t at_ = 0;  // {upper, line, half, k}
  PairMark b_, c_;
  uint64_t written_ = 0, read_ = 0;  // beats of its two banks
};

class QuantSerial {
 public:
  explicit QuantSerial(const Shape &shape)
      : out_(shape.mixed != 0 ? kQuantSerialStagesMixed : kQuantSerialStages) {}

  bool in_ready() const {
    return !full_[w_place_];
  }
  /** Returns whether a pair is read in this cycle. */
  bool issues(bool out_ready) const {
    return full_[r_place_] && (!out_valid() || out_ready);
  }
  bool out_valid() const {
    return ends_ >> out_ & 1;
  }
  PairMark out() const {
    return {{(last_ >> out_ & 1) != 0, (blank_ >> out_ & 1) != 0}, (copy_ >> out_ & 1) != 0};
  }
  /** Returns a bit for each copy: whether AMAX has seen its last block. */
  uint32_t amax_done() const {
    return amax_done_;
  }
  void reset();
  void start();
  void step(const QuantJob &job, bool in_valid, const PairMark &in, bool out_ready);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(w_k_ | r_k_ << 3 | w_half_ << 6 | r_half_ << 7 | w_place_ << 8 | r_place_ << 9 |
            full_[0] << 10 | full_[1] << 11 | first_blank_ << 12 | amax_done_ << 13);
    for (Block &b : block_) v.exact(b.copy | b.last << 1 | b.blank[0] << 2 | b.blank[1] << 3);
    v.exact(ends_);
    v.exact(copy_ & ends_);
    v.exact(last_ & ends_);
    v.exact(blank_ & ends_);
  }

 private:
  // The stage (ufp4_quant_serial_block) in which the largest number is known.
  static constexpr uint32_t kScale = kQuantSerialScaleStage;
  struct Block {
    bool copy, last, blank[2];
  };
  explicit QuantSerial(uint32_t out) : out_(out) {}
  void take(const QuantJob &job, const PairMark &in);
  void shift(const QuantJob &job, bool issue);

  uint32_t out_;  // stage in which codes and scale are complete
  uint32_t w_k_ = 0, r_k_ = 0, amax_done_ = 0;
  bool w_half_ = false, r_half_ = false, w_place_ = false, r_place_ = false, first_blank_ = false;
  bool full_[2] = {};
  Block block_[2] = {};
  uint64_t ends_ = 0, copy_ = 0, last_ = 0,
           blank_ = 0;  // by stage: a block's last pair, and its marks
};

}  // namespace ufp4::timing

#endif
