// SPDX-License-Identifier: Apache-2.0
#include "far.h"

#include <string.h>

#include "random_jobs.h"
#include "ufp4/format.h"

// Every tensor has a window of its own, and lies anywhere in it.
#define WINDOW_BYTES (1ull << 37)
#define WINDOWS 8u
#define EXTENT_BYTES (1ull << 36)

enum { REGIONS = 7, MAX_ROW = 8192 };

// Rows of bytes, here and there: of a tensor, or of the groups of its panels.
typedef struct {
  uint64_t near, far, near_step, far_step;
  uint32_t rows;
} region_t;

typedef struct {
  region_t regions[REGIONS];
  int count;
  uint32_t window;  // of the first one
} map_t;

// The far place of a region whose address is in @p address.
static void add_region(pair_t *pair, map_t *map, uint64_t *address, uint32_t rows,
                       uint64_t near_step, uint64_t far_step) {
  const uint64_t window = (map->window + (uint32_t)map->count) % WINDOWS;
  const uint64_t at = check_next(&pair->random) % (EXTENT_BYTES - WINDOW_BYTES / 16);
  region_t *region = &map->regions[map->count++];
  *region = (region_t){*address, 0, near_step, far_step, rows};
  // The first window has the near tensors at its beginning; data in the last one may extend to the
  // last address.
  region->far =
      window * WINDOW_BYTES + WINDOW_BYTES / 16 + at / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
  if (window == WINDOWS - 1 && below(pair, 4))
    region->far = WINDOWS * WINDOW_BYTES - rows * far_step;
  *address = region->far;
}

// A step of up to 32 bits, with which all rows are in the extent.
static uint32_t far_step(pair_t *pair, uint32_t rows, uint32_t unit, uint32_t least) {
  const uint64_t most = EXTENT_BYTES / rows < UINT32_MAX ? EXTENT_BYTES / rows : UINT32_MAX;
  const uint32_t step = below(pair, (uint32_t)most) / unit * unit;
  return step < least ? least : step;
}

static void add_plain(pair_t *pair, map_t *map, uint64_t *address, uint32_t *stride_bytes,
                      uint32_t rows) {
  const uint32_t near = *stride_bytes;
  *stride_bytes = far_step(pair, rows, UFP4_ALIGN_BYTES, near);
  add_region(pair, map, address, rows, near, *stride_bytes);
}

static void add_panels(pair_t *pair, map_t *map, uint64_t *codes, uint64_t *scales,
                       uint32_t *stride_blocks, uint32_t rows) {
  const uint32_t groups = (rows + 15) / 16, near = *stride_blocks;
  *stride_blocks = far_step(pair, groups * UFP4_PANEL_CODE_BYTES, UFP4_ALIGN_BLOCKS, near);
  add_region(pair, map, codes, groups, (uint64_t)near * UFP4_PANEL_CODE_BYTES,
             (uint64_t)*stride_blocks * UFP4_PANEL_CODE_BYTES);
  add_region(pair, map, scales, groups, (uint64_t)near * UFP4_PANEL_SCALE_BYTES,
             (uint64_t)*stride_blocks * UFP4_PANEL_SCALE_BYTES);
}

static map_t map_quant(pair_t *pair, ufp4_quant_descriptor_t *q) {
  map_t map = {.window = below(pair, WINDOWS)};
  add_plain(pair, &map, &q->src_addr, &q->src_stride_bytes, q->rows);
  add_panels(pair, &map, &q->row_codes_addr, &q->row_scales_addr, &q->row_stride_blocks, q->rows);
  add_panels(pair, &map, &q->col_codes_addr, &q->col_scales_addr, &q->col_stride_blocks, q->cols);
  return map;
}

