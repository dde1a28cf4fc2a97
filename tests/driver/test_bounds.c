// SPDX-License-Identifier: Apache-2.0
// The bounds that the program prints beside a GEMM's cycles, against these: on cores, memories and
// jobs of any kind.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alone.h"
#include "base/configuration.h"
#include "frame/bounds.h"
#include "ufp4/panel.h"

enum { DRAWS = 56 };

typedef struct {
  ufp4_configuration_t core;
  twin_memory_t memory;
  bounds_gemm_t gemm;
} draw_t;

static uint32_t from_to(check_random_t *random, uint32_t least, uint32_t most) {
  return least + check_below(random, most - least + 1);
}

// A legal one of up to 1024 PEs, mostly with sides that no power of two divides.
static void draw_core(check_random_t *random, ufp4_configuration_t *core) {
  static const unsigned lanes[] = {16, 16, 8, 4};
  char text[160];
  do {
    const uint32_t contract = check_below(random, UFP4_CONTRACT_COUNT);
    snprintf(
        text, sizeof text,
        "rows=%u:cols=%u:tile_rows=%u:tile_cols=%u:chunk=%u:bus=%u:quant=0:lanes=%u:contract=%s",
        from_to(random, 1, 32), from_to(random, 1, 32), from_to(random, 2, 24),
        from_to(random, 2, 24), 8u << check_below(random, 5), 8u << check_below(random, 5),
        lanes[check_below(random, 4)],
        contract == 0   ? "exact"
        : contract == 1 ? "fp32"
                        : "nv");
  } while (configuration_find(text, core, NULL, NULL) != UFP4_OK);
}

static void draw_gemm(check_random_t *random, const ufp4_configuration_t *core, draw_t *draw) {
  static const unsigned bytes[] = {2, 4, 8};
  const uint32_t tile_m = core->rows * core->tile_rows, tile_n = core->cols * core->tile_cols;
  const int wide = core->contract == UFP4_CONTRACT_EXACT;
  bounds_gemm_t *gemm = &draw->gemm;
  gemm->m = from_to(random, 1, 4 * tile_m);
  gemm->n = from_to(random, 1, 4 * tile_n);
  gemm->k = from_to(random, 1, 1u << from_to(random, 4, 11));
  gemm->d_bytes = bytes[check_below(random, wide ? 3 : 2)];
  gemm->has_sums = wide && check_below(random, 3) == 0;
  if (gemm->d_bytes == 8) return;
  gemm->has_c = core->contract != UFP4_CONTRACT_NV && check_below(random, 3) == 0;
  gemm->operations =
      gemm->has_c + (core->contract == UFP4_CONTRACT_NV) + (int)check_below(random, 2);
}

static draw_t draw_one(check_random_t *random) {
  draw_t draw = {.memory = {.latency = check_below(random, 3) * 100u + check_below(random, 20)}};
  draw_core(random, &draw.core);
  if (check_below(random, 3) == 0)
    draw.memory.bandwidth = from_to(random, 1, draw.core.bus_bytes + 8);
  draw_gemm(random, &draw.core, &draw);
  return draw;
}

static twin_job_t job_of(const draw_t *draw) {
  const bounds_gemm_t *gemm = &draw->gemm;
  const uint32_t stride = (uint32_t)ufp4_panel_stride_blocks(gemm->k);
  const int alpha = gemm->operations > gemm->has_c + (draw->core.contract == UFP4_CONTRACT_NV);
  const int exact = draw->core.contract == UFP4_CONTRACT_EXACT;
  const int nv = draw->core.contract == UFP4_CONTRACT_NV;
  return (twin_job_t){
      .gemm = {
          .opcode = UFP4_OPCODE_GEMM,
          .m = (uint32_t)gemm->m,
          .n = (uint32_t)gemm->n,
          .k = (uint32_t)gemm->k,
          .contract = (uint8_t)draw->core.contract,
          .scale = (uint8_t)(exact ? UFP4_SCALE_E4M3
                             : nv  ? UFP4_SCALE_NVFP4
                                   : UFP4_SCALE_E8M0),
          .d_dtype = (uint8_t)(gemm->d_bytes == 2   ? UFP4_DTYPE_BF16
                               : gemm->d_bytes == 4 ? UFP4_DTYPE_F32
                                                    : UFP4_DTYPE_I64),
          .d_mode = (uint8_t)((alpha ? UFP4_D_MODE_ALPHA : 0) | (gemm->has_c ? UFP4_D_MODE_C : 0) |
                              (gemm->has_sums ? UFP4_D_MODE_SUMS : 0)),
          .alpha = 0x40000000,
          .a_codes_addr = TWIN_BASE + (1ull << 32),
          .a_scales_addr = TWIN_BASE + (2ull << 32),
          .b_codes_addr = TWIN_BASE + (3ull << 32),
          .b_scales_addr = TWIN_BASE + (4ull << 32),
          .c_addr = TWIN_BASE + (5ull << 32),
          .sums_addr = TWIN_BASE + (6ull << 32),
          .d_addr = TWIN_BASE + (7ull << 32),
          .a_stride_blocks = stride,
          .b_stride_blocks = stride,
          .c_stride_bytes = (uint32_t)((gemm->n * 4 + 127) / 128 * 128),
          .sums_stride_bytes = (uint32_t)((gemm->n * 8 + 127) / 128 * 128),
          .d_stride_bytes = (uint32_t)((gemm->n * gemm->d_bytes + 127) / 128 * 128)}};
}

