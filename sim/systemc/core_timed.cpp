// SPDX-License-Identifier: Apache-2.0
// The timed model as a module. Two copies of it: `now`, which is where the host last was, and
// `ahead`, which has run on from there to the next thing that others see of it: a completion, the
// interrupt, or with a memory outside a burst. When that time comes `ahead` takes the place of
// `now`. If the host accesses a register before, or a burst is answered, `now` is run up to that
// moment; what it asks of its host is then known from `ahead`, which stays where it is unless the
// host has changed what comes.
#include <algorithm>
#include <cstring>
#include <deque>

#include "carrier.h"
#include "job.h"
#include "lock.h"
#include "times.h"
#include "timing/timed.h"
#include "ufp4_systemc.h"

namespace {

using ufp4::Executed;
using ufp4::timing::Timed;

constexpr uint64_t kStuckCycles = 1000000;  // as the harness (simulator.cpp)
constexpr size_t kStackBytes = 1 << 20;     // the golden model runs on it
constexpr unsigned kAllStrobes = 0xF;
// How far to run ahead while a burst is under way, whose answer may change what comes.
constexpr uint64_t kLookCycles = 4096;

/** A completion on its way to memory. */
struct Completion {
  uint64_t address;
  ufp4_completion_t completion;
};

/** A burst of a memory outside, under way. */
struct Flight {
  uint64_t serial;
  ufp4::BurstPtr burst;
};

/** How much of what has been fetched and executed a copy has had. */
struct Cursor {
  size_t fetched = 0, executed = 0;
};

/** What copies have asked of their host, in order, from where `now` is. */
struct Fetched {
  uint8_t bytes[UFP4_DESCRIPTOR_BYTES];
};

bool find_configuration(const std::string &name, ufp4_configuration_t *configuration) {
  static const ufp4_configuration_t all[] = UFP4_CONFIGURATIONS;
  for (const auto &each : all) {
    if (name == each.name) return *configuration = each, true;
  }
  return false;
}

}  // namespace

struct Ufp4CoreTimed::Inside {
  Inside(Ufp4CoreTimed &module, const Ufp4CoreOptions &options, const ufp4::timing::Shape &shape,
         uint32_t tile_rows, uint32_t tile_cols, const ufp4_configuration_t &configuration);

  void run();
  void watch_reset();
  /** @return the cycle. */
  uint64_t enter_reset();
  bool access(bool write, uint32_t offset, uint32_t *value);
  bool try_access(bool write, uint32_t offset, uint32_t *value);

  // Time.
  sc_core::sc_time time_of(uint64_t cycle) const {
    return sc_core::sc_time::from_value((cycle - shift) * period.value());
  }
  uint64_t clock_cycles() const {
    return sc_core::sc_time_stamp().value() / period.value();
  }
  uint64_t cycle_now() const {
    return clock_cycles() + shift;
  }
  void wait_for(uint64_t cycle);

  // Running ahead.
  bool effect() const {
    return ahead &&
           (!completions.empty() || ahead->memory().has_begun() || irq_of(*ahead) != irq_of(*now));
  }
  bool far_enough() const {
    return !flights.empty() && ahead->cycles() >= now->cycles() + kLookCycles;
  }
  static bool irq_of(const Timed &timed) {
    return timed.core().registers().irq();
  }
  void look_ahead();
  void trim(Cursor *at);
  bool peek(uint32_t offset, uint32_t *value);
  void catch_up();
  void forget_ahead();
  void catch_up_to(uint64_t cycle);
  bool advance(Timed *timed, uint64_t end);
  void send(std::deque<Completion> *to_send);

  // A memory outside.
  void launch();
  bool take_answers();

  // The timed model's host.
  bool peeking() const {
    return running != &now_at && running != &ahead_at;
  }
  int read(uint64_t address, void *data, uint32_t bytes);
  int write(uint64_t address, const void *data, uint32_t bytes);
  int execute(const uint8_t *descriptor, uint16_t *slots, ufp4_completion_t *completion);
  bool transport(tlm::tlm_command command, uint64_t address, void *data, uint32_t bytes);
  int refuse(const std::string &why);
  void fail(const std::string &why);

