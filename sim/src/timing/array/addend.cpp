// SPDX-License-Identifier: Apache-2.0
#include "timing/array/addend.h"

namespace ufp4::timing {
void Addend::reset() {
  active_ = req_valid_ = false;
  beat_ = 0;
  notes_.clear();
  width_.reset();
}

void Addend::start(const ufp4_gemm_descriptor_t &desc) {
  walk_.start(desc.m, desc.n);
  has_sums_ = desc.d_mode & UFP4_D_MODE_SUMS;
  has_c_ = desc.d_mode & UFP4_D_MODE_C;
  active_ = has_sums_ || has_c_;
  stream_ = has_sums_ ? kSums : kC;
  row_ = 0;
  page_mask_ = page_mask(desc.sums_addr, desc.sums_stride_bytes, 8 * shape_->tile_n) |
               page_mask(desc.c_addr, desc.c_stride_bytes, 4 * shape_->tile_n);
  if (!active_) page_mask_ = 0;
  const uint64_t addr[2] = {desc.sums_addr, desc.c_addr};
  for (uint32_t s = 0; s < 2; s++) {
    addr_[s] = tile_addr_[s] = band_addr_[s] = addr[s];
    room_[s] = shape_->addend_beats;
    here_[s] = 0;
  }
}

void Addend::next_row(uint64_t stride) {
  const uint64_t element_bytes = stream_ == kSums ? 8 : 4;
  addr_[stream_] = addr_[stream_] + stride;
  if (row_ != walk_.rows() - 1) return;
  if (walk_.last_col()) {
    band_addr_[stream_] = band_addr_[stream_] + stride * shape_->tile_m;
    tile_addr_[stream_] = band_addr_[stream_];
  } else {
    tile_addr_[stream_] = tile_addr_[stream_] + shape_->tile_n * element_bytes;
  }
  addr_[stream_] = tile_addr_[stream_];
}

void Addend::issue(const ufp4_gemm_descriptor_t &desc, uint32_t beats) {
  room_[stream_] -= beats;
  req_address_ = addr_[stream_];
  req_beats_ = beats;
  notes_.push({stream_, beats});
  next_row(stream_ == kSums ? desc.sums_stride_bytes : desc.c_stride_bytes);
  const bool row_done = stream_ == (has_c_ ? kC : kSums);
  if (has_sums_ && has_c_) stream_ ^= 1;
  if (!row_done) return;
  if (row_ != walk_.rows() - 1) {
    row_++;
    return;
  }
  row_ = 0;
  active_ = !walk_.last();
  walk_.next();
}

}  // namespace ufp4::timing
