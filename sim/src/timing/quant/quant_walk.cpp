// SPDX-License-Identifier: Apache-2.0
#include "timing/quant/quant_walk.h"

namespace ufp4::timing {

void QuantWalk::start(const QuantJob &job) {
  active_ = true;
  lower_ = false;
  pair_ = job.pair;
  rows_ = job.rows;
  beats_ = job.row_beats;
  row_ = 0;
}

void QuantWalk::step(const QuantJob &job, bool stop) {
  if (!row_last()) {
    row_++;
    return;
  }
  row_ = 0;
  if (below()) {
    lower_ = true;
    return;
  }
  lower_ = false;
  if (!chunk_last()) {
    beats_ -= segment_beats_;
    return;
  }
  beats_ = job.row_beats;
  const uint32_t strip = pair_ ? kStrips : kStrip;
  active_ = rows_ > strip && !stop;
  rows_ -= rows_ > strip ? strip : rows_;
}

void QuantLoad::start(const QuantJob &job) {
  walk_.start(job);
  places_ = shape_->segments;
  strips_ = 0;
  page_mask_ = page_mask(job.addr, job.stride_bytes, shape_->segment_bytes);
  addr_ = chunk_addr_ = strip_addr_ = job.addr;
}

}  // namespace ufp4::timing