  Ufp4CoreTimed &module;
  const sc_core::sc_time period;
  uint64_t shift = 0;  // what the model's cycles are more than the clock's, modulo 2^64
  std::unique_ptr<Timed> now, ahead;
  std::deque<Fetched> fetched;
  std::deque<Executed> executed;
  Cursor now_at, ahead_at, *running = &now_at;
  std::deque<Completion> completions, passed;  // of `ahead`; of `now`, during an access
  const bool outside;
  std::unique_ptr<ufp4::Carrier> carrier;  // of a memory outside
  std::deque<Flight> flights;
  ufp4::JobRunner jobs;
  std::string why;  // a function of the host has failed
  sc_core::sc_mutex busy;
  sc_core::sc_event kick, released;
  uint64_t resets = 0, steps = 0;
  bool level = false;  // of the interrupt, at this moment
  bool in_reset = false, failed = false;
};

Ufp4CoreTimed::Inside::Inside(Ufp4CoreTimed &module, const Ufp4CoreOptions &options,
                              const ufp4::timing::Shape &shape, uint32_t tile_rows,
                              uint32_t tile_cols, const ufp4_configuration_t &configuration)
    : module(module),
      period(options.period),
      outside(options.outside),
      jobs(module.mem, configuration),
      busy("busy") {
  ufp4::MemoryRules rules{shape.bus_bytes, 0, options.bandwidth_bytes, 0, 0, nullptr, outside};
  if (outside) {
    carrier = options.non_blocking ? ufp4::make_non_blocking_carrier(module.mem, period)
                                   : ufp4::make_blocking_carrier(module.mem, period);
  } else {
    rules.latency = options.latency_cycles;
    rules.dram = ufp4_find_dram(options.dram.c_str());
    rules.cycle_fs = period.value() * ufp4::resolution_fs();
  }
  ufp4_timed_host_t host{};
  host.user = this;
  host.memory_read = [](void *user, uint64_t address, void *data, uint32_t bytes) {
    return static_cast<Inside *>(user)->read(address, data, bytes);
  };
  host.memory_write = [](void *user, uint64_t address, const void *data, uint32_t bytes) {
    return static_cast<Inside *>(user)->write(address, data, bytes);
  };
  host.execute = [](void *user, const uint8_t *descriptor, uint16_t *slots,
                    ufp4_completion_t *completion) {
    return static_cast<Inside *>(user)->execute(descriptor, slots, completion);
  };
  now = std::make_unique<Timed>(shape, tile_rows, tile_cols, rules, host, false);
}

// --- Time ---------------------------------------------------------------------------------------

void Ufp4CoreTimed::Inside::wait_for(uint64_t cycle) {
  if (cycle > cycle_now()) sc_core::wait(time_of(cycle) - sc_core::sc_time_stamp());
}

// The only process that drives the interrupt.
void Ufp4CoreTimed::Inside::run() {
  while (!failed) {
    bool more;
    sc_core::sc_time at;
    {
      const ufp4::Lock lock(busy);
      if (!in_reset) catch_up();
      more = !failed && !in_reset && ahead && (effect() || !flights.empty());
      if (more) at = time_of(ahead->cycles());
    }
    if (module.irq.read() != level) module.irq.write(level);
    if (more) {
      sc_core::wait(at - sc_core::sc_time_stamp(), kick);
    } else {
      sc_core::wait(kick);
    }
  }
}

// --- Running ahead ------------------------------------------------------------------------------

bool Ufp4CoreTimed::Inside::advance(Timed *timed, uint64_t end) {
  steps++;
  if (timed->advance(end)) return true;
  fail(why.empty() ? timed->message() : why);
  return false;
}

