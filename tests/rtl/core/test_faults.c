// SPDX-License-Identifier: Apache-2.0
// What ends a job before its time: bus errors, lost answers, a soft reset, an overflown ring. Whatever it was, nothing
// outside the job's output has changed, and the jobs that follow give the golden model's bits.
#include <string.h>

#include "rig.h"

// --- Reset -------------------------------------------------------------------------------------------------------

// By the register, or by the pin.
typedef void reset_t(rig_t *rig);

static void reset_in(rig_t *rig, reset_t *reset, unsigned which, uint64_t cycle) {
  prepare(rig, which);
  const ufp4_descriptor_t descriptor = job(which);
  bench_submit(&rig->bench, &descriptor);
  check_bits(rig->runs, ufp4_sim_run(rig->bench.sim, cycle), UFP4_SIM_OK, "run");
  reset(rig);
  check_outside(rig, which, "a reset");
  // What comes back late must find nobody.
  check_bits(rig->runs, ufp4_sim_run(rig->bench.sim, 500), UFP4_SIM_OK, "run: %s", ufp4_sim_message(rig->bench.sim));
  check_outside(rig, which, "a reset and a while");
  check_slots(rig, "a reset");
  rig_chain(rig, NULL, "a reset");
  // With nothing in flight, and nothing left of what was, a soft reset has nothing to wait for.
  const uint64_t start = ufp4_sim_cycles(rig->bench.sim);
  soft_reset(rig);
  check_that(rig->runs, ufp4_sim_cycles(rig->bench.sim) - start < 200, "a soft reset waits for what is not there");
}

static void resets(reset_t *reset, const char *configuration, unsigned latency, uint64_t stall_seed, unsigned each) {
  rig_t rig = rig_open(configuration, latency, stall_seed);
  uint64_t cycles[JOBS];
  rig_chain(&rig, cycles, "nothing");
  for (unsigned which = 0; which < JOBS; which++) {
    for (unsigned i = 0; i < each; i++) {
      reset_in(&rig, reset, which, check_below(&rig.random, (uint32_t)cycles[which] + 4 * latency + 100));
    }
  }
  rig_close(&rig);
}

TEST(soft_reset_in_mid_job) {
  resets(soft_reset, "small", 20, 0, 6);
  resets(soft_reset, "default", 100, 0, 6);
  resets(soft_reset, "default", 30, 7, 4);
}

TEST(reset_in_mid_job) {
  resets(pin_reset, "small", 20, 0, 6);
  resets(pin_reset, "default", 100, 0, 6);
  resets(pin_reset, "default", 30, 7, 4);
}

SLOW_TEST(soft_reset_in_mid_job_many) {
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
    check_bits(slot, bench_read(&rig->bench, UFP4_REG_SLOT_BASE + 4 * slot) >> 16, 1, "slot %u was not written", slot);
  }
}

TEST(resets_clear_every_slot) {
  rig_t rig = rig_open("small", 10, 0);
  fill_slots(&rig);
  soft_reset(&rig);
  check_slots(&rig, "a soft reset");
  fill_slots(&rig);
  pin_reset(&rig);
  check_slots(&rig, "a reset");
  rig_close(&rig);
}

// --- Both engines at work ------------------------------------------------------------------------------------------

// The chain with QUANT beside GEMM, all of it in the ring: AMAX X and W, QUANT W and X, GEMM on their row groups, and
// AMAX X again beside it.
static void submit_side_by_side(rig_t *rig) {
  static const unsigned order[] = {AMAX_X, AMAX_W, QUANT_W, QUANT_X, GEMM, AMAX_X};
  for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
    ufp4_descriptor_t descriptor = job(order[i]);
    descriptor.header.flags = 3;
    if (order[i] == GEMM) descriptor.header.panels = 1 | 2 << 4;
    bench_submit(&rig->bench, &descriptor);
  }
}

// Of all that may be written, the sources are no part.
static void check_sources(rig_t *rig, const char *after) {
  for (uint64_t i = 0; i < 2 * PLACE_BYTES; i++) {
    if (image(rig)[i] == rig->before[i]) continue;
    check_bits(rig->runs, image(rig)[i], rig->before[i], "byte 0x%llx of the sources after %s", (unsigned long long)i,
               after);
  }
}

