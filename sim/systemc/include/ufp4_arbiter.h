// SPDX-License-Identifier: Apache-2.0
// Several initiators share one TLM-2.0 target in a defined order.
#ifndef UFP4_ARBITER_H
#define UFP4_ARBITER_H

#include <deque>
#include <vector>

#include "ufp4_systemc.h"

/**
 * Serves transactions in the order of their times, and those of the same instant round-robin: one
 * transaction of each port that has any, starting behind the port that was served last, until none
 * is left. Transactions of one port keep their order. A run therefore does not depend on the order
 * in which the kernel wakes processes, nor on which core module is behind a port.
 *
 * The arbiter takes transactions by b_transport from threads, and nb_transport as the sockets of
 * tlm_utils convert it. A transaction first waits for its annotated delay, and then for one time
 * resolution of the kernel, so that all transactions of the same instant have arrived; its own
 * thread then takes it to the target. Several transactions can therefore be under way at once, and
 * one that the target delays does not delay the others. The target sees all of them one resolution
 * late, and the arbiter subtracts this from the delay that the target adds. The arbiter is thus
 * invisible in time, unless the target waits instead of adding to the delay, or adds less than one
 * resolution. It decides only the order; the target decides how long a transaction waits for
 * others.
 *
 * transport_dbg and direct memory access pass through without order or time.
 */
class UFP4_SYSTEMC_API Ufp4Arbiter final : public sc_core::sc_module {
 public:
  using Port = tlm_utils::simple_target_socket_tagged<Ufp4Arbiter>;

  sc_core::sc_vector<Port> from;
  tlm_utils::simple_initiator_socket<Ufp4Arbiter> to;

  /** @p ports: the number of initiators, at least one. Each binds to an element of `from`; its
   * index is its turn. */
  Ufp4Arbiter(const sc_core::sc_module_name &name, unsigned ports);
  ~Ufp4Arbiter() override;

 private:
  struct Request {
    sc_core::sc_time at;
    sc_core::sc_event granted;
    /** Removes the request from the queue when its thread, which may be killed while it waits,
     * ends. */
    std::deque<Request *> *queue = nullptr;
    ~Request();
  };

  void b_transport(int port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
  unsigned transport_dbg(int port, tlm::tlm_generic_payload &payload);
  bool get_direct_mem_ptr(int port, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi);
  void invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last);
  void grant();
  Request *next();

  std::vector<std::deque<Request *>> waiting_;  // by port
  size_t last_;                                 // the port that was served last
  sc_core::sc_event arrived_;
};

#endif
