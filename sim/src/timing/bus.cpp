// SPDX-License-Identifier: Apache-2.0
#include "timing/bus.h"

#include <algorithm>

namespace ufp4::timing {

void Bus::join(Core *core) {
  last_ = cores_.size();  // the first core is the next one
  cores_.push_back(core);
  begun_.resize(cores_.size());
}

void Bus::leave(const Core *core) {
  cores_.erase(std::remove(cores_.begin(), cores_.end(), core), cores_.end());
  begun_.resize(cores_.size());
  last_ = 0;
}

// As in Ufp4Arbiter what begins in a cycle is seen in the next one at the earliest.
void Bus::serve(Core *core, const BegunBurst &burst) {
  uint64_t &free = free_[burst.write];
  const uint64_t start = std::max(now_, free), took = start - now_ + latency_;
  free = start + (burst.bytes + bytes_ - 1) / bytes_;
  core->memory().answer(burst.serial, burst.cycle + std::max<uint64_t>(took, 2) - 1, 0);
}

bool Bus::step() {
  size_t left = 0;
  for (size_t i = 0; i < cores_.size(); i++) {
    if (!cores_[i]->step()) return false;
    if (!cores_[i]->memory().has_begun()) continue;
    begun_[i] = {cores_[i]->memory().take_begun(), 0};
    left += begun_[i].bursts.size();
  }
  while (left != 0) {
    last_ = (last_ + 1) % cores_.size();
    Begun &begun = begun_[last_];
    if (begun.served == begun.bursts.size()) continue;
    serve(cores_[last_], begun.bursts[begun.served++]);
    left--;
    if (begun.served == begun.bursts.size()) begun = {};
  }
  now_++;
  return true;
}

}  // namespace ufp4::timing
