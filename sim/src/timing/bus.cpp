// SPDX-License-Identifier: Apache-2.0
#include "timing/bus.h"

#include <algorithm>

namespace ufp4::timing {
namespace {

constexpr uint64_t kInstant = 1000;  // the wait of Ufp4Arbiter, in femtoseconds

}  // namespace

void Bus::join(Core *core, bool every_cycle) {
  last_ = cores_.size();  // so that the first core is next
  cores_.push_back(core);
  begun_.resize(cores_.size());
  if (every_cycle) stepped_.push_back(core);
  skip_.forget();
}

void Bus::leave(const Core *core) {
  for (auto *list : {&cores_, &stepped_})
    list->erase(std::remove(list->begin(), list->end(), core), list->end());
  begun_.resize(cores_.size());
  last_ = 0;
  skip_.forget();
}

// Returns the cycles from a burst's beginning to its response, which without banks comes the
// latency after the burst's turn on the width. Time begins with the cores' reset, as on a platform.
uint64_t Bus::took(const BegunBurst &burst) {
  if (banks_) {
    const uint64_t now = (now_ + kResetCycles + 1) * cycle_fs_ + kInstant;
    const uint64_t end = dram_.serve(now, burst.write, burst.address, burst.bytes);
    return latency_ + (end - now + cycle_fs_ - 1) / cycle_fs_;
  }
  uint64_t &free = free_[burst.write];
  const uint64_t start = std::max(now_, free);
  free = start + (burst.bytes + bytes_ - 1) / bytes_;
  return start - now_ + latency_;
}

// As in Ufp4Arbiter, a burst that begins in a cycle is seen in the next one at the earliest.
void Bus::serve(Core *core, const BegunBurst &burst) {
  core->memory().answer(burst.serial, burst.cycle + std::max<uint64_t>(took(burst), 2) - 1, 0);
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

// State between cycles: the core whose turn it is, and how long its data still take.
template <typename Visitor>
void Bus::visit(Visitor &v) {
  uint64_t last = last_;
  v.exact(last);
  v.count(last);
  last_ = static_cast<size_t>(last);
  for (uint64_t &free : free_) {
    uint64_t left = std::max(free, now_) - now_;
    v.exact(left);
    v.count(left);
    free = now_ + left;
  }
}

// The first core that is busy decides when the joint state is worth checking.
bool Bus::may_skip() {
  bool even = true;
  for (Core *core : cores_) even = core->may_skip(skip_) && even;
  if (!even || !skip_.wanted(now_)) return false;
  for (const Core *core : cores_) {
    if (core->going()) return core->marks();
  }
  return false;
}

bool Bus::leap(uint64_t most) {
  if (!step()) return false;
  if (!stepped_.empty() || banks_ || !may_skip()) return true;
  SkipReader reader(skip_.state());
  std::vector<Moving *> moving;
  for (Core *core : cores_) {
    reader.of(core->cycle());
    core->visit(reader);
    moving.push_back(&core->moving());
  }
  visit(reader);
  const uint64_t before = now_;
  uint64_t shift = 0;
  if (!skip_.follow(moving, &now_, before + std::min(most - 1, ~before), &shift)) return true;
  SkipWriter writer(skip_.state().even.data(), shift);
  for (Core *core : cores_) core->skip(writer, now_ - before);
  visit(writer);
  return true;
}

}  // namespace ufp4::timing
