// SPDX-License-Identifier: Apache-2.0
// The control of the memory masters, which decides whose burst is issued and whose beats return.
// Mirrors ufp4_axi_read, ufp4_axi_write, ufp4_axi_burst, ufp4_arbiter, ufp4_skid.
#ifndef UFP4_TIMING_MASTERS_H
#define UFP4_TIMING_MASTERS_H

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "memory_timing.h"
#include "timeline.h"
#include "timing/mem/ring.h"
#include "timing/visit.h"
#include "ufp4/spec.h"

namespace ufp4::timing {

struct Request {
  bool valid = false;
  uint64_t address = 0;
  uint32_t beats = 0;
};

/** Mirrors ufp4_skid. */
template <typename T>
struct Skid {
  bool main_valid = false, skid_valid = false;
  T main{}, skid{};

  bool in_ready() const {
    return !skid_valid;
  }

  void step(bool in_valid, const T &in, bool out_ready) {
    if (out_ready || !main_valid) {
      if (skid_valid) {
        main = skid;
      } else if (in_valid) {
        main = in;
      }
      main_valid = skid_valid || in_valid;
      skid_valid = false;
    } else if (in_valid && !skid_valid) {
      skid = in;
      skid_valid = true;
    }
  }
};

/** The address matters only to a memory with banks, with which no cycle is skipped. */
struct Burst {
  uint8_t id;
  uint32_t beats;
  uint64_t address;
};

/** Mirrors ufp4_axi_burst, with the choice of ufp4_arbiter: by priority, or round-robin. */
class BurstCutter {
 public:
  BurstCutter(uint32_t clients, uint32_t bus_bytes, bool ranked);
  void reset() {
    busy_ = false;
    last_ = 0;
  }

  bool busy() const {
    return busy_;
  }
  uint8_t id() const {
    return id_;
  }
  /** Returns the burst that is issued now, while busy(). */
  Burst burst() const {
    return {id_, piece(), address_};
  }
  /** Chooses a client. @p ready: the stream of bursts is ready. @return the client whose request is
   * accepted; -1: none. */
  int choose(const bool *valid, bool ready) const;
  /** Simulates a cycle. @p request: the request of client @p taken, if there is one. */
  void step(const Request &request, int taken, bool ready);

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(busy_);
    v.exact(id_);
    v.exact(last_);
    v.exact(busy_ ? beats_ : 0);
    v.exact(busy_ && beats_ > to_boundary() ? address_ % kPage : 0);
  }

 private:
  uint32_t to_boundary() const {
    return static_cast<uint32_t>(kPage - address_ % kPage) >> bus_log2_;
  }
  uint32_t piece() const {
    const uint32_t left = to_boundary();
    return beats_ < left ? beats_ : left;
  }

  uint32_t clients_, bus_log2_;
  bool ranked_, busy_ = false;
  uint8_t id_ = 0, last_ = 0;
  uint64_t address_ = 0;
  uint32_t beats_ = 0;
};

/** The guard's orders to the masters (guard.h): halt, begin no burst; flush, also ignore the
 * clients; forget, give up missing transfers. */
struct Curb {
  bool halt = false, flush = false, forget = false;

  bool any() const {
    return halt || flush;
  }
};

/** The bus errors recorded for an engine's job. */
class BusErrors {
 public:
  bool any() const {
    return read_ || write_;
  }
  uint32_t bits() const {
    return read_ | write_ << 1;
  }
  uint16_t status() const {
    return read_    ? UFP4_CORE_STATUS_READ_ERROR
           : write_ ? UFP4_CORE_STATUS_WRITE_ERROR
                    : UFP4_CORE_STATUS_OK;
  }
  void add(bool read, bool write) {
    read_ = read_ || read;
    write_ = write_ || write;
  }

 private:
  bool read_ = false, write_ = false;
};

/** Mirrors ufp4_axi_read. */
class ReadMaster {
 public:
  static constexpr uint32_t kClients = 4;
  explicit ReadMaster(uint32_t bus_bytes) : cutter_(kClients, bus_bytes, true) {}

