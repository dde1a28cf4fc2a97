// SPDX-License-Identifier: Apache-2.0
// Jobs, memories, and rigs on each module, which the tests of the SystemC modules share.
#ifndef UFP4_TEST_SYSTEMC_CASES_H
#define UFP4_TEST_SYSTEMC_CASES_H

#include <string>

#include "plain.h"

/** Random jobs for a configuration. */
struct Jobs {
  explicit Jobs(const char *configuration = "small") {
    twin.random = check_random();
    twin_configure(&twin, configuration);
  }
  std::vector<twin_job_t> one(uint32_t limit) {
    return {timing_job(&twin, limit)};
  }
  std::vector<twin_job_t> list(uint32_t limit) {
    twin_job_t jobs[16];
    return {jobs, jobs + timing_list(&twin, limit, jobs)};
  }
  std::vector<twin_job_t> gemm(uint32_t m, uint32_t n, uint32_t k) {
    return {timing_gemm(&twin, m, n, k)};
  }
  twin_t twin{};
};

inline const twin_memory_t memories[] = {{100, 0, 0, nullptr}, {0, 0, 0, nullptr},
                                         {1, 13, 0, nullptr},  {20, 7, 0, nullptr},
                                         {20, 0, 0, "lpddr5"}, {0, 9, 0, "hbm3"}};
inline constexpr size_t kMemories = sizeof memories / sizeof memories[0];

/** Fills the places of operands with small numbers. */
inline void fill(uint8_t *memory) {
  check_random_t random = check_random();
  for (uint64_t i = 1; i <= TWIN_PLACES; i++) {
    for (uint64_t j = 0; j < 1 << 18; j += 4) {
      const float value = static_cast<float>(check_below(&random, 2001)) / 1000 - 1;
      std::memcpy(memory + i * TWIN_PLACE_BYTES + j, &value, sizeof value);
    }
  }
}

/** Checks that both have the same number of interrupt edges, in the same cycles. */
inline void same_edges(const Rig &got, const Rig &want) {
  check_bits(0, got.edges.size(), want.edges.size(), "edges of the interrupt of %s", got.name());
  for (size_t i = 0; i < got.edges.size() && i < want.edges.size(); i++) {
    check_bits(static_cast<int64_t>(i), got.edges[i].first, want.edges[i].first,
               "cycle of an edge of %s", got.name());
  }
}

/** Runs @p body on both modules side by side; the test ends when both have ended. @p alike: both
 * get the same jobs. */
inline void on_both(const Rig::Body &body, bool alike = false) {
  static unsigned ends;
  ends = 0;
  const auto counted = [body](Rig &rig) {
    body(rig);
    ends++;
  };
  Rig rtl("rtl", Kind::kRtl, memories[3], counted),
      timed("timed", Kind::kTimed, memories[3], counted);
  sc_core::sc_start();
  check_bits(0, ends, 2, "hosts that came to their end");
  if (alike) same_edges(timed, rtl);
}

/** Reads a register by transport_dbg. @return the bytes that it returned */
inline unsigned debug_read(Rig &rig, uint32_t offset, uint32_t *seen) {
  tlm::tlm_generic_payload payload;
  payload.set_read();
  payload.set_address(offset);
  payload.set_data_ptr(reinterpret_cast<unsigned char *>(seen));
  payload.set_data_length(4);
  return rig.host->transport_dbg(payload);
}

/** Returns the text of the error that SystemC reports during @p run, or an empty one. */
inline std::string report_of(const std::function<void()> &run) {
  try {
    run();
  } catch (const sc_core::sc_report &report) {
    return report.what();
  }
  return {};
}

inline void check_report(const std::string &report, const char *words) {
  check_that(0, report.find(words) != std::string::npos, "reported: \"%s\", without \"%s\"",
             report.c_str(), words);
}

#endif
