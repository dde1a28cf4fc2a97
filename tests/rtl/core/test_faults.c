// SPDX-License-Identifier: Apache-2.0
// Stops the core in the middle of a job: by a reset, a lost answer, an overflown ring. Whatever it
// was, nothing outside the job's output has changed, and the jobs that follow give the golden
// model's bits.
#include <string.h>

#include "rig.h"

// --- Reset --------------------------------------------------------------------------------------

// By the register, or by the pin.
typedef void reset_t(rig_t *rig);

static void reset_in(rig_t *rig, reset_t *reset, unsigned which, uint64_t cycle) {
  prepare(rig, which);
  const ufp4_descriptor_t descriptor = rig_job(rig, which);
  stand_submit(&rig->stand, &descriptor);
  check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, cycle), UFP4_SIM_OK, "run");
  reset(rig);
  check_outside(rig, which, "a reset");
  // A late answer must not reach anyone.
  check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, 500), UFP4_SIM_OK, "run: %s",
             ufp4_sim_message(rig->stand.sim));
  check_outside(rig, which, "a reset and a while");
  check_slots(rig, "a reset");
  rig_chain(rig, NULL, "a reset");
  // With nothing in flight and no state left, a soft reset has nothing to wait for.
  const uint64_t start = ufp4_sim_cycles(rig->stand.sim);
  soft_reset(rig);
  check_that(rig->runs, ufp4_sim_cycles(rig->stand.sim) - start < 200,
             "a soft reset waits for what is not there");
}

static void resets(reset_t *reset, const char *configuration, unsigned latency, uint64_t stall_seed,
                   unsigned each) {
  rig_t rig = rig_open(configuration, latency, stall_seed);
  uint64_t cycles[JOBS];
  rig_chain(&rig, cycles, "nothing");
  for (unsigned which = 0; which < JOBS; which++) {
    for (unsigned i = 0; i < each; i++) {
      reset_in(&rig, reset, which,
               check_below(&rig.random, (uint32_t)cycles[which] + 4 * latency + 100));
    }
  }
  rig_close(&rig);
}

SLOW_TEST(soft_reset_in_mid_job) {
  resets(soft_reset, "small", 20, 0, 6);
  resets(soft_reset, "default", 100, 0, 6);
  resets(soft_reset, "default", 30, 7, 4);
  resets(soft_reset, "small-fp32", 20, 0, 3);
  resets(soft_reset, "small-nv", 20, 5, 3);
}

SLOW_TEST(reset_in_mid_job) {
  resets(pin_reset, "small", 20, 0, 6);
  resets(pin_reset, "default", 100, 0, 6);
  resets(pin_reset, "default", 30, 7, 4);
  resets(pin_reset, "small-fp32", 20, 0, 3);
  resets(pin_reset, "small-nv", 20, 5, 3);
}

FULL_TEST(soft_reset_in_mid_job_many) {
  for (uint64_t seed = 0; seed < 3; seed++) {
    resets(soft_reset, "small", 10 + 50 * (unsigned)seed, seed, 40);
    resets(soft_reset, "default", 10 + 50 * (unsigned)seed, seed, 60);
  }
}

TEST(soft_reset_of_an_idle_core) {
  rig_t rig = rig_open("default", 10, 0);
  soft_reset(&rig);
  soft_reset(&rig);
  rig_chain(&rig, NULL, "two soft resets");
  rig_close(&rig);
}

static void fill_slots(rig_t *rig) {
  rig_fill(rig);
  for (uint16_t i = 0; i < UFP4_SLOTS / 2; i++) {
    ufp4_descriptor_t amax = job(AMAX_X);
    amax.quant.row_exponent = i;
    amax.quant.col_exponent = UFP4_SLOTS / 2 + i;
    rig_run_both(rig, &amax);
  }
  for (uint32_t slot = 0; slot < UFP4_SLOTS; slot++) {
    check_bits(slot, stand_read(&rig->stand, UFP4_REG_SLOT_BASE + 4 * slot) >> 16, 1,
               "slot %u was not written", slot);
  }
}

SLOW_TEST(resets_clear_every_slot) {
  rig_t rig = rig_open("small", 10, 0);
  fill_slots(&rig);
  soft_reset(&rig);
  check_slots(&rig, "a soft reset");
  fill_slots(&rig);
  pin_reset(&rig);
  check_slots(&rig, "a reset");
  rig_close(&rig);
}

// --- Both engines at work -----------------------------------------------------------------------