void Ufp4CoreTimed::Inside::look_ahead() {
  ahead = std::make_unique<Timed>(*now);
  ahead->watch();
  ahead_at = {};
  running = &ahead_at;
  while (!effect() && !far_enough() && ahead->core().working() &&
         advance(ahead.get(), ~uint64_t{0})) {
    if (!flights.empty()) continue;
    const uint64_t moved = std::max(now->cycles(), ahead->core().last_moved());
    if (ahead->cycles() < moved + kStuckCycles) continue;
    fail("nothing has moved on the bus for a million cycles: a core that hangs is left to the RTL");
    break;
  }
  running = &now_at;
}

// `now` has got as far as *at.
void Ufp4CoreTimed::Inside::trim(Cursor *at) {
  const Cursor had = *at;
  fetched.erase(fetched.begin(), fetched.begin() + static_cast<std::ptrdiff_t>(had.fetched));
  executed.erase(executed.begin(), executed.begin() + static_cast<std::ptrdiff_t>(had.executed));
  *at = {};
  if (!ahead) return;
  ahead_at.fetched -= had.fetched;
  ahead_at.executed -= had.executed;
}

void Ufp4CoreTimed::Inside::forget_ahead() {
  ahead.reset();
  completions.clear();
}

void Ufp4CoreTimed::Inside::send(std::deque<Completion> *to_send) {
  for (auto &each : *to_send) {
    if (transport(tlm::TLM_WRITE_COMMAND, each.address, &each.completion, sizeof each.completion)) {
      continue;
    }
    fail("a completion cannot be written; write errors of the bus are left to the RTL");
  }
  to_send->clear();
}

// Lets happen what is due, and finds out what is next.
void Ufp4CoreTimed::Inside::catch_up() {
  while (!failed) {
    if (!ahead && (now->core().working() || now->memory().has_begun())) look_ahead();
    if (failed) return;
    if (!ahead || ahead->cycles() > cycle_now()) {
      if (!take_answers()) return;
      continue;
    }
    now = std::move(ahead);
    level = irq_of(*now);
    trim(&ahead_at);
    send(&completions);
    launch();
  }
}

// --- A memory outside ---------------------------------------------------------------------------

// What `now` has begun.
void Ufp4CoreTimed::Inside::launch() {
  for (const auto &begun : now->memory().take_begun()) {
    flights.push_back({begun.serial, ufp4::make_burst(begun, kick)});
    carrier->launch(flights.back().burst);
  }
}

// @return whether there are any: what was run ahead is then no longer what will be.
bool Ufp4CoreTimed::Inside::take_answers() {
  const auto answered = [](const Flight &flight) { return flight.burst->answered; };
  if (std::none_of(flights.begin(), flights.end(), answered)) return false;
  catch_up_to(cycle_now());
  forget_ahead();
  trim(&now_at);
  for (const Flight &flight : flights) {
    if (!flight.burst->answered) continue;
    if (flight.burst->response != 0) {
      fail("a burst was answered with an error; errors of the bus are left to the RTL");
      return true;
    }
    now->memory().answer(flight.serial, flight.burst->due);
  }
  flights.erase(std::remove_if(flights.begin(), flights.end(), answered), flights.end());
  return true;
}

// `now` is where the clock is; nothing that others see happens on the way.
void Ufp4CoreTimed::Inside::catch_up_to(uint64_t cycle) {
  while (!failed && now->cycles() < cycle) advance(now.get(), cycle);
}

// --- The register port --------------------------------------------------------------------------

// What the model makes of it. @return false if it is in reset, or fails.
bool Ufp4CoreTimed::Inside::try_access(bool write, uint32_t offset, uint32_t *value) {
  const ufp4::Lock lock(busy);
  if (in_reset) return false;
  catch_up();
  catch_up_to(cycle_now());
  if (failed) return false;
  const ufp4::timing::Orders before = now->core().orders();
  const ufp4_timed_status_t status = write ? now->write(offset, *value) : now->read(offset, value);
  if (status != UFP4_TIMED_OK) fail(why.empty() ? now->message() : why);
  // Most accesses change nothing of what comes, unless it has come meanwhile.
  if (ahead && (!passed.empty() || ahead->cycles() <= now->cycles() ||
                (write && !ahead->follow(*now, before)))) {
    forget_ahead();
  }
  trim(&now_at);
  return !failed;
}

