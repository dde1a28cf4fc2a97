// SPDX-License-Identifier: Apache-2.0
// Holds a mutex of the kernel until the end of a block, even if a report leaves it by SC_THROW.
#ifndef UFP4_SYSTEMC_LOCK_H
#define UFP4_SYSTEMC_LOCK_H

#include <systemc>

namespace ufp4 {

class Lock {
 public:
  explicit Lock(sc_core::sc_mutex &mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~Lock() {
    mutex_.unlock();
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

 private:
  sc_core::sc_mutex &mutex_;
};

}  // namespace ufp4

#endif
