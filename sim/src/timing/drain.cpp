// SPDX-License-Identifier: Apache-2.0
#include "timing/drain.h"

namespace ufp4::timing {
// slot_ goes on between jobs.
void Drain::reset() {
  active_ = req_valid_ = upper_row_ = upper_out_ = dat_valid_ = false;
  slot_ = valid_ = 0;
}

void Drain::start(const ufp4_gemm_descriptor_t &desc) {
  walk_.start(desc.m, desc.n);
  bf16_ = desc.d_dtype == UFP4_DTYPE_BF16;
  wide_ = desc.d_dtype == UFP4_DTYPE_I64;
  has_sums_ = desc.d_mode & UFP4_D_MODE_SUMS;
  has_c_ = desc.d_mode & UFP4_D_MODE_C;
  one_bank_ = desc.k > 16 * shape_->chunk;
  uint32_t operations = (desc.scale == UFP4_SCALE_NVFP4) +
                        ((desc.d_mode & UFP4_D_MODE_ALPHA) != 0) + (has_c_ ? 1u : 0u);
  if (wide_) operations = 0;
  slot_mask_ = (operations == 3 ? 2u : 0u) | (has_sums_ || wide_ || operations >= 2 ? 1u : 0u);
  last_stage_ = wide_ ? 3 : 5 + shape_->operation * operations;
  c_stage_ = has_c_ && operations != 0 ? 4 + shape_->operation * (operations - 1) : 0;
  stride_ = desc.d_stride_bytes;
  element_bytes_ = bf16_ ? 2 : wide_ ? 8 : 4;
  page_mask_ = page_mask(desc.d_addr, stride_, shape_->tile_n * element_bytes_);
  active_ = true;
  open_ = parity_ = false;
  credit_ = tiles_ = row_ = tile_a_row_ = read_ = 0;
  addr_ = tile_addr_ = band_addr_ = desc.d_addr;
}

Drain::State Drain::evaluate(bool req_ready, bool dat_ready, bool sums_ready, bool c_ready) const {
  State s;
  s.enable = !dat_valid_ || dat_ready;
  const bool request_here = !req_valid_ || req_ready;
  const bool addends_here = (!has_sums_ || sums_ready) && (!has_c_ || c_ready);
  s.read =
      active_ && open_ && (read_ != 0 || request_here) && (slot_ & slot_mask_) == 0 && addends_here;
  s.last_read = read_ == top_read();
  s.next_tile = s.read && s.enable && s.last_read && row_ == walk_.rows() - 1;
  s.drained = s.enable && (valid_ >> 1 & 1) && last_sums_;
  s.drained_bank = drained_bank_;
  s.take = s.read && s.enable;
  s.upper = upper();
  s.sums_read = has_sums_ && s.enable && (s.read || ((valid_ >> 1 & 1) && upper_row_));
  s.c_read = s.enable && c_stage_ != 0 && (valid_ >> c_stage_ & 1);
  return s;
}

uint32_t Drain::row_beats() const {
  if (bf16_) return top_read() / 2 + 1;
  if (wide_) return ((2 * walk_.cols() - 1) >> shape_->drain_log2) + 1;
  return top_read() + 1;
}

// What travels with the sums, and the beat that leaves.
void Drain::shift(const State &s) {
  const bool arrives = valid_ >> last_stage_ & 1;
  const bool half = half_ >> last_stage_ & 1, last = last_ >> last_stage_ & 1;
  dat_valid_ = upper_out_ || (arrives && (!bf16_ || half || last));
  upper_out_ = wide_ && arrives && (many_ >> last_stage_ & 1);
  const uint32_t reached = (1u << (last_stage_ + 1)) - 1;
  valid_ = (valid_ << 1 | (s.read ? 2u : 0u)) & reached;
  half_ = half_ << 1 | (read_ & 1) << 1;
  last_ = last_ << 1 | (s.last_read ? 2u : 0u);
  many_ = many_ << 1 | (s.upper ? 2u : 0u);
  upper_row_ = s.upper && s.read;
  last_sums_ = s.last_read && row_ == walk_.rows() - 1;
  drained_bank_ = one_bank_ || parity_;
  slot_ = (slot_ + 1) & 3;
}

void Drain::next_read(const State &s) {
  read_ = s.last_read ? 0 : read_ + 1;
  if (!s.last_read) return;
  row_++;
  addr_ = addr_ + stride_;
  if (++tile_a_row_ == shape_->rows) {
    tile_a_row_ = 0;
    open_ = false;
  }
}

void Drain::next_tile(bool loading, uint32_t tiles) {
  tiles_ = (tiles_ + 1) & 7;
  active_ = loading || tiles_ != tiles;
  open_ = false;
  parity_ = !parity_;
  row_ = tile_a_row_ = 0;
  if (walk_.last_col()) {
    band_addr_ = band_addr_ + stride_ * shape_->tile_m;
    tile_addr_ = band_addr_;
  } else {
    tile_addr_ = tile_addr_ + shape_->tile_n * element_bytes_;
  }
  addr_ = tile_addr_;
  walk_.next();
}

void Drain::step(const State &s, bool req_ready, bool ready, bool loading, uint32_t tiles) {
  const bool opens = active_ && !open_ && credit_ != 0;
  const bool first = s.take && read_ == 0;
  if (first) {
    req_page_ = static_cast<uint32_t>(addr_ % kPage);
    req_beats_ = row_beats();
  }
  req_valid_ = first || (req_valid_ && !req_ready);
  if (s.enable) shift(s);
  credit_ += ready;
  if (opens) {
    open_ = true;
    credit_--;
  }
  if (s.take) next_read(s);
  if (s.next_tile) next_tile(loading, tiles);
}

}  // namespace ufp4::timing
