// SPDX-License-Identifier: Apache-2.0
// Random jobs, legal and illegal, on the simulated core and on the golden model: the same statuses
// and flags, and the same bytes in all of memory, including those that no job may touch.
#include <stdlib.h>
#include <string.h>

#include "base/configuration.h"
#include "edges.h"
#include "far.h"
#include "graph.h"
#include "long.h"
#include "random_jobs.h"
#include "stand.h"
#include "ufp4/format.h"

static void chains(const setting_t *settings, size_t count, int runs, uint32_t limit,
                   uint64_t d_places) {
  for (size_t i = 0; i < count; i++) {
    pair_t pair = pair_open(&settings[i], i, d_places);
    pair_scramble(&pair);
    for (int run = 0; run < runs; run++) chain(&pair, limit);
    // These jobs have more than two chunks of k in every configuration.
    chain_of(&pair, 1 + below(&pair, 20), 1 + below(&pair, 20), 1025 + below(&pair, 100));
    pair_close(&pair);
  }
}

// Jobs side by side, for every @p step th setting.
static void graphs(const setting_t *settings, size_t count, size_t step, int runs) {
  static graph_t graph;
  uint64_t beside = 0;
  for (size_t i = 0; i < count; i += step) {
    pair_t pair = pair_open(&settings[i], 2000 + i, 1);
    uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT];
    pair_scramble(&pair);
    pair_must(pair.device[0], ufp4_device_counters(pair.device[0], before));
    for (int run = 0; run < runs; run++) {
      random_graph(&pair, &graph, 300);
      run_graph(&pair, &graph);
    }
    pair_must(pair.device[0], ufp4_device_counters(pair.device[0], after));
    stand_check_sum(0, after);
    check_bits(0, after[UFP4_COUNTER_JOBS] - before[UFP4_COUNTER_JOBS], (uint64_t)pair.jobs,
               "jobs");
    beside += after[UFP4_COUNTER_QUANT_BESIDE] - before[UFP4_COUNTER_QUANT_BESIDE];
    pair_close(&pair);
  }
  check_that(0, beside != 0, "nothing ran side by side");
}

static const setting_t settings[] = {
    {"default", 1, 0, 0},  {"default", 200, 0, 0}, {"default", 1, 8, 0},   {"default", 100, 24, 0},
    {"default", 5, 0, 11}, {"default", 90, 64, 6}, {"small", 1, 0, 0},     {"small", 200, 0, 0},
    {"small", 3, 3, 0},    {"small", 5, 0, 21},    {"small", 60, 8, 1234},
};
#define SETTINGS (sizeof settings / sizeof settings[0])

// Contract fp32.
static const setting_t fp32_settings[] = {{"small-fp32", 1, 0, 0},
                                          {"small-fp32", 200, 0, 0},
                                          {"small-fp32", 7, 3, 0},
                                          {"small-fp32", 40, 0, 9}};
#define FP32_SETTINGS (sizeof fp32_settings / sizeof fp32_settings[0])

SLOW_TEST(fp32_equal_the_model) {
  chains(fp32_settings, FP32_SETTINGS, 6, 60, 1);
}

FULL_TEST(fp32_equal_the_model_on_many) {
  chains(fp32_settings, FP32_SETTINGS, 40, 120, 1);
}

// Contract nv.
static const setting_t nv_settings[] = {
    {"small-nv", 1, 0, 0}, {"small-nv", 150, 0, 0}, {"small-nv", 7, 3, 8}};
#define NV_SETTINGS (sizeof nv_settings / sizeof nv_settings[0])

SLOW_TEST(nv_equal_the_model) {
  chains(nv_settings, NV_SETTINGS, 6, 60, 1);
}

FULL_TEST(nv_equal_the_model_on_many) {
  chains(nv_settings, NV_SETTINGS, 40, 120, 1);
}

// Blocks of elements mixed have one grid or the other, in each contract.
static void mixed_on(const char *name, uint64_t seed) {
  const setting_t setting = {name, 7, 0, 0};
  pair_t pair = pair_open(&setting, seed, 1);
  pair_scramble(&pair);
  mixed_gemms(&pair, 19, 35, 100);
  pair_close(&pair);
}

