// SPDX-License-Identifier: Apache-2.0
// The whole GEMM engine on a memory with latency and stalls: every byte of memory after a job, errors, and the count of
// busy and stalled cycles, against the golden model. Built once for each configuration.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "Vgemm_engine.h"
#include "memory.h"
#include "verilated.h"

extern "C" {
#include "fixture.h"
#include "ufp4/format.h"
#include "ufp4/panel.h"
}

namespace {

constexpr unsigned kBus = UFP4_TEST_BUS_BYTES;
constexpr int64_t kRows = UFP4_TEST_ROWS, kCols = UFP4_TEST_COLS;                     ///< PEs
constexpr int64_t kTileM = UFP4_TEST_TILE_M, kTileN = UFP4_TEST_TILE_N;               ///< a macro-tile of D
constexpr uint32_t kLong = static_cast<uint32_t>(2 * std::max(kTileM, kTileN) + 40);  ///< sides of several macro-tiles
constexpr uint32_t kShort = static_cast<uint32_t>(2 * std::max(kRows, kCols) + 3);    ///< sides of a few sub-tiles
constexpr int64_t kSteps = 16 / UFP4_TEST_LANES;  ///< cycles of a block
constexpr bool kExact = UFP4_TEST_CONTRACT == UFP4_CONTRACT_EXACT;
constexpr bool kNv = UFP4_TEST_CONTRACT == UFP4_CONTRACT_NV;
/** The element formats of the PEs and of the contract are kElems from this one on. */
constexpr unsigned kFirstElem = UFP4_TEST_FORMATS == UFP4_FORMATS_UNIFORM ? UFP4_ELEM_E1M2 : UFP4_ELEM_E2M1;
constexpr unsigned kElems = (kNv ? UFP4_ELEM_INT4 : UFP4_ELEM_COUNT) - kFirstElem;
constexpr size_t kMemoryBytes = 4u << 20;
constexpr uint64_t kGuard = 256;
constexpr Behaviour kCalm = {1, 0, -1, -1};
using EngineMemory = Memory<Vgemm_engine, kBus>;

struct Job {
  int64_t m, n, k;
  ufp4_elem_t a_elem, b_elem;
  ufp4_dtype_t dtype;
  fixture_scales_t scales;
  int a_exponent, b_exponent;
  uint8_t d_mode;  ///< UFP4_D_MODE bits
  ufp4_scale_t scale;
  float alpha, tensor_scale;
};

/** Where a job's tensors lie, as offsets in memory. */
struct Place {
  uint64_t a_codes, a_scales, b_codes, b_scales, d, sums, c;
  int64_t a_stride, b_stride, d_stride, sums_stride, c_stride;
};

struct Outcome {
  bool ended, read_error, write_error, memory_error;
  uint64_t cycles, busy, operand, accumulator, drain;
};

uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

class Engine {
 public:
  Engine() : memory(m, kMemoryBytes), random(check_random()) {
    m.rst_ni = 0;
    m.start_valid_i = 0;
    memory.reset(kCalm, random);
    for (int i = 0; i < 8; i++) edge();
    m.rst_ni = 1;
  }
  ~Engine() {
    m.final();
  }

  /** Runs one job and compares everything it may and may not have changed. */
  Outcome run(const Job &job, const Behaviour &behaviour);

  Vgemm_engine m;
  EngineMemory memory;
  check_random_t random;

