// SPDX-License-Identifier: Apache-2.0
// Random jobs, legal and not, on the simulated core and on the golden model: the same statuses, flags and slots, and
// the same bytes in all of memory, what no job may touch included.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "fixture.h"
#include "ufp4/format.h"

#define PLACE_BYTES (512ull << 10)  // each tensor has a place of its own, wide enough for any of its strides
#define MEMORY_BYTES (16ull << 20)

enum { SOURCE_X, SOURCE_W, X_CODES, X_SCALES, XT_CODES, XT_SCALES, W_CODES, W_SCALES, WT_CODES, WT_SCALES, D, SUMS, C };
enum { PLACES = C + 1 };

typedef struct {
  const char *configuration;
  unsigned latency, bandwidth;
  uint64_t stall_seed;
} setting_t;

typedef struct {
  ufp4_device_t *device[2];  // rtl, model
  uint8_t *memory[2];        // what was read back of each
  uint64_t address;          // of place 0, the same on both
  check_random_t random;
  int64_t jobs;
  const setting_t *setting;
  uint64_t d_places;  // that D, and what is added to it, have each
  uint64_t bytes;     // of all places
  uint32_t contract;  // of the configuration
} pair_t;

static void must(ufp4_device_t *device, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "jobs: %s\n", ufp4_device_message(device));
  exit(1);
}

static pair_t pair_open(const setting_t *setting, uint64_t seed, uint64_t d_places) {
  static const char *const backends[2] = {"rtl", "model"};
  pair_t pair = {.random = check_random(), .setting = setting, .d_places = d_places};
  pair.bytes = (D + (PLACES - D) * d_places) * PLACE_BYTES;
  pair.random.state += seed;
  for (int i = 0; i < 2; i++) {
    ufp4_device_options_t options = ufp4_device_options_default();
    ufp4_message_t message = {""};
    options.configuration = setting->configuration;
    options.memory_bytes = MEMORY_BYTES;
    options.mem_latency = setting->latency;
    options.mem_bandwidth = setting->bandwidth;
    options.stall_seed = setting->stall_seed;
    options.message = &message;
    if (ufp4_device_open(backends[i], &options, &pair.device[i]) != UFP4_OK) {
      fprintf(stderr, "jobs: %s\n", message.text);
      exit(1);
    }
    must(pair.device[i], ufp4_buffer_alloc(pair.device[i], pair.bytes, &pair.address));
    ufp4_device_info_t info;
    must(pair.device[i], ufp4_device_info(pair.device[i], &info));
    pair.contract = info.configuration.contract;
    pair.memory[i] = malloc(pair.bytes);
  }
  return pair;
}

static void pair_close(pair_t *pair) {
  for (int i = 0; i < 2; i++) {
    ufp4_device_close(pair->device[i]);
    free(pair->memory[i]);
  }
}

static void pair_write(pair_t *pair, uint64_t address, const void *data, uint64_t bytes) {
  for (int i = 0; i < 2; i++) must(pair->device[i], ufp4_buffer_write(pair->device[i], address, data, bytes));
}

// Garbage everywhere, so that a read or a write in the wrong place shows.
static void pair_scramble(pair_t *pair) {
  uint64_t *words = (uint64_t *)pair->memory[0];
  for (uint64_t i = 0; i < pair->bytes / sizeof *words; i++) words[i] = check_next(&pair->random);
  pair_write(pair, pair->address, words, pair->bytes);
}

static void pair_compare(pair_t *pair, const char *what) {
  for (int i = 0; i < 2; i++) {
    must(pair->device[i], ufp4_buffer_read(pair->device[i], pair->address, pair->memory[i], pair->bytes));
  }
  if (memcmp(pair->memory[0], pair->memory[1], pair->bytes) == 0) return;
  const uint64_t *got = (const uint64_t *)pair->memory[0], *want = (const uint64_t *)pair->memory[1];
  for (uint64_t i = 0; i < pair->bytes / sizeof *got; i++) {
    if (got[i] == want[i]) continue;
    check_bits(pair->jobs, got[i], want[i],
               "%s: 8 bytes at place %d + 0x%llx; %s, latency %u, bandwidth %u, stall seed %llu", what,
               (int)(8 * i / PLACE_BYTES), (unsigned long long)(8 * i % PLACE_BYTES), pair->setting->configuration,
               pair->setting->latency, pair->setting->bandwidth, (unsigned long long)pair->setting->stall_seed);
  }
}

// A job that met a bus error has left its output in no defined state: the model takes over what the core left.
static void pair_reconcile(pair_t *pair) {
  ufp4_device_t *rtl = pair->device[0], *model = pair->device[1];
  must(rtl, ufp4_buffer_read(rtl, pair->address, pair->memory[0], pair->bytes));
  must(model, ufp4_buffer_write(model, pair->address, pair->memory[0], pair->bytes));
}