TEST(mixed_equal_the_model) {
  mixed_on("small", 4000);
  mixed_on("small-fp32", 4002);
  mixed_on("small-nv", 4003);
}

// The form for simulators.
TEST(mixed_on_default_equal_the_model) {
  mixed_on("default", 4001);
}

// The configuration named by UFP4_TEST_CONFIGURATION, or the name that its parameters make; CMake
// makes a test of each that is simulated on demand. Large ones run fewer jobs. Jobs overlap only on
// configurations with all formats and a QUANT engine.
#define DEMANDED_TEST(property) TEST(property)
DEMANDED_TEST(configuration_equals_the_model) {
  const char *name = getenv("UFP4_TEST_CONFIGURATION");
  ufp4_configuration_t of = {.name = ""};
  ufp4_target_t target;
  ufp4_message_t why = {0};
  if (name == NULL) name = "small";
  check_bits(0, configuration_find(name, &of, &target, &why), UFP4_OK, "%s: %s", name, why.text);
  const setting_t demanded[] = {
      {name, 1, 0, 0}, {name, 120, 0, 0}, {name, 9, 5, 0}, {name, 30, 0, 3}, {name, 6, 0, 16}};
  const size_t count = sizeof demanded / sizeof demanded[0];
  const int large = of.rows >= 16;
  chains(demanded, count, large ? 4 : 25, 100, 1);
  if (of.quant && of.formats == UFP4_FORMATS_ALL) graphs(demanded, count, 1, large ? 1 : 2);
}

SLOW_TEST(equal_the_model) {
  chains(settings, SETTINGS, 4, 60, 1);
}

FULL_TEST(equal_the_model_on_many) {
  chains(settings, SETTINGS, 60, 200, 1);
}

FULL_TEST(equal_the_model_on_large) {
  static const setting_t large[] = {{"default", 100, 0, 0}, {"default", 20, 0, 7}};
  chains(large, 2, 12, 400, 4);
}

// --- K in parts ---

// A job over k elements from block @p first on, in place of the whole k of @p whole.
static ufp4_descriptor_t part_of(const ufp4_descriptor_t *whole, uint32_t first, uint32_t k) {
  ufp4_descriptor_t part = *whole;
  ufp4_gemm_descriptor_t *g = &part.gemm;
  g->k = k;
  g->a_codes_addr += (uint64_t)first * UFP4_PANEL_CODE_BYTES;
  g->b_codes_addr += (uint64_t)first * UFP4_PANEL_CODE_BYTES;
  g->a_scales_addr += (uint64_t)first * UFP4_PANEL_SCALE_BYTES;
  g->b_scales_addr += (uint64_t)first * UFP4_PANEL_SCALE_BYTES;
  return part;
}

static void compare_rows(pair_t *pair, const ufp4_gemm_descriptor_t *a,
                         const ufp4_gemm_descriptor_t *b) {
  enum { MAX = 512 };
  uint8_t row[2][MAX * sizeof(float)];
  const uint64_t bytes = (uint64_t)a->n * dtype_size(a->d_dtype);
  for (uint32_t r = 0; r < a->m; r++) {
    pair_must(pair->device[0],
              ufp4_buffer_read(pair->device[0], a->d_addr + (uint64_t)r * a->d_stride_bytes, row[0],
                               bytes));
    pair_must(pair->device[0],
              ufp4_buffer_read(pair->device[0], b->d_addr + (uint64_t)r * b->d_stride_bytes, row[1],
                               bytes));
    check_that(pair->jobs, memcmp(row[0], row[1], bytes) == 0,
               "row %u of D changes with the parts of K", r);
  }
}

