// SPDX-License-Identifier: Apache-2.0
// Single bits flipped in the core while it works on random jobs: what becomes of them, for each
// structure.
//
// usage: test_fault INJECTIONS [SEED]
//   Flips so many bits of each structure and prints a table. Fails if no fault had any effect, or
//   if one in a memory, whose words have parity, stayed silent.
//
// usage: test_fault memories [SEED]
//   Flips a bit of every word of a memory at once, for each memory. Fails if one never ends a job
//   with an error, or lets one end with wrong results.
//
// usage: test_fault deadlock [SEED]
//   A job waits for one that never comes. Fails if the watchdog does not say so, or a soft
//   reset does not help.
//
// usage: test_fault jobs [SEED]
//   Prints the cycles, counters and results of random jobs without faults, to be compared with
//   those of another form.
//
// usage: test_fault reset [SEED]
//   Flips a bit of sums when a soft reset comes. Fails if the job after it is not as without that.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "fault_rig.h"

#define FATAL_WATCHDOG 1u
#define JOBS_EACH 10  // injections into one random job
#define MAX_MEMORIES 400
#define MOST_JOBS 200  // in which a memory's error is looked for
#define SUM_JOBS 30    // minimum for a memory of sums
#define RESETS 300
#define JOBS 20
#define LONG 240        // elements of k in the second chunk of a long job, at most
#define RESET_LONG 64   // so that PEs load a sum in each fourth cycle or more often
#define RESET_LAST 300  // cycles of a job, in which they do

/** A structure: instances whose path contains `path`, variables named `name` (all registers and
 * FIFO memories if it is empty), and of their bits the first `only` (0: all); the first line that
 * matches counts. */
typedef struct {
  const char *title, *path, *name;
  kind_t job;
  uint64_t only;
} structure_t;

