// SPDX-License-Identifier: Apache-2.0
// Tests the quick path of the GPU's quantizer: both copies of a tensor, bit for bit against the
// golden model. test_quotient.c proves its finite claims.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "gpu.h"
#include "ufp4.h"
#include "ufp4/format.h"

// --- Whole jobs ---------------------------------------------------------------------------------

// A tensor whose rows consist of 16-byte pieces, and the options of its two copies.
typedef struct {
  int64_t rows, cols, ld;
  ufp4_dtype_t dtype;
  void *data;
  ufp4_quantize_t how[2];  // by axis
} job_t;

static void *memory(int64_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 16, (size_t)bytes) != 0) abort();
  memset(memory, 0xA5, (size_t)bytes);
  return memory;
}

static float scaled(uint32_t bits, int by) {
  const float x = ufp4_f32_value(bits);
  return isfinite(x) ? ldexpf(x, by) : x;
}

// Draws a job in which each tile of 16 x 16 elements has a kind and a size of its own; rows end in
// NaN.
static job_t job_of(check_random_t *random, int64_t rows, int64_t cols, ufp4_dtype_t dtype) {
  const int64_t pieces = dtype == UFP4_DTYPE_BF16 ? 8 : 4;
  job_t job = {.rows = rows, .cols = cols, .ld = (cols + pieces) / pieces * pieces, .dtype = dtype};
  const int64_t across = (cols + 15) / 16;
  fixture_distribution_t kinds[16 * 16];
  int powers[16 * 16];
  for (int i = 0; i < 16 * 16; i++) {
    kinds[i] = (fixture_distribution_t)check_below(random, FIXTURE_DISTRIBUTIONS);
    powers[i] = check_below(random, 4) ? (int)check_below(random, 24) - 20
                                       : (int)check_below(random, 200) - 100;
  }
  job.data = memory(rows * job.ld * 4);
  for (int64_t i = 0; i < rows * job.ld; i++) {
    const int64_t tile = i / job.ld / 16 * across + i % job.ld / 16;
    const float x = i % job.ld < cols
                        ? scaled(fixture_number(random, kinds[tile % 256]), powers[tile % 256])
                        : NAN;
    if (dtype == UFP4_DTYPE_BF16) {
      ((uint16_t *)job.data)[i] = (uint16_t)(ufp4_f32_bits(x) >> 16);
    } else {
      ((float *)job.data)[i] = x;
    }
  }
  return job;
}

static ufp4_matrix_t matrix_of(const job_t *job) {
  return (ufp4_matrix_t){job->dtype, job->rows, job->cols, job->ld, job->data};
}

static void names_of(const job_t *job, int axis, char what[200]) {
  const ufp4_quantize_t *how = &job->how[axis];
  snprintf(what, 200,
           "axis %d of %lld x %lld dtype %u, elem %u rht %u mask %04x round %u up %u t %d", axis,
           (long long)job->rows, (long long)job->cols, job->dtype, how->elem, how->rht,
           (unsigned)how->rht_mask, how->round, how->scale_round, how->exponent);
}

// The expected results of a job, and those of the calls.
typedef struct {
  ufp4_operand_t want[2];
  ufp4_cuda_operand_t out[2];
  int copies;  // bit 0 the row copy, bit 1 the column copy
  uint32_t flags;
  int32_t exponent[2];
  uint8_t *codes[2], *scales[2];
} run_t;

#define UNTOUCHED 0xA5

