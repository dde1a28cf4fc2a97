// SPDX-License-Identifier: Apache-2.0
#include "timing/array/load.h"

namespace ufp4::timing {
Request LoadRequest::request(const ufp4_gemm_descriptor_t &desc) const {
  const uint64_t position = (side_ ? at_b_ : at_a_) + k_;
  const uint32_t bytes = blocks() * (codes_ ? UFP4_PANEL_CODE_BYTES : UFP4_PANEL_SCALE_BYTES);
  const uint64_t codes = side_ ? desc.b_codes_addr : desc.a_codes_addr;
  const uint64_t scales = side_ ? desc.b_scales_addr : desc.a_scales_addr;
  const uint64_t addr = codes_ ? codes + (position << 7) : scales + (position << 4);
  return {true, addr, (bytes + shape_->load_bytes - 1) / shape_->load_bytes};
}

uint32_t LoadRequest::position_mask(const ufp4_gemm_descriptor_t &desc) const {
  const uint64_t strides = desc.a_stride_blocks | desc.b_stride_blocks;
  const uint64_t codes = desc.a_codes_addr | desc.b_codes_addr;
  const uint64_t scales = desc.a_scales_addr | desc.b_scales_addr;
  return page_mask(scales, strides << 4, shape_->chunk << 4) >> 4 |
         page_mask(codes, strides << 7, shape_->chunk << 7) >> 7;
}

void LoadRequest::start(const ufp4_gemm_descriptor_t &desc) {
  walk_.start(desc.m, desc.n);
  active_ = true;
  chunk_ = slot_ = side_ = codes_ = false;
  free_ = 2;
  tiles_ = group_ = 0;
  k_ = 0;
  k_left_ = (desc.k + 15) >> 4;
  position_mask_ = position_mask(desc);
  requests_ = 0;
  desc_ = desc;
  tile_a_ = tile_b_ = at_a_ = at_b_ = 0;
  tile_group_a_ = tile_group_b_ = 0;
}

void LoadRequest::next_group(const ufp4_gemm_descriptor_t &desc) {
  if (!side_ && group_ == 0) {
    side_ = true;
  } else if (side_ && last_group_b()) {
    side_ = false;
    group_ = 1;
    at_a_ += desc.a_stride_blocks;
  } else {
    group_++;
    (side_ ? at_b_ : at_a_) += side_ ? desc.b_stride_blocks : desc.a_stride_blocks;
  }
}

void LoadRequest::next_chunk(const ufp4_gemm_descriptor_t &desc, bool stop) {
  chunk_ = false;
  slot_ = !slot_;
  side_ = false;
  group_ = 0;
  if (k_left_ <= shape_->chunk) {
    next_tile(desc, stop);
  } else {
    k_ += blocks();
    k_left_ -= blocks();
  }
  at_a_ = tile_a_;
  at_b_ = tile_b_;
}

void LoadRequest::next_tile(const ufp4_gemm_descriptor_t &desc, bool stop) {
  tiles_ = (tiles_ + 1) & 7;
  active_ = !walk_.last() && !stop;
  k_ = 0;
  k_left_ = (desc.k + 15) >> 4;
  if (walk_.last_col()) {
    tile_a_ += uint64_t{desc.a_stride_blocks} * (shape_->tile_m / 16);
    tile_group_a_ += shape_->tile_m / 16;
    tile_b_ = tile_group_b_ = 0;
  } else {
    tile_b_ += uint64_t{desc.b_stride_blocks} * (shape_->tile_n / 16);
    tile_group_b_ += shape_->tile_n / 16;
  }
  walk_.next();
}

void LoadRequest::cuts(uint64_t requests, std::vector<uint64_t> *found) const {
  LoadRequest ahead = *this;
  for (uint64_t at = 0; at < requests && ahead.active_; at++) {
    const Request asked = ahead.request(desc_);
    const uint64_t bytes = uint64_t{asked.beats} * shape_->load_bytes;
    const uint64_t left = kPage - asked.address % kPage;
    if (left < bytes) found->push_back(at * kPage + left);
    ahead.pass(desc_, false);
  }
}

}  // namespace ufp4::timing
