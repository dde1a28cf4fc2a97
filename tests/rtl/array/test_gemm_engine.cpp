// SPDX-License-Identifier: Apache-2.0
// The whole GEMM engine against the golden model (gemm_engine_rig.h). Built once for each
// configuration.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "gemm_engine_rig.h"

namespace {

using namespace gemm_engine;

Job job_of(int64_t m, int64_t n, int64_t k) {
  Job job = {};
  job.m = m;
  job.n = n;
  job.k = k;
  job.a_elem = job.b_elem = kFormats == UFP4_FORMATS_E2M1 ? UFP4_ELEM_E2M1 : UFP4_ELEM_E1M2;
  job.alpha = job.tensor_scale = 1.0f;
  return job;
}

/** The number of draws: @p all, or a quarter of them for an engine of which CMakeLists.txt runs a
 * PART without --full. */
int draws(int all) {
  return check_draws((all + UFP4_TEST_PART - 1) / UFP4_TEST_PART, all);
}

/** The modes of D that the contract has: only the contract exact has unrounded sums, and nv has no
 * C. */
constexpr uint8_t kAddends = (kNv ? 0 : UFP4_D_MODE_C) | (kExact ? UFP4_D_MODE_SUMS : 0);
constexpr uint8_t kModes = UFP4_D_MODE_ALPHA | kAddends;

/** Draws formats, scales and exponents. */
Job random_job(check_random_t *random, int64_t m, int64_t n, int64_t k) {
  Job job = job_of(m, n, k);
  job.a_elem = elem_of(check_below(random, kElems));
  job.b_elem = elem_of(check_below(random, kElems));
  job.dtype = check_below(random, 2) ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  const bool mixed = job.a_elem == UFP4_ELEM_MIXED || job.b_elem == UFP4_ELEM_MIXED;
  job.scale = !kExact && !mixed && check_below(random, 2) ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3;
  job.scales = static_cast<fixture_scales_t>(check_below(random, FIXTURE_SCALES_COUNT));
  job.a_exponent = static_cast<int>(check_below(random, 60)) - 30;
  job.b_exponent = static_cast<int>(check_below(random, 60)) - 30;
  return job;
}

/** Draws a job with addends, factors, and unrounded sums. */
Job random_epilogue(check_random_t *random, int64_t m, int64_t n, int64_t k) {
  const uint32_t any = static_cast<uint32_t>(check_next(random));
  const float alphas[] = {1.0f,   -0.0f, 0.5f,     -3.3f, 1e-38f,
                          1e-44f, 3e38f, INFINITY, NAN,   ufp4_f32_value(any)};
  const float tensor_scales[] = {1.0f, 0.4f, 1e-30f, 1e25f, 1e-45f, 3e38f};
  Job job = random_job(random, m, n, k);
  if (kFirstElem == UFP4_ELEM_E2M1 && check_below(random, 3) == 0) {
    const unsigned which = kFormats == UFP4_FORMATS_ALL ? check_below(random, 4) : 0;
    job.scale = UFP4_SCALE_NVFP4;
    job.a_elem = which & 1 ? UFP4_ELEM_MIXED : UFP4_ELEM_E2M1;
    job.b_elem = which & 2 ? UFP4_ELEM_MIXED : UFP4_ELEM_E2M1;
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

// --- Properties ---------------------------------------------------------------------------------

TEST(one_element) {
  Engine engine;
  for (int draw = 0; draw < draws(20); draw++)
    engine.run(random_job(&engine.random, 1, 1, 1 + draw), kCalm);
}

TEST(every_pair_of_formats) {
  Engine engine;
  for (unsigned i = 0; i < 2 * kElems * kElems; i++) {
    Job job = random_job(&engine.random, 17, 18, 50);
    job.a_elem = elem_of(i % kElems);
    job.b_elem = elem_of(i / kElems % kElems);
    if (job.a_elem == UFP4_ELEM_MIXED || job.b_elem == UFP4_ELEM_MIXED) job.scale = UFP4_SCALE_E4M3;
    job.dtype = i / (kElems * kElems) ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
    job.scales = FIXTURE_SCALES_ANY;
    engine.run(job, kCalm);
  }
}

SLOW_TEST(odd_shapes) {
  static const int64_t shapes[][3] = {{1, 1, 1},     {3, 5, 17},    {1, 33, 16},    {33, 1, 16},
                                      {2, 2, 256},   {16, 16, 257}, {15, 17, 31},   {33, 47, 130},
                                      {129, 65, 33}, {64, 130, 47}, {40, 129, 272}, {16, 48, 513}};
  Engine engine;
  for (const auto &shape : shapes) {
    for (int draw = 0; draw < draws(2); draw++) {
      engine.run(random_job(&engine.random, shape[0], shape[1], shape[2]),
                 random_behaviour(&engine.random));
    }
  }
}

/** Chunks of every length follow a full one, on few sub-tiles: partial sums go to memory and return
 * at once. */
SLOW_TEST(partial_sums_come_back_in_time) {
  Engine engine;
  for (int64_t k = 240; k <= 560; k += 16 * (draws(4) == 4 ? 1 : 3)) {
    for (int64_t tiles = 1; tiles <= 4; tiles++) {
      const bool tall = tiles == 4;
      const Job job =
          random_job(&engine.random, kRows * (tall ? 2 : 1), kCols * (tall ? 2 : tiles), k);
      engine.run(job, kCalm);
    }
  }
  // The number of sub-tiles is about the number of stages of a PE from memory to memory, with one
  // block after a full chunk.
  for (int64_t k = 272; k <= 528; k += 256) {
    for (int64_t tiles = 5; tiles <= 8; tiles++) {
      engine.run(random_job(&engine.random, kRows, kCols * tiles, k), kCalm);
      engine.run(random_job(&engine.random, kRows * tiles, kCols, k), kCalm);
    }
  }
}

TEST(nan_scales) {
  Engine engine;
  for (int draw = 0; draw < draws(12); draw++) {
    Job job = random_job(&engine.random, 1 + check_below(&engine.random, kLong),
                         1 + check_below(&engine.random, kLong),
                         1 + check_below(&engine.random, draw % 2 ? 600 : 60));
    job.scales = FIXTURE_SCALES_NAN;
    engine.run(job, random_behaviour(&engine.random));
  }
}

TEST(largest_sums) {
  Engine engine;
  for (unsigned i = 0; i < kElems; i++) {
    Job job = job_of(kRows, kCols + 1, 5000);
    job.a_elem = job.b_elem = elem_of(i);
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
  check_bits(0, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error, 1,
             "read error");
  outcome = engine.run(job, {7, 0, -1, 4});
  check_bits(1, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error, 2,
             "write error");
  engine.run(job, kCalm);
  // A read error ends the job with the current macro-tile or with the next, which is being loaded.
  const Job large = job_of(kTileM * 6, kTileN, 40);
  outcome = engine.run(large, {7, 0, 2, -1});
  check_that(
      2,
      outcome.busy <= static_cast<uint64_t>(3 * (kTileM / kRows) * (kTileN / kCols) * 3 * kSteps),
      "%llu busy cycles after a read error", static_cast<unsigned long long>(outcome.busy));
  engine.run(large, kCalm);
}

/** Errors are also forgotten when sums and C are read, and were read ahead of the end. */
SLOW_TEST(errors_beside_addends_are_forgotten) {
  Engine engine;
  for (int i = 0; i < draws(16); i++) {
    Job job = random_epilogue(&engine.random, kTileM * 3 + 5, kTileN + 3, 40);
    job.d_mode |= kExact ? UFP4_D_MODE_SUMS : kAddends;
    engine.run(job, kCalm);
    const int64_t all = i % 2 ? engine.memory.beats_read : engine.memory.requests_written;
    const int64_t at = check_below(&engine.random, static_cast<uint32_t>(all));
    const Outcome outcome = engine.run(job, {7, 0, i % 2 ? at : -1, i % 2 ? -1 : at});
    check_bits(i, outcome.read_error + 2u * outcome.write_error + 4u * outcome.memory_error,
               i % 2 ? 1 : 2, "errors");
    engine.run(random_epilogue(&engine.random, 40, 20, 40), kCalm);
  }
}

/** A bit flips in every word of a memory while a job runs: either D is right, or the job reports an
 * error; each kind of memory leads to some reports. */
SLOW_TEST(flipped_bits_are_reported) {
  Engine engine;
  std::map<std::string, std::vector<std::string>> kinds;
  for (const std::string &path : engine.checked_memories()) {
    if (kAddends || path.find("u_addend") == std::string::npos)
      kinds[kind_of_memory(path)].push_back(path);
  }
  // The memories: waiting scales, addends; in the array codes and scales of both sides, and two
  // banks of sums; each with its parity.
  const size_t in_array = UFP4_TEST_TARGET == UFP4_TARGET_SIMULATOR ? 0 : 6;
  check_bits(0, kinds.size(), 2 * (1 + (kAddends ? 1 : 0) + in_array), "kinds of memories");
  for (const auto &kind : kinds) {
    int reports = 0;
    for (int i = 0; i < draws(25) || (reports == 0 && i < 1000); i++) {
      const int64_t rows =
          1 + check_below(&engine.random, static_cast<uint32_t>(std::min(kTileM, int64_t{32})));
      const int64_t cols =
          1 + check_below(&engine.random, static_cast<uint32_t>(std::min(kTileN, int64_t{32})));
      const Job job =
          random_epilogue(&engine.random, rows, cols, 1 + check_below(&engine.random, 600));
      // Jobs of few steps wait for their operands for longer than they compute.
      const int64_t steps = (rows / kRows + 1) * (cols / kCols + 1) * (job.k / 16 + 1) * kSteps;
      const Flip flip = {
          kind.second[check_below(&engine.random, static_cast<uint32_t>(kind.second.size()))],
          check_below(&engine.random, 1024),
          check_below(&engine.random, static_cast<uint32_t>(3 * steps + 300))};
      reports += engine.run(job, kCalm, &flip).memory_error;
    }
    check_that(0, reports > 0, "%s: never reported", kind.first.c_str());
  }
}

/** Jobs of random shapes run one after the other on the same engine; @p draw gives them. */
void random_jobs(Job (*draw)(check_random_t *, int64_t, int64_t, int64_t), int count, uint32_t side,
                 uint32_t k) {
  Engine engine;
  for (int i = 0; i < draws(count); i++) {
    const int64_t m = 1 + check_below(&engine.random, side),
                  n = 1 + check_below(&engine.random, side);
    const Job job = draw(&engine.random, m, n, 1 + check_below(&engine.random, k));
    const Behaviour behaviour = random_behaviour(&engine.random);
    engine.run(job, behaviour);
  }
}
SLOW_TEST(random_jobs_small) {
  random_jobs(random_job, 60, kShort, 300);
}
TEST(random_jobs_large) {
  random_jobs(random_job, 12, kLong, 400);
}
FULL_TEST(random_jobs_many) {
  random_jobs(random_job, 150, kLong, 700);
}
// Jobs with every operation that may follow the sums.
TEST(random_epilogues_small) {
  random_jobs(random_epilogue, 80, kShort, 300);
}
TEST(random_epilogues_large) {
  random_jobs(random_epilogue, 10, kLong, 400);
}
FULL_TEST(random_epilogues_many) {
  random_jobs(random_epilogue, 150, kLong, 700);
}

/** Every combination of operations after the sums, with rows of sums that arrive one by one and
 * many at once. */
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

/** No row group is read before it is in memory. */
TEST(operands_come_by_row_groups) {
  Engine engine;
  uint64_t waited = 0;
  for (int i = 0; i < draws(12); i++) {
    const int64_t rows = 1 + check_below(&engine.random, kLong),
                  cols = 1 + check_below(&engine.random, kLong);
    const Job job = random_job(&engine.random, rows, cols, 1 + check_below(&engine.random, 400));
    const Panels panels = {1 + check_below(&engine.random, 3), 1 + check_below(&engine.random, 400),
                           check_below(&engine.random, 600), check_below(&engine.random, 2)};
    waited += engine.run(job, random_behaviour(&engine.random), nullptr, &panels).panel;
    check_bits(i, engine.run(random_job(&engine.random, 20, 20, 40), kCalm).panel, 0,
               "cycles of waiting for nothing");
  }
  check_that(0, waited > 0, "no operand was waited for");
}

/** If row groups come slowly, each one is read before the next comes, and the last one while the
 * operands are still held. */
TEST(row_groups_are_read_at_once) {
  Engine engine;
  const uint64_t of_a_tile =
      static_cast<uint64_t>((kTileM / kRows) * (kTileN / kCols) * 2 * kSteps);
  for (unsigned held = 1; held <= 3; held++) {
    for (int64_t groups = 2; groups <= 5; groups++) {
      const Panels panels = {held, 1000 + 2 * of_a_tile, UINT64_MAX, 0};
      const Job job =
          random_job(&engine.random, held & 1 ? 16 * groups : 5, held & 2 ? 16 * groups : 5, 30);
      check_bits(groups, static_cast<uint64_t>(engine.run(job, kCalm, nullptr, &panels).unread), 0,
                 "groups not read");
    }
  }
}

/** With few blocks per sum the array waits for an accumulator bank until its sums have left, row by
 * row, which takes longer than the blocks if there are more rows than steps. */
TEST(short_sums_wait_for_their_bank) {
  constexpr int64_t blocks = UFP4_TEST_CONTRACT == UFP4_CONTRACT_NV ? 4 : 1;
  Engine engine;
  const Outcome o = engine.run(job_of(10 * kTileM, kTileN, 16 * blocks), kCalm);
  check_that(0, 4 * o.accumulator > o.cycles || kRows <= blocks * kSteps,
             "%llu of %llu cycles wait for accumulators",
             static_cast<unsigned long long>(o.accumulator),
             static_cast<unsigned long long>(o.cycles));
}

/** On a calm memory of latency 100 the array is busy for at least 90 % of its peak, if the shape
 * and the bus allow it; the bus of the named configurations is as wide as a row of results. */
TEST(utilization) {
  Engine engine;
  // The blocks of a sub-tile take at least twice as long as its rows take on the bus.
  const int64_t m = 4 * kTileM, n = 4 * kTileN, k = std::max(int64_t{512}, 32 * kRows);
  const Outcome o = engine.run(job_of(m, n, k), {100, 0, -1, -1});
  const uint64_t percent = 100 * o.busy / o.cycles;
  std::printf(
      "%lld x %lld x %lld: %llu cycles, busy %llu (%llu %%), operand %llu, accumulator %llu, drain "
      "%llu\n",
      static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
      static_cast<unsigned long long>(o.cycles), static_cast<unsigned long long>(o.busy),
      static_cast<unsigned long long>(percent), static_cast<unsigned long long>(o.operand),
      static_cast<unsigned long long>(o.accumulator), static_cast<unsigned long long>(o.drain));
  check_that(0, percent >= 90 || kBus != 4 * kCols, "utilization %llu %%",
             static_cast<unsigned long long>(percent));
}

}  // namespace
