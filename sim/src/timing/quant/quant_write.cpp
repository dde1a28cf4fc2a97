// SPDX-License-Identifier: Apache-2.0
#include "timing/quant/quant_write.h"

namespace ufp4::timing {

void QuantWrite::reset() {
  for (uint32_t c = 0; c < 2; c++) in_count_[c] = out_unit_[c] = full_[c] = 0;
  busy_ = copy_ = scales_ = asked_ = all_ = dat_valid_ = false;
}

void QuantWrite::start(const QuantJob &job) {
  for (uint32_t c = 0; c < 2; c++) {
    in_count_[c] = out_unit_[c] = 0;
    codes_addr_[c] = job.codes_addr[c];
    scales_addr_[c] = job.scales_addr[c];
    index_[c].start(job, c, (job.tiles + job.pair) >> job.pair, true, 0);
  }
  done_ = 0;
  units_ = units_of(job);
}

// Releases the present unit, which has been handed over. @return whether it ends a strip of the row
// copy.
bool QuantWrite::release(const QuantJob &job) {
  const uint32_t unit = out_unit_[copy_];
  busy_ = false;
  if (last_[copy_] >> unit & 1) done_ |= 1u << copy_;
  full_[copy_] &= ~(1u << unit);
  out_unit_[copy_] = (unit + 1) & 3;
  index_[copy_].step();
  if (copy_) return false;
  const bool strip_end = units_ == 1;
  units_ = strip_end ? units_of(job) : units_ - 1;
  return strip_end;
}

}  // namespace ufp4::timing
