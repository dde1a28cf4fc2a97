// SPDX-License-Identifier: Apache-2.0
// Prefetches the numbers that are added to D: mirrors ufp4_addend.
#ifndef UFP4_TIMING_ADDEND_H
#define UFP4_TIMING_ADDEND_H

#include <cstdint>

#include "timing/array/drain.h"
#include "timing/mem/width.h"

namespace ufp4::timing {

class Addend {
 public:
  explicit Addend(const Shape &shape)
      : shape_(&shape),
        walk_(shape.tile_m, shape.tile_n),
        width_(shape.drain_bytes, shape.bus_bytes) {}

  /** Returns whether the job adds anything. */
  bool wanted() const {
    return has_sums_ || has_c_;
  }
  bool idle() const {
    return !active_ && !req_valid_ && notes_.empty();
  }
  bool valid() const {
    return width_.can_ask() && req_valid_;
  }
  Request request() const {
    return width_.request(client());
  }
  bool bus_ready() const {
    return width_.bus_ready();
  }
  bool sums_ready(uint32_t need) const {
    return here_[kSums] >= need;
  }
  bool c_ready(uint32_t need) const {
    return here_[kC] >= need;
  }
  void reset();
  void start(const ufp4_gemm_descriptor_t &desc);
  /**
   * Simulates a cycle.
   *  @param cancel the drain has ended
   *  @param bus_ready the master accepts the request
   *  @param bus_valid the master has a beat
   */
  void step(const ufp4_gemm_descriptor_t &desc, const Drain::State &drain, bool cancel,
            bool bus_ready, bool bus_valid, bool bus_error);
  /** Returns whether the client's beat of this cycle has an error. */
  bool error(bool bus_valid, bool bus_error) const {
    return width_.error(bus_valid, bus_error);
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(active_ | stream_ << 1 | req_valid_ << 2);
    v.exact(row_);
    v.exact(beat_);
    v.exact(req_beats_);
    v.exact(req_address_ & page_mask_);
    for (uint32_t s = 0; s < 2; s++) {
      v.exact(room_[s]);
      v.exact(here_[s]);
      v.address(addr_[s], page_mask_);
      v.address(tile_addr_[s], page_mask_);
      v.address(band_addr_[s], page_mask_);
    }
    walk_.visit(v);
    notes_.visit(v, [&v](Note &note) { v.exact(note.stream | note.beats << 1); });
    width_.visit(v);
    v.count(written_);
    v.count(read_);
  }
  void add(Accesses *all) const {
    all->reads[UFP4_SRAM_ADDENDS] += read_;
    all->writes[UFP4_SRAM_ADDENDS] += written_;
  }

 private:
  static constexpr uint32_t kSums = 0, kC = 1;
  struct Note {
    uint32_t stream, beats;
  };

  Request client() const {
    return {req_valid_, req_address_, req_beats_};
  }
  void issue(const ufp4_gemm_descriptor_t &desc, uint32_t beats);
  void next_row(uint64_t stride);

  const Shape *shape_;
  TileWalk walk_;
  WidthRead width_;
  bool has_sums_ = false, has_c_ = false, active_ = false, req_valid_ = false;
  uint32_t stream_ = 0, row_ = 0, req_beats_ = 0, beat_ = 0;
  uint64_t req_address_ = 0;
  uint32_t page_mask_ = 0;
  uint64_t addr_[2] = {}, tile_addr_[2] = {}, band_addr_[2] = {};
  uint32_t room_[2] = {}, here_[2] = {};
  Ring<Note, 16> notes_;
  uint64_t written_ = 0, read_ = 0;  // words of the buffers
};

// Inline, because it is called in every cycle.

inline void Addend::step(const ufp4_gemm_descriptor_t &desc, const Drain::State &drain, bool cancel,
                         bool bus_ready, bool bus_valid, bool bus_error) {
  const bool valid = width_.valid(bus_valid);
  const uint32_t columns = walk_.cols() * (stream_ == kSums ? 2 : 1);
  const uint32_t beats = ((columns - 1) >> shape_->drain_log2) + 1;
  const bool issues =
      active_ && !cancel && room_[stream_] >= beats && !notes_.full() && (!req_valid_ || bus_ready);
  width_.step(client(), req_valid_ && bus_ready, bus_valid, bus_error);
  if (valid) {
    const Note note = notes_.front();
    here_[note.stream]++;
    written_++;
    if (++beat_ == note.beats) {
      beat_ = 0;
      notes_.pop();
    }
  }
  if (drain.take && has_sums_) here_[kSums] -= drain.upper ? 2 : 1;
  if (drain.take && has_c_) here_[kC]--;
  read_ += drain.sums_read + drain.c_read;
  room_[kSums] += drain.sums_read;
  room_[kC] += drain.c_read;
  req_valid_ = issues || (req_valid_ && !bus_ready);
  if (issues) issue(desc, beats);
  if (cancel) active_ = false;
}

}  // namespace ufp4::timing

#endif
