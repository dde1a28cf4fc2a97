// SPDX-License-Identifier: Apache-2.0
// Watchdog, ring overflow and soft reset: mirrors ufp4_guard.
#ifndef UFP4_TIMING_GUARD_H
#define UFP4_TIMING_GUARD_H

#include <cstdint>

#include "timing/mem/masters.h"
#include "timing/pipeline.h"

namespace ufp4::timing {

class Guard {
 public:
  /** The signals of a cycle, which come from registers. */
  struct Input {
    uint32_t watchdog = 0;
    bool work = false, overflow = false;
    bool reads_pending = false, writes_pending = false, sending = false;
  };

  bool resetting() const {
    return resetting_;
  }
  /** Returns the reason why the core has been stopped, as in the register fatal; 0: it has not. */
  uint32_t fatal() const {
    return fatal_;
  }
  Curb curb(const Input &in) const {
    return {fatal_ != 0, resetting_, resetting_ && expired(in) && !in.sending};
  }
  /** Returns whether this cycle stops the core. */
  bool stops(const Input &in) const {
    return !resetting_ && ((in.work && expired(in)) || in.overflow) && fatal_ == 0;
  }
  void reset() {
    *this = {};
  }
  /** Simulates a cycle. @p moved: the bus had a handshake, or the array stepped. */
  void step(const Input &in, bool soft_reset, bool moved) {
    const bool was = resetting_, late = expired(in);
    const uint32_t code =
        (in.overflow ? 8u : 0u) | (in.writes_pending ? 4u : 0u) | (in.reads_pending ? 2u : 0u) | 1u;
    if (stops(in)) fatal_ = code;
    if (moved || curb(in).forget || (!in.work && !was)) {
      still_ = 0;
    } else if (!late) {
      still_++;
    }
    if (was && !in.reads_pending && !in.writes_pending && left_ == 0) resetting_ = false;
    left_ = !was ? kResetCycles - 1 : left_ != 0 ? left_ - 1 : 0;
    if (soft_reset) resetting_ = true;
    if (soft_reset && !was) still_ = 0;
    if (was) fatal_ = 0;
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(resetting_ | fatal_ << 1 | left_ << 8);
    v.exact(still_);
  }

 private:
  static constexpr uint32_t kFlushCycles = 65536;

  bool expired(const Input &in) const {
    const uint32_t limit = resetting_ && in.watchdog == 0 ? kFlushCycles : in.watchdog;
    return limit != 0 && still_ >= limit;
  }

  bool resetting_ = false;
  uint32_t fatal_ = 0, left_ = 0, still_ = 0;
};

}  // namespace ufp4::timing

#endif
