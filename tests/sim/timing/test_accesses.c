// SPDX-License-Identifier: Apache-2.0
// Tests that the timed model counts as many reads and writes of each kind of memory as the RTL's
// enables show.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "waves.h"

static const char *const names[UFP4_SRAM_COUNT] = {
    [UFP4_SRAM_ACCUMULATORS] = "accumulators",
    [UFP4_SRAM_CODES_A] = "codes of A",
    [UFP4_SRAM_CODES_B] = "codes of B",
    [UFP4_SRAM_SCALES_A] = "scales of A",
    [UFP4_SRAM_SCALES_B] = "scales of B",
    [UFP4_SRAM_WAITING] = "waiting scales",
    [UFP4_SRAM_ADDENDS] = "addends",
    [UFP4_SRAM_STRIPS] = "strips",
    [UFP4_SRAM_TRANSPOSE] = "transpose",
    [UFP4_SRAM_TRANSPOSE_OTHERS] = "transpose of other lanes",
    [UFP4_SRAM_BLOCKS] = "blocks",
    [UFP4_SRAM_TRANSFORMED] = "transformed blocks",
    [UFP4_SRAM_OUTPUT] = "output"};

static void one(twin_t *twin, twin_job_t job) {
  twin_run(twin, &job, 1);
}

// Runs several chunks of K, D with and without addends, both jobs of QUANT, and drawn jobs.
static void run_jobs(twin_t *twin) {
  const uint32_t contract = twin->configuration.contract;
  twin_job_t gemm = timing_gemm(twin, 21, 37, 300);
  gemm.gemm.d_mode = 0;
  one(twin, gemm);
  gemm = timing_gemm(twin, 18, 20, 70);
  gemm.gemm.d_dtype = UFP4_DTYPE_F32;
  gemm.gemm.d_mode = contract == UFP4_CONTRACT_NV ? 0 : UFP4_D_MODE_C;
  one(twin, gemm);
  if (contract == UFP4_CONTRACT_EXACT) {
    gemm.gemm.d_mode = UFP4_D_MODE_SUMS;
    one(twin, gemm);
  }
  for (int amax = 0; amax < 2 && twin->configuration.quant != 0; amax++)
    one(twin, timing_quant(twin, 33, 50, amax));
  twin_job_t jobs[16];
  twin_run(twin, jobs, timing_step(twin, 40, jobs));
}

static void compare(const char *configuration, twin_memory_t memory) {
  char path[] = "/tmp/ufp4-accesses-XXXXXX";
  const int file = mkstemp(path);
  if (file >= 0) close(file);
  twin_t *twin = twin_open_traced(configuration, memory, path);
  run_jobs(twin);
  check_that(0, twin->differences == 0, "%u differences of cycles", twin->differences);
  waves_accesses_t rtl, timed;
  ufp4_timed_accesses(twin->timed, timed.reads, timed.writes);
  const ufp4_configuration_t core = twin->configuration;
  check_bits(0, ufp4_sim_trace_end(twin->sim), UFP4_SIM_OK, "waveforms");
  twin_close(twin);
  check_that(1, waves_accesses(path, &core, &rtl), "waveforms are read");
  unlink(path);
  for (unsigned i = 0; i < UFP4_SRAM_COUNT; i++) {
    check_bits(i, timed.reads[i], rtl.reads[i], "reads of %s on %s", names[i], configuration);
    check_bits(i, timed.writes[i], rtl.writes[i], "writes of %s on %s", names[i], configuration);
    printf("%s: %llu reads and %llu writes of %s\n", configuration,
           (unsigned long long)rtl.reads[i], (unsigned long long)rtl.writes[i], names[i]);
  }
  const int adds = core.contract != UFP4_CONTRACT_NV;
  check_that(2, rtl.reads[UFP4_SRAM_ACCUMULATORS] && rtl.writes[UFP4_SRAM_CODES_B], "a GEMM");
  check_that(3, !adds || rtl.reads[UFP4_SRAM_ADDENDS], "sums that are added to");
  check_that(4, core.quant == 0 || rtl.reads[UFP4_SRAM_STRIPS], "a QUANT");
}

static const twin_memory_t fast = {20, 0, 0, NULL}, slow = {50, 3, 2, NULL};

TEST(equal_on_small) {
  compare("small", fast);
}

TEST(equal_on_small_with_a_slow_memory) {
  compare("small", slow);
}

TEST(equal_on_small_fp32) {
  compare("small-fp32", fast);
}

TEST(equal_on_small_nv) {
  compare("small-nv", fast);
}

// This compares a configuration with other lanes, or with the narrow QUANT (CMakeLists.txt names
// them).
FULL_TEST(equal_on_configuration) {
  const char *configuration = getenv("UFP4_TEST_CONFIGURATION");
  compare(configuration ? configuration : "small", fast);
}
