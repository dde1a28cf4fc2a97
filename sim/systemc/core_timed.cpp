// SPDX-License-Identifier: Apache-2.0
// The timed model as a module: time, running ahead, the register port, and reset.
#include "core_timed.h"

#include <algorithm>

#include "lock.h"

namespace {

constexpr uint64_t kStuckCycles = 1000000;  // as in the harness (simulator.cpp)

}  // namespace

// --- Time ---------------------------------------------------------------------------------------

void Ufp4CoreTimed::Inside::wait_for(uint64_t cycle) {
  if (cycle > cycle_now()) sc_core::wait(time_of(cycle) - sc_core::sc_time_stamp());
}

// The interrupt is driven by a separate method, because a target may delay whoever calls it.
void Ufp4CoreTimed::Inside::set_level(bool raised) {
  if (level == raised) return;
  level = raised;
  moved.notify();
}

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
  while (!effect() && !far_enough() && ahead->core().going() &&
         advance(ahead.get(), ~uint64_t{0})) {
    const uint64_t moved = std::max(now->cycles(), ahead->core().last_moved());
    if (flights.empty() && ahead->cycles() >= moved + kStuckCycles) break;
  }
  running = &now_at;
  // A stopped core does nothing by itself.
  if (!ahead->core().going() && !effect()) forget_ahead();
}

// Drops the fetched and executed jobs that `now` has consumed, up to *cursor.
void Ufp4CoreTimed::Inside::trim(ufp4::Cursor *cursor) {
  const ufp4::Cursor had = *cursor;
  fetched.erase(fetched.begin(), fetched.begin() + static_cast<std::ptrdiff_t>(had.fetched));
  executed.erase(executed.begin(), executed.begin() + static_cast<std::ptrdiff_t>(had.executed));
  *cursor = {};
  if (!ahead) return;
  ahead_at.fetched -= had.fetched;
  ahead_at.executed -= had.executed;
}

void Ufp4CoreTimed::Inside::forget_ahead() {
  ahead.reset();
  completions.clear();
}

// Sends the completions of the cycles before this one. One that fails is an error, which the core
// reports at once. @return whether all succeeded
bool Ufp4CoreTimed::Inside::send(std::deque<Completion> *to_send, uint64_t cycle) {
  bool all = true;
  while (!to_send->empty() && to_send->front().cycle < cycle) {
    Completion each = to_send->front();
    to_send->pop_front();
    if (!transport(tlm::TLM_WRITE_COMMAND, each.address, &each.completion,
                   sizeof each.completion)) {
      now->miss_completion();
      all = false;
    }
  }
  return all;
}

// Performs what is due, and determines what is next.
void Ufp4CoreTimed::Inside::catch_up() {
  while (!failed) {
    if (!ahead && (now->core().going() || now->memory().has_begun())) look_ahead();
    if (failed) return;
    if (!ahead || ahead->cycles() > cycle_now()) {
      if (!take_answers()) return;
      continue;
    }
    now = std::move(ahead);
    trim(&ahead_at);
    send(&completions, now->cycles());
    set_level(irq_of(*now));
    for (const auto &begun : now->memory().take_begun()) launch(begun);
  }
}

// --- A memory outside ---------------------------------------------------------------------------

// Sends a burst that `now` has begun.
void Ufp4CoreTimed::Inside::launch(const ufp4::timing::BegunBurst &begun) {
  const ufp4::BurstPtr burst = ufp4::make_burst(begun, kick);
  flights.push_back({begun.serial, burst});
  carrier->launch(burst);
}

// Passes the answers of external bursts to `now`, which makes what was run ahead invalid. @return
// whether there were any.
bool Ufp4CoreTimed::Inside::take_answers() {
  const auto answered = [](const ufp4::Flight &flight) { return flight.burst->answered; };
  if (std::none_of(flights.begin(), flights.end(), answered)) return false;
  catch_up_to(cycle_now());
  forget_ahead();
  trim(&now_at);
  for (const ufp4::Flight &flight : flights) {
    if (!flight.burst->answered) continue;
    now->memory().answer(flight.serial, flight.burst->due, flight.burst->response);
  }
  flights.erase(std::remove_if(flights.begin(), flights.end(), answered), flights.end());
  return true;
}

