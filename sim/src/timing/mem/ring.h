// SPDX-License-Identifier: Apache-2.0
// A short queue of fixed size. Mirrors ufp4_fifo: full() and empty() are read before the cycle's
// push() and pop().
#ifndef UFP4_TIMING_RING_H
#define UFP4_TIMING_RING_H

#include <cstdint>

namespace ufp4::timing {

template <typename T, uint32_t kDepth>
class Ring {
 public:
  bool empty() const {
    return size_ == 0;
  }
  bool full() const {
    return size_ == kDepth;
  }
  uint32_t size() const {
    return size_;
  }
  T &front() {
    return data_[head_];
  }
  const T &front() const {
    return data_[head_];
  }
  void push(const T &value) {
    data_[(head_ + size_++) % kDepth] = value;
  }
  void pop() {
    head_ = (head_ + 1) % kDepth;
    size_--;
  }
  void clear() {
    head_ = size_ = 0;
  }
  /** Visits the queue's size and, by @p function, each element (visit.h). */
  template <typename Visitor, typename Function>
  void visit(Visitor &v, Function function) {
    v.exact(size_);
    for (uint32_t i = 0; i < size_; i++) function(data_[(head_ + i) % kDepth]);
  }

 private:
  T data_[kDepth] = {};
  uint32_t head_ = 0, size_ = 0;
};

}  // namespace ufp4::timing

#endif