// Parts of K, each added to the sums of those before, give the same D as one job.
static void split(pair_t *pair) {
  const uint32_t m = random_size(pair, 150), n = random_size(pair, 150), k = 129 + below(pair, 600);
  const uint16_t slot = (uint16_t)(4 * below(pair, UFP4_SLOTS / 4));
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, slot);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, (uint16_t)(slot + 2));
  x.quant.row_mode |= UFP4_MODE_ENABLE;
  w.quant.row_mode |= UFP4_MODE_ENABLE;
  quantize(pair, &x, FIXTURE_GAUSSIAN);
  quantize(pair, &w, FIXTURE_GAUSSIAN);
  ufp4_descriptor_t whole = random_gemm(pair, &x.quant, &w.quant);
  whole.gemm.d_dtype &= UFP4_DTYPE_BF16;
  whole.gemm.d_mode &= UFP4_D_MODE_ALPHA;
  pair_job(pair, &whole, "GEMM");
  ufp4_descriptor_t part = whole;
  for (uint32_t done = 0, some; done < k; done += some) {
    some = done + 128 < k ? 128 * (1 + below(pair, (k - done - 1) / 128)) : k - done;
    const int last = done + some >= k;
    part = part_of(&whole, done / 16, some);
    part.gemm.d_mode =
        (uint8_t)((done != 0 ? UFP4_D_MODE_SUMS : 0) | (last ? whole.gemm.d_mode : 0));
    part.gemm.d_addr = last ? whole.gemm.c_addr : whole.gemm.sums_addr;
    part.gemm.d_stride_bytes = last ? whole.gemm.d_stride_bytes : whole.gemm.sums_stride_bytes;
    if (!last) part.gemm.d_dtype = UFP4_DTYPE_I64;
    pair_job(pair, &part, "GEMM of a part of K");
  }
  compare_rows(pair, &whole.gemm, &part.gemm);
  pair_compare(pair, "GEMM in parts");
}

static void splits(size_t step, int runs) {
  for (size_t i = 0; i < SETTINGS; i += step) {
    pair_t pair = pair_open(&settings[i], 500 + i, 1);
    pair_scramble(&pair);
    for (int run = 0; run < runs; run++) split(&pair);
    pair_close(&pair);
  }
}

SLOW_TEST(parts_of_k_change_no_bit) {
  splits(3, 2);
}

FULL_TEST(parts_of_k_change_no_bit_in_many) {
  splits(1, 6);
}

// --- Malformed jobs ---

// Sets one byte of a descriptor to something else; bytes whose change only makes a job long, or
// lets its tensors overlap (so that the result depends on the order of accesses), stay.
static void mutate(pair_t *pair, ufp4_descriptor_t *job) {
  static const uint8_t quant_kept[] = {9,  10, 13, 14, 17, 18, 25, 26, 41, 42, 49,
                                       50, 57, 58, 65, 66, 73, 74, 77, 78, 80};
  static const uint8_t gemm_kept[] = {9,  10, 13, 14, 17, 18, 33, 34, 41, 42, 49, 50, 57, 58,  65,
                                      66, 73, 74, 77, 78, 81, 82, 85, 86, 89, 90, 97, 98, 105, 106};
  const int gemm = job->header.opcode == UFP4_OPCODE_GEMM;
  const uint8_t *kept = gemm ? gemm_kept : quant_kept;
  const size_t count = gemm ? sizeof gemm_kept : sizeof quant_kept;
  // Mostly fields that have rules; single bits as often as whole bytes.
  const uint32_t at = below(pair, below(pair, 4) ? 116 : UFP4_DESCRIPTOR_BYTES);
  if (memchr(kept, (int)at, count) != NULL) return;
  const uint32_t change = below(pair, 2) ? 1u << below(pair, 8) : below(pair, 256);
  job->bytes[at] ^= (uint8_t)change;
}

static void malformed(pair_t *pair) {
  const uint32_t m = 1 + below(pair, 40), n = 1 + below(pair, 40), k = 1 + below(pair, 80);
  const ufp4_descriptor_t x =
      random_quant(pair, m, k, SOURCE_X, X_CODES, (uint16_t)below(pair, UFP4_SLOTS - 1));
  const ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, 2);
  ufp4_descriptor_t jobs[] = {x, e8m0_of(pair, &x), amax_of(&x),
                              random_gemm(pair, &x.quant, &w.quant)};
  ufp4_descriptor_t *job = &jobs[below(pair, sizeof jobs / sizeof jobs[0])];
  // With garbage as a source nearly every block contains NaN or Inf.
  if (below(pair, 4) == 0) write_source(pair, &x.quant, FIXTURE_GAUSSIAN);
  for (uint32_t i = below(pair, 3); i < 3; i++) mutate(pair, job);
  if (pair_job(pair, job, "a malformed job") < UFP4_CORE_STATUS_READ_ERROR)
    pair_compare(pair, "a malformed job");
}

