// SPDX-License-Identifier: Apache-2.0
// Checks in every run what the core promises on its buses (docs/ip/interfaces.md).
//
// Checker, the memory bus: a valid payload stays until it is taken (AXI A3.2.1), bursts are full
// beats, aligned, INCR and inside 4 KiB (A3.4.1), wlast marks the last beat, nothing is valid in
// reset after its first clock edge (A3.1.2); the IDs, how long their bursts are and how many are in
// flight, which strobes may be off, how far data are ahead of their addresses. PortChecker, the
// registers: each access is answered once, and the answer stays until it is taken. What memory and
// host owe is not checked.
#ifndef UFP4_SIM_CHECKER_H
#define UFP4_SIM_CHECKER_H

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "core.h"
#include "limits.h"

namespace ufp4 {

/** The first broken rule. */
class Verdict {
 public:
  /** Empty if none was. */
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

  /** Looks at the pins before a clock edge. */
  void sample();
  /** The memory has lost the rest of the oldest read of an ID, or the answer to a write: nothing
   * more will come. */
  void lost_read(unsigned id) {
    end(reading_, id);
  }
  void lost_write(unsigned id) {
    end(writing_, id);
  }
  /** A soft reset begins: bursts that have begun may end in beats without strobes. */
  void soft_reset() {
    soft_reset_ = true;
  }

 private:
  static constexpr unsigned kMaxBusBytes = 128;
  static constexpr unsigned kIds = 4;
  using Count = std::array<unsigned, kIds>;

  /** The address that a channel offers. */
  struct Address {
    bool stalled = false;
    uint64_t address = 0;
    uint8_t id = 0, len = 0;
  };
  /** A write burst whose address has been taken. */
  struct Burst {
    unsigned id, beats;
  };
  /** The data of a write burst, as far as they have been taken. */
  struct Data {
    unsigned beats = 0;
    bool last = false;    // wlast has come
    bool on = false;      // the strobe of the byte before
    bool begun = false;   // a strobe was on
    bool gap = false;     // one was on, one off, and one on
    bool empty = false;   // all of a beat were off
    unsigned places = 0;  // where strobes go on or off, all ORed
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
  // Writes whose address and data have not both been taken whole, in order.
  std::deque<Burst> bursts_;
  std::deque<Data> bursts_data_;
  bool soft_reset_ = false;
  bool was_in_reset_ = false;
};

class PortChecker : public Verdict {
 public:
  explicit PortChecker(const Pins &pins) : pins_(pins) {}

  /** Looks at the pins before a clock edge. */
  void sample();

 private:
  void in_reset();
  void reads();
  void writes();

  const Pins &pins_;
  unsigned read_addresses_ = 0, write_addresses_ = 0, write_data_ = 0;  // taken, and not answered
  bool read_stalled_ = false, write_stalled_ = false;
  uint32_t read_data_ = 0;
  bool was_in_reset_ = false;
};

}  // namespace ufp4

#endif
