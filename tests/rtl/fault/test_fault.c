// SPDX-License-Identifier: Apache-2.0
// Single bits flipped in the core while it works on random jobs: what becomes of them, for each
// structure.
//
// usage: test_fault INJECTIONS [SEED]
//   So many for each structure; a table. Fails if no fault had any effect, or if one in a memory,
//   whose words have parity, stayed silent.
//
// usage: test_fault memories [SEED]
//   Of each memory every word at once. Fails if one never ends a job.
//
// usage: test_fault deadlock [SEED]
//   A job that waits for one that never comes. Fails if the watchdog does not say so, or a soft
//   reset does not help.
//
// usage: test_fault reset [SEED]
//   Sums that have changed when a soft reset comes. Fails if the job after it is not as without
//   them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "fault.h"

#define PLACE_BYTES 0x20000ull
enum { X, W, CODES_X, SCALES_X, CODES_XT, SCALES_XT, CODES_W, SCALES_W, C, SUMS, D, PLACES };
#define IMAGE_BYTES (PLACES * PLACE_BYTES)
#define STRIDE_BYTES 2048u
#define STRIDE_BLOCKS 32u  // of codes and scales along k
#define CHUNK 256u         // elements of k after which sums wait in the accumulator memories
#define WATCHDOG_CYCLES 3000u
#define STATUS_FATAL 4u
#define STATUS_RESETTING 8u
#define SOFT_RESET 4u
#define FATAL_WATCHDOG 1u
#define JOBS_EACH 10  // injections into one random job
#define MAX_MEMORIES 400
#define MOST_JOBS 200  // in which a memory's error is looked for
#define SUM_JOBS 30    // at least, where it is a memory of sums
#define RESETS 300
#define LONG 240        // elements of k in the second chunk of a long job, at most
#define RESET_LONG 64   // so that PEs load a sum in each fourth cycle or more often
#define RESET_LAST 300  // cycles of a job, in which they do

typedef enum { ANY_JOB, GEMM_JOB, QUANT_JOB, LONG_GEMM_JOB } kind_t;

/** A structure: instances whose path holds `path`, variables named `name` (all registers and FIFO
   memories where it is empty), of these bits the first `only` (0: all); the first line that fits
   counts. */
typedef struct {
  const char *title, *path, *name;
  kind_t job;
  uint64_t only;
} structure_t;

static const structure_t structures[] = {
    {"parity of all memories", "u_parity", "mem", ANY_JOB, 0},
    {"parity of all memories", "u_quant.u_write.u_units", "codes_parity", QUANT_JOB, 0},
    {"parity of all memories", "u_quant.u_write.u_units", "scales_parity", QUANT_JOB, 0},
    // Where the row of PEs is beyond the edge in the sub-tile before: what takes the place of this
    // sum is not drained.
    {"a sum that waits, of one PE", "gen_row[1].gen_col[0].gen_exact.u_pe.u_banks.u_bank0", "mem",
     LONG_GEMM_JOB, 67},
    {"operand memories: codes", "u_codes", "mem", GEMM_JOB, 0},
    {"operand memories: scales", "u_scales", "mem", GEMM_JOB, 0},
    {"operand memories: scales", "u_waiting", "mem", GEMM_JOB, 0},
    {"accumulator memories", "u_banks.", "mem", GEMM_JOB, 0},
    {"memories of C and sums", "u_addend.gen_buffer", "mem", GEMM_JOB, 0},
    {"QUANT: strip memory", "u_strip.u_sram", "mem", QUANT_JOB, 0},
    {"QUANT: transpose memory", "u_transpose.gen_bank", "mem", QUANT_JOB, 0},
    {"QUANT: codes and scales collected", "u_quant.u_write.u_units", "codes", QUANT_JOB, 0},
    {"QUANT: codes and scales collected", "u_quant.u_write.u_units", "scales", QUANT_JOB, 0},
    {"array: registers of PEs and lanes", "u_gemm.u_array", "", GEMM_JOB, 0},
    {"drain and addends: registers", "u_gemm.u_drain", "", GEMM_JOB, 0},
    {"drain and addends: registers", "u_gemm.u_addend", "", GEMM_JOB, 0},
    {"GEMM control: registers", "u_gemm", "", GEMM_JOB, 0},
    {"QUANT arithmetic: registers", "u_copy", "", QUANT_JOB, 0},
    {"QUANT control: registers", "u_quant", "", QUANT_JOB, 0},
    {"command unit, registers, slots", "u_command", "", ANY_JOB, 0},
    {"command unit, registers, slots", "u_registers", "", ANY_JOB, 0},
    {"command unit, registers, slots", "u_slots", "", ANY_JOB, 0},
    {"command unit, registers, slots", "u_axil", "", ANY_JOB, 0},
    {"command unit, registers, slots", "u_guard", "", ANY_JOB, 0},
    {"AXI masters", "u_axi_", "", ANY_JOB, 0},
};
#define STRUCTURES (sizeof structures / sizeof structures[0])

