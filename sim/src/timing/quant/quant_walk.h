// SPDX-License-Identifier: Apache-2.0
// The order in which row segments of QUANT's source are read: mirrors ufp4_quant_walk. QuantLoad,
// which requests them, mirrors ufp4_quant_load, and QuantArrival, which tracks their arrival,
// ufp4_quant_arrival.
#ifndef UFP4_TIMING_QUANT_WALK_H
#define UFP4_TIMING_QUANT_WALK_H

#include <cstdint>

#include "timing/mem/masters.h"
#include "timing/shape.h"

namespace ufp4::timing {

/** A job's parameters, which ufp4_quant derives at its start. */
struct QuantJob {
  bool amax = false, f32 = false, pair = false;  // pair: E8M0, tiles of 32x32
  uint32_t enable = 0;                           // bit 0 row copy, bit 1 column copy
  uint32_t rows = 0, cols = 0, tiles = 0;        // tiles of 16 columns along a row
  uint32_t side = 0;  // log2 of the adjacent tiles that leave before the next ones
  uint32_t row_beats = 0;
  uint64_t addr = 0, stride_bytes = 0;
  uint64_t codes_addr[2] = {}, scales_addr[2] = {};  // by copy
  uint32_t stride_blocks[2] = {};
};

/** Rows of a strip, and with E8M0 of a pair of strips. */
constexpr uint32_t kStrip = 16, kStrips = 32;
/** Strip counts are modulo this number. kEndless: all strips of a job, unless it ends early. */
constexpr uint32_t kStripCount = 32, kEndless = ~0u;

class QuantWalk {
 public:
  explicit QuantWalk(uint32_t segment_beats) : segment_beats_(segment_beats) {}

  bool active() const {
    return active_;
  }
  bool chunk_last() const {
    return beats_ <= segment_beats_;
  }
  uint32_t beats() const {
    return chunk_last() ? beats_ : segment_beats_;
  }
  bool below() const {
    return pair_ && rows_ > 16 && !lower_;
  }
  bool row_last() const {
    return row_ == 15 || row_ + 1 == (lower_ ? rows_ - 16 : rows_);
  }
  void reset() {
    active_ = false;
  }
  void start(const QuantJob &job);
  /** Advances by a segment. @p stop: the present strip, or with E8M0 pair of strips, is the
   * last. */
  void step(const QuantJob &job, bool stop);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(active_ | lower_ << 1 | pair_ << 2 | row_ << 3);
    v.place(rows_, kStrips);
    v.exact(beats_);
  }

 private:
  uint32_t segment_beats_;
  bool active_ = false, lower_ = false, pair_ = false;
  uint32_t rows_ = 0, beats_ = 0, row_ = 0;
};

class QuantLoad {
 public:
  explicit QuantLoad(const Shape &shape)
      : shape_(&shape), walk_(shape.segment_bytes / shape.bus_bytes) {}

  bool valid() const {
    return walk_.active() && places_ != 0;
  }
  Request request() const {
    return {valid(), addr_, walk_.beats()};
  }
  void reset() {
    walk_.reset();
  }
  void start(const QuantJob &job);
  bool loading() const {
    return walk_.active();
  }
  /** Returns the strips that have been requested, modulo 32. */
  uint32_t strips() const {
    return strips_;
  }
  /**
   * Simulates a cycle.
   *  @param taken the request is accepted
   *  @param freed a place in the buffer becomes free
   *  @param stop as in QuantWalk
   */
  void step(const QuantJob &job, bool taken, bool freed, bool stop);

  template <typename Visitor>
  void visit(Visitor &v) {
    walk_.visit(v);
    v.exact(places_);
    v.address(addr_, page_mask_);
    v.address(chunk_addr_, page_mask_);
    v.address(strip_addr_, page_mask_);
  }

 private:
  const Shape *shape_;
  QuantWalk walk_;
  uint32_t places_ = 0, page_mask_ = 0, strips_ = 0;
  uint64_t addr_ = 0, chunk_addr_ = 0, strip_addr_ = 0;
};

class QuantArrival {
 public:
  explicit QuantArrival(const Shape &shape) : walk_(shape.segment_bytes / shape.bus_bytes) {}

  bool active() const {
    return walk_.active();
  }
  /** Returns the strips that have arrived, modulo 32. */
  uint32_t strips() const {
    return strips_;
  }
  void reset() {
    walk_.reset();
  }
  void start(const QuantJob &job) {
    walk_.start(job);
    beat_ = strips_ = 0;
  }
  /** Counts a beat that has arrived. Unless @p rest is kEndless, only @p rest strips in total will
   * be requested. @return whether the beat is the last of its chunk. */
  bool step(const QuantJob &job, uint32_t rest);

  template <typename Visitor>
  void visit(Visitor &v) {
    walk_.visit(v);
    v.exact(beat_);
  }

 private:
  QuantWalk walk_;
  uint32_t beat_ = 0, strips_ = 0;
};

// Inline, because these functions are called in every cycle.

inline void QuantLoad::step(const QuantJob &job, bool taken, bool freed, bool stop) {
  places_ += freed;
  if (!taken) return;
  const bool row_last = walk_.row_last(), below = walk_.below(), chunk_last = walk_.chunk_last();
  places_ -= row_last;
  strips_ = (strips_ + (row_last && !below && chunk_last)) % kStripCount;
  if (!row_last || below) {
    addr_ += job.stride_bytes;
  } else {
    if (chunk_last) strip_addr_ += job.stride_bytes << (job.pair ? 5 : 4);
    chunk_addr_ = chunk_last ? strip_addr_ : chunk_addr_ + shape_->segment_bytes;
    addr_ = chunk_addr_;
  }
  walk_.step(job, stop);
}

inline bool QuantArrival::step(const QuantJob &job, uint32_t rest) {
  if (!walk_.active() || ++beat_ != walk_.beats()) return false;
  beat_ = 0;
  const bool chunk = walk_.row_last();
  strips_ = (strips_ + (chunk && !walk_.below() && walk_.chunk_last())) % kStripCount;
  walk_.step(job, rest == strips_);
  return chunk;
}

}  // namespace ufp4::timing

#endif