// @p panels: the copies have the core's layout, with zeros in the rows that fill a group of 16.
static void run_start(run_t *run, const job_t *job, int copies, int panels) {
  const ufp4_matrix_t in = matrix_of(job);
  *run = (run_t){.copies = copies};
  for (int axis = 0; axis < 2; axis++) {
    ufp4_operand_t *want = &run->want[axis];
    check_bits(axis, ufp4_quantize(&in, &job->how[axis], want), UFP4_OK, "golden");
    const int64_t entries = (want->rows + 15) / 16 * 16 * want->blocks;
    run->codes[axis] = memory(entries * 8);
    run->scales[axis] = memory(entries);
    run->out[axis] = operand_of(want);
    run->out[axis].codes = run->codes[axis];
    run->out[axis].scales = run->scales[axis];
    run->out[axis].exponent = &run->exponent[axis];
    run->out[axis].panel_stride = panels ? want->blocks : 0;
  }
}

static void run_calls(int64_t index, ufp4_cuda_t *cuda, const job_t *job, run_t *run, int amax) {
  const ufp4_matrix_t in = matrix_of(job);
  const size_t bytes = table()->quantize_workspace(cuda, &in);
  ufp4_message_t message = {0};
  const ufp4_cuda_call_t call = {
      .workspace = memory((int64_t)bytes), .workspace_bytes = bytes, .message = &message};
  const int first = run->copies == 2, count = run->copies == 3 ? 2 : 1;
  check_bits(index,
             (amax ? table()->amax : table()->quantize)(
                 cuda, &in, &job->how[first], &run->out[first], count, &run->flags, &call),
             UFP4_OK, "%s", message.text);
  free(call.workspace);
}

static void run_end(run_t *run) {
  for (int axis = 0; axis < 2; axis++) {
    ufp4_operand_free(&run->want[axis]);
    free(run->codes[axis]);
    free(run->scales[axis]);
  }
}

static uint64_t codes_at(const uint8_t *codes, int64_t i) {
  uint64_t word;
  memcpy(&word, codes + 8 * i, 8);
  return word;
}

// The codes and the scale of a block, and the expected ones.
typedef struct {
  uint64_t codes[2];
  uint8_t scales[2];
} pair_of_blocks_t;

static pair_of_blocks_t blocks_at(const run_t *run, int axis, int64_t row, int64_t block) {
  const ufp4_operand_t *want = &run->want[axis];
  const int64_t stride = run->out[axis].panel_stride,
                at = stride != 0 ? (row / 16 * stride + block) * 16 + row % 16
                                 : row * want->blocks + block;
  pair_of_blocks_t out = {{codes_at(run->codes[axis], at), 0}, {run->scales[axis][at], 0}};
  if (!(run->copies >> axis & 1) || (row >= want->rows && stride == 0)) {
    memset(&out.codes[1], UNTOUCHED, 8);
    out.scales[1] = UNTOUCHED;
  } else if (row < want->rows) {
    out.codes[1] = codes_at(want->codes, row * want->blocks + block);
    out.scales[1] = want->scales[row * want->blocks + block];
  }
  return out;
}

static int64_t differences_of(const run_t *run) {
  int64_t differ = 0;
  for (int axis = 0; axis < 2; axis++) {
    for (int64_t i = 0; i < run->want[axis].rows * run->want[axis].blocks; i++) {
      const pair_of_blocks_t x =
          blocks_at(run, axis, i / run->want[axis].blocks, i % run->want[axis].blocks);
      differ += x.codes[0] != x.codes[1] || x.scales[0] != x.scales[1];
    }
  }
  return differ;
}

static void check_copy(int64_t index, const job_t *job, const run_t *run, int axis) {
  const int64_t rows = (run->want[axis].rows + 15) / 16 * 16, blocks = run->want[axis].blocks;
  char what[200];
  names_of(job, axis, what);
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t block = 0; block < blocks; block++) {
      const pair_of_blocks_t x = blocks_at(run, axis, row, block);
      if (!check_bits(index, x.scales[0], x.scales[1], "%s: scale of row %lld, block %lld", what,
                      (long long)row, (long long)block) ||
          !check_bits(index, x.codes[0], x.codes[1], "%s: codes of row %lld, block %lld", what,
                      (long long)row, (long long)block))
        return;
    }
  }
}

