// SPDX-License-Identifier: Apache-2.0
// The Verilated core as a module: a thread clocks it, and the pins stay inside. A cycle has the
// same order as in the harness (simulator.cpp).
#include "base/configuration.h"
#include "bursts.h"
#include "core.h"
#include "timeline.h"
#include "times.h"
#include "timing/pipeline.h"
#include "ufp4/spec.h"
#include "ufp4_systemc.h"

namespace {

// Idle cycles of bus and command unit before the clock stops, longer than any reset.
constexpr unsigned kQuietCycles = 64;
constexpr size_t kStackBytes = 1 << 20;

/** An access of the host to the registers. */
struct Access {
  bool active = false, driven = false, write = false;
  uint32_t offset = 0, value = 0;
  unsigned strobes = 0;
  sc_core::sc_time began;  // an edge at this very moment is too early for it
};

}  // namespace

struct Ufp4CoreRtl::Inside {
  Inside(Ufp4CoreRtl &module, const Ufp4CoreOptions &options, std::unique_ptr<ufp4::Core> made)
      : module(module),
        period(options.period),
        may_sleep(options.sleep),
        core(std::move(made)),
        pins(core->pins),
        bus(pins, {core->bus_bytes, 0, options.bandwidth_bytes, 0, 0},
            options.non_blocking ? ufp4::make_non_blocking_carrier(module.mem, options.period)
                                 : ufp4::make_blocking_carrier(module.mem, options.period)) {}

  void run();
  void watch_reset();
  bool access(Access *host);

  void edge();
  void enter_reset();
  void leave_reset();
  void drive_access();
  bool moving_access();
  bool idle() const;
  void rest(bool moved);
  void fail(const char *why);

  Ufp4CoreRtl &module;
  const sc_core::sc_time period;
  const bool may_sleep;
  std::unique_ptr<ufp4::Core> core;
  const ufp4::Pins &pins;
  ufp4::Bursts bus;
  Access port;
  sc_core::sc_event finished, wake;
  bool reset_seen = true, in_reset = false, asleep = false, failed = false;
  unsigned held = 0, quiet = 0;  // cycles of reset; cycles in which the core was idle
  uint64_t cycle = 0;
};

// --- The clock ----------------------------------------------------------------------------------

void Ufp4CoreRtl::Inside::run() {
  while (!failed) {
    while (asleep) sc_core::wait(wake);
    const uint64_t past = sc_core::sc_time_stamp().value() % period.value();
    sc_core::wait(period - sc_core::sc_time::from_value(past));
    edge();
  }
}

void Ufp4CoreRtl::Inside::edge() {
  if (reset_seen && !in_reset) enter_reset();
  if (in_reset && held >= ufp4::timing::kResetCycles && !module.reset.read()) leave_reset();
  if (in_reset) held++;
  if (port.active && !port.driven && !in_reset && port.began < sc_core::sc_time_stamp()) {
    drive_access();
  }
  const auto &axil = pins.axil;
  const bool aw = *axil.awvalid && *axil.awready, w = *axil.wvalid && *axil.wready;
  const bool ar = *axil.arvalid && *axil.arready, answered = moving_access();
  const bool moved = bus.sample(cycle);
  *pins.clk = 1;
  core->eval();
  bus.drive();
  *pins.clk = 0;
  core->eval();
  cycle++;
  if (aw) *axil.awvalid = 0;
  if (w) *axil.wvalid = 0;
  if (ar) *axil.arvalid = 0;
  if (core->failed()) return fail("an assertion in the RTL failed");
  if (module.irq.read() != (*pins.irq != 0)) module.irq.write(*pins.irq != 0);
  if (answered) {
    port.active = port.driven = false;
    finished.notify();
  }
  rest(moved || answered);
}

void Ufp4CoreRtl::Inside::fail(const char *why) {
  failed = true;
  finished.notify();
  SC_REPORT_ERROR(
      "ufp4",
      (std::string(module.name()) + ": " + why + " (cycle " + std::to_string(cycle) + ")").c_str());
}

// --- Reset --------------------------------------------------------------------------------------

// Resets the core, also during a job.
void Ufp4CoreRtl::Inside::enter_reset() {
  const auto &axil = pins.axil;
  *pins.rst_n = *pins.clk = 0;
  *axil.awvalid = *axil.wvalid = *axil.bready = *axil.arvalid = *axil.rready = 0;
  bus.forget();
  bus.drive();
  core->eval();
  port.driven = false;
  reset_seen = false;
  in_reset = true;
  held = 0;
}

void Ufp4CoreRtl::Inside::leave_reset() {
  *pins.rst_n = 1;
  *pins.axil.bready = *pins.axil.rready = 1;
  in_reset = reset_seen = false;
}