static const structure_t structures[] = {
    {"parity of all memories", "u_parity", "mem", ANY_JOB, 0},
    {"parity of all memories", "u_write.gen_parallel.u_units", "codes_parity", QUANT_JOB, 0},
    {"parity of all memories", "u_write.gen_parallel.u_units", "scales_parity", QUANT_JOB, 0},
    // In the previous sub-tile the row of PEs is beyond the edge, and the sum that this one
    // replaces is not drained.
    {"a sum that waits, of one PE", "gen_row[1].gen_col[0].gen_exact.u_pe.u_banks.u_bank0", "mem",
     LONG_GEMM_JOB, 67},
    {"operand memories: codes", "u_codes", "mem", GEMM_JOB, 0},
    {"operand memories: scales", "u_scales", "mem", GEMM_JOB, 0},
    {"operand memories: scales", "u_waiting", "mem", GEMM_JOB, 0},
    {"accumulator memories", "u_banks.", "mem", GEMM_JOB, 0},
    {"memories of C and sums", "u_addend.gen_buffer", "mem", GEMM_JOB, 0},
    {"QUANT: strip memory", "u_strip.u_sram", "mem", QUANT_JOB, 0},
    {"QUANT: transpose memory", "u_transpose.gen_lane", "mem", QUANT_JOB, 0},
    {"QUANT: codes and scales collected", "u_write.gen_parallel.u_units", "codes", QUANT_JOB, 0},
    {"QUANT: codes and scales collected", "u_write.gen_parallel.u_units", "scales", QUANT_JOB, 0},
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

static int ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// Tells whether a signal is state, among those that fault.vlt names and the pins of the core. The
// signals that the array passes on are registers after its first row and column; there, and
// elsewhere in the array, the same names are wires.
static int is_state(const char *path, const char *name) {
  if (strchr(name, '_') || strcmp(name, "mem") == 0) return !ends_with(name, "_i");
  const char *place = strrchr(path, '.');
  if (!place || strstr(place, "[0]")) return 0;
  return strncmp(place, ".gen_row[", 9) == 0 || strncmp(place, ".gen_lane_b[", 12) == 0;
}

// The first matching line of the table; lines with one title are one structure, known by its first
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

static uint64_t bits_of(int structure) {
  const uint64_t bits = fault_bits(sort, structure), only = structures[structure].only;
  return only != 0 && only < bits ? only : bits;
}

// Runs a job with a planned fault, and once more without.
static outcome_t run_with_fault(rig_t *rig, stand_t *stand, kind_t kind) {
  outcome_t outcome = run_one(rig, stand, kind);
  // State that the fault left behind must not affect the next job.
  if (outcome == MASKED) {
    restore_memory(rig, stand);
    outcome = run_one(rig, stand, kind);
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
  stand_t stand = open_core(rig);
  const uint64_t bits = bits_of(structure);
  if (bits == 0) {
    fprintf(stderr, "test_fault: %s: no such bits in the core\n", structures[structure].title);
    exit(1);
  }
  fault_plan(sort, structure, check_next(&rig->random) % bits,
             check_below(&rig->random, (uint32_t)rig->cycles[kind]));
  const outcome_t outcome = run_with_fault(rig, &stand, kind);
  if (outcome == NO_END) fprintf(stderr, "test_fault: no end after %s\n", fault_name());
  stand_close(&stand);
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

// Memories named `mem` and the units that QUANT collects have parity. FIFOs have none; the table
// counts them among the registers beside them.
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

// Draws the highest bit of a word, which is its parity if that is in the word, or any bit.
static uint64_t draw_bit(rig_t *rig) {
  return check_below(&rig->random, 2) != 0 ? 0 : check_next(&rig->random);
}

// Flips a bit of every word of the memory at random times of random jobs, until one ends with an
// error. Sums are checked both where a PE continues them and where they are drained, so memories of
// sums take enough jobs to reach both. @return the number of jobs, or 0 if none of MOST_JOBS
// reported an error, or one ended in another way
static unsigned jobs_until_error(rig_t *rig) {
  const int sums = strstr(memory_wanted, "u_banks") != NULL;
  const kind_t kind = strstr(memory_wanted, "u_quant") ? QUANT_JOB : GEMM_JOB;
  unsigned first = 0;
  for (unsigned jobs = 1; first == 0 ? jobs <= MOST_JOBS : sums && jobs <= SUM_JOBS; jobs++) {
    if (jobs % JOBS_EACH == 1) draw_jobs(rig, sums || check_below(&rig->random, 2) != 0 ? LONG : 0);
    stand_t stand = open_core(rig);
    fault_plan_words(sort_wanted, 0, draw_bit(rig),
                     check_below(&rig->random, (uint32_t)rig->cycles[kind]));
    const outcome_t outcome = run_with_fault(rig, &stand, kind);
    stand_close(&stand);
    if (outcome == STATUS && first == 0) first = jobs;
    if (outcome != STATUS && outcome != MASKED) return 0;
  }
  return first;
}

// @return how many memories never report
static unsigned try_each_memory(rig_t *rig) {
  stand_t stand = open_core(rig);
  fault_bits(note_memory, 0);
  stand_close(&stand);
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

static int sort_loaded_sums(const char *path, const char *name) {
  return strstr(path, "u_bank0") && strcmp(name, "mem") == 0 ? 0 : -1;
}

// A soft reset comes while PEs detect changed sums: the pending marks must not reach the next job.
// @return the number of next jobs that were not right
static unsigned reset_among_errors(rig_t *rig) {
  unsigned bad = 0;
  for (unsigned i = 0; i < RESETS; i++) {
    if (i % JOBS_EACH == 0) draw_jobs(rig, RESET_LONG);
    stand_t stand = open_core(rig);
    const uint32_t cycles = (uint32_t)rig->cycles[GEMM_JOB] - check_below(&rig->random, RESET_LAST);
    fault_plan_words(sort_loaded_sums, 0, draw_bit(rig), cycles);
    stand_submit(&stand, &rig->jobs[GEMM_JOB]);
    ufp4_sim_run(stand.sim, cycles);
    bad += soft_reset(rig, &stand) || !fault_done() || run_one(rig, &stand, GEMM_JOB) != MASKED;
    stand_close(&stand);
  }
  fprintf(stderr, "test_fault: %u of %u jobs after a soft reset were not right\n", bad, RESETS);
  return bad;
}

static int sort_gemm_tag(const char *path, const char *name) {
  return strstr(path, "u_issue_gemm") && strcmp(name, "tag_q") == 0 ? 0 : -1;
}

// A GEMM waits for the QUANT one place before. A bit of its own tag flips, which moves it two
// places on in the ring, so it waits for the job after itself, which does not come. @return whether
// that was not detected, or not repaired
static int deadlock(rig_t *rig) {
  do draw_jobs(rig, 0);
  while (rig->cycles[QUANT_JOB] <
         1000);  // long enough that the GEMM has been read half-way through
  stand_t stand = open_core(rig);
  ufp4_descriptor_t quant = rig->jobs[QUANT_JOB], gemm = rig->jobs[GEMM_JOB];
  quant.header.flags = gemm.header.flags = 3;
  gemm.header.after = 1;
  fault_plan(sort_gemm_tag, 0, 1, rig->cycles[QUANT_JOB] / 2);
  stand_put(&stand, &quant);
  stand_submit(&stand, &gemm);
  const outcome_t outcome = drain(rig, &stand, GEMM_JOB);
  const uint32_t head = stand_read(&stand, UFP4_REG_RING_HEAD),
                 fatal = stand_read(&stand, UFP4_REG_FATAL);
  const int resetting = soft_reset(rig, &stand);
  const outcome_t next = run_one(rig, &stand, GEMM_JOB);
  const int bad = !fault_done() || outcome != WATCHDOG || head != 1 ||
                  (fatal & FATAL_WATCHDOG) == 0 || resetting || next != MASKED;
  fprintf(stderr, "test_fault: %s; %s, %u jobs were done, fatal %u; after a soft reset%s %s\n",
          fault_name(), outcome == WATCHDOG ? "the watchdog spoke" : "the watchdog was silent",
          head, fatal, resetting ? ", which does not end," : "",
          next == MASKED ? "the next job is right" : "the next job is wrong");
  stand_close(&stand);
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
    stand_t stand = open_core(rig);
    seen += print_line(structures[structure].title, bits_of(structure), count);
    if (has_parity(structures[structure].path, structures[structure].name))
      silent_words += count[SILENT];
    stand_close(&stand);
    fflush(stdout);
  }
  if (seen == 0) fprintf(stderr, "test_fault: no fault had any effect\n");
  if (silent_words > 0)
    fprintf(stderr, "test_fault: %u faults in memories stayed silent\n", silent_words);
  return seen == 0 || silent_words > 0;
}

static void print_jobs(rig_t *rig) {
  for (unsigned i = 0; i < JOBS; i++) {
    draw_jobs(rig, i % 2 ? LONG : 0);
    for (int kind = GEMM_JOB; kind <= QUANT_JOB; kind++) {
      printf("%llu cycles, memory %016llx, counters", (unsigned long long)rig->done[kind].cycles,
             (unsigned long long)hash_after(rig, kind));
      for (int c = 0; c < UFP4_COUNTER_COUNT; c++)
        printf(" %llu", (unsigned long long)rig->counters[kind][c]);
      printf("\n");
    }
  }
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  const int each_memory = strcmp(mode, "memories") == 0,
            in_deadlock = strcmp(mode, "deadlock") == 0, in_reset = strcmp(mode, "reset") == 0,
            in_jobs = strcmp(mode, "jobs") == 0;
  const unsigned injections = (unsigned)atoi(mode);
  if (!each_memory && !in_deadlock && !in_reset && !in_jobs && injections == 0) {
    fprintf(stderr, "usage: test_fault memories|deadlock|reset|jobs|INJECTIONS [SEED]\n");
    return 2;
  }
  const uint64_t seed = argc > 2 ? check_seed_of(argv[2]) : check_stream(1);
  rig_t rig = rig_open(seed);
  int bad = 0;
  if (each_memory) {
    bad = try_each_memory(&rig) > 0;
  } else if (in_deadlock) {
    bad = deadlock(&rig);
  } else if (in_reset) {
    bad = reset_among_errors(&rig) > 0;
  } else if (in_jobs) {
    print_jobs(&rig);
  } else {
    bad = print_table(&rig, injections);
  }
  rig_close(&rig);
  if (bad)
    fprintf(stderr, "test_fault: to see it again: %s %s %llu\n", argv[0], mode,
            (unsigned long long)seed);
  return bad;
}