// The counters of one job: all of its cycles are of its own kind.
static void check_counters(pair_t *pair, const ufp4_descriptor_t *job, const ufp4_completion_t *done,
                           const uint64_t before[UFP4_COUNTER_COUNT], const uint64_t after[UFP4_COUNTER_COUNT]) {
  uint64_t spent[UFP4_COUNTER_COUNT], engine = 0;
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) spent[i] = after[i] - before[i];
  const int gemm = job->header.opcode == UFP4_OPCODE_GEMM;
  for (int i = UFP4_COUNTER_ARRAY_BUSY; i <= UFP4_COUNTER_STALL_DRAIN; i++) engine += spent[i];
  bench_check_sum(pair->jobs, after);
  check_bits(pair->jobs, engine, gemm ? done->cycles : 0, "cycles in which the array worked or stalled");
  check_bits(pair->jobs, spent[UFP4_COUNTER_QUANT], gemm ? 0 : done->cycles, "cycles of QUANT");
  check_bits(pair->jobs, spent[UFP4_COUNTER_JOBS], 1, "jobs");
}

static ufp4_core_status_t pair_job(pair_t *pair, const ufp4_descriptor_t *job, const char *what) {
  ufp4_completion_t done[2];
  uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT];
  pair->jobs++;
  must(pair->device[0], ufp4_device_counters(pair->device[0], before));
  for (int i = 0; i < 2; i++) {
    uint32_t number;
    ufp4_status_t status = ufp4_submit(pair->device[i], job, &number);
    // The driver lets no job near the rings.
    if (i == 0 && status == UFP4_ERROR_ARGUMENT) {
      check_bits(pair->jobs, ufp4_submit(pair->device[1], job, NULL), status, "submit of %s", what);
      return UFP4_CORE_STATUS_BAD_ADDRESS;
    }
    must(pair->device[i], status);
    status = ufp4_wait(pair->device[i], number, 0, &done[i]);
    if (status != UFP4_ERROR_JOB) must(pair->device[i], status);
  }
  must(pair->device[0], ufp4_device_counters(pair->device[0], after));
  check_bits(pair->jobs, done[0].status, done[1].status, "status of %s", what);
  check_bits(pair->jobs, done[0].flags, done[1].flags, "flags of %s", what);
  check_counters(pair, job, &done[0], before, after);
  if (done[1].status >= UFP4_CORE_STATUS_READ_ERROR) pair_reconcile(pair);
  return (ufp4_core_status_t)done[1].status;
}

// --- Random tensors and descriptors
// ------------------------------------------------------------------------------------

static uint32_t below(pair_t *pair, uint32_t bound) {
  return check_below(&pair->random, bound);
}

// An address in a place, aligned, not always at its start.
static uint64_t place(pair_t *pair, uint64_t index) {
  if (index > D) index = D + (index - D) * pair->d_places;
  return pair->address + index * PLACE_BYTES + (uint64_t)UFP4_ALIGN_BYTES * below(pair, 64);
}

static uint32_t block_stride(pair_t *pair, uint32_t length) {
  return ((length + 15) / 16 + 7) / 8 * 8 + 8 * below(pair, 3);
}

static uint32_t byte_stride(pair_t *pair, uint32_t bytes) {
  return (bytes + 127) / 128 * 128 + 128 * below(pair, 3);
}

static void write_source(pair_t *pair, const ufp4_quant_descriptor_t *quant, fixture_distribution_t distribution) {
  enum { MAX = 1024 };
  uint32_t row[MAX];
  uint16_t row_bf16[MAX];
  for (uint32_t r = 0; r < quant->rows; r++) {
    const uint64_t to = quant->src_addr + (uint64_t)r * quant->src_stride_bytes;
    fixture_numbers(&pair->random, distribution, row, quant->cols);
    for (uint32_t c = 0; c < quant->cols; c++) row_bf16[c] = (uint16_t)(row[c] >> 16);
    if (quant->src_dtype == UFP4_DTYPE_BF16) {
      pair_write(pair, to, row_bf16, quant->cols * sizeof row_bf16[0]);
    } else {
      pair_write(pair, to, row, quant->cols * sizeof row[0]);
    }
  }
}

