// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <cstring>

namespace {

DECLARE_EXTENDED_PHASE(some_phase);

constexpr uint64_t kMemoryBytes = TWIN_PLACE_BYTES * (TWIN_PLACES + 1);
constexpr uint64_t kCompletions = TWIN_BASE + TWIN_RING * UFP4_DESCRIPTOR_BYTES;
constexpr uint8_t kFlagInterrupt = 1;
constexpr size_t kStackBytes = 1 << 20;

std::unique_ptr<Ufp4Core> make_core(Kind kind, twin_memory_t memory, Ufp4CoreOptions options) {
  options.bandwidth_bytes = memory.bandwidth;
  options.latency_cycles = memory.latency;
  if (memory.dram != nullptr) options.dram = memory.dram;
  if (kind == Kind::kRtl) return std::make_unique<Ufp4CoreRtl>("core", options);
  return std::make_unique<Ufp4CoreTimed>("core", options);
}

}  // namespace

Ufp4CoreOptions options_of(const char *configuration) {
  Ufp4CoreOptions options;
  options.configuration = configuration;
  return options;
}

Way::Way(const sc_core::sc_module_name &name) : sc_module(name), from("from"), to("to") {
  from.register_b_transport(this, &Way::b_transport);
  from.register_nb_transport_fw(this, &Way::nb_transport_fw);
  from.register_get_direct_mem_ptr(this, &Way::get_direct_mem_ptr);
  from.register_transport_dbg(this, &Way::transport_dbg);
}

void Way::b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
  (payload.is_read() ? reads : writes)++;
  most = std::max(most, ++under_way_);
  const bool failing = payload.get_command() == fails && payload.get_address() >= address &&
                       payload.get_address() < until;
  if (failing) payload.set_command(tlm::TLM_IGNORE_COMMAND);
  to->b_transport(payload, delay);
  if (failing) {
    payload.set_command(fails);
    payload.set_response_status(answer);
  }
  if (waits) {
    wait(delay);
    delay = sc_core::SC_ZERO_TIME;
  }
  under_way_--;
}

// Answers in each of the ways that a target may, in turn.
tlm::tlm_sync_enum Way::nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                        sc_core::sc_time &delay) {
  if (phase == tlm::END_RESP) {
    ended++;
    return tlm::TLM_COMPLETED;
  }
  check_that(static_cast<int64_t>(began), !requested_, "a request before the last was taken");
  const unsigned turn = began++ % (late ? 4 : 1);
  b_transport(payload, delay);
  if (turn == 0) {
    ended++;
    return tlm::TLM_COMPLETED;
  }
  phase = turn == 1 ? tlm::BEGIN_RESP : tlm::END_REQ;
  if (turn == 1) return tlm::TLM_UPDATED;
  payload.acquire();
  most = std::max(most, ++under_way_);
  requested_ = turn == 3;
  const sc_core::sc_time until = delay;
  sc_core::sc_spawn([this, &payload, turn, until] { respond(payload, turn == 3, until); });
  delay = sc_core::SC_ZERO_TIME;
  return turn == 3 ? tlm::TLM_ACCEPTED : tlm::TLM_UPDATED;
}

// Sends the remaining phases from a thread.
void Way::respond(tlm::tlm_generic_payload &payload, bool requested, sc_core::sc_time delay) {
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time now = sc_core::SC_ZERO_TIME;
  wait(3, sc_core::SC_NS);
  tlm::tlm_phase other = some_phase;
  check_that(static_cast<int64_t>(began),
             from->nb_transport_bw(payload, other, now) == tlm::TLM_ACCEPTED,
             "a phase of one's own is not let pass");
  if (requested) {
    requested_ = false;
    from->nb_transport_bw(payload, phase, now);
  }
  wait(delay);
  phase = tlm::BEGIN_RESP;
  now = sc_core::SC_ZERO_TIME;
  const auto got = from->nb_transport_bw(payload, phase, now);
  check_that(static_cast<int64_t>(ended++), got == tlm::TLM_COMPLETED, "the response is not taken");
  if (twice) from->nb_transport_bw(payload, phase, now);
  under_way_--;
  payload.release();
}

bool Way::get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &direct) {
  constexpr uint64_t kWindow = 1 << 16;
  if (dmi == Dmi::kNone || !to->get_direct_mem_ptr(payload, direct)) return false;
  if (dmi == Dmi::kReadOnly) direct.allow_read();
  if (dmi == Dmi::kWindows) {
    const uint64_t start = payload.get_address() / kWindow * kWindow;
    direct.set_dmi_ptr(direct.get_dmi_ptr() + (start - direct.get_start_address()));
    direct.set_start_address(start);
    direct.set_end_address(start + kWindow - 1);
  }
  return true;
}

