// SPDX-License-Identifier: Apache-2.0
// A core, its memory and a host in one SystemC module, for the tests.
#ifndef UFP4_TEST_SYSTEMC_RIG_H
#define UFP4_TEST_SYSTEMC_RIG_H

#include <functional>
#include <memory>
#include <vector>

#include "ufp4_systemc.h"

extern "C" {
#include "check.h"
#include "jobs.h"
}

/** The part of a memory that a target grants by DMI; windows have 64 KiB. */
enum class Dmi { kAll, kWindows, kReadOnly, kNone };

/** Stands between a core and its memory and passes everything on, except for the changes that a
 * test requests. */
class Way : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Way> from;
  tlm_utils::simple_initiator_socket<Way> to;

  explicit Way(const sc_core::sc_module_name &name);

  /** Transactions with this command in this range of addresses are not done and get this answer. */
  tlm::tlm_command fails = tlm::TLM_IGNORE_COMMAND;
  uint64_t address = 0, until = ~uint64_t{0};
  tlm::tlm_response_status answer = tlm::TLM_OK_RESPONSE;
  Dmi dmi = Dmi::kAll;
  bool no_debug = false;  // transport_dbg is refused too
  bool waits = false;     // wait instead of adding to the delay
  unsigned most = 0;      // the most transactions that were in flight at once
  bool late = false;      // nb_transport: answer in all legal ways, not only with the request
  bool twice = false;     // send late answers a second time
  uint64_t began = 0, ended = 0;  // nb_transport: requests and responses
  uint64_t reads = 0, writes = 0;

 private:
  void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                     sc_core::sc_time &delay);
  void respond(tlm::tlm_generic_payload &payload, bool requested, sc_core::sc_time delay);
  bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &direct);
  unsigned transport_dbg(tlm::tlm_generic_payload &payload);
  unsigned under_way_ = 0;
  bool requested_ = false;  // a request has not been accepted yet
};

/** The registers that a host writes before it submits jobs: offsets and values. */
const std::vector<std::pair<uint32_t, uint32_t>> &set_up_registers();

/** Returns the default options of a configuration; a rig sets those of the memory. */
Ufp4CoreOptions options_of(const char *configuration);

enum class Kind { kRtl, kTimed };

class Rig : public sc_core::sc_module {
 public:
  using Body = std::function<void(Rig &)>;

  /** @p body runs as the host's thread. */
  Rig(const sc_core::sc_module_name &name, Kind kind, twin_memory_t memory, Body body,
      const Ufp4CoreOptions &options = options_of("small"));

  /** Makes one transaction to the registers. */
  tlm::tlm_response_status transport(tlm::tlm_command command, uint64_t address, void *data,
                                     unsigned bytes, unsigned char *enables = nullptr);
  uint32_t read(uint32_t offset);
  void write(uint32_t offset, uint32_t value);
  /** Waits until the interrupt is high, at most that long. @return whether it is */
  bool wait_interrupt(uint64_t cycles = 10000000);
  void run(uint64_t cycles);
  uint64_t cycles() const {
    return sc_core::sc_time_stamp().value() / period.value();
  }
  void set_up();
  /** Drives the reset pin for 20 cycles. */
  void pulse_reset();
  /** Submits the jobs with one write of ring_tail; the last one raises an interrupt. */
  void ring(const std::vector<twin_job_t> &jobs);
  ufp4_completion_t completion(uint32_t index);

  const std::string configuration;
  const sc_core::sc_time period;
  std::unique_ptr<Ufp4Core> core;
  Way way;
  Ufp4Memory memory;
  tlm_utils::simple_initiator_socket<Rig> host;
  sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS> reset;
  sc_core::sc_signal<bool> irq;
  uint32_t tail = 0;
  /** The edges of the interrupt: cycles, each with the level after it. */
  std::vector<std::pair<uint64_t, bool>> edges;

 private:
  Body body_;
};

/** Returns the descriptors of a list as ring() submits them. */
std::vector<twin_job_t> rung(const std::vector<twin_job_t> &jobs, uint32_t tail);

#endif