// Quantizes [rows][cols] into the four places from @p codes on; @p slot and slot + 1 take the exponents.
static ufp4_descriptor_t random_quant(pair_t *pair, uint32_t rows, uint32_t cols, unsigned source, unsigned codes,
                                      uint16_t slot) {
  ufp4_quant_descriptor_t q = {
      .opcode = UFP4_OPCODE_QUANT, .rows = rows, .cols = cols, .src_addr = place(pair, source)};
  q.src_dtype = (uint8_t)below(pair, 2);
  q.src_stride_bytes = byte_stride(pair, cols * (q.src_dtype == UFP4_DTYPE_BF16 ? 2 : 4));
  q.elem = (uint8_t)below(pair, pair->contract == UFP4_CONTRACT_NV ? UFP4_ELEM_INT4 : UFP4_ELEM_COUNT);
  q.round = (uint8_t)below(pair, UFP4_ROUND_COUNT);
  q.scale_round = (uint8_t)below(pair, UFP4_SCALE_ROUND_UP + 1);
  const uint32_t copies = 1 + below(pair, 3);
  q.row_mode = (uint8_t)((copies & 1) * UFP4_MODE_ENABLE | below(pair, 2) * UFP4_MODE_RHT | UFP4_MODE_SLOT);
  q.col_mode = (uint8_t)((copies >> 1) * UFP4_MODE_ENABLE | below(pair, 2) * UFP4_MODE_RHT | UFP4_MODE_SLOT);
  q.rht_mask = below(pair, 2) ? UFP4_RHT_DEFAULT_MASK : (uint16_t)below(pair, 65536);
  q.row_exponent = slot;
  q.col_exponent = (uint16_t)(slot + 1);
  q.row_codes_addr = place(pair, codes);
  q.row_scales_addr = place(pair, codes + 1);
  q.col_codes_addr = place(pair, codes + 2);
  q.col_scales_addr = place(pair, codes + 3);
  q.row_stride_blocks = block_stride(pair, cols);
  q.col_stride_blocks = block_stride(pair, rows);
  q.seed = check_next(&pair->random);
  q.row_tensor_id = check_next(&pair->random);
  q.col_tensor_id = check_next(&pair->random);
  return (ufp4_descriptor_t){.quant = q};
}

// The same job with E8M0 scales, which know neither transform nor exponent.
static ufp4_descriptor_t e8m0_of(pair_t *pair, const ufp4_descriptor_t *quant) {
  ufp4_descriptor_t e8m0 = *quant;
  e8m0.quant.scale = UFP4_SCALE_E8M0;
  e8m0.quant.scale_round = below(pair, 2) ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN;
  e8m0.quant.row_mode &= UFP4_MODE_ENABLE;
  e8m0.quant.col_mode &= UFP4_MODE_ENABLE;
  e8m0.quant.row_exponent = e8m0.quant.col_exponent = 0;
  return e8m0;
}

static ufp4_descriptor_t amax_of(const ufp4_descriptor_t *quant) {
  ufp4_descriptor_t amax = *quant;
  amax.header.opcode = UFP4_OPCODE_AMAX;
  return amax;
}

