// SPDX-License-Identifier: Apache-2.0
// Collects the wide engine's blocks into groups of panel units and writes these to memory: mirrors
// ufp4_quant_write_wide. A request of several units ends at a page boundary.
#ifndef UFP4_TIMING_QUANT_WRITE_WIDE_H
#define UFP4_TIMING_QUANT_WRITE_WIDE_H

#include <cstdint>

#include "timing/mem/masters.h"
#include "timing/mem/ring.h"
#include "timing/quant/quant_index.h"
#include "timing/quant/quant_strip.h"

namespace ufp4::timing {

class QuantWriteWide {
 public:
  bool in_ready(uint32_t copy) const {
    return filled_[copy] != kSlots;
  }
  bool valid() const {
    return busy_ && !notes_.full() && units() != 0;
  }
  Request request() const {
    return {valid(), address_ & ~uint64_t{UFP4_PANEL_CODE_BYTES - 1}, scales_ ? 1 : run()};
  }
  bool dat_valid() const {
    return dat_valid_;
  }
  /** Returns a bit for each copy: whether its last group has been handed over. */
  uint32_t done() const {
    return notes_.empty() && !dat_valid_ ? done_ : 0;
  }
  void reset();
  void start(const QuantJob &job);
  /** Simulates a cycle. @p take: for each copy, blocks arrive. @return whether a strip of the row
   * copy has been handed over. */
  bool step(const bool *take, const QuantMark *in, bool req_ready, bool dat_ready);

  /** Returns the units whose codes have been read, 16 blocks at once. */
  uint64_t loaded() const {
    return loaded_;
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.count(loaded_);
    for (uint32_t c = 0; c < 2; c++) {
      v.exact(in_count_[c] | ask_[c] << 8 | filled_[c] << 12 | waiting_[c] << 16 | last_[c] << 20);
      v.exact(blank_[c]);
      v.exact(left_[c]);
      index_[c].visit(v);
    }
    v.exact(busy_ | copy_ << 1 | scales_ << 2 | dat_valid_ << 3 | done_ << 4 | first_ << 6 |
            beat_ << 8);
    notes_.visit(v, [&v](Note &note) {
      v.exact(note.copy | note.empty << 1 | note.release << 2 | note.scales << 3 | note.beats << 4);
    });
  }

 private:
  static constexpr uint32_t kSlots = 4, kPageUnits = kPage / UFP4_PANEL_CODE_BYTES;
  /** A request's note for its beats. */
  struct Note {
    bool copy, empty, release, scales;
    uint32_t beats;
  };

  /** Returns whether the units of the present group are adjacent in memory. */
  bool joined() const {
    return !copy_ || pair_;
  }
  uint32_t units() const;
  uint32_t run() const;
  void collect(uint32_t copy, const QuantMark &in);
  bool asked();
  inline void load(bool dat_ready);
  uint64_t codes_address() const {
    return codes_addr_[copy_] + index_[copy_].unit() * UFP4_PANEL_CODE_BYTES;
  }

  bool pair_ = false;
  uint32_t groups_ = 0;                        // groups of a strip
  uint32_t group_units_ = 0, last_units_ = 0;  // units of a group, and of a strip's last group
  uint32_t first_unit_[2] = {};                // position in its page
  uint64_t codes_addr_[2] = {}, scales_addr_[2] = {};
  uint64_t address_ = 0;       // address of the next request
  uint32_t in_count_[2] = {};  // {slot, block, half}
  uint32_t ask_[2] = {}, filled_[2] = {}, waiting_[2] = {};
  uint32_t last_[2] = {}, blank_[2] = {};  // by slot; and half
  uint32_t left_[2] = {}, first_ = 0, done_ = 0, beat_ = 0;
  QuantIndex index_[2];
  Ring<Note, 4> notes_;
  bool busy_ = false, copy_ = false, scales_ = false, dat_valid_ = false;
  uint64_t loaded_ = 0;  // units whose codes were read
};

// Inline, because these functions are called in every cycle.

inline uint32_t QuantWriteWide::units() const {
  if (!pair_) return left_[copy_] == 1 ? last_units_ : group_units_;
  const uint32_t blank = blank_[copy_] >> 2 * ask_[copy_];
  return blank & 1 ? 0 : blank & 2 ? 1 : 2;
}

// Returns the units of the next request.
inline uint32_t QuantWriteWide::run() const {
  if (!joined()) return 1;
  const uint64_t at = first_unit_[copy_] + index_[copy_].unit() + first_;
  const uint32_t to_page = kPageUnits - static_cast<uint32_t>(at % kPageUnits);
  const uint32_t rest = units() - first_;
  return rest < to_page ? rest : to_page;
}

inline void QuantWriteWide::collect(uint32_t copy, const QuantMark &in) {
  const uint32_t count = in_count_[copy], slot = count >> 5, half = count & 1;
  in_count_[copy] = (count + (pair_ ? 1 : 2)) % (32 * kSlots);
  if ((count >> 1 & 15) != 15) return;
  const uint32_t bit = 1u << slot, blank_bit = 1u << (2 * slot + half);
  last_[copy] = (last_[copy] & ~bit) | (in.last ? bit : 0);
  blank_[copy] = (blank_[copy] & ~blank_bit) | (in.blank ? blank_bit : 0);
  if (half != pair_) return;
  filled_[copy]++;
  waiting_[copy]++;
}

// Moves a beat of the requests made so far.
inline void QuantWriteWide::load(bool dat_ready) {
  const bool moves = !dat_valid_ || dat_ready;
  if (dat_ready) dat_valid_ = false;
  if (notes_.empty()) return;
  const Note &note = notes_.front();
  if (!note.empty) {
    if (!moves) return;
    dat_valid_ = true;
    loaded_ += !note.scales;
    if (++beat_ != note.beats) return;
  }
  beat_ = 0;
  if (note.release) filled_[note.copy]--;
  notes_.pop();
}

inline bool QuantWriteWide::step(const bool *take, const QuantMark *in, bool req_ready,
                                 bool dat_ready) {
  const uint32_t at = copy_;
  const bool over = busy_ && !notes_.full() && units() == 0;
  const uint32_t after = first_ + (scales_ ? 1 : run());
  const bool end = !joined() || after == units();  // of the codes at hand
  const bool codes_end = req_ready && !scales_ && end;
  const bool ask_end = over || (req_ready && scales_ && (joined() || after == units()));
  const bool others[2] = {waiting_[0] > (busy_ && at == 0), waiting_[1] > (busy_ && at == 1)};
  const Note note{copy_, over, ask_end, scales_, after - first_};
  load(dat_ready);
  if (req_ready || over) notes_.push(note);
  if (codes_end) {
    address_ = scales_addr_[at] + index_[at].unit() * UFP4_PANEL_SCALE_BYTES;
  } else if (req_ready) {
    address_ = scales_ ? codes_address() : address_ + run() * UFP4_PANEL_CODE_BYTES;
  }
  if (codes_end || over) index_[at].step();
  if (req_ready && (scales_ || !codes_end)) first_ = after;
  if (req_ready) scales_ = codes_end;
  const bool strip_end = ask_end && asked();
  // Directly after a group has been skipped, the index of its copy is not available yet.
  if (!busy_ && !over && (others[0] || others[1])) {
    busy_ = true;
    if (others[!at]) copy_ = !at;
    address_ = codes_address();
  }
  for (uint32_t c = 0; c < 2; c++) {
    if (take[c]) collect(c, in[c]);
  }
  return strip_end;
}

}  // namespace ufp4::timing

#endif