static map_t map_gemm(pair_t *pair, ufp4_gemm_descriptor_t *g) {
  // Half of the time C or the sums, which the core reads ahead, are in the last window.
  map_t map = {.window = below(pair, 2) ? 1 + below(pair, 2) : below(pair, WINDOWS)};
  add_panels(pair, &map, &g->a_codes_addr, &g->a_scales_addr, &g->a_stride_blocks, g->m);
  add_panels(pair, &map, &g->b_codes_addr, &g->b_scales_addr, &g->b_stride_blocks, g->n);
  add_plain(pair, &map, &g->d_addr, &g->d_stride_bytes, g->m);
  add_plain(pair, &map, &g->sums_addr, &g->sums_stride_bytes, g->m);
  add_plain(pair, &map, &g->c_addr, &g->c_stride_bytes, g->m);
  return map;
}

static void copy_far(pair_t *pair, const map_t *map) {
  ufp4_device_t *rtl = pair->device[0];
  uint8_t row[MAX_ROW];
  for (const region_t *r = map->regions; r < map->regions + map->count; r++) {
    for (uint32_t i = 0; i < r->rows; i++) {
      pair_must(rtl, ufp4_buffer_read(rtl, r->near + i * r->near_step, row, r->near_step));
      pair_must(rtl, ufp4_buffer_write(rtl, r->far + i * r->far_step, row, r->near_step));
    }
  }
}

static void compare_far(pair_t *pair, const map_t *map, const char *what) {
  ufp4_device_t *rtl = pair->device[0];
  uint8_t near[MAX_ROW], far[MAX_ROW];
  for (const region_t *r = map->regions; r < map->regions + map->count; r++) {
    for (uint32_t i = 0; i < r->rows; i++) {
      pair_must(rtl, ufp4_buffer_read(rtl, r->near + i * r->near_step, near, r->near_step));
      pair_must(rtl, ufp4_buffer_read(rtl, r->far + i * r->far_step, far, r->near_step));
      check_that(pair->jobs, memcmp(near, far, r->near_step) == 0,
                 "%s: row %u of the region at 0x%llx, far at 0x%llx", what, i,
                 (unsigned long long)r->near, (unsigned long long)r->far);
    }
  }
}

static void far_job(pair_t *pair, const ufp4_descriptor_t *job, const char *what) {
  ufp4_device_t *rtl = pair->device[0];
  ufp4_completion_t done;
  uint32_t number;
  pair_must(rtl, ufp4_submit(rtl, job, &number));
  const ufp4_status_t status = ufp4_wait(rtl, number, 0, &done);
  if (status != UFP4_ERROR_JOB) pair_must(rtl, status);
  check_bits(pair->jobs, done.status, UFP4_CORE_STATUS_OK, "status of %s far away", what);
}

static void quantize_far(pair_t *pair, const ufp4_descriptor_t *near) {
  ufp4_descriptor_t far = *near;
  const map_t map = map_quant(pair, &far.quant);
  const ufp4_descriptor_t amax_near = amax_of(near), amax_far = amax_of(&far);
  write_source(pair, &near->quant, FIXTURE_GAUSSIAN);
  copy_far(pair, &map);
  pair_job(pair, &amax_near, "AMAX");
  pair_job(pair, near, "QUANT");
  far_job(pair, &amax_far, "AMAX");
  far_job(pair, &far, "QUANT");
  compare_far(pair, &map, "QUANT");
}

static void multiply_far(pair_t *pair, const ufp4_quant_descriptor_t *x,
                         const ufp4_quant_descriptor_t *w) {
  const ufp4_descriptor_t near = random_gemm(pair, x, w);
  ufp4_descriptor_t far = near;
  const map_t map = map_gemm(pair, &far.gemm);
  copy_far(pair, &map);
  pair_job(pair, &near, "GEMM");
  far_job(pair, &far, "GEMM");
  compare_far(pair, &map, "GEMM");
}

void far_chain(pair_t *pair) {
  const uint32_t m = random_size(pair, 60), n = random_size(pair, 60), k = random_size(pair, 120);
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, 0);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, 2);
  x.quant.row_mode |= UFP4_MODE_ENABLE;
  w.quant.row_mode |= UFP4_MODE_ENABLE;
  quantize_far(pair, &x);
  quantize_far(pair, &w);
  for (int run = 0; run < 4; run++) multiply_far(pair, &x.quant, &w.quant);
  pair_compare(pair, "jobs far away");
}