static uint32_t dtype_size(uint8_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

// Sums of every size, and now and then NaN.
static void write_sums(pair_t *pair, const ufp4_gemm_descriptor_t *gemm) {
  enum { MAX = 512 };
  int64_t row[MAX];
  for (uint32_t r = 0; r < gemm->m; r++) {
    for (uint32_t c = 0; c < gemm->n; c++) {
      row[c] = (int64_t)check_next(&pair->random) >> (2 + below(pair, 62));
      if (below(pair, 60) == 0) row[c] = UFP4_I64_NAN;
    }
    pair_write(pair, gemm->sums_addr + (uint64_t)r * gemm->sums_stride_bytes, row, gemm->n * sizeof row[0]);
  }
}

// What enters D beside the product; C is garbage, and as good. All fields are legal, in use or not.
static void random_addends(pair_t *pair, ufp4_gemm_descriptor_t *g) {
  const float alphas[] = {0.5f, -1.7f, 1e-30f, 2e19f};
  g->d_mode = (uint8_t)below(pair, 8);
  if (g->d_dtype == UFP4_DTYPE_I64) g->d_mode &= UFP4_D_MODE_SUMS;
  if (pair->contract != UFP4_CONTRACT_EXACT) g->d_mode &= (uint8_t)~UFP4_D_MODE_SUMS;
  if (pair->contract == UFP4_CONTRACT_NV) g->d_mode &= (uint8_t)~UFP4_D_MODE_C;
  g->sums_addr = place(pair, SUMS);
  g->sums_stride_bytes = byte_stride(pair, g->n * (uint32_t)sizeof(int64_t));
  g->c_addr = place(pair, C);
  g->c_stride_bytes = byte_stride(pair, g->n * (uint32_t)sizeof(float));
  g->alpha = below(pair, 4) ? ufp4_f32_bits(alphas[below(pair, 4)]) : (uint32_t)check_next(&pair->random);
  g->tensor_scale = ufp4_f32_bits(alphas[2 * below(pair, 2)]);
  if (g->d_mode & UFP4_D_MODE_SUMS) write_sums(pair, g);
}

// The GEMM of the row copies; an operand that has not been quantized is garbage, and as good.
static ufp4_descriptor_t random_gemm(pair_t *pair, const ufp4_quant_descriptor_t *x, const ufp4_quant_descriptor_t *w) {
  ufp4_gemm_descriptor_t g = {.opcode = UFP4_OPCODE_GEMM, .m = x->rows, .n = w->rows, .k = x->cols};
  g.a_elem = x->elem;
  g.b_elem = w->elem;
  g.contract = (uint8_t)pair->contract;
  g.d_dtype = (uint8_t)below(pair, pair->contract == UFP4_CONTRACT_EXACT ? UFP4_DTYPE_COUNT : UFP4_DTYPE_I64);
  if (g.a_elem == UFP4_ELEM_E2M1 && g.b_elem == UFP4_ELEM_E2M1 && below(pair, 2)) g.scale = UFP4_SCALE_NVFP4;
  g.a_exponent = (uint16_t)below(pair, 40);
  g.b_exponent = (uint16_t)(0u - below(pair, 40));
  g.a_codes_addr = x->row_codes_addr;
  g.a_scales_addr = x->row_scales_addr;
  g.b_codes_addr = w->row_codes_addr;
  g.b_scales_addr = w->row_scales_addr;
  g.a_stride_blocks = x->row_stride_blocks;
  g.b_stride_blocks = w->row_stride_blocks;
  g.d_addr = place(pair, D);
  g.d_stride_bytes = byte_stride(pair, g.n * dtype_size(g.d_dtype));
  random_addends(pair, &g);
  if (x->row_mode & UFP4_MODE_ENABLE && below(pair, 2)) {
    g.a_mode = UFP4_MODE_SLOT;
    g.a_exponent = x->row_exponent;
  }
  return (ufp4_descriptor_t){.gemm = g};
}

// --- Chains of legal jobs
// ----------------------------------------------------------------------------------------------

static uint32_t random_size(pair_t *pair, uint32_t limit) {
  return 1 + below(pair, below(pair, 3) ? limit : 20);
}

static void quantize(pair_t *pair, const ufp4_descriptor_t *quant, fixture_distribution_t distribution) {
  const ufp4_descriptor_t amax = amax_of(quant);
  write_source(pair, &quant->quant, distribution);
  pair_job(pair, &amax, "AMAX");
  pair_job(pair, quant, "QUANT");
  pair_compare(pair, "QUANT");
}

// Scales of 32 elements, each in two units: close to each other, or any, or now and then NaN.
static void write_e8m0(pair_t *pair, uint64_t address, uint32_t rows, uint32_t stride_blocks) {
  const uint32_t kind = below(pair, 3), pairs = (rows + 15) / 16 * stride_blocks / 2;
  for (uint32_t i = 0; i < pairs; i++) {
    uint8_t scales[2 * UFP4_PANEL_SCALE_BYTES];
    for (uint32_t row = 0; row < UFP4_PANEL_SCALE_BYTES; row++) {
      scales[row] = (uint8_t)(kind == 0 ? 120 + below(pair, 14) : below(pair, 255));
      if (kind == 2 && below(pair, 100) == 0) scales[row] = 0xFF;
      scales[row + UFP4_PANEL_SCALE_BYTES] = scales[row];
    }
    pair_write(pair, address + i * sizeof scales, scales, sizeof scales);
  }
}

static void chain(pair_t *pair, uint32_t limit) {
  const uint32_t m = random_size(pair, limit), n = random_size(pair, limit), k = random_size(pair, 2 * limit);
  const uint16_t slot = (uint16_t)(4 * below(pair, UFP4_SLOTS / 4));
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, slot);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, (uint16_t)(slot + 2));
  // Now and then an exponent from outside, which may saturate.
  if (below(pair, 4) == 0) {
    x.quant.row_mode &= (uint8_t)~UFP4_MODE_SLOT;
    x.quant.row_exponent = (uint16_t)(below(pair, 40) - 20);
  }
  ufp4_descriptor_t gemm = random_gemm(pair, &x.quant, &w.quant);
  if (x.quant.row_mode & UFP4_MODE_SLOT) {
    quantize(pair, &x, (fixture_distribution_t)below(pair, FIXTURE_DISTRIBUTIONS));
  } else {
    write_source(pair, &x.quant, (fixture_distribution_t)below(pair, FIXTURE_DISTRIBUTIONS));
    pair_job(pair, &x, "QUANT with an exponent from outside");
  }
  quantize(pair, &w, (fixture_distribution_t)below(pair, FIXTURE_DISTRIBUTIONS));
  if (pair->contract != UFP4_CONTRACT_EXACT && below(pair, 2)) {
    gemm.gemm.scale = UFP4_SCALE_E8M0;
    write_e8m0(pair, gemm.gemm.a_scales_addr, m, gemm.gemm.a_stride_blocks);
    write_e8m0(pair, gemm.gemm.b_scales_addr, n, gemm.gemm.b_stride_blocks);
  }
  pair_job(pair, &gemm, "GEMM");
  pair_compare(pair, "GEMM");
  const ufp4_descriptor_t e8m0 = e8m0_of(pair, below(pair, 2) ? &x : &w);
  pair_job(pair, &e8m0, "QUANT with E8M0 scales");
  pair_compare(pair, "QUANT with E8M0 scales");
}

