// SPDX-License-Identifier: Apache-2.0
// Several initiators in front of one TLM-2.0 target, in an order that is defined.
#ifndef UFP4_ARBITER_H
#define UFP4_ARBITER_H

#include <deque>
#include <vector>

#include "ufp4_systemc.h"

/**
 * Serves what comes to its ports by time, and what comes at the same instant in turn: one
 * transaction of each port that has any, beginning behind the port that was served last, until none
 * is left. Those of one port keep their order. So a run does not depend on the order in which the
 * kernel wakes processes, nor on which module of the core is behind a port.
 *
 * It is for transactions by b_transport, of threads, and for nb_transport as the sockets of
 * tlm_utils turn it into that. A transaction first waits for the delay that it comes with; then for
 * one time resolution of the kernel, after which all of its instant are here; then its own thread
 * takes it to the target. So several can be under way at once, and one that the target holds up
 * holds up no other. The target sees all of them one resolution late, and the arbiter takes that
 * off the delay that the target adds: what comes back is as if it had not been there, unless the
 * target waits instead of adding to the delay, or adds less than a resolution. The order is all
 * that it decides: the time that a transaction has to wait for others is the target's to say.
 *
 * transport_dbg and direct memory pass without order or time.
 */
class UFP4_SYSTEMC_API Ufp4Arbiter final : public sc_core::sc_module {
 public:
  using Port = tlm_utils::simple_target_socket_tagged<Ufp4Arbiter>;

  sc_core::sc_vector<Port> from;
  tlm_utils::simple_initiator_socket<Ufp4Arbiter> to;

  /** @p ports: initiators, one at least; each binds to one of `from`, where its index is its turn.
   */
  Ufp4Arbiter(const sc_core::sc_module_name &name, unsigned ports);
  ~Ufp4Arbiter() override;

 private:
  struct Request {
    sc_core::sc_time at;
    sc_core::sc_event granted;
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