static uint32_t flags_wanted(const run_t *run) {
  static const uint32_t saturated[2] = {UFP4_FLAG_ROW_SATURATED, UFP4_FLAG_COL_SATURATED};
  uint32_t flags = 0;
  for (int axis = 0; axis < 2; axis++) {
    if (!(run->copies >> axis & 1)) continue;
    flags |= run->want[axis].flags & UFP4_FLAG_NAN;
    if (run->want[axis].flags & UFP4_FLAG_ROW_SATURATED) flags |= saturated[axis];
  }
  return flags;
}

static void check_job(int64_t index, ufp4_cuda_t *cuda, const job_t *job, int copies, int panels) {
  run_t run;
  run_start(&run, job, copies, panels);
  run_calls(index, cuda, job, &run, 0);
  for (int axis = 0; axis < 2; axis++) check_copy(index, job, &run, axis);
  char what[200];
  names_of(job, 0, what);
  check_bits(index, run.flags, flags_wanted(&run), "%s: flags of copies %d", what, copies);
  run_end(&run);
}

static ufp4_cuda_t *open_gpu(const emulated_weather_t *weather) {
  ufp4_message_t message = {0};
  ufp4_cuda_t *cuda;
  set_weather(weather);
  if (table()->open(&message, &cuda) != UFP4_OK) abort();
  return cuda;
}

// Gives all numbers about the same size, without NaN and Inf, so that any block may be the largest.
static void make_alike(job_t *job, int power) {
  for (int64_t i = 0; i < job->rows * job->ld; i++) {
    uint16_t *const narrow = (uint16_t *)job->data + i;
    float *const wide = (float *)job->data + i;
    const int is_narrow = job->dtype == UFP4_DTYPE_BF16;
    const float x = is_narrow ? ufp4_f32_value((uint32_t)*narrow << 16) : *wide;
    int exponent;
    const float made = isfinite(x) ? ldexpf(frexpf(x, &exponent), power) : 0;
    if (is_narrow) {
      *narrow = (uint16_t)(ufp4_f32_bits(made) >> 16);
    } else {
      *wide = made;
    }
  }
}

#define KINDS (3 * 2 * 2 * 4)
// Sets element, rounding, rounding of scales, and which copies are transformed.
static void set_kind(job_t *job, check_random_t *random, int kind, const int exponents[2]) {
  for (int axis = 0; axis < 2; axis++) {
    job->how[axis] =
        (ufp4_quantize_t){.elem = (ufp4_elem_t)(kind % 3),
                          .axis = (ufp4_axis_t)axis,
                          .round = (ufp4_round_t)(kind / 3 % 2),
                          .scale_round = (ufp4_scale_round_t)(kind / 6 % 2),
                          .rht = kind / 12 >> axis & 1 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
                          .tensor_id = check_next(random),
                          .exponent_given = 1,
                          .exponent = exponents[axis]};
    job->how[axis].seed = job->how[0].seed;
  }
  job->how[0].seed = job->how[1].seed = check_next(random);
  job->how[0].rht_mask = job->how[1].rht_mask =
      check_below(random, 2) ? UFP4_RHT_DEFAULT_MASK : (uint16_t)check_next(random);
}

static const int exponents[] = {-100, -81, -80, -79, -40, -12, -3, 0, 6, 13, 40, 79, 80, 81, 100};
#define EXPONENTS 15

static void check_kinds(ufp4_cuda_t *cuda, check_random_t *random, int64_t rows, int64_t cols) {
  for (int kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < EXPONENTS; i++) {
      job_t job = job_of(random, rows, cols, i % 3 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
      set_kind(&job, random, kind,
               (const int[2]){exponents[i], exponents[(i + 7 * kind) % EXPONENTS]});
      check_job(kind * EXPONENTS + i, cuda, &job, 3, i % 2);
      free(job.data);
    }
  }
}

