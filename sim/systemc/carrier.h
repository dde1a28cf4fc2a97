// SPDX-License-Identifier: Apache-2.0
// Carries bursts from a core to their target: by b_transport, each from a thread, or by the four
// phases of nb_transport.
#ifndef UFP4_SYSTEMC_CARRIER_H
#define UFP4_SYSTEMC_CARRIER_H

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ufp4_systemc.h"

namespace ufp4 {

namespace timing {
struct BegunBurst;
}

struct Burst {
  tlm::tlm_generic_payload payload;
  std::vector<uint8_t> data, enables;
  size_t filled = 0;  // bytes of a write that have arrived
  // The target got the burst in cycle `began`, at `start`; the bus has its response from `due` on.
  uint64_t began = 0, due = ~uint64_t{0};
  sc_core::sc_time start;
  uint8_t response = 0;
  bool answered = false;
  sc_core::sc_event *done = nullptr;  // notified when it is complete
};
using BurstPtr = std::shared_ptr<Burst>;

/** Makes a burst that only takes time: a write changes no byte. @p done is notified when it is
 * answered. */
BurstPtr make_burst(const timing::BegunBurst &begun, sc_core::sc_event &done);

class Carrier {
 public:
  virtual ~Carrier() = default;
  /** Sends a burst from a thread, which continues in the next delta cycle. A target that does not
   * let time pass has answered by then. */
  virtual void launch(const BurstPtr &burst) = 0;
  /** Handles the target's calls on the socket. */
  virtual tlm::tlm_sync_enum answer(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                    sc_core::sc_time &delay) = 0;
};

using MemorySocket = tlm_utils::simple_initiator_socket<Ufp4Core>;

std::unique_ptr<Carrier> make_blocking_carrier(MemorySocket &socket, sc_core::sc_time period);
std::unique_ptr<Carrier> make_non_blocking_carrier(MemorySocket &socket, sc_core::sc_time period);

}  // namespace ufp4

#endif
