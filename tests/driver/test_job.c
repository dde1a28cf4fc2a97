// SPDX-License-Identifier: Apache-2.0
// Tests jobs: order, completions, flags, and what the driver itself refuses. Malformed descriptors
// are in test_descriptor.c.
#include <math.h>
#include <string.h>

#include "port/backend.h"
#include "stand.h"

TEST(good_jobs_give_their_results) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  stand_check_serving(0, device, &jobs);
  int exponent = 99;
  check_bits(1, ufp4_slot_read(device, 3, &exponent), UFP4_OK, "slot");
  check_bits(1, (uint64_t)exponent, 10, "t of 1.5 in E2M1: 1.5 * 2^t / 6 <= 448");
  ufp4_device_close(device);
}

SLOW_TEST(completions_are_kept_and_in_order) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  uint32_t numbers[100];
  for (int i = 0; i < 100; i++) {
    ufp4_descriptor_t bad = jobs.amax;
    if (i % 3 == 1) bad.header.opcode = 99;
    check_bits(i, ufp4_submit(device, &bad, &numbers[i]), UFP4_OK, "submit");
    check_bits(i, numbers[i], numbers[0] + (uint32_t)i, "job numbers count up");
  }
  for (int i = 99; i >= 0; i--) {
    ufp4_completion_t done = {0};
    ufp4_status_t want = i % 3 == 1 ? UFP4_ERROR_JOB : UFP4_OK;
    check_bits(i, ufp4_wait(device, numbers[i], 0, &done), want, "wait");
    check_bits(i, done.job, numbers[i], "job");
    check_bits(i, done.status, i % 3 == 1 ? UFP4_CORE_STATUS_BAD_OPCODE : UFP4_CORE_STATUS_OK,
               "status");
  }
  ufp4_device_close(device);
}

// The limit of one wait does not limit the job.
TEST(a_wait_goes_on_after_its_limit) {
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device = NULL;
  ufp4_device_info_t info;
  options.max_cycles = 40;
  check_bits(0, ufp4_device_open(stand_backend(), &options, &device), UFP4_OK, "open");
  ufp4_device_info(device, &info);
  stand_jobs_t jobs = stand_jobs(device);
  uint32_t job = 0;
  int limits = 0;
  ufp4_submit(device, &jobs.amax, &job);
  ufp4_submit(device, &jobs.quant, &job);
  ufp4_status_t status = ufp4_wait(device, job, 0, NULL);
  for (; status == UFP4_ERROR_TIMEOUT && limits < 100000; limits++) {
    check_that(limits, ufp4_device_message(device)[0] != '\0', "no message");
    status = ufp4_wait(device, job, 0, NULL);
  }
  check_bits(1, status, UFP4_OK, "in the end");
  check_bits(2, limits > 0, info.has_cycles != 0, "%d waits ended at their limit", limits);
  ufp4_device_close(device);
}

TEST(fence_completes) {
  ufp4_device_t *device = stand_device();
  ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  memset(fence.bytes + sizeof fence.header, 0xFF, sizeof fence - sizeof fence.header);
  check_bits(0, stand_run(device, &fence, NULL), UFP4_OK, "fence");
  ufp4_device_close(device);
}

TEST(nan_and_inf_raise_the_flag) {
  static const float values[] = {NAN, INFINITY, -INFINITY};
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  float d[32];
  for (int i = 0; i < 3; i++) {
    ufp4_completion_t done = {0};
    float bad = values[i], good = 1.5f;
    ufp4_buffer_write(device, jobs.quant.quant.src_addr + 5 * 256 + 20 * 4, &bad, sizeof bad);
    check_bits(i, stand_run(device, &jobs.amax, &done), UFP4_OK, "amax");
    check_bits(i, done.flags, UFP4_FLAG_NAN, "flags of AMAX");
    check_bits(i, stand_run(device, &jobs.quant, &done), UFP4_OK, "quant");
    check_bits(i, done.flags, UFP4_FLAG_NAN, "flags of QUANT");
    check_bits(i, stand_run(device, &jobs.gemm, &done), UFP4_OK, "gemm");
    for (int r = 0; r < 32; r++) {
      ufp4_buffer_read(device, jobs.gemm.gemm.d_addr + (uint64_t)r * 128, d, sizeof d);
      for (int c = 0; c < 32; c++) {
        uint32_t want = r == 5 || c == 5 ? UFP4_F32_NAN : ufp4_f32_bits(108.0f);
        check_bits(i, ufp4_f32_bits(d[c]), want, "D[%d][%d]", r, c);
      }
    }
    ufp4_buffer_write(device, jobs.quant.quant.src_addr + 5 * 256 + 20 * 4, &good, sizeof good);
  }
  stand_check_serving(9, device, &jobs);
  ufp4_device_close(device);
}

