// SPDX-License-Identifier: Apache-2.0
// The loader of the GEMM engine. LoadRequest mirrors ufp4_load_request, LoadWrite ufp4_load_write.
#ifndef UFP4_TIMING_LOAD_H
#define UFP4_TIMING_LOAD_H

#include <cstdint>
#include <vector>

#include "timing/accesses.h"
#include "timing/array/tile_walk.h"
#include "timing/mem/masters.h"
#include "timing/mem/ring.h"
#include "timing/shape.h"

namespace ufp4::timing {

/** A note about the beats to come. */
struct LoadNote {
  bool slot, side, codes;
  uint32_t beats;
};

class LoadWrite {
 public:
  bool full() const {
    return notes_.full();
  }
  bool notes() const {
    return !notes_.empty();
  }
  uint32_t loaded(bool slot) const {
    return loaded_[slot];
  }
  void reset() {
    notes_.clear();
    beat_ = loaded_[0] = loaded_[1] = 0;
  }
  /** Simulates a cycle. @p beat: a beat has arrived. @p retire: the count of @p slot is cleared. */
  void step(bool beat, bool retire, bool slot);
  void push(const LoadNote &note) {
    notes_.push(note);
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    notes_.visit(v, [&v](LoadNote &note) {
      v.exact(note.slot | note.codes << 1 | note.side << 2 | note.beats << 3);
    });
    v.exact(beat_);
    v.exact(loaded_[0]);
    v.exact(loaded_[1]);
    v.count(codes_[0]);
    v.count(codes_[1]);
    v.count(scales_);
  }
  void add(const Shape &shape, Accesses *all) const {
    const uint64_t lanes = shape.load_bytes / 8;
    all->writes[UFP4_SRAM_CODES_A] += lanes * codes_[0];
    all->writes[UFP4_SRAM_CODES_B] += lanes * codes_[1];
    all->writes[UFP4_SRAM_SCALES_A] += lanes * codes_[0];
    all->writes[UFP4_SRAM_SCALES_B] += lanes * codes_[1];
    all->reads[UFP4_SRAM_WAITING] += codes_[0] + codes_[1];
    all->writes[UFP4_SRAM_WAITING] += scales_;
  }

 private:
  Ring<LoadNote, 32> notes_;
  uint32_t beat_ = 0, loaded_[2] = {};
  uint64_t codes_[2] = {}, scales_ = 0;  // beats of A and B, and of both
};

class LoadRequest {
 public:
  explicit LoadRequest(const Shape &shape) : shape_(&shape), walk_(shape.tile_m, shape.tile_n) {}

  bool loading() const {
    return active_;
  }
  uint32_t tiles() const {
    return tiles_;
  }
  /** Returns whether the request waits for a row group that QUANT has not written. */
  bool held(uint32_t panels_held, uint32_t panels) const {
    const uint32_t group = (side_ ? tile_group_b_ : tile_group_a_) + group_;
    return chunk_ && (panels_held >> side_ & 1) && group >= panels;
  }
  bool valid() const {
    return chunk_;
  }
  /** Returns the present request, while valid(). */
  Request request(const ufp4_gemm_descriptor_t &desc) const;
  LoadNote note(uint32_t beats) const {
    return {slot_, side_, codes_, beats};
  }
  void reset() {
    active_ = chunk_ = false;
  }
  void start(const ufp4_gemm_descriptor_t &desc);
  /** Simulates a cycle. @p stop: no macro-tile follows the present one. */
  void step(const ufp4_gemm_descriptor_t &desc, bool fire, bool release, bool stop);

  /** Returns whether a burst of the job can cross a page. */
  bool may_be_cut() const {
    return position_mask_ != 0;
  }
  /** Lists which of the next @p requests cross a page, and after how many bytes. The position of
   * an operand in its pages matters only for this. */
  void cuts(uint64_t requests, std::vector<uint64_t> *found) const;
  /** An element of cuts() represents the request of this number, from 0 on. */
  static uint64_t cut_request(uint64_t cut) {
    return cut / kPage;
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.ahead(*this);
    v.count(requests_);
    v.exact(active_ | chunk_ << 1 | slot_ << 2 | side_ << 3 | codes_ << 4);
    v.exact(free_);
    v.exact(group_);
    v.wheel(tiles_, v.tiles);
    walk_.visit(v);
    v.place(k_left_, 2 * shape_->chunk, 2);
    for (uint64_t *position : {&k_, &tile_a_, &tile_b_, &at_a_, &at_b_}) {
      v.address(*position, 0);
    }
    v.address(tile_group_a_, 0);
    v.address(tile_group_b_, 0);
  }

 private:
  uint32_t blocks() const {
    return shape_->chunk_blocks(k_left_);
  }
  bool last_group_a() const {
    return group_ == (walk_.rows() - 1) >> 4;
  }
  bool last_group_b() const {
    return group_ == (walk_.cols() - 1) >> 4;
  }
  uint32_t position_mask(const ufp4_gemm_descriptor_t &desc) const;
  /** Advances to the next request, because the present one is accepted. */
  void pass(const ufp4_gemm_descriptor_t &desc, bool stop);
  void next_group(const ufp4_gemm_descriptor_t &desc);
  void next_chunk(const ufp4_gemm_descriptor_t &desc, bool stop);
  void next_tile(const ufp4_gemm_descriptor_t &desc, bool stop);

  const Shape *shape_;
  TileWalk walk_;
  bool active_ = false, chunk_ = false, slot_ = false, side_ = false, codes_ = false;
  uint32_t free_ = 0, tiles_ = 0, group_ = 0;
  uint32_t k_left_ = 0;  // k blocks from this chunk on
  uint32_t position_mask_ =
      0;                   // the bits of a position that determine where in a page its codes and
                           // scales are
  uint64_t requests_ = 0;  // requests that have been accepted
  ufp4_gemm_descriptor_t desc_{};  // for cuts()
  uint64_t k_ = 0;
  // In k blocks from the start of an operand.
  uint64_t tile_a_ = 0, tile_b_ = 0, at_a_ = 0, at_b_ = 0;
  uint32_t tile_group_a_ = 0, tile_group_b_ = 0;
};

// Inline, because it is called in every cycle.

inline void LoadWrite::step(bool beat, bool retire, bool slot) {
  if (beat) {
    const LoadNote note = notes_.front();
    (note.codes ? codes_[note.side] : scales_)++;
    if (++beat_ == note.beats) {
      beat_ = 0;
      notes_.pop();
      if (note.codes) loaded_[note.slot]++;
    }
  }
  if (retire) loaded_[slot] = 0;
}

inline void LoadRequest::step(const ufp4_gemm_descriptor_t &desc, bool fire, bool release,
                              bool stop) {
  if (active_ && !chunk_ && free_ != 0) {
    chunk_ = true;
    free_--;
  }
  free_ += release;
  if (fire) pass(desc, stop);
}

inline void LoadRequest::pass(const ufp4_gemm_descriptor_t &desc, bool stop) {
  const bool group_done = codes_;
  requests_++;
  codes_ = !codes_;
  if (!group_done) return;
  const bool end_chunk =
      side_ ? last_group_b() && walk_.rows() <= 16 : group_ != 0 && last_group_a();
  if (end_chunk) {
    next_chunk(desc, stop);
  } else {
    next_group(desc);
  }
}

}  // namespace ufp4::timing

#endif
