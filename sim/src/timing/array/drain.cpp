// SPDX-License-Identifier: Apache-2.0
#include "timing/array/drain.h"

namespace ufp4::timing {
// slot_ continues between jobs.
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
  last_stage_ = wide_ ? kDrainSumStages : kDrainStages + kAluStages * operations;
  c_stage_ = has_c_ && operations != 0 ? kDrainStages - 1 + kAluStages * (operations - 1) : 0;
  ask_wait_ = last_stage_ - kDrainAskStages;
  stride_ = desc.d_stride_bytes;
  element_bytes_ = bf16_ ? 2 : wide_ ? 8 : 4;
  page_mask_ = page_mask(desc.d_addr, stride_, shape_->tile_n * element_bytes_);
  active_ = true;
  open_ = parity_ = false;
  credit_ = tiles_ = row_ = tile_a_row_ = read_ = 0;
  addr_ = tile_addr_ = band_addr_ = desc.d_addr;
}

void Drain::look(bool req_ready, bool dat_ready, bool sums_ready, bool c_ready,
                 CoreSigns &signs) const {
  signs.drain_idle = idle();
  signs.drain_active = active_;
  signs.drain_open = open_;
  signs.drain_enable = !dat_valid_ || dat_ready;
  signs.addends_here = (!has_sums_ || sums_ready) && (!has_c_ || c_ready);
  signs.request_here = read_ != 0 || !req_valid_ || req_ready;
}

uint32_t Drain::row_beats() const {
  if (bf16_) return top_read() / 2 + 1;
  if (wide_) return ((2 * walk_.cols() - 1) >> shape_->drain_log2) + 1;
  return top_read() + 1;
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

}  // namespace ufp4::timing
