// SPDX-License-Identifier: Apache-2.0
#include "timing/core.h"

namespace ufp4::timing {
namespace {

constexpr uint32_t kFlagIrq = 1, kFlagOverlap = 2;
constexpr uint32_t kWindow = 16;      // jobs under way
constexpr uint32_t kResetCycles = 8;  // of any reset

}  // namespace

Core::Core(const Shape &shape, uint32_t tile_rows, uint32_t tile_cols, const MemoryRules &rules,
           const ufp4_timed_host_t &host)
    : shape_(shape),
      host_(host),
      memory_(rules),
      read_(shape.bus_bytes),
      write_(shape.bus_bytes),
      front_(shape_),
      retire_(shape_),
      gemm_(shape_),
      quant_(shape_),
      registers_(shape_, tile_rows, tile_cols) {}

void Core::reset_units() {
  front_.reset();
  for (Issue &issue : issue_) issue.reset();
  retire_.reset();
  undone_ = 0;
  gemm_.reset();
  quant_.reset();
  slots_ = {};
  still_ = 0;
}

void Core::reset() {
  reset_units();
  read_ = ReadMaster(shape_.bus_bytes);
  write_ = WriteMaster(shape_.bus_bytes);
  registers_.reset();
  port_ = {};
  resetting_ = 0;
  memory_.forget();
  for (uint32_t i = 0; i < kResetCycles; i++) {
    MemoryMaster pins{};
    pins.rready = pins.bready = true;
    memory_.sample(cycle_++, pins);
  }
  last_moved_ = cycle_;
}

void Core::ask(Now &now) {
  const Rings &rings = registers_.rings();
  const uint32_t head = retire_.head() & 15;
  now.gemm_others = {head, retire_.done(), issue_[kQuant].started(), issue_[kQuant].tag()};
  now.quant_others = {head, retire_.done(), issue_[kGemm].started(), issue_[kGemm].tag()};
  now.active = front_.busy() || front_.next() != retire_.head();
  now.quant_running = issue_[kQuant].running();
  now.gemm_starts = issue_[kGemm].start_valid();
  now.quant_starts = issue_[kQuant].start_valid();
  now.quant_ready = quant_.start_ready();
  now.quant_done = quant_.done();
  now.panels = quant_.panels();
  now.panels_held = gemm_.active() ? issue_[kGemm].panels_held(now.gemm_others) : 0;
  now.reads[kReadCommand] = front_.request(rings);
  now.reads[kReadGemm] = gemm_.load_request(issue_[kGemm].job().gemm, now.panels_held, now.panels);
  now.reads[kReadAddend] = gemm_.addend_request();
  now.reads[kReadQuant] = quant_.load_request();
  now.writes[kWriteCommand] = retire_.request(rings);
  now.writes[kWriteGemm] = gemm_.write_request();
  now.writes[kWriteQuant] = quant_.write_request();
  now.dat_valid[kWriteCommand] = retire_.dat_valid();
  now.dat_valid[kWriteGemm] = gemm_.write_dat_valid();
  now.dat_valid[kWriteQuant] = quant_.write_dat_valid();
}

// Everyone but a client that is narrower than the bus takes a beat at once.
bool Core::read_ready(int client) const {
  return client != kReadAddend || gemm_.addend_bus_ready();
}

void Core::step_engines(const Now &now) {
  const int beat = read_.beat();
  Gemm::Input gemm;
  gemm.start = now.gemm_starts;
  gemm.panels_held = now.panels_held;
  gemm.panels = now.panels;
  gemm.load_ready = read_.req_ready(kReadGemm);
  gemm.load_valid = beat == kReadGemm;
  gemm.addend_ready = read_.req_ready(kReadAddend);
  gemm.addend_valid = beat == kReadAddend;
  gemm.write_ready = write_.req_ready(kWriteGemm);
  gemm.write_dat_ready = write_.dat_ready(kWriteGemm);
  gemm.write_idle = write_.idle(kWriteGemm);
  gemm_now_ = gemm_.step(issue_[kGemm].job().gemm, gemm, cycle_);
  if (shape_.quant == 0) return;
  Quant::Input quant;
  quant.start = now.quant_starts;
  quant.load_ready = read_.req_ready(kReadQuant);
  quant.beat = beat == kReadQuant;
  quant.write_ready = write_.req_ready(kWriteQuant);
  quant.write_dat_ready = write_.dat_ready(kWriteQuant);
  quant.write_idle = write_.idle(kWriteQuant);
  quant.answer = write_.answer(kWriteQuant);
  quant_.step(issue_[kQuant].job().quant, quant);
}

bool Core::fetch(const Request &request) {
  if (host_.memory_read(host_.user, request.addr, front_.fetched().bytes, UFP4_DESCRIPTOR_BYTES) ==
      0) {
    return true;
  }
  fail("the descriptor at " + std::to_string(request.addr) +
       " cannot be read; read errors of the bus are left to the RTL");
  return false;
}

// The oldest job's completion has been answered.
bool Core::retire() {
  Retire::Job &job = retire_.job();
  if (job.engine && host_.execute &&
      host_.execute(host_.user, job.descriptor.bytes, slots_.exponent, &job.completion) != 0) {
    fail("the host could not do job " + std::to_string(job.completion.job));
    return false;
  }
  if (host_.memory_write(host_.user, retire_.address(registers_.rings()), &job.completion,
                         sizeof job.completion) != 0) {
    fail("a completion cannot be written; write errors of the bus are left to the RTL");
    return false;
  }
  irqs_ = (job.irq ? 1u : 0u) | (job.completion.status != UFP4_CORE_STATUS_OK ? 2u : 0u);
  return true;
}

bool Core::step_command(const Now &now, bool gemm_done, bool gemm_ready) {
  const Descriptor &job = front_.job();
  const bool engine = front_.status() == UFP4_CORE_STATUS_OK && (job.is_gemm() || job.is_quant());
  const bool overlap = (job.is_gemm() || job.is_quant()) && (job.header.flags & kFlagOverlap);
  const bool enters =
      front_.job_valid() && front_.next() - retire_.head() < kWindow && (overlap || undone_ == 0);
  const int lane = job.is_gemm() ? kGemm : kQuant;
  const bool taken = enters && (!engine || issue_[lane].job_ready());
  const uint32_t tag = front_.next() & 15;
  const Issue::Finish finish[2] = {issue_[kGemm].finish(), issue_[kQuant].finish()};
  const Retire::Enter enter{taken, (job.header.flags & kFlagIrq) != 0, !engine, tag,
                            front_.status()};
  if (front_.fetches(read_.req_ready(kReadCommand)) && !fetch(now.reads[kReadCommand])) {
    return false;
  }
  const bool idle = write_.idle(kWriteCommand), retires = retire_.retires(idle);
  if (retires && !retire()) return false;
  undone_ += (taken && engine) - finish[0].valid - finish[1].valid;
  retire_.step(enter, job, finish, write_.req_ready(kWriteCommand), write_.dat_ready(kWriteCommand),
               idle);
  issue_[kGemm].step(now.gemm_others, slots_, enters && engine && job.is_gemm(), job, tag,
                     gemm_ready, gemm_done);
  issue_[kQuant].step(now.quant_others, slots_, enters && engine && job.is_quant(), job, tag,
                      now.quant_ready, now.quant_done);
  front_.step(registers_.rings(), read_.req_ready(kReadCommand), read_.beat() == kReadCommand,
              taken);
  return true;
}

Events Core::events(const Now &now, bool retires) const {
  const Gemm::State &g = gemm_now_;
  const bool work = g.at_work(), quant = now.quant_running;
  const MemorySlave &pins = memory_.slave();
  MemoryMaster master{};
  read_.drive(master);
  write_.drive(master);
  const auto event = [](uint32_t counter, bool on) { return on ? 1u << counter : 0u; };
  return event(UFP4_COUNTER_CYCLES, true) | event(UFP4_COUNTER_ARRAY_BUSY, g.busy) |
         event(UFP4_COUNTER_STALL_OPERAND, g.stall_operand) |
         event(UFP4_COUNTER_STALL_PANEL, g.stall_panel) |
         event(UFP4_COUNTER_STALL_ACCUMULATOR, g.stall_accumulator) |
         event(UFP4_COUNTER_STALL_DRAIN, g.stall_drain) |
         event(UFP4_COUNTER_QUANT, quant && !work) |
         event(UFP4_COUNTER_COMMAND, now.active && !quant && !work) |
         event(UFP4_COUNTER_IDLE, !now.active && !work) |
         event(UFP4_COUNTER_READ_BEATS, pins.rvalid && master.rready) |
         event(UFP4_COUNTER_WRITE_BEATS, master.wvalid && pins.wready) |
         event(UFP4_COUNTER_JOBS, retires) | event(UFP4_COUNTER_QUANT_BESIDE, quant && work);
}

// What would stop the core is left to the RTL.
bool Core::guard(const Now &now) {
  if (registers_.overflow(retire_.head())) {
    fail("ring_tail is too far ahead or goes back: a core that stops is left to the RTL");
    return false;
  }
  still_ = moved_ || gemm_now_.busy || !now.active ? 0 : still_ + 1;
  if (registers_.watchdog() == 0 || still_ < registers_.watchdog()) return true;
  fail("nothing moves for as long as the watchdog waits: a core that stops is left to the RTL");
  return false;
}

void Core::soft_reset() {
  const bool idle = front_.next() == retire_.head() && !front_.busy();
  if (!idle) {
    fail("a soft reset while a job is under way is left to the RTL");
  } else if (resetting_ == 0) {
    resetting_ = kResetCycles;
  }
}

bool Core::step() {
  Now now;
  ask(now);
  read_.evaluate(now.reads);
  write_.evaluate(now.writes);
  MemoryMaster master{};
  read_.drive(master);
  write_.drive(master);
  const MemorySlave slave = memory_.slave();
  const CoreView view{retire_.head(), now.active, resetting_ != 0};
  const bool gemm_ready = !gemm_.active();
  const bool retires = retire_.retires(write_.idle(kWriteCommand));
  irqs_ = 0;
  registers_.step_read(port_, view, slots_);
  step_engines(now);
  const Events counted = events(now, retires);
  if (!step_command(now, gemm_now_.done, gemm_ready)) return false;
  if (resetting_ != 0) {
    reset_units();
    resetting_--;
  }
  const bool asked = registers_.step(port_, view, counted, irqs_);
  read_.step(now.reads, read_ready(read_.beat()), slave);
  write_.step(now.writes, now.dat_valid, slave);
  moved_ = memory_.sample(cycle_, master);
  if (moved_) last_moved_ = cycle_;
  cycle_++;
  if (asked) soft_reset();
  return message_.empty() && guard(now);
}

}  // namespace ufp4::timing
