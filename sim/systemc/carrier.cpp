// SPDX-License-Identifier: Apache-2.0
#include "carrier.h"

#include <algorithm>

#include "timing/mem/empty_memory.h"

namespace ufp4 {
namespace {

constexpr uint8_t kOkay = 0, kSlverr = 2, kDecerr = 3;
// Data of a failed read, as in the harness.
constexpr uint8_t kPoison = 0xDE;

uint8_t response_of(tlm::tlm_response_status status) {
  if (status == tlm::TLM_OK_RESPONSE) return kOkay;
  return status == tlm::TLM_ADDRESS_ERROR_RESPONSE ? kDecerr : kSlverr;
}

// Records the target's answer, which is due @p delay from now. An answer that was not known at the
// start of the burst is seen at the first edge after it.
void finish(Burst &burst, sc_core::sc_time delay, sc_core::sc_time period) {
  const uint64_t waited = (sc_core::sc_time_stamp() - burst.start).value();
  const uint64_t took = waited + delay.value(), cycle = period.value();
  burst.response = response_of(burst.payload.get_response_status());
  if (burst.response != kOkay && burst.payload.is_read()) {
    std::fill(burst.data.begin(), burst.data.end(), kPoison);
  }
  burst.due = burst.began + std::max<uint64_t>((took + cycle - 1) / cycle, 1) - 1;
  if (waited != 0) burst.due = std::max(burst.due, burst.began + waited / cycle + 1);
  burst.answered = true;
  if (burst.done != nullptr) burst.done->notify();
}

// --- b_transport --------------------------------------------------------------------------------

class BlockingCarrier final : public Carrier {
 public:
  BlockingCarrier(MemorySocket &socket, sc_core::sc_time period)
      : socket_(socket), period_(period) {}

  void launch(const BurstPtr &burst) override {
    if (free_.empty()) {
      workers_.push_back(std::make_unique<Worker>());
      Worker *worker = workers_.back().get();
      worker->burst = burst;
      sc_core::sc_spawn([this, worker] { work(worker); });
    } else {
      Worker *worker = free_.back();
      free_.pop_back();
      worker->burst = burst;
      worker->go.notify();
    }
    sc_core::wait(sc_core::SC_ZERO_TIME);
  }

  tlm::tlm_sync_enum answer(tlm::tlm_generic_payload &, tlm::tlm_phase &,
                            sc_core::sc_time &) override {
    SC_REPORT_ERROR("ufp4", "a call of nb_transport, but bursts use b_transport");
    return tlm::TLM_COMPLETED;
  }

 private:
  /** A thread that takes one burst after another. */
  struct Worker {
    BurstPtr burst;
    sc_core::sc_event go;
  };

  void work(Worker *worker) {
    for (;;) {
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      socket_->b_transport(worker->burst->payload, delay);
      finish(*worker->burst, delay, period_);
      worker->burst.reset();
      free_.push_back(worker);
      sc_core::wait(worker->go);
    }
  }

  MemorySocket &socket_;
  const sc_core::sc_time period_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker *> free_;
};

// --- nb_transport -------------------------------------------------------------------------------

class NonBlockingCarrier final : public Carrier, private tlm::tlm_mm_interface {
 public:
  NonBlockingCarrier(MemorySocket &socket, sc_core::sc_time period)
      : socket_(socket), period_(period) {
    sc_core::sc_spawn_options method;
    method.spawn_method();
    method.dont_initialize();
    method.set_sensitivity(&next_);
    sc_core::sc_spawn([this] { request(); }, sc_core::sc_gen_unique_name("request"), &method);
  }

  void launch(const BurstPtr &burst) override {
    burst->payload.set_mm(this);
    burst->payload.acquire();
    held_[&burst->payload] = burst;
    waiting_.push_back(burst);
    next_.notify();
    sc_core::wait(sc_core::SC_ZERO_TIME);
  }

