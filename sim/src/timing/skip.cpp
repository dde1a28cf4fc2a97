// SPDX-License-Identifier: Apache-2.0
#include "timing/skip.h"

#include <algorithm>

#include "timing/core.h"

namespace ufp4::timing {

/** A link to the next state, with the cycles and the progress until then. It is valid if pages cut
 * only the recorded ones of the loaders' requests in these cycles. */
struct Skip::Link {
  Entry *to;
  uint64_t cycles;
  std::vector<uint64_t> delta;
  Cuts cuts;
};

struct Skip::Entry {
  std::vector<Moving> moving;    // by core
  uint64_t cycle;                // cycle in which it was recorded
  std::vector<uint64_t> places;  // what remains of the loops; all ones where that does not matter
  std::vector<Link> links;  // known links, by what remains of the loops and which requests are cut
};

Skip::Skip() = default;
Skip::~Skip() = default;

// FNV-1a.
size_t Skip::Hash::operator()(const std::vector<uint64_t> &key) const {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint64_t x : key) hash = (hash ^ x) * 0x100000001B3u;
  return static_cast<size_t>(hash ^ hash >> 32);
}

void Skip::forget() {
  entries_.clear();
  last_ = nullptr;
}

Skip::Entry *Skip::find(const std::vector<Moving *> &moving, uint64_t now) {
  const auto found = entries_.find(state_.key);
  if (found != entries_.end()) return found->second.get();
  if (entries_.size() * moving.size() >= kMost) forget();
  std::vector<uint64_t> places;
  for (const SkipState::Place &place : state_.places) {
    const uint64_t left = state_.even[place.index];
    places.push_back(left > place.near ? ~uint64_t{0} : left);
  }
  auto entry = std::make_unique<Entry>(Entry{{}, now, std::move(places), {}});
  for (const Moving *one : moving) entry->moving.push_back(*one);
  return entries_.emplace(state_.key, std::move(entry)).first->second.get();
}

// A loop whose remainder did not matter must not have reached the point where it does, nor have
// restarted, because a loop around it would then have advanced.
bool Skip::even_enough(const std::vector<uint64_t> &delta) const {
  for (size_t i = 0; i < state_.places.size(); i++) {
    const SkipState::Place &place = state_.places[i];
    const uint64_t gone = 0 - delta[place.index];
    if (last_->places[i] != ~uint64_t{0}) continue;
    if (gone > place.near - place.most) return false;
    for (uint32_t outer = 1; outer <= place.outer; outer++) {
      if (delta[state_.places[i - outer].index] != 0) return false;
    }
  }
  return true;
}

void Skip::link(Entry *to, uint64_t now) {
  std::vector<uint64_t> delta(state_.even.size());
  for (size_t i = 0; i < delta.size(); i++) delta[i] = state_.even[i] - last_even_[i];
  if (!even_enough(delta)) return;
  std::vector<uint64_t> requests;
  for (const SkipState::Loader &loader : state_.loaders) requests.push_back(delta[loader.index]);
  Cuts cut;
  cuts(*last_, last_even_, requests, &cut);
  last_->links.push_back({to, now - last_cycle_, std::move(delta), std::move(cut)});
}

void Skip::cuts(const Entry &from, const std::vector<uint64_t> &even,
                const std::vector<uint64_t> &requests, Cuts *found) const {
  found->resize(state_.loaders.size());
  for (size_t i = 0; i < found->size(); i++) {
    (*found)[i].clear();
    if (!state_.loaders[i].is_cut || requests[i] == 0) continue;
    LoadRequest loader = from.moving[i].gemm.loader();
    SkipWriter writer(&even[state_.loaders[i].index], 0);
    loader.visit(writer);
    loader.cuts(requests[i], &(*found)[i]);
  }
}

// Returns whether a link leads from here to the state to which it has led before. cuts_ may extend
// beyond the link's requests.
bool Skip::leads(const Link &link) const {
  for (size_t i = 0; i < state_.places.size(); i++) {
    const SkipState::Place &place = state_.places[i];
    const uint64_t left = state_.even[place.index] + link.delta[place.index];
    if ((left > place.near ? ~uint64_t{0} : left) != link.to->places[i]) return false;
  }
  for (size_t i = 0; i < cuts_.size(); i++) {
    const std::vector<uint64_t> &cut = cuts_[i], &want = link.cuts[i];
    const uint64_t requests = link.delta[state_.loaders[i].index];
    size_t count = 0;
    while (count < cut.size() && LoadRequest::cut_request(cut[count]) < requests) count++;
    if (count != want.size() || !std::equal(want.begin(), want.end(), cut.begin())) return false;
  }
  return true;
}

const Skip::Link *Skip::next(const Entry &from) {
  std::vector<uint64_t> requests(state_.loaders.size());
  for (const Link &link : from.links) {
    for (size_t i = 0; i < requests.size(); i++)
      requests[i] = std::max(requests[i], link.delta[state_.loaders[i].index]);
  }
  cuts(from, state_.even, requests, &cuts_);
  for (const Link &link : from.links) {
    if (leads(link)) return &link;
  }
  return nullptr;
}

bool Skip::follow(const std::vector<Moving *> &moving, uint64_t *now, uint64_t end,
                  uint64_t *shift) {
  Entry *at = find(moving, *now);
  if (last_ != nullptr && !known_) link(at, *now);
  const Link *link = next(*at);
  bool moved = false;
  for (; link != nullptr && link->cycles <= end - *now; link = next(*at)) {
    for (size_t i = 0; i < link->delta.size(); i++) state_.even[i] += link->delta[i];
    *now += link->cycles;
    at = link->to;
    moved = true;
  }
  if (moved) {
    for (size_t i = 0; i < moving.size(); i++) *moving[i] = at->moving[i];
    *shift = *now - at->cycle;
  }
  last_ = at;
  known_ = link != nullptr;
  last_even_ = state_.even;
  last_cycle_ = *now;
  return moved;
}

}  // namespace ufp4::timing
