// SPDX-License-Identifier: Apache-2.0
// Tests one by one what random jobs seldom meet: the smallest tensor, both operands from one job, a
// full list of jobs, every order in which two engines can end, every epilogue, a reset between the
// beats of a burst.
#include <stddef.h>
#include <string.h>

#include "rig.h"

#define OVERLAPS 3u  // flags: an interrupt at the end, and no wait for the jobs before
#define GARBAGE 0x5A
#define ALL_JOBS 16u  // that the core holds

TEST(one_number) {
  rig_t rig = rig_open("small", 10, 0);
  rig_fill(&rig);
  static const unsigned opcodes[] = {UFP4_OPCODE_AMAX, UFP4_OPCODE_QUANT};
  for (unsigned i = 0; i < 2; i++) {
    ufp4_descriptor_t one = quant_job(opcodes[i], X, X_CODES, 1, 0);
    one.quant.cols = 1;
    rig_run_both(&rig, &one);
    rig_compare(&rig, "a tensor of one number");
  }
  rig_close(&rig);
}

// X is multiplied by its own transpose while it is quantized.
TEST(both_operands_from_the_job_before) {
  rig_t rig = rig_open("small", 10, 0);
  prepare(&rig, QUANT_X);
  ufp4_descriptor_t quant = job(QUANT_X), gemm = job(GEMM);
  gemm.gemm.n = M;
  gemm.gemm.b_exponent = gemm.gemm.a_exponent;
  gemm.gemm.b_codes_addr = gemm.gemm.a_codes_addr;
  gemm.gemm.b_scales_addr = gemm.gemm.a_scales_addr;
  rig_run_model(&rig, &quant);
  rig_run_model(&rig, &gemm);
  quant.header.flags = gemm.header.flags = OVERLAPS;
  gemm.header.panels = 1 | 1 << 4;
  stand_submit(&rig.stand, &quant);
  stand_submit(&rig.stand, &gemm);
  check_that(0, stand_drain(&rig.stand), "the jobs have not ended");
  rig_compare(&rig, "X times its transpose, beside its quantization");
  rig_close(&rig);
}

// C, alpha and earlier sums in each combination, with each type of D that takes them.
TEST(every_epilogue) {
  rig_t rig = rig_open("small", 10, 0);
  prepare(&rig, GEMM);
  ufp4_descriptor_t gemm = job(GEMM);
  gemm.gemm.m = 33;
  gemm.gemm.n = 18;
  gemm.gemm.d_dtype = UFP4_DTYPE_I64;
  gemm.gemm.d_addr = gemm.gemm.sums_addr = place(XT_CODES);
  gemm.gemm.c_addr = place(W);
  gemm.gemm.c_stride_bytes = gemm.gemm.sums_stride_bytes = STRIDE_BYTES;
  gemm.gemm.alpha = ufp4_f32_bits(-1.7f);
  rig_run_both(&rig, &gemm);
  gemm.gemm.d_mode = UFP4_D_MODE_SUMS;
  gemm.gemm.d_addr = place(D);
  rig_run_both(&rig, &gemm);
  rig_compare(&rig, "unrounded sums on sums");
  static const uint8_t dtypes[] = {UFP4_DTYPE_F32, UFP4_DTYPE_BF16};
  for (unsigned i = 0; i < 2; i++) {
    for (uint8_t mode = 0; mode <= (UFP4_D_MODE_SUMS | UFP4_D_MODE_ALPHA | UFP4_D_MODE_C); mode++) {
      gemm.gemm.d_dtype = dtypes[i];
      gemm.gemm.d_mode = mode;
      rig.runs++;
      rig_run_both(&rig, &gemm);
      rig_compare(&rig, "an epilogue");
    }
  }
  rig_close(&rig);
}

// NVFP4, which is rare among random jobs, in each contract.
static void tensor_scale_of(const char *configuration) {
  rig_t rig = rig_open(configuration, 10, 0);
  prepare(&rig, GEMM);
  ufp4_descriptor_t gemm = rig_job(&rig, GEMM);
  gemm.gemm.m = 33;
  gemm.gemm.n = 18;
  gemm.gemm.a_elem = gemm.gemm.b_elem = UFP4_ELEM_E2M1;
  gemm.gemm.scale = UFP4_SCALE_NVFP4;
  gemm.gemm.tensor_scale = ufp4_f32_bits(0.37f);
  rig_run_both(&rig, &gemm);
  rig_compare(&rig, "a product with a tensor scale");
  rig_close(&rig);
}

