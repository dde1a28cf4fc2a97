// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ufp4_arbiter.h"

namespace {

// After this time no other transaction can arrive for the instant of an earlier one.
sc_core::sc_time instant() {
  return sc_core::sc_time::from_value(1);
}

}  // namespace

Ufp4Arbiter::Ufp4Arbiter(const sc_core::sc_module_name &name, unsigned ports)
    : sc_module(name), from("from", ports), to("to"), waiting_(ports), last_(ports - 1) {
  if (ports == 0) {
    SC_REPORT_ERROR("ufp4", (std::string(this->name()) + ": the arbiter has no port").c_str());
    return;
  }
  for (unsigned i = 0; i < ports; i++) {
    const int port = static_cast<int>(i);
    from[i].register_b_transport(this, &Ufp4Arbiter::b_transport, port);
    from[i].register_transport_dbg(this, &Ufp4Arbiter::transport_dbg, port);
    from[i].register_get_direct_mem_ptr(this, &Ufp4Arbiter::get_direct_mem_ptr, port);
  }
  to.register_invalidate_direct_mem_ptr(this, &Ufp4Arbiter::invalidate_direct_mem_ptr);
  sc_core::sc_spawn([this] { grant(); }, "grant");
}

Ufp4Arbiter::~Ufp4Arbiter() = default;

Ufp4Arbiter::Request::~Request() {
  if (queue != nullptr) queue->erase(std::remove(queue->begin(), queue->end(), this), queue->end());
}

void Ufp4Arbiter::b_transport(int port, tlm::tlm_generic_payload &payload,
                              sc_core::sc_time &delay) {
  Request request;
  if (delay != sc_core::SC_ZERO_TIME) wait(delay);
  request.at = sc_core::sc_time_stamp();
  request.queue = &waiting_[static_cast<size_t>(port)];
  request.queue->push_back(&request);
  arrived_.notify(instant());
  wait(request.granted);
  delay = sc_core::SC_ZERO_TIME;
  to->b_transport(payload, delay);
  if (delay >= instant()) delay -= instant();
}

// Grants requests one after the other, each in its own delta cycle, in which its thread continues.
void Ufp4Arbiter::grant() {
  for (;;) {
    wait(arrived_);
    while (Request *request = next()) {
      request->granted.notify();
      wait(sc_core::SC_ZERO_TIME);
    }
    for (const auto &queue : waiting_) {
      if (!queue.empty()) arrived_.notify(instant());  // they belong to this instant
    }
  }
}

// Returns the next request of an earlier instant, or nullptr.
Ufp4Arbiter::Request *Ufp4Arbiter::next() {
  for (size_t i = 1; i <= waiting_.size(); i++) {
    const size_t port = (last_ + i) % waiting_.size();
    auto &queue = waiting_[port];
    if (queue.empty() || queue.front()->at == sc_core::sc_time_stamp()) continue;
    Request *request = queue.front();
    queue.pop_front();
    last_ = port;
    return request;
  }
  return nullptr;
}

unsigned Ufp4Arbiter::transport_dbg(int, tlm::tlm_generic_payload &payload) {
  return to->transport_dbg(payload);
}

bool Ufp4Arbiter::get_direct_mem_ptr(int, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
  return to->get_direct_mem_ptr(payload, dmi);
}

void Ufp4Arbiter::invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) {
  for (Port &port : from) port->invalidate_direct_mem_ptr(first, last);
}