static void prepare_side_by_side(rig_t *rig) {
  rig->runs++;
  rig_fill(rig);
  memcpy(rig->before, image(rig), IMAGE_BYTES);
  bench_write(&rig->bench, UFP4_REG_IRQ_STATUS, 7);
}

static void resets_side_by_side(reset_t *reset, const char *configuration, uint64_t stall_seed, unsigned times) {
  rig_t rig = rig_open(configuration, 40, stall_seed);
  uint64_t cycles[JOBS], all = 200;
  rig_chain(&rig, cycles, "nothing");
  for (int i = 0; i < JOBS; i++) all += cycles[i];
  for (unsigned i = 0; i < times; i++) {
    prepare_side_by_side(&rig);
    submit_side_by_side(&rig);
    check_bits(rig.runs, ufp4_sim_run(rig.bench.sim, check_below(&rig.random, (uint32_t)all)), UFP4_SIM_OK, "run");
    reset(&rig);
    check_sources(&rig, "a reset");
    rig_chain(&rig, NULL, "a reset with both engines at work");
  }
  rig_close(&rig);
}

TEST(soft_reset_with_both_engines_at_work) {
  resets_side_by_side(soft_reset, "default", 0, 12);
  resets_side_by_side(soft_reset, "default", 1, 12);
}

TEST(reset_with_both_engines_at_work) {
  resets_side_by_side(pin_reset, "default", 0, 12);
  resets_side_by_side(pin_reset, "default", 1, 12);
}

// Whatever is lost, the watchdog speaks, or the jobs all end (where the fault came after them).
static void losses_side_by_side(const char *configuration, unsigned times) {
  rig_t rig = rig_open(configuration, 40, 0);
  for (unsigned i = 0; i < times; i++) {
    const int read = i % 2;
    prepare_side_by_side(&rig);
    bench_write(&rig.bench, UFP4_REG_IRQ_MASK, IRQ_FATAL);
    ufp4_sim_fault(rig.bench.sim, read ? UFP4_SIM_FAULT_READ_LOST : UFP4_SIM_FAULT_WRITE_LOST,
                   1 + check_below(&rig.random, read ? 1000 : 200));
    submit_side_by_side(&rig);
    const ufp4_sim_status_t status = ufp4_sim_wait_interrupt(rig.bench.sim, JOB_CYCLES);
    if (status == UFP4_SIM_LIMIT) {
      check_bits(rig.runs, bench_read(&rig.bench, UFP4_REG_RING_HEAD), rig.bench.tail, "head without a fatal fault");
    } else {
      check_bits(rig.runs, bench_read(&rig.bench, UFP4_REG_FATAL) & (read ? 3u : 5u), read ? 3 : 5, "fatal");
    }
    ufp4_sim_fault(rig.bench.sim, UFP4_SIM_FAULT_NONE, 0);
    soft_reset(&rig);
    check_sources(&rig, "a lost answer");
    bench_write(&rig.bench, UFP4_REG_IRQ_MASK, 7);
    rig_chain(&rig, NULL, "a lost answer with both engines at work");
  }
  rig_close(&rig);
}

TEST(lost_answer_with_both_engines_at_work) {
  losses_side_by_side("default", 16);
}

// --- Lost answers ------------------------------------------------------------------------------------------------

static uint64_t count_of(rig_t *rig, ufp4_counter_t counter) {
  uint64_t counters[UFP4_COUNTER_COUNT];
  bench_counters(&rig->bench, counters);
  return counters[counter];
}