static void chains(const setting_t *settings, size_t count, int runs, uint32_t limit, uint64_t d_places) {
  for (size_t i = 0; i < count; i++) {
    pair_t pair = pair_open(&settings[i], i, d_places);
    pair_scramble(&pair);
    for (int run = 0; run < runs; run++) chain(&pair, limit);
    pair_close(&pair);
  }
}

static const setting_t settings[] = {
    {"default", 1, 0, 0},  {"default", 200, 0, 0}, {"default", 1, 8, 0},   {"default", 100, 24, 0},
    {"default", 5, 0, 11}, {"default", 90, 64, 6}, {"small", 1, 0, 0},     {"small", 200, 0, 0},
    {"small", 3, 3, 0},    {"small", 5, 0, 21},    {"small", 60, 8, 1234},
};
#define SETTINGS (sizeof settings / sizeof settings[0])

// Contract fp32.
static const setting_t fp32_settings[] = {
    {"small-fp32", 1, 0, 0}, {"small-fp32", 200, 0, 0}, {"small-fp32", 7, 3, 0}, {"small-fp32", 40, 0, 9}};
#define FP32_SETTINGS (sizeof fp32_settings / sizeof fp32_settings[0])

TEST(fp32_equal_the_model) {
  chains(fp32_settings, FP32_SETTINGS, 6, 60, 1);
}

SLOW_TEST(fp32_equal_the_model_on_many) {
  chains(fp32_settings, FP32_SETTINGS, 40, 120, 1);
}

// Contract nv.
static const setting_t nv_settings[] = {{"small-nv", 1, 0, 0}, {"small-nv", 150, 0, 0}, {"small-nv", 7, 3, 8}};
#define NV_SETTINGS (sizeof nv_settings / sizeof nv_settings[0])

TEST(nv_equal_the_model) {
  chains(nv_settings, NV_SETTINGS, 6, 60, 1);
}

SLOW_TEST(nv_equal_the_model_on_many) {
  chains(nv_settings, NV_SETTINGS, 40, 120, 1);
}

// Arrays that are not square, and buses wider and narrower than a row of the array: simulated on demand.
static void odd_jobs(const char *configuration) {
  const setting_t odd[] = {{configuration, 1, 0, 0},
                           {configuration, 120, 0, 0},
                           {configuration, 9, 5, 0},
                           {configuration, 30, 0, 3},
                           {configuration, 6, 0, 16}};
  chains(odd, sizeof odd / sizeof odd[0], 25, 100, 1);
}

FULL_TEST(flat_equals_the_model) {
  odd_jobs("flat");
}

FULL_TEST(tall_equals_the_model) {
  odd_jobs("tall");
}

FULL_TEST(wide_equals_the_model) {
  odd_jobs("wide");
}

FULL_TEST(odd_equals_the_model) {
  odd_jobs("odd");
}

FULL_TEST(lean_equals_the_model) {
  odd_jobs("lean");
}

FULL_TEST(tiny_equals_the_model) {
  odd_jobs("tiny");
}

TEST(equal_the_model) {
  chains(settings, SETTINGS, 4, 60, 1);
}

SLOW_TEST(equal_the_model_on_many) {
  chains(settings, SETTINGS, 60, 200, 1);
}

SLOW_TEST(equal_the_model_on_large) {
  static const setting_t large[] = {{"default", 100, 0, 0}, {"default", 20, 0, 7}};
  chains(large, 2, 12, 400, 4);
}

// --- K in parts
// --------------------------------------------------------------------------------------------------------

// A job over k elements from block @p first on, in place of all of @p whole's.
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

