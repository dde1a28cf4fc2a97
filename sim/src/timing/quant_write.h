// SPDX-License-Identifier: Apache-2.0
// QUANT's blocks to panel units, and those to memory: mirrors ufp4_quant_write. QuantProgress
// mirrors ufp4_quant_progress. Where a unit goes does not matter: it never crosses 4 KiB.
#ifndef UFP4_TIMING_QUANT_WRITE_H
#define UFP4_TIMING_QUANT_WRITE_H

#include <cstdint>

#include "timing/masters.h"
#include "timing/quant_strip.h"

namespace ufp4::timing {

class QuantWrite {
 public:
  explicit QuantWrite(const Shape &shape)
      : code_beats_(UFP4_PANEL_CODE_BYTES / shape.bus_bytes),
        scale_beats_(shape.bus_bytes > UFP4_PANEL_SCALE_BYTES
                         ? 1
                         : UFP4_PANEL_SCALE_BYTES / shape.bus_bytes) {}

  bool in_ready(bool pair, uint32_t copy) const {
    return !(full_[copy] >> unit_of(pair, in_count_[copy]) & 1);
  }
  bool valid() const {
    return busy_ && !asked_ && !step_over();
  }
  Request request() const {
    return {valid(), 0, beats()};
  }
  bool dat_valid() const {
    return dat_valid_;
  }
  /** By copy: the last unit has been handed over. */
  uint32_t done() const {
    return dat_valid_ ? 0 : done_;
  }
  void reset();
  void start(const QuantJob &job);
  /** @p take: by copy, a block comes. @return whether a strip of the row copy has been handed over.
   */
  bool step(const QuantJob &job, const bool *take, const QuantMark *in, bool req_ready,
            bool dat_ready);

  template <typename Visitor>
  void visit(Visitor &v) {
    for (uint32_t c = 0; c < 2; c++) {
      v.exact(in_count_[c] | out_unit_[c] << 8 | full_[c] << 12 | (last_[c] & full_[c]) << 16 |
              (blank_[c] & full_[c]) << 20);
    }
    v.exact(units_);
    v.exact(busy_ | copy_ << 1 | scales_ << 2 | asked_ << 3 | all_ << 4 | dat_valid_ << 5 |
            done_ << 6 | beat_ << 8);
  }

 private:
  static uint32_t unit_of(bool pair, uint32_t count) {
    return pair ? (count >> 5 & 1) << 1 | (count & 1) : count >> 4 & 3;
  }
  static uint32_t block_of(bool pair, uint32_t count) {
    return (pair ? count >> 1 : count) & 15;
  }
  static uint32_t units_of(const QuantJob &job) {
    return job.pair ? (job.tiles + 1) / 2 * 4 : job.tiles;
  }
  uint32_t beats() const {
    return scales_ ? scale_beats_ : code_beats_;
  }
  bool step_over() const {
    return busy_ && (blank_[copy_] >> out_unit_[copy_] & 1);
  }
  void collect(bool pair, uint32_t copy, const QuantMark &in);
  bool release(const QuantJob &job);

  uint32_t code_beats_, scale_beats_;
  uint32_t in_count_[2] = {}, out_unit_[2] = {}, full_[2] = {}, last_[2] = {}, blank_[2] = {};
  uint32_t units_ = 0, done_ = 0, beat_ = 0;
  bool busy_ = false, copy_ = false, scales_ = false, asked_ = false, all_ = false,
       dat_valid_ = false;
};

class QuantProgress {
 public:
  uint32_t panels() const {
    return panels_;
  }
  void reset() {
    *this = {};
  }
  void step(bool pair, bool start, bool request, bool answer, bool strip_end);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(under_way_);
    v.exact(left_);
    v.exact(handed_);
    v.exact(watched_);
    v.exact(panels_);
  }

 private:
  uint32_t under_way_ = 0, left_ = 0, handed_ = 0, watched_ = 0, panels_ = 0;
};

}  // namespace ufp4::timing

#endif