// Runs `now` up to a cycle. Nothing visible happens on the way.
void Ufp4CoreTimed::Inside::catch_up_to(uint64_t cycle) {
  while (!failed && now->cycles() < cycle) advance(now.get(), cycle);
}

// --- The register port --------------------------------------------------------------------------

// Performs the access on the model. @return false if it is in reset, or fails.
bool Ufp4CoreTimed::Inside::try_access(bool write, uint32_t offset, uint32_t *value) {
  const ufp4::Lock lock(busy);
  if (in_reset) return false;
  catch_up();
  catch_up_to(cycle_now());
  if (failed) return false;
  const ufp4::timing::Orders before = now->core().orders();
  const ufp4_timed_status_t status = write ? now->write(offset, *value) : now->read(offset, value);
  if (status != UFP4_TIMED_OK) fail(why.empty() ? now->message() : why);
  // What was run ahead is invalid if an event has come meanwhile, or if this write changes later
  // events; most writes do not.
  if (ahead && (!passed.empty() || ahead->cycles() <= now->cycles() ||
                (write && !ahead->follow(*now, before)))) {
    forget_ahead();
  }
  trim(&now_at);
  // A soft reset drops the jobs that were run ahead.
  if (now->core().resetting()) {
    fetched.clear();
    executed.clear();
  }
  return !failed;
}

bool Ufp4CoreTimed::Inside::access(bool write, uint32_t offset, uint32_t *value) {
  while (in_reset) sc_core::wait(released);
  if (failed) return false;
  wait_for(now->cycles());
  if (!try_access(write, offset, value)) return !failed && access(write, offset, value);
  if (!end_access()) return access(write, offset, value);  // the access was lost
  kick.notify();
  return !failed;
}

// Lets the time of an access pass, with visible events in their cycles, as in the RTL: the
// interrupt may fall before the access that clears it ends, and bursts may begin. @return false if
// a reset has occurred. One that comes while a target holds up the write of a completion leaves the
// access done, because the register port of the RTL does not wait for that write.
bool Ufp4CoreTimed::Inside::end_access() {
  const uint64_t end = now->cycles(), levels = now->levels(), resets_then = resets;
  bool missed = false;
  std::deque<Completion> sent;
  sent.swap(passed);  // a reset may occur while the target waits
  const auto begun = now->memory().take_begun();
  auto burst = begun.begin();
  for (uint64_t cycle = cycle_now() + 1; cycle <= end; cycle++) {
    const bool raised = levels >> (end - cycle) & 1;
    const bool sends = !sent.empty() && sent.front().cycle < cycle;
    const bool begins = burst != begun.end() && burst->cycle < cycle;
    if (!begins && !sends && !missed && raised == level) continue;
    wait_for(cycle);
    if (resets != resets_then) return false;
    for (; burst != begun.end() && burst->cycle < cycle; ++burst) launch(*burst);
    if (resets != resets_then) return false;
    missed |= !send(&sent, cycle);
    if (resets != resets_then) return true;
    set_level(raised || (missed && irq_of(*now)));
  }
  wait_for(end);
  return resets == resets_then;
}

// Reads a register at the present time. Cycles before `ahead` need no new data from the host.
// Otherwise a copy is read, which stops before a cycle that would need more from the host than is
// known.
bool Ufp4CoreTimed::Inside::peek(uint32_t offset, uint32_t *value) {
  if (!in_reset && !failed && ahead && ahead->cycles() > cycle_now() && busy.trylock() == 0) {
    catch_up_to(cycle_now());
    trim(&now_at);
    *value = now->core().peek(offset);
    busy.unlock();
    return true;
  }
  ufp4::Cursor *const before = running;
  ufp4::Cursor at = now_at;
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
  // The memory with banks keeps the requests made so far.
  if (ahead && ahead->cycles() <= cycle_now()) now = std::move(ahead);
  if (ahead || !now->core().working()) catch_up_to(cycle_now());
  forget_ahead();
  now_at = ahead_at = {};
  fetched.clear();
  executed.clear();
  passed.clear();
  flights.clear();
  // The interrupt falls at the next edge, at which the RTL sees the reset.
  if (level) {
    level = false;
    moved.notify(time_of(cycle_now() + 1) - sc_core::sc_time_stamp());
  }
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
    shift = now->cycles() - clock_cycles();  // the next cycle is the first after reset
    now->memory().set_ahead(shift);
    in_reset = false;
    released.notify();
    kick.notify();
  }
}
