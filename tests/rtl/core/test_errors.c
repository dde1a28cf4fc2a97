// SPDX-License-Identifier: Apache-2.0
// Bus errors, in a job alone and in one of two overlapping jobs. The job with the error ends with
// its code; nothing outside the outputs has changed; concurrent and later jobs give the golden
// model's bits.
#include <stdlib.h>
#include <string.h>

#include "rig.h"

// --- One job ------------------------------------------------------------------------------------

static void fail_bus(rig_t *rig, unsigned which, ufp4_sim_fault_t fault, uint32_t nth) {
  prepare(rig, which);
  const int read = fault <= UFP4_SIM_FAULT_READ_DECERR;
  const ufp4_descriptor_t descriptor = rig_job(rig, which);
  stand_write(&rig->stand, UFP4_REG_IRQ_STATUS, 7);
  ufp4_sim_fault(rig->stand.sim, fault, nth);
  const ufp4_completion_t done = stand_job(&rig->stand, &descriptor);
  const uint32_t irq = stand_read(&rig->stand, UFP4_REG_IRQ_STATUS);
  check_bits(rig->runs, irq & 2, 2, "irq_status, job %u with fault %d at %u", which, (int)fault,
             nth);
  // A write error of the completion itself is only reported in irq_status.
  if (read)
    check_bits(rig->runs, done.status, UFP4_CORE_STATUS_READ_ERROR, "status of job %u, beat %u",
               which, nth);
  if (!read && done.status != UFP4_CORE_STATUS_OK) {
    check_bits(rig->runs, done.status, UFP4_CORE_STATUS_WRITE_ERROR, "status of job %u, answer %u",
               which, nth);
  }
  check_outside(rig, which, "a bus error");
  rig_chain(rig, NULL, "a bus error");
}

static void bus_errors(const char *configuration, uint64_t stall_seed, unsigned each) {
  rig_t rig = rig_open(configuration, 20, stall_seed);
  rig_chain(&rig, NULL, "nothing");
  for (unsigned which = 0; which < JOBS; which++) {
    const uint64_t before = rig_count(&rig, UFP4_COUNTER_READ_BEATS);
    run_good(&rig, which);
    const uint32_t beats = (uint32_t)(rig_count(&rig, UFP4_COUNTER_READ_BEATS) - before);
    for (unsigned i = 0; i < each; i++) {
      const unsigned kind = i % 2;
      fail_bus(&rig, which, kind ? UFP4_SIM_FAULT_READ_DECERR : UFP4_SIM_FAULT_READ_SLVERR,
               1 + check_below(&rig.random, beats));
      fail_bus(&rig, which, kind ? UFP4_SIM_FAULT_WRITE_DECERR : UFP4_SIM_FAULT_WRITE_SLVERR,
               which == AMAX_X || which == AMAX_W ? 1 : 1 + check_below(&rig.random, 40));
    }
  }
  rig_close(&rig);
}

SLOW_TEST(bus_error_ends_the_job_with_its_code) {
  bus_errors("small", 0, 2);
  bus_errors("default", 0, 3);
  bus_errors("default", 3, 2);
  bus_errors("small-fp32", 0, 2);
  bus_errors("small-nv", 5, 2);
}

// A descriptor with an error in one of its beats is no job: its completion says so, and nothing
// else is written.
static void descriptor_errors(const char *configuration, unsigned beats) {
  rig_t rig = rig_open(configuration, 20, 0);
  rig_chain(&rig, NULL, "nothing");
  for (unsigned beat = 1; beat <= beats; beat++) {
    prepare(&rig, GEMM);
    const ufp4_descriptor_t descriptor = rig_job(&rig, GEMM);
    ufp4_sim_fault(rig.stand.sim,
                   beat % 2 ? UFP4_SIM_FAULT_READ_SLVERR : UFP4_SIM_FAULT_READ_DECERR, beat);
    check_bits(beat, stand_job(&rig.stand, &descriptor).status, UFP4_CORE_STATUS_READ_ERROR,
               "status of a descriptor");
    check_outside(&rig, NONE, "a descriptor with an error of the bus");
    rig_chain(&rig, NULL, "a descriptor with an error of the bus");
  }
  rig_close(&rig);
}

TEST(bus_error_in_the_descriptor_ends_it) {
  descriptor_errors("default", 2);
}