TEST(tensor_scale_in_each_contract) {
  tensor_scale_of("small");
  tensor_scale_of("small-fp32");
  tensor_scale_of("small-nv");
}

// Memory answers one read and one write late, which shows in the cycles of a job of either engine.
SLOW_TEST(cycles_of_slow_jobs) {
  enum { LATENCY = 100000, MOST = 300 };
  rig_t rig = rig_open("small", LATENCY, 0);
  stand_write(&rig.stand, UFP4_REG_WATCHDOG, 0);
  rig_fill(&rig);
  ufp4_descriptor_t quant = job(QUANT_X), gemm = job(GEMM);
  quant.quant.rows = 1;
  quant.quant.cols = 16;
  quant.quant.row_mode = UFP4_MODE_ENABLE;
  quant.quant.col_mode = 0;
  quant.quant.row_exponent = 0;
  gemm.gemm.m = gemm.gemm.n = 1;
  gemm.gemm.k = 16;
  gemm.gemm.a_mode = gemm.gemm.b_mode = 0;
  gemm.gemm.a_exponent = gemm.gemm.b_exponent = 0;
  const ufp4_descriptor_t *const jobs[] = {&quant, &gemm};
  for (int i = 0; i < 2; i++) {
    const ufp4_completion_t done = stand_job(&rig.stand, jobs[i]);
    check_bits(i, done.status, UFP4_CORE_STATUS_OK, "status");
    check_that(i, done.cycles >= 2 * LATENCY && done.cycles <= 2 * LATENCY + MOST, "%llu cycles",
               (unsigned long long)done.cycles);
  }
  rig_close(&rig);
}

// A long job and refused ones are as many as the core holds: the refused ones wait for the long
// one, and end in their order.
TEST(as_many_jobs_as_the_core_holds) {
  rig_t rig = rig_open("small", 10, 0);
  prepare(&rig, GEMM);
  const uint32_t first = rig.stand.tail;
  ufp4_descriptor_t descriptor = job(GEMM);
  rig_run_model(&rig, &descriptor);
  descriptor.header.flags = OVERLAPS;
  stand_submit(&rig.stand, &descriptor);
  for (uint32_t i = 1; i < ALL_JOBS; i++) {
    descriptor = quant_job(UFP4_OPCODE_AMAX, X, X_CODES, 0, 0);
    descriptor.header.job = 500 + i;
    descriptor.header.flags = OVERLAPS;
    stand_submit(&rig.stand, &descriptor);
  }
  check_that(0, stand_read(&rig.stand, UFP4_REG_RING_HEAD) == first,
             "a job has ended before the first one");
  check_that(0, stand_drain(&rig.stand), "the jobs have not ended");
  check_bits(0, stand_completion(&rig.stand, first).status, UFP4_CORE_STATUS_OK,
             "status of the long job");
  for (uint32_t i = 1; i < ALL_JOBS; i++) {
    const ufp4_completion_t done = stand_completion(&rig.stand, first + i);
    check_bits(i, done.job, 500 + i, "number");
    check_bits(i, done.status, UFP4_CORE_STATUS_BAD_SIZE, "status");
  }
  rig_compare(&rig, "a full list of jobs");
  rig_close(&rig);
}

// --- Dependences --------------------------------------------------------------------------------

enum { BY_AFTER, BY_PANELS_OF_A, BY_PANELS_OF_B, DEPENDENCES };

static void name_dependence(ufp4_descriptor_t *descriptor, unsigned by, uint32_t distance) {
  descriptor->header.flags = OVERLAPS;
  descriptor->header.after = (uint8_t)(by == BY_AFTER ? distance : 0);
  descriptor->header.panels = (uint8_t)(by == BY_PANELS_OF_A   ? distance
                                        : by == BY_PANELS_OF_B ? distance << 4
                                                               : 0);
}

// Refused jobs, which are done at once.
static void put_refused(rig_t *rig, uint32_t count) {
  ufp4_descriptor_t refused = quant_job(UFP4_OPCODE_AMAX, X, X_CODES, 0, 0);
  refused.header.flags = OVERLAPS;
  for (uint32_t i = 0; i < count; i++) stand_put(&rig->stand, &refused);
}