// Covers three elements, roundings, transforms and exponents; each tile has another distribution
// and size.
SLOW_TEST(equals_the_golden_model) {
  check_random_t random = check_random();
  ufp4_cuda_t *cuda = open_gpu(&weathers[0]);
  check_kinds(cuda, &random, 64, 128);
  table()->close(cuda);
}

// Covers whole tiles and partial ones, tensors or rows that are not aligned to 16 bytes, one copy
// or both, in every weather.
SLOW_TEST(equals_the_golden_model_in_any_shape) {
  static const int shapes[][2] = {{32, 64}, {31, 64},  {32, 63},  {33, 65}, {1, 1},   {96, 192},
                                  {64, 80}, {95, 191}, {100, 70}, {16, 64}, {47, 130}};
  check_random_t random = check_random();
  int64_t index = 0;
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_cuda_t *cuda = open_gpu(&weathers[w]);
    for (int i = 0; i < 11 * 12; i++) {
      const ufp4_dtype_t dtype = i % 2 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
      job_t job = job_of(&random, shapes[i % 11][0], shapes[i % 11][1], dtype);
      set_kind(&job, &random, (int)check_below(&random, KINDS), (const int[2]){6, -3});
      void *const data = job.data;
      if (i % 5 == 1) job.data = (char *)data + (dtype == UFP4_DTYPE_BF16 ? 2 : 4);
      if (i % 5 == 2) job.ld = job.cols | 1;
      check_job(index++, cuda, &job, i % 3 + 1, i / 3 % 2);
      free(data);
    }
    table()->close(cuda);
  }
}

// AMAX must find the exponent that the golden model chooses.
SLOW_TEST(amax_equals_the_golden_model) {
  check_random_t random = check_random();
  for (int w = 0; w < WEATHERS; w++) {
    ufp4_cuda_t *cuda = open_gpu(&weathers[w]);
    for (int i = 0; i < 60; i++) {
      const int64_t rows = 32 * (1 + i % 2) + i % 3, cols = 64 + 16 * (i % 5);
      job_t job = job_of(&random, rows, cols, i % 4 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
      set_kind(&job, &random, (int)check_below(&random, KINDS), (const int[2]){0, 0});
      if (i % 3 == 0) make_alike(&job, (int)check_below(&random, 250) - 130);
      job.how[0].exponent_given = job.how[1].exponent_given = 0;
      run_t run;
      run_start(&run, &job, 3, 0);
      run_calls(i, cuda, &job, &run, 1);
      for (int axis = 0; axis < 2; axis++) {
        char what[200];
        names_of(&job, axis, what);
        check_bits(i, (uint64_t)run.exponent[axis], (uint64_t)run.want[axis].exponent,
                   "%s: exponent", what);
      }
      check_bits(i, run.flags, flags_wanted(&run) & UFP4_FLAG_NAN, "flags");
      run_end(&run);
      free(job.data);
    }
    table()->close(cuda);
  }
}

// The failures show that the quick path is taken, and that its instructions matter.
TEST(rejects_wrong_instructions) {
  check_random_t random = check_random();
  for (int fault = EMULATED_FAULTS; fault < EMULATED_QUANTIZER_FAULTS; fault++) {
    const emulated_weather_t weather = {.capability = 90, .fault = fault};
    ufp4_cuda_t *cuda = open_gpu(&weather);
    int64_t differ = 0;
    for (int kind = 0; kind < KINDS; kind++) {
      job_t job = job_of(&random, 32, 64, UFP4_DTYPE_F32);
      set_kind(&job, &random, kind, (const int[2]){6, 6});
      run_t run;
      run_start(&run, &job, 3, 0);
      run_calls(kind, cuda, &job, &run, 0);
      differ += differences_of(&run);
      run_end(&run);
      free(job.data);
    }
    check_that(fault, differ > 20, "fault %d changed %lld blocks only", fault, (long long)differ);
    table()->close(cuda);
  }
}