typedef enum { MASKED, STATUS, WATCHDOG, BUS_RULE, NO_END, SILENT, OUTCOMES } outcome_t;

typedef struct {
  check_random_t random;
  ufp4_descriptor_t jobs[3];   // by kind_t
  uint8_t *before, *after[3];  // images
  uint64_t cycles[3];
} rig_t;

static int ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// Of what fault.vlt names, and the pins of the core. What the array hands on is a register behind
// its first row and column; there, and elsewhere in the array, the same names are wires.
static int is_state(const char *path, const char *name) {
  if (strchr(name, '_') || strcmp(name, "mem") == 0) return !ends_with(name, "_i");
  const char *place = strrchr(path, '.');
  if (!place || strstr(place, "[0]")) return 0;
  return strncmp(place, ".gen_row[", 9) == 0 || strncmp(place, ".gen_lane_b[", 12) == 0;
}

// The first line of the table that fits; lines of one title are one structure, known by its first
// line.
static int sort(const char *path, const char *name) {
  for (size_t i = 0; i < STRUCTURES; i++) {
    if (!strstr(path, structures[i].path)) continue;
    if (structures[i].name[0] ? strcmp(name, structures[i].name) != 0 : !is_state(path, name))
      continue;
    while (i > 0 && strcmp(structures[i - 1].title, structures[i].title) == 0) i--;
    return (int)i;
  }
  return -1;
}

static uint64_t place(unsigned index) {
  return BENCH_DATA + index * PLACE_BYTES;
}

static bench_t open_with(const uint8_t *image) {
  bench_t bench = bench_open("small", 10, 0, 0);
  bench_write(&bench, UFP4_REG_WATCHDOG, WATCHDOG_CYCLES);
  memcpy(ufp4_sim_memory(bench.sim, BENCH_DATA, IMAGE_BYTES), image, IMAGE_BYTES);
  return bench;
}

static ufp4_descriptor_t quant_job(unsigned source, unsigned codes, uint32_t rows, uint32_t cols,
                                   uint8_t elem) {
  return (ufp4_descriptor_t){.quant = {.opcode = UFP4_OPCODE_QUANT,
                                       .flags = 1,
                                       .job = 100 + source,
                                       .rows = rows,
                                       .cols = cols,
                                       .src_addr = place(source),
                                       .src_stride_bytes = STRIDE_BYTES,
                                       .src_dtype = UFP4_DTYPE_F32,
                                       .elem = elem,
                                       .round = UFP4_ROUND_SR,
                                       .row_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT,
                                       .col_mode = source == X ? UFP4_MODE_ENABLE : 0,
                                       .rht_mask = UFP4_RHT_DEFAULT_MASK,
                                       .row_exponent = 4,
                                       .col_exponent = 4,
                                       .row_codes_addr = place(codes),
                                       .row_scales_addr = place(codes + 1),
                                       .col_codes_addr = source == X ? place(CODES_XT) : 0,
                                       .col_scales_addr = source == X ? place(SCALES_XT) : 0,
                                       .row_stride_blocks = STRIDE_BLOCKS,
                                       .col_stride_blocks = source == X ? 8 : 0,
                                       .seed = 77}};
}

static ufp4_descriptor_t gemm_job(uint32_t m, uint32_t n, uint32_t k, uint8_t elem, uint8_t mode) {
  return (ufp4_descriptor_t){
      .gemm = {.opcode = UFP4_OPCODE_GEMM,
               .flags = 1,
               .job = 99,
               .m = m,
               .n = n,
               .k = k,
               .a_elem = elem,
               .b_elem = elem,
               .a_exponent = 4,
               .b_exponent = 4,
               .a_codes_addr = place(CODES_X),
               .a_scales_addr = place(SCALES_X),
               .b_codes_addr = place(CODES_W),
               .b_scales_addr = place(SCALES_W),
               .d_addr = place(D),
               .a_stride_blocks = STRIDE_BLOCKS,
               .b_stride_blocks = STRIDE_BLOCKS,
               .d_stride_bytes = STRIDE_BYTES,
               .d_mode = mode,
               .c_addr = mode & UFP4_D_MODE_C ? place(C) : 0,
               .c_stride_bytes = mode & UFP4_D_MODE_C ? STRIDE_BYTES : 0,
               .sums_addr = mode & UFP4_D_MODE_SUMS ? place(SUMS) : 0,
               .sums_stride_bytes = mode & UFP4_D_MODE_SUMS ? STRIDE_BYTES : 0}};
}

