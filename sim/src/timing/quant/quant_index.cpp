// SPDX-License-Identifier: Apache-2.0
#include "timing/quant/quant_index.h"

namespace ufp4::timing {

void QuantIndex::start(const QuantJob &job, uint32_t copy, uint32_t tiles, bool halves,
                       uint32_t page_mask) {
  const uint32_t side = 1u << job.side, stride = job.stride_blocks[copy];
  pair_ = job.pair;
  halves_ = halves;
  lower_ = half_ = false;
  tiles_ = tiles;
  tile_ = 0;
  page_mask_ = page_mask;
  strip_base_ = 0;
  steps_ = copy == 0 ? QuantSteps{stride, side, stride << job.pair}
                     : QuantSteps{stride, stride << job.pair, 1u << job.pair};
}

void QuantIndex::step() {
  half_ = halves_ && pair_ && !half_;
  if (half_) return;
  lower_ = pair_ && !lower_;
  if (lower_ || ++tile_ != tiles_) return;
  tile_ = 0;
  strip_base_ += steps_.strip;
}

}  // namespace ufp4::timing