TEST(saturation_raises_the_flag_of_its_copy) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  static const uint16_t exponents[][2] = {{11, 10}, {10, 11}, {11, 11}, {10, 10}};
  for (int i = 0; i < 4; i++) {
    ufp4_descriptor_t job = jobs.quant;
    ufp4_completion_t done = {0};
    job.quant.row_mode = job.quant.col_mode = UFP4_MODE_ENABLE;
    job.quant.row_exponent = exponents[i][0];
    job.quant.col_exponent = exponents[i][1];
    unsigned want = (exponents[i][0] == 11 ? UFP4_FLAG_ROW_SATURATED : 0) |
                    (exponents[i][1] == 11 ? UFP4_FLAG_COL_SATURATED : 0);
    check_bits(i, stand_run(device, &job, &done), UFP4_OK, "quant");
    check_bits(i, done.flags, want, "flags");
  }
  ufp4_device_close(device);
}

TEST(rejects_slots_never_written) {
  ufp4_device_t *device = stand_device();
  int exponent = 5;
  for (unsigned slot = 0; slot < UFP4_SLOTS + 4; slot++) {
    check_bits(slot, ufp4_slot_read(device, slot, &exponent), UFP4_ERROR_ARGUMENT, "slot %u", slot);
  }
  check_bits(100, (uint64_t)exponent, 5, "the exponent");
  ufp4_device_close(device);
}

TEST(rejects_the_memory_of_the_rings) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  // A region that starts before device memory may run into the rings.
  const uint64_t first = UFP4_MEMORY_BASE, before = first - 128,
                 last = UFP4_MEMORY_BASE + UFP4_MEMORY_RESERVED_BYTES - UFP4_ALIGN_BYTES;
  ufp4_descriptor_t bad[] = {jobs.amax, jobs.quant, jobs.quant, jobs.quant, jobs.gemm, jobs.gemm,
                             jobs.gemm, jobs.amax,  jobs.quant, jobs.gemm,  jobs.gemm, jobs.gemm};
  bad[0].quant.src_addr = first;
  bad[1].quant.src_addr = last;
  bad[2].quant.row_codes_addr = first;
  bad[3].quant.row_scales_addr = last;
  bad[4].gemm.d_addr = first;
  bad[5].gemm.a_scales_addr = last;
  bad[6].gemm.b_codes_addr = first;
  bad[7].quant.src_addr = 0;
  bad[8].quant.col_codes_addr = before;
  bad[9].gemm.d_addr = before;
  bad[10].gemm.d_mode = UFP4_D_MODE_SUMS;
  bad[10].gemm.sums_addr = last;
  bad[11].gemm.d_mode = UFP4_D_MODE_C;
  bad[11].gemm.c_addr = first;
  for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    check_bits(i, ufp4_submit(device, &bad[i], NULL), UFP4_ERROR_ARGUMENT, "submit");
  }
  stand_check_serving(0, device, &jobs);
  ufp4_device_close(device);
}

TEST(rejects_jobs_never_submitted) {
  ufp4_device_t *device = stand_device();
  ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  uint32_t job = 0;
  check_bits(0, ufp4_wait(device, 1, 0, NULL), UFP4_ERROR_ARGUMENT, "before any");
  ufp4_submit(device, &fence, &job);
  check_bits(1, ufp4_wait(device, job + 1, 0, NULL), UFP4_ERROR_ARGUMENT, "the next");
  check_bits(2, ufp4_wait(device, job - 1, 0, NULL), UFP4_ERROR_ARGUMENT, "number 0");
  check_bits(3, ufp4_wait(device, job, 0, NULL), UFP4_OK, "the one");
  for (int i = 0; i < 256; i++) stand_run(device, &fence, NULL);
  check_bits(4, ufp4_wait(device, job, 0, NULL), UFP4_ERROR_ARGUMENT, "forgotten");
  check_bits(5, ufp4_wait(device, job + 1, 0, NULL), UFP4_OK, "the oldest kept");
  check_bits(6, ufp4_submit(device, NULL, &job), UFP4_ERROR_ARGUMENT, "no descriptor");
  ufp4_device_close(device);
}