static uint64_t run_good(const uint8_t *before, const ufp4_descriptor_t *job, uint8_t *after) {
  bench_t bench = open_with(before);
  const uint64_t start = ufp4_sim_cycles(bench.sim);
  const ufp4_completion_t done = bench_job(&bench, job);
  if (done.status != UFP4_CORE_STATUS_OK) {
    fprintf(stderr, "test_fault: a job without a fault ended with status %u\n", done.status);
    exit(1);
  }
  const uint64_t cycles = ufp4_sim_cycles(bench.sim) - start;
  memcpy(after, ufp4_sim_memory(bench.sim, BENCH_DATA, IMAGE_BYTES), IMAGE_BYTES);
  bench_close(&bench);
  return cycles;
}

// Random tensors, a random QUANT job of one of them, a random GEMM of both; what each leaves in
// memory. A long one has a k of two chunks, of the second up to @p second_chunk elements (0: it is
// not long), at least two sub-tiles a side, and a last row of sub-tiles that goes beyond the edge.
static void draw_jobs(rig_t *rig, uint32_t second_chunk) {
  const int is_long = second_chunk > 0;
  uint64_t *words = (uint64_t *)rig->before;
  for (uint64_t i = 0; i < IMAGE_BYTES / sizeof *words; i++) words[i] = check_next(&rig->random);
  int64_t *sums = (int64_t *)(rig->before + SUMS * PLACE_BYTES);
  for (uint64_t i = 0; i < PLACE_BYTES / sizeof *sums; i++) sums[i] >>= 24;
  for (unsigned tensor = X; tensor <= C; tensor = tensor == X ? W : tensor == W ? C : PLACES) {
    float *values = (float *)(rig->before + tensor * PLACE_BYTES);
    for (uint64_t i = 0; i < PLACE_BYTES / sizeof *values; i++) {
      values[i] = (float)(int32_t)check_next(&rig->random) * 0x1p-30f;
    }
  }
  static const uint8_t modes[] = {0, UFP4_D_MODE_C, UFP4_D_MODE_SUMS,
                                  UFP4_D_MODE_C | UFP4_D_MODE_SUMS};
  const uint32_t rows = 3 + 2 * check_below(&rig->random, 7);
  const uint32_t m = is_long ? rows : 1 + check_below(&rig->random, 60);
  const uint32_t n =
      is_long ? 5 + check_below(&rig->random, 16) : 1 + check_below(&rig->random, 40);
  const uint32_t k = 1 + (is_long ? CHUNK + check_below(&rig->random, second_chunk)
                                  : check_below(&rig->random, 100));
  const uint8_t elem = (uint8_t)check_below(&rig->random, UFP4_ELEM_COUNT);
  rig->jobs[QUANT_JOB] = quant_job(X, CODES_X, m, k, elem);
  rig->jobs[GEMM_JOB] = gemm_job(m, n, k, elem, modes[check_below(&rig->random, 4)]);
  const ufp4_descriptor_t other = quant_job(W, CODES_W, n, k, elem);
  run_good(rig->before, &other, rig->before);
  run_good(rig->before, &rig->jobs[QUANT_JOB], rig->before);
  // So that the QUANT job under fault has something to change.
  memset(rig->before + CODES_XT * PLACE_BYTES, 0x5A, 2 * PLACE_BYTES);
  rig->cycles[QUANT_JOB] = run_good(rig->before, &rig->jobs[QUANT_JOB], rig->after[QUANT_JOB]);
  rig->cycles[GEMM_JOB] = run_good(rig->before, &rig->jobs[GEMM_JOB], rig->after[GEMM_JOB]);
}

