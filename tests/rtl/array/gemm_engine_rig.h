// SPDX-License-Identifier: Apache-2.0
// The GEMM engine on a memory with latency and stalls: runs a job, compares every byte of memory
// with the golden model, and checks errors and the number of busy cycles. Compiled once for each
// configuration, with its UFP4_TEST_*.
#ifndef UFP4_GEMM_ENGINE_RIG_H
#define UFP4_GEMM_ENGINE_RIG_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "Vgemm_engine.h"
#include "flip.h"
#include "memory.h"

extern "C" {
#include "fixture.h"
#include "ufp4/format.h"
}

namespace gemm_engine {

constexpr unsigned kBus = UFP4_TEST_BUS_BYTES;
constexpr int64_t kRows = UFP4_TEST_ROWS, kCols = UFP4_TEST_COLS;        ///< PEs
constexpr int64_t kTileM = UFP4_TEST_TILE_M, kTileN = UFP4_TEST_TILE_N;  ///< a macro-tile of D
constexpr uint32_t kLong =
    static_cast<uint32_t>(2 * std::max(kTileM, kTileN) + 40);  ///< sides of several macro-tiles
constexpr uint32_t kShort =
    static_cast<uint32_t>(2 * std::max(kRows, kCols) + 3);  ///< sides of a few sub-tiles
constexpr int64_t kSteps = 16 / UFP4_TEST_LANES;            ///< cycles of a block
constexpr bool kExact = UFP4_TEST_CONTRACT == UFP4_CONTRACT_EXACT;
constexpr bool kNv = UFP4_TEST_CONTRACT == UFP4_CONTRACT_NV;
/** The element formats that the PEs and the contract have in common are kElems: kFirstElem to
 * kLastElem, and mixed if a block may have either grid. */
constexpr unsigned kFormats = UFP4_TEST_FORMATS;
constexpr unsigned kFirstElem = kFormats == UFP4_FORMATS_UNIFORM || kFormats == UFP4_FORMATS_E1M2
                                    ? UFP4_ELEM_E1M2
                                    : UFP4_ELEM_E2M1;
constexpr unsigned kLastElem = kFormats == UFP4_FORMATS_E2M1          ? UFP4_ELEM_E2M1
                               : kNv || kFormats == UFP4_FORMATS_E1M2 ? UFP4_ELEM_E1M2
                                                                      : UFP4_ELEM_INT4;
constexpr unsigned kFormatsAlone = kLastElem - kFirstElem + 1;
constexpr unsigned kElems = kFormatsAlone + (kFormats == UFP4_FORMATS_ALL ? 1 : 0);
constexpr ufp4_elem_t elem_of(unsigned i) {
  return i < kFormatsAlone ? static_cast<ufp4_elem_t>(kFirstElem + i) : UFP4_ELEM_MIXED;
}
constexpr size_t kMemoryBytes = 4u << 20;
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

/** The places of a job's tensors, as offsets in memory. */
struct Place {
  uint64_t a_codes, a_scales, b_codes, b_scales, d, sums, c;
  int64_t a_stride, b_stride, d_stride, sums_stride, c_stride;
};

struct Outcome {
  bool ended, read_error, write_error, memory_error, flipped;
  uint64_t cycles, busy, operand, panel, accumulator, drain;
  int unread;  ///< row groups that arrived singly and of which nothing was read before the next one
};

/** Operands whose row groups come one by one, as the QUANT engine writes them. */
struct Panels {
  unsigned held;   ///< bit 0: A is such, bit 1: B
  uint64_t every;  ///< cycles from one group to the next
  uint64_t stays;  ///< cycles after the last group in which the operands are still held
  unsigned over;   ///< excess of the count over the number of groups in these cycles
};

class Coming;

class Engine {
 public:
  Engine() : memory(m, kMemoryBytes), random(check_random()) {
    m.rst_ni = 0;
    m.start_valid_i = 0;
    memory.reset(kCalm, random);
    for (int i = 0; i < 8; i++) edge();
    m.rst_ni = 1;
    rest(20);
  }
  ~Engine() {
    m.final();
  }

  /** Runs one job and compares everything that it may and may not have changed, except D if the job
   * reports @p flip, because it may then end early. Until a row group of @p panels comes, its place
   * holds random bytes. */
  Outcome run(const Job &job, const Behaviour &behaviour, const Flip *flip = nullptr,
              const Panels *panels = nullptr);

  /** The paths of all memories with parity, and of their parity. */
  std::vector<std::string> checked_memories() const;

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
  void draw_c(const Job &job, const Place &place, const ufp4_operand_t &a, const ufp4_operand_t &b,
              ufp4_gemm_t how);
  std::vector<uint8_t> expect(const Job &job, const Place &place, const ufp4_operand_t &a,
                              const ufp4_operand_t &b);
  void rest(uint32_t cycles);
  Outcome simulate(const Job &job, const Behaviour &behaviour, const Flip *flip, Coming *coming);
  void count(Outcome *outcome);
  void compare(const Job &job, const Place &place, const std::vector<uint8_t> &want);
};

}  // namespace gemm_engine

#endif
