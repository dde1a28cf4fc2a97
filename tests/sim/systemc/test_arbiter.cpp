// SPDX-License-Identifier: Apache-2.0
// Tests the order in which an arbiter serves, and a memory with banks.
#include <functional>
#include <string>
#include <vector>

#include "ufp4_arbiter.h"

extern "C" {
#include "check.h"
}

namespace {

using sc_core::sc_time;

sc_time ns(double count) {
  return {count, sc_core::SC_NS};
}

/** Records who comes when; addresses are the numbers of initiators. */
struct Target : sc_core::sc_module {
  tlm_utils::simple_target_socket<Target> socket{"socket"};
  sc_time answers = ns(100);
  bool waits = false;
  std::vector<uint64_t> order;
  std::vector<sc_time> times;

  explicit Target(const sc_core::sc_module_name &name) : sc_module(name) {
    socket.register_b_transport(this, &Target::b_transport);
  }
  void b_transport(tlm::tlm_generic_payload &payload, sc_time &delay) {
    order.push_back(payload.get_address());
    times.push_back(sc_core::sc_time_stamp() + delay);
    delay += answers;
    if (waits && payload.get_address() == 0) wait(delay), delay = sc_core::SC_ZERO_TIME;
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

struct Initiator : sc_core::sc_module {
  tlm_utils::simple_initiator_socket<Initiator> socket{"socket"};

  explicit Initiator(const sc_core::sc_module_name &name) : sc_module(name) {}

  /** @return the time of its answer. */
  sc_time read(uint64_t address, sc_time delay = sc_core::SC_ZERO_TIME) {
    tlm::tlm_generic_payload payload;
    uint64_t data = 0;
    payload.set_read();
    payload.set_address(address);
    payload.set_data_ptr(reinterpret_cast<unsigned char *>(&data));
    payload.set_data_length(sizeof data);
    payload.set_streaming_width(sizeof data);
    socket->b_transport(payload, delay);
    check_that(static_cast<int64_t>(address), payload.is_response_ok(), "a response");
    return sc_core::sc_time_stamp() + delay;
  }
};

constexpr unsigned kPorts = 4;

struct Stand {
  Ufp4Arbiter arbiter{"arbiter", kPorts};
  Target target{"target"};
  std::vector<std::unique_ptr<Initiator>> initiators;

  Stand() {
    arbiter.to.bind(target.socket);
    for (unsigned i = 0; i < kPorts; i++) {
      initiators.push_back(std::make_unique<Initiator>(sc_core::sc_gen_unique_name("initiator")));
      initiators[i]->socket.bind(arbiter.from[i]);
    }
  }
  /** Makes an initiator read at a time, after @p deltas delta cycles. The answer must come as if
   * there were no arbiter. */
  void at(sc_time when, unsigned who, unsigned deltas = 0) {
    sc_core::sc_spawn([this, when, who, deltas] {
      sc_core::wait(when);
      for (unsigned i = 0; i < deltas; i++) sc_core::wait(sc_core::SC_ZERO_TIME);
      check_bits(who, initiators[who]->read(who).value(), (when + target.answers).value(),
                 "when it is answered");
    });
  }
  void check_order(const std::vector<uint64_t> &want) {
    check_bits(0, target.order.size(), want.size(), "transactions");
    for (size_t i = 0; i < want.size() && i < target.order.size(); i++) {
      check_bits(static_cast<int64_t>(i), target.order[i], want[i], "who comes");
    }
  }
};

}  // namespace

/** Requests of one instant are served in turn, in whatever order and delta cycle they come; the
 * next turn starts where the last one ended. */
TEST(serves_an_instant_in_turn) {
  Stand stand;
  for (unsigned i = 0; i < kPorts; i++) stand.at(ns(10), 3 - i, 2 * i);
  stand.at(ns(20), 1);
  for (unsigned i = 0; i < kPorts; i++) stand.at(ns(30), i, 7 - i);
  sc_core::sc_start();
  stand.check_order({0, 1, 2, 3, 1, 2, 3, 0, 1});
}

/** A turn serves one request of each port; the requests of a port keep their order. */
TEST(serves_each_port_once_in_a_turn) {
  Stand stand;
  for (unsigned i = 0; i < 3; i++) stand.at(ns(10), 2);
  stand.at(ns(10), 1, 1);
  stand.at(ns(10), 1, 1);
  sc_core::sc_start();
  stand.check_order({1, 2, 1, 2, 2});
}

/** Requests that come before their time are ordered by time too. */
TEST(serves_by_time) {
  Stand stand;
  sc_core::sc_spawn([&] {
    check_bits(0, stand.initiators[0]->read(0, ns(40)).value(), ns(140).value(), "its answer");
  });
  stand.at(ns(20), 1);
  stand.at(ns(40), 3);
  stand.at(ns(40) + sc_time::from_value(1), 2);
  sc_core::sc_start();
  stand.check_order({1, 3, 0, 2});
  for (size_t i = 1; i < stand.target.times.size(); i++) {
    check_that(static_cast<int64_t>(i), stand.target.times[i - 1] <= stand.target.times[i],
               "goes back in time");
  }
}

TEST(a_target_that_waits_holds_up_no_other) {
  Stand stand;
  stand.target.waits = true;
  sc_core::sc_spawn([&] { stand.initiators[0]->read(0); });
  for (unsigned i = 1; i < kPorts; i++) stand.at(sc_core::SC_ZERO_TIME, i);
  stand.at(ns(10), 1);
  sc_core::sc_start();
  stand.check_order({0, 1, 2, 3, 1});
}

TEST(rejects_an_arbiter_without_a_port) {
  std::string report;
  try {
    Ufp4Arbiter arbiter("arbiter", 0);
  } catch (const sc_core::sc_report &thrown) {
    report = thrown.what();
  }
  check_that(0, report.find("the arbiter has no port") != std::string::npos, "reported: \"%s\"",
             report.c_str());
}

/** A request that is ahead by its quantum is served at its own time. It does not delay an earlier
 * one of another initiator for another row of the same bank. */
TEST(memory_with_banks_serves_by_time) {
  constexpr uint64_t kOtherRow = 1 << 19;
  Ufp4Memory memory("memory", 0, 1 << 20, ns(20), "lpddr5"),
      alone("alone", 0, 1 << 20, ns(20), "lpddr5");
  Initiator initiator("initiator"), single("single");
  initiator.socket.bind(memory.socket);
  single.socket.bind(alone.socket);
  sc_time got[2], want[2];
  sc_core::sc_spawn([&] { got[1] = initiator.read(0, ns(1000)); });
  sc_core::sc_spawn([&] {
    sc_core::wait(ns(10));
    got[0] = initiator.read(kOtherRow);
  });
  sc_core::sc_spawn([&] {
    sc_core::wait(ns(10));
    want[0] = single.read(kOtherRow);
    sc_core::wait(ns(990));
    want[1] = single.read(0);
  });
  sc_core::sc_start();
  check_that(0, want[0] > ns(10) && want[1] > ns(1000), "answers");
  check_bits(0, got[0].value(), want[0].value(), "what comes first");
  check_bits(1, got[1].value(), want[1].value(), "what is ahead");
}