// A job outside memory ends after the current macro-tile or strip, not after all of its requests.
static void ends_soon(const char *configuration) {
  rig_t rig = rig_open(configuration, 20, 0);
  ufp4_descriptor_t gemm = rig_job(&rig, GEMM), quant = rig_job(&rig, QUANT_X);
  gemm.gemm.m = gemm.gemm.n = 1u << 20;
  gemm.gemm.a_mode = gemm.gemm.b_mode = 0;
  gemm.gemm.d_stride_bytes = 4u << 20;
  gemm.gemm.d_addr = 0;
  // D of 4 TiB does not fit the address space; 2^16 rows do.
  gemm.gemm.m = 1u << 16;
  gemm.gemm.a_codes_addr = gemm.gemm.a_scales_addr = 1ull << 38;
  ufp4_completion_t done = stand_job(&rig.stand, &gemm);
  check_bits(0, done.status, UFP4_CORE_STATUS_READ_ERROR, "status of the GEMM");
  check_that(0, done.cycles < 20000, "the GEMM took %llu cycles", (unsigned long long)done.cycles);
  gemm.gemm.a_codes_addr = place(X_CODES);
  gemm.gemm.a_scales_addr = place(X_SCALES);
  gemm.gemm.m = 1024;
  gemm.gemm.n = 128;
  done = stand_job(&rig.stand, &gemm);
  check_bits(1, done.status, UFP4_CORE_STATUS_WRITE_ERROR, "status of a GEMM that cannot write");
  check_that(1, done.cycles < 8000, "it took %llu cycles", (unsigned long long)done.cycles);
  quant.quant.rows = 1u << 20;
  quant.quant.cols = 64;
  quant.quant.row_mode = quant.quant.col_mode = UFP4_MODE_ENABLE;
  quant.quant.col_stride_blocks = 1u << 16;
  quant.quant.src_addr = 1ull << 38;
  quant.quant.row_codes_addr = quant.quant.row_scales_addr = 1ull << 37;
  quant.quant.col_codes_addr = quant.quant.col_scales_addr = 1ull << 36;
  for (unsigned opcode = UFP4_OPCODE_QUANT; opcode <= UFP4_OPCODE_AMAX; opcode++) {
    quant.quant.opcode = (uint8_t)opcode;
    done = stand_job(&rig.stand, &quant);
    check_bits(2, done.status, UFP4_CORE_STATUS_READ_ERROR, "status of opcode %u", opcode);
    check_that(2, done.cycles < 3000, "opcode %u took %llu cycles", opcode,
               (unsigned long long)done.cycles);
  }
  rig_chain(&rig, NULL, "jobs where no memory is");
  rig_close(&rig);
}

TEST(bus_error_ends_the_job_soon) {
  ends_soon("default");
}

// --- The end of memory --------------------------------------------------------------------------

// The first read outside memory ends the job, whatever was read before.
static void ends_of_memory(const char *configuration) {
  enum { COLS = 16, SOURCE_BYTES = 128, PANEL_BYTES = 8 * UFP4_PANEL_CODE_BYTES };
  const uint64_t end = STAND_MEMORY + STAND_MEMORY_BYTES;
  rig_t rig = rig_open(configuration, 20, 0);
  ufp4_descriptor_t gemm = rig_job(&rig, GEMM), quant = rig_job(&rig, QUANT_X);
  quant.quant.cols = COLS;
  quant.quant.src_stride_bytes = SOURCE_BYTES;
  quant.quant.row_mode = quant.quant.col_mode = UFP4_MODE_ENABLE;
  quant.quant.row_exponent = quant.quant.col_exponent = 0;
  quant.quant.col_stride_blocks = 64;
  gemm.gemm.a_mode = gemm.gemm.b_mode = 0;
  gemm.gemm.a_exponent = gemm.gemm.b_exponent = 0;
  gemm.gemm.d_addr = place(PLACES);
  for (uint32_t groups = 1; groups <= 35; groups += groups % 4 == 2 ? 3 : 1) {
    const uint32_t rows = 16 * groups + 1 + check_below(&rig.random, 60);
    quant.quant.rows = gemm.gemm.m = rows;
    quant.quant.src_addr = end - (uint64_t)(16 * groups * SOURCE_BYTES);
    gemm.gemm.a_codes_addr = end - (uint64_t)groups * PANEL_BYTES;
    for (unsigned opcode = UFP4_OPCODE_QUANT; opcode <= UFP4_OPCODE_AMAX; opcode++) {
      quant.quant.opcode = (uint8_t)opcode;
      check_bits(groups, stand_job(&rig.stand, &quant).status, UFP4_CORE_STATUS_READ_ERROR,
                 "status of opcode %u, %u rows, %u groups of which are there", opcode, rows,
                 groups);
    }
    check_bits(groups, stand_job(&rig.stand, &gemm).status, UFP4_CORE_STATUS_READ_ERROR,
               "status of a GEMM, %u rows, %u groups of which are there", rows, groups);
  }
  rig_chain(&rig, NULL, "jobs over the end of memory");
  rig_close(&rig);
}