static void rejects_malformed(size_t first, size_t step, int runs) {
  for (size_t i = first; i < SETTINGS; i += step) {
    pair_t pair = pair_open(&settings[i], 1000 + i, 1);
    pair_scramble(&pair);
    for (int run = 0; run < runs; run++) malformed(&pair);
    chain(&pair, 40);
    pair_close(&pair);
  }
}

SLOW_TEST(rejects_malformed_as_the_model_does) {
  rejects_malformed(4, 5, 60);
}

FULL_TEST(rejects_many_malformed_as_the_model_does) {
  rejects_malformed(0, 1, 800);
}

// --- Jobs side by side ---

SLOW_TEST(side_by_side_equal_the_model) {
  graphs(settings + 2, SETTINGS - 2, 3, 1);
}

FULL_TEST(side_by_side_equal_the_model_on_many) {
  graphs(settings, SETTINGS, 1, 6);
}

// --- A few of each on small, for the coverage of the RTL (tests/rtl/coverage) ---

// Quantizes tensors with NaN here and there to both copies, of BF16 and of FP32, which wait where
// memory takes long to write. The rows that the last strip lacks come one a cycle, whatever the
// bus.
static void special_copies(pair_t *pair) {
  for (uint8_t dtype = UFP4_DTYPE_F32; dtype <= UFP4_DTYPE_BF16; dtype++) {
    ufp4_descriptor_t quant = random_quant(pair, 49, 256, SOURCE_X, X_CODES, 0);
    quant.quant.row_mode |= UFP4_MODE_ENABLE;
    quant.quant.col_mode |= UFP4_MODE_ENABLE;
    quant.quant.src_dtype = dtype;
    quant.quant.src_stride_bytes = 256 * sizeof(float);
    const ufp4_descriptor_t e8m0 = e8m0_of(pair, &quant);
    quantize(pair, &quant, FIXTURE_SPECIAL);
    pair_job(pair, &e8m0, "QUANT with E8M0 scales");
    pair_compare(pair, "QUANT with E8M0 scales");
  }
}

// Both copies of BF16 are made beside a GEMM that writes far more than it reads, so that blocks
// wait in the middle of QUANT.
static void copies_beside_gemm(pair_t *pair) {
  static graph_t graph;
  ufp4_descriptor_t quant = random_quant(pair, 49, 64, SOURCE_X, X_CODES, 0);
  const ufp4_descriptor_t w = random_quant(pair, 64, 16, SOURCE_W, W_CODES, 2);
  quant.quant.row_mode |= UFP4_MODE_ENABLE;
  quant.quant.col_mode |= UFP4_MODE_ENABLE;
  quant.quant.src_dtype = UFP4_DTYPE_BF16;
  quantize(pair, &quant, FIXTURE_SPECIAL);
  ufp4_descriptor_t gemm = random_gemm(pair, &w.quant, &w.quant);
  gemm.gemm.a_mode = 0;
  gemm.gemm.d_mode = 0;
  gemm.gemm.d_dtype = pair->contract == UFP4_CONTRACT_EXACT ? UFP4_DTYPE_I64 : UFP4_DTYPE_F32;
  gemm.gemm.d_stride_bytes = 64 * sizeof(int64_t);
  gemm.header.flags = quant.header.flags = 2;
  graph.count = 2;
  graph.jobs[0] = gemm;
  graph.jobs[1] = quant;
  // Other data, because remains of the first ones would hide a lost block; and blocks of zeros.
  for (int sparse = 0; sparse < 2; sparse++) {
    write_source(pair, &quant.quant, sparse ? FIXTURE_SPARSE : FIXTURE_SPECIAL);
    run_graph(pair, &graph);
  }
}

// Each seed except 0 makes other channels of memory slow.
static void reference_channels(const char *configuration, uint64_t seeds) {
  for (uint64_t seed = 0; seed <= seeds; seed++) {
    const setting_t setting = {configuration, 5, 0, seed};
    pair_t pair = pair_open(&setting, 6000 + seed, 1);
    pair_scramble(&pair);
    special_copies(&pair);
    copies_beside_gemm(&pair);
    pair_close(&pair);
  }
}