// Two jobs this many places apart, of which the second must wait for the first.
static void compare_apart(rig_t *rig, const ufp4_descriptor_t *first,
                          const ufp4_descriptor_t *second, uint32_t distance, const char *what) {
  memset(image(rig) + D * PLACE_BYTES, GARBAGE, PLACE_BYTES);
  rig_copy_to_model(rig);
  rig_run_model(rig, first);
  rig_run_model(rig, second);
  stand_put(&rig->stand, first);
  put_refused(rig, distance - 1);
  stand_put(&rig->stand, second);
  stand_start(&rig->stand);
  check_that(rig->runs, stand_drain(&rig->stand), "the jobs have not ended");
  check_bits(rig->runs, stand_completion(&rig->stand, rig->stand.tail - 1).status,
             UFP4_CORE_STATUS_OK, "status");
  rig_compare(rig, what);
}

// A GEMM follows the QUANT that makes one of its operands, which is garbage until then. Without
// waiting it would take the last rows before the QUANT has written them.
static void depend(rig_t *rig, unsigned by, uint32_t distance) {
  ufp4_descriptor_t quant = job(by == BY_PANELS_OF_B ? QUANT_W : QUANT_X), gemm = job(GEMM);
  rig->runs++;
  quant.quant.rows = PLACE_BYTES / STRIDE_BYTES;
  gemm.gemm.m = by == BY_PANELS_OF_B ? 16 : quant.quant.rows;
  gemm.gemm.n = by == BY_PANELS_OF_B ? quant.quant.rows : 16;
  gemm.gemm.k = 16;
  quant.header.flags = OVERLAPS;
  name_dependence(&gemm, by, distance);
  memset(image(rig) + (by == BY_PANELS_OF_B ? W_CODES : X_CODES) * PLACE_BYTES, GARBAGE,
         2 * PLACE_BYTES);
  compare_apart(rig, &quant, &gemm, distance, "a dependence");
}

// A QUANT follows a GEMM that repeatedly reads the tensor that the QUANT overwrites.
static void overwrite(rig_t *rig, uint32_t distance) {
  ufp4_descriptor_t gemm = job(GEMM), quant = job(QUANT_W);
  rig->runs++;
  gemm.header.flags = OVERLAPS;
  quant.quant.seed = distance;
  name_dependence(&quant, BY_AFTER, distance);
  compare_apart(rig, &gemm, &quant, distance, "a dependence of QUANT");
}

SLOW_TEST(dependences_of_each_distance) {
  rig_t rig = rig_open("small", 10, 0);
  prepare(&rig, GEMM);
  for (unsigned by = 0; by < DEPENDENCES; by++) {
    for (uint32_t distance = 1; distance < ALL_JOBS; distance++) depend(&rig, by, distance);
  }
  prepare(&rig, GEMM);
  for (uint32_t distance = 1; distance < ALL_JOBS; distance++) overwrite(&rig, distance);
  rig_close(&rig);
}

// The named job has ended long ago, and unfinished jobs are in between: there is nothing to wait
// for.
SLOW_TEST(dependences_on_what_has_ended) {
  rig_t rig = rig_open("small", 10, 0);
  prepare(&rig, GEMM);
  ufp4_descriptor_t amax = quant_job(UFP4_OPCODE_AMAX, X, X_CODES, 16, 4), gemm = job(GEMM);
  amax.header.flags = OVERLAPS;
  gemm.gemm.m = gemm.gemm.n = gemm.gemm.k = 16;
  for (uint32_t under_way = 0; under_way < ALL_JOBS - 1; under_way++) {
    for (uint32_t distance = under_way + 1; distance < ALL_JOBS; distance++) {
      rig.runs++;
      name_dependence(&gemm, distance % DEPENDENCES, distance);
      if (under_way != 0) {
        stand_put(&rig.stand, &amax);
        put_refused(&rig, under_way - 1);
      }
      stand_put(&rig.stand, &gemm);
      stand_start(&rig.stand);
      check_that(rig.runs, stand_drain(&rig.stand), "a job %u places behind, %u of them under way",
                 distance, under_way);
      check_bits(rig.runs, stand_completion(&rig.stand, rig.stand.tail - 1).status,
                 UFP4_CORE_STATUS_OK, "status");
    }
  }
  rig_close(&rig);
}

// --- Two engines --------------------------------------------------------------------------------

