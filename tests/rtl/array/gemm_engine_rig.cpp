// SPDX-License-Identifier: Apache-2.0
#include "gemm_engine_rig.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

extern "C" {
#include "ufp4/panel.h"
}

namespace gemm_engine {

static size_t element_bytes(const Job &job) {
  return job.dtype == UFP4_DTYPE_F32 ? 4 : job.dtype == UFP4_DTYPE_BF16 ? 2 : 8;
}

/** The stride in bytes of a plain tensor of the shape of D, sometimes wider than necessary. */
int64_t Engine::stride(const Job &job, size_t element) {
  return static_cast<int64_t>(round_up(static_cast<uint64_t>(job.n) * element, 128) +
                              128 * check_below(&random, 2));
}

Place Engine::place(const Job &job) {
  Place p;
  uint64_t at = kGuard + 128 * check_below(&random, 8);
  auto take = [&](int64_t bytes) {
    const uint64_t here = round_up(at, 128);
    at = here + static_cast<uint64_t>(bytes) + kGuard;
    return here;
  };
  p.a_stride = ufp4_panel_stride_blocks(job.k) +
               UFP4_ALIGN_BLOCKS * static_cast<int64_t>(check_below(&random, 2));
  p.b_stride = ufp4_panel_stride_blocks(job.k) +
               UFP4_ALIGN_BLOCKS * static_cast<int64_t>(check_below(&random, 2));
  p.a_codes = take(ufp4_panel_codes_bytes(job.m, p.a_stride));
  p.b_scales = take(ufp4_panel_scales_bytes(job.n, p.b_stride));
  p.b_codes = take(ufp4_panel_codes_bytes(job.n, p.b_stride));
  p.a_scales = take(ufp4_panel_scales_bytes(job.m, p.a_stride));
  p.sums_stride = stride(job, 8);
  p.sums = take(job.d_mode & UFP4_D_MODE_SUMS ? job.m * p.sums_stride : 0);
  p.c_stride = stride(job, 4);
  p.c = take(job.d_mode & UFP4_D_MODE_C ? job.m * p.c_stride : 0);
  memory.read_lo = p.a_codes;
  memory.read_hi = at;
  p.d_stride = stride(job, element_bytes(job));
  p.d = take(job.m * p.d_stride);
  check_that(0, at <= memory.data.size(), "the job does not fit into the test's memory");
  return p;
}

void Engine::describe(const Job &job, const Place &p) {
  ufp4_gemm_descriptor_t d = {};
  d.opcode = UFP4_OPCODE_GEMM;
  d.m = static_cast<uint32_t>(job.m);
  d.n = static_cast<uint32_t>(job.n);
  d.k = static_cast<uint32_t>(job.k);
  d.a_elem = static_cast<uint8_t>(job.a_elem);
  d.b_elem = static_cast<uint8_t>(job.b_elem);
  d.d_dtype = static_cast<uint8_t>(job.dtype);
  d.contract = UFP4_TEST_CONTRACT;
  d.a_codes_addr = EngineMemory::kBase + p.a_codes;
  d.a_scales_addr = EngineMemory::kBase + p.a_scales;
  d.b_codes_addr = EngineMemory::kBase + p.b_codes;
  d.b_scales_addr = EngineMemory::kBase + p.b_scales;
  d.d_addr = EngineMemory::kBase + p.d;
  d.a_stride_blocks = static_cast<uint32_t>(p.a_stride);
  d.b_stride_blocks = static_cast<uint32_t>(p.b_stride);
  d.d_stride_bytes = static_cast<uint32_t>(p.d_stride);
  d.scale = static_cast<uint8_t>(job.scale);
  d.d_mode = job.d_mode;
  d.sums_addr = EngineMemory::kBase + p.sums;
  d.sums_stride_bytes = static_cast<uint32_t>(p.sums_stride);
  d.c_addr = EngineMemory::kBase + p.c;
  d.c_stride_bytes = static_cast<uint32_t>(p.c_stride);
  d.alpha = ufp4_f32_bits(job.alpha);
  d.tensor_scale = ufp4_f32_bits(job.tensor_scale);
  std::memcpy(m.desc_i.data(), &d, sizeof d);
  m.a_exponent_i = static_cast<uint16_t>(job.a_exponent);
  m.b_exponent_i = static_cast<uint16_t>(job.b_exponent);
}

/** Checks that exactly one state is high in each cycle. */
void Engine::count(Outcome *out) {
  const unsigned high =
      m.busy_o + m.stall_operand_o + m.stall_panel_o + m.stall_accumulator_o + m.stall_drain_o;
  if (high != 1)
    check_bits(static_cast<int64_t>(out->cycles), high, 1,
               "states that are high in a cycle of a job");
  out->cycles++;
  out->busy += m.busy_o;
  out->operand += m.stall_operand_o;
  out->panel += m.stall_panel_o;
  out->accumulator += m.stall_accumulator_o;
  out->drain += m.stall_drain_o;
}

/** Delivers the row groups of the operands of a job one by one. */
class Coming {
 public:
  /** @p whole is memory with all row groups; in @p data those of @p panels become random bytes. */
  Coming(const Job &job, const Place &p, const Panels &panels, const std::vector<uint8_t> &whole,
         std::vector<uint8_t> *data, check_random_t random)
      : panels_(panels), whole_(whole), data_(*data) {
    const Side sides[] = {{(job.m + 15) / 16, p.a_stride, p.a_codes, p.a_scales},
                          {(job.n + 15) / 16, p.b_stride, p.b_codes, p.b_scales}};
    for (unsigned i = 0; i < 2; i++) {
      if (panels.held >> i & 1) sides_.push_back(sides[i]);
    }
    for (const Side &side : sides_) groups_ = std::max(groups_, side.groups);
    for (int64_t group = 0; group < groups_; group++) {
      each_part(group, [&](uint64_t index, uint64_t bytes) {
        std::generate_n(&data_[index], bytes,
                        [&] { return static_cast<uint8_t>(check_next(&random)); });
      });
    }
  }

