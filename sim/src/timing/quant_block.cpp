// SPDX-License-Identifier: Apache-2.0
#include "timing/quant_block.h"

namespace ufp4::timing {

void QuantBlock::step(const QuantJob &job, bool in_valid, const QuantMark &in, bool out_ready) {
  if (job.amax && (valid_ >> kAmaxStage & 1) && (last_ >> kAmaxStage & 1)) amax_done_ = true;
  if (!ready(out_ready)) return;
  // The first half of a 32-block waits in stage 1 for the second.
  const bool first = job.pair && (valid_ & 2) && !second_, hold = first && !in_valid;
  const QuantMark enters = hold ? QuantMark{(last_ & 2) != 0, (blank_ & 2) != 0} : in;
  valid_ = (valid_ << 1 & ~(hold ? 4u : 0u)) | (in_valid || hold ? 2u : 0u);
  if (job.amax) valid_ &= ~(1u << (kAmaxStage + 1));
  valid_ &= (2u << kStages) - 1;
  last_ = last_ << 1 | (enters.last ? 2u : 0u);
  blank_ = blank_ << 1 | (enters.blank ? 2u : 0u);
  second_ = first && in_valid;
}

}  // namespace ufp4::timing