static void compare_rows(pair_t *pair, const ufp4_gemm_descriptor_t *a, const ufp4_gemm_descriptor_t *b) {
  enum { MAX = 512 };
  uint8_t row[2][MAX * sizeof(float)];
  const uint64_t bytes = (uint64_t)a->n * dtype_size(a->d_dtype);
  for (uint32_t r = 0; r < a->m; r++) {
    must(pair->device[0],
         ufp4_buffer_read(pair->device[0], a->d_addr + (uint64_t)r * a->d_stride_bytes, row[0], bytes));
    must(pair->device[0],
         ufp4_buffer_read(pair->device[0], b->d_addr + (uint64_t)r * b->d_stride_bytes, row[1], bytes));
    check_that(pair->jobs, memcmp(row[0], row[1], bytes) == 0, "row %u of D changes with the parts of K", r);
  }
}

// Part after part of K, each on the sums of those before: the same D as in one job.
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
    part.gemm.d_mode = (uint8_t)((done != 0 ? UFP4_D_MODE_SUMS : 0) | (last ? whole.gemm.d_mode : 0));
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

TEST(parts_of_k_change_no_bit) {
  splits(3, 2);
}

SLOW_TEST(parts_of_k_change_no_bit_in_many) {
  splits(1, 6);
}

// --- Malformed jobs
// ----------------------------------------------------------------------------------------------------

// Sets one byte of a descriptor to something else; bytes whose change only makes a job long, or lets its tensors
// overlap (so that the result depends on the order of accesses), stay.
static void mutate(pair_t *pair, ufp4_descriptor_t *job) {
  static const uint8_t quant_kept[] = {9,  10, 13, 14, 17, 18, 25, 26, 41, 42, 49,
                                       50, 57, 58, 65, 66, 73, 74, 77, 78, 80};
  static const uint8_t gemm_kept[] = {9,  10, 13, 14, 17, 18, 33, 34, 41, 42, 49, 50, 57, 58,  65,
                                      66, 73, 74, 77, 78, 81, 82, 85, 86, 89, 90, 97, 98, 105, 106};
  const int gemm = job->header.opcode == UFP4_OPCODE_GEMM;
  const uint8_t *kept = gemm ? gemm_kept : quant_kept;
  const size_t count = gemm ? sizeof gemm_kept : sizeof quant_kept;
  // Mostly the fields that have rules; single bits as often as whole bytes.
  const uint32_t at = below(pair, below(pair, 4) ? 116 : UFP4_DESCRIPTOR_BYTES);
  if (memchr(kept, (int)at, count) != NULL) return;
  const uint32_t change = below(pair, 2) ? 1u << below(pair, 8) : below(pair, 256);
  job->bytes[at] ^= (uint8_t)change;
}

static void malformed(pair_t *pair) {
  const uint32_t m = 1 + below(pair, 40), n = 1 + below(pair, 40), k = 1 + below(pair, 80);
  const ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, (uint16_t)below(pair, UFP4_SLOTS - 1));
  const ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, 2);
  ufp4_descriptor_t jobs[] = {x, e8m0_of(pair, &x), amax_of(&x), random_gemm(pair, &x.quant, &w.quant)};
  ufp4_descriptor_t *job = &jobs[below(pair, sizeof jobs / sizeof jobs[0])];
  // With garbage for a source nearly every block holds a NaN or an Inf.
  if (below(pair, 4) == 0) write_source(pair, &x.quant, FIXTURE_GAUSSIAN);
  for (uint32_t i = below(pair, 3); i < 3; i++) mutate(pair, job);
  if (pair_job(pair, job, "a malformed job") < UFP4_CORE_STATUS_READ_ERROR) pair_compare(pair, "a malformed job");
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

TEST(rejects_malformed_as_the_model_does) {
  rejects_malformed(4, 5, 60);
}

SLOW_TEST(rejects_many_malformed_as_the_model_does) {
  rejects_malformed(0, 1, 800);
}

// --- Jobs side by side
// ----------------------------------------------------------------------------------------------------

// What jobs read and write, for finding out what each depends on.
enum { SLOT_X, SLOT_W, SLOT_D, TENSOR_X, TENSOR_W, OPERAND_X, OPERAND_W, RESULT, RESOURCES };
enum { MAX_GRAPH = 48 };

typedef struct {
  unsigned reads, writes;  // a bit per resource
} access_t;

typedef struct {
  ufp4_descriptor_t jobs[MAX_GRAPH];
  access_t access[MAX_GRAPH];
  int count;
} graph_t;

static int is_gemm(const ufp4_descriptor_t *job) {
  return job->header.opcode == UFP4_OPCODE_GEMM;
}

