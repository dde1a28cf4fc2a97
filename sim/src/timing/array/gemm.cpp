// SPDX-License-Identifier: Apache-2.0
#include "timing/array/gemm.h"

namespace ufp4::timing {

Gemm::Gemm(const Shape &shape)
    : request_(shape),
      load_width_(shape.load_bytes, shape.bus_bytes),
      sequencer_(shape),
      drain_(shape),
      addend_(shape),
      width_(shape.drain_bytes, shape.bus_bytes) {}

void Gemm::reset() {
  active_ = quiet_ = fed_ = waits_ = false;
  errors_ = {};
  request_.reset();
  load_width_.reset();
  write_.reset();
  sequencer_.reset();
  drain_.reset();
  addend_.reset();
  width_.reset();
}

void Gemm::start(const ufp4_gemm_descriptor_t &desc) {
  active_ = true;
  fed_ = false;
  errors_ = {};
  request_.start(desc);
  sequencer_.start(desc);
  drain_.start(desc);
  addend_.start(desc);
}

void Gemm::evaluate(const Input &in, const Sequencer::State &feed, State &s) const {
  const bool held = request_.held(in.panels_held, in.panels);
  s.busy = feed.busy;
  s.stall_operand = feed.stall_operand && !held;
  s.stall_panel = feed.stall_operand && held;
  s.stall_accumulator = feed.stall_accumulator;
  s.stall_drain = !s.busy && !feed.stall_operand && !feed.stall_accumulator;
  s.end_chunk = feed.end_chunk;
}

void Gemm::look(bool write_ready, bool write_dat_ready, uint32_t panels_held, uint32_t panels,
                CoreSigns &signs) const {
  signs.loading = request_.loading();
  signs.chunk = request_.valid();
  signs.held = request_.held(panels_held, panels);
  signs.notes = write_.notes();
  drain_.look(write_ready, width_.dat_ready(write_dat_ready),
              addend_.sums_ready(drain_.sums_need()), addend_.c_ready(drain_.c_need()), signs);
}

void Gemm::step(const ufp4_gemm_descriptor_t &desc, const Input &in, uint64_t now, State &s) {
  if (!active_) {
    drain_.sleep(false);
    s = {};
    if (in.start) start(desc);
    return;
  }
  const bool slot = sequencer_.slot();
  const Sequencer::State feed = sequencer_.evaluate(write_.loaded(slot));
  const bool drain_asleep = drain_.asleep();
  Drain::State drain;
  if (!drain_asleep) {
    drain =
        drain_.evaluate(in.write_ready, width_.dat_ready(in.write_dat_ready),
                        addend_.sums_ready(drain_.sums_need()), addend_.c_ready(drain_.c_need()));
  }
  evaluate(in, feed, s);
  const bool drain_idle = drain_.idle();
  const bool quiet = drain_idle && addend_.idle() && width_.idle(in.write_idle);
  s.done = quiet && quiet_;
  quiet_ = quiet && !s.done;

  const bool loading = request_.loading(), fire = in.load_ready;
  waits_ = load_valid(in.panels_held, in.panels) && !fire;
  const bool read_error = load_width_.error(in.load_valid, in.read_error) ||
                          addend_.error(in.addend_valid, in.read_error);
  const bool release = sequencer_.release(now), ready = sequencer_.ready(now);
  const uint32_t tiles = request_.tiles();
  if (addend_.wanted())
    addend_.step(desc, drain, drain_idle, in.addend_ready, in.addend_valid, in.read_error);
  width_.step(drain_.request(), in.write_ready, drain_.dat_valid(), in.write_dat_ready);
  if (drain_asleep) {
    drain_.sleep(ready);
  } else {
    drain_.step(drain, in.write_ready, ready, loading, tiles);
  }
  sequencer_.step(feed, now, loading, tiles, drain.drained, drain.drained_bank);
  write_.step(load_width_.valid(in.load_valid), feed.end_chunk, slot);
  const Request asked = fire ? request_.request(desc) : Request{};
  load_width_.step(asked, fire, in.load_valid, in.read_error);
  if (fire) write_.push(request_.note(asked.beats));
  request_.step(desc, fire, release, errors_.any());
  errors_.add(read_error, in.write_error);
  fed_ = fed_ || feed.end_chunk;
  if (s.done) active_ = false;
}

}  // namespace ufp4::timing
