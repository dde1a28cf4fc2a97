// SPDX-License-Identifier: Apache-2.0
#include "timing/host/command.h"

#include <cstring>

namespace ufp4::timing {
namespace {

constexpr uint8_t kPoison = 0xDE;  // data of a failed read, as in the harness

}  // namespace

// --- Front --------------------------------------------------------------------------------------

void Front::step(const Rings &rings, bool req_ready, bool beat, bool error, bool taken) {
  switch (state_) {
    case State::kIdle:
      beat_ = 0;
      lost_ = false;
      if (next_ != rings.tail) state_ = State::kRequest;
      break;
    case State::kRequest:
      if (req_ready) state_ = State::kFetch;
      break;
    case State::kFetch:
      if (beat) lost_ = lost_ || error || missed_;
      if (!beat || ++beat_ != UFP4_DESCRIPTOR_BYTES / shape_.bus_bytes) break;
      state_ = State::kCheck;
      missed_ = false;
      if (lost_) std::memset(job_.bytes, kPoison, sizeof job_.bytes);
      left_ = region_cycles(job_);
      status_ = lost_ ? uint16_t{UFP4_CORE_STATUS_READ_ERROR} : check_descriptor(job_, shape_);
      break;
    case State::kCheck:
      if (--left_ == 0) state_ = State::kOffer;
      break;
    case State::kOffer:
      if (!taken) break;
      next_++;
      state_ = State::kIdle;
      break;
  }
}

// --- Issue --------------------------------------------------------------------------------------

void Issue::reset() {
  state_ = State::kEmpty;
  next_valid_ = false;
}

uint32_t Issue::panels_held(const Others &others) const {
  const uint32_t panels = job_.header.panels;
  return (is_done(panels, others) ? 0u : 1u) | (is_done(panels >> 4, others) ? 0u : 2u);
}

bool Issue::may_start(const Others &others) const {
  if (!is_done(job_.header.after, others)) return false;
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t distance = job_.header.panels >> 4 * i & 15;
    const bool started = others.other_started && others.other_tag == ((tag_ - distance) & 15);
    if (!is_done(distance, others) && !started) return false;
  }
  return true;
}

bool Issue::slot_bad(bool second, const Slots &slots) const {
  const bool gemm = job_.is_gemm(), amax = job_.header.opcode == UFP4_OPCODE_AMAX;
  const uint32_t mode = gemm ? (second ? job_.gemm.b_mode : job_.gemm.a_mode)
                             : (second ? job_.quant.col_mode : job_.quant.row_mode);
  const uint32_t exponent = gemm ? (second ? job_.gemm.b_exponent : job_.gemm.a_exponent)
                                 : (second ? job_.quant.col_exponent : job_.quant.row_exponent);
  const bool wanted = gemm || (mode & UFP4_MODE_ENABLE);
  if (!wanted || !(amax || (mode & UFP4_MODE_SLOT))) return false;
  return exponent >= UFP4_SLOTS || (!amax && !slots.valid[exponent]);
}

void Issue::run(bool done, uint16_t status) {
  cycles_++;
  if (!done) return;
  status_ = status;
  const bool amax = job_.header.opcode == UFP4_OPCODE_AMAX && status == UFP4_CORE_STATUS_OK;
  state_ = amax ? State::kStoreA : State::kFinish;
}

void Issue::next_state(const Others &others, Slots &slots, bool load, bool start_ready, bool done,
                       uint16_t status) {
  switch (state_) {
    case State::kEmpty:
    case State::kFinish:
      status_ = UFP4_CORE_STATUS_OK;
      cycles_ = 0;
      state_ = load ? State::kWait : State::kEmpty;
      break;
    case State::kWait:
      if (may_start(others)) state_ = State::kSlotA;
      break;
    case State::kSlotA:
    case State::kSlotB:
      if (slot_bad(state_ == State::kSlotB, slots)) status_ = UFP4_CORE_STATUS_BAD_SLOT;
      state_ = state_ == State::kSlotA ? State::kSlotB : State::kStart;
      break;
    case State::kStart:
      if (status_ != UFP4_CORE_STATUS_OK) {
        state_ = State::kFinish;
      } else if (start_ready) {
        state_ = State::kRun;
      }
      break;
    case State::kRun:
      run(done, status);
      break;
    case State::kStoreA:
      if (job_.quant.row_mode & UFP4_MODE_ENABLE) slots.valid[job_.quant.row_exponent] = true;
      state_ = State::kStoreB;
      break;
    case State::kStoreB:
      if (job_.quant.col_mode & UFP4_MODE_ENABLE) slots.valid[job_.quant.col_exponent] = true;
      state_ = State::kFinish;
      break;
  }
}

void Issue::step(const Others &others, Slots &slots, bool give, const Descriptor &job, uint32_t tag,
                 bool start_ready, bool done, uint16_t status) {
  const bool load = next_valid_ && (state_ == State::kEmpty || state_ == State::kFinish);
  const bool takes = give && !next_valid_;
  next_state(others, slots, load, start_ready, done, status);
  if (load) {
    job_ = next_;
    tag_ = next_tag_;
    next_valid_ = false;
  }
  if (takes) {
    next_ = job;
    next_tag_ = tag;
    next_valid_ = true;
  }
}

// --- Retire -------------------------------------------------------------------------------------

void Retire::reset() {
  state_ = State::kIdle;
  done_ = head_ = 0;
}

void Retire::next_state(bool req_ready, bool dat_ready, bool idle) {
  const bool asks = !sent_, offers = beat_ != beats_;
  switch (state_) {
    case State::kIdle:
      beat_ = 0;
      sent_ = false;
      if (done_ >> (head_ & 15) & 1) state_ = State::kComplete;
      break;
    case State::kComplete:
      if (!asks && !offers) state_ = State::kRetire;
      if (asks && req_ready) sent_ = true;
      if (offers && dat_ready) beat_++;
      break;
    case State::kRetire:
      if (!idle) break;
      done_ &= ~(1u << (head_ & 15));
      head_++;
      state_ = State::kIdle;
      break;
  }
}

void Retire::step(const Enter &enter, const Descriptor &job, const Issue::Finish *finish,
                  bool req_ready, bool dat_ready, bool idle, bool error) {
  error_ = state_ != State::kIdle && (error_ || error);
  next_state(req_ready, dat_ready, idle);
  if (enter.valid) {
    const uint32_t bit = 1u << enter.tag;
    done_ = (done_ & ~bit) | (enter.done ? bit : 0);
    jobs_[enter.tag] = {job, {enter.job, enter.status, 0, 0}, enter.irq, false};
  }
  for (uint32_t e = 0; e < 2; e++) {
    if (!finish[e].valid) continue;
    Job &ended = jobs_[finish[e].tag];
    done_ |= 1u << finish[e].tag;
    ended.completion.status = finish[e].status;
    ended.completion.cycles = finish[e].cycles;
    ended.engine = finish[e].status == UFP4_CORE_STATUS_OK;
  }
}

}  // namespace ufp4::timing