// Until the core has ended all jobs, or stopped. @return MASKED for now if it ended them.
static outcome_t drain(bench_t *bench, uint64_t limit) {
  for (uint64_t cycles = 0; cycles < limit; cycles += 50) {
    uint32_t head = 0, status = 0;
    if (ufp4_sim_register_read(bench->sim, UFP4_REG_RING_HEAD, &head) != UFP4_SIM_OK ||
        ufp4_sim_register_read(bench->sim, UFP4_REG_STATUS, &status) != UFP4_SIM_OK) {
      return BUS_RULE;
    }
    if (status & STATUS_FATAL) return WATCHDOG;
    if (head == bench->tail) return MASKED;
    if (ufp4_sim_run(bench->sim, 50) == UFP4_SIM_FAILED) return BUS_RULE;
  }
  return NO_END;
}

// One job; what memory and completion say afterwards.
static outcome_t run_one(rig_t *rig, bench_t *bench, kind_t kind) {
  const ufp4_descriptor_t *job = &rig->jobs[kind];
  memset(ufp4_sim_memory(bench->sim, BENCH_COMPLETIONS, 0x400), 0xEE, 0x400);
  bench_submit(bench, job);
  const outcome_t outcome = drain(bench, 20 * rig->cycles[kind] + 3 * WATCHDOG_CYCLES);
  if (outcome != MASKED) return outcome;
  const ufp4_completion_t done = bench_completion(bench, bench->tail - 1);
  if (done.status != UFP4_CORE_STATUS_OK) return done.job == job->header.job ? STATUS : SILENT;
  const uint8_t *got = ufp4_sim_memory(bench->sim, BENCH_DATA, IMAGE_BYTES);
  return done.job == job->header.job && memcmp(got, rig->after[kind], IMAGE_BYTES) == 0 ? MASKED
                                                                                        : SILENT;
}

static uint64_t bits_of(int structure) {
  const uint64_t bits = fault_bits(sort, structure), only = structures[structure].only;
  return only != 0 && only < bits ? only : bits;
}

// Runs a job, in which a fault is planned, and once more.
static outcome_t run_with_fault(rig_t *rig, bench_t *bench, kind_t kind) {
  outcome_t outcome = run_one(rig, bench, kind);
  // What the fault has left behind must not come to light in the next job.
  if (outcome == MASKED) {
    memcpy(ufp4_sim_memory(bench->sim, BENCH_DATA, IMAGE_BYTES), rig->before, IMAGE_BYTES);
    outcome = run_one(rig, bench, kind);
  }
  if (!fault_done()) {
    fprintf(stderr, "test_fault: the fault was not injected\n");
    exit(1);
  }
  return outcome;
}

static outcome_t inject(rig_t *rig, int structure) {
  kind_t kind = structures[structure].job;
  if (kind == LONG_GEMM_JOB) kind = GEMM_JOB;
  if (kind == ANY_JOB) kind = check_below(&rig->random, 2) ? GEMM_JOB : QUANT_JOB;
  bench_t bench = open_with(rig->before);
  const uint64_t bits = bits_of(structure);
  if (bits == 0) {
    fprintf(stderr, "test_fault: %s: no such bits in the core\n", structures[structure].title);
    exit(1);
  }
  fault_plan(sort, structure, check_next(&rig->random) % bits,
             check_below(&rig->random, (uint32_t)rig->cycles[kind]));
  const outcome_t outcome = run_with_fault(rig, &bench, kind);
  if (outcome == NO_END) fprintf(stderr, "test_fault: no end after %s\n", fault_name());
  bench_close(&bench);
  return outcome;
}

// @return how many were not masked
static unsigned print_line(const char *title, uint64_t bits, const unsigned count[OUTCOMES]) {
  unsigned all = 0;
  for (int i = 0; i < OUTCOMES; i++) all += count[i];
  printf("| %s | %llu | %u |", title, (unsigned long long)bits, all);
  for (int i = 0; i < OUTCOMES; i++) printf(" %u |", count[i]);
  printf(" %.1f %% |\n", 100.0 * count[SILENT] / all);
  return all - count[MASKED];
}

static char memories[MAX_MEMORIES][200];
static unsigned memory_count;
static const char *memory_wanted;

// What is named `mem` and what QUANT collects; not FIFOs, which have no parity: the table counts
// them among the registers beside them.
static int has_parity(const char *path, const char *name) {
  if (ends_with(path, ".u_units"))
    return strncmp(name, "codes", 5) == 0 || strncmp(name, "scales", 6) == 0;
  return strcmp(name, "mem") == 0 && !strstr(path, "_notes") && !strstr(path, "u_order");
}

