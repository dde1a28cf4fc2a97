// SPDX-License-Identifier: Apache-2.0
#include "timing/quant/quant_strip.h"

namespace ufp4::timing {

void QuantStrip::reset() {
  arrival_.reset();
  full_ = row_ = 0;
  b_valid_ = c_valid_ = false;
}

void QuantStrip::start(const QuantJob &job) {
  arrival_.start(job);
  full_ = offset_ = row_ = beat_ = strips_ = 0;
  half_ = false;
  tiles_ = job.tiles;
  rows_ = job.rows;
}

bool QuantStrip::here(const QuantJob &job) const {
  if (row_ >= rows_ || (half_ && tiles_ == 1)) return false;
  const uint32_t first = beat_ * shape_->bus_bytes / (job.f32 ? 4 : 2);
  return tiles_ != (half_ ? 2u : 1u) || first <= (job.cols - 1) % 16;
}

void QuantStrip::advance(const QuantJob &job, const Read &r) {
  if (!r.beat_last) {
    beat_++;
    return;
  }
  const bool row_end = half_ == job.pair, tile_end = r.rows_end && (row_ >= 16) == job.pair;
  beat_ = 0;
  half_ = job.pair && !half_;
  if (row_end) row_++;
  if (!tile_end) return;
  row_ = 0;
  offset_ = r.chunk_done ? 0 : offset_ + ((job.f32 ? 64u : 32u) << job.side);
  tiles_ = r.tile_last ? job.tiles : tiles_ - (1u << job.side);
  if (!r.tile_last) return;
  const uint32_t strip = job.pair ? kStrips : kStrip;
  rows_ -= rows_ < strip ? rows_ : strip;
  strips_ = (strips_ + 1) % kStripCount;
  strip_ended_ = true;
}

void QuantTranspose::reset() {
  *this = {};
}

}  // namespace ufp4::timing