  /** Sets the inputs before a clock edge. A row group is counted in one cycle, and its bytes are in
   * memory in the next one. */
  void drive(uint64_t cycle, int64_t beats_read, Vgemm_engine *m) {
    if (here_ < came_) {
      each_part(here_++, [&](uint64_t index, uint64_t bytes) {
        std::copy_n(&whole_[index], bytes, &data_[index]);
      });
    }
    if (came_ < groups_ && cycle - last_ == panels_.every) {
      if (came_ > 0 && beats_read == beats_read_) unread++;
      came_++;
      last_ = cycle;
      beats_read_ = beats_read;
    }
    const bool held = here_ < groups_ || cycle - last_ < panels_.stays;
    m->panels_held_i = static_cast<uint8_t>(held ? panels_.held : 0);
    m->panels_i = static_cast<uint32_t>(held ? came_ + (came_ == groups_ ? panels_.over : 0) : 0);
  }

  int unread = 0;  ///< Outcome

 private:
  struct Side {
    int64_t groups, stride;
    uint64_t codes, scales;
  };

  /** Calls @p visit with the offset and the bytes of the codes and of the scales of a row group. */
  template <typename Visit>
  void each_part(int64_t group, Visit visit) {
    for (const Side &side : sides_) {
      if (group >= side.groups) continue;
      const auto codes = static_cast<uint64_t>(ufp4_panel_codes_bytes(16, side.stride));
      const auto scales = static_cast<uint64_t>(ufp4_panel_scales_bytes(16, side.stride));
      visit(side.codes + static_cast<uint64_t>(group) * codes, codes);
      visit(side.scales + static_cast<uint64_t>(group) * scales, scales);
    }
  }