static void resets_side_by_side(reset_t *reset, const char *configuration, uint64_t stall_seed,
                                unsigned times) {
  rig_t rig = rig_open(configuration, 40, stall_seed);
  uint64_t cycles[JOBS], all = 200;
  rig_chain(&rig, cycles, "nothing");
  for (int i = 0; i < JOBS; i++) all += cycles[i];
  for (unsigned i = 0; i < times; i++) {
    rig_prepare(&rig);
    rig_submit_side_by_side(&rig);
    check_bits(rig.runs, ufp4_sim_run(rig.stand.sim, check_below(&rig.random, (uint32_t)all)),
               UFP4_SIM_OK, "run");
    reset(&rig);
    check_outside(&rig, ALL, "a reset");
    rig_chain(&rig, NULL, "a reset with both engines at work");
  }
  rig_close(&rig);
}

SLOW_TEST(soft_reset_with_both_engines_at_work) {
  resets_side_by_side(soft_reset, "default", 0, 12);
  resets_side_by_side(soft_reset, "default", 1, 12);
}

SLOW_TEST(reset_with_both_engines_at_work) {
  resets_side_by_side(pin_reset, "default", 0, 12);
  resets_side_by_side(pin_reset, "default", 1, 12);
}

// Whatever is lost, either the watchdog fires, or all jobs end (if the fault came after them).
static void losses_side_by_side(const char *configuration, unsigned times) {
  rig_t rig = rig_open(configuration, 40, 0);
  for (unsigned i = 0; i < times; i++) {
    const int read = i % 2;
    rig_prepare(&rig);
    stand_write(&rig.stand, UFP4_REG_IRQ_MASK, IRQ_FATAL);
    ufp4_sim_fault(rig.stand.sim, read ? UFP4_SIM_FAULT_READ_LOST : UFP4_SIM_FAULT_WRITE_LOST,
                   1 + check_below(&rig.random, read ? 1000 : 200));
    rig_submit_side_by_side(&rig);
    const ufp4_sim_status_t status = ufp4_sim_wait_interrupt(rig.stand.sim, JOB_CYCLES);
    if (status == UFP4_SIM_LIMIT) {
      check_bits(rig.runs, stand_read(&rig.stand, UFP4_REG_RING_HEAD), rig.stand.tail,
                 "head without a fatal fault");
    } else {
      check_bits(rig.runs, stand_read(&rig.stand, UFP4_REG_FATAL) & (read ? 3u : 5u), read ? 3 : 5,
                 "fatal");
    }
    ufp4_sim_fault(rig.stand.sim, UFP4_SIM_FAULT_NONE, 0);
    soft_reset(&rig);
    check_outside(&rig, ALL, "a lost answer");
    stand_write(&rig.stand, UFP4_REG_IRQ_MASK, 7);
    rig_chain(&rig, NULL, "a lost answer with both engines at work");
  }
  rig_close(&rig);
}

SLOW_TEST(lost_answer_with_both_engines_at_work) {
  losses_side_by_side("default", 16);
}

// --- Lost answers -------------------------------------------------------------------------------

static void lose(rig_t *rig, reset_t *reset, unsigned which, ufp4_sim_fault_t fault, uint32_t nth) {
  prepare(rig, which);
  const ufp4_descriptor_t descriptor = rig_job(rig, which);
  stand_write(&rig->stand, UFP4_REG_IRQ_STATUS, 7);
  ufp4_sim_fault(rig->stand.sim, fault, nth);
  stand_submit(&rig->stand, &descriptor);
  check_bits(rig->runs, ufp4_sim_wait_interrupt(rig->stand.sim, JOB_CYCLES), UFP4_SIM_OK,
             "wait: %s", ufp4_sim_message(rig->stand.sim));
  const int read = fault == UFP4_SIM_FAULT_READ_LOST;
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_IRQ_STATUS), IRQ_FATAL,
             "irq_status, job %u without %s %u", which, read ? "read beat" : "answer", nth);
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_FATAL) & (read ? 2u : 4u), read ? 2 : 4,
             "fatal");
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_STATUS) & STATUS_FATAL, STATUS_FATAL,
             "status");
  check_outside(rig, which, "a lost answer");
  reset(rig);
  check_outside(rig, which, "a lost answer and a reset");
  check_slots(rig, "a lost answer and a reset");
  rig_chain(rig, NULL, "a lost answer");
}