// A job of each engine; the second one starts this many cycles after the first.
static void two_jobs(rig_t *rig, const ufp4_descriptor_t *first, const ufp4_descriptor_t *second,
                     uint64_t later) {
  const uint32_t at = rig->stand.tail;
  rig->runs++;
  memset(image(rig) + D * PLACE_BYTES, GARBAGE, PLACE_BYTES);
  stand_submit(&rig->stand, first);
  check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, later), UFP4_SIM_OK, "run");
  stand_submit(&rig->stand, second);
  check_that(rig->runs, stand_drain(&rig->stand),
             "the jobs have not ended, the second %llu cycles later", (unsigned long long)later);
  check_bits(rig->runs, stand_completion(&rig->stand, at).status, UFP4_CORE_STATUS_OK,
             "status of the first");
  check_bits(rig->runs, stand_completion(&rig->stand, at + 1).status, UFP4_CORE_STATUS_OK,
             "status of the second");
  rig_compare(rig, "two jobs side by side");
}

// Started one after the other at each distance about the difference of their times, they end in
// both orders, and in the same cycle. The fence makes a round three jobs, so that each place of the
// core's list serves both engines in turn, and an end that is not noted there leaves the other's.
SLOW_TEST(engines_end_in_any_order) {
  rig_t rig = rig_open("small", 5, 0);
  rig_chain(&rig, NULL, "nothing");
  ufp4_descriptor_t amax = quant_job(UFP4_OPCODE_AMAX, X, X_CODES, 16, 4), gemm = job(GEMM);
  gemm.gemm.m = gemm.gemm.n = gemm.gemm.k = 16;
  memset(image(&rig) + D * PLACE_BYTES, GARBAGE, PLACE_BYTES);
  rig_copy_to_model(&rig);
  const uint64_t amax_cycles = rig_run_both(&rig, &amax).cycles,
                 gemm_cycles = rig_run_both(&rig, &gemm).cycles;
  check_that(0, amax_cycles > gemm_cycles, "AMAX takes %llu cycles, the GEMM %llu",
             (unsigned long long)amax_cycles, (unsigned long long)gemm_cycles);
  const uint64_t difference = amax_cycles - gemm_cycles,
                 first = difference > 40 ? difference - 40 : 0;
  const ufp4_descriptor_t fence = stand_fence(0);
  amax.header.flags = gemm.header.flags = OVERLAPS;
  for (uint64_t later = first; later < difference + 40; later++) {
    const uint32_t at = rig.stand.tail;
    two_jobs(&rig, &amax, &gemm, later);
    const uint64_t of_amax = stand_completion(&rig.stand, at).cycles,
                   of_gemm = stand_completion(&rig.stand, at + 1).cycles;
    check_that(rig.runs, of_amax > of_gemm, "cycles of AMAX %llu, of the GEMM %llu",
               (unsigned long long)of_amax, (unsigned long long)of_gemm);
    stand_job(&rig.stand, &fence);
  }
  two_jobs(&rig, &gemm, &amax, 0);
  rig_close(&rig);
}

// Two refused jobs, the second this many cycles after the first: one enters while the other leaves.
TEST(jobs_enter_while_others_leave) {
  rig_t rig = rig_open("small", 5, 0);
  ufp4_descriptor_t refused = quant_job(UFP4_OPCODE_AMAX, X, X_CODES, 0, 0);
  for (uint32_t later = 0; later < 100; later++) {
    const uint32_t at = rig.stand.tail;
    for (uint32_t i = 0; i < 2; i++) {
      refused.header.job = 2 * later + i;
      stand_submit(&rig.stand, &refused);
      check_bits(later, ufp4_sim_run(rig.stand.sim, later), UFP4_SIM_OK, "run");
    }
    check_that(later, stand_drain(&rig.stand), "the jobs have not ended");
    for (uint32_t i = 0; i < 2; i++) {
      const ufp4_completion_t done = stand_completion(&rig.stand, at + i);
      check_bits(later, done.job, 2 * later + i, "number of job %u", i);
      check_bits(later, done.status, UFP4_CORE_STATUS_BAD_SIZE, "status of job %u", i);
    }
  }
  rig_close(&rig);
}