  const Panels panels_;
  const std::vector<uint8_t> &whole_;
  std::vector<uint8_t> &data_;
  std::vector<Side> sides_;
  int64_t groups_ = 0, came_ = 0, here_ = 0;  ///< row groups: all, counted, in memory
  int64_t beats_read_ = 0;                    ///< at the time of the last count
  uint64_t last_ = 0;                         ///< cycle of the last count
};

/** Runs cycles without a job: nothing is requested, written or ended. */
void Engine::rest(uint32_t cycles) {
  for (uint32_t i = 0; i < cycles; i++) {
    memory.drive(0);
    m.eval();
    check_bits(i, m.rd_req_valid_o + m.wr_req_valid_o + m.wr_dat_valid_o + m.done_valid_o, 0,
               "valid between jobs");
    edge();
  }
}

Outcome Engine::simulate(const Job &job, const Behaviour &behaviour, const Flip *flip,
                         Coming *coming) {
  const uint64_t tiles = static_cast<uint64_t>((job.m + 15) / 16 * ((job.n + 15) / 16));
  const uint64_t limit =
      10000 + tiles * static_cast<uint64_t>(job.k / 16 + 1) * (8000 + 100u * behaviour.latency);
  Outcome out = {};
  m.panels_held_i = 0;
  memory.reset(behaviour, random);
  check_next(&random);
  rest(check_below(&random, 3) == 0 ? check_below(&random, 40) : 0);
  m.start_valid_i = 1;
  m.eval();
  check_bits(0, m.start_ready_o, 1, "start_ready_o between jobs");
  for (uint64_t cycle = 0; cycle < limit && !out.ended; cycle++) {
    if (coming) coming->drive(cycle, memory.beats_read, &m);
    memory.drive(cycle);
    m.eval();
    if (cycle > 0) {
      count(&out);
    } else {
      check_bits(
          0,
          m.busy_o + m.stall_operand_o + m.stall_panel_o + m.stall_accumulator_o + m.stall_drain_o,
          0, "states between jobs");
    }
    if (m.done_valid_o) {
      check_that(0, memory.quiet(), "done with reads or writes under way");
      out.ended = true;
      out.read_error = m.done_read_error_o;
      out.write_error = m.done_write_error_o;
      out.memory_error = m.done_memory_error_o;
    }
    memory.clock(cycle);
    edge();
    if (flip && cycle == flip->cycle) {
      flip_bits(*m.contextp(), *flip);
      out.flipped = true;
    }
    m.start_valid_i = 0;
  }
  check_that(0, out.ended, "%lld x %lld x %lld: no end within %llu cycles",
             static_cast<long long>(job.m), static_cast<long long>(job.n),
             static_cast<long long>(job.k), static_cast<unsigned long long>(limit));
  return out;
}

std::vector<std::string> Engine::checked_memories() const {
  std::vector<std::string> all;
  each_memory(*m.contextp(), [&](const std::string &path, const VerilatedVar &) {
    const bool in_array = path.find("u_array") != std::string::npos;
    if (!in_array || UFP4_TEST_TARGET != UFP4_TARGET_SIMULATOR) all.push_back(path);
  });
  return all;
}

void Engine::compare(const Job &job, const Place &p, const std::vector<uint8_t> &want) {
  if (check_bits(0, std::memcmp(memory.data.data(), want.data(), want.size()) != 0, 0,
                 "%lldx%lldx%lld: memory", static_cast<long long>(job.m),
                 static_cast<long long>(job.n), static_cast<long long>(job.k))) {
    return;
  }
  for (size_t i = 0; i < want.size(); i += 2) {
    uint16_t got, expected;
    std::memcpy(&got, &memory.data[i], 2);
    std::memcpy(&expected, &want[i], 2);
    if (got == expected) continue;
    const int64_t in_d = static_cast<int64_t>(i) - static_cast<int64_t>(p.d);
    check_bits(static_cast<int64_t>(i), got, expected,
               "D %lldx%lld k %lld, elements %d %d, scale %d, dtype %d, mode %d, alpha %08x, "
               "tensor scale %08x: row %lld, "
               "byte %lld of it",
               static_cast<long long>(job.m), static_cast<long long>(job.n),
               static_cast<long long>(job.k), job.a_elem, job.b_elem, job.scale, job.dtype,
               job.d_mode, ufp4_f32_bits(job.alpha), ufp4_f32_bits(job.tensor_scale),
               static_cast<long long>(in_d / p.d_stride),
               static_cast<long long>(in_d % p.d_stride));
  }
}

/** Draws sums of every size, and sometimes NaN. */
void Engine::draw_sums(const Job &job, const Place &p) {
  for (int64_t i = 0; i < job.m; i++) {
    for (int64_t j = 0; j < job.n; j++) {
      int64_t sum = static_cast<int64_t>(check_next(&random)) >> (2 + check_below(&random, 62));
      if (check_below(&random, 50) == 0) sum = UFP4_I64_NAN;
      std::memcpy(&memory.data[p.sums + static_cast<uint64_t>(i * p.sums_stride + 8 * j)], &sum, 8);
    }
  }
}

/** Draws C: random bits, zeros of both signs, values that cancel D completely or except for a few
 * bits, and values about as large as D. */
void Engine::draw_c(const Job &job, const Place &p, const ufp4_operand_t &a,
                    const ufp4_operand_t &b, ufp4_gemm_t how) {
  std::vector<uint32_t> plain(static_cast<size_t>(job.m * job.n));
  how.d_dtype = UFP4_DTYPE_F32;
  check_bits(0, ufp4_gemm(&a, &b, &how, plain.data(), job.n), UFP4_OK, "golden model without C");
  for (int64_t i = 0; i < job.m; i++) {
    for (int64_t j = 0; j < job.n; j++) {
      const uint32_t d = plain[static_cast<size_t>(i * job.n + j)],
                     any = static_cast<uint32_t>(check_next(&random));
      const uint32_t about = (d & 0x7F800000u) + ((any >> 24) - 128) * 0x100000u;
      const uint32_t drawn[] = {any, any & 0x80000000u, d ^ 0x80000000u,
                                d ^ 0x80000000u ^ (any & 3),
                                (about & 0x7F800000u) | (any & 0x807FFFFFu)};
      std::memcpy(&memory.data[p.c + static_cast<uint64_t>(i * p.c_stride + 4 * j)],
                  &drawn[check_below(&random, 5)], 4);
    }
  }
}

/** The memory that the job must leave; also draws the tensors that the job adds. */
std::vector<uint8_t> Engine::expect(const Job &job, const Place &p, const ufp4_operand_t &a,
                                    const ufp4_operand_t &b) {
  ufp4_gemm_t how = {};
  how.contract = static_cast<ufp4_contract_t>(UFP4_TEST_CONTRACT);
  how.d_dtype = job.dtype;
  how.alpha = job.d_mode & UFP4_D_MODE_ALPHA ? job.alpha : 1.0f;
  if (job.d_mode & UFP4_D_MODE_SUMS) {
    draw_sums(job, p);
    how.accumulate = reinterpret_cast<const int64_t *>(&memory.data[p.sums]);
    how.accumulate_ld = p.sums_stride / 8;
  }
  if (job.d_mode & UFP4_D_MODE_C) {
    draw_c(job, p, a, b, how);
    how.c = reinterpret_cast<const float *>(&memory.data[p.c]);
    how.c_ld = p.c_stride / 4;
  }
  std::vector<uint8_t> want = memory.data;
  const int64_t d_ld = p.d_stride / static_cast<int64_t>(element_bytes(job));
  check_bits(0, ufp4_gemm(&a, &b, &how, &want[p.d], d_ld), UFP4_OK, "golden model");
  return want;
}

Outcome Engine::run(const Job &job, const Behaviour &behaviour, const Flip *flip,
                    const Panels *panels) {
  const Place p = place(job);
  for (size_t i = 0; i < memory.data.size(); i += 8) {
    const uint64_t word = check_next(&random);
    std::memcpy(&memory.data[i], &word, 8);
  }
  ufp4_operand_t a =
      fixture_operand_scaled(&random, job.a_elem, job.scale, job.m, job.k, job.scales);
  ufp4_operand_t b =
      fixture_operand_scaled(&random, job.b_elem, job.scale, job.n, job.k, job.scales);
  a.exponent = job.a_exponent;
  b.exponent = job.b_exponent;
  a.tensor_scale = job.tensor_scale;
  b.tensor_scale = 1.0f;
  ufp4_panel_pack(&a, p.a_stride, &memory.data[p.a_codes], &memory.data[p.a_scales]);
  ufp4_panel_pack(&b, p.b_stride, &memory.data[p.b_codes], &memory.data[p.b_scales]);
  describe(job, p);
  std::vector<uint8_t> want = expect(job, p, a, b);
  const std::vector<uint8_t> before = memory.data;
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);

