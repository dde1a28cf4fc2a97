// SPDX-License-Identifier: Apache-2.0
// Checks the core's guarantees on its buses in every run (docs/ip/interfaces.md).
//
// Checker, the memory bus: a valid payload is stable until it is accepted (AXI A3.2.1); bursts are
// INCR with full, aligned beats within 4 KiB (A3.4.1); wlast marks the last beat; nothing is valid
// in reset after its first clock edge (A3.1.2). It also checks IDs, the length and number of bursts
// in flight, which strobes may be off, and how far data may precede their addresses. PortChecker,
// the register port: each access gets one response, which is stable until it is accepted. The
// obligations of memory and host are not checked.
#ifndef UFP4_SIM_CHECKER_H
#define UFP4_SIM_CHECKER_H

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "core.h"
#include "limits.h"

namespace ufp4 {

/** The first violation. */
class Verdict {
 public:
  /** Empty if there was none. */
  const std::string &message() const {
    return message_;
  }

 protected:
  void fail(const char *channel, const char *rule);

 private:
  std::string message_;
};

class Checker : public Verdict {
 public:
  Checker(const Pins &pins, unsigned bus_bytes, const Limits &limits)
      : pins_(pins), bus_bytes_(bus_bytes), limits_(limits) {}

  /** Checks the pins before a clock edge. */
  void sample();
  /** Counts the rest of an ID's oldest read, or the response to a write, as lost: it will never
   * arrive. */
  void lost_read(unsigned id) {
    end(reading_, id);
  }
  void lost_write(unsigned id) {
    end(writing_, id);
  }
  /** Begins a soft reset, in which open bursts may end in beats without strobes. */
  void soft_reset() {
    soft_reset_ = true;
  }

 private:
  static constexpr unsigned kMaxBusBytes = 128;
  static constexpr unsigned kIds = 4;
  using Count = std::array<unsigned, kIds>;

  /** The address on a channel. */
  struct Address {
    bool stalled = false;
    uint64_t address = 0;
    uint8_t id = 0, len = 0;
  };
  /** A write burst whose address has been accepted. */
  struct Burst {
    unsigned id, beats;
  };
  /** The data of a write burst accepted so far. */
  struct Data {
    unsigned beats = 0;
    bool last = false;    // wlast has been seen
    bool on = false;      // strobe of the previous byte
    bool begun = false;   // a strobe was on
    bool gap = false;     // strobes were on, off, and on again
    bool empty = false;   // a beat had all strobes off
    unsigned places = 0;  // all positions where strobes change, ORed
  };

  void address_channel(const char *channel, Address &held, const std::array<IdLimits, kIds> &limits,
                       bool valid, bool ready, uint64_t address, uint8_t id, uint8_t len,
                       uint8_t size, uint8_t burst);
  static void end(Count &in_flight, unsigned id) {
    if (in_flight[id % kIds] > 0) in_flight[id % kIds]--;
  }
  void begin(const char *channel, const std::array<IdLimits, kIds> &limits, Count &in_flight,
             unsigned id);
  void read_channels();
  void write_channels();
  void data_channel();
  void beat();
  void strobes(Data &data) const;
  void match();
  void whole(const Burst &burst, const Data &data);
  void in_reset();

  const Pins &pins_;
  const unsigned bus_bytes_;
  const Limits limits_;
  Address read_, write_;
  Count reading_{}, writing_{};  // bursts in flight
  bool data_stalled_ = false;
  bool data_last_ = false;
  std::array<uint8_t, kMaxBusBytes> data_{};
  std::array<uint8_t, kMaxBusBytes / 8> strobes_{};
  // Writes whose address and data have not both been completely accepted, in order.
  std::deque<Burst> bursts_;
  std::deque<Data> bursts_data_;
  bool soft_reset_ = false;
  bool was_in_reset_ = false;
};

class PortChecker : public Verdict {
 public:
  explicit PortChecker(const Pins &pins) : pins_(pins) {}

  /** Checks the pins before a clock edge. */
  void sample();

 private:
  void in_reset();
  void reads();
  void writes();

  const Pins &pins_;
  unsigned read_addresses_ = 0, write_addresses_ = 0, write_data_ = 0;  // accepted, without
                                                                        // response yet
  bool read_stalled_ = false, write_stalled_ = false;
  uint32_t read_data_ = 0;
  bool was_in_reset_ = false;
};

}  // namespace ufp4

#endif