static void lose(rig_t *rig, reset_t *reset, unsigned which, ufp4_sim_fault_t fault, uint32_t nth) {
  prepare(rig, which);
  const ufp4_descriptor_t descriptor = job(which);
  bench_write(&rig->bench, UFP4_REG_IRQ_STATUS, 7);
  ufp4_sim_fault(rig->bench.sim, fault, nth);
  bench_submit(&rig->bench, &descriptor);
  check_bits(rig->runs, ufp4_sim_wait_interrupt(rig->bench.sim, JOB_CYCLES), UFP4_SIM_OK, "wait: %s",
             ufp4_sim_message(rig->bench.sim));
  const int read = fault == UFP4_SIM_FAULT_READ_LOST;
  check_bits(rig->runs, bench_read(&rig->bench, UFP4_REG_IRQ_STATUS), IRQ_FATAL, "irq_status, job %u without %s %u",
             which, read ? "read beat" : "answer", nth);
  check_bits(rig->runs, bench_read(&rig->bench, UFP4_REG_FATAL) & (read ? 2u : 4u), read ? 2 : 4, "fatal");
  check_bits(rig->runs, bench_read(&rig->bench, UFP4_REG_STATUS) & STATUS_FATAL, STATUS_FATAL, "status");
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
    const uint64_t before = count_of(&rig, UFP4_COUNTER_READ_BEATS);
    run_good(&rig, which);
    const uint32_t beats = (uint32_t)(count_of(&rig, UFP4_COUNTER_READ_BEATS) - before);
    for (unsigned i = 0; i < each; i++) {
      lose(&rig, reset, which, UFP4_SIM_FAULT_READ_LOST, 1 + check_below(&rig.random, beats));
      // Every job has the answer to its completion, QUANT and GEMM more.
      lose(&rig, reset, which, UFP4_SIM_FAULT_WRITE_LOST,
           which == AMAX_X || which == AMAX_W ? 1 : 1 + check_below(&rig.random, 40));
    }
  }
  rig_close(&rig);
}

TEST(lost_answer_is_fatal_and_soft_reset_recovers) {
  losses(soft_reset, "small", 0, 2);
  losses(soft_reset, "default", 0, 2);
  losses(soft_reset, "default", 5, 1);
}

TEST(lost_answer_is_fatal_and_reset_recovers) {
  losses(pin_reset, "small", 0, 1);
  losses(pin_reset, "default", 3, 1);
}

// With the watchdog off nothing is fatal, and a soft reset waits for what is lost.
static rig_t soft_reset_that_waits(void) {
  rig_t rig = rig_open("small", 10, 0);
  bench_write(&rig.bench, UFP4_REG_WATCHDOG, 0);
  rig_fill(&rig);
  memcpy(rig.before, image(&rig), IMAGE_BYTES);
  ufp4_sim_fault(rig.bench.sim, UFP4_SIM_FAULT_READ_LOST, 50);
  const ufp4_descriptor_t descriptor = job(AMAX_X);
  bench_submit(&rig.bench, &descriptor);
  check_bits(0, ufp4_sim_wait_interrupt(rig.bench.sim, 100000), UFP4_SIM_LIMIT, "wait");
  check_bits(1, bench_read(&rig.bench, UFP4_REG_FATAL), 0, "fatal");
  bench_write(&rig.bench, UFP4_REG_CONTROL, CONTROL_SOFT_RESET);
  check_bits(2, ufp4_sim_run(rig.bench.sim, 60000), UFP4_SIM_OK, "run");
  check_bits(3, bench_read(&rig.bench, UFP4_REG_STATUS), 2 | STATUS_RESETTING, "status before it gives up");
  return rig;
}

TEST(soft_reset_without_watchdog) {
  rig_t rig = soft_reset_that_waits();
  check_bits(4, ufp4_sim_run(rig.bench.sim, 6000), UFP4_SIM_OK, "run");
  check_bits(5, bench_read(&rig.bench, UFP4_REG_STATUS), 2, "status after it has given up");
  check_slots(&rig, "a soft reset without watchdog");
  check_outside(&rig, AMAX_X, "a soft reset without watchdog");
  rig.bench.tail = 0;
  rig_chain(&rig, NULL, "a lost answer");
  rig_close(&rig);
}

TEST(reset_in_soft_reset) {
  rig_t rig = soft_reset_that_waits();
  pin_reset(&rig);
  check_slots(&rig, "a reset in a soft reset");
  check_outside(&rig, AMAX_X, "a reset in a soft reset");
  rig_chain(&rig, NULL, "a reset in a soft reset");
  rig_close(&rig);
}

// --- Late answers --------------------------------------------------------------------------------------------------