  /** Computes this cycle from the registers and the requesting clients. */
  void evaluate(const bool *valid, const Curb &curb) {
    curb_ = curb;
    may_begin_ = !curb.any() && count_[cutter_.id()] != kMost;
    taken_ = cutter_.choose(valid, ar_.in_ready() && may_begin_);
  }
  /** Returns the client whose request is accepted; -1: none. */
  int taken() const {
    return taken_;
  }
  bool req_ready(int client) const {
    return taken_ == client;
  }
  /** Returns the client whose beat is present; -1: none. */
  int beat() const {
    return r_.main_valid && !curb_.flush && count_[r_.main.id] != 0 ? r_.main.id : -1;
  }
  /** Returns whether the response of that beat is an error. */
  bool error() const {
    return r_.main.err;
  }
  bool sending() const {
    return ar_.main_valid;
  }
  /** Returns whether a burst has begun whose last beat has not arrived. */
  bool pending() const {
    bool any = false;
    for (uint32_t count : count_) any = any || count != 0;
    return any;
  }
  void drive(MemoryMaster &pins) const;
  /** Simulates a cycle. @p request: the request of taken(). @p take: the present beat is
   * accepted. */
  void step(const Request &request, bool take, const MemorySlave &pins);

  template <typename Visitor>
  void visit(Visitor &v) {
    cutter_.visit(v);
    v.exact(ar_.main_valid | ar_.skid_valid << 1 | r_.main_valid << 2 | r_.skid_valid << 3);
    if (ar_.main_valid) v.exact(ar_.main.id | ar_.main.beats << 4);
    if (ar_.skid_valid) v.exact(ar_.skid.id | ar_.skid.beats << 4);
    if (r_.main_valid) v.exact(r_.main.id | r_.main.last << 4 | r_.main.err << 5);
    if (r_.skid_valid) v.exact(r_.skid.id | r_.skid.last << 4 | r_.skid.err << 5);
    for (uint32_t &count : count_) v.exact(count);
  }

 private:
  static constexpr uint32_t kMost = 1023;
  struct Beat {
    uint8_t id;
    bool last, err;
  };
  BurstCutter cutter_;
  Skid<Burst> ar_;
  Skid<Beat> r_;
  Curb curb_;
  uint32_t count_[kClients] = {};
  bool may_begin_ = false;
  int taken_ = -1;
};

/** Mirrors ufp4_axi_write. */
class WriteMaster {
 public:
  static constexpr uint32_t kClients = 3;
  explicit WriteMaster(uint32_t bus_bytes) : cutter_(kClients, bus_bytes, false) {}

  void evaluate(const bool *valid, const Curb &curb) {
    curb_ = curb;
    burst_ready_ = !curb.any() && aw_.in_ready() && !order_.full() && count_[cutter_.id()] != kMost;
    taken_ = cutter_.choose(valid, burst_ready_);
  }
  int taken() const {
    return taken_;
  }
  bool req_ready(int client) const {
    return taken_ == client;
  }
  bool dat_ready(int client) const {
    return !order_.empty() && order_.front().id == client && w_.in_ready() && !curb_.flush;
  }
  bool idle(int client) const {
    return !(cutter_.busy() && cutter_.id() == client) && count_[client] == 0;
  }
  bool answer(int client) const {
    return b_valid_ && b_id_ == client && count_[client] != 0;
  }
  /** Returns whether the client's answer is an error. */
  bool error(int client) const {
    return answer(client) && b_err_;
  }
  /** Returns whether a burst has begun that has not been answered. */
  bool pending() const {
    bool any = false;
    for (uint32_t count : count_) any = any || count != 0;
    return any;
  }
  bool sending() const {
    return aw_.main_valid || w_.main_valid || !order_.empty();
  }
  void look(const bool *dat_valid, CoreSigns &signs) const;
  void drive(MemoryMaster &pins) const;
  void step(const Request &request, const bool *dat_valid, const MemorySlave &pins);

  template <typename Visitor>
  void visit(Visitor &v) {
    cutter_.visit(v);
    v.exact(aw_.main_valid | aw_.skid_valid << 1 | w_.main_valid << 2 | w_.skid_valid << 3 |
            b_valid_ << 4);
    if (aw_.main_valid) v.exact(aw_.main.id | aw_.main.beats << 4);
    if (aw_.skid_valid) v.exact(aw_.skid.id | aw_.skid.beats << 4);
    v.exact(b_id_ | b_err_ << 4);
    v.exact(beat_);
    for (uint32_t &count : count_) v.exact(count);
    order_.visit(v, [&v](Order &order) { v.exact(order.id | order.beats << 4); });
  }