static void losses(reset_t *reset, const char *configuration, uint64_t stall_seed, unsigned each) {
  rig_t rig = rig_open(configuration, 50, stall_seed);
  rig_chain(&rig, NULL, "nothing");
  for (unsigned which = 0; which < JOBS; which++) {
    const uint64_t before = rig_count(&rig, UFP4_COUNTER_READ_BEATS);
    run_good(&rig, which);
    const uint32_t beats = (uint32_t)(rig_count(&rig, UFP4_COUNTER_READ_BEATS) - before);
    for (unsigned i = 0; i < each; i++) {
      lose(&rig, reset, which, UFP4_SIM_FAULT_READ_LOST, 1 + check_below(&rig.random, beats));
      // Every job has one answer, to its completion; QUANT and GEMM have more.
      lose(&rig, reset, which, UFP4_SIM_FAULT_WRITE_LOST,
           which == AMAX_X || which == AMAX_W ? 1 : 1 + check_below(&rig.random, 40));
    }
  }
  rig_close(&rig);
}

SLOW_TEST(lost_answer_is_fatal_and_soft_reset_recovers) {
  losses(soft_reset, "small", 0, 2);
  losses(soft_reset, "default", 0, 2);
  losses(soft_reset, "default", 5, 1);
}

SLOW_TEST(lost_answer_is_fatal_and_reset_recovers) {
  losses(pin_reset, "small", 0, 1);
  losses(pin_reset, "default", 3, 1);
}

// With the watchdog off nothing is fatal, and a soft reset waits for the lost answer.
static rig_t soft_reset_that_waits(void) {
  rig_t rig = rig_open("small", 10, 0);
  stand_write(&rig.stand, UFP4_REG_WATCHDOG, 0);
  rig_fill(&rig);
  memcpy(rig.before, image(&rig), IMAGE_BYTES);
  ufp4_sim_fault(rig.stand.sim, UFP4_SIM_FAULT_READ_LOST, 50);
  const ufp4_descriptor_t descriptor = job(AMAX_X);
  stand_submit(&rig.stand, &descriptor);
  check_bits(0, ufp4_sim_wait_interrupt(rig.stand.sim, 100000), UFP4_SIM_LIMIT, "wait");
  check_bits(1, stand_read(&rig.stand, UFP4_REG_FATAL), 0, "fatal");
  stand_write(&rig.stand, UFP4_REG_CONTROL, CONTROL_SOFT_RESET);
  check_bits(2, ufp4_sim_run(rig.stand.sim, 60000), UFP4_SIM_OK, "run");
  check_bits(3, stand_read(&rig.stand, UFP4_REG_STATUS), 2 | STATUS_RESETTING,
             "status before it gives up");
  return rig;
}

SLOW_TEST(soft_reset_without_watchdog) {
  rig_t rig = soft_reset_that_waits();
  check_bits(4, ufp4_sim_run(rig.stand.sim, 6000), UFP4_SIM_OK, "run");
  check_bits(5, stand_read(&rig.stand, UFP4_REG_STATUS), 2, "status after it has given up");
  check_slots(&rig, "a soft reset without watchdog");
  check_outside(&rig, AMAX_X, "a soft reset without watchdog");
  rig.stand.tail = 0;
  rig_chain(&rig, NULL, "a lost answer");
  rig_close(&rig);
}

SLOW_TEST(reset_in_soft_reset) {
  rig_t rig = soft_reset_that_waits();
  pin_reset(&rig);
  check_slots(&rig, "a reset in a soft reset");
  check_outside(&rig, AMAX_X, "a reset in a soft reset");
  rig_chain(&rig, NULL, "a reset in a soft reset");
  rig_close(&rig);
}

// --- Late answers -------------------------------------------------------------------------------

// A soft reset gives up answers that are only late: the job of the descriptor has run for @p
// cycles, and its answers take 400. Later answers belong to nobody, and block no other client.
static void late_answers(rig_t *rig, const ufp4_descriptor_t *descriptor, uint64_t cycles,
                         int next_at_once) {
  prepare(rig, GEMM);
  stand_submit(&rig->stand, descriptor);
  check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, cycles), UFP4_SIM_OK, "run");
  const uint64_t start = ufp4_sim_cycles(rig->stand.sim);
  stand_write(&rig->stand, UFP4_REG_WATCHDOG, 50);
  soft_reset(rig);
  stand_write(&rig->stand, UFP4_REG_WATCHDOG, WATCHDOG_CYCLES);
  check_that(rig->runs, ufp4_sim_cycles(rig->stand.sim) - start < 200,
             "the reset has waited for the answers");
  if (next_at_once) {
    const ufp4_descriptor_t fence = stand_fence(17);
    check_bits(rig->runs, stand_job(&rig->stand, &fence).job, 17, "a fence while answers are late");
  }
  check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, 1000), UFP4_SIM_OK, "run: %s",
             ufp4_sim_message(rig->stand.sim));
  check_outside(rig, GEMM, "late answers");
  rig_chain(rig, NULL, "late answers");
}

