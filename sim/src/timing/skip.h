// SPDX-License-Identifier: Apache-2.0
// Skips cycles that would repeat earlier ones. The states of a GEMM at the ends of its chunks, and
// of a QUANT at the ends of strips, are recorded with the changes during the cycles to the next
// one. Several cores on one bus (bus.h) have one joint state.
//
// Two states are the same if everything on which later cycles depend is equal (visit.h): the
// following cycles are then the same, too, and counts increase by the same amounts. This is exact
// as long as no loop approaches its end in either of the two; the remaining distance is part of the
// state. It also requires that pages cut the same bursts of operands in both: rows whose length is
// not a power of two lie differently in their pages, but few of them are cut.
#ifndef UFP4_TIMING_SKIP_H
#define UFP4_TIMING_SKIP_H

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ufp4::timing {

struct Moving;

/** A state split into its components. */
struct SkipState {
  /** The remainder of a loop, at an index of `even`; it matters from `near` on. */
  struct Place {
    uint32_t index;
    uint64_t near, most;
    uint32_t outer;
  };
  std::vector<uint64_t> key, even;
  /** The position in `even` of a core's loader, which begins with its count of requests. */
  struct Loader {
    uint32_t index;
    bool is_cut;  // pages may cut its bursts
  };
  std::vector<Place> places;
  std::vector<Loader> loaders;  // by core
};

/** Splits a state: exact() and the like add to the key, and values that increase evenly to
 * `even`. */
class SkipReader {
 public:
  explicit SkipReader(SkipState &state) : state_(state) {
    state_.key.clear();
    state_.even.clear();
    state_.places.clear();
    state_.loaders.clear();
  }

  /** Begins the state of a core in its cycle @p now. */
  void of(uint64_t now) {
    now_ = now;
  }
  void exact(uint64_t x) {
    state_.key.push_back(x);
  }
  void count(uint64_t x) {
    state_.even.push_back(x);
  }
  void due(uint64_t x) {
    exact(x - now_);
  }
  void wheel(uint32_t x, uint32_t base) {
    exact((x - base) & 7);
    count(x);
  }
  void place(uint32_t x, uint32_t most, uint32_t outer = 0) {
    const SkipState::Place place{static_cast<uint32_t>(state_.even.size()), kNear * uint64_t{most},
                                 most, outer};
    state_.places.push_back(place);
    exact(x > place.near ? ~uint64_t{0} : x);
    count(x);
  }
  void address(uint64_t x, uint64_t mask) {
    exact(x & mask);
    count(x);
  }
  template <typename Loader>
  void ahead(const Loader &loader) {
    state_.loaders.push_back({static_cast<uint32_t>(state_.even.size()), loader.may_be_cut()});
  }
  template <typename Queue, typename Function>
  void queue(Queue &queue, Function function) {
    exact(queue.size());
    for (auto &element : queue) function(element);
  }

  uint32_t tiles = 0;

 private:
  // During a recorded stretch a loop advances by at most one of two steps.
  static constexpr uint64_t kNear = 2;
  SkipState &state_;
  uint64_t now_ = 0;
};

/** Restores evenly increasing values of a recorded state, `shift` cycles later. */
class SkipWriter {
 public:
  SkipWriter(const uint64_t *even, uint64_t shift) : next_(even), shift_(shift) {}

  void exact(uint64_t) {}
  template <typename T>
  void count(T &x) {
    x = static_cast<T>(*next_++);
  }
  void due(uint64_t &x) {
    x += shift_;
  }
  void wheel(uint32_t &x, uint32_t) {
    count(x);
    x &= 7;
  }
  void place(uint32_t &x, uint32_t, uint32_t = 0) {
    count(x);
  }
  template <typename T>
  void address(T &x, uint64_t) {
    count(x);
  }
  template <typename Loader>
  void ahead(const Loader &) {}
  template <typename Queue, typename Function>
  void queue(Queue &queue, Function function) {
    for (auto &element : queue) function(element);
  }

  uint32_t tiles = 0;

 private:
  const uint64_t *next_;
  uint64_t shift_;
};

/** A copy starts without recorded states. */
class Skip {
 public:
  Skip();
  Skip(const Skip &) : Skip() {}
  ~Skip();

  /** Forgets the recorded states, because a job has started. */
  void forget();
  /** Breaks the chain of states, because of an event outside the regular progress of the job. */
  void interrupt() {
    last_ = nullptr;
  }
  /** Returns whether a state at @p now is worth checking. */
  bool wanted(uint64_t now) const {
    return last_ == nullptr || now - last_cycle_ >= kStretch;
  }
  SkipState &state() {
    return state_;
  }
  /**
   * Follows recorded links from state(), the state of @p moving (by core) at *now, not beyond @p
   * end. @return whether these and *now have advanced; state().even then has the evenly
   * increasing values, and *shift the difference to the recorded cycles.
   */
  bool follow(const std::vector<Moving *> &moving, uint64_t *now, uint64_t end, uint64_t *shift);

 private:
  // Checking a state costs as much as some tens of cycles.
  static constexpr uint64_t kStretch = 256;
  static constexpr size_t kMost = 4096;  // recorded states, of all cores

  using Cuts = std::vector<std::vector<uint64_t>>;  // by core
  struct Entry;
  struct Link;
  struct Hash {
    size_t operator()(const std::vector<uint64_t> &key) const;
  };

  Entry *find(const std::vector<Moving *> &moving, uint64_t now);
  void link(Entry *to, uint64_t now);
  bool even_enough(const std::vector<uint64_t> &delta) const;
  /** Finds the next requests of each loader that pages cut, from that state with that much
   * progress. */
  void cuts(const Entry &from, const std::vector<uint64_t> &even,
            const std::vector<uint64_t> &requests, Cuts *found) const;
  bool leads(const Link &link) const;
  const Link *next(const Entry &from);

  std::unordered_map<std::vector<uint64_t>, std::unique_ptr<Entry>, Hash> entries_;
  SkipState state_;
  Cuts cuts_;                        // of next()
  bool known_ = false;               // whether the successor of last_ is recorded
  Entry *last_ = nullptr;            // the last checked state
  std::vector<uint64_t> last_even_;  // its `even` at that moment
  uint64_t last_cycle_ = 0;
};

}  // namespace ufp4::timing

#endif
