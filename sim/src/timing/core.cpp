// SPDX-License-Identifier: Apache-2.0
#include "timing/core.h"

namespace ufp4::timing {
namespace {

constexpr uint32_t kFlagIrq = 1, kFlagOverlap = 2;
constexpr uint32_t kWindow = 16;  // jobs under way
// After these a memory has its full credit (memory_timing.h).
constexpr uint64_t kIdleCycles = 256;
// State that rotates between jobs (drain.h) repeats after this many cycles.
constexpr uint64_t kRound = 64;

}  // namespace

Core::Core(const Shape &shape, const MemoryRules &rules, const ufp4_timed_host_t &host,
           const ufp4_timeline_sink_t *sink)
    : kept_shape_(std::make_shared<Shape>(shape)),
      shape_(*kept_shape_),
      host_(host),
      front_(shape_),
      retire_(shape_),
      moving_{Gemm(shape_), Quant(shape_), ReadMaster(shape.bus_bytes),
              WriteMaster(shape.bus_bytes), EmptyMemory(rules, host)},
      registers_(shape_),
      timeline_(sink) {}

void Core::reset_units() {
  front_.reset();
  for (Issue &issue : issue_) issue.reset();
  retire_.reset();
  undone_ = 0;
  doubtful_ = false;
  moving_.memory.ask(false);
  moving_.gemm.reset();
  moving_.quant.reset();
  slots_ = {};
}

void Core::reset() {
  timeline_.cut(cycle_);
  reset_units();
  moving_.read = ReadMaster(shape_.bus_bytes);
  moving_.write = WriteMaster(shape_.bus_bytes);
  registers_.reset();
  port_ = {};
  news_ = News::kStart;
  gemm_now_ = {};
  calm_ = false;
  guard_.reset();
  still_ = 0;
  moving_.memory.forget();
  for (uint32_t i = 0; i < kResetCycles; i++) {
    MemoryMaster pins{};
    pins.rready = pins.bready = true;
    moving_.memory.sample(cycle_++, pins);
  }
  last_moved_ = cycle_;
}

void Core::ask(Now &now) const {
  now.gemm_ready = !moving_.gemm.active();
  now.quant_ready = moving_.quant.start_ready();
  now.quant_done = moving_.quant.done();
  now.panels = moving_.quant.panels();
  const Issue &gemm = issue_[kGemm];
  now.panels_held = gemm.job().header.panels != 0 ? gemm.panels_held(others(kGemm)) : 0;
  now.read_valid[kReadCommand] = front_.valid();
  now.read_valid[kReadGemm] = moving_.gemm.load_valid(now.panels_held, now.panels);
  now.read_valid[kReadAddend] = moving_.gemm.addend_valid();
  now.read_valid[kReadQuant] = moving_.quant.load_valid();
  now.write_valid[kWriteCommand] = retire_.valid();
  now.write_valid[kWriteGemm] = moving_.gemm.write_valid();
  now.write_valid[kWriteQuant] = moving_.quant.write_valid();
  now.dat_valid[kWriteCommand] = retire_.dat_valid();
  now.dat_valid[kWriteGemm] = moving_.gemm.write_dat_valid();
  now.dat_valid[kWriteQuant] = moving_.quant.write_dat_valid();
}

// Finds the requests that the masters accept in this cycle.
Request Core::read_request() const {
  switch (moving_.read.taken()) {
    case kReadCommand:
      return front_.request(registers_.rings());
    case kReadGemm:
      return moving_.gemm.load_request(issue_[kGemm].job().gemm);
    case kReadAddend:
      return moving_.gemm.addend_request();
    case kReadQuant:
      return moving_.quant.load_request();
    default:
      return {};
  }
}

Request Core::write_request() const {
  switch (moving_.write.taken()) {
    case kWriteCommand:
      return retire_.request(registers_.rings());
    case kWriteGemm:
      return moving_.gemm.write_request();
    case kWriteQuant:
      return moving_.quant.write_request();
    default:
      return {};
  }
}

// All clients except those narrower than the bus accept a beat at once.
bool Core::read_ready(int client) const {
  if (client == kReadGemm) return moving_.gemm.load_bus_ready();
  return client != kReadAddend || moving_.gemm.addend_bus_ready();
}

void Core::step_engines(const Now &now) {
  const int beat = moving_.read.beat();
  Gemm::Input gemm;
  gemm.start = issue_[kGemm].start_valid();
  gemm.panels_held = now.panels_held;
  gemm.panels = now.panels;
  gemm.load_ready = moving_.read.req_ready(kReadGemm);
  gemm.load_valid = beat == kReadGemm;
  gemm.addend_ready = moving_.read.req_ready(kReadAddend);
  gemm.addend_valid = beat == kReadAddend;
  gemm.write_ready = moving_.write.req_ready(kWriteGemm);
  gemm.write_dat_ready = moving_.write.dat_ready(kWriteGemm);
  gemm.write_idle = moving_.write.idle(kWriteGemm);
  gemm.read_error = moving_.read.error();
  gemm.write_error = moving_.write.error(kWriteGemm);
  if (gemm.start || issue_[kQuant].start_valid()) news_ = News::kStart;
  moving_.gemm.step(issue_[kGemm].job().gemm, gemm, cycle_, gemm_now_);
  if (quant_asleep()) return;
  Quant::Input quant;
  quant.start = issue_[kQuant].start_valid();
  quant.load_ready = moving_.read.req_ready(kReadQuant);
  quant.beat = beat == kReadQuant;
  quant.write_ready = moving_.write.req_ready(kWriteQuant);
  quant.write_dat_ready = moving_.write.dat_ready(kWriteQuant);
  quant.write_idle = moving_.write.idle(kWriteQuant);
  quant.answer = moving_.write.answer(kWriteQuant);
  quant.read_error = quant.beat && moving_.read.error();
  quant.write_error = moving_.write.error(kWriteQuant);
  moving_.quant.step(issue_[kQuant].job().quant, quant);
}

bool Core::fetch() {
  const uint64_t address = front_.address(registers_.rings());
  const int got =
      host_.memory_read(host_.user, address, front_.fetched().bytes, UFP4_DESCRIPTOR_BYTES);
  if (got == UFP4_TIMED_BUS_ERROR) front_.miss();
  if (got == 0 || got == UFP4_TIMED_BUS_ERROR) return true;
  fail("the descriptor at " + std::to_string(address) + " cannot be read");
  return false;
}

// Executes the oldest job and writes its completion, whose burst has been answered.
bool Core::retire() {
  Retire::Job &job = retire_.job();
  if (job.engine && host_.execute &&
      host_.execute(host_.user, job.descriptor.bytes, slots_.exponent, &job.completion) != 0) {
    fail("the host could not do job " + std::to_string(job.completion.job));
    return false;
  }
  // A completion whose burst has been refused is not written to memory.
  const bool refused = retire_.unwritten() || moving_.write.error(kWriteCommand);
  const int got = refused ? UFP4_TIMED_BUS_ERROR
                          : host_.memory_write(host_.user, retire_.address(registers_.rings()),
                                               &job.completion, sizeof job.completion);
  if (got != 0 && got != UFP4_TIMED_BUS_ERROR) {
    fail("a completion cannot be written");
    return false;
  }
  const bool error = job.completion.status != UFP4_CORE_STATUS_OK || got != 0;
  irqs_ = (job.irq ? 1u : 0u) | (error ? kIrqError : 0u);
  return true;
}

// Asks the host about each burst from now on if data of the job may lie outside memory.
void Core::doubt(const Descriptor &job) {
  if (host_.missing == nullptr || doubtful_) return;
  for (const Extent &each : extents(job)) {
    doubtful_ = doubtful_ || host_.missing(host_.user, each.address, each.bytes) != 0;
  }
  moving_.memory.ask(doubtful_);
}

// Returns whether the job that front_ offers is accepted, by its engine or without one.
bool Core::takes_job() const {
  if (!front_.job_valid() || front_.next() - retire_.head() >= kWindow) return false;
  const Descriptor &job = front_.job();
  const bool for_engine = job.is_gemm() || job.is_quant();
  const bool overlap = for_engine && (job.header.flags & kFlagOverlap);
  if (!overlap && undone_ != 0) return false;
  return !for_engine || front_.status() != UFP4_CORE_STATUS_OK ||
         issue_[job.is_gemm() ? kGemm : kQuant].job_ready();
}

bool Core::calm() const {
  return registers_.quiet() && !guard_.resetting() && retire_.waits() &&
         front_.waits(registers_.rings()) && !takes_job() && issue_[kGemm].waits(others(kGemm)) &&
         issue_[kQuant].waits(others(kQuant));
}

bool Core::step_command(const Now &now) {
  const Descriptor &job = front_.job();
  const bool taken = takes_job();
  const bool engine = front_.status() == UFP4_CORE_STATUS_OK && (job.is_gemm() || job.is_quant());
  const uint32_t tag = front_.next() & 15;
  const Others gemm_others = others(kGemm), quant_others = others(kQuant);
  const Issue::Finish finish[2] = {issue_[kGemm].finish(), issue_[kQuant].finish()};
  const Retire::Enter enter{taken,
                            (job.header.flags & kFlagIrq) != 0 && !front_.lost(),
                            !engine,
                            tag,
                            front_.lost() ? 0 : job.header.job,
                            front_.status()};
  const bool idle = moving_.write.idle(kWriteCommand);
  // During a soft reset it has no effect.
  if (!guard_.resetting()) {
    if (front_.fetches(moving_.read.req_ready(kReadCommand)) && !fetch()) return false;
    if (retire_.retires(idle) && !retire()) return false;
  }
  if (taken && engine) doubt(job);
  undone_ += (taken && engine) - finish[0].valid - finish[1].valid;
  if (undone_ == 0 && doubtful_) {
    doubtful_ = false;
    moving_.memory.ask(false);
  }
  retire_.step(enter, job, finish, moving_.write.req_ready(kWriteCommand),
               moving_.write.dat_ready(kWriteCommand), idle, moving_.write.error(kWriteCommand));
  issue_[kGemm].step(gemm_others, slots_, taken && engine && job.is_gemm(), job, tag,
                     now.gemm_ready, gemm_now_.done, moving_.gemm.status());
  issue_[kQuant].step(quant_others, slots_, taken && engine && job.is_quant(), job, tag,
                      now.quant_ready, now.quant_done, moving_.quant.status());
  front_.step(registers_.rings(), moving_.read.req_ready(kReadCommand),
              moving_.read.beat() == kReadCommand, moving_.read.error(), taken);
  return true;
}

Events Core::events(const MemoryMaster &master, const MemorySlave &slave) const {
  const Gemm::State &g = gemm_now_;
  const bool work = g.at_work(), quant = issue_[kQuant].running(), busy = active();
  const auto event = [](uint32_t counter, bool on) { return on ? 1u << counter : 0u; };
  return event(UFP4_COUNTER_CYCLES, true) | event(UFP4_COUNTER_ARRAY_BUSY, g.busy) |
         event(UFP4_COUNTER_STALL_OPERAND, g.stall_operand) |
         event(UFP4_COUNTER_STALL_PANEL, g.stall_panel) |
         event(UFP4_COUNTER_STALL_ACCUMULATOR, g.stall_accumulator) |
         event(UFP4_COUNTER_STALL_DRAIN, g.stall_drain) |
         event(UFP4_COUNTER_QUANT, quant && !work) |
         event(UFP4_COUNTER_COMMAND, busy && !quant && !work) |
         event(UFP4_COUNTER_IDLE, !busy && !work) |
         event(UFP4_COUNTER_READ_BEATS, slave.rvalid && master.rready) |
         event(UFP4_COUNTER_WRITE_BEATS, master.wvalid && slave.wready) |
         event(UFP4_COUNTER_JOBS, retire_.retires(moving_.write.idle(kWriteCommand))) |
         event(UFP4_COUNTER_QUANT_BESIDE, quant && work);
}

// Sets all signs except those that the GEMM engine's step sets.
void Core::look(const MemoryMaster &master, const MemorySlave &slave, const Now &now,
                CoreSigns &signs) const {
  signs.front = front_.state();
  signs.retire = retire_.state();
  signs.gemm = issue_[kGemm].signs();
  signs.quant = issue_[kQuant].signs();
  moving_.gemm.look(moving_.write.req_ready(kWriteGemm), moving_.write.dat_ready(kWriteGemm),
                    now.panels_held, now.panels, signs);
  moving_.quant.look(signs);
  signs.r_valid = slave.rvalid;
  signs.r_ready = master.rready;
  signs.r_client = slave.rid;
  signs.reads_pending = moving_.read.pending();
  moving_.write.look(now.dat_valid, signs);
}

Guard::Input Core::guard_input() const {
  return {registers_.watchdog(),
          active(),
          registers_.overflow(retire_.head()),
          moving_.read.pending(),
          moving_.write.pending(),
          moving_.read.sending() || moving_.write.sending()};
}

// Simulates a cycle of the command unit and of the registers.
bool Core::step_host(const Now &now, Events events, const Guard::Input &guard, bool *soft_reset) {
  const bool stops = guard_.stops(guard);
  if (calm_ && !port_.awvalid && !port_.wvalid && !port_.arvalid && !gemm_now_.done &&
      !now.quant_done && !stops) {
    for (Issue &issue : issue_) issue.wait();
    registers_.count(events);
    return true;
  }
  const CoreView view = this->view();
  if (news_ == News::kNone) news_ = News::kOther;
  irqs_ = 0;
  registers_.step_read(port_, view, slots_);
  if (!step_command(now)) return false;
  if (guard_.resetting()) reset_units();
  *soft_reset = registers_.step(port_, view, events, irqs_ | (stops ? kIrqStopped : 0));
  calm_ = false;
  return message_.empty();
}

bool Core::step() {
  Now now;
  ask(now);
  const Guard::Input guard = guard_input();
  const Curb curb = guard_.curb(guard);
  bool soft_reset = false;
  moving_.read.evaluate(now.read_valid, curb);
  moving_.write.evaluate(now.write_valid, curb);
  const Request read = read_request(), write = write_request();
  MemoryMaster master{};
  moving_.read.drive(master);
  moving_.write.drive(master);
  const MemorySlave slave = moving_.memory.slave();
  const bool read_taken = read_ready(moving_.read.beat());
  CoreSigns signs;
  if (timeline_.on()) look(master, slave, now, signs);
  step_engines(now);
  if (timeline_.on()) {
    gemm_now_.show(signs);
    timeline_.sample(cycle_, signs);
  }
  if (!step_host(now, events(master, slave), guard, &soft_reset)) return false;
  moving_.read.step(read, read_taken, slave);
  moving_.write.step(write, now.dat_valid, slave);
  const bool bus_moved = moving_.memory.sample(cycle_, master);
  if (bus_moved) last_moved_ = cycle_;
  moves_ += bus_moved;
  cycle_++;
  stepped_++;
  const bool moved = bus_moved || gemm_now_.busy;
  still_ = moved ? 0 : still_ + 1;
  guard_.step(guard, soft_reset, moved);
  if (!calm_) calm_ = calm();
  return true;
}

bool Core::follow(const Core &host, const Orders &before) {
  const Orders after = host.orders();
  const Rings &was = before.rings, &is = after.rings;
  if (is.base != was.base || is.log2 != was.log2 || is.completion_base != was.completion_base ||
      after.watchdog != before.watchdog || after.resetting || before.resetting ||
      after.fatal != before.fatal) {
    return false;
  }
  // If the copy still has jobs to fetch, the new tail changes nothing that it has done.
  if (is.tail != was.tail && front_.next() == was.tail) return false;
  // A stop has no completion, so a host that has not seen it may have to see it now.
  if (registers_.irq_mask() != host.registers_.irq_mask() && (registers_.raised() & kIrqStopped)) {
    return false;
  }
  registers_.follow(host.registers_);
  return true;
}

// Returns whether the core is idle, and its memory has its full credit.
bool Core::idle() const {
  return hangs() || (calm_ && !working() && cycle_ - last_moved_ >= kIdleCycles);
}

bool Core::may_skip(Skip &skip) {
  // Row groups for which a GEMM waits are counted, so the state does not repeat.
  const bool even = calm_ && !doubtful_ &&
                    (!moving_.gemm.active() || issue_[kGemm].panels_held(others(kGemm)) == 0);
  if (news_ == News::kStart) skip.forget();
  if (!even || news_ == News::kOther) skip.interrupt();
  news_ = News::kNone;
  return even;
}

bool Core::leap(uint64_t end, bool skips) {
  const bool was_idle = idle();
  if (!step()) return false;
  if (was_idle && idle() && end - cycle_ >= kRound) {
    const uint64_t cycles = (end - cycle_) / kRound * kRound;
    registers_.count_again(cycles);
    cycle_ += cycles;
    return true;
  }
  if (!skips || !may_skip(skip_) || !marks() || !skip_.wanted(cycle_)) return true;
  SkipReader reader(skip_.state());
  reader.of(cycle_);
  visit(reader);
  uint64_t shift = 0, now = cycle_;
  if (!skip_.follow({&moving_}, &now, end, &shift)) return true;
  SkipWriter writer(skip_.state().even.data(), shift);
  this->skip(writer, now - cycle_);
  return true;
}

}  // namespace ufp4::timing