// A soft reset that gives up what is only late: the descriptor's job has been at work for @p cycles, its answers take
// 400. What comes afterwards is nobody's, and holds up no other client.
static void late_answers(rig_t *rig, const ufp4_descriptor_t *descriptor, uint64_t cycles, int next_at_once) {
  prepare(rig, GEMM);
  bench_submit(&rig->bench, descriptor);
  check_bits(rig->runs, ufp4_sim_run(rig->bench.sim, cycles), UFP4_SIM_OK, "run");
  const uint64_t start = ufp4_sim_cycles(rig->bench.sim);
  bench_write(&rig->bench, UFP4_REG_WATCHDOG, 50);
  soft_reset(rig);
  bench_write(&rig->bench, UFP4_REG_WATCHDOG, WATCHDOG_CYCLES);
  check_that(rig->runs, ufp4_sim_cycles(rig->bench.sim) - start < 200, "the reset has waited for the answers");
  if (next_at_once) {
    const ufp4_descriptor_t fence = bench_fence(17);
    check_bits(rig->runs, bench_job(&rig->bench, &fence).job, 17, "a fence while answers are late");
  }
  check_bits(rig->runs, ufp4_sim_run(rig->bench.sim, 1000), UFP4_SIM_OK, "run: %s", ufp4_sim_message(rig->bench.sim));
  check_outside(rig, GEMM, "late answers");
  rig_chain(rig, NULL, "late answers");
}

// Of a GEMM's reads, and of the completion of a fence.
static void answers_too_late(uint64_t first) {
  rig_t rig = rig_open("small", 400, 0);
  const ufp4_descriptor_t gemm = job(GEMM), fence = bench_fence(3);
  for (uint64_t cycles = first; cycles <= 640; cycles += 40) {
    late_answers(&rig, &gemm, cycles, 1);
    late_answers(&rig, &fence, cycles - 40, 0);
  }
  rig_close(&rig);
}

TEST(late_answers_are_nobodys) {
  answers_too_late(520);
}

// A long job is no standstill, and an idle core is none.
TEST(watchdog_spares_the_living) {
  rig_t rig = rig_open("small", 200, 0);
  bench_write(&rig.bench, UFP4_REG_WATCHDOG, 500);
  rig_chain(&rig, NULL, "nothing");
  check_bits(0, ufp4_sim_run(rig.bench.sim, 5000), UFP4_SIM_OK, "run");
  check_bits(1, bench_read(&rig.bench, UFP4_REG_FATAL), 0, "fatal");
  rig_close(&rig);
}

// --- Bus errors --------------------------------------------------------------------------------------------------

static void fail_bus(rig_t *rig, unsigned which, ufp4_sim_fault_t fault, uint32_t nth) {
  prepare(rig, which);
  const int read = fault <= UFP4_SIM_FAULT_READ_DECERR;
  const ufp4_descriptor_t descriptor = job(which);
  bench_write(&rig->bench, UFP4_REG_IRQ_STATUS, 7);
  ufp4_sim_fault(rig->bench.sim, fault, nth);
  const ufp4_completion_t done = bench_job(&rig->bench, &descriptor);
  const uint32_t irq = bench_read(&rig->bench, UFP4_REG_IRQ_STATUS);
  check_bits(rig->runs, irq & 2, 2, "irq_status, job %u with fault %d at %u", which, (int)fault, nth);
  // The error of the completion's own write has no other place.
  if (read) check_bits(rig->runs, done.status, UFP4_CORE_STATUS_READ_ERROR, "status of job %u, beat %u", which, nth);
  if (!read && done.status != UFP4_CORE_STATUS_OK) {
    check_bits(rig->runs, done.status, UFP4_CORE_STATUS_WRITE_ERROR, "status of job %u, answer %u", which, nth);
  }
  check_outside(rig, which, "a bus error");
  rig_chain(rig, NULL, "a bus error");
}

