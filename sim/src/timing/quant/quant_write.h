// SPDX-License-Identifier: Apache-2.0
// Collects QUANT's blocks into panel units and writes these to memory: mirrors ufp4_quant_write.
// QuantProgress mirrors ufp4_quant_progress. A unit never crosses 4 KiB, so its address matters
// only to a memory with banks, with which no cycle is skipped.
#ifndef UFP4_TIMING_QUANT_WRITE_H
#define UFP4_TIMING_QUANT_WRITE_H

#include <cstdint>

#include "timing/mem/masters.h"
#include "timing/quant/quant_index.h"
#include "timing/quant/quant_strip.h"

namespace ufp4::timing {

class QuantWrite {
 public:
  explicit QuantWrite(const Shape &shape)
      : bus_mask_(~uint64_t{shape.bus_bytes - 1}),
        code_beats_(UFP4_PANEL_CODE_BYTES / shape.bus_bytes),
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
    return {valid(), address() & bus_mask_, beats()};
  }
  bool dat_valid() const {
    return dat_valid_;
  }
  /** Returns a bit for each copy: whether its last unit has been handed over. */
  uint32_t done() const {
    return dat_valid_ ? 0 : done_;
  }
  void reset();
  void start(const QuantJob &job);
  /** Simulates a cycle. @p take: for each copy, a block arrives. @return whether a strip of the row
   * copy has been handed over. */
  bool step(const QuantJob &job, const bool *take, const QuantMark *in, bool req_ready,
            bool dat_ready);

  /** Returns whether the arriving block is the eighth of its half of a unit. */
  bool eighth(bool pair, uint32_t copy) const {
    return (block_of(pair, in_count_[copy]) & 7) == 7;
  }
  uint64_t loaded() const {
    return loaded_;
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.count(loaded_);
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
  uint64_t address() const {
    const uint64_t unit = index_[copy_].unit();
    return scales_ ? scales_addr_[copy_] + unit * UFP4_PANEL_SCALE_BYTES
                   : codes_addr_[copy_] + unit * UFP4_PANEL_CODE_BYTES;
  }
  bool step_over() const {
    return busy_ && (blank_[copy_] >> out_unit_[copy_] & 1);
  }
  void collect(bool pair, uint32_t copy, const QuantMark &in);
  bool release(const QuantJob &job);

  uint64_t bus_mask_;
  uint32_t code_beats_, scale_beats_;
  uint64_t codes_addr_[2] = {}, scales_addr_[2] = {};
  QuantIndex index_[2];
  uint32_t in_count_[2] = {}, out_unit_[2] = {}, full_[2] = {}, last_[2] = {}, blank_[2] = {};
  uint32_t units_ = 0, done_ = 0, beat_ = 0;
  bool busy_ = false, copy_ = false, scales_ = false, asked_ = false, all_ = false,
       dat_valid_ = false;
  uint64_t loaded_ = 0;  // beats of codes and scales
};

class QuantProgress {
 public:
  uint32_t panels() const {
    return panels_;
  }
  /** Returns whether nothing changes until a write is answered or the engine starts. */
  bool settled() const {
    return left_ == 0 && handed_ == watched_ && panels_ == watched_;
  }
  void reset() {
    *this = {};
  }
  void step(bool pair, bool start, bool request, bool answer, bool strip_end);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(under_way_);
    v.exact(left_);
    v.exact(handed_ - watched_);
    v.exact(watched_ - panels_);
    v.count(handed_);
    v.count(watched_);
    v.count(panels_);
  }

 private:
  uint32_t under_way_ = 0, left_ = 0, handed_ = 0, watched_ = 0, panels_ = 0;
};

// Inline, because these functions are called in every cycle.

inline void QuantWrite::collect(bool pair, uint32_t copy, const QuantMark &in) {
  const uint32_t count = in_count_[copy], unit = unit_of(pair, count);
  in_count_[copy] = (count + 1) & 63;
  if (block_of(pair, count) != 15) return;
  const uint32_t bit = 1u << unit;
  full_[copy] |= bit;
  last_[copy] = (last_[copy] & ~bit) | (in.last ? bit : 0);
  blank_[copy] = (blank_[copy] & ~bit) | (in.blank ? bit : 0);
}

inline bool QuantWrite::step(const QuantJob &job, const bool *take, const QuantMark *in,
                             bool req_ready, bool dat_ready) {
  const bool over = step_over();
  const bool load = busy_ && !over && !all_ && (!dat_valid_ || dat_ready);
  const bool loaded = all_ || (load && beat_ + 1 == beats());
  const bool phase_end = busy_ && loaded && (asked_ || req_ready);
  const bool releases = over || (phase_end && scales_), was_busy = busy_;
  const uint32_t full[2] = {full_[0], full_[1]};
  asked_ = asked_ || req_ready;
  beat_ += load;
  loaded_ += load;
  all_ = loaded;
  dat_valid_ = load || (dat_valid_ && !dat_ready);
  if (!was_busy || phase_end || over) {
    asked_ = all_ = false;
    beat_ = 0;
  }
  if (phase_end) scales_ = !scales_;
  const bool strip_end = releases && release(job);
  for (uint32_t c = 0; c < 2; c++) {
    if (take[c]) collect(job.pair, c, in[c]);
  }
  if (!was_busy) {
    // The other copy is served first, so that neither waits for more than one unit.
    busy_ = full[0] != 0 || full[1] != 0;
    if (full[!copy_] != 0) copy_ = !copy_;
  }
  return strip_end;
}

inline void QuantProgress::step(bool pair, bool start, bool request, bool answer, bool strip_end) {
  under_way_ += request;
  under_way_ -= answer;
  handed_ += strip_end ? 1u << pair : 0;
  if (answer && left_ != 0) left_--;
  if (left_ == 0) {
    panels_ = watched_;
    if (handed_ != watched_) {
      left_ = under_way_;
      watched_ = handed_;
    }
  }
  if (start) left_ = handed_ = watched_ = panels_ = 0;
}

}  // namespace ufp4::timing

#endif
