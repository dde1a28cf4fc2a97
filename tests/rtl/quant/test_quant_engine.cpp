// SPDX-License-Identifier: Apache-2.0
// The whole QUANT engine on a memory with latency and stalls: every byte of memory after a job, the
// exponents of AMAX, flags and errors against the golden model, and cycles against a bound. Built
// once for each engine of CMakeLists.txt.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quant_engine_rig.h"
#include "verilated.h"

namespace {

using namespace quant_engine;

TEST(one_tile) {
  Engine engine;
  for (const ufp4_dtype_t dtype : {UFP4_DTYPE_F32, UFP4_DTYPE_BF16}) {
    for (unsigned copies = 1; copies <= kBoth; copies++) {
      Job job = job_of(16, 16);
      job.dtype = dtype;
      job.copies = copies;
      engine.run(job, kCalm, false);
      engine.run(job, kCalm, true);
    }
  }
}

SLOW_TEST(odd_shapes) {
  static const int64_t shapes[][2] = {
      {1, 1},   {1, 16},  {16, 1},  {3, 17},   {17, 3},   {15, 33},  {5, 64},   {64, 5},
      {1, 200}, {200, 1}, {33, 47}, {47, 130}, {130, 33}, {31, 129}, {257, 65}, {65, 257}};
  Engine engine;
  for (const auto &shape : shapes) {
    for (int draw = 0; draw < 3; draw++) {
      const Job job = random_job(&engine.random, shape[0], shape[1]);
      engine.run(job, random_behaviour(&engine.random), false);
      engine.run(job, random_behaviour(&engine.random), true);
    }
  }
}

SLOW_TEST(every_width_of_a_row) {
  Engine engine;
  for (int64_t cols = 1; cols <= 150; cols++) {
    engine.run(random_job(&engine.random, 1 + cols % 19, cols), random_behaviour(&engine.random),
               cols % 4 == 0);
  }
}

SLOW_TEST(e8m0_every_shape_of_a_tile) {
  Engine engine;
  for (int64_t rows = 1; rows <= 66; rows += 1 + rows % 3) {
    for (const int64_t cols : {1, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 96, 97, 140}) {
      Job job = random_job(&engine.random, rows, cols);
      use_e8m0(job, &engine.random);
      engine.run(job, random_behaviour(&engine.random), false);
    }
  }
}

TEST(long_and_thin) {
  Engine engine;
  for (const auto &shape :
       {std::pair<int64_t, int64_t>{1, 8000}, {17, 5000}, {8000, 1}, {5000, 17}}) {
    engine.run(random_job(&engine.random, shape.first, shape.second), {3, 1, -1, -1}, false);
  }
}

TEST(special_values) {
  Engine engine;
  for (int draw = 0; draw < 12; draw++) {
    Job job = random_job(&engine.random, 50, 70);
    job.distribution = draw % 2 ? FIXTURE_SPECIAL : FIXTURE_WILD;
    engine.run(job, kCalm, draw % 3 == 2);
  }
}

/** Places a block with the scale quotient @p quotient somewhere in the row copy; all others are
 * below 200. */
Job saturating_job(check_random_t *random, ufp4_elem_t elem, bool rht, float quotient) {
  Job job = random_job(random, 16 + check_below(random, 30), 16 + check_below(random, 50));
  job.dtype = UFP4_DTYPE_F32;
  job.copies = kRow;
  job.rht_copies = rht ? kRow : 0;
  job.how.elem = elem;
  job.how.scale = UFP4_SCALE_E4M3;
  job.how.scale_round = check_below(random, 2) ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE;
  const float unit =
      std::ldexp(static_cast<float>(ufp4_elem_qmax_quanta(elem)), -ufp4_elem_frac(elem) - job.t[0]);
  job.numbers.resize(static_cast<size_t>(job.rows * job.cols));
  for (float &x : job.numbers) {
    x = unit * static_cast<float>(check_below(random, 199)) / (rht ? 4 : 1);
  }
  const uint32_t blocks = static_cast<uint32_t>(job.cols / 16),  // whole ones
      row = check_below(random, static_cast<uint32_t>(job.rows)),
                 block = check_below(random, blocks);
  float *to = &job.numbers[static_cast<size_t>(row * job.cols + 16 * block)];
  // The mask removes the signs of sixteen equal numbers, and the transform makes four times one of
  // them.
  for (unsigned i = 0; i < 16 && rht; i++)
    to[i] = (job.how.rht_mask >> i & 1 ? -1.0f : 1.0f) * unit * quotient / 4;
  if (!rht) to[check_below(random, 16)] = unit * quotient;
  return job;
}

/** Quotients on both sides of 448, the largest scale, and of 464, above which the next scale would
 * be nearer. */
TEST(saturates_from_448_on) {
  Engine engine;
  const float past = std::nextafter(448.0f, 512.0f), short_of = std::nextafter(464.0f, 0.0f);
  for (int n = 0; n < 6; n++) {
    const ufp4_elem_t elem = static_cast<ufp4_elem_t>(n / 2);
    for (const float quotient : {448.0f, past, 455.0f, short_of, 464.0f, 600.0f}) {
      const Job job = saturating_job(&engine.random, elem, n % 2, quotient);
      const Outcome outcome = engine.run(job, kCalm, false);
      check_bits(n, outcome.flags, quotient > 448 ? UFP4_FLAG_ROW_SATURATED : 0,
                 "flags of a scale quotient of %.9g", static_cast<double>(quotient));
    }
  }
}

/** Jobs of random shapes, one after the other on the same engine. */
void random_jobs(int count, uint32_t side) {
  Engine engine;
  for (int i = 0; i < count; i++) {
    const int64_t rows = 1 + check_below(&engine.random, side),
                  cols = 1 + check_below(&engine.random, side);
    const Job job = random_job(&engine.random, rows, cols);
    const Behaviour behaviour = random_behaviour(&engine.random);
    engine.run(job, behaviour, check_below(&engine.random, 4) == 0);
  }
}

TEST(random) {
  random_jobs(30, 100);
}
FULL_TEST(random_many) {
  random_jobs(300, 300);
}

TEST(read_error_is_reported) {
  Engine engine;
  const Job job = job_of(40, 50);
  for (const int64_t beat : {0, 5, 30}) {
    for (const bool amax : {false, true}) {
      engine.run(job, {7, 3, beat, -1}, amax);
      // The next job has no error, and reports none.
      engine.run(job, kCalm, amax);
    }
  }
}

TEST(write_error_is_reported) {
  Engine engine;
  const Job job = job_of(40, 50);
  for (const int64_t request : {0, 9, kWidth > 16 ? 29 : 47}) {
    engine.run(job, {7, 3, -1, request}, false);
    engine.run(job, kCalm, false);
  }
}

TEST(errors_end_a_job_early) {
  Engine engine;
  const Job job = job_of(2000, 20);
  const uint64_t whole = engine.run(job, kCalm, false).cycles;
  for (const Behaviour &behaviour : {Behaviour{1, 0, 0, -1}, Behaviour{1, 0, -1, 0}}) {
    check_that(0, engine.run(job, behaviour, false).cycles < whole / 8,
               "an error in the first of 125 strips");
  }
}

/** Flips bits in about any cycle of a job, with both copies, or sometimes in AMAX if the memory is
 * used there, too. @return whether the job reported it */
bool flip_once(Engine *engine, Flip flip) {
  Job job = random_job(&engine->random, 1 + check_below(&engine->random, 60),
                       1 + check_below(&engine->random, 60));
  job.copies = kBoth;
  const bool amax =
      flip.memory.find("u_strip") != std::string::npos && check_below(&engine->random, 4) == 0;
  const unsigned tiles = static_cast<unsigned>((job.rows + 15) / 16 * ((job.cols + 15) / 16));
  const unsigned tile = kWidth < 16 ? 2 * 256 / kWidth : kWidth > 16 ? 16 : 24 + 1024 / kBus;
  flip.cycle = 40 + check_below(&engine->random, 60 + tile * tiles);
  const Behaviour behaviour = {
      1, check_below(&engine->random, 2) ? check_below(&engine->random, 10) : 0, -1, -1};
  return engine->run(job, behaviour, amax, &flip).memory_error;
}

/** A bit flips in every word of a memory while a job runs: either the copies are right, or the job
 * reports an error; each bit of a word leads to some reports (some bits of wide words). */
SLOW_TEST(flipped_bits_are_reported) {
  Engine engine;
  std::map<std::string, std::vector<Flip>> kinds;
  std::map<std::string, unsigned> bits;
  each_memory(*engine.m.contextp(), [&](const std::string &path, const VerilatedVar &variable) {
    kinds[kind_of_memory(path)].push_back({path, 0, 0});
    bits[kind_of_memory(path)] = static_cast<unsigned>(variable.packed().elements());
  });
  check_bits(
      0, kinds.size(), kWidth > 16 ? 6 : 8,
      "strips, what transposes, codes and scales collected (of the wide engine in one), and "
      "the parity of each; of the narrow engine strips, blocks twice, what is collected, and "
      "the parity of each");
  for (const auto &[kind, flips] : kinds) {
    const unsigned width = bits[kind], some = std::min(width, 64u);
    for (unsigned i = 0; i < some; i++) {
      bool reported = false;
      for (int tries = 0; tries < 200 && !reported; tries++) {
        Flip flip = flips[check_below(&engine.random, static_cast<uint32_t>(flips.size()))];
        flip.bit = some == width ? i : check_below(&engine.random, width);
        reported = flip_once(&engine, flip);
      }
      check_that(i, reported, "%s: never reported", kind.c_str());
    }
  }
}

/** One bit of one word of the collected units flips: a beat has several words, and each must be
 * checked by itself. */
SLOW_TEST(flipped_words_of_a_beat_are_reported) {
  Engine engine;
  constexpr unsigned kWords = kBus / 8;
  each_memory(*engine.m.contextp(), [&](const std::string &path, const VerilatedVar &variable) {
    if (path.find("u_units") == std::string::npos) return;
    const unsigned places = static_cast<unsigned>(variable.unpacked().elements());
    const unsigned bits = static_cast<unsigned>(variable.packed().elements());
    // A beat of the narrow engine is one word, and each beat of the wide one has a memory of its
    // own, so any place will do.
    const bool own = kWidth != 16;
    const unsigned lanes = own ? 1 : path.find(".codes") != std::string::npos ? kWords : 2;
    // Both halves of the scales of a unit are in one word, each with a parity bit.
    const bool in_one = bits == 128;
    for (unsigned lane = 0; lane < lanes; lane++) {
      bool reported = false;
      for (int tries = 0; tries < 500 && !reported; tries++) {
        const unsigned bit = check_below(&engine.random, own ? bits : 64),
                       word = check_below(&engine.random, places);
        Flip flip = {path, in_one ? 64 * lane + bit : bit, 0};
        if (!own) flip.word = static_cast<int>(in_one ? word : word - word % lanes + lane);
        reported = flip_once(&engine, flip);
      }
      check_that(lane, reported, "%s: never reported", path.c_str());
    }
  });
}

SLOW_TEST(throughput) {
  // The limit: 16 cycles per tile (for the narrow engine the time of both copies in turn; for the
  // wide one a quarter, except with E8M0), or the time of its bytes on the bus, plus a tenth, and
  // the latency in and out.
  Engine engine;
  static const char *const kinds[] = {"quant", "amax", "quant e8m0"};
  for (int n = 0; n < 18; n++) {
    Job job = job_of(256, 512);
    job.dtype = n % 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
    const unsigned latency = std::max(1u, static_cast<unsigned>(n) / 2 % 3 * 100);
    const int kind = n / 6;
    if (kind == 2) use_e8m0(job, &engine.random);
    const uint64_t beats = 256 * element_bytes(job) / kBus;
    const uint64_t tile = kWidth < 16 ? 2 * 256 / kWidth : kind == 2 ? 16 : 256 / kWidth;
    const uint64_t bound = 512 * (beats > tile ? beats : tile);
    const Outcome outcome = engine.run(job, {latency, 0, -1, -1}, kind == 1);
    std::printf("  %s %s latency %u: %llu cycles, bound %llu\n", kinds[kind],
                job.dtype == UFP4_DTYPE_F32 ? "f32" : "bf16", latency,
                static_cast<unsigned long long>(outcome.cycles),
                static_cast<unsigned long long>(bound));
    check_that(latency, outcome.cycles < bound + bound / 10 + 3 * latency + 400,
               "%llu cycles, bound %llu", static_cast<unsigned long long>(outcome.cycles),
               static_cast<unsigned long long>(bound));
  }
}

}  // namespace
