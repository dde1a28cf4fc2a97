// SPDX-License-Identifier: Apache-2.0
// What AXI4 asks of a master, checked in every run: a valid payload stays until it is taken (A3.2.1), bursts are full
// beats, aligned, INCR and inside 4 KiB (A3.4.1), wlast marks the last beat, nothing is valid in reset after
// its first clock edge (A3.1.2).
#ifndef UFP4_SIM_CHECKER_H
#define UFP4_SIM_CHECKER_H

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "core.h"

namespace ufp4 {

class Checker {
 public:
  Checker(const Pins &pins, unsigned bus_bytes) : pins_(pins), bus_bytes_(bus_bytes) {}

  /** Looks at the pins before a clock edge. */
  void sample();
  /** The first broken rule; empty if none was. */
  const std::string &message() const {
    return message_;
  }

 private:
  static constexpr unsigned kMaxBusBytes = 128;
  /** An address channel, or a beat of data with its strobes. */
  struct Address {
    bool stalled = false;
    uint64_t address = 0;
    uint8_t id = 0, len = 0;
  };

  void fail(const char *channel, const char *rule);
  void address_channel(const char *channel, Address &held, bool valid, bool ready, uint64_t address, uint8_t id,
                       uint8_t len, uint8_t size, uint8_t burst);
  void data_channel();
  void in_reset();

  const Pins &pins_;
  const unsigned bus_bytes_;
  Address read_, write_;
  bool data_stalled_ = false;
  bool data_last_ = false;
  std::array<uint8_t, kMaxBusBytes> data_{};
  std::array<uint8_t, kMaxBusBytes / 8> strobes_{};
  std::deque<unsigned> lengths_;  // of write bursts whose last beat has not been
  unsigned beat_ = 0;
  bool was_in_reset_ = false;
  std::string message_;
};

}  // namespace ufp4

#endif