SLOW_TEST(special_copies_equal_the_model) {
  reference_channels("default", 8);
}

static void edges(pair_t *pair, int runs) {
  for (int run = 0; run < runs; run++) {
    turning_points(pair);
    ties(pair);
    tied_transforms(pair);
    largest_products(pair);
  }
}

static void edges_of(const setting_t *setting) {
  pair_t pair = pair_open(setting, 7000, 1);
  pair_scramble(&pair);
  edges(&pair, 4);
  pair_close(&pair);
}

SLOW_TEST(edges_equal_the_model) {
  edges_of(&settings[0]);
  edges_of(&fp32_settings[0]);
  edges_of(&nv_settings[0]);
}

SLOW_TEST(long_sides_equal_the_model) {
  long_sides(&settings[0]);
}

SLOW_TEST(long_sides_on_small) {
  static const setting_t small = {"small", 7, 0, 0};
  long_sides(&small);
}

TEST(long_k_equals_the_model) {
  long_k(&settings[0]);
}

SLOW_TEST(long_k_on_small) {
  static const setting_t small = {"small", 1, 0, 0};
  long_k(&small);
}

SLOW_TEST(long_quants_on_small) {
  static const setting_t small = {"small", 1, 0, 0};
  long_quants(&small);
}

// By the seed, the memory allows no read beside a write, or no write beside a read: writes of the
// core must not wait for its reads, nor reads for writes.
static void turns(const char *configuration, int runs, uint32_t limit) {
  static graph_t graph;
  for (uint64_t seed = 4; seed < 12; seed++) {
    const setting_t setting = {configuration, 5, 0, seed};
    pair_t pair = pair_open(&setting, 8000 + seed, 1);
    pair_scramble(&pair);
    for (int run = 0; run < runs; run++)
      gemms(&pair, 1 + below(&pair, limit), 1 + below(&pair, limit), 1 + below(&pair, 80), 4);
    chain(&pair, limit);
    random_graph(&pair, &graph, limit);
    run_graph(&pair, &graph);
    pair_close(&pair);
  }
}

SLOW_TEST(turns_of_reads_and_writes) {
  turns("default", 4, 160);
}

SLOW_TEST(turns_on_small) {
  turns("small", 2, 60);
  turns("small-fp32", 1, 60);
  turns("small-nv", 1, 60);
}

static void far_chains(const setting_t *setting, uint64_t seed, int runs) {
  pair_t pair = pair_open_far(setting, seed);
  pair_scramble(&pair);
  for (int run = 0; run < runs; run++) far_chain(&pair);
  pair_close(&pair);
}

TEST(far_apart_equal_the_near) {
  far_chains(&settings[0], 4000, 6);
}

static void jobs_on_small(int chains, int bad, int graphs, uint32_t limit) {
  static const setting_t small[] = {{"small", 5, 0, 21}, {"small", 30, 8, 0}, {"small", 1, 0, 0}};
  static graph_t graph;
  for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
    pair_t pair = pair_open(&small[i], 3000 + i, 1);
    pair_scramble(&pair);
    for (int run = 0; run < chains; run++) chain(&pair, limit);
    edges(&pair, chains);
    for (int run = 0; run < chains; run++)
      gemms(&pair, 1 + below(&pair, 20), 1 + below(&pair, 20), 1 + below(&pair, 80), 12);
    for (int run = 0; run < bad; run++) malformed(&pair);
    for (int run = 0; run < graphs; run++) {
      random_graph(&pair, &graph, limit);
      run_graph(&pair, &graph);
    }
    pair_close(&pair);
    far_chains(&small[i], 4001 + i, chains);
  }
}

SLOW_TEST(few_on_small) {
  jobs_on_small(3, 20, 1, 40);
  reference_channels("small", 8);
}

SLOW_TEST(more_on_small) {
  jobs_on_small(check_draws(5, 10), check_draws(50, 100), check_draws(2, 3), 100);
  jobs_on_small(1, 0, 0, 300);
}
