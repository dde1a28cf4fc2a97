// SPDX-License-Identifier: Apache-2.0
#include "timing/skip.h"

#include <algorithm>

#include "timing/core.h"

namespace ufp4::timing {

/** What comes next: which state, so many cycles later, with so much more; if of the loader's
 * requests in these cycles pages cut those alone. */
struct Skip::Link {
  Entry *to;
  uint64_t cycles;
  std::vector<uint64_t> delta, cuts;
};

struct Skip::Entry {
  Moving moving;
  uint64_t cycle;  // in which it was kept
  std::vector<uint64_t>
      places;               // of the loops: how much is left, all ones where that does not matter
  std::vector<Link> links;  // as far as is known, by how much of the loops is left and what is cut
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

Skip::Entry *Skip::find(const Moving &moving, uint64_t now) {
  const auto found = entries_.find(state_.key);
  if (found != entries_.end()) return found->second.get();
  if (entries_.size() >= kMost) forget();
  std::vector<uint64_t> places;
  for (const SkipState::Place &place : state_.places) {
    const uint64_t left = state_.even[place.index];
    places.push_back(left > place.near ? ~uint64_t{0} : left);
  }
  auto entry = std::make_unique<Entry>(Entry{moving, now, std::move(places), {}});
  return entries_.emplace(state_.key, std::move(entry)).first->second.get();
}

// A loop whose rest does not matter must not have gone so far that it did.
bool Skip::even_enough(const std::vector<uint64_t> &delta) const {
  for (size_t i = 0; i < state_.places.size(); i++) {
    const SkipState::Place &place = state_.places[i];
    const uint64_t gone = 0 - delta[place.index];
    if (last_->places[i] == ~uint64_t{0} && gone > place.near - place.most) return false;
  }
  return true;
}

void Skip::link(Entry *to, uint64_t now) {
  std::vector<uint64_t> delta(state_.even.size());
  for (size_t i = 0; i < delta.size(); i++) delta[i] = state_.even[i] - last_even_[i];
  if (!even_enough(delta)) return;
  std::vector<uint64_t> cut;
  cuts(*last_, last_even_, delta[state_.loader], &cut);
  last_->links.push_back({to, now - last_cycle_, std::move(delta), std::move(cut)});
}

void Skip::cuts(const Entry &from, const std::vector<uint64_t> &even, uint64_t requests,
                std::vector<uint64_t> *found) const {
  found->clear();
  if (!state_.is_cut || requests == 0) return;
  LoadRequest loader = from.moving.gemm.loader();
  SkipWriter writer(&even[state_.loader], 0);
  loader.visit(writer);
  loader.cuts(requests, found);
}

// Whether a link leads from here to the state that it led to. cuts_ may go further than it.
bool Skip::leads(const Link &link) const {
  for (size_t i = 0; i < state_.places.size(); i++) {
    const SkipState::Place &place = state_.places[i];
    const uint64_t left = state_.even[place.index] + link.delta[place.index];
    if ((left > place.near ? ~uint64_t{0} : left) != link.to->places[i]) return false;
  }
  size_t count = 0;
  while (count < cuts_.size() && LoadRequest::cut_request(cuts_[count]) < link.delta[state_.loader])
    count++;
  return count == link.cuts.size() && std::equal(link.cuts.begin(), link.cuts.end(), cuts_.begin());
}

const Skip::Link *Skip::next(const Entry &from) {
  uint64_t requests = 0;
  for (const Link &link : from.links) requests = std::max(requests, link.delta[state_.loader]);
  cuts(from, state_.even, requests, &cuts_);
  for (const Link &link : from.links) {
    if (leads(link)) return &link;
  }
  return nullptr;
}

bool Skip::follow(Moving *moving, uint64_t *now, uint64_t end, uint64_t *shift) {
  Entry *at = find(*moving, *now);
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
    *moving = at->moving;
    *shift = *now - at->cycle;
  }
  last_ = at;
  known_ = link != nullptr;
  last_even_ = state_.even;
  last_cycle_ = *now;
  return moved;
}

}  // namespace ufp4::timing