  std::unique_ptr<Coming> coming;
  if (panels) coming = std::make_unique<Coming>(job, p, *panels, before, &memory.data, random);
  Outcome outcome = simulate(job, behaviour, flip, coming.get());
  if (coming) outcome.unread = coming->unread;
  const int64_t steps =
      ((job.m + kRows - 1) / kRows) * ((job.n + kCols - 1) / kCols) * ((job.k + 15) / 16) * kSteps;
  const bool reported = outcome.flipped && outcome.memory_error;
  if (reported || behaviour.read_error >= 0 || behaviour.write_error >= 0) {
    // The job may end early. This memory returns the right data together with an error.
    for (size_t i = 0; i < want.size(); i++) {
      if (memory.data[i] == before[i]) want[i] = before[i];
    }
    check_that(0, outcome.busy <= static_cast<uint64_t>(steps), "busy cycles");
    if (reported)
      check_bits(0, outcome.read_error + 2u * outcome.write_error, 0,
                 "errors beside that of the memory");
  } else {
    check_bits(0, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error, 0,
               "errors");
    check_bits(0, outcome.busy, static_cast<uint64_t>(steps), "busy cycles");
  }
  for (int64_t row = 0; reported && row < job.m; row++) {
    const uint64_t at = p.d + static_cast<uint64_t>(row * p.d_stride);
    std::memcpy(&want[at], &memory.data[at], static_cast<size_t>(job.n) * element_bytes(job));
  }
  compare(job, p, want);
  return outcome;
}

}  // namespace gemm_engine