static void bus_errors(const char *configuration, uint64_t stall_seed, unsigned each) {
  rig_t rig = rig_open(configuration, 20, stall_seed);
  rig_chain(&rig, NULL, "nothing");
  for (unsigned which = 0; which < JOBS; which++) {
    const uint64_t before = count_of(&rig, UFP4_COUNTER_READ_BEATS);
    run_good(&rig, which);
    const uint32_t beats = (uint32_t)(count_of(&rig, UFP4_COUNTER_READ_BEATS) - before);
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

TEST(bus_error_ends_the_job_with_its_code) {
  bus_errors("small", 0, 2);
  bus_errors("default", 0, 3);
  bus_errors("default", 3, 2);
}

// A job where no memory is ends after the macro-tile or the strip at hand, not after all it asked for.
static void ends_soon(const char *configuration) {
  rig_t rig = rig_open(configuration, 20, 0);
  ufp4_descriptor_t gemm = job(GEMM), quant = job(QUANT_X);
  gemm.gemm.m = gemm.gemm.n = 1u << 20;
  gemm.gemm.a_mode = gemm.gemm.b_mode = 0;
  gemm.gemm.d_stride_bytes = 4u << 20;
  gemm.gemm.d_addr = 0;
  // D of 4 TiB does not fit the address space; 2^16 rows do.
  gemm.gemm.m = 1u << 16;
  gemm.gemm.a_codes_addr = gemm.gemm.a_scales_addr = 1ull << 38;
  ufp4_completion_t done = bench_job(&rig.bench, &gemm);
  check_bits(0, done.status, UFP4_CORE_STATUS_READ_ERROR, "status of the GEMM");
  check_that(0, done.cycles < 20000, "the GEMM took %llu cycles", (unsigned long long)done.cycles);
  gemm.gemm.a_codes_addr = place(X_CODES);
  gemm.gemm.a_scales_addr = place(X_SCALES);
  gemm.gemm.m = 1024;
  gemm.gemm.n = 128;
  done = bench_job(&rig.bench, &gemm);
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
    done = bench_job(&rig.bench, &quant);
    check_bits(2, done.status, UFP4_CORE_STATUS_READ_ERROR, "status of opcode %u", opcode);
    check_that(2, done.cycles < 3000, "opcode %u took %llu cycles", opcode, (unsigned long long)done.cycles);
  }
  rig_chain(&rig, NULL, "jobs where no memory is");
  rig_close(&rig);
}

TEST(bus_error_ends_the_job_soon) {
  ends_soon("default");
}

// --- Ring overflow -----------------------------------------------------------------------------------------------

static void overflow(rig_t *rig, uint32_t tail) {
  rig->runs++;
  memcpy(rig->before, image(rig), IMAGE_BYTES);
  bench_write(&rig->bench, UFP4_REG_IRQ_STATUS, 7);
  bench_write(&rig->bench, UFP4_REG_RING_TAIL, rig->bench.tail + tail);
  check_bits(rig->runs, ufp4_sim_wait_interrupt(rig->bench.sim, 100), UFP4_SIM_OK, "wait with a tail of %u more", tail);
  check_bits(rig->runs, bench_read(&rig->bench, UFP4_REG_IRQ_STATUS), IRQ_FATAL, "irq_status");
  check_bits(rig->runs, bench_read(&rig->bench, UFP4_REG_FATAL) & 9, 9, "fatal");
  check_outside(rig, JOBS, "an overflown ring");
  soft_reset(rig);
  rig_chain(rig, NULL, "an overflown ring");
}

TEST(rejects_ring_overflow) {
  rig_t rig = rig_open("default", 20, 0);
  rig_chain(&rig, NULL, "nothing");
  overflow(&rig, (1u << BENCH_RING_LOG2) + 1);
  overflow(&rig, 1u << 31);
  overflow(&rig, ~0u);  // a tail that goes back
  rig_close(&rig);
}

// A tail that goes back to @p kept jobs of three, all of which have been fetched, while the first is at work. Behind
// them lies a job that was never given.
static void takes_back(rig_t *rig, uint32_t kept) {
  ufp4_descriptor_t amax = job(AMAX_X), refused = bench_fence(1), unsubmitted = job(GEMM);
  refused.header.opcode = 99;
  refused.header.flags = unsubmitted.gemm.flags = 2;  // beside others
  unsubmitted.gemm.a_mode = unsubmitted.gemm.b_mode = 0;
  unsubmitted.gemm.a_exponent = unsubmitted.gemm.b_exponent = 0;
  prepare(rig, AMAX_X);
  const uint32_t first = rig->bench.tail;
  bench_put(&rig->bench, &amax);
  bench_put(&rig->bench, &refused);
  bench_put(&rig->bench, &refused);
  bench_start(&rig->bench);
  bench_put(&rig->bench, &unsubmitted);
  check_bits(rig->runs, ufp4_sim_run(rig->bench.sim, 1500), UFP4_SIM_OK, "run");
  check_bits(rig->runs, bench_read(&rig->bench, UFP4_REG_RING_HEAD), first, "AMAX is at work");
  bench_write(&rig->bench, UFP4_REG_RING_TAIL, first + kept);
  check_bits(rig->runs, ufp4_sim_run(rig->bench.sim, 20000), UFP4_SIM_OK, "run");
  check_bits(rig->runs, bench_read(&rig->bench, UFP4_REG_FATAL) & 9, 9, "fatal with %u of three jobs kept", kept);
  check_outside(rig, AMAX_X, "jobs taken back");
  soft_reset(rig);
  rig_chain(rig, NULL, "jobs taken back");
}

static void takes_back_of_three(uint32_t least) {
  rig_t rig = rig_open("small", 200, 0);
  for (uint32_t kept = least; kept < 3; kept++) takes_back(&rig, kept);
  rig_close(&rig);
}

TEST(rejects_jobs_taken_back) {
  takes_back_of_three(0);
}

// --- The end of memory ---------------------------------------------------------------------------------------------

// Whatever was read before, the first read where no memory is ends the job.
static void ends_of_memory(const char *configuration) {
  enum { COLS = 16, SOURCE_BYTES = 128, PANEL_BYTES = 8 * UFP4_PANEL_CODE_BYTES };
  const uint64_t end = BENCH_MEMORY + BENCH_MEMORY_BYTES;
  rig_t rig = rig_open(configuration, 20, 0);
  ufp4_descriptor_t gemm = job(GEMM), quant = job(QUANT_X);
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
      check_bits(groups, bench_job(&rig.bench, &quant).status, UFP4_CORE_STATUS_READ_ERROR,
                 "status of opcode %u, %u rows, %u groups of which are there", opcode, rows, groups);
    }
    check_bits(groups, bench_job(&rig.bench, &gemm).status, UFP4_CORE_STATUS_READ_ERROR,
               "status of a GEMM, %u rows, %u groups of which are there", rows, groups);
  }
  rig_chain(&rig, NULL, "jobs over the end of memory");
  rig_close(&rig);
}