bool Ufp4CoreTimed::Inside::access(bool write, uint32_t offset, uint32_t *value) {
  while (in_reset) sc_core::wait(released);
  if (failed) return false;
  wait_for(now->cycles());
  if (!try_access(write, offset, value)) return !failed && access(write, offset, value);
  const uint64_t end = now->cycles(), resets_then = resets;
  const bool level_then = irq_of(*now);
  wait_for(end);
  if (resets != resets_then) return access(write, offset, value);  // it was lost
  level = level_then;
  std::deque<Completion> sent;
  sent.swap(passed);  // a reset may come while the target waits
  send(&sent);
  kick.notify();
  return !failed;
}

// As it is now. What comes before `ahead` asks its host for nothing new; elsewhere a copy, which
// would have to ask its host for more than is known, stays before that.
bool Ufp4CoreTimed::Inside::peek(uint32_t offset, uint32_t *value) {
  if (!in_reset && !failed && ahead && ahead->cycles() > cycle_now() && busy.trylock() == 0) {
    catch_up_to(cycle_now());
    trim(&now_at);
    *value = now->core().peek(offset);
    busy.unlock();
    return true;
  }
  Cursor *const before = running;
  Cursor at = now_at;
  Timed copy(*now);
  running = &at;
  while (copy.cycles() < cycle_now() && copy.advance(cycle_now())) steps++;
  running = before;
  *value = copy.core().peek(offset);
  return true;
}

// --- Reset --------------------------------------------------------------------------------------

uint64_t Ufp4CoreTimed::Inside::enter_reset() {
  const ufp4::Lock lock(busy);
  in_reset = true;
  resets++;
  // What has banks knows what was asked of it until now.
  if (ahead && ahead->cycles() <= cycle_now()) now = std::move(ahead);
  if (ahead || !now->core().working()) catch_up_to(cycle_now());
  forget_ahead();
  now_at = ahead_at = {};
  fetched.clear();
  executed.clear();
  passed.clear();
  flights.clear();
  level = false;
  now->reset();
  return cycle_now();
}

void Ufp4CoreTimed::Inside::watch_reset() {
  for (;;) {
    while (!module.reset.read()) sc_core::wait(module.reset.value_changed_event());
    const uint64_t began = enter_reset();
    kick.notify();
    while (module.reset.read()) sc_core::wait(module.reset.value_changed_event());
    wait_for(began + ufp4::timing::kResetCycles);
    shift = now->cycles() - clock_cycles();  // the next cycle is the first out of reset
    now->memory().set_ahead(shift);
    in_reset = false;
    released.notify();
    kick.notify();
  }
}

// --- The timed model's host ---------------------------------------------------------------------

int Ufp4CoreTimed::Inside::refuse(const std::string &because) {
  why = because;
  return -1;
}

void Ufp4CoreTimed::Inside::fail(const std::string &because) {
  failed = true;
  running = &now_at;
  SC_REPORT_ERROR("ufp4", (std::string(module.name()) + ": " + because).c_str());
}

bool Ufp4CoreTimed::Inside::transport(tlm::tlm_command command, uint64_t address, void *data,
                                      uint32_t bytes) {
  tlm::tlm_generic_payload payload;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(static_cast<unsigned char *>(data));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  if (outside) return module.mem->transport_dbg(payload) == bytes;  // the burst goes of its own
  module.mem->b_transport(payload, delay);
  return payload.is_response_ok();
}

int Ufp4CoreTimed::Inside::read(uint64_t address, void *data, uint32_t bytes) {
  if (running->fetched == fetched.size()) {
    Fetched descriptor;
    if (peeking()) return -1;
    if (!transport(tlm::TLM_READ_COMMAND, address, descriptor.bytes, sizeof descriptor.bytes)) {
      return refuse("a descriptor cannot be read; read errors of the bus are left to the RTL");
    }
    fetched.push_back(descriptor);
  }
  std::memcpy(data, fetched[running->fetched++].bytes, bytes);
  return 0;
}