static int note_memory(const char *path, const char *name) {
  if (has_parity(path, name)) {
    if (memory_count == MAX_MEMORIES) abort();
    snprintf(memories[memory_count++], sizeof memories[0], "%s.%s", path, name);
  }
  return -1;
}

static int sort_wanted(const char *path, const char *name) {
  char whole[sizeof memories[0]];
  snprintf(whole, sizeof whole, "%s.%s", path, name);
  return has_parity(path, name) && strcmp(whole, memory_wanted) == 0 ? 0 : -1;
}

// Flips a bit of every word of the memory, at random times of random jobs, until one ends with an
// error. Sums are looked at where a PE goes on with them and where they are drained: theirs takes
// jobs enough to meet both.
// @return the number of jobs, 0: none of MOST_JOBS did, or one ended in another way
static unsigned jobs_until_error(rig_t *rig) {
  const int sums = strstr(memory_wanted, "u_banks") != NULL;
  const kind_t kind = strstr(memory_wanted, "u_quant") ? QUANT_JOB : GEMM_JOB;
  unsigned first = 0;
  for (unsigned jobs = 1; first == 0 ? jobs <= MOST_JOBS : sums && jobs <= SUM_JOBS; jobs++) {
    if (jobs % JOBS_EACH == 1) draw_jobs(rig, sums || check_below(&rig->random, 2) != 0 ? LONG : 0);
    bench_t bench = open_with(rig->before);
    fault_plan_words(sort_wanted, 0, 0, check_below(&rig->random, (uint32_t)rig->cycles[kind]));
    const outcome_t outcome = run_with_fault(rig, &bench, kind);
    bench_close(&bench);
    if (outcome == STATUS && first == 0) first = jobs;
    if (outcome != STATUS && outcome != MASKED) return 0;
  }
  return first;
}

// @return how many memories never report
static unsigned try_each_memory(rig_t *rig) {
  bench_t bench = open_with(rig->before);
  fault_bits(note_memory, 0);
  bench_close(&bench);
  unsigned mute = memory_count == 0;
  for (unsigned i = 0; i < memory_count; i++) {
    memory_wanted = memories[i];
    const unsigned jobs = jobs_until_error(rig);
    printf("%s: %u\n", memory_wanted, jobs);
    mute += jobs == 0;
  }
  fprintf(
      stderr,
      "test_fault: %u memories, %u of them never ended a job, or let it end with wrong results\n",
      memory_count, mute);
  return mute;
}

// With memory as before the jobs again, and an empty ring. @return whether it does not end
static int soft_reset(rig_t *rig, bench_t *bench) {
  bench_write(bench, UFP4_REG_CONTROL, SOFT_RESET);
  uint32_t resetting = STATUS_RESETTING;
  for (unsigned cycles = 0; resetting && cycles < 2 * WATCHDOG_CYCLES; cycles += 50) {
    ufp4_sim_run(bench->sim, 50);
    resetting = bench_read(bench, UFP4_REG_STATUS) & STATUS_RESETTING;
  }
  bench->tail = 0;
  memcpy(ufp4_sim_memory(bench->sim, BENCH_DATA, IMAGE_BYTES), rig->before, IMAGE_BYTES);
  return resetting != 0;
}

static int sort_loaded_sums(const char *path, const char *name) {
  return strstr(path, "u_bank0") && strcmp(name, "mem") == 0 ? 0 : -1;
}

// A soft reset while PEs find that sums have changed: what they were about to mark must not be in
// the next job.
// @return how many next jobs were not right
static unsigned reset_among_errors(rig_t *rig) {
  unsigned bad = 0;
  for (unsigned i = 0; i < RESETS; i++) {
    if (i % JOBS_EACH == 0) draw_jobs(rig, RESET_LONG);
    bench_t bench = open_with(rig->before);
    const uint32_t cycles = (uint32_t)rig->cycles[GEMM_JOB] - check_below(&rig->random, RESET_LAST);
    fault_plan_words(sort_loaded_sums, 0, 0, cycles);
    bench_submit(&bench, &rig->jobs[GEMM_JOB]);
    ufp4_sim_run(bench.sim, cycles);
    bad += soft_reset(rig, &bench) || !fault_done() || run_one(rig, &bench, GEMM_JOB) != MASKED;
    bench_close(&bench);
  }
  fprintf(stderr, "test_fault: %u of %u jobs after a soft reset were not right\n", bad, RESETS);
  return bad;
}

static int sort_gemm_tag(const char *path, const char *name) {
  return strstr(path, "u_issue_gemm") && strcmp(name, "tag_q") == 0 ? 0 : -1;
}

