// SPDX-License-Identifier: Apache-2.0
// The macro-tiles of D, row by row. Mirrors ufp4_tile_walk.
#ifndef UFP4_TIMING_TILE_WALK_H
#define UFP4_TIMING_TILE_WALK_H

#include <cstdint>

#include "timing/visit.h"

namespace ufp4::timing {

class TileWalk {
 public:
  TileWalk(uint32_t tile_m, uint32_t tile_n) : tile_m_(tile_m), tile_n_(tile_n) {}

  void start(uint32_t m, uint32_t n) {
    m_left_ = m;
    n_left_ = n_ = n;
  }
  bool last_row() const {
    return m_left_ <= tile_m_;
  }
  bool last_col() const {
    return n_left_ <= tile_n_;
  }
  bool last() const {
    return last_row() && last_col();
  }
  uint32_t rows() const {
    return last_row() ? m_left_ : tile_m_;
  }
  uint32_t cols() const {
    return last_col() ? n_left_ : tile_n_;
  }
  void next() {
    if (!last_col()) {
      n_left_ -= tile_n_;
      return;
    }
    n_left_ = n_;
    m_left_ -= last_row() ? m_left_ : tile_m_;
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.place(m_left_, tile_m_);
    v.place(n_left_, tile_n_, 1);
  }

 private:
  uint32_t tile_m_, tile_n_, m_left_ = 0, n_left_ = 0, n_ = 0;
};

}  // namespace ufp4::timing

#endif
