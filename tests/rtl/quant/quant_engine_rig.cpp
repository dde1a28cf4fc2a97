// SPDX-License-Identifier: Apache-2.0
#include "quant_engine_rig.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

extern "C" {
#include "ufp4/panel.h"
}

namespace quant_engine {

size_t element_bytes(const Job &job) {
  return job.dtype == UFP4_DTYPE_F32 ? 4 : 2;
}

Place Engine::place(const Job &job) {
  Place p;
  uint64_t at = kGuard + 128 * check_below(&random, 8);
  p.stride_bytes =
      static_cast<int64_t>(round_up(static_cast<uint64_t>(job.cols) * element_bytes(job), 128) +
                           128 * check_below(&random, 3));
  p.source = at;
  at += static_cast<uint64_t>(job.rows * p.stride_bytes) + kGuard;
  for (int c = 0; c < 2; c++) {
    const int64_t rows = c ? job.cols : job.rows, k = c ? job.rows : job.cols;
    p.stride_blocks[c] = ufp4_panel_stride_blocks(k) +
                         UFP4_ALIGN_BLOCKS * static_cast<int64_t>(check_below(&random, 2));
    p.codes[c] = round_up(at, 128);
    at = p.codes[c] + static_cast<uint64_t>(ufp4_panel_codes_bytes(rows, p.stride_blocks[c])) +
         kGuard;
    p.scales[c] = round_up(at, 128);
    at = p.scales[c] + static_cast<uint64_t>(ufp4_panel_scales_bytes(rows, p.stride_blocks[c])) +
         kGuard;
  }
  check_that(0, at <= memory.data.size(), "the job does not fit into the test's memory");
  return p;
}

uint32_t Engine::number(const Job &job, int64_t index) {
  if (job.numbers.empty()) return fixture_number(&random, job.distribution);
  uint32_t bits;
  std::memcpy(&bits, &job.numbers[static_cast<size_t>(index)], sizeof bits);
  return bits;
}

/** Fills memory with random bytes, so that everything beside the tensor is garbage, including NaN
 * and Inf; then stores the tensor. */
void Engine::fill(const Job &job, const Place &p) {
  for (size_t i = 0; i < memory.data.size(); i += 8) {
    const uint64_t word = check_next(&random);
    std::memcpy(&memory.data[i], &word, 8);
  }
  for (int64_t r = 0; r < job.rows; r++) {
    for (int64_t c = 0; c < job.cols; c++) {
      const uint32_t bits = number(job, r * job.cols + c);
      const uint16_t half = static_cast<uint16_t>(bits >> 16);
      uint8_t *to = &memory.data[p.source + static_cast<uint64_t>(r * p.stride_bytes) +
                                 static_cast<uint64_t>(c) * element_bytes(job)];
      if (job.dtype == UFP4_DTYPE_F32)
        std::memcpy(to, &bits, 4);
      else
        std::memcpy(to, &half, 2);
    }
  }
  const uint64_t row_bytes = round_up(static_cast<uint64_t>(job.cols) * element_bytes(job), kBus);
  memory.read_lo = p.source;
  memory.read_hi = p.source + static_cast<uint64_t>((job.rows - 1) * p.stride_bytes) + row_bytes;
}

void Engine::describe(const Job &job, const Place &p, bool amax) {
  ufp4_quant_descriptor_t d = {};
  d.opcode = amax ? UFP4_OPCODE_AMAX : UFP4_OPCODE_QUANT;
  d.rows = static_cast<uint32_t>(job.rows);
  d.cols = static_cast<uint32_t>(job.cols);
  d.src_addr = EngineMemory::kBase + p.source;
  d.src_stride_bytes = static_cast<uint32_t>(p.stride_bytes);
  d.src_dtype = static_cast<uint8_t>(job.dtype);
  d.elem = static_cast<uint8_t>(job.how.elem);
  d.round = static_cast<uint8_t>(job.how.round);
  d.scale_round = static_cast<uint8_t>(job.how.scale_round);
  d.scale = static_cast<uint8_t>(job.how.scale);
  d.row_mode = static_cast<uint8_t>((job.copies & kRow ? UFP4_MODE_ENABLE : 0) |
                                    (job.rht_copies & kRow ? UFP4_MODE_RHT : 0));
  d.col_mode = static_cast<uint8_t>((job.copies & kCol ? UFP4_MODE_ENABLE : 0) |
                                    (job.rht_copies & kCol ? UFP4_MODE_RHT : 0));
  d.rht_mask = static_cast<uint16_t>(job.how.rht_mask);
  d.row_codes_addr = EngineMemory::kBase + p.codes[0];
  d.row_scales_addr = EngineMemory::kBase + p.scales[0];
  d.col_codes_addr = EngineMemory::kBase + p.codes[1];
  d.col_scales_addr = EngineMemory::kBase + p.scales[1];
  d.row_stride_blocks = static_cast<uint32_t>(p.stride_blocks[0]);
  d.col_stride_blocks = static_cast<uint32_t>(p.stride_blocks[1]);
  d.seed = job.how.seed;
  d.row_tensor_id = job.how.tensor_id;
  d.col_tensor_id = job.how.tensor_id ^ 1;
  std::memcpy(m.desc_i.data(), &d, sizeof d);
  m.row_exponent_i = static_cast<uint16_t>(job.t[0]);
  m.col_exponent_i = static_cast<uint16_t>(job.t[1]);
}

/** Checks the row groups of the row copy that are reported to be in memory: every write to them has
 * been answered. */
void Engine::check_panels(const Job &job, const Place &p, int64_t from, int64_t end) {
  const uint64_t units = static_cast<uint64_t>((job.cols + 15) / 16);
  for (int64_t group = from; group < std::min(end, (job.rows + 15) / 16); group++) {
    const uint64_t unit = static_cast<uint64_t>(group * p.stride_blocks[0]);
    const auto answered_in = [&](uint64_t first, uint64_t bytes) {
      uint64_t sum = 0;
      for (const Written &written : memory.answered) {
        if (written.first >= first &&
            written.first < first + bytes * static_cast<uint64_t>(p.stride_blocks[0]))
          sum += written.bytes;
      }
      return sum;
    };
    check_bits(group, answered_in(p.codes[0] + 128 * unit, 128), 128 * units,
               "bytes of codes of a row group that is said to be written");
    check_bits(group, answered_in(p.scales[0] + 16 * unit, 16), 16 * units,
               "bytes of scales of a row group that is said to be written");
  }
}

Outcome Engine::simulate(const Behaviour &behaviour, uint64_t limit, const Job &job,
                         const Place &place, const Flip *flip) {
  Outcome out = {};
  memory.reset(behaviour, random);
  check_next(&random);
  m.start_valid_i = 1;
  // The last writes are counted a little after their answer, and the next job may start before.
  out.rests = check_below(&random, 2);
  int left = out.rests ? 5 : 1;
  int64_t panels = 0;
  for (uint64_t cycle = 0; cycle < limit && left != 0; cycle++) {
    memory.drive(cycle);
    m.wr_answer_i = memory.answers;
    m.eval();
    if (!m.start_valid_i) {
      check_panels(job, place, panels, m.panels_o);
      panels = m.panels_o;
    }
    const bool started = m.start_valid_i && m.start_ready_o;
    if (m.done_valid_o) {
      check_that(0, memory.quiet(), "done with reads or writes under way");
      out.ended = true;
      out.cycles = cycle;
      out.read_error = m.done_read_error_o;
      out.write_error = m.done_write_error_o;
      out.memory_error = m.done_memory_error_o;
      out.flags = m.done_flags_o;
      out.t[0] = static_cast<int16_t>(m.done_row_exponent_o);
      out.t[1] = static_cast<int16_t>(m.done_col_exponent_o);
    }
    memory.clock(cycle);
    edge();
    if (flip && cycle == flip->cycle) {
      flip_bits(*m.contextp(), *flip);
      out.flipped = true;
    }
    if (started) m.start_valid_i = 0;
    left -= out.ended;
  }
  out.panels = panels;
  return out;
}

/** AMAX ignores the scale. */
static ufp4_quantize_t copy_options(const Job &job, int c, bool amax) {
  ufp4_quantize_t how = job.how;
  how.axis = c ? UFP4_AXIS_COL : UFP4_AXIS_ROW;
  how.rht = job.rht_copies >> c & 1 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
  how.tensor_id = job.how.tensor_id ^ static_cast<uint64_t>(c);
  if (amax) {
    how.scale = UFP4_SCALE_E4M3;
    how.scale_round = UFP4_SCALE_ROUND_RNE;
  }
  how.exponent_given = how.scale == UFP4_SCALE_E4M3;
  how.exponent = job.t[c];
  return how;
}

void Engine::compare(const Job &job, const Place &p, const std::vector<uint8_t> &before,
                     const Outcome &outcome, bool amax) {
  std::vector<uint8_t> want = before;
  const ufp4_matrix_t matrix = {job.dtype, job.rows, job.cols,
                                p.stride_bytes / static_cast<int64_t>(element_bytes(job)),
                                &before[p.source]};
  char what[160];
  std::snprintf(what, sizeof what, "%s %lldx%lld %s elem %d scale %d copies %u rht %u%s%s",
                amax ? "amax" : "quant", static_cast<long long>(job.rows),
                static_cast<long long>(job.cols), job.dtype == UFP4_DTYPE_F32 ? "f32" : "bf16",
                job.how.elem, job.how.scale, job.copies, job.rht_copies,
                job.how.round == UFP4_ROUND_SR ? " sr" : "",
                job.how.scale_round == UFP4_SCALE_ROUND_UP ? " up" : "");
  if (!check_that(0, outcome.ended, "%s: no end within the limit", what)) return;
  // An error ends the job early: unwritten bytes keep their value, and flags and exponents are
  // meaningless. After a memory error the written bytes are meaningless too.
  const bool cut = outcome.read_error || outcome.write_error || outcome.memory_error;
  std::vector<uint8_t> inverse = before;
  if (outcome.memory_error) {
    for (uint8_t &byte : inverse) byte = static_cast<uint8_t>(~byte);
  }
  unsigned flags = 0;
  for (int c = 0; c < 2; c++) {
    if (!(job.copies >> c & 1)) continue;
    const ufp4_quantize_t how = copy_options(job, c, amax);
    ufp4_operand_t operand;
    check_bits(0, ufp4_quantize(&matrix, &how, &operand), UFP4_OK, "%s: golden model", what);
    for (std::vector<uint8_t> *image : {&want, &inverse}) {
      if (!amax)
        ufp4_panel_pack(&operand, p.stride_blocks[c], &(*image)[p.codes[c]],
                        &(*image)[p.scales[c]]);
    }
    flags |= operand.flags & UFP4_FLAG_NAN;
    if (!amax && operand.flags & UFP4_FLAG_ROW_SATURATED)
      flags |= c ? UFP4_FLAG_COL_SATURATED : UFP4_FLAG_ROW_SATURATED;
    ufp4_operand_free(&operand);
    int t = 0;
    ufp4_tensor_exponent(&matrix, &how, &t);
    if (amax && !cut)
      check_bits(c, static_cast<uint64_t>(outcome.t[c]), static_cast<uint64_t>(t), "%s: exponent",
                 what);
  }
  if (!cut) check_bits(0, outcome.flags, flags, "%s: flags", what);
  for (size_t i = 0; i < want.size(); i++) {
    if (cut && memory.data[i] == before[i]) want[i] = before[i];
    if (outcome.memory_error && want[i] == inverse[i]) continue;
    if (memory.data[i] == want[i]) continue;
    const int copy = i >= p.codes[1] - kGuard;
    check_bits(static_cast<int64_t>(i), memory.data[i], want[i],
               "%s: byte of memory; %s copy, codes %+lld, scales %+lld", what,
               copy ? "column" : "row", static_cast<long long>(i - p.codes[copy]),
               static_cast<long long>(i - p.scales[copy]));
  }
}

Outcome Engine::run(const Job &job, const Behaviour &behaviour, bool amax, const Flip *flip) {
  const Place p = place(job);
  fill(job, p);
  describe(job, p, amax);
  const std::vector<uint8_t> before = memory.data;
  const uint64_t tiles =
      static_cast<uint64_t>((job.rows + 15) / 16) * static_cast<uint64_t>((job.cols + 15) / 16);
  const Outcome outcome =
      simulate(behaviour, 20000 + tiles * 4000 + tiles * 64 * behaviour.latency, job, p, flip);
  // This memory transfers the right data even with an error.
  compare(job, p, before, outcome, amax);
  const unsigned errors = (behaviour.read_error >= 0) + 2u * (behaviour.write_error >= 0);
  check_bits(0, outcome.read_error + 2u * outcome.write_error, errors,
             "errors of the bus: read 1, write 2");
  check_that(0, outcome.flipped || !outcome.memory_error,
             "an error of a memory in which no bit has flipped");
  if (!amax && job.copies & kRow && errors == 0 && !outcome.memory_error && outcome.rests) {
    // With E8M0 row groups are counted in twos.
    const int64_t groups = (job.rows + 15) / 16, pair = job.how.scale == UFP4_SCALE_E8M0 ? 2 : 1;
    check_bits(job.rows, static_cast<uint64_t>(outcome.panels),
               static_cast<uint64_t>((groups + pair - 1) / pair * pair),
               "row groups that are said to be written");
  }
  return outcome;
}

Job job_of(int64_t rows, int64_t cols) {
  Job job = {};
  job.rows = rows;
  job.cols = cols;
  job.copies = job.rht_copies = kBoth;
  job.how.elem = UFP4_ELEM_E1M2;
  job.how.rht_mask = UFP4_RHT_DEFAULT_MASK;
  job.how.round = UFP4_ROUND_SR;
  job.how.seed = 0x1122334455667788u;
  job.how.tensor_id = 0x99AABBCCDDEEFF00u;
  job.t[0] = 8;
  job.t[1] = 7;
  return job;
}

void use_e8m0(Job &job, check_random_t *random) {
  job.how.scale = UFP4_SCALE_E8M0;
  if (job.how.elem == UFP4_ELEM_MIXED) job.how.elem = UFP4_ELEM_E1M2;
  job.how.scale_round = check_below(random, 2) ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN;
  job.rht_copies = 0;
  job.t[0] = job.t[1] = 0;
}

Job random_job(check_random_t *random, int64_t rows, int64_t cols) {
  Job job = job_of(rows, cols);
  job.dtype = check_below(random, 2) ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  job.copies = 1 + check_below(random, 3);
  job.rht_copies = check_below(random, 4);
  job.how.elem =
      static_cast<ufp4_elem_t>(check_below(random, kMixed ? UFP4_ELEM_KINDS : UFP4_ELEM_COUNT));
  job.how.round = static_cast<ufp4_round_t>(check_below(random, 2));
  job.how.scale_round = static_cast<ufp4_scale_round_t>(check_below(random, 2));
  job.how.rht_mask = static_cast<uint16_t>(check_next(random));
  job.how.seed = check_next(random);
  job.how.tensor_id = check_next(random);
  job.distribution =
      static_cast<fixture_distribution_t>(check_below(random, FIXTURE_DISTRIBUTIONS));
  for (int &t : job.t) t = static_cast<int>(check_below(random, 20)) - 2;
  if (check_below(random, 3) == 0) use_e8m0(job, random);
  return job;
}

}  // namespace quant_engine