// A GEMM waits for the QUANT one place before. A bit of its own tag flips, which moves it two
// places on in the ring: now it waits for the job after itself, which does not come. @return
// whether that was not found, or not mended
static int deadlock(rig_t *rig) {
  do draw_jobs(rig, 0);
  while (rig->cycles[QUANT_JOB] <
         1000);  // long enough that the GEMM has been read half-way through
  bench_t bench = open_with(rig->before);
  ufp4_descriptor_t quant = rig->jobs[QUANT_JOB], gemm = rig->jobs[GEMM_JOB];
  quant.header.flags = gemm.header.flags = 3;
  gemm.header.after = 1;
  fault_plan(sort_gemm_tag, 0, 1, rig->cycles[QUANT_JOB] / 2);
  bench_put(&bench, &quant);
  bench_submit(&bench, &gemm);
  const outcome_t outcome = drain(&bench, 20 * rig->cycles[GEMM_JOB] + 3 * WATCHDOG_CYCLES);
  const uint32_t head = bench_read(&bench, UFP4_REG_RING_HEAD),
                 fatal = bench_read(&bench, UFP4_REG_FATAL);
  const int resetting = soft_reset(rig, &bench);
  const outcome_t next = run_one(rig, &bench, GEMM_JOB);
  const int bad = !fault_done() || outcome != WATCHDOG || head != 1 ||
                  (fatal & FATAL_WATCHDOG) == 0 || resetting || next != MASKED;
  fprintf(stderr, "test_fault: %s; %s, %u jobs were done, fatal %u; after a soft reset%s %s\n",
          fault_name(), outcome == WATCHDOG ? "the watchdog spoke" : "the watchdog was silent",
          head, fatal, resetting ? ", which does not end," : "",
          next == MASKED ? "the next job is right" : "the next job is wrong");
  bench_close(&bench);
  return bad;
}

// @return whether a fault in a memory was silent, or none had any effect
static int print_table(rig_t *rig, unsigned injections) {
  printf(
      "| structure | bits | flips | masked | status | watchdog | bus rule | no end | silent | "
      "silent |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  unsigned seen = 0, silent_words = 0;
  for (int structure = 0; structure < (int)STRUCTURES; structure++) {
    if (structure > 0 && strcmp(structures[structure - 1].title, structures[structure].title) == 0)
      continue;
    unsigned count[OUTCOMES] = {0};
    for (unsigned i = 0; i < injections; i++) {
      if (i % JOBS_EACH == 0) {
        draw_jobs(rig,
                  structures[structure].job == LONG_GEMM_JOB || check_below(&rig->random, 2) != 0
                      ? LONG
                      : 0);
      }
      count[inject(rig, structure)]++;
    }
    bench_t bench = open_with(rig->before);
    seen += print_line(structures[structure].title, bits_of(structure), count);
    if (has_parity(structures[structure].path, structures[structure].name))
      silent_words += count[SILENT];
    bench_close(&bench);
    fflush(stdout);
  }
  if (seen == 0) fprintf(stderr, "test_fault: no fault had any effect\n");
  if (silent_words > 0)
    fprintf(stderr, "test_fault: %u faults in memories stayed silent\n", silent_words);
  return seen == 0 || silent_words > 0;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  const int each_memory = strcmp(mode, "memories") == 0,
            in_deadlock = strcmp(mode, "deadlock") == 0, in_reset = strcmp(mode, "reset") == 0;
  const unsigned injections = (unsigned)atoi(mode);
  if (!each_memory && !in_deadlock && !in_reset && injections == 0) {
    fprintf(stderr, "usage: test_fault memories|deadlock|reset|INJECTIONS [SEED]\n");
    return 2;
  }
  rig_t rig = {.random = {.state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1}};
  rig.before = calloc(1, IMAGE_BYTES);
  for (int i = GEMM_JOB; i <= QUANT_JOB; i++) rig.after[i] = malloc(IMAGE_BYTES);
  int bad = 0;
  if (each_memory) {
    bad = try_each_memory(&rig) > 0;
  } else if (in_deadlock) {
    bad = deadlock(&rig);
  } else if (in_reset) {
    bad = reset_among_errors(&rig) > 0;
  } else {
    bad = print_table(&rig, injections);
  }
  free(rig.before);
  for (int i = GEMM_JOB; i <= QUANT_JOB; i++) free(rig.after[i]);
  return bad;
}
