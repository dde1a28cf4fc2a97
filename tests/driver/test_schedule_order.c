// SPDX-License-Identifier: Apache-2.0
// Tests training steps as one list of jobs: dependences, cycles, and refused plans.
#include <stdlib.h>
#include <string.h>

#include "steps.h"

enum { UNDER_WAY = 16 };

// --- Dependences --------------------------------------------------------------------------------

static const steps_case_t odd = {"small", "ufp4", UFP4_DTYPE_BF16, 3, 2, 1, 0, 0};

static ufp4_schedule_job_t *find(const steps_t *run, int layer, int pass, int role) {
  for (int i = 0; i < run->schedule.count; i++) {
    ufp4_schedule_job_t *job = &run->schedule.jobs[i];
    if (job->layer == layer && job->pass == pass && job->role == role) return job;
  }
  return NULL;
}

static int same(const steps_t *a, const steps_t *b, uint64_t address, int64_t rows, int64_t cols,
                size_t bytes) {
  float *got = steps_read(a, address, rows, cols, bytes),
        *want = steps_read(b, address, rows, cols, bytes);
  const int equal = memcmp(got, want, (size_t)(rows * cols) * sizeof *got) == 0;
  free(got);
  free(want);
  return equal;
}

static int same_results(const steps_t *a, const steps_t *b) {
  int equal = 1;
  for (int l = 0; l < a->plan.layer_count; l++) {
    const ufp4_schedule_layer_t *shape = &a->layers[l];
    const ufp4_schedule_buffers_t *at = &a->buffers[l];
    for (int batch = 0; batch < a->plan.batches; batch++) {
      const int64_t tokens = ufp4_schedule_tokens(&a->plan, l, batch);
      equal &= same(a, b, at->y[batch], tokens, shape->cout, 2);
      equal &= same(a, b, at->dx[batch], tokens, shape->cin, 2);
      equal &= same(a, b, at->dw[batch], shape->cout, shape->cin, 4);
    }
  }
  return equal;
}

// With one micro-batch no other job hides a missing dependence.
TEST(a_dependence_left_out_is_seen_on_rtl) {
  static const steps_case_t one_batch = {"small", "ufp4", UFP4_DTYPE_BF16, 3, 1, 1, 0, 0};
  static const struct {
    int layer, pass, role;
  } broken[] = {{1, -1, UFP4_ROLE_DY}, {2, UFP4_PASS_FPROP, -1}, {2, UFP4_PASS_DGRAD, -1}};
  steps_t *good = steps_start("rtl", &one_batch), *again = steps_start("rtl", &one_batch);
  steps_go(good);
  steps_go(again);
  check_that(0, same_results(good, again), "two runs of one list differ");
  steps_end(again);
  for (int i = 0; i < 3; i++) {
    steps_t *bad = steps_start("rtl", &one_batch);
    ufp4_header_descriptor_t *header =
        &find(bad, broken[i].layer, broken[i].pass, broken[i].role)->descriptor.header;
    check_that(i, header->after || header->panels, "it names nothing");
    header->after = header->panels = 0;
    const ufp4_status_t status = ufp4_schedule_run(bad->device, &bad->schedule);
    check_that(i, status != UFP4_OK || !same_results(good, bad), "no difference");
    steps_end(bad);
  }
  steps_end(good);
}

/** The jobs that are known to be done when a job starts. */
typedef struct {
  int gemm, quant;  ///< the last one of each engine
} done_t;

static int is_gemm(const steps_t *run, int i) {
  return run->schedule.jobs[i].pass >= 0;
}

static int named(const steps_t *run, int i, int shift) {
  const int distance = run->schedule.jobs[i].descriptor.header.panels >> shift & 15;
  return distance == 0 ? -1 : i - distance;
}

static int most(int a, int b) {
  return a > b ? a : b;
}

static void keep(const steps_t *run, done_t *done, int job) {
  int *last = is_gemm(run, job) ? &done->gemm : &done->quant;
  *last = most(*last, job);
}

