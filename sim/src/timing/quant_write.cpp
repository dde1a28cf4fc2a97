// SPDX-License-Identifier: Apache-2.0
#include "timing/quant_write.h"

namespace ufp4::timing {

void QuantWrite::reset() {
  for (uint32_t c = 0; c < 2; c++) in_count_[c] = out_unit_[c] = full_[c] = 0;
  busy_ = copy_ = scales_ = asked_ = all_ = dat_valid_ = false;
}

void QuantWrite::start(const QuantJob &job) {
  for (uint32_t c = 0; c < 2; c++) in_count_[c] = out_unit_[c] = 0;
  done_ = 0;
  units_ = units_of(job);
}

void QuantWrite::collect(bool pair, uint32_t copy, const QuantMark &in) {
  const uint32_t count = in_count_[copy], unit = unit_of(pair, count);
  in_count_[copy] = (count + 1) & 63;
  if (block_of(pair, count) != 15) return;
  const uint32_t bit = 1u << unit;
  full_[copy] |= bit;
  last_[copy] = (last_[copy] & ~bit) | (in.last ? bit : 0);
  blank_[copy] = (blank_[copy] & ~bit) | (in.blank ? bit : 0);
}

// The unit at hand has been handed over. @return whether a strip has.
bool QuantWrite::release(const QuantJob &job) {
  const uint32_t unit = out_unit_[copy_];
  busy_ = false;
  if (last_[copy_] >> unit & 1) done_ |= 1u << copy_;
  full_[copy_] &= ~(1u << unit);
  out_unit_[copy_] = (unit + 1) & 3;
  if (copy_) return false;
  const bool strip_end = units_ == 1;
  units_ = strip_end ? units_of(job) : units_ - 1;
  return strip_end;
}

bool QuantWrite::step(const QuantJob &job, const bool *take, const QuantMark *in, bool req_ready,
                      bool dat_ready) {
  const bool over = step_over();
  const bool load = busy_ && !over && !all_ && (!dat_valid_ || dat_ready);
  const bool loaded = all_ || (load && beat_ + 1 == beats());
  const bool phase_end = busy_ && loaded && (asked_ || req_ready);
  const bool releases = over || (phase_end && scales_), was_busy = busy_;
  const uint32_t full[2] = {full_[0], full_[1]};
  asked_ = asked_ || req_ready;
  beat_ += load;
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
    // The other copy first, so that neither waits for more than one unit.
    busy_ = full[0] != 0 || full[1] != 0;
    if (full[!copy_] != 0) copy_ = !copy_;
  }
  return strip_end;
}

void QuantProgress::step(bool pair, bool start, bool request, bool answer, bool strip_end) {
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