// Beats of started bursts are still sent, and no others, at whatever time a reset comes or an
// overflown ring halts the core.
static void stop_between_beats(int overflow) {
  rig_t rig = rig_open("small", 20, 3);
  uint64_t cycles[JOBS];
  rig_chain(&rig, cycles, "nothing");
  const ufp4_descriptor_t quant = job(QUANT_X);
  for (uint64_t eighth = 1; eighth < 8; eighth++) {
    prepare(&rig, QUANT_X);
    stand_submit(&rig.stand, &quant);
    check_bits(rig.runs, ufp4_sim_run(rig.stand.sim, cycles[QUANT_X] * eighth / 8), UFP4_SIM_OK,
               "run");
    if (overflow) {
      stand_write(&rig.stand, UFP4_REG_RING_TAIL, rig.stand.tail - 2);
      check_bits(rig.runs, stand_read(&rig.stand, UFP4_REG_STATUS) & STATUS_FATAL, STATUS_FATAL,
                 "status");
      check_bits(rig.runs, ufp4_sim_run(rig.stand.sim, 500), UFP4_SIM_OK, "run: %s",
                 ufp4_sim_message(rig.stand.sim));
    }
    soft_reset(&rig);
    check_outside(&rig, QUANT_X, overflow ? "an overflown ring" : "a soft reset");
  }
  rig_chain(&rig, NULL, "soft resets");
  rig_close(&rig);
}

SLOW_TEST(soft_reset_between_beats) {
  stop_between_beats(0);
}

SLOW_TEST(ring_overflow_between_beats) {
  stop_between_beats(1);
}

// A field of a descriptor that must be a multiple of a number.
typedef struct {
  size_t offset;
  uint64_t multiple;
} aligned_t;

#define GEMM_ALIGNED(field, multiple) {offsetof(ufp4_gemm_descriptor_t, field), multiple}
#define QUANT_ALIGNED(field, multiple) {offsetof(ufp4_quant_descriptor_t, field), multiple}

static void misaligned(rig_t *rig, const ufp4_descriptor_t *good, const aligned_t *fields,
                       size_t count) {
  check_bits(-1, stand_job(&rig->stand, good).status, UFP4_CORE_STATUS_OK,
             "status of the legal job");
  for (size_t i = 0; i < count; i++) {
    for (uint64_t bit = 1; bit < fields[i].multiple; bit *= 2) {
      ufp4_descriptor_t bad = *good;
      bad.bytes[fields[i].offset] ^= (uint8_t)bit;
      check_bits((int64_t)i, stand_job(&rig->stand, &bad).status, UFP4_CORE_STATUS_MISALIGNED,
                 "status, %llu beside", (unsigned long long)bit);
    }
  }
}

TEST(misaligned_by_each_bit) {
  static const aligned_t of_gemm[] = {GEMM_ALIGNED(a_codes_addr, 128),
                                      GEMM_ALIGNED(a_scales_addr, 128),
                                      GEMM_ALIGNED(b_codes_addr, 128),
                                      GEMM_ALIGNED(b_scales_addr, 128),
                                      GEMM_ALIGNED(d_addr, 128),
                                      GEMM_ALIGNED(sums_addr, 128),
                                      GEMM_ALIGNED(c_addr, 128),
                                      GEMM_ALIGNED(a_stride_blocks, 8),
                                      GEMM_ALIGNED(b_stride_blocks, 8),
                                      GEMM_ALIGNED(d_stride_bytes, 128),
                                      GEMM_ALIGNED(sums_stride_bytes, 128),
                                      GEMM_ALIGNED(c_stride_bytes, 128)};
  static const aligned_t of_quant[] = {
      QUANT_ALIGNED(src_addr, 128),        QUANT_ALIGNED(row_codes_addr, 128),
      QUANT_ALIGNED(row_scales_addr, 128), QUANT_ALIGNED(col_codes_addr, 128),
      QUANT_ALIGNED(col_scales_addr, 128), QUANT_ALIGNED(src_stride_bytes, 128),
      QUANT_ALIGNED(row_stride_blocks, 8), QUANT_ALIGNED(col_stride_blocks, 8)};
  rig_t rig = rig_open("small", 1, 0);
  ufp4_descriptor_t gemm = job(GEMM);
  prepare(&rig, GEMM);
  gemm.gemm.d_mode = UFP4_D_MODE_SUMS | UFP4_D_MODE_C;
  gemm.gemm.sums_addr = gemm.gemm.c_addr = place(X);
  gemm.gemm.sums_stride_bytes = gemm.gemm.c_stride_bytes = STRIDE_BYTES;
  const ufp4_descriptor_t quant = job(QUANT_X);
  misaligned(&rig, &gemm, of_gemm, sizeof of_gemm / sizeof of_gemm[0]);
  misaligned(&rig, &quant, of_quant, sizeof of_quant / sizeof of_quant[0]);
  rig_close(&rig);
}

