// SPDX-License-Identifier: Apache-2.0
// Tests what only the backend tlm does: it has a mode without data, and no bus errors.
#include <string.h>

#include "times.h"

TEST(timing_only_takes_the_same_time_and_computes_nothing) {
  for (int i = 0; i < TIMES_MEMORIES; i++) {
    const times_t got = times_of("tlm", i, 1), want = times_of("tlm", i, 0);
    check_times(i, &got, &want);
    check_that(i, got.blank, "there are data");
    check_that(i, !want.blank, "there are no data");
  }
}

/** A burst outside of memory would be a bus error, so the job is refused; the device serves on. */
TEST(rejects_jobs_outside_of_memory) {
  for (int i = 0; i < 2; i++) {
    ufp4_device_t *device = times_device("tlm", 1, i);
    stand_jobs_t jobs = stand_jobs(device);
    const uint64_t outside = jobs.gemm.gemm.d_addr + (16u << 20);
    ufp4_descriptor_t bad[] = {jobs.amax, jobs.quant, jobs.quant, jobs.gemm, jobs.gemm};
    bad[0].quant.src_addr = outside;
    bad[1].quant.src_addr = outside;
    bad[2].quant.col_scales_addr = outside;
    bad[3].gemm.a_codes_addr = outside;
    bad[4].gemm.d_addr = outside;
    for (int job = 0; job < 5; job++) {
      check_bits(job, ufp4_submit(device, &bad[job], NULL), UFP4_ERROR_UNSUPPORTED, "submit");
      check_that(job, strstr(ufp4_device_message(device), "backend rtl does") != NULL,
                 "message '%s'", ufp4_device_message(device));
    }
    ufp4_completion_t done = {0};
    bad[0].quant.rows = 0;
    check_bits(5, stand_run(device, &bad[0], &done), UFP4_ERROR_JOB, "a job that is refused");
    check_bits(5, done.status, UFP4_CORE_STATUS_BAD_SIZE, "its status");
    check_bits(6, stand_run(device, &jobs.amax, &done), UFP4_OK, "a good job: %s",
               ufp4_device_message(device));
    ufp4_device_close(device);
  }
}