TEST(bus_error_at_the_end_of_memory) {
  ends_of_memory("default");
}

// --- Side by side -------------------------------------------------------------------------------

// The jobs of a ring in which one has met an error, or none.
typedef struct {
  ufp4_core_status_t status[SIDE_BY_SIDE];
  int failed;  ///< the place of the one that did; -1: none
} ended_t;

static ended_t ended(rig_t *rig, uint32_t first, ufp4_core_status_t code) {
  ended_t result = {.failed = -1};
  for (int i = 0; i < SIDE_BY_SIDE; i++) {
    const ufp4_completion_t done = stand_completion(&rig->stand, first + (uint32_t)i);
    const ufp4_descriptor_t descriptor = job(rig_side_by_side[i]);
    result.status[i] = (ufp4_core_status_t)done.status;
    if (done.status == UFP4_CORE_STATUS_OK) {
      check_bits(rig->runs, done.job, descriptor.header.job,
                 "number of job %d, beside one that failed", i);
      continue;
    }
    check_bits(rig->runs, done.status, code, "status of job %d", i);
    check_bits(rig->runs, (uint64_t)result.failed, (uint64_t)-1, "jobs %d and %d failed",
               result.failed, i);
    result.failed = i;
  }
  return result;
}

// Jobs that do not depend on a failed one give the bytes of the model. A job with garbage as
// exponent or operand ends well.
static void compare_the_others(rig_t *rig, const ended_t *jobs) {
  uint8_t *want = malloc(IMAGE_BYTES);
  const uint8_t *got = image(rig);
  int bad[JOBS] = {0};
  for (unsigned i = 0; i < SIDE_BY_SIDE - 1; i++) bad[rig_side_by_side[i]] = jobs->failed == (int)i;
  bad[QUANT_X] |= bad[AMAX_X];
  bad[QUANT_W] |= bad[AMAX_W];
  bad[GEMM] |= bad[QUANT_X] | bad[QUANT_W];
  for (unsigned which = 0; which < JOBS; which++) {
    const ufp4_descriptor_t descriptor = rig_job(rig, which);
    rig_run_model(rig, &descriptor);
  }
  rig_read_model(rig, want);
  for (unsigned which = 0; which < JOBS; which++) {
    for (uint64_t i = 0; i < IMAGE_BYTES && !bad[which]; i++) {
      if (got[i] == want[i] || !rig_is_output(which, i)) continue;
      check_bits(
          rig->runs, got[i], want[i], "byte 0x%llx of place %d, of job %u, where job %d failed",
          (unsigned long long)(i % PLACE_BYTES), (int)(i / PLACE_BYTES), which, jobs->failed);
    }
  }
  free(want);
}

static uint32_t read_beats_of_all(rig_t *rig) {
  const uint64_t before = rig_count(rig, UFP4_COUNTER_READ_BEATS);
  rig_prepare(rig);
  rig_submit_side_by_side(rig);
  check_that(rig->runs, stand_drain(&rig->stand), "the jobs have not ended");
  return (uint32_t)(rig_count(rig, UFP4_COUNTER_READ_BEATS) - before);
}

static int all_nonzero(const unsigned *counts, unsigned count) {
  unsigned i = 0;
  while (i < count && counts[i]) i++;
  return i == count;
}