// Late answers to the reads of a GEMM, and to the completion of a fence.
static void answers_too_late(uint64_t first) {
  rig_t rig = rig_open("small", 400, 0);
  const ufp4_descriptor_t gemm = job(GEMM), fence = stand_fence(3);
  for (uint64_t cycles = first; cycles <= 640; cycles += 40) {
    late_answers(&rig, &gemm, cycles, 1);
    late_answers(&rig, &fence, cycles - 40, 0);
  }
  rig_close(&rig);
}

SLOW_TEST(late_answers_are_nobodys) {
  answers_too_late(520);
}

// A long job is not hung, and neither is an idle core.
TEST(watchdog_spares_the_living) {
  rig_t rig = rig_open("small", 200, 0);
  stand_write(&rig.stand, UFP4_REG_WATCHDOG, 500);
  rig_chain(&rig, NULL, "nothing");
  check_bits(0, ufp4_sim_run(rig.stand.sim, 5000), UFP4_SIM_OK, "run");
  check_bits(1, stand_read(&rig.stand, UFP4_REG_FATAL), 0, "fatal");
  rig_close(&rig);
}

// --- Ring overflow ------------------------------------------------------------------------------

static void overflow(rig_t *rig, uint32_t tail) {
  rig->runs++;
  memcpy(rig->before, image(rig), IMAGE_BYTES);
  stand_write(&rig->stand, UFP4_REG_IRQ_STATUS, 7);
  stand_write(&rig->stand, UFP4_REG_RING_TAIL, rig->stand.tail + tail);
  check_bits(rig->runs, ufp4_sim_wait_interrupt(rig->stand.sim, 100), UFP4_SIM_OK,
             "wait with a tail of %u more", tail);
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_IRQ_STATUS), IRQ_FATAL, "irq_status");
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_FATAL) & 9, 9, "fatal");
  check_outside(rig, NONE, "an overflown ring");
  soft_reset(rig);
  rig_chain(rig, NULL, "an overflown ring");
}

TEST(rejects_ring_overflow) {
  rig_t rig = rig_open("default", 20, 0);
  rig_chain(&rig, NULL, "nothing");
  overflow(&rig, (1u << STAND_RING_LOG2) + 1);
  overflow(&rig, 1u << 31);
  overflow(&rig, ~0u);  // a tail that goes back
  rig_close(&rig);
}

// The tail moves back to @p kept jobs of three, all of which are fetched while the first one runs.
// After them is a job that was never given.
static void takes_back(rig_t *rig, uint32_t kept) {
  ufp4_descriptor_t amax = job(AMAX_X), refused = stand_fence(1), unsubmitted = job(GEMM);
  refused.header.opcode = 99;
  refused.header.flags = unsubmitted.gemm.flags = 2;  // beside others
  unsubmitted.gemm.a_mode = unsubmitted.gemm.b_mode = 0;
  unsubmitted.gemm.a_exponent = unsubmitted.gemm.b_exponent = 0;
  prepare(rig, AMAX_X);
  const uint32_t first = rig->stand.tail;
  stand_put(&rig->stand, &amax);
  stand_put(&rig->stand, &refused);
  stand_put(&rig->stand, &refused);
  stand_start(&rig->stand);
  stand_put(&rig->stand, &unsubmitted);
  check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, 1500), UFP4_SIM_OK, "run");
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_RING_HEAD), first, "AMAX is at work");
  stand_write(&rig->stand, UFP4_REG_RING_TAIL, first + kept);
  check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, 20000), UFP4_SIM_OK, "run");
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_FATAL) & 9, 9,
             "fatal with %u of three jobs kept", kept);
  check_outside(rig, AMAX_X, "jobs taken back");
  soft_reset(rig);
  rig_chain(rig, NULL, "jobs taken back");
}

static void takes_back_of_three(uint32_t least) {
  rig_t rig = rig_open("small", 200, 0);
  for (uint32_t kept = least; kept < 3; kept++) takes_back(&rig, kept);
  rig_close(&rig);
}

SLOW_TEST(rejects_jobs_taken_back) {
  takes_back_of_three(0);
}

// --- A few of each on small, for the coverage of the RTL (tests/rtl/coverage) ---

SLOW_TEST(few_on_small) {
  resets_side_by_side(soft_reset, "small", 1, 3);
  resets_side_by_side(pin_reset, "small", 1, 3);
  losses(soft_reset, "small", 3, 1);
  losses_side_by_side("small", 4);
  rig_t rig = rig_open("small", 20, 3);
  overflow(&rig, (1u << STAND_RING_LOG2) + 1);
  overflow(&rig, ~0u);
  rig_close(&rig);
  takes_back_of_three(2);
  answers_too_late(560);
}
