// SPDX-License-Identifier: Apache-2.0
#include "timing/quant/quant.h"

namespace ufp4::timing {

Quant::Quant(const Shape &shape)
    : shape_(&shape),
      load_(shape),
      strip_(shape),
      block_{QuantBlock(shape), QuantBlock(shape)},
      pairs_(shape),
      serial_(shape),
      write_(shape) {}

void Quant::reset() {
  state_ = State::kIdle;
  load_.reset();
  strip_.reset();
  transpose_.reset();
  for (QuantBlock &block : block_) block.reset();
  pairs_.reset();
  serial_.reset();
  write_.reset();
  write_wide_.reset();
  progress_.reset();
}

void Quant::set_up(const ufp4_quant_descriptor_t &desc) {
  job_.amax = desc.opcode == UFP4_OPCODE_AMAX;
  job_.f32 = desc.src_dtype == UFP4_DTYPE_F32;
  job_.pair = !job_.amax && desc.scale == UFP4_SCALE_E8M0;
  job_.enable =
      (desc.row_mode & UFP4_MODE_ENABLE ? 1u : 0u) | (desc.col_mode & UFP4_MODE_ENABLE ? 2u : 0u);
  job_.rows = desc.rows;
  job_.cols = desc.cols;
  job_.tiles = (desc.cols + 15) >> 4;
  job_.side = job_.pair ? 1 : !lanes() ? 0 : job_.f32 ? 1 : 2;
  job_.row_beats = (desc.cols * (job_.f32 ? 4 : 2) + shape_->bus_bytes - 1) / shape_->bus_bytes;
  job_.addr = desc.src_addr;
  job_.stride_bytes = desc.src_stride_bytes;
  job_.codes_addr[0] = desc.row_codes_addr;
  job_.codes_addr[1] = desc.col_codes_addr;
  job_.scales_addr[0] = desc.row_scales_addr;
  job_.scales_addr[1] = desc.col_scales_addr;
  job_.stride_blocks[0] = desc.row_stride_blocks;
  job_.stride_blocks[1] = desc.col_stride_blocks;
}

void Quant::start() {
  load_.start(job_);
  strip_.start(job_);
  for (QuantBlock &block : block_) block.start();
  pairs_.start(job_);
  serial_.start();
  write_.start(job_);
  write_wide_.start(job_);
}

// Returns the copies that have been finished, a bit each.
uint32_t Quant::finished() const {
  if (!job_.amax) return lanes() ? write_wide_.done() : write_.done();
  if (shape_->quant < 16) return serial_.amax_done();
  uint32_t done = 0;
  for (uint32_t c = 0; c < 2; c++) {
    done |= (lanes() ? block_[c].amax_all_done() : block_[c].amax_done()) ? 1u << c : 0u;
  }
  return done;
}

void Quant::next_state(const Input &in) {
  switch (state_) {
    case State::kIdle:
      state_ = in.start ? State::kSetup : State::kIdle;
      break;
    case State::kSetup:
      state_ = State::kStart;
      break;
    case State::kStart:
      state_ = State::kRun;
      break;
    case State::kRun:
      if ((job_.enable & ~finished()) == 0) state_ = State::kSettle;
      break;
    case State::kSettle:
      state_ = State::kDrain;
      break;
    case State::kDrain:
      if (in.write_idle) state_ = State::kDone;
      break;
    case State::kDone:
      state_ = State::kIdle;
      break;
  }
}

// Counts the accesses of the banks of the transpose, with E8M0 only of one lane, and of the banks
// for groups of units.
void Quant::count_wide(bool row, bool column, const bool *take) {
  const bool others = lanes() && !job_.pair;
  stored_[0] += row;
  stored_[1] += row && others;
  fetched_[0] += column;
  fetched_[1] += column && others;
  if (lanes()) codes_ += (job_.pair ? 1 : 4) * (uint64_t{take[0]} + take[1]);
}

bool Quant::step_wide(bool beat, uint32_t rest, bool *take, QuantMark *out) {
  const bool pair = job_.pair, enable[2] = {(job_.enable & 1) != 0, (job_.enable & 2) != 0};
  bool out_ready[2], ready[2];
  for (uint32_t c = 0; c < 2; c++) {
    out_ready[c] = lanes() ? write_wide_.in_ready(c) : write_.in_ready(pair, c);
    ready[c] = block_[c].ready(out_ready[c]);
    take[c] = block_[c].out_valid() && out_ready[c];
    out[c] = block_[c].out();
  }
  // Each row goes to both copies in the same cycle.
  const bool row_side = ready[0] || !enable[0];
  const bool column_side = transpose_.in_ready(pair, ready[1]) || !enable[1];
  const bool valid = strip_.row_valid(), moves = valid && row_side && column_side;
  const QuantMark row = strip_.row(), column = transpose_.out();
  block_[0].step(job_, valid && enable[0] && column_side, row, out_ready[0]);
  block_[1].step(job_, transpose_.out_valid(), column, out_ready[1]);
  count_wide(moves && enable[1], transpose_.r_issue(ready[1]), take);
  transpose_.step(pair, moves && enable[1], row, ready[1]);
  return strip_.step(job_, beat, row_side && column_side, rest);
}

bool Quant::step_narrow(bool beat, uint32_t rest, bool *take, QuantMark *out) {
  const PairMark leaves = serial_.out();
  const bool out_ready = write_.in_ready(job_.pair, leaves.copy);
  for (uint32_t c = 0; c < 2; c++) {
    take[c] = serial_.out_valid() && out_ready && leaves.copy == (c == 1);
    out[c] = leaves.mark;
  }
  const bool ready = serial_.in_ready(), issues = serial_.issues(out_ready);
  taken_ += pairs_.valid() && ready;
  issued_[0] += issues;
  issued_[1] += issues && !job_.amax;
  for (uint32_t c = 0; c < 2; c++) {
    // A word of eight scales follows every eighth block.
    if (take[c]) codes_ += write_.eighth(job_.pair, c) ? 2 : 1;
  }
  serial_.step(job_, pairs_.valid(), pairs_.out(), out_ready);
  return pairs_.step(job_, beat, ready, rest);
}

void Quant::add(Accesses *all) const {
  strip_.add(all);
  pairs_.add(all);
  all->writes[UFP4_SRAM_TRANSPOSE] += 16 * stored_[0];
  all->reads[UFP4_SRAM_TRANSPOSE] += 16 * fetched_[0];
  all->writes[UFP4_SRAM_TRANSPOSE_OTHERS] += 48 * stored_[1];
  all->reads[UFP4_SRAM_TRANSPOSE_OTHERS] += 48 * fetched_[1];
  all->writes[UFP4_SRAM_BLOCKS] += taken_;
  all->reads[UFP4_SRAM_BLOCKS] += issued_[0];
  all->writes[UFP4_SRAM_TRANSFORMED] += issued_[1];
  all->reads[UFP4_SRAM_TRANSFORMED] += issued_[1];
  all->writes[UFP4_SRAM_OUTPUT] += codes_;
  if (lanes()) all->reads[UFP4_SRAM_OUTPUT] += 16 * write_wide_.loaded();
  if (!wide()) all->reads[UFP4_SRAM_OUTPUT] += write_.loaded();
}

void Quant::look(CoreSigns &signs) const {
  const bool row = job_.enable & 1, column = job_.enable & 2;
  signs.quant_state = static_cast<uint8_t>(state_);
  signs.row_valid = wide() ? strip_.row_valid() : pairs_.valid();
  signs.arriving = wide() ? strip_.arriving() : pairs_.arriving();
  signs.row_ready =
      wide() ? (!row || copy_ready(0)) && (!column || transpose_.in_ready(job_.pair, copy_ready(1)))
             : serial_.in_ready();
}

void Quant::step(const ufp4_quant_descriptor_t &desc, const Input &in) {
  const State was = state_;
  bool strip_end = false;
  next_state(in);
  if (was != State::kIdle) {
    bool take[2];
    QuantMark out[2];
    // A job that ends early has requested fewer strips than its source has.
    const uint32_t rest = load_.loading() ? kEndless : load_.strips();
    const bool freed =
        wide() ? step_wide(in.beat, rest, take, out) : step_narrow(in.beat, rest, take, out);
    load_.step(job_, in.load_ready, freed, errors_.any());
    strip_end = lanes() ? write_wide_.step(take, out, in.write_ready, in.write_dat_ready)
                        : write_.step(job_, take, out, in.write_ready, in.write_dat_ready);
  }
  progress_.step(job_.pair, was == State::kIdle && in.start, in.write_ready, in.answer, strip_end);
  if (was == State::kSetup) set_up(desc);
  errors_.add(in.read_error, in.write_error);
  if (was == State::kStart) {
    start();
    errors_ = {};
  }
}

}  // namespace ufp4::timing
