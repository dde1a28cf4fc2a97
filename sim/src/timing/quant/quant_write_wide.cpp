// SPDX-License-Identifier: Apache-2.0
#include "timing/quant/quant_write_wide.h"

namespace ufp4::timing {

void QuantWriteWide::reset() {
  for (uint32_t c = 0; c < 2; c++) in_count_[c] = ask_[c] = filled_[c] = waiting_[c] = 0;
  first_ = beat_ = 0;
  notes_.clear();
  busy_ = copy_ = scales_ = dat_valid_ = false;
}

void QuantWriteWide::start(const QuantJob &job) {
  const uint32_t side = 1u << job.side, groups = (job.tiles + side - 1) >> job.side;
  pair_ = job.pair;
  group_units_ = side;
  last_units_ = job.tiles - (groups - 1) * side;
  groups_ = groups << job.pair;
  done_ = 0;
  const uint32_t tiles[2] = {groups, job.pair ? groups : job.tiles};
  for (uint32_t c = 0; c < 2; c++) {
    const bool joined = c == 0 || job.pair;
    const uint32_t bytes = UFP4_PANEL_CODE_BYTES, units = joined ? side : 1;
    const uint64_t stride = uint64_t{job.stride_blocks[c]} * bytes;
    in_count_[c] = ask_[c] = 0;
    left_[c] = groups_;
    first_unit_[c] = static_cast<uint32_t>(job.codes_addr[c] / bytes % kPageUnits);
    codes_addr_[c] = job.codes_addr[c];
    scales_addr_[c] = job.scales_addr[c];
    index_[c].start(job, c, tiles[c], false,
                    page_mask(job.codes_addr[c], stride, units * bytes) / bytes);
  }
}

// Advances to the next group, because the present one has been requested. @return whether it ends
// a strip of the row copy.
bool QuantWriteWide::asked() {
  const uint32_t c = copy_;
  if (last_[c] >> ask_[c] & 1) done_ |= 1u << c;
  busy_ = false;
  first_ = 0;
  ask_[c] = (ask_[c] + 1) % kSlots;
  waiting_[c]--;
  const bool strip_end = left_[c] == 1;
  left_[c] = strip_end ? groups_ : left_[c] - 1;
  return c == 0 && strip_end;
}

}  // namespace ufp4::timing