 private:
  void edge() {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
  }
  Place place(const Job &job);
  int64_t stride(const Job &job, size_t element);
  void describe(const Job &job, const Place &place);
  void draw_sums(const Job &job, const Place &place);
  void draw_c(const Job &job, const Place &place, const ufp4_operand_t &a, const ufp4_operand_t &b, ufp4_gemm_t how);
  std::vector<uint8_t> expect(const Job &job, const Place &place, const ufp4_operand_t &a, const ufp4_operand_t &b);
  Outcome simulate(const Job &job, const Behaviour &behaviour);
  void count(Outcome *outcome);
  void compare(const Job &job, const Place &place, const std::vector<uint8_t> &want);
};

size_t element_bytes(const Job &job) {
  return job.dtype == UFP4_DTYPE_F32 ? 4 : job.dtype == UFP4_DTYPE_BF16 ? 2 : 8;
}

/** Of a plain tensor of D's shape, in bytes, now and then wider than need be. */
int64_t Engine::stride(const Job &job, size_t element) {
  return static_cast<int64_t>(round_up(static_cast<uint64_t>(job.n) * element, 128) + 128 * check_below(&random, 2));
}

Place Engine::place(const Job &job) {
  Place p;
  uint64_t at = kGuard + 128 * check_below(&random, 8);
  auto take = [&](int64_t bytes) {
    const uint64_t here = round_up(at, 128);
    at = here + static_cast<uint64_t>(bytes) + kGuard;
    return here;
  };
  p.a_stride = ufp4_panel_stride_blocks(job.k) + UFP4_ALIGN_BLOCKS * static_cast<int64_t>(check_below(&random, 2));
  p.b_stride = ufp4_panel_stride_blocks(job.k) + UFP4_ALIGN_BLOCKS * static_cast<int64_t>(check_below(&random, 2));
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

/** Exactly one state a cycle. */
void Engine::count(Outcome *out) {
  const unsigned high = m.busy_o + m.stall_operand_o + m.stall_accumulator_o + m.stall_drain_o;
  if (high != 1) check_bits(static_cast<int64_t>(out->cycles), high, 1, "states that are high in a cycle of a job");
  out->cycles++;
  out->busy += m.busy_o;
  out->operand += m.stall_operand_o;
  out->accumulator += m.stall_accumulator_o;
  out->drain += m.stall_drain_o;
}

Outcome Engine::simulate(const Job &job, const Behaviour &behaviour) {
  const uint64_t tiles = static_cast<uint64_t>((job.m + 15) / 16 * ((job.n + 15) / 16));
  const uint64_t limit = 10000 + tiles * static_cast<uint64_t>(job.k / 16 + 1) * (8000 + 100u * behaviour.latency);
  Outcome out = {};
  memory.reset(behaviour, random);
  check_next(&random);
  m.start_valid_i = 1;
  m.eval();
  check_bits(0, m.start_ready_o, 1, "start_ready_o between jobs");
  for (uint64_t cycle = 0; cycle < limit && !out.ended; cycle++) {
    memory.drive(cycle);
    m.eval();
    if (cycle > 0) {
      count(&out);
    } else {
      check_bits(0, m.busy_o + m.stall_operand_o + m.stall_accumulator_o + m.stall_drain_o, 0, "states between jobs");
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
    m.start_valid_i = 0;
  }
  check_that(0, out.ended, "%lld x %lld x %lld: no end within %llu cycles", static_cast<long long>(job.m),
             static_cast<long long>(job.n), static_cast<long long>(job.k), static_cast<unsigned long long>(limit));
  return out;
}

void Engine::compare(const Job &job, const Place &p, const std::vector<uint8_t> &want) {
  if (check_bits(0, std::memcmp(memory.data.data(), want.data(), want.size()) != 0, 0, "%lldx%lldx%lld: memory",
                 static_cast<long long>(job.m), static_cast<long long>(job.n), static_cast<long long>(job.k))) {
    return;
  }
  for (size_t i = 0; i < want.size(); i += 2) {
    uint16_t got, expected;
    std::memcpy(&got, &memory.data[i], 2);
    std::memcpy(&expected, &want[i], 2);
    if (got == expected) continue;
    const int64_t in_d = static_cast<int64_t>(i) - static_cast<int64_t>(p.d);
    check_bits(
        static_cast<int64_t>(i), got, expected,
        "D %lldx%lld k %lld, elements %d %d, scale %d, dtype %d, mode %d, alpha %08x, tensor scale %08x: row %lld, "
        "byte %lld of it",
        static_cast<long long>(job.m), static_cast<long long>(job.n), static_cast<long long>(job.k), job.a_elem,
        job.b_elem, job.scale, job.dtype, job.d_mode, ufp4_f32_bits(job.alpha), ufp4_f32_bits(job.tensor_scale),
        static_cast<long long>(in_d / p.d_stride), static_cast<long long>(in_d % p.d_stride));
  }
}

/** Sums of every size, and now and then NaN. */
void Engine::draw_sums(const Job &job, const Place &p) {
  for (int64_t i = 0; i < job.m; i++) {
    for (int64_t j = 0; j < job.n; j++) {
      int64_t sum = static_cast<int64_t>(check_next(&random)) >> (2 + check_below(&random, 62));
      if (check_below(&random, 50) == 0) sum = UFP4_I64_NAN;
      std::memcpy(&memory.data[p.sums + static_cast<uint64_t>(i * p.sums_stride + 8 * j)], &sum, 8);
    }
  }
}

/** C: anything; zeros of both signs; what cancels D, all of it or all but a few bits; what is about as large. */
void Engine::draw_c(const Job &job, const Place &p, const ufp4_operand_t &a, const ufp4_operand_t &b, ufp4_gemm_t how) {
  std::vector<uint32_t> plain(static_cast<size_t>(job.m * job.n));
  how.d_dtype = UFP4_DTYPE_F32;
  check_bits(0, ufp4_gemm(&a, &b, &how, plain.data(), job.n), UFP4_OK, "golden model without C");
  for (int64_t i = 0; i < job.m; i++) {
    for (int64_t j = 0; j < job.n; j++) {
      const uint32_t d = plain[static_cast<size_t>(i * job.n + j)], any = static_cast<uint32_t>(check_next(&random));
      const uint32_t about = (d & 0x7F800000u) + ((any >> 24) - 128) * 0x100000u;
      const uint32_t drawn[] = {any, any & 0x80000000u, d ^ 0x80000000u, d ^ 0x80000000u ^ (any & 3),
                                (about & 0x7F800000u) | (any & 0x807FFFFFu)};
      std::memcpy(&memory.data[p.c + static_cast<uint64_t>(i * p.c_stride + 4 * j)], &drawn[check_below(&random, 5)],
                  4);
    }
  }
}

/** Memory as the job must leave it; fills in what the job adds. */
std::vector<uint8_t> Engine::expect(const Job &job, const Place &p, const ufp4_operand_t &a, const ufp4_operand_t &b) {
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

Outcome Engine::run(const Job &job, const Behaviour &behaviour) {
  const Place p = place(job);
  for (size_t i = 0; i < memory.data.size(); i += 8) {
    const uint64_t word = check_next(&random);
    std::memcpy(&memory.data[i], &word, 8);
  }
  ufp4_operand_t a = fixture_operand_scaled(&random, job.a_elem, job.scale, job.m, job.k, job.scales);
  ufp4_operand_t b = fixture_operand_scaled(&random, job.b_elem, job.scale, job.n, job.k, job.scales);
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

  const Outcome outcome = simulate(job, behaviour);
  const int64_t steps = ((job.m + kRows - 1) / kRows) * ((job.n + kCols - 1) / kCols) * ((job.k + 15) / 16) * kSteps;
  if (behaviour.read_error >= 0 || behaviour.write_error >= 0) {
    // This memory's error answers carry the data all the same; the job ends early.
    for (size_t i = 0; i < want.size(); i++) {
      if (memory.data[i] == before[i]) want[i] = before[i];
    }
    check_that(0, outcome.busy <= static_cast<uint64_t>(steps), "busy cycles");
  } else {
    check_bits(0, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error, 0, "errors");
    check_bits(0, outcome.busy, static_cast<uint64_t>(steps), "busy cycles");
  }
  compare(job, p, want);
  return outcome;
}

Job job_of(int64_t m, int64_t n, int64_t k) {
  Job job = {};
  job.m = m;
  job.n = n;
  job.k = k;
  job.a_elem = job.b_elem = UFP4_ELEM_E1M2;
  job.alpha = job.tensor_scale = 1.0f;
  return job;
}

/** What the contract has of D's modes: unrounded sums are of the contract exact; the engine has no C for nv. */
constexpr uint8_t kAddends = (kNv ? 0 : UFP4_D_MODE_C) | (kExact ? UFP4_D_MODE_SUMS : 0);
constexpr uint8_t kModes = UFP4_D_MODE_ALPHA | kAddends;

/** Everything drawn but the shape. */
Job random_job(check_random_t *random, int64_t m, int64_t n, int64_t k) {
  Job job = job_of(m, n, k);
  job.a_elem = static_cast<ufp4_elem_t>(kFirstElem + check_below(random, kElems));
  job.b_elem = static_cast<ufp4_elem_t>(kFirstElem + check_below(random, kElems));
  job.dtype = check_below(random, 2) ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  job.scale = !kExact && check_below(random, 2) ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3;
  job.scales = static_cast<fixture_scales_t>(check_below(random, FIXTURE_SCALES_COUNT));
  job.a_exponent = static_cast<int>(check_below(random, 60)) - 30;
  job.b_exponent = static_cast<int>(check_below(random, 60)) - 30;
  return job;
}

/** The same with something added, factors, and unrounded sums. */
Job random_epilogue(check_random_t *random, int64_t m, int64_t n, int64_t k) {
  const uint32_t any = static_cast<uint32_t>(check_next(random));
  const float alphas[] = {1.0f, -0.0f, 0.5f, -3.3f, 1e-38f, 1e-44f, 3e38f, INFINITY, NAN, ufp4_f32_value(any)};
  const float tensor_scales[] = {1.0f, 0.4f, 1e-30f, 1e25f, 1e-45f, 3e38f};
  Job job = random_job(random, m, n, k);
  if (kFirstElem == UFP4_ELEM_E2M1 && check_below(random, 3) == 0) {
    job.scale = UFP4_SCALE_NVFP4;
    job.a_elem = job.b_elem = UFP4_ELEM_E2M1;
    job.tensor_scale = tensor_scales[check_below(random, 6)];
  }
  job.d_mode = static_cast<uint8_t>(check_below(random, 8)) & kModes;
  job.alpha = alphas[check_below(random, 10)];
  if (kExact && check_below(random, 3) == 0) {
    job.dtype = UFP4_DTYPE_I64;
    job.d_mode &= UFP4_D_MODE_SUMS;
  }
  return job;
}

Behaviour random_behaviour(check_random_t *random) {
  static const unsigned latencies[] = {1, 2, 7, 40, 200};
  return {latencies[check_below(random, 5)], check_below(random, 2) ? check_below(random, 14) : 0, -1, -1};
}

// --- Properties -------------------------------------------------------------------------------------

TEST(one_element) {
  Engine engine;
  for (int draw = 0; draw < 20; draw++) engine.run(random_job(&engine.random, 1, 1, 1 + draw), kCalm);
}

TEST(every_pair_of_formats) {
  Engine engine;
  for (unsigned i = 0; i < 18; i++) {
    Job job = random_job(&engine.random, 17, 18, 50);
    job.a_elem = static_cast<ufp4_elem_t>(kFirstElem + i % kElems);
    job.b_elem = static_cast<ufp4_elem_t>(kFirstElem + i / kElems % kElems);
    job.dtype = i / 9 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
    job.scales = FIXTURE_SCALES_ANY;
    engine.run(job, kCalm);
  }
}

TEST(odd_shapes) {
  static const int64_t shapes[][3] = {{1, 1, 1},     {3, 5, 17},    {1, 33, 16},    {33, 1, 16},
                                      {2, 2, 256},   {16, 16, 257}, {15, 17, 31},   {33, 47, 130},
                                      {129, 65, 33}, {64, 130, 47}, {40, 129, 272}, {16, 48, 513}};
  Engine engine;
  for (const auto &shape : shapes) {
    for (int draw = 0; draw < 2; draw++) {
      engine.run(random_job(&engine.random, shape[0], shape[1], shape[2]), random_behaviour(&engine.random));
    }
  }
}

/** Chunks of every length after a full one, on few sub-tiles: partial sums go out to memory and come back at once. */
TEST(partial_sums_come_back_in_time) {
  Engine engine;
  for (int64_t k = 240; k <= 560; k += 16) {
    for (int64_t tiles = 1; tiles <= 4; tiles++) {
      const bool tall = tiles == 4;
      const Job job = random_job(&engine.random, kRows * (tall ? 2 : 1), kCols * (tall ? 2 : tiles), k);
      engine.run(job, kCalm);
    }
  }
  // On as many sub-tiles as a PE has stages between memory and memory, one block after a full chunk.
  for (int64_t k = 272; k <= 528; k += 256) {
    for (int64_t tiles = 5; tiles <= 8; tiles++) {
      engine.run(random_job(&engine.random, kRows, kCols * tiles, k), kCalm);
      engine.run(random_job(&engine.random, kRows * tiles, kCols, k), kCalm);
    }
  }
}

TEST(nan_scales) {
  Engine engine;
  for (int draw = 0; draw < 12; draw++) {
    Job job = random_job(&engine.random, 1 + check_below(&engine.random, kLong), 1 + check_below(&engine.random, kLong),
                         1 + check_below(&engine.random, draw % 2 ? 600 : 60));
    job.scales = FIXTURE_SCALES_NAN;
    engine.run(job, random_behaviour(&engine.random));
  }
}

TEST(largest_sums) {
  Engine engine;
  for (unsigned elem = kFirstElem; elem < kFirstElem + kElems; elem++) {
    Job job = job_of(kRows, kCols + 1, 5000);
    job.a_elem = job.b_elem = static_cast<ufp4_elem_t>(elem);
    job.scales = FIXTURE_SCALES_MAX;
    engine.run(job, kCalm);
  }
}

/** Results that overflow, and results that underflow, by the exponents. */
TEST(extreme_exponents) {
  static const int exponents[][2] = {{-32768, -32768}, {32767, 32767}, {70, 64},   {60, 60},
                                     {75, 72},         {-60, -50},     {-65, -55}, {-32768, 32767}};
  Engine engine;
  for (const auto &t : exponents) {
    for (int dtype = 0; dtype < 2; dtype++) {
      Job job = random_job(&engine.random, 20, 23, 70);
      job.dtype = dtype ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
      job.scales = FIXTURE_SCALES_ANY;
      job.a_exponent = t[0];
      job.b_exponent = t[1];
      engine.run(job, kCalm);
    }
  }
}

TEST(errors_are_reported_and_forgotten) {
  Engine engine;
  const Job job = job_of(kTileM + 3, 20, 300);
  Outcome outcome = engine.run(job, {7, 0, 11, -1});
  check_bits(0, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error, 1, "read error");
  outcome = engine.run(job, {7, 0, -1, 4});
  check_bits(1, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error, 2, "write error");
  engine.run(job, kCalm);
  // The macro-tile at hand is the last one, or the next, which is being loaded.
  const Job large = job_of(kTileM * 6, kTileN, 40);
  outcome = engine.run(large, {7, 0, 2, -1});
  check_that(2, outcome.busy <= static_cast<uint64_t>(3 * (kTileM / kRows) * (kTileN / kCols) * 3 * kSteps),
             "%llu busy cycles after a read error", static_cast<unsigned long long>(outcome.busy));
  engine.run(large, kCalm);
}

/** The same where sums and C are read too, and have been read ahead of the end. */
TEST(errors_beside_addends_are_forgotten) {
  Engine engine;
  for (int i = 0; i < 12; i++) {
    Job job = random_epilogue(&engine.random, kTileM * 3 + 5, kTileN + 3, 40);
    job.d_mode |= kExact ? UFP4_D_MODE_SUMS : kAddends;
    const int64_t beat = static_cast<int64_t>(check_below(&engine.random, kBus > 64 ? 100 : 300));
    const Outcome outcome = engine.run(job, {7, 0, i % 2 ? beat : -1, i % 2 ? -1 : beat % 40});
    check_bits(i, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error, i % 2 ? 1 : 2, "errors");
    engine.run(random_epilogue(&engine.random, 40, 20, 40), kCalm);
  }
}

/** Jobs of random shapes, one after the other on the same engine. */
void random_jobs(int count, uint32_t side, uint32_t k) {
  Engine engine;
  for (int i = 0; i < count; i++) {
    const int64_t m = 1 + check_below(&engine.random, side), n = 1 + check_below(&engine.random, side);
    const Job job = random_job(&engine.random, m, n, 1 + check_below(&engine.random, k));
    const Behaviour behaviour = random_behaviour(&engine.random);
    engine.run(job, behaviour);
  }
}
TEST(random_jobs_small) {
  random_jobs(60, kShort, 300);
}
TEST(random_jobs_large) {
  random_jobs(12, kLong, 400);
}
SLOW_TEST(random_jobs_many) {
  random_jobs(150, kLong, 700);
}

/** Jobs with everything that may follow the sums. */
void random_epilogues(int count, uint32_t side, uint32_t k) {
  Engine engine;
  for (int i = 0; i < count; i++) {
    const int64_t m = 1 + check_below(&engine.random, side), n = 1 + check_below(&engine.random, side);
    const Job job = random_epilogue(&engine.random, m, n, 1 + check_below(&engine.random, k));
    const Behaviour behaviour = random_behaviour(&engine.random);
    engine.run(job, behaviour);
  }
}
TEST(random_epilogues_small) {
  random_epilogues(80, kShort, 300);
}
TEST(random_epilogues_large) {
  random_epilogues(10, kLong, 400);
}
SLOW_TEST(random_epilogues_many) {
  random_epilogues(150, kLong, 700);
}

/** Every set of things that follow the sums, with rows of sums that come one by one and many at once. */
TEST(every_epilogue) {
  Engine engine;
  for (unsigned i = 0; i < 2 * 8 * (kExact ? 3 : 2); i++) {
    for (const int64_t k : {int64_t{16}, int64_t{130}}) {
      Job job = random_job(&engine.random, kRows + 5, 3 * kCols + kCols / 2, k);
      const bool nvfp4 = i % 2 && kFirstElem == UFP4_ELEM_E2M1;
      job.scale = nvfp4 ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E4M3;
      job.d_mode = i / 2 % 8 & kModes;
      job.dtype = static_cast<ufp4_dtype_t>(i / 16);
      if (nvfp4) job.a_elem = job.b_elem = UFP4_ELEM_E2M1;
      if (job.dtype == UFP4_DTYPE_I64) job.d_mode &= UFP4_D_MODE_SUMS;
      job.alpha = -1.7f;
      job.tensor_scale = 0.37f;
      engine.run(job, kCalm);
    }
  }
}

/** Cycles on a calm memory of latency 100: at least 90 % of the array's peak where the shape allows it, and the bus,
 * which the named configurations have as wide as a row of results. */
TEST(utilization) {
  Engine engine;
  const int64_t m = 4 * kTileM, n = 4 * kTileN;
  const Outcome o = engine.run(job_of(m, n, 512), {100, 0, -1, -1});
  const uint64_t percent = 100 * o.busy / o.cycles;
  std::printf("%lld x %lld x 512: %llu cycles, busy %llu (%llu %%), operand %llu, accumulator %llu, drain %llu\n",
              static_cast<long long>(m), static_cast<long long>(n), static_cast<unsigned long long>(o.cycles),
              static_cast<unsigned long long>(o.busy), static_cast<unsigned long long>(percent),
              static_cast<unsigned long long>(o.operand), static_cast<unsigned long long>(o.accumulator),
              static_cast<unsigned long long>(o.drain));
  check_that(0, percent >= 90 || kBus != 4 * kCols, "utilization %llu %%", static_cast<unsigned long long>(percent));
}

const check_test_t kTests[] = {
    CHECK_TEST(one_element),
    CHECK_TEST(every_pair_of_formats),
    CHECK_TEST(odd_shapes),
    CHECK_TEST(partial_sums_come_back_in_time),
    CHECK_TEST(nan_scales),
    CHECK_TEST(largest_sums),
    CHECK_TEST(extreme_exponents),
    CHECK_TEST(errors_are_reported_and_forgotten),
    CHECK_TEST(random_jobs_small),
    CHECK_TEST(random_jobs_large),
    CHECK_TEST(random_jobs_many),
    CHECK_TEST(random_epilogues_small),
    CHECK_TEST(random_epilogues_large),
    CHECK_TEST(random_epilogues_many),
    CHECK_TEST(every_epilogue),
    CHECK_TEST(errors_beside_addends_are_forgotten),
    CHECK_TEST(utilization),
};

}  // namespace

int main(int argc, char **argv) {
  // Registers and memories start at random, so that a word that is read before it was written has a wrong parity.
  Verilated::randReset(2);
  Verilated::randSeed(1);
  return check_main(argc, argv, kTests, sizeof kTests / sizeof kTests[0]);
}