// A GEMM on `small` with predictable beats and steps of the array; with the memory's bytes per
// cycle (0: the bus width) most of its lost cycles have one cause.
typedef struct {
  ufp4_counter_t name;
  unsigned bandwidth;
  uint32_t m, n, k;
  int behind_quant;  ///< that writes the operand A
} loss_t;

static void submit_loss(stand_t *stand, const loss_t *loss) {
  ufp4_descriptor_t gemm = job(GEMM), quant = job(QUANT_X);
  gemm.gemm.m = loss->m;
  gemm.gemm.n = loss->n;
  gemm.gemm.k = loss->k;
  gemm.gemm.a_mode = gemm.gemm.b_mode = 0;
  gemm.gemm.a_exponent = gemm.gemm.b_exponent = 0;
  gemm.gemm.a_stride_blocks = gemm.gemm.b_stride_blocks = 128;
  if (loss->behind_quant) {
    gemm.gemm.a_stride_blocks = quant.quant.row_stride_blocks;
    quant.quant.row_mode = quant.quant.col_mode = UFP4_MODE_ENABLE;
    quant.quant.row_exponent = quant.quant.col_exponent = 0;
    quant.header.flags = gemm.header.flags = OVERLAPS;
    gemm.header.panels = 1;
    stand_submit(stand, &quant);
  }
  stand_submit(stand, &gemm);
}

static void check_loss(int64_t index, const loss_t *loss,
                       const uint64_t spent[UFP4_COUNTER_COUNT]) {
  enum {
    PES = 4,
    TILE = 16,
    BUS_BYTES = 8,
    RING_READS = UFP4_DESCRIPTOR_BYTES / BUS_BYTES,
    RING_WRITES = 2
  };
  const uint64_t rows = (loss->m + 15) / 16, cols = (loss->n + 15) / 16,
                 blocks = (loss->k + 15) / 16;
  uint64_t lost = 0;
  for (int i = UFP4_COUNTER_STALL_OPERAND; i <= UFP4_COUNTER_STALL_DRAIN; i++) lost += spent[i];
  check_that(index, 2 * spent[loss->name] > lost, "counter %d has %llu of %llu lost cycles",
             (int)loss->name, (unsigned long long)spent[loss->name], (unsigned long long)lost);
  if (loss->behind_quant) return;
  const uint64_t operands =
      rows * cols * blocks * 2 * (UFP4_PANEL_CODE_BYTES + UFP4_PANEL_SCALE_BYTES);
  check_bits(index, spent[UFP4_COUNTER_ARRAY_BUSY], rows * cols * TILE * TILE * blocks / PES,
             "array_busy");
  check_bits(index, spent[UFP4_COUNTER_READ_BEATS], operands / BUS_BYTES + RING_READS,
             "read_beats");
  check_bits(index, spent[UFP4_COUNTER_WRITE_BEATS],
             4ull * loss->m * loss->n / BUS_BYTES + RING_WRITES, "write_beats");
}

TEST(lost_cycles_have_their_names) {
  static const loss_t losses[] = {{UFP4_COUNTER_STALL_OPERAND, 1, 16, 16, 2048, 0},
                                  {UFP4_COUNTER_STALL_PANEL, 0, 64, 16, 96, 1},
                                  {UFP4_COUNTER_STALL_ACCUMULATOR, 1, 128, 128, 16, 0},
                                  {UFP4_COUNTER_STALL_DRAIN, 1, 16, 16, 16, 0}};
  for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
    stand_t stand = stand_open("small", 1, losses[i].bandwidth, 0);
    uint64_t before[UFP4_COUNTER_COUNT], spent[UFP4_COUNTER_COUNT];
    stand_rings(&stand, STAND_RING, STAND_COMPLETIONS);
    stand_counters(&stand, before);
    submit_loss(&stand, &losses[i]);
    check_that((int64_t)i, stand_drain(&stand), "the jobs have not ended");
    stand_counters(&stand, spent);
    for (int c = 0; c < UFP4_COUNTER_COUNT; c++) spent[c] -= before[c];
    check_loss((int64_t)i, &losses[i], spent);
    stand_close(&stand);
  }
}