// The latest earlier job of the other engine that this one must not overtake; -1 if there is none. Those of its own
// engine it cannot overtake.
static int latest_conflict(const graph_t *graph, int at, unsigned resources) {
  const access_t *mine = &graph->access[at];
  for (int i = at - 1; i >= 0; i--) {
    const access_t *other = &graph->access[i];
    if (is_gemm(&graph->jobs[i]) == is_gemm(&graph->jobs[at])) continue;
    if (((other->writes & (mine->reads | mine->writes)) | (other->reads & mine->writes)) & resources) return i;
  }
  return -1;
}

// A job more than 15 places earlier has ended by itself when this one starts.
static uint8_t distance(int from, int to) {
  return (uint8_t)(to < 0 || from - to > 15 ? 0 : from - to);
}

static void add_job(graph_t *graph, const ufp4_descriptor_t *job, unsigned reads, unsigned writes) {
  graph->jobs[graph->count] = *job;
  graph->access[graph->count++] = (access_t){reads, writes};
}

// Names what a job depends on: panels where it can, and the rest by `after`.
static void name_dependences(pair_t *pair, graph_t *graph, int at) {
  ufp4_header_descriptor_t *header = &graph->jobs[at].header;
  if (header->opcode == UFP4_OPCODE_FENCE || below(pair, 12) == 0) return;
  unsigned rest = ~0u;
  header->flags |= 2;
  if (is_gemm(&graph->jobs[at]) && below(pair, 4) != 0) {
    const int x = latest_conflict(graph, at, 1u << OPERAND_X), w = latest_conflict(graph, at, 1u << OPERAND_W);
    header->panels = (uint8_t)(distance(at, x) | distance(at, w) << 4);
    rest = ~(1u << OPERAND_X | 1u << OPERAND_W);
  }
  header->after = distance(at, latest_conflict(graph, at, rest));
}

// AMAX and QUANT of X or W, GEMMs, AMAX and QUANT of a GEMM's result into X's place, fences.
static void random_graph(pair_t *pair, graph_t *graph, uint32_t limit) {
  const uint32_t m = random_size(pair, limit), n = random_size(pair, limit), k = random_size(pair, limit);
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, 0);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, 2);
  x.quant.row_mode |= UFP4_MODE_ENABLE;
  w.quant.row_mode |= UFP4_MODE_ENABLE;
  ufp4_descriptor_t gemm = random_gemm(pair, &x.quant, &w.quant);
  gemm.gemm.a_mode = gemm.gemm.b_mode = UFP4_MODE_SLOT;
  gemm.gemm.a_exponent = 0;
  gemm.gemm.b_exponent = 2;
  // The result, as far as it fits, quantized in X's stead.
  ufp4_descriptor_t d = x;
  d.quant.src_addr = gemm.gemm.d_addr;
  d.quant.src_stride_bytes = gemm.gemm.d_stride_bytes;
  // Unrounded sums are taken for FP32 numbers, which are as good.
  d.quant.src_dtype = gemm.gemm.d_dtype == UFP4_DTYPE_BF16 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  d.quant.cols = n < k ? n : k;
  write_source(pair, &x.quant, FIXTURE_GAUSSIAN);
  write_source(pair, &w.quant, FIXTURE_GAUSSIAN);
  const ufp4_descriptor_t amax_x = amax_of(&x), amax_w = amax_of(&w), amax_d = amax_of(&d), fence = bench_fence(0);
  // To the GEMM one scale byte is as good as another.
  if (below(pair, 3) == 0) x = e8m0_of(pair, &x);
  if (below(pair, 3) == 0) d = e8m0_of(pair, &d);
  graph->count = 0;
  add_job(graph, &amax_x, 1u << TENSOR_X, 1u << SLOT_X);
  add_job(graph, &amax_w, 1u << TENSOR_W, 1u << SLOT_W);
  while (graph->count < MAX_GRAPH - 2) {
    switch (below(pair, 10)) {
      case 0:
        add_job(graph, &fence, 0, 0);
        break;
      case 1:
        add_job(graph, &amax_w, 1u << TENSOR_W, 1u << SLOT_W);
        break;
      case 2:
        add_job(graph, &amax_d, 1u << RESULT, 1u << SLOT_X);
        add_job(graph, &d, 1u << RESULT | 1u << SLOT_X, 1u << OPERAND_X);
        break;
      case 3:
        add_job(graph, &amax_x, 1u << TENSOR_X, 1u << SLOT_X);
        break;
      case 4:
      case 5:
        add_job(graph, &x, 1u << TENSOR_X | 1u << SLOT_X, 1u << OPERAND_X);
        break;
      case 6:
        add_job(graph, &w, 1u << TENSOR_W | 1u << SLOT_W, 1u << OPERAND_W);
        break;
      default:
        add_job(graph, &gemm, 1u << OPERAND_X | 1u << OPERAND_W | 1u << SLOT_X | 1u << SLOT_W, 1u << RESULT);
    }
  }
  for (int i = 0; i < graph->count; i++) name_dependences(pair, graph, i);
}