// Of a job, as the core counts it.
static double cycles_of(const alone_t *alone) {
  const uint64_t *counters = alone->counters;
  return (double)(counters[UFP4_COUNTER_ARRAY_BUSY] + counters[UFP4_COUNTER_STALL_OPERAND] +
                  counters[UFP4_COUNTER_STALL_PANEL] + counters[UFP4_COUNTER_STALL_ACCUMULATOR] +
                  counters[UFP4_COUNTER_STALL_DRAIN]);
}

static int64_t tiles_of(const draw_t *draw) {
  const int64_t tile_m = draw->core.rows * draw->core.tile_rows;
  const int64_t tile_n = draw->core.cols * draw->core.tile_cols;
  return ((draw->gemm.m - 1) / tile_m + 1) * ((draw->gemm.n - 1) / tile_n + 1);
}

// Sums and C that are added are read a row or two ahead, whose latency shows.
static int is_long(const draw_t *draw, double most) {
  const bounds_gemm_t *gemm = &draw->gemm;
  return !gemm->has_sums && !gemm->has_c && gemm->d_bytes < 8 && tiles_of(draw) >= 8 &&
         most >= 100.0 * draw->memory.latency;
}

// Two of them bind in turns.
static int is_tie(const bounds_t *bounds) {
  const double each[] = {fmax(bounds->array, bounds->output), bounds->load, bounds->read,
                         bounds->write};
  int near = 0;
  for (int i = 0; i < 4; i++) near += each[i] > 0.85 * bounds_most(bounds);
  return near > 1;
}

TEST(hold_for_every_job_and_are_close_for_long_ones) {
  check_random_t random = check_random();
  int close = 0, by[4] = {0};
  for (int i = 0; i < DRAWS; i++) {
    const draw_t draw = draw_one(&random);
    const twin_job_t job = job_of(&draw);
    const unsigned bus = draw.core.bus_bytes, asked = draw.memory.bandwidth;
    const bounds_t bounds =
        bounds_of(&draw.core, asked != 0 && asked < bus ? asked : bus, &draw.gemm);
    const double most = bounds_most(&bounds);
    const alone_t alone = alone_run(draw.core.name, draw.memory, &job, 1, 0);
    const double cycles = cycles_of(&alone);
    char what[400];
    snprintf(what, sizeof what,
             "%s latency %u bandwidth %u: %lld x %lld x %lld d %u ops %d sums %d c %d: %.0f "
             "cycles, compute %.0f load "
             "%.0f output %.0f array %.0f read %.0f write %.0f: %.3f",
             draw.core.name, draw.memory.latency, asked, (long long)draw.gemm.m,
             (long long)draw.gemm.n, (long long)draw.gemm.k, draw.gemm.d_bytes,
             draw.gemm.operations, draw.gemm.has_sums, draw.gemm.has_c, cycles, bounds.compute,
             bounds.load, bounds.output, bounds.array, bounds.read, bounds.write, cycles / most);
    check_that(i, cycles >= most, "%s", what);
    if (!is_long(&draw, most)) continue;
    close++;
    check_that(i, cycles <= (is_tie(&bounds) ? 1.25 : 1.1) * most, "%s", what);
    by[most == bounds.compute ? 0 : most == bounds.load ? 1 : most == bounds.output ? 2 : 3]++;
  }
  printf("%d close: compute %d, load %d, output %d, memory %d\n", close, by[0], by[1], by[2],
         by[3]);
}
