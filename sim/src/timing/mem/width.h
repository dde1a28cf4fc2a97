// SPDX-License-Identifier: Apache-2.0
// Width conversion of a memory client that is narrower or wider than the bus; one of the same width
// passes through. WidthRead mirrors ufp4_width_read, WidthWrite ufp4_width_write.
#ifndef UFP4_TIMING_WIDTH_H
#define UFP4_TIMING_WIDTH_H

#include <cstdint>

#include "timing/mem/masters.h"
#include "timing/mem/ring.h"

namespace ufp4::timing {

/** Converts requests of a narrower client to those of the bus, and records what remains of
 * each. */
class WidthNotes {
 public:
  WidthNotes(uint32_t client_bytes, uint32_t bus_bytes)
      : client_bytes_(client_bytes),
        parts_(bus_bytes > client_bytes ? bus_bytes / client_bytes : 1) {}

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
  /** Returns whether a beat taken now is the last of its request, or of its bus beat. */
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
  /** Simulates a cycle. @p fired: the client's request is accepted. @p take: a beat of the client
   * is accepted. */
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
    notes_.visit(v, [&v](Note &note) { v.exact(note.part | note.beats << 8); });
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

/** The parts into which beats of a wider client are split. */
class WidthParts {
 public:
  WidthParts(uint32_t client_bytes, uint32_t bus_bytes)
      : parts_(client_bytes > bus_bytes ? client_bytes / bus_bytes : 1) {}

  bool several() const {
    return parts_ > 1;
  }
  Request request(const Request &client) const {
    return {client.valid, client.address, client.beats * parts_};
  }
  bool last() const {
    return part_ + 1 == parts_;
  }
  void reset() {
    part_ = 0;
  }
  void step(bool take) {
    if (take) part_ = last() ? 0 : part_ + 1;
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.exact(part_);
  }

 private:
  uint32_t parts_, part_ = 0;
};

/** The width converter of a read client that accepts each beat at once. */
class WidthRead {
 public:
  WidthRead(uint32_t client_bytes, uint32_t bus_bytes)
      : notes_(client_bytes, bus_bytes), parts_(client_bytes, bus_bytes) {}

  bool can_ask() const {
    return notes_.can_ask();
  }
  Request request(const Request &client) const {
    return parts_.several() ? parts_.request(client) : notes_.request(client);
  }
  /** Returns whether the client gets a beat. */
  bool valid(bool bus_valid) const {
    return bus_valid && (notes_.same() ? parts_.last() : notes_.note());
  }
  /** Returns whether that beat has an error. */
  bool error(bool bus_valid, bool bus_error) const {
    return valid(bus_valid) && (bus_error || error_);
  }
  /** Returns whether this is the last use of the bus beat. */
  bool bus_ready() const {
    return notes_.same() || !notes_.note() || notes_.ends();
  }
  void reset() {
    notes_.reset();
    parts_.reset();
    error_ = false;
  }
  void step(const Request &client, bool fired, bool bus_valid, bool bus_error) {
    if (!notes_.same()) {
      notes_.step(client, fired, valid(bus_valid));
    } else if (parts_.several()) {
      if (bus_valid) error_ = !parts_.last() && (bus_error || error_);
      parts_.step(bus_valid);
    }
  }
  template <typename Visitor>
  void visit(Visitor &v) {
    notes_.visit(v);
    parts_.visit(v);
    v.exact(error_);
  }

 private:
  WidthNotes notes_;
  WidthParts parts_;
  bool error_ = false;  // in an earlier part
};

class WidthWrite {
 public:
  WidthWrite(uint32_t client_bytes, uint32_t bus_bytes)
      : notes_(client_bytes, bus_bytes), parts_(client_bytes, bus_bytes) {}

  bool valid(bool client_valid) const {
    return client_valid && notes_.can_ask();
  }
  Request request(const Request &client) const {
    return parts_.several() ? parts_.request(client) : notes_.request(client);
  }
  bool dat_valid(bool client_valid) const {
    return same() ? client_valid : full_;
  }
  bool dat_ready(bool bus_ready) const {
    if (same()) return bus_ready;
    if (parts_.several()) return !full_ || (parts_.last() && bus_ready);
    return notes_.note() && (!full_ || bus_ready);
  }
  bool idle(bool bus_idle) const {
    return bus_idle && (same() || (!notes_.note() && !full_));
  }
  void reset() {
    notes_.reset();
    parts_.reset();
    full_ = false;
  }
  void step(const Request &client, bool fired, bool client_valid, bool bus_ready) {
    if (same()) return;
    const bool take = client_valid && dat_ready(bus_ready);
    if (parts_.several()) {
      const bool gone = full_ && bus_ready, all = gone && parts_.last();
      parts_.step(gone);
      full_ = take || (full_ && !all);
      return;
    }
    const bool ends = take && notes_.ends();
    notes_.step(client, fired, take);
    full_ = ends || (full_ && !bus_ready);
  }
  template <typename Visitor>
  void visit(Visitor &v) {
    notes_.visit(v);
    parts_.visit(v);
    v.exact(full_);
  }

 private:
  bool same() const {
    return notes_.same() && !parts_.several();
  }

  WidthNotes notes_;
  WidthParts parts_;
  bool full_ = false;
};

}  // namespace ufp4::timing

#endif