static void run_graph(pair_t *pair, const graph_t *graph) {
  uint32_t numbers[2][MAX_GRAPH];
  for (int device = 0; device < 2; device++) {
    for (int i = 0; i < graph->count; i++) {
      must(pair->device[device], ufp4_submit(pair->device[device], &graph->jobs[i], &numbers[device][i]));
    }
  }
  for (int i = 0; i < graph->count; i++) {
    ufp4_completion_t done[2];
    for (int device = 0; device < 2; device++) {
      must(pair->device[device], ufp4_wait(pair->device[device], numbers[device][i], 0, &done[device]));
    }
    pair->jobs++;
    check_bits(pair->jobs, done[0].status, done[1].status, "status of job %d, opcode %u", i,
               graph->jobs[i].header.opcode);
    check_bits(pair->jobs, done[0].flags, done[1].flags, "flags of job %d, opcode %u", i, graph->jobs[i].header.opcode);
  }
  pair_compare(pair, "jobs side by side");
}

static void graphs(size_t first, size_t step, int runs) {
  static graph_t graph;
  uint64_t beside = 0;
  for (size_t i = first; i < SETTINGS; i += step) {
    pair_t pair = pair_open(&settings[i], 2000 + i, 1);
    uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT];
    pair_scramble(&pair);
    must(pair.device[0], ufp4_device_counters(pair.device[0], before));
    for (int run = 0; run < runs; run++) {
      random_graph(&pair, &graph, 300);
      run_graph(&pair, &graph);
    }
    must(pair.device[0], ufp4_device_counters(pair.device[0], after));
    bench_check_sum(0, after);
    check_bits(0, after[UFP4_COUNTER_JOBS] - before[UFP4_COUNTER_JOBS], (uint64_t)pair.jobs, "jobs");
    beside += after[UFP4_COUNTER_QUANT_BESIDE] - before[UFP4_COUNTER_QUANT_BESIDE];
    pair_close(&pair);
  }
  check_that(0, beside != 0, "nothing ran side by side");
}

TEST(side_by_side_equal_the_model) {
  graphs(2, 3, 1);
}

SLOW_TEST(side_by_side_equal_the_model_on_many) {
  graphs(0, 1, 6);
}

// --- For each bug that tests/rtl/mutation injects
// ----------------------------------------------------------------------------------------------------

static void jobs_on_small(int chains, int bad, int graphs, uint32_t limit) {
  static const setting_t small[] = {{"small", 5, 0, 21}, {"small", 30, 8, 0}, {"small", 1, 0, 0}};
  static graph_t graph;
  for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
    pair_t pair = pair_open(&small[i], 3000 + i, 1);
    pair_scramble(&pair);
    for (int run = 0; run < chains; run++) chain(&pair, limit);
    for (int run = 0; run < bad; run++) malformed(&pair);
    for (int run = 0; run < graphs; run++) {
      random_graph(&pair, &graph, limit);
      run_graph(&pair, &graph);
    }
    pair_close(&pair);
  }
}

TEST(few_on_small) {
  jobs_on_small(3, 20, 1, 40);
}

TEST(more_on_small) {
  jobs_on_small(10, 100, 3, 100);
  jobs_on_small(1, 0, 0, 300);
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(flat_equals_the_model),
      CHECK_TEST(tall_equals_the_model),
      CHECK_TEST(wide_equals_the_model),
      CHECK_TEST(odd_equals_the_model),
      CHECK_TEST(lean_equals_the_model),
      CHECK_TEST(tiny_equals_the_model),
      CHECK_TEST(equal_the_model),
      CHECK_TEST(fp32_equal_the_model),
      CHECK_TEST(fp32_equal_the_model_on_many),
      CHECK_TEST(nv_equal_the_model),
      CHECK_TEST(nv_equal_the_model_on_many),
      CHECK_TEST(equal_the_model_on_many),
      CHECK_TEST(equal_the_model_on_large),
      CHECK_TEST(parts_of_k_change_no_bit),
      CHECK_TEST(parts_of_k_change_no_bit_in_many),
      CHECK_TEST(rejects_malformed_as_the_model_does),
      CHECK_TEST(rejects_many_malformed_as_the_model_does),
      CHECK_TEST(side_by_side_equal_the_model),
      CHECK_TEST(side_by_side_equal_the_model_on_many),
      CHECK_TEST(few_on_small),
      CHECK_TEST(more_on_small),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