int Ufp4CoreTimed::Inside::write(uint64_t address, const void *data, uint32_t) {
  Completion completion{address, {}};
  if (peeking()) return 0;
  std::memcpy(&completion.completion, data, sizeof completion.completion);
  (running == &ahead_at ? completions : passed).push_back(completion);
  return 0;
}

int Ufp4CoreTimed::Inside::execute(const uint8_t *descriptor, uint16_t *slots,
                                   ufp4_completion_t *completion) {
  if (running->executed == executed.size()) {
    Executed done;
    if (peeking()) return -1;
    const std::string wrong = jobs.run(descriptor, slots, *completion, &done);
    if (!wrong.empty()) return refuse(wrong);
    executed.push_back(done);
  }
  const Executed &done = executed[running->executed++];
  completion->status = done.status;
  completion->flags = done.flags;
  std::memcpy(slots, done.slots, sizeof done.slots);
  return 0;
}

// --- The module ---------------------------------------------------------------------------------

Ufp4CoreTimed::Ufp4CoreTimed(const sc_core::sc_module_name &name, const Ufp4CoreOptions &options)
    : Ufp4Core(name) {
  std::string wrong = ufp4::refuse_period(options.period);
  if (wrong.empty()) wrong = ufp4::refuse_dram(options.dram.c_str());
  if (wrong.empty()) wrong = ufp4::refuse_resolution(options.dram);
  if (!wrong.empty()) {
    SC_REPORT_ERROR("ufp4", (std::string(this->name()) + ": " + wrong).c_str());
    return;
  }
  ufp4::timing::Shape shape;
  uint32_t tile_rows = 0, tile_cols = 0;
  ufp4_configuration_t configuration;
  if (!find_configuration(options.configuration, &configuration) ||
      !ufp4::timing::find_shape(options.configuration.c_str(), &shape, &tile_rows, &tile_cols)) {
    SC_REPORT_ERROR("ufp4",
                    ("the timed model has no configuration " + options.configuration).c_str());
    return;
  }
  inside_ = std::make_unique<Inside>(*this, options, shape, tile_rows, tile_cols, configuration);
  sc_core::sc_spawn_options thread;
  thread.set_stack_size(kStackBytes);
  sc_core::sc_spawn([this] { inside_->run(); }, "run", &thread);
  sc_core::sc_spawn([this] { inside_->watch_reset(); }, "watch_reset", &thread);
}

Ufp4CoreTimed::~Ufp4CoreTimed() = default;

uint64_t Ufp4CoreTimed::cycles() const {
  return inside_ ? inside_->clock_cycles() : 0;
}

uint64_t Ufp4CoreTimed::steps() const {
  return inside_ ? inside_->steps : 0;
}

// What strobes leave out is as it was, in registers that are written as a whole.
bool Ufp4CoreTimed::access(bool write, uint32_t offset, uint32_t *value, unsigned strobes) {
  if (!inside_) return false;
  if (!write || strobes == kAllStrobes) return inside_->access(write, offset, value);
  if (strobes == 0) return inside_->access(false, offset, value);
  uint32_t merged = 0;
  if (offset != UFP4_REG_CONTROL && offset != UFP4_REG_IRQ_STATUS) peek(offset, &merged);
  for (unsigned i = 0; i < 4; i++) {
    if (strobes >> i & 1) merged = (merged & ~(0xFFu << 8 * i)) | (*value & 0xFFu << 8 * i);
  }
  return inside_->access(true, offset, &merged);
}

bool Ufp4CoreTimed::peek(uint32_t offset, uint32_t *value) {
  return inside_ && inside_->peek(offset, value);
}

tlm::tlm_sync_enum Ufp4CoreTimed::nb_transport_bw(tlm::tlm_generic_payload &payload,
                                                  tlm::tlm_phase &phase, sc_core::sc_time &delay) {
  if (inside_ && inside_->carrier) return inside_->carrier->answer(payload, phase, delay);
  SC_REPORT_ERROR("ufp4", "an answer to nb_transport, where transactions go by b_transport");
  return tlm::TLM_COMPLETED;
}