unsigned Way::transport_dbg(tlm::tlm_generic_payload &payload) {
  return no_debug ? 0 : to->transport_dbg(payload);
}

Rig::Rig(const sc_core::sc_module_name &name, Kind kind, twin_memory_t memory, Body body,
         const Ufp4CoreOptions &options)
    : sc_module(name),
      configuration(options.configuration),
      period(options.period),
      core(make_core(kind, memory, options)),
      way("way"),
      memory("memory", TWIN_BASE, kMemoryBytes, memory.latency * period,
             memory.dram != nullptr ? memory.dram : ""),
      host("host"),
      body_(std::move(body)) {
  host.bind(core->regs);
  core->mem.bind(way.from);
  way.to.bind(this->memory.socket);
  core->reset(reset);
  core->irq(irq);
  sc_core::sc_spawn_options thread, watch;
  watch.spawn_method();
  watch.dont_initialize();
  watch.set_sensitivity(&irq);
  sc_core::sc_spawn([this] { edges.emplace_back(cycles(), irq.read()); }, "watch", &watch);
  thread.set_stack_size(kStackBytes);
  sc_core::sc_spawn([this] { body_(*this); }, "body", &thread);
}

tlm::tlm_response_status Rig::transport(tlm::tlm_command command, uint64_t address, void *data,
                                        unsigned bytes, unsigned char *enables) {
  tlm::tlm_generic_payload payload;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(static_cast<unsigned char *>(data));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  payload.set_byte_enable_ptr(enables);
  payload.set_byte_enable_length(enables ? bytes : 0);
  host->b_transport(payload, delay);
  return payload.get_response_status();
}

uint32_t Rig::read(uint32_t offset) {
  uint32_t value = 0;
  const auto status = transport(tlm::TLM_READ_COMMAND, offset, &value, sizeof value);
  check_bits(offset, status, tlm::TLM_OK_RESPONSE, "read of a register");
  return value;
}

void Rig::write(uint32_t offset, uint32_t value) {
  const auto status = transport(tlm::TLM_WRITE_COMMAND, offset, &value, sizeof value);
  check_bits(offset, status, tlm::TLM_OK_RESPONSE, "write of a register");
}

bool Rig::wait_interrupt(uint64_t cycles) {
  if (!irq.read()) sc_core::wait(cycles * period, irq.posedge_event());
  return irq.read();
}

void Rig::run(uint64_t cycles) {
  sc_core::wait(cycles * period);
}

const std::vector<std::pair<uint32_t, uint32_t>> &set_up_registers() {
  static const std::vector<std::pair<uint32_t, uint32_t>> registers = {
      {UFP4_REG_RING_BASE_LO, static_cast<uint32_t>(TWIN_BASE)},
      {UFP4_REG_RING_BASE_HI, static_cast<uint32_t>(TWIN_BASE >> 32)},
      {UFP4_REG_RING_LOG2, TWIN_RING_LOG2},
      {UFP4_REG_COMPLETION_BASE_LO, static_cast<uint32_t>(kCompletions)},
      {UFP4_REG_COMPLETION_BASE_HI, static_cast<uint32_t>(kCompletions >> 32)},
      {UFP4_REG_IRQ_MASK, 1}};
  return registers;
}

void Rig::set_up() {
  for (const auto &[offset, value] : set_up_registers()) write(offset, value);
}

void Rig::pulse_reset() {
  reset.write(true);
  run(20);
  reset.write(false);
  tail = 0;
}

std::vector<twin_job_t> rung(const std::vector<twin_job_t> &jobs, uint32_t tail) {
  std::vector<twin_job_t> out = jobs;
  for (auto &job : out) job.header.job = tail++;
  out.back().header.flags |= kFlagInterrupt;
  return out;
}

void Rig::ring(const std::vector<twin_job_t> &jobs) {
  for (const twin_job_t &job : rung(jobs, tail)) {
    std::memcpy(memory.at(TWIN_BASE + tail++ % TWIN_RING * sizeof job, sizeof job), &job,
                sizeof job);
  }
  if (!way.no_debug) return write(UFP4_REG_RING_TAIL, tail);
  transport(tlm::TLM_WRITE_COMMAND, UFP4_REG_RING_TAIL, &tail, sizeof tail);  // may fail
}

ufp4_completion_t Rig::completion(uint32_t index) {
  ufp4_completion_t completion;
  std::memcpy(&completion,
              memory.at(kCompletions + index % TWIN_RING * sizeof completion, sizeof completion),
              sizeof completion);
  return completion;
}
