// SPDX-License-Identifier: Apache-2.0
// The QUANT engine on a memory with latency and stalls: runs a job and compares every byte of
// memory, exponents, flags and errors with the golden model. Compiled once for each engine of
// CMakeLists.txt. Tests only.
#ifndef UFP4_QUANT_ENGINE_RIG_H
#define UFP4_QUANT_ENGINE_RIG_H

#include <cstdint>
#include <vector>

#include "Vquant_engine.h"
#include "flip.h"
#include "memory.h"

extern "C" {
#include "fixture.h"
#include "ufp4/format.h"
}

namespace quant_engine {

constexpr unsigned kBus = UFP4_TEST_BUS_BYTES;
constexpr unsigned kWidth = UFP4_TEST_WIDTH;  ///< numbers that the engine takes a cycle
#ifdef UFP4_TEST_MIXED
constexpr bool kMixed = true;  ///< it makes elements mixed
#else
constexpr bool kMixed = false;
#endif
constexpr size_t kMemoryBytes = 6u << 20;
constexpr unsigned kRow = 1, kCol = 2, kBoth = 3;
using EngineMemory = Memory<Vquant_engine, kBus>;

/** One job, in the words of the golden model; the axis of @p how is not used. */
struct Job {
  int64_t rows, cols;
  ufp4_dtype_t dtype;
  unsigned copies;      ///< kRow, kCol or both
  unsigned rht_copies;  ///< a bit for each copy
  ufp4_quantize_t how;
  int t[2];
  fixture_distribution_t distribution;
  std::vector<float> numbers;  ///< the tensor, row by row; empty: drawn from the distribution
};

/** The places of a job's tensors, as offsets in memory. */
struct Place {
  uint64_t source, codes[2], scales[2];
  int64_t stride_bytes, stride_blocks[2];
};

struct Outcome {
  bool ended;
  uint64_t cycles;
  bool read_error, write_error, memory_error, flipped;
  unsigned flags;
  int t[2];
  bool rests;      ///< the engine for a few cycles, at the end
  int64_t panels;  ///< row groups that are said to be written then
};

class Engine {
 public:
  Engine() : memory(m, kMemoryBytes), random(check_random()) {
    m.rst_ni = 0;
    m.start_valid_i = 0;
    memory.reset(kCalm, random);
    memory.writes_are_bursts = true;
    for (int i = 0; i < 8; i++) edge();
    m.rst_ni = 1;
  }
  ~Engine() {
    m.final();
  }

  /** Runs one job and compares everything that it may and may not have changed, except the copies
   * if the job reports @p flip, because it may then end early. */
  Outcome run(const Job &job, const Behaviour &behaviour, bool amax, const Flip *flip = nullptr);

  Vquant_engine m;
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
  uint32_t number(const Job &job, int64_t index);
  void fill(const Job &job, const Place &place);
  void describe(const Job &job, const Place &place, bool amax);
  Outcome simulate(const Behaviour &behaviour, uint64_t limit, const Job &job, const Place &place,
                   const Flip *flip);
  void check_panels(const Job &job, const Place &place, int64_t from, int64_t end);
  void compare(const Job &job, const Place &place, const std::vector<uint8_t> &before,
               const Outcome &outcome, bool amax);
};

/** Bytes of an element of the source. */
size_t element_bytes(const Job &job);
/** A job with both copies of E1M2, transformed and rounded stochastically. */
Job job_of(int64_t rows, int64_t cols);
/** Blocks of 32 with E8M0 scales, which have neither transform nor exponent. */
void use_e8m0(Job &job, check_random_t *random);
/** Draws everything except the shape. */
Job random_job(check_random_t *random, int64_t rows, int64_t cols);

}  // namespace quant_engine

#endif