// Over all errors each of the six jobs fails at least once: @p times errors are spread over all
// beats, and if they miss a job, more fall anywhere. There are fewer answers to writes than
// @p answers.
static void errors_side_by_side(const char *configuration, uint64_t stall_seed, unsigned times,
                                uint32_t answers) {
  rig_t rig = rig_open(configuration, 30, stall_seed);
  rig_chain(&rig, NULL, "nothing");
  const uint32_t beats = read_beats_of_all(&rig);
  unsigned failed[SIDE_BY_SIDE] = {0};
  for (unsigned i = 0; i < times || (i < 4 * times && !all_nonzero(failed, SIDE_BY_SIDE)); i++) {
    const int read = i % 4 != 3;
    static const ufp4_sim_fault_t faults[] = {
        UFP4_SIM_FAULT_READ_SLVERR, UFP4_SIM_FAULT_READ_DECERR, UFP4_SIM_FAULT_READ_SLVERR,
        UFP4_SIM_FAULT_WRITE_DECERR};
    rig_prepare(&rig);
    const uint32_t of = read ? beats : answers;
    const uint32_t at = check_below(&rig.random, of);
    ufp4_sim_fault(rig.stand.sim, faults[i % 4], 1 + (i < times ? (i * of + at) / times : at));
    const uint32_t first = rig.stand.tail;
    rig_submit_side_by_side(&rig);
    check_that(rig.runs, stand_drain(&rig.stand), "the jobs beside one that failed have not ended");
    ufp4_sim_fault(rig.stand.sim, UFP4_SIM_FAULT_NONE, 0);
    const ended_t jobs =
        ended(&rig, first, read ? UFP4_CORE_STATUS_READ_ERROR : UFP4_CORE_STATUS_WRITE_ERROR);
    const uint32_t irq = stand_read(&rig.stand, UFP4_REG_IRQ_STATUS);
    check_bits(rig.runs, irq & IRQ_FATAL, 0, "fatal after a bus error");
    // An error of the write of a completion is only reported in irq_status.
    if (read || jobs.failed >= 0)
      check_bits(rig.runs, irq & 2, jobs.failed >= 0 ? 2 : 0, "irq_status after a bus error");
    if (read) check_that(rig.runs, jobs.failed >= 0, "no job has the read error");
    if (jobs.failed >= 0) failed[jobs.failed]++;
    check_outside(&rig, ALL, "a bus error with both engines at work");
    compare_the_others(&rig, &jobs);
    rig_chain(&rig, NULL, "a bus error with both engines at work");
  }
  for (int i = 0; i < SIDE_BY_SIDE; i++)
    check_that(i, failed[i] != 0, "job %d has never failed", i);
  rig_close(&rig);
}

SLOW_TEST(bus_error_with_both_engines_at_work) {
  errors_side_by_side("default", 0, 40, 60);
  errors_side_by_side("default", 3, 40, 60);
  errors_side_by_side("small-fp32", 0, 24, 100);
  errors_side_by_side("small-nv", 5, 24, 100);
}

// A GEMM uses the row groups of a QUANT that writes none, because all its reads fail or because it
// is refused: the GEMM takes what is in memory, and ends.
static void panels_that_never_come(const char *configuration) {
  rig_t rig = rig_open(configuration, 20, 0);
  rig_chain(&rig, NULL, "nothing");
  for (unsigned i = 0; i < 8; i++) {
    const unsigned bad = i % 2 ? QUANT_X : QUANT_W, refused = i / 2 % 2, at = i / 4;
    const unsigned x_at = bad == QUANT_X ? at : 1 - at;
    ufp4_descriptor_t quant[2], gemm = rig_job(&rig, GEMM);
    quant[at] = rig_job(&rig, bad);
    quant[1 - at] = rig_job(&rig, bad == QUANT_X ? QUANT_W : QUANT_X);
    if (refused) quant[at].quant.rows = 0;
    if (!refused) quant[at].quant.src_addr = 1ull << 38;
    quant[0].header.flags = quant[1].header.flags = gemm.header.flags = 3;
    gemm.header.panels = (uint8_t)((2 - x_at) | (1 + x_at) << 4);
    prepare(&rig, GEMM);
    const uint32_t first = rig.stand.tail;
    stand_put(&rig.stand, &quant[0]);
    stand_put(&rig.stand, &quant[1]);
    stand_submit(&rig.stand, &gemm);
    check_that(rig.runs, stand_drain(&rig.stand), "a GEMM waits for row groups that nobody writes");
    check_bits(rig.runs, stand_completion(&rig.stand, first + at).status,
               refused ? UFP4_CORE_STATUS_BAD_SIZE : UFP4_CORE_STATUS_READ_ERROR,
               "status of the QUANT that fails");
    check_bits(rig.runs, stand_completion(&rig.stand, first + 1 - at).status, UFP4_CORE_STATUS_OK,
               "of the other");
    check_bits(rig.runs, stand_completion(&rig.stand, first + 2).status, UFP4_CORE_STATUS_OK,
               "of the GEMM");
    check_outside(&rig, ALL, "a GEMM on row groups that nobody writes");
    rig_copy_to_model(&rig);
    rig_run_model(&rig, &gemm);
    rig_compare(&rig, "a GEMM on row groups that nobody writes");
  }
  rig_close(&rig);
}

SLOW_TEST(gemm_goes_on_without_panels_of_a_job_that_failed) {
  panels_that_never_come("default");
  panels_that_never_come("small");
}

// --- A few of each on small, for the coverage of the RTL (tests/rtl/coverage) ---

SLOW_TEST(few_on_small) {
  bus_errors("small", 0, 1);
  descriptor_errors("small", 16);
  ends_soon("small");
  ends_of_memory("small");
  errors_side_by_side("small", 7, (unsigned)check_draws(12, 24), 100);
}