// Derives the done jobs from the rules of architecture.md for `after`, `panels`, the engines and
// the 16 jobs under way. A GEMM that is done has read all of the row copies that it follows.
static void know(const steps_t *run, done_t *done) {
  done_t of_engine[2] = {{-1, -1}, {-1, -1}};
  for (int i = 0; i < run->schedule.count; i++) {
    const ufp4_header_descriptor_t *header = &run->schedule.jobs[i].descriptor.header;
    done_t *own = &of_engine[is_gemm(run, i)];
    const int after = header->after == 0 ? -1 : i - header->after;
    for (int j = 0; j <= i - UNDER_WAY; j++) keep(run, own, j);
    if (after >= 0) {
      keep(run, own, after);
      own->quant = most(own->quant, done[after].quant);
      own->gemm = most(own->gemm, done[after].gemm);
    }
    done[i] = *own;
    if (!is_gemm(run, i)) {
      own->quant = i;
      continue;
    }
    own->gemm = i;
    own->quant = most(own->quant, most(named(run, i, 0), named(run, i, 4)));
  }
}

// Lists the places that a job reads (0) or writes (1): addresses, and slots as numbers below 64.
static int uses(const ufp4_schedule_job_t *job, int written, uint64_t list[5]) {
  const ufp4_gemm_descriptor_t *gemm = &job->descriptor.gemm;
  const ufp4_quant_descriptor_t *quant = &job->descriptor.quant;
  int count = 0;
  if (job->pass >= 0) {
    if (written) list[count++] = gemm->d_addr;
    if (written) return count;
    list[count++] = gemm->a_codes_addr;
    list[count++] = gemm->b_codes_addr;
    list[count++] = gemm->a_exponent;
    list[count++] = gemm->b_exponent;
  } else if (!written) {
    list[count++] = quant->src_addr;
  } else if (quant->opcode == UFP4_OPCODE_AMAX) {
    if (quant->row_mode != 0) list[count++] = quant->row_exponent;
    list[count++] = quant->col_exponent;
  } else {
    list[count++] = quant->row_codes_addr;
    list[count++] = quant->col_codes_addr;
  }
  return count;
}

static int meets(const ufp4_schedule_job_t *a, int a_written, const ufp4_schedule_job_t *b,
                 int b_written, uint64_t *what) {
  uint64_t lists[2][5];
  const int counts[] = {uses(a, a_written, lists[0]), uses(b, b_written, lists[1])};
  for (int i = 0; i < counts[0]; i++) {
    for (int j = 0; j < counts[1]; j++) {
      if (lists[0][i] != lists[1][j]) continue;
      *what = lists[0][i];
      return 1;
    }
  }
  return 0;
}

// Returns whether @p gemm follows the QUANT @p job, whose row copies it reads as they come, or the
// AMAX before that, whose exponents it reads.
static int follows(const steps_t *run, int gemm, int job, uint64_t what) {
  for (int shift = 0; shift < 8; shift += 4) {
    const int quant = named(run, gemm, shift);
    if (quant < 0) continue;
    const ufp4_quant_descriptor_t *of = &run->schedule.jobs[quant].descriptor.quant;
    if (job == quant && what == of->row_codes_addr) return 1;
    if (job < quant) return 1;
  }
  return 0;
}

static void check_waits(const steps_t *run, int index) {
  done_t *done = calloc((size_t)run->schedule.count, sizeof *done);
  know(run, done);
  for (int i = 0; i < run->schedule.count; i++) {
    for (int j = 0; j < i; j++) {
      const ufp4_schedule_job_t *late = &run->schedule.jobs[i], *early = &run->schedule.jobs[j];
      uint64_t what = 0;
      if (is_gemm(run, i) == is_gemm(run, j)) continue;
      if (!meets(early, 1, late, 0, &what) && !meets(early, 0, late, 1, &what) &&
          !meets(early, 1, late, 1, &what))
        continue;
      const int known = is_gemm(run, j) ? done[i].gemm : done[i].quant;
      check_that(index, j <= known || (is_gemm(run, i) && follows(run, i, j, what)),
                 "job %d does not wait for job %d: 0x%llx", i, j, (unsigned long long)what);
    }
  }
  free(done);
}