TEST(bus_error_at_the_end_of_memory) {
  ends_of_memory("default");
}

// --- For each bug that tests/rtl/mutation injects ------------------------------------------------------------------

TEST(few_on_small) {
  resets_side_by_side(soft_reset, "small", 1, 3);
  resets_side_by_side(pin_reset, "small", 1, 3);
  losses(soft_reset, "small", 3, 1);
  bus_errors("small", 0, 1);
  ends_soon("small");
  losses_side_by_side("small", 4);
  ends_of_memory("small");
  rig_t rig = rig_open("small", 20, 3);
  overflow(&rig, (1u << BENCH_RING_LOG2) + 1);
  overflow(&rig, ~0u);
  rig_close(&rig);
  takes_back_of_three(2);
  answers_too_late(560);
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(soft_reset_in_mid_job),
      CHECK_TEST(reset_in_mid_job),
      CHECK_TEST(soft_reset_in_mid_job_many),
      CHECK_TEST(soft_reset_of_an_idle_core),
      CHECK_TEST(resets_clear_every_slot),
      CHECK_TEST(soft_reset_with_both_engines_at_work),
      CHECK_TEST(reset_with_both_engines_at_work),
      CHECK_TEST(lost_answer_with_both_engines_at_work),
      CHECK_TEST(lost_answer_is_fatal_and_soft_reset_recovers),
      CHECK_TEST(lost_answer_is_fatal_and_reset_recovers),
      CHECK_TEST(soft_reset_without_watchdog),
      CHECK_TEST(reset_in_soft_reset),
      CHECK_TEST(late_answers_are_nobodys),
      CHECK_TEST(watchdog_spares_the_living),
      CHECK_TEST(bus_error_ends_the_job_with_its_code),
      CHECK_TEST(bus_error_ends_the_job_soon),
      CHECK_TEST(bus_error_at_the_end_of_memory),
      CHECK_TEST(rejects_ring_overflow),
      CHECK_TEST(rejects_jobs_taken_back),
      CHECK_TEST(few_on_small),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
