// SPDX-License-Identifier: Apache-2.0
// A memory client that is narrower than the bus; one that is as wide passes through.
// WidthRead mirrors ufp4_width_read, WidthWrite ufp4_width_write.
#ifndef UFP4_TIMING_WIDTH_H
#define UFP4_TIMING_WIDTH_H

#include <cstdint>

#include "timing/mem/masters.h"
#include "timing/mem/ring.h"

namespace ufp4::timing {

/** The requests of a client, as those of the bus, and what each still owes. */
class WidthNotes {
 public:
  WidthNotes(uint32_t client_bytes, uint32_t bus_bytes)
      : client_bytes_(client_bytes), parts_(bus_bytes / client_bytes) {}

  bool same() const {
    return parts_ == 1;
  }
  Request request(const Request &client) const {
    if (same()) return client;
    const uint32_t first = part_of(client);
    return {client.valid, client.address - first * client_bytes_,
            (client.beats + first + parts_ - 1) / parts_};
  }
  bool can_ask() const {
    return same() || !notes_.full();
  }
  bool note() const {
    return !notes_.empty();
  }
  /** Whether a beat taken now is the last of its request, or of its beat of the bus. */
  bool done() const {
    return left() == 1;
  }
  bool ends() const {
    return done() || part() == parts_ - 1;
  }
  void reset() {
    notes_.clear();
    started_ = false;
  }
  /** @p fired: the client's request is taken; @p take: one of its beats is. */
  void step(const Request &client, bool fired, bool take) {
    if (take) {
      const uint32_t next = (part() + 1) % parts_, rest = left() - 1;
      started_ = rest != 0;
      part_ = next;
      left_ = rest;
      if (rest == 0) notes_.pop();
    }
    if (fired) notes_.push({part_of(client), client.beats});
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    notes_.each([&v](Note &note) { v.exact(note.part | note.beats << 8); });
    v.exact(started_ ? 1 | part_ << 1 | left_ << 8 : 0);
  }

 private:
  struct Note {
    uint32_t part, beats;
  };
  uint32_t part_of(const Request &client) const {
    return static_cast<uint32_t>(client.address / client_bytes_ % parts_);
  }
  uint32_t part() const {
    return started_ ? part_ : notes_.front().part;
  }
  uint32_t left() const {
    return started_ ? left_ : notes_.front().beats;
  }

  uint32_t client_bytes_, parts_;
  Ring<Note, 32> notes_;
  bool started_ = false;
  uint32_t part_ = 0, left_ = 0;
};

class WidthRead {
 public:
  WidthRead(uint32_t client_bytes, uint32_t bus_bytes) : notes_(client_bytes, bus_bytes) {}

  bool can_ask() const {
    return notes_.can_ask();
  }
  Request request(const Request &client) const {
    return notes_.request(client);
  }
  /** Whether the client, who takes each beat at once, gets one, and whether it is the bus's last
   * use. */
  bool valid(bool bus_valid) const {
    return bus_valid && (notes_.same() || notes_.note());
  }
  bool bus_ready() const {
    return notes_.same() || !notes_.note() || notes_.ends();
  }
  void reset() {
    notes_.reset();
  }
  void step(const Request &client, bool fired, bool bus_valid) {
    if (!notes_.same()) notes_.step(client, fired, valid(bus_valid));
  }
  template <typename Visitor>
  void visit(Visitor &v) {
    notes_.visit(v);
  }

 private:
  WidthNotes notes_;
};

class WidthWrite {
 public:
  WidthWrite(uint32_t client_bytes, uint32_t bus_bytes) : notes_(client_bytes, bus_bytes) {}

  bool valid(bool client_valid) const {
    return client_valid && notes_.can_ask();
  }
  Request request(const Request &client) const {
    return notes_.request(client);
  }
  bool dat_valid(bool client_valid) const {
    return notes_.same() ? client_valid : full_;
  }
  bool dat_ready(bool bus_ready) const {
    return notes_.same() ? bus_ready : notes_.note() && (!full_ || bus_ready);
  }
  bool idle(bool bus_idle) const {
    return bus_idle && (notes_.same() || (!notes_.note() && !full_));
  }
  void reset() {
    notes_.reset();
    full_ = false;
  }
  void step(const Request &client, bool fired, bool client_valid, bool bus_ready) {
    if (notes_.same()) return;
    const bool take = client_valid && dat_ready(bus_ready), ends = take && notes_.ends();
    notes_.step(client, fired, take);
    full_ = ends || (full_ && !bus_ready);
  }
  template <typename Visitor>
  void visit(Visitor &v) {
    notes_.visit(v);
    v.exact(full_);
  }

 private:
  WidthNotes notes_;
  bool full_ = false;
};

}  // namespace ufp4::timing

#endif
