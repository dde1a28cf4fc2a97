// SPDX-License-Identifier: Apache-2.0
// A copy's block pipeline: mirrors ufp4_quant_block, and what ufp4_quant_copy keeps of it.
#ifndef UFP4_TIMING_QUANT_BLOCK_H
#define UFP4_TIMING_QUANT_BLOCK_H

#include <cstdint>

#include "timing/pipeline.h"
#include "timing/quant/quant_strip.h"
#include "timing/shape.h"

namespace ufp4::timing {

class QuantBlock {
 public:
  explicit QuantBlock(const Shape &shape)
      : stages_(shape.mixed != 0 ? kQuantBlockStagesMixed : kQuantBlockStages) {}
  bool out_valid() const {
    return valid_ >> stages_ & 1;
  }
  QuantMark out() const {
    return {(last_ >> stages_ & 1) != 0, (blank_ >> stages_ & 1) != 0};
  }
  /** Returns whether the pipeline advances. @p out_ready: its output is accepted. */
  bool ready(bool out_ready) const {
    return !out_valid() || out_ready;
  }
  /** Returns whether AMAX has seen the last block. */
  bool amax_done() const {
    return amax_done_;
  }
  /** Returns amax_done() a cycle later, because several lanes need a cycle to find the largest
   * number. */
  bool amax_all_done() const {
    return amax_all_done_;
  }
  void reset() {
    valid_ = 0;
  }
  void start() {
    amax_done_ = amax_all_done_ = false;
  }
  void step(const QuantJob &job, bool in_valid, const QuantMark &in, bool out_ready);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(valid_);
    v.exact(last_ & valid_);
    v.exact(blank_ & valid_);
    v.exact(second_ | amax_done_ << 1 | amax_all_done_ << 2);
  }

 private:
  static constexpr uint32_t kAmaxStage = kQuantBlockAmaxStage;

  uint32_t stages_;
  uint32_t valid_ = 0, last_ = 0, blank_ = 0;  // by stage
  bool second_ = false, amax_done_ = false, amax_all_done_ = false;
};

// Inline, because these functions are called in every cycle.

inline void QuantBlock::step(const QuantJob &job, bool in_valid, const QuantMark &in,
                             bool out_ready) {
  amax_all_done_ = amax_done_;
  if (job.amax && (valid_ >> kAmaxStage & 1) && (last_ >> kAmaxStage & 1)) amax_done_ = true;
  if (!ready(out_ready)) return;
  // The first half of a 32-block waits in stage 1 for the second half.
  const bool first = job.pair && (valid_ & 2) && !second_, hold = first && !in_valid;
  const QuantMark enters = hold ? QuantMark{(last_ & 2) != 0, (blank_ & 2) != 0} : in;
  valid_ = (valid_ << 1 & ~(hold ? 4u : 0u)) | (in_valid || hold ? 2u : 0u);
  if (job.amax) valid_ &= ~(1u << (kAmaxStage + 1));
  valid_ &= (2u << stages_) - 1;
  last_ = last_ << 1 | (enters.last ? 2u : 0u);
  blank_ = blank_ << 1 | (enters.blank ? 2u : 0u);
  second_ = first && in_valid;
}

}  // namespace ufp4::timing

#endif