 private:
  static constexpr uint32_t kMost = 255;
  struct Order {
    uint8_t id;
    uint32_t beats;
  };
  BurstCutter cutter_;
  Skid<Burst> aw_;
  Skid<bool> w_;
  Curb curb_;
  Ring<Order, 16> order_;
  uint32_t beat_ = 0, count_[kClients] = {};
  bool burst_ready_ = false, b_valid_ = false, b_err_ = false;
  uint8_t b_id_ = 0;
  int taken_ = -1;
};

// Inline, because these functions are called in every cycle.

inline int BurstCutter::choose(const bool *valid, bool ready) const {
  if (busy_ && !(ready && beats_ <= to_boundary())) return -1;
  int first = -1;
  for (uint32_t i = 0; i < clients_; i++) {
    if (!valid[i]) continue;
    if (ranked_ || i > last_) return static_cast<int>(i);
    if (first < 0) first = static_cast<int>(i);
  }
  return first;
}

inline void BurstCutter::step(const Request &request, int taken, bool ready) {
  if (taken >= 0) {
    busy_ = true;
    id_ = last_ = static_cast<uint8_t>(taken);
    address_ = request.address;
    beats_ = request.beats;
  } else if (busy_ && ready) {
    const uint32_t out = piece();
    busy_ = beats_ > out;
    address_ += uint64_t{out} << bus_log2_;
    beats_ -= out;
  }
}

inline void ReadMaster::drive(MemoryMaster &pins) const {
  pins.arvalid = ar_.main_valid;
  pins.arid = ar_.main.id;
  pins.arbeats = ar_.main.beats;
  pins.araddr = ar_.main.address;
  pins.rready = r_.in_ready();
}

inline void ReadMaster::step(const Request &request, bool take, const MemorySlave &pins) {
  if (curb_.forget) std::fill(std::begin(count_), std::end(count_), 0);
  if (taken_ < 0 && !cutter_.busy() && !ar_.main_valid && !r_.main_valid && !pins.rvalid) return;
  const bool go = cutter_.busy() && may_begin_, taken = ar_.in_ready();
  const Burst burst = cutter_.burst();
  const int client = beat();
  const bool drop = r_.main_valid && client < 0;
  if ((drop || (client >= 0 && take)) && r_.main.last && count_[r_.main.id] != 0) {
    count_[r_.main.id]--;
  }
  if (go && taken) count_[burst.id]++;
  cutter_.step(request, taken_, taken && may_begin_);
  if (curb_.flush) cutter_.reset();
  ar_.step(go, burst, pins.arready);
  r_.step(pins.rvalid, {pins.rid, pins.rlast, pins.rerr}, take || drop);
}

inline void WriteMaster::drive(MemoryMaster &pins) const {
  pins.awvalid = aw_.main_valid;
  pins.awid = aw_.main.id;
  pins.awbeats = aw_.main.beats;
  pins.awaddr = aw_.main.address;
  pins.wvalid = w_.main_valid;
  pins.bready = true;
}

inline void WriteMaster::step(const Request &request, const bool *dat_valid,
                              const MemorySlave &pins) {
  if (curb_.forget) std::fill(std::begin(count_), std::end(count_), 0);
  if (taken_ < 0 && !cutter_.busy() && order_.empty() && !aw_.main_valid && !w_.main_valid &&
      !b_valid_ && !pins.bvalid) {
    return;
  }
  const bool fire = cutter_.busy() && burst_ready_;
  const Burst burst = cutter_.burst();
  const bool w_valid = !order_.empty() && (dat_valid[order_.front().id] || curb_.flush);
  const bool w_ready = w_.in_ready();
  if (b_valid_ && count_[b_id_] != 0) count_[b_id_]--;
  if (fire) count_[burst.id]++;
  w_.step(w_valid, true, pins.wready);
  if (w_valid && w_ready) {
    if (++beat_ == order_.front().beats) {
      beat_ = 0;
      order_.pop();
    }
  }
  if (fire) order_.push({burst.id, burst.beats});
  cutter_.step(request, taken_, burst_ready_);
  if (curb_.flush) cutter_.reset();
  aw_.step(fire, burst, pins.awready);
  b_valid_ = pins.bvalid;
  b_id_ = pins.bid;
  b_err_ = pins.berr;
}

}  // namespace ufp4::timing

#endif