  tlm::tlm_sync_enum answer(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                            sc_core::sc_time &delay) override {
    // Extended phases may be ignored.
    if (phase == tlm::END_REQ || phase == tlm::BEGIN_RESP) {
      end_request(payload, delay);  // the response implies it
    }
    if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
    end(payload, delay);
    return tlm::TLM_COMPLETED;
  }

 private:
  // Sends the next request, unless the target has not accepted the previous one yet.
  void request() {
    if (requested_ != nullptr || waiting_.empty()) return;
    if (sc_core::sc_time_stamp() < free_at_) {
      return next_.notify(free_at_ - sc_core::sc_time_stamp());
    }
    tlm::tlm_generic_payload &payload = waiting_.front()->payload;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    waiting_.pop_front();
    requested_ = &payload;
    switch (socket_->nb_transport_fw(payload, phase, delay)) {
      case tlm::TLM_ACCEPTED:
        return;
      case tlm::TLM_UPDATED:
        end_request(payload, delay);
        if (phase == tlm::BEGIN_RESP) end_response(payload, delay);
        return;
      case tlm::TLM_COMPLETED:
        end_request(payload, sc_core::SC_ZERO_TIME);
        end(payload, delay);
    }
  }

  void end_request(const tlm::tlm_generic_payload &payload, sc_core::sc_time delay) {
    if (requested_ != &payload) return;
    requested_ = nullptr;
    free_at_ = sc_core::sc_time_stamp() + delay;
    next_.notify(delay);
  }

  void end_response(tlm::tlm_generic_payload &payload, sc_core::sc_time delay) {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time at = delay;
    socket_->nb_transport_fw(payload, phase, at);
    end(payload, delay);
  }

  void end(tlm::tlm_generic_payload &payload, sc_core::sc_time delay) {
    const auto held = held_.find(&payload);
    if (held == held_.end() || held->second->answered) {
      SC_REPORT_ERROR("ufp4",
                      "a response to a transaction that already had one, or was not sent by `mem`");
      return;
    }
    finish(*held->second, delay, period_);
    payload.release();
  }

  void free(tlm::tlm_generic_payload *payload) override {
    held_.erase(payload);
  }

  MemorySocket &socket_;
  const sc_core::sc_time period_;
  std::deque<BurstPtr> waiting_;
  const tlm::tlm_generic_payload *requested_ = nullptr;
  sc_core::sc_time free_at_;                                             // for the next request
  std::unordered_map<const tlm::tlm_generic_payload *, BurstPtr> held_;  // until all references to
                                                                         // it are released
  sc_core::sc_event next_;
};

}  // namespace

BurstPtr make_burst(const timing::BegunBurst &begun, sc_core::sc_event &done) {
  auto burst = std::make_shared<Burst>();
  const auto bytes = static_cast<unsigned>(begun.bytes);
  burst->data.resize(bytes);
  burst->payload.set_command(begun.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  burst->payload.set_address(begun.address);
  burst->payload.set_data_ptr(burst->data.data());
  burst->payload.set_data_length(bytes);
  burst->payload.set_streaming_width(bytes);
  burst->payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  if (begun.write) {
    burst->enables.assign(bytes, TLM_BYTE_DISABLED);
    burst->payload.set_byte_enable_ptr(burst->enables.data());
    burst->payload.set_byte_enable_length(bytes);
  }
  burst->began = begun.cycle;
  burst->start = sc_core::sc_time_stamp();
  burst->done = &done;
  return burst;
}

std::unique_ptr<Carrier> make_blocking_carrier(MemorySocket &socket, sc_core::sc_time period) {
  return std::make_unique<BlockingCarrier>(socket, period);
}

std::unique_ptr<Carrier> make_non_blocking_carrier(MemorySocket &socket, sc_core::sc_time period) {
  return std::make_unique<NonBlockingCarrier>(socket, period);
}

}  // namespace ufp4