void Ufp4CoreRtl::Inside::watch_reset() {
  if (!module.reset.read()) return;
  reset_seen = true;
  asleep = false;
  wake.notify();
}

// --- The register port --------------------------------------------------------------------------

void Ufp4CoreRtl::Inside::drive_access() {
  const auto &axil = pins.axil;
  port.driven = true;
  if (!port.write) {
    *axil.araddr = static_cast<uint16_t>(port.offset);
    *axil.arvalid = 1;
    return;
  }
  *axil.awaddr = static_cast<uint16_t>(port.offset);
  *axil.wdata = port.value;
  *axil.wstrb = static_cast<uint8_t>(port.strobes);
  *axil.awvalid = *axil.wvalid = 1;
}

// Returns whether the next edge accepts the response.
bool Ufp4CoreRtl::Inside::moving_access() {
  if (!port.driven) return false;
  if (port.write) return *pins.axil.bvalid != 0;
  if (*pins.axil.rvalid) port.value = *pins.axil.rdata;
  return *pins.axil.rvalid != 0;
}

bool Ufp4CoreRtl::Inside::access(Access *host) {
  while (port.active && !failed) sc_core::wait(finished);
  if (failed) return false;
  port = *host;
  port.active = true;
  port.began = sc_core::sc_time_stamp();
  asleep = false;
  wake.notify();
  while (port.active && !failed) sc_core::wait(finished);
  host->value = port.value;
  return !failed;
}

// --- Sleep --------------------------------------------------------------------------------------

// Returns whether the command unit has no job and nothing is due on the bus. A netlist does not
// expose its registers.
bool Ufp4CoreRtl::Inside::idle() const {
  ufp4::CoreSigns signs{};
  return core->look(signs) && signs.front == 0 && signs.retire == 0 && signs.gemm.state == 0 &&
         signs.quant.state == 0 && !signs.reads_pending && !signs.writes_pending && bus.idle();
}

// The signals are observed instead of reading the status register, which could collide with the
// host's access. For one cycle a job may have left its engine and not be completed yet.
void Ufp4CoreRtl::Inside::rest(bool moved) {
  if (!may_sleep) return;
  quiet = moved || in_reset || reset_seen || port.active || !idle() ? 0 : quiet + 1;
  asleep = quiet >= kQuietCycles;
}

// --- The module ---------------------------------------------------------------------------------

Ufp4CoreRtl::Ufp4CoreRtl(const sc_core::sc_module_name &name, const Ufp4CoreOptions &options)
    : Ufp4Core(name) {
  std::string wrong = ufp4::refuse_period(options.period);
  ufp4_configuration_t configuration;
  ufp4_message_t why;
  if (configuration_find(options.configuration.c_str(), &configuration, nullptr, &why) != UFP4_OK)
    wrong = why.text;
  if (!wrong.empty()) {
    SC_REPORT_ERROR("ufp4", (std::string(this->name()) + ": " + wrong).c_str());
    return;
  }
  auto core = ufp4::make_core(configuration.name, 0);
  if (core == nullptr) {
    SC_REPORT_ERROR(
        "ufp4", (std::string("this build does not simulate the configuration ") +
                 configuration.name + "; configure it with -DUFP4_SIMULATE=" + configuration.name)
                    .c_str());
    return;
  }
  inside_ = std::make_unique<Inside>(*this, options, std::move(core));
  sc_core::sc_spawn_options thread, watch;
  thread.set_stack_size(kStackBytes);
  sc_core::sc_spawn([this] { inside_->run(); }, "clock", &thread);
  watch.spawn_method();
  watch.dont_initialize();
  watch.set_sensitivity(&reset);
  sc_core::sc_spawn([this] { inside_->watch_reset(); }, "watch_reset", &watch);
}

Ufp4CoreRtl::~Ufp4CoreRtl() = default;

uint64_t Ufp4CoreRtl::cycles() const {
  return inside_ ? inside_->cycle : 0;
}

bool Ufp4CoreRtl::access(bool write, uint32_t offset, uint32_t *value, unsigned strobes) {
  Access host{false, false, write, offset, *value, strobes, sc_core::SC_ZERO_TIME};
  if (!inside_ || !inside_->access(&host)) return false;
  *value = host.value;
  return true;
}

bool Ufp4CoreRtl::peek(uint32_t, uint32_t *) {
  return false;
}

tlm::tlm_sync_enum Ufp4CoreRtl::nb_transport_bw(tlm::tlm_generic_payload &payload,
                                                tlm::tlm_phase &phase, sc_core::sc_time &delay) {
  return inside_->bus.carrier().answer(payload, phase, delay);
}