/** Checks lists of every kind: of two jobs on different engines, of which one writes what the other
 * uses, the later one waits. */
TEST(every_job_waits_for_what_it_uses) {
  int index = 0;
  for (int layers = 1; layers <= 19; layers += layers < 4 ? 1 : 5) {
    for (int batches = 1; batches <= UFP4_SCHEDULE_BATCHES; batches++) {
      for (int steps = 1; steps <= 3; steps++) {
        for (int kept = 0; kept <= 4; kept += 2) {
          const steps_case_t of = {"small", "ufp4", UFP4_DTYPE_BF16, layers, batches, steps,
                                   kept,    0};
          steps_t *run = steps_start("model", &of);
          check_waits(run, index++);
          steps_end(run);
        }
      }
    }
  }
}

// --- Cycles -------------------------------------------------------------------------------------

TEST(cycles_and_counters_are_the_cores_on_rtl) {
  static const char *const names[] = UFP4_COUNTER_NAMES;
  static const char *const backends[] = {"rtl", "tlm"};
  uint64_t counters[2][UFP4_COUNTER_COUNT];
  steps_t *runs[2];
  for (int i = 0; i < 2; i++) {
    runs[i] = steps_start(backends[i], &odd);
    steps_go(runs[i]);
    check_bits(i, ufp4_device_counters(runs[i]->device, counters[i]), UFP4_OK, "counters");
  }
  for (int i = 0; i < runs[0]->schedule.count; i++) {
    check_bits(i, runs[1]->schedule.jobs[i].cycles, runs[0]->schedule.jobs[i].cycles, "cycles");
    check_that(i, runs[0]->schedule.jobs[i].cycles > 0, "no cycles");
  }
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++)
    check_bits(i, counters[1][i], counters[0][i], "%s", names[i]);
  check_that(0, counters[0][UFP4_COUNTER_QUANT_BESIDE] > 0, "nothing was side by side");
  steps_end(runs[0]);
  steps_end(runs[1]);
}

// --- What is refused ----------------------------------------------------------------------------

TEST(rejects_impossible_plans) {
  steps_t *run = steps_start("model", &odd);
  ufp4_schedule_plan_t bad[7];
  const ufp4_schedule_layer_t one_token = {1, 8, 8}, no_width = {8, 0, 8};
  for (int i = 0; i < 7; i++) bad[i] = run->plan;
  bad[0].layer_count = 0;
  bad[1].batches = 3;
  bad[2].steps = 0;
  bad[3].kept = 1;
  bad[4].source = UFP4_DTYPE_I64;
  bad[5].layers = &one_token;
  bad[6].layers = &no_width;
  bad[5].layer_count = bad[6].layer_count = 1;
  for (int i = 0; i < 7; i++) {
    ufp4_schedule_t schedule;
    check_bits(i, ufp4_schedule_make(run->device, &bad[i], run->buffers, &schedule),
               UFP4_ERROR_ARGUMENT, "plan %d", i);
    check_that(i, strncmp(ufp4_device_message(run->device), "schedule: ", 10) == 0, "message");
  }
  steps_end(run);
}

TEST(rejects_recipes_that_need_the_host) {
  steps_t *run = steps_start("model", &odd);
  for (int i = 0; i < 3; i++) {
    ufp4_schedule_t schedule;
    ufp4_schedule_plan_t bad = run->plan;
    if (i < 2) check_bits(i, ufp4_recipe_named(i ? "bf16" : "nvfp4", &bad.recipe), UFP4_OK, "name");
    if (i == 2) bad.recipe.bf16_passes = 1u << UFP4_PASS_WGRAD;
    check_bits(i, ufp4_schedule_make(run->device, &bad, run->buffers, &schedule),
               UFP4_ERROR_UNSUPPORTED, "recipe %s", bad.recipe.name);
  }
  steps_end(run);
}
